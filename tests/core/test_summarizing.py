"""Which summary a verb is a function of."""

import pytest

from calibrant import Samples, ece, summarize
from calibrant.ranking.quantities import ranks
from calibrant.ranking.summary import Ranks
from calibrant.summaries import Grid, Moments, Ordered


@pytest.mark.parametrize(
    ("verb", "options", "kind"),
    [("ece", {"bins": 2}, Grid), (ece, {"strategy": "mass"}, Ordered), ("brier_score", {}, Moments)],
)
def test_of_probabilities(verb, options, kind):
    assert type(summarize(verb, [0, 1], [0.2, 0.7], **options)) is kind


def test_of_ranks():
    assert type(summarize(ranks, [0.5], Samples([[1.0]]))) is Ranks


@pytest.mark.parametrize("verb", ["rank", "ECE", 3, None, len, [], lambda y: y])
def test_unknown_verbs(verb, refusal):
    message = refusal(summarize, verb, [0, 1], [0.2, 0.7])
    assert message.startswith("expected a verb of calibrant or its name (")
    for known in ("coverage", "ece", "ranks"):
        assert f" {known}," in message


def test_unknown_options(refusal):
    assert "Did you mean bins=3?" in refusal(summarize, "ece", [0, 1], [0.2, 0.7], n_bins=3)
