"""Confidence intervals: the reference values, what they cover, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit
from tests.references.intervals import CASES, DATA, intervals_of, judged

from calibrant import (
    Intervals,
    Normal,
    Quantiles,
    Samples,
    Sets,
    brier_score,
    coverage,
    ece,
    log_score,
    skce,
    skce_test,
    summarize,
)
from calibrant.auditing.equivalence_test import equivalence_test
from calibrant.auditing.interval import METHODS, interval, no_interval, per_row
from calibrant.core.catalogue import NoOptions, entries
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.kernels.kernel import Exponential
from calibrant.regions.slabs import worst_slab_coverage
from calibrant.regions.width import width
from calibrant.scores.crps import crps
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score

WEIGHTS = DATA["weights16"]


class TestCoverage:
    @pytest.mark.parametrize("method", ["clopper-pearson", "wilson"])
    @pytest.mark.parametrize("key", CASES["interval-coverage"])
    def test_reference(self, key, method):
        k, n = (int(part) for part in key.split("/"))
        found = interval(coverage, *judged(k, n=n), method=method)
        assert [found.low, found.high] == pytest.approx(
            CASES["interval-coverage"][key][method.replace("-", "_")], rel=1e-10
        )
        assert (found.estimate, found.level, found.n) == (k / n, 0.95, n)
        assert interval("coverage", *judged(k, n=n)).method == "exact (Clopper-Pearson)"

    def test_weighted_reference(self):
        y, prediction = intervals_of()
        for method in ("wilson", None):
            found = interval(coverage, y, prediction, weights=WEIGHTS, method=method)
            for k, values in enumerate(CASES["interval-coverage-weighted"]):
                assert found.estimate[k] == pytest.approx(values["coverage"], rel=1e-10)
                assert [found.low[k], found.high[k]] == pytest.approx(values["wilson"], rel=1e-10)

    def test_one_of_several_levels_is_that_level_alone(self):
        y, prediction = intervals_of()
        several = interval(coverage, y, prediction)
        for k, level in enumerate(DATA["reg16"]["level"]):
            alone = interval(coverage, y, prediction.at(level))
            assert (several.low[k], several.high[k], several.estimate[k]) == (alone.low, alone.high, alone.estimate)

    @pytest.mark.parametrize("weights", [None, WEIGHTS])
    def test_from_a_summary(self, weights):
        total = summarize(coverage, *intervals_of(), weights=weights)
        found, whole = interval(coverage, total), interval(coverage, *intervals_of(), weights=weights)
        np.testing.assert_allclose([found.low, found.high], [whole.low, whole.high], rtol=1e-12)
        assert (found.n, found.method) == (whole.n, whole.method)

    def test_small_upper_limit_keeps_its_digits(self):
        # No hit in n rows: (1 - q)^n = 0.025.
        n = 1_000_000
        found = interval(coverage, *judged(0, n=n))
        assert found.high == pytest.approx(-math.expm1(math.log(0.025) / n), rel=1e-12)

    def test_sets_and_quantiles(self):
        sets = interval(coverage, ["a", "b"], Sets([[True, False], [True, False]]), classes=["a", "b"])
        quantiles = interval(coverage, [1.0, 3.0], Quantiles([2.0, 2.0], 0.5))
        assert (sets.low, sets.high, sets.estimate) == (quantiles.low, quantiles.high, 0.5)


def normal_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), Normal(np.zeros(n), 1.0)


@pytest.mark.parametrize(
    ("w", "hit"),
    [
        ([1e-20, 1e20], [False, True]),  # the share rounds to 1
        ([4e-85, 3e-22, 2e-5], [True, False, True]),
        ([1e-20, 1e20], [True, False]),
        ([3e-88, 3e-63, 1e-59], [True, False, False]),  # the share is 3e-29
        ([1e-300, 1e-150, 1.0, 2.0], [True, False, True, True]),
    ],
)
def test_coverage_with_weights_over_many_decades(w, hit):
    y = np.where(hit, 0.0, 9.0)
    found = interval(coverage, y, Intervals(np.full(y.size, -1.0), np.full(y.size, 1.0), 0.9), weights=w)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < 1
    assert found.high > 0
    if len(w) == 2:  # the lighter row vanishes beside the other
        one = interval(coverage, y[1:], Intervals([-1.0], [1.0], 0.9), method="wilson")
        assert (found.low, found.high) == pytest.approx((one.low, one.high), abs=1e-9)


class TestMeans:
    def test_student_by_formula(self):
        from scipy.stats import t

        y, distribution = normal_rows(150)
        s = np.array([crps([value], Normal([0.0], 1.0)) for value in y])
        half = t.ppf(0.95, 149) * s.std(ddof=1) / np.sqrt(150)
        found = interval(crps, y, distribution, level=0.9)
        assert found.estimate == pytest.approx(s.mean())
        assert (found.low, found.high) == pytest.approx((s.mean() - half, s.mean() + half), rel=1e-10)
        assert (found.n, found.level) == (150, 0.9)

    def test_few_rows_that_decide_have_few_degrees_of_freedom(self):
        y, distribution = normal_rows(400)
        y = np.array(y)
        y[[7, 8, 9]] = 100.0
        found, s = interval(crps, y, distribution), per_row(crps, y, distribution)
        d = s - s.mean()
        deciding = (d**2).sum() ** 2 / (d**4).sum()
        assert 2 < deciding < 4
        t = stdtrit(deciding - 1, 0.975)
        assert found.high - found.low == pytest.approx(2 * t * s.std(ddof=1) / 20, rel=1e-9)
        assert found.method.endswith(f"which {deciding:.3g} effective rows decide")

    def test_confident_predictions_that_were_never_wrong(self, refusal):
        """1,000 rows within 1e-12 of 0, no miss: three more misses could be expected, of a loss of 27.6 each."""
        rng = np.random.default_rng(0)
        p = np.append(rng.random(2000), np.full(1000, 1e-12))
        y = np.append(rng.random(2000) < p[:2000], np.zeros(1000, bool))
        message = refusal(interval, log_score, y, p, error=NotApplicableError)
        assert "1,000 rows have a probability within" in message
        assert "each miss would cost 27.6" in message
        interval(log_score, y, p, clip=0.01)

    def test_too_few_rows(self, refusal):
        message = refusal(interval, crps, *normal_rows(99), error=NotApplicableError)
        assert "needs 100 rows" in message
        assert "got 99" in message
        interval(crps, *normal_rows(300))

    def test_options_reach_the_metric(self):
        rng = np.random.default_rng(4)
        y, draws = rng.normal(size=120), Samples(rng.normal(size=(120, 5)))
        assert interval(crps, y, draws, fair=True).estimate == crps(y, draws, fair=True)

    def test_covers(self):
        truth = 1 / math.sqrt(math.pi)  # E|X - y| - E|X - X'|/2 for standard normals
        found = [interval(crps, *normal_rows(400, seed), level=0.9) for seed in range(400)]
        share = np.mean([one.low <= truth <= one.high for one in found])
        assert share > 0.9 - 3.5 * math.sqrt(0.9 * 0.1 / 400)

    def rows_with_misses(self, misses, n=300):
        y = np.where(np.arange(n) < misses, 2.0, 0.0) + np.random.default_rng(0).uniform(0, 0.5, n)
        return y, np.full(n, -1.0), np.full(n, 1.0)

    def test_interval_score_needs_misses(self, refusal):
        y, lower, upper = self.rows_with_misses(99)
        message = refusal(interval, interval_score, y, Intervals(lower, upper, 0.9), error=NotApplicableError)
        assert "needs 100 rows outside the interval" in message
        assert "got 99" in message
        assert interval(interval_score, y, Intervals(lower, upper, 0.9), part="width").estimate == 2.0
        options = {"part": "below", "error": NotApplicableError}
        assert "got 0" in refusal(interval, interval_score, y, Intervals(lower, upper, 0.9), **options)
        y, lower, upper = self.rows_with_misses(100)
        found = interval(interval_score, y, Intervals(lower, upper, 0.9))
        assert found.low < found.estimate < found.high
        assert found.estimate == interval_score(y, Intervals(lower, upper, 0.9))

    def test_the_widest_interval_decides(self, refusal):
        y, lower, upper = self.rows_with_misses(120)
        wide = Intervals(np.stack([lower, lower], 1), np.stack([upper, upper + 9], 1), [0.5, 0.9])
        for metric in (interval_score, weighted_interval_score):
            assert "got 0" in refusal(interval, metric, y, wide, error=NotApplicableError)
        several = Intervals(np.stack([lower, lower], 1), np.stack([upper, upper + 0.5], 1), [0.5, 0.9])
        assert interval(interval_score, y, several).low.shape == (2,)
        assert isinstance(interval(weighted_interval_score, y, several).low, float)

    def test_weighted_interval_score_of_quantiles(self, refusal):
        y, lower, upper = self.rows_with_misses(120)
        values = np.stack([lower, np.zeros(300), upper], axis=1)
        interval(weighted_interval_score, y, Quantiles(values, [0.1, 0.5, 0.9]))
        values[:, 2] = 9.0
        high = Quantiles(values, [0.1, 0.5, 0.9])
        assert "got 0" in refusal(interval, weighted_interval_score, y, high, error=NotApplicableError)

    def test_quantile_score_needs_both_sides(self, refusal):
        y, _, upper = self.rows_with_misses(100)
        interval(quantile_score, y, Quantiles(upper, 0.7))
        assert "got 0" in refusal(interval, quantile_score, y, Quantiles(upper + 9, 0.7), error=NotApplicableError)
        assert "got 0" in refusal(interval, quantile_score, y, Quantiles(upper - 9, 0.7), error=NotApplicableError)

    @pytest.mark.parametrize("metric", [brier_score, log_score])
    def test_scores_of_probabilities_need_surprises(self, metric, refusal):
        p = np.full(400, 0.25)
        y = (np.arange(400) < 99).astype(int)
        message = refusal(interval, metric, y, p, error=NotApplicableError)
        assert "something else was likelier than what happened" in message
        assert "got 99" in message
        y[99] = 1
        found = interval(metric, y, p)
        assert found.low < found.estimate < found.high
        two = interval(metric, y, np.stack([1 - p, p], axis=1))
        factor = 2 if metric is brier_score else 1
        assert (two.low, two.high) == pytest.approx((factor * found.low, factor * found.high), rel=1e-12)

    def test_weights(self):
        y, distribution = normal_rows(1000)
        w = np.random.default_rng(1).uniform(0.5, 2, 1000)
        s = np.array([crps([value], Normal([0.0], 1.0)) for value in y])
        m = w.sum() ** 2 / (w * w).sum()
        mean = (w * s).sum() / w.sum()
        error = np.sqrt((w**2 * (s - mean) ** 2).sum() * m / (m - 1)) / w.sum()
        found = interval(crps, y, distribution, weights=w)
        assert found.estimate == pytest.approx(mean)
        assert found.high - found.low == pytest.approx(2 * 1.9627 * error, rel=1e-3)


class TestKernelError:
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p**4).astype(int)
    kernel = Exponential(0.25)

    def test_lower_bound_from_blocks(self):
        found = interval(skce, self.y, self.p, kernel=self.kernel, blocksize=2, level=0.9)
        test = skce_test(self.y, self.p, kernel=self.kernel, method="block", blocksize=2)
        low = max(0.0, test.estimate - stdtrit(199, 0.9) * test.details["standard_error"])
        assert found.low == pytest.approx(low, rel=1e-12)
        assert (found.high, found.estimate, found.n) == (np.inf, test.estimate, 400)
        assert found.low > 0
        at_its_level = interval(skce, self.y, self.p, kernel=self.kernel, blocksize=2)
        assert at_its_level.low == pytest.approx(test.details["lower_bound"], rel=1e-12)

    def test_summary(self, refusal):
        options = {"kernel": self.kernel, "blocksize": 2}
        parts = [summarize(skce, self.y[s], self.p[s], **options) for s in (slice(0, 101), slice(101, 400))]
        found = interval(skce, parts[0] + parts[1], **options)
        assert found.high == np.inf
        assert found.n == 400
        assert interval(skce, parts[0] + parts[1]).low == pytest.approx(found.low, rel=1e-11)
        assert "2 rows" in refusal(interval, skce, parts[0], blocksize=3, error=SummaryError)

    def test_blocks_have_a_lower_bound_alone(self, refusal):
        assert "side" in refusal(interval, skce, self.y, self.p, blocksize=2, side="upper")
        whole = summarize(skce, self.y, self.p)
        assert "sums of blocks" in refusal(interval, skce, whole, blocksize=2, error=SummaryError)
        with pytest.raises(NotApplicableError, match="leave blocksize out"):
            equivalence_test(self.y, self.p, metric="skce", blocksize=2, tolerance=0.1)


class TestAllPairsOfRows:
    """Limits of skce, the square of a norm."""

    def test_one_score_by_hand(self):
        """r = y - 0.5 has the mean 0.01: the norm is 0.01 √2, and own = top = 2 · 0.25/400."""
        found = interval(skce, [1] * 204 + [0] * 196, np.full(400, 0.5), kernel=Exponential(1.0), side="upper")
        assert found.high == pytest.approx((0.01 * 2**0.5 - ndtri(0.05) * (0.5 / 400) ** 0.5) ** 2)
        assert found.low == 0
        found = interval(skce, [1] * 400, np.full(400, 0.5), kernel=Exponential(1.0), side="lower")
        assert found.low == pytest.approx((0.5**0.5 - (1 - ndtri(0.05)) * (0.5 / 400) ** 0.5) ** 2)

    def test_three_classes_by_hand(self):
        """All rows are (1/3, 1/3, 1/3) and each class happens 100 times: h is 2/3 or -1/3, and its mean is 0."""
        y, P = np.repeat([0, 1, 2], 100), np.full((300, 3), 1 / 3)
        found = interval(skce, y, P, kernel=Exponential(1.0), unbiased=False, side="upper")
        squares = 3 * 100**2 * (2 / 3) ** 2 + 6 * 100**2 * (1 / 3) ** 2
        assert found.estimate == pytest.approx(0, abs=1e-15)
        assert found.high == pytest.approx(ndtri(0.05) ** 2 * squares**0.5 / 300**2)

    def test_two_columns_have_the_limits_of_one(self):
        rng = np.random.default_rng(0)
        p = rng.random(400)
        y = (rng.random(400) < p**2).astype(int)
        options = {"kernel": Exponential(0.2), "level": 0.9}
        one, two = interval(skce, y, p, **options), interval(skce, y, np.stack([1 - p, p], axis=1), **options)
        assert (one.low, one.high, one.estimate) == pytest.approx((two.low, two.high, two.estimate), rel=1e-9)
        root = interval("mmce", y, p, level=0.9)
        assert (one.low, one.high) == pytest.approx((2 * root.low**2, 2 * root.high**2), rel=1e-9)

    def test_limits_cover(self):
        """Three classes, the truth less certain than stated: 100 sets, limits that fail 5 times in 100 at most."""
        rng, missed = np.random.default_rng(0), 0
        for _ in range(100):
            P = rng.dirichlet(np.full(3, 0.7), 150)
            Q = 0.6 * P + 0.4 / 3
            y = (rng.random((150, 1)) > np.cumsum(Q, axis=1)).sum(axis=1).clip(max=2)
            found = interval(skce, y, P, kernel=Exponential(0.3), level=0.9)
            K = np.exp(-np.abs(P[:, None] - P[None]).sum(axis=-1) / 2 / 0.3)
            true = float((K * ((Q - P) @ (Q - P).T)).mean())
            missed += not found.low <= true <= found.high
        assert missed <= 10

    def test_every_kind_but_draws(self, refusal):
        rng = np.random.default_rng(0)
        y = rng.normal(size=60)
        assert interval(skce, y, Normal(rng.random(60), 1.0)).high > 0
        wide = Intervals(np.full(600, -1.645), np.full(600, 1.645) + rng.random(600), 0.9)
        assert interval(skce, rng.normal(size=600), wide).high > 0
        message = refusal(interval, skce, y, Samples(rng.normal(size=(60, 20))), error=NotApplicableError)
        assert "randomness of draws" in message
        assert "Instead" in message


class TestWorstSlab:
    def test_exact_on_the_evaluation_rows(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 2))
        y = np.where(rng.random(300) < np.where(x[:, 0] > 1, 0.4, 0.95), 0.0, 9.0)
        prediction = Intervals(np.full(300, -1.0), np.full(300, 1.0), 0.9)
        options = {"features": x, "directions": 10, "rng": 0}
        found = interval(worst_slab_coverage, y, prediction, **options)
        assert found.estimate == worst_slab_coverage(y, prediction, **options)
        same = interval(coverage, *judged(round(found.estimate * found.n), n=found.n))
        assert (found.low, found.high) == pytest.approx((same.low, same.high), rel=1e-12)
        assert interval("worst_slab_coverage", y, prediction, **options).low == found.low


SLAB = worst_slab_coverage, *judged(3, n=4)
FEW_VECTORS = np.random.default_rng(0).dirichlet(np.ones(3), 15)


class TestRefused:
    def test_reason_and_remedy_for_every_metric(self, for_each):
        """Every verb of the catalogue has an interval, or says why not and what to do."""

        def check(entry):
            is_mean = entry.row_scores is not None and entry.outcome
            if entry.limits is not None or entry.name in METHODS or is_mean:
                return
            with pytest.raises(NotApplicableError) as caught:
                interval(entry.name, None, None)
            message = str(caught.value)
            assert message.startswith(f"no valid interval is known for {entry.name}: ")
            assert "it brings no limits" not in message
            assert ". Instead, " in message

        for_each(entries(), check)

    @pytest.mark.parametrize(
        ("given", "options", "error", "words"),
        [
            ((coverage, *judged(3, n=4)), {"method": "wald"}, InputError, "method must be one of"),
            ((crps, *normal_rows(100)), {"method": "wilson"}, InputError, "method must be one of"),
            ((coverage, *judged(3, n=4)), {"level": 95}, InputError, "level must lie"),
            ((coverage, *judged(3, n=4)), {"colour": 1}, InputError, "has no option colour"),
            (("colour", *judged(3, n=4)), {}, InputError, "expected a verb"),
            ((coverage, *intervals_of()), {"weights": WEIGHTS, "method": "clopper-pearson"}, InputError, "use method="),
            ((log_score, np.arange(400) % 2, [0.0] * 200 + [0.6] * 200), {}, NotApplicableError, "infinite"),
            ((crps, summarize(crps, *normal_rows(300))), {}, SummaryError, "an interval for crps needs the rows"),
            ((crps, *normal_rows(150)), {"weights": [1.0, 0.01] * 75}, NotApplicableError, "effective"),
            ((skce, [0, 1] * 5, [0.2, 0.7] * 5), {"blocksize": 2}, NotApplicableError, "blocks"),
            ((skce, [0, 1, 2] * 5, FEW_VECTORS), {}, NotApplicableError, "at least 25"),
            (SLAB, {}, InputError, "features="),
            (SLAB, {"features": [[1]] * 4, "colour": 1}, InputError, "no option colour"),
            (SLAB, {"features": np.arange(4.0), "search": None}, NotApplicableError, "no valid interval is known"),
        ],
    )
    def test_calls(self, given, options, error, words, refusal):
        assert words in refusal(interval, *given, error=error, **options)

    def test_a_metric_of_a_user(self):
        def mine(y, prediction):
            return 0.0

        entry = replace(entries()["ucme"], verb=mine, options=NoOptions)
        assert "give its Entry limits=" in str(no_interval(entry))

    def test_beside_a_summary(self, refusal):
        y, prediction = judged(3, n=4)
        total = summarize(coverage, y, prediction)
        assert "cannot be given with a summary" in refusal(interval, coverage, total, prediction)
        assert "cannot be given with a summary" in refusal(interval, coverage, total, weights=[1])
        assert "no rows" in refusal(interval, coverage, type(total).zero())
        foreign = summarize("coverage_hsic", y, prediction)
        assert "reads a summary of kind Moments" in refusal(interval, coverage, foreign, error=SummaryError)


BOTH = Intervals([[0.0, -1.0], [0.0, -1.0]], [[1.0, 2.0], [1.0, 2.0]], [0.5, 0.9])


def test_order_of_the_rows():
    y, p = np.array([1, 0, 1, 0]), np.array([0.5, 0.25, 0.75, 1.0], dtype=np.float32)
    assert per_row("brier_score", y, p).tolist() == [0.25, 0.0625, 0.0625, 1.0]
    order = [2, 0, 3, 1]
    assert per_row(brier_score, y[order], p[order]).tolist() == [0.0625, 0.25, 1.0, 0.0625]


def test_one_level_and_several():
    y = [0.5, 1.5]
    several = per_row(coverage, y, BOTH)
    assert several.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert several.dtype == np.float64
    assert per_row(coverage, y, BOTH.at(0.5)).tolist() == [1.0, 0.0]
    assert per_row(coverage, y, Intervals(BOTH.lower[:, :1], BOTH.upper[:, :1], [0.5])).shape == (2, 1)
    assert per_row(coverage, y, Quantiles([1.0, 1.0], 0.5)).tolist() == [1.0, 0.0]
    assert per_row(coverage, ["b", "a"], Sets([[True, False], [True, True]]), classes=["a", "b"]).tolist() == [0, 1]


def test_mean_is_the_metric():
    rng = np.random.default_rng(0)
    y, distribution = rng.normal(size=50), Normal(rng.normal(size=50), 1.0)
    assert per_row(crps, y, distribution).mean() == pytest.approx(crps(y, distribution), rel=1e-12)
    np.testing.assert_allclose(per_row(interval_score, [0.5, 3.0], BOTH).mean(axis=0), interval_score([0.5, 3.0], BOTH))
    labels = rng.integers(0, 2, 50)
    p = rng.random(50)
    assert per_row(log_score, labels, p, clip=0.2).mean() == pytest.approx(log_score(labels, p, clip=0.2))
    w = rng.random(50)
    weighted = (w * per_row(crps, y, distribution)).sum() / w.sum()
    assert weighted == pytest.approx(crps(y, distribution, weights=w), rel=1e-12)


def test_of_the_prediction_alone():
    assert per_row(width, BOTH).tolist() == per_row(width, None, BOTH).tolist() == [[1.0, 3.0], [1.0, 3.0]]


def test_refusals(refusal):
    assert refusal(per_row, ece, [0, 1], [0.2, 0.7], error=NotApplicableError).startswith("ece is not a mean")
    assert "takes no weights" in refusal(per_row, brier_score, [0, 1], [0.2, 0.7], weights=[1, 2])
    assert "does not contain the rows" in refusal(per_row, brier_score, summarize(brier_score, [0, 1], [0.2, 0.7]))
    assert "has no option colour" in refusal(per_row, brier_score, [0, 1], [0.2, 0.7], colour=1)
    assert "row 1" in refusal(per_row, brier_score, [0, 1], [0.2, np.nan])
