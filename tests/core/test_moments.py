"""Means and spread of row scores, merged without loss of digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import brier_score, log_score, summarize
from calibrant.core.interval_sums import IntervalSums
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.summaries import Moments


def of(scores, weights=None):
    scores = np.asarray(scores, dtype=float)
    return Moments.of({"s": scores}, np.ones(scores.size) if weights is None else np.asarray(weights, dtype=float))


def test_by_hand():
    # Scores 1, 3 with weights 1, 3: mean 10/4; with weights 1, 9: mean 28/10, spread 1.8² + 9 * 0.2².
    found = of([1.0, 3.0], [1.0, 3.0])
    assert (found.n, found.w, found.w2, found.weight_max) == (2, 4.0, 10.0, 3.0)
    assert found.mean_of("s") == 2.5
    assert found.mean2_of("s") == 2.8
    assert found.spread2[0] == pytest.approx(1.8**2 + 9 * 0.2**2, rel=1e-14)


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(0.1, 10)), min_size=2, max_size=30),
    st.integers(1, 29),
    st.sampled_from([0.0, 1e6]),
)
def test_merge_is_stable(drawn, cut, shift):
    # A large mean would ruin Σs² - (Σs)²/n; Chan's formula keeps the digits of the spread.
    s, w = np.array(drawn).T
    cut = min(cut, len(s) - 1)
    merged = of(s[:cut] + shift, w[:cut]) + of(s[cut:] + shift, w[cut:])
    w2 = w * w
    mean2 = np.dot(w2, s) / w2.sum()
    assert merged.mean_of("s") == pytest.approx(np.dot(w, s) / w.sum() + shift, rel=1e-13, abs=1e-13)
    assert merged.spread2[0] == pytest.approx(np.dot(w2, (s - mean2) ** 2), rel=1e-7, abs=1e-6)


def test_one_row_makes_the_mean_infinite():
    finite, infinite = summarize(log_score, [1], [0.5]), summarize(log_score, [1, 1], [0.0, 0.5])
    assert np.isfinite(infinite.mean).all()
    assert log_score(infinite) == log_score(finite + infinite) == log_score(infinite + finite) == np.inf
    assert log_score(finite + finite) == pytest.approx(np.log(2))


BRIER, LOG, CLIPPED = (
    summarize(verb, [0], [0.5], **options)
    for verb, options in ((brier_score, {}), (log_score, {}), (log_score, {"clip": 0.1}))
)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: BRIER + LOG,
            "moments of 'brier_score' do not merge with moments of 'log_score': they were made by different verbs",
        ),
        (lambda: CLIPPED + LOG, "moments of 'log_score(clip=0.1)' do not merge with"),
        (lambda: log_score(CLIPPED), "these moments are of log_score(clip=0.1), not log_score"),
        (lambda: Moments.zero().mean_of("s"), "these moments are of nothing, not s"),
    ],
)
def test_other_verbs_and_options_are_refused(call, words, refusal):
    assert refusal(call, error=SummaryError).startswith(words)
    assert log_score(CLIPPED, clip=0.1) == pytest.approx(np.log(2))


class TestHits:
    def test_true_and_false_are_one_and_zero(self):
        hits = np.array([True, False, True, True])
        for w in (unit_weights(4), np.array([1.0, 2.0, 3.0, 4.0])):
            found, expected = (Moments.of({"s": s}, w) for s in (hits, hits.astype(float)))
            for field in ("mean", "mean2", "spread2", "infinite"):
                np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-14)

    def test_weights_of_one_are_the_case_of_all_weights(self):
        s = np.array([1.0, 4.0, np.inf, 2.5])
        assert Moments.of({"s": s}, unit_weights(4)) == Moments.of({"s": s}, np.ones(4))

    def test_sums_of_one_pass(self):
        sums = IntervalSums(n=4, hits=0, mean=2.0, spread=3.0, infinite=1, low=0.0, high=0.0)
        found = Moments.of_sums(["s"], [sums])
        assert (found.n, found.w, found.w2, found.weight_max) == (4, 4.0, 4.0, 1.0)
        assert (found.mean[0], found.spread2[0], found.mean_of("s")) == (2.0, 3.0, np.inf)
