"""`equivalence_test`: published values, cases by hand, every kind of prediction, refusals."""

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.errors import InputError, NotApplicableError
from calibrant.summaries import Ranks

HALF = np.full(400, 0.5)
NOT_SHARES = (0, 1, -0.1, np.nan, np.inf, True, "0.1", None, [0.1], np.array([0.1, 0.2]))


def happened(k, n=400):
    return np.arange(n) < k


class TestProbabilities:
    def test_l2_of_the_specification(self, D1, D2):
        options = {"metric": cb.ece, "norm": "l2", "debias": True, "strategy": "mass"}
        right, wrong = (
            [cb.equivalence_test(y, p, tolerance=tau, **options).pvalue for tau in (0.1, 0.15, 0.2)]
            for y, p in (D1, cb.top_label(*D2))
        )
        assert right == pytest.approx([0.035353001890596966, 0.00011876952423999759, 1.6238180510728638e-08], rel=1e-6)
        assert wrong == pytest.approx([0.999058234095554, 0.8077852492313522, 0.0758934033248096], rel=1e-6)

    def test_by_hand(self):
        found = cb.equivalence_test(happened(204), HALF, tolerance=0.06)
        assert found.estimate == pytest.approx(0.01)
        assert found.pvalue == pytest.approx(stats.norm.cdf(-0.05 / 0.025), rel=1e-9)
        assert found.details["high"] == pytest.approx(0.01 + 1.6448536269514722 * 0.025)
        assert (found.n, found.details["tolerance"]) == (400, 0.06)

    def test_agrees_with_the_one_sided_limit(self, D1):
        for tolerance in (0.05, 0.08, 0.09, 0.2):
            found = cb.equivalence_test(*D1, tolerance=tolerance)
            high = cb.interval("cutoff_error", *D1, side="upper").high
            assert (found.pvalue <= 0.05) == (high <= tolerance)

    def test_relative_to_the_mean_prediction(self):
        p = np.full(4000, 0.02)
        y = happened(84, 4000)
        one = cb.equivalence_test(y, p, tolerance=0.5, relative=True)
        other = cb.equivalence_test(y, p, tolerance=0.01)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-9)
        assert one.details["tolerance"] == pytest.approx(0.01)

    def test_relative_with_weights(self):
        p, w = np.where(np.arange(400) < 200, 0.2, 0.6), np.where(np.arange(400) < 200, 3.0, 1.0)
        found = cb.equivalence_test(happened(150), p, tolerance=0.5, relative=True, weights=w)
        assert found.details["tolerance"] == pytest.approx(0.5 * 0.3)

    def test_classes(self, D2):
        top = cb.equivalence_test(*D2, tolerance=0.25)
        assert top.pvalue == cb.equivalence_test(*cb.top_label(*D2), tolerance=0.25).pvalue
        assert cb.equivalence_test(*D2, tolerance=0.1, metric="ece", notion="classwise").pvalue < 0.05

    def test_kernel_error_by_hand(self):
        """204 of 400 happen: the root is 0.01 √2 and √top = (0.5/400)^½, so p = Φ((0.01 √2 - √0.02)/√top)."""
        found = cb.equivalence_test(
            happened(204), HALF, metric="skce", kernel=cb.kernels.Exponential(1.0), tolerance=0.02, unbiased=False
        )
        assert found.estimate == pytest.approx(0.0002)
        assert found.pvalue == pytest.approx(stats.norm.cdf((0.01 * 2**0.5 - 0.02**0.5) / (0.5 / 400) ** 0.5))

    def test_a_summary(self, D1):
        whole = cb.equivalence_test(*D1, tolerance=0.1, metric="ece")
        assert cb.equivalence_test(cb.summarize("ece", *D1), tolerance=0.1, metric="ece").pvalue == whole.pvalue

    def test_level_at_the_boundary(self):
        """Rows of one score whose true error is the tolerance: at most 5 % may pass, added up exactly."""
        n, p, true = 300, 0.4, 0.46
        mass = stats.binom.pmf(np.arange(n + 1), n, true)
        passed = sum(
            mass[k]
            for k in np.flatnonzero(mass > 1e-9)
            if cb.equivalence_test(happened(k, n), np.full(n, p), tolerance=true - p).pvalue <= 0.05
        )
        assert 0.01 < passed <= 0.06


class TestRegions:
    Y = np.arange(100) / 100

    def intervals(self, covered, level=0.9):
        upper = np.where(np.arange(100) < covered, 2.0, -1.0)
        return cb.Intervals(np.full(100, -1.0), upper, level)

    def test_by_hand(self):
        found = cb.equivalence_test(self.Y, self.intervals(88), tolerance=0.08)
        low, high = stats.binom.sf(87, 100, 0.82), stats.binom.cdf(88, 100, 0.98)
        assert found.pvalue == pytest.approx(max(low, high), rel=1e-9)
        assert found.estimate == pytest.approx(0.02)
        limits = stats.binomtest(88, 100).proportion_ci(0.9, "exact")
        assert (found.details["low"], found.details["high"]) == pytest.approx(tuple(limits))

    def test_a_level_near_1_cannot_be_exceeded_by_much(self):
        found = cb.equivalence_test(self.Y, self.intervals(100, 0.95), tolerance=0.06)
        assert found.pvalue == pytest.approx(0.89**100, rel=1e-9)

    def test_several_levels(self):
        both = cb.Intervals(
            np.full((100, 2), -1.0), np.where(np.arange(100) < 88, 2.0, -1.0)[:, None] * [1, 1], [0.8, 0.9]
        )
        found = cb.equivalence_test(self.Y, both, tolerance=0.08)
        assert found.pvalue.shape == (2,)
        assert found.pvalue[1] == pytest.approx(cb.equivalence_test(self.Y, self.intervals(88), tolerance=0.08).pvalue)

    def test_sets_and_quantiles(self):
        mask = np.arange(100)[:, None] % 10 != np.array([0, 20, 20])  # class 0 is in 90 of 100 sets
        found = cb.equivalence_test(np.zeros(100, int), cb.Sets(mask, 0.9), tolerance=0.1)
        assert found.estimate == pytest.approx(0.0)
        quantiles = cb.Quantiles(np.full((100, 1), 0.495), [0.5])
        assert cb.equivalence_test(self.Y, quantiles, tolerance=0.1).estimate == pytest.approx(0.0)

    def test_weights_are_refused_unless_equal(self, refusal):
        call = {"tolerance": 0.1, "weights": np.arange(1, 101)}
        message = refusal(cb.equivalence_test, self.Y, self.intervals(88), error=NotApplicableError, **call)
        assert "needs equal weights" in message
        call["weights"] = np.full(100, 2.0)
        assert cb.equivalence_test(self.Y, self.intervals(88), **call).pvalue < 1


class TestRanks:
    def test_by_hand(self):
        ranks = Ranks.of([0] * 60 + [1] * 40, M=1)  # F(1/2) is 0.6
        found = cb.equivalence_test(ranks, tolerance=0.2)
        assert found.estimate == pytest.approx(0.1)
        assert found.pvalue == pytest.approx(stats.binom.cdf(60, 100, 0.7), rel=1e-9)
        assert found.details["high"] == pytest.approx(stats.beta.isf(0.05, 61, 40) - 0.5)

    def test_an_interval_that_contains_too_few_counts_as_one_that_contains_too_many(self):
        ranks = Ranks.of(np.repeat([0, 1, 2, 3], [30, 20, 20, 30]), M=3)  # the middle half contains 40 of 100
        found = cb.equivalence_test(ranks, tolerance=0.3)
        assert found.estimate == pytest.approx(0.1)
        # at most 60 in the ranks 0 and 3, of probability 0.5 + 0.3; every other interval is farther from 0.3
        assert found.pvalue == pytest.approx(stats.binom.cdf(60, 100, 0.8))

    def test_draws_and_distributions(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=500)
        y = rng.normal(mean)
        right = cb.equivalence_test(y, cb.Normal(mean, np.ones(500)), tolerance=0.1)
        wrong = cb.equivalence_test(y, cb.Normal(mean + 1, np.ones(500)), tolerance=0.1)
        assert right.pvalue < 0.05 < wrong.pvalue
        draws = cb.Samples(mean[:, None, None] + rng.normal(size=(500, 50, 2)))
        assert cb.equivalence_test(np.stack([y, y], axis=1), draws, tolerance=0.1).pvalue.shape == (2,)


class TestRefusals:
    @pytest.mark.parametrize(
        ("call", "error", "words"),
        [
            ({"metric": "brier_score"}, NotApplicableError, "expected a metric that brings its own limits"),
            ({"metric": "nothing"}, InputError, "expected a verb of calibrant"),
            ({"rng": 0}, InputError, "not for one probability per row"),
            ({"bins": 10}, InputError, "cutoff_error has no option bins"),
            *(({"tolerance": tau}, InputError, "tolerance must lie strictly between 0 and 1") for tau in NOT_SHARES),
            *(({"relative": each}, InputError, "relative must be") for each in ("no", np.nan, 1, None, HALF > 0)),
        ],
        ids=str,
    )
    def test_options(self, refusal, call, error, words):
        call = {"tolerance": 0.1, **call}
        assert words in refusal(cb.equivalence_test, happened(204), HALF, error=error, **call)

    def test_data(self, D2, refusal):
        ranks, summary = Ranks.of([0] * 60 + [1] * 40, M=1), cb.summarize("cutoff_error", happened(204), HALF)
        for given, options, words in (
            ((ranks, HALF), {}, "cannot be given with a summary"),
            ((Ranks.zero(),), {}, "there are no rows"),
            ((summary,), {"relative": True}, "pass y and prediction"),
            (([0, 1], [0.5, 1.5]), {}, "row 1 is 1.5"),
            (D2, {"relative": True, "error": NotApplicableError}, "one_vs_rest"),
        ):
            assert words in refusal(cb.equivalence_test, *given, tolerance=0.1, **options)
