"""Which null is used, and how it is named."""

import numpy as np
import pytest

from calibrant import SummaryError, kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test, summarize
from calibrant.inference.null import asymptotic_words, check_null, monte_carlo_words, resolved_null

TESTS = [kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test]
ALL_TESTS = pytest.mark.parametrize("verb", TESTS, ids=lambda verb: verb.__name__)


@pytest.mark.parametrize(
    ("null", "information", "expected"),
    [
        ("auto", 25.0, "asymptotic"),
        ("auto", 24.999, "monte-carlo"),
        ("asymptotic", 0.1, "asymptotic"),
        ("monte-carlo", 1e6, "monte-carlo"),
    ],
)
def test_resolved(null, information, expected):
    assert resolved_null(null, information) == expected


def test_words():
    assert asymptotic_words("law", 25.0) == "law"
    assert asymptotic_words("law", 7.3) == (
        "law; only 7.3 rows' worth of information (25 wanted), so the level may not be kept"
    )
    assert monte_carlo_words(99) == "99 redraws of the outcomes"


@pytest.mark.parametrize("null", ["exact", "mc", None, "Auto"])
def test_unknown_null(refusal, null):
    message = refusal(check_null, null)
    assert message.startswith("null must be one of 'auto', 'asymptotic', 'monte-carlo'; got ")


@ALL_TESTS
class TestVerbs:
    # 112 rows of 0.25 and 0.5: Σv = 56 * (3/16 + 1/4) = 24.5; with one row more of 0.5 it is 24.75, with three 25.25.
    p = np.repeat([0.25, 0.5], 56)

    def test_auto_switches_at_25(self, verb):
        few, many = (np.append(self.p, [0.5] * k) for k in (1, 3))
        assert "redraws of the outcomes" in verb(few < 0.3, few, resamples=19).method
        assert "redraws" not in verb(many < 0.3, many).method

    def test_information_counts_equivalent_rows(self, verb):
        # One row of weight 10 among weights of 1: Σw²v / 100.
        w = np.ones(112)
        w[0] = 10.0
        result = verb(self.p < 0.3, self.p, weights=w, resamples=19)
        assert result.details["information"] == pytest.approx((24.5 + 99 * 3 / 16) / 100)
        assert "redraws of the outcomes" in result.method

    def test_method_warns_where_the_limit_is_not_to_be_trusted(self, verb):
        assert (
            "only 24.5 rows' worth of information (25 wanted)" in verb(self.p < 0.3, self.p, null="asymptotic").method
        )

    def test_smallest_pvalue(self, verb):
        # Nothing redrawn comes near, and the data themselves count: 1 / (B + 1).
        p = np.full(40, 0.05)
        assert verb(np.ones(40, int), p, null="monte-carlo", resamples=19).pvalue == 1 / 20

    def test_repeats_itself_and_follows_the_generator(self, verb):
        p = np.linspace(0.1, 0.6, 30)
        options = {"null": "monte-carlo", "resamples": 99}
        pvalues = [verb(p > 0.3, p, rng=rng, **options).pvalue for rng in (0, 0, 1, np.random.default_rng(1))]
        assert verb(p > 0.3, p, **options).pvalue == pvalues[0] == pvalues[1]
        assert pvalues[2] == pvalues[3]

    @pytest.mark.parametrize("factor", [0.1, 1 / 3, 7.0])
    def test_a_common_factor_of_the_weights_changes_nothing(self, verb, factor):
        # Rare events with tied statistics: a replicate that ties with the data does so in any unit of the weights.
        p = np.arange(1, 101) / 1024
        y, weights = p > 96 / 1024, np.full(100, factor)
        assert verb(y, p, weights=weights).pvalue == verb(y, p).pvalue

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"null": "exact"}, "null must be one of"),
            ({"null": "monte-carlo", "resamples": 0}, "resamples must be at least 1"),
            ({"null": "monte-carlo", "resamples": 9.0}, "resamples must be a whole number"),
            ({"null": "monte-carlo", "rng": None}, "rng must be a numpy Generator"),
        ],
    )
    def test_refused(self, verb, refusal, options, words):
        assert words in refusal(verb, [0, 1], [0.25, 0.4], **options)


def test_moments_cannot_be_redrawn(refusal):
    moments = summarize(spiegelhalter_test, [0, 1, 1], [0.2, 0.4, 0.7], null="asymptotic")
    for null in ("auto", "monte-carlo"):
        message = refusal(spiegelhalter_test, moments, null=null, error=SummaryError)
        assert "Moments does not keep" in message
        assert 'null="asymptotic"' in message
    assert spiegelhalter_test(moments, null="asymptotic").n == 3


@pytest.mark.parametrize("verb", [kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test])
@pytest.mark.parametrize("weights", [None, [2, 2, 2, 2], [1, 2, 1, 3]], ids=["unit", "equal", "unequal"])
def test_a_grid_is_redrawn_from_its_cells(verb, weights):
    y, p = [0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9]  # each in a cell of its own, so that nothing is lost
    grid = summarize("ece", y, p, weights=weights)
    on_grid, exact = verb(grid), verb(y, p, weights=weights)
    assert on_grid.pvalue == exact.pvalue
    assert on_grid.method.endswith("; 9999 redraws of the outcomes from the mean score of each cell")
