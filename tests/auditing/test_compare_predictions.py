"""`compare_predictions`: published values, the jackknife by hand, series, many models, refusals."""

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.auditing.cutoff_differences import Walk
from calibrant.auditing.paired_differences import squared_error
from calibrant.auditing.plots import marks_reliability_curves
from calibrant.core.binned import bin_table
from calibrant.core.catalogue import find
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import holm
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.probabilities import read_binary

BOTH = cb.Intervals(np.zeros((60, 2)), np.ones((60, 2)), [0.5, 0.9])


@pytest.fixture
def models(D1):
    y, p = D1
    return y, {"sharp": p, "timid": 0.5 * p + 0.25}


class TestReferences:
    """Values of the specification, computed independently there."""

    def test_brier_score(self, models, D2):
        pair = cb.compare_predictions(*models).pairs[0]
        found = (pair.difference, pair.low, pair.high, pair.pvalue)
        expected = (-3.064484567299175e-05, -0.009465151616931707, 0.009403861925585724, 0.9949106712501401)
        assert found == pytest.approx(expected, rel=1e-8)
        y, p = cb.top_label(*D2)
        pair = cb.compare_predictions(y, [p, 0.5 * p + 0.25]).pairs[0]
        found = (pair.difference, pair.low, pair.high, pair.pvalue)
        expected = (0.017453672173379047, 0.008001844330060294, 0.0269055000166978, 0.0003116652057481185)
        assert found == pytest.approx(expected, rel=1e-8)

    def test_squared_errors(self, models, D2):
        found = cb.compare_predictions(*models, metric="ece")
        assert found.values["ece"] == pytest.approx((0.001835636232864126, 0.0017614325358527745), rel=1e-7)
        assert found.pairs[0].difference == pytest.approx(7.420369701135153e-05, rel=1e-7)
        y, p = cb.top_label(*D2)
        found = cb.compare_predictions(y, [p, 0.5 * p + 0.25], metric=cb.ece)
        assert found.values["ece"] == pytest.approx((0.0281254663321963, 0.011111166672939266), rel=1e-7)


class TestJackknife:
    def test_is_that_of_deleting_each_row(self):
        rng = np.random.default_rng(0)
        p = np.repeat([0.2, 0.4, 0.6, 0.8], 40)
        q = np.repeat([0.3, 0.7], 80)
        y = rng.random(160) < p
        found = cb.compare_predictions(y, [p, q], metric="ece", strategy="width", bins=10).pairs[0]

        def theta(y, p):
            return cb.ece(y, p, strategy="width", bins=10, norm="l2-squared", debias=True)

        rest = [(np.delete(y, i), np.delete(p, i), np.delete(q, i)) for i in range(160)]
        left = np.array([theta(y, p) - theta(y, q) for y, p, q in rest])
        error = np.sqrt(159 / 160 * ((left - left.mean()) ** 2).sum())
        assert found.difference == pytest.approx(theta(y, p) - theta(y, q), rel=1e-9)
        assert found.high - found.difference == pytest.approx(stats.t.ppf(0.975, 159) * error, rel=1e-9)


class TestMeans:
    def test_is_the_paired_t_test(self, models):
        y, p = models
        a, b = (cb.per_row("log_score", y, p[name]) for name in p)
        expected = stats.ttest_rel(a, b)
        pair = cb.compare_predictions(y, p, metric="log_score").pairs[0]
        assert pair.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert (pair.low, pair.high) == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-9)

    def test_skill(self, models):
        y, p = models
        pair = cb.compare_predictions(y, p).pairs[0]
        assert pair.skill == pytest.approx(1 - cb.brier_score(y, p["sharp"]) / cb.brier_score(y, p["timid"]))
        assert pair.skill_low < pair.skill < pair.skill_high

    def test_every_kind_of_prediction(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=400)
        y = rng.normal(mean)
        right, wrong = cb.Normal(mean, np.ones(400)), cb.Normal(mean + 0.5, np.ones(400))
        assert cb.compare_predictions(y, {"right": right, "wrong": wrong}, metric="crps").pairs[0].high < 0
        intervals = {f"{k}": cb.Intervals(mean - k, mean + k, 0.9) for k in (1.0, 1.645)}
        pair = cb.compare_predictions(y, intervals, metric="coverage").pairs[0]
        assert pair.difference == pytest.approx(-np.mean((np.abs(y - mean) > 1) & (np.abs(y - mean) <= 1.645)))
        assert pair.high < 0

    @pytest.mark.parametrize("metric", ["brier_score", "cutoff_error"])
    def test_equal_predictions(self, models, metric):
        y, p = models
        pair = cb.compare_predictions(y, [p["sharp"], p["sharp"]], metric=metric).pairs[0]
        assert (pair.difference, pair.low, pair.high, pair.pvalue) == (0.0, 0.0, 0.0, 1.0)


class TestSeries:
    def test_the_order_of_time_counts_not_that_of_rows(self, models):
        y, p = models
        order = np.random.default_rng(0).permutation(500)
        one = cb.compare_predictions(y, p, time=np.arange(500)).pairs[0]
        permuted = {name: column[order] for name, column in p.items()}
        other = cb.compare_predictions(y[order], permuted, time=order).pairs[0]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)

    def test_level_with_dependent_differences(self):
        """AR(1) differences with correlation 0.5: the plain t test rejects about 0.25 of the time."""
        rng, plain, series = np.random.default_rng(1), 0, 0
        half = np.full(200, 0.5)
        for _ in range(300):
            noise = rng.normal(size=300)
            d = np.zeros(300)
            for t in range(1, 300):
                d[t] = 0.5 * d[t - 1] + noise[t]
            shift = 0.04 * d[100:]
            call = np.zeros(200), {"a": 0.5 + shift, "b": half}
            mean = np.mean((0.5 + shift) ** 2 - 0.25)
            expected = 0.04**2 / (1 - 0.25)  # of the difference of squares
            pair = cb.compare_predictions(*call).pairs[0]
            plain += not pair.low <= expected <= pair.high
            pair = cb.compare_predictions(*call, time=np.arange(200)).pairs[0]
            series += not pair.low <= expected <= pair.high
            assert pair.difference == pytest.approx(mean)
        assert plain > 45
        assert series < 27  # Binomial(300, 0.05) exceeds 26 with probability 0.003


class TestManyModels:
    def test_pairs_are_adjusted(self, models):
        y, p = models
        every = {**p, "constant": np.full(500, 0.5)}
        found = cb.compare_predictions(y, every)
        pairs = [("sharp", "timid"), ("sharp", "constant"), ("timid", "constant")]
        assert [(pair.first, pair.second) for pair in found.pairs] == pairs
        raw = [cb.compare_predictions(y, [every[a], every[b]]).pairs[0].pvalue for a, b in pairs]
        assert [pair.pvalue for pair in found.pairs] == pytest.approx(holm(np.array(raw)), rel=1e-9)
        expected = [cb.brier_score(y, v) for v in every.values()]
        assert found.values["brier_score"] == pytest.approx(expected)


class TestCutoffErrors:
    def test_one_score_each_by_hand(self):
        """204 of 400 happen. The errors of 0.5 and 0.6 are 0.01 and 0.09, and that of 0.6 can have one sign alone.

        So the difference exceeds that of the estimates by N_b - N_a at most, where N is of (y - 0.5) and -(y - 0.6).
        """
        y = np.array([1] * 204 + [0] * 196)
        found = cb.compare_predictions(y, {"a": np.full(400, 0.5), "b": np.full(400, 0.6)}, metric="cutoff_error")
        pair, r = found.pairs[0], (y - 0.5) + (y - 0.6)
        assert pair.difference == pytest.approx(0.01 - 0.09)
        assert pair.high - pair.difference == pytest.approx(1.96 * np.sqrt((r**2).sum()) / 400, rel=0.04)
        assert found.values["cutoff_error"] == pytest.approx((0.01, 0.09))

    def test_is_the_difference_of_the_metric(self, models):
        y, p = models
        w = np.random.default_rng(0).uniform(0.5, 1.5, 500)
        pair = cb.compare_predictions(y, p, metric="cutoff_error", weights=w).pairs[0]
        one, other = (cb.cutoff_error(y, p[name], weights=w) for name in p)
        assert pair.difference == pytest.approx(one - other, abs=1e-12)
        assert pair.low < pair.difference < pair.high

    def test_pvalue_agrees_with_the_limits(self):
        rng = np.random.default_rng(0)
        for power in (1.0, 0.85, 0.7, 0.5):
            p = rng.random(1000) ** 2
            models = {"right": p, "high": p**power * 0.99}
            pair = cb.compare_predictions(rng.random(1000) < p, models, metric="cutoff_error").pairs[0]
            assert (pair.high < 0 or pair.low > 0) == (pair.pvalue < 0.05)

    def test_order_scale_and_names_do_not_matter(self, models):
        y, p = models
        order = np.random.default_rng(0).permutation(500)
        call = {"metric": "cutoff_error", "weights": np.full(500, 3.0)}
        one = cb.compare_predictions(y, [p["sharp"], p["timid"]], metric="cutoff_error").pairs[0]
        other = cb.compare_predictions(y[order], [p["sharp"][order], p["timid"][order]], **call).pairs[0]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-6)
        swapped = cb.compare_predictions(y, [p["timid"], p["sharp"]], metric="cutoff_error").pairs[0]
        assert (one.low, one.high) == pytest.approx((-swapped.high, -swapped.low), rel=0.05)  # other draws

    @pytest.mark.parametrize(("scale", "found"), [(0.05, 0.01), (0.001, -0.02)])
    def test_the_true_worst_stretch_may_be_another_one(self, scale, found):
        """A walk rises by 0.05 and falls by 0.09. If 0.04 is within noise, the rise may be the worst stretch.

        Its noise, 0.01, differs more from a noise of -0.02 in the other model than that of the fall does.
        """
        p, places = np.full(3, 0.5), np.arange(3)
        walk = Walk(p, np.zeros(3), places, places, np.array([0.0, 0.05, -0.04]), scale, np.inf)
        noise = np.array([[0.0], [0.01], [0.03]])
        np.testing.assert_allclose(walk.over_the_worst(noise), [-0.02])
        np.testing.assert_allclose(walk.apart_from(np.array([-0.02]), noise), [found])

    def test_limits_cover_where_the_plain_ones_miss(self, monkeypatch):
        """A calibrated model and one of the same order with slope 0.8; the plain limits ± z s miss 4 times in 10."""
        for name, number in (("MIN_DRAWS", 400), ("BEYOND", 10)):
            monkeypatch.setattr(f"calibrant.auditing.cutoff_differences.{name}", number)
        rng, missed = np.random.default_rng(0), 0
        for _ in range(60):
            q = rng.random(200)
            b = 1 / (1 + (1 / q - 1) ** 0.8)
            y = rng.random(200) < q
            C = np.append(0, np.cumsum((q - b)[np.argsort(b)])) / 200
            pair = cb.compare_predictions(y, [q, b], metric="cutoff_error").pairs[0]
            missed += not pair.low <= -np.ptp(C) <= pair.high
        assert missed <= 6

    def test_refusals(self, models, refusal):
        y, p = models
        call = {"metric": "cutoff_error", "error": NotApplicableError}
        assert "at least 25" in refusal(cb.compare_predictions, y[:50], [p["sharp"][:50], p["timid"][:50]], **call)
        assert "Compare fewer models" in refusal(cb.compare_predictions, *models, level=0.9995, **call)


class TestErrorsWithLimits:
    """Other errors that have limits of their own: of the difference they are those of both errors."""

    def test_by_hand(self):
        """204 of 400 happen. Stated 0.5: the error is 0.01, s = 0.025. Stated 0.6: 0.09, s² = Σr²/n² = 103.2/400²."""
        y = np.array([1] * 204 + [0] * 196)
        pair = cb.compare_predictions(y, {"a": np.full(400, 0.5), "b": np.full(400, 0.6)}, metric="mmce").pairs[0]
        z = -stats.norm.ppf(0.0125)
        s_a, s_b = 0.025, 103.2**0.5 / 400
        assert pair.difference == pytest.approx(0.01 - 0.09)
        assert pair.low == pytest.approx(max(0.0, 0.01 - (1 + z) * s_a) - (0.09 + z * s_b))
        assert pair.high == pytest.approx(0.01 + z * s_a - (0.09 - (1 + z) * s_b))

    def test_pvalue_is_where_the_limits_reach_0(self):
        rng = np.random.default_rng(0)
        p = rng.random(4000)
        models = {"right": p, "high": p**0.7}
        y = rng.random(4000) < p
        pair = cb.compare_predictions(y, models, metric="mmce").pairs[0]
        assert pair.high < 0
        for factor, excluded in ((1.0001, True), (0.9999, False)):
            at = cb.compare_predictions(y, models, metric="mmce", level=1 - factor * pair.pvalue).pairs[0]
            assert (at.high < 0) is excluded

    @pytest.mark.parametrize("metric", ["mce", "mmce", "skce", "kolmogorov_smirnov_test"])
    def test_every_error_that_has_limits(self, models, metric):
        y, p = models
        pair = cb.compare_predictions(y, p, metric=metric).pairs[0]
        one, other = (cb.interval(metric, y, p[name], level=0.975) for name in p)
        assert (pair.low, pair.high) == pytest.approx((one.low - other.high, one.high - other.low))
        assert pair.difference == pytest.approx(one.estimate - other.estimate)


class TestHandWorked:
    def test_coverage_counts_rows_that_differ(self):
        """10 of 100 outcomes are covered by a alone and 4 by b alone: d is 1, -1 or 0."""
        y = np.zeros(100)
        a = cb.Intervals(np.r_[np.full(10, -1.0), np.full(4, 1.0), np.full(86, -1.0)], np.full(100, 2.0), 0.9)
        b = cb.Intervals(np.r_[np.full(10, 1.0), np.full(4, -1.0), np.full(86, -1.0)], np.full(100, 2.0), 0.9)
        pair, d = (
            cb.compare_predictions(y, [a, b], metric="coverage").pairs[0],
            np.r_[np.ones(10), -np.ones(4), np.zeros(86)],
        )
        deciding = ((d - 0.06) ** 2).sum() ** 2 / ((d - 0.06) ** 4).sum()  # 13 of them
        error = np.sqrt((0.14 - 0.06**2) / 99)
        assert pair.high - 0.06 == pytest.approx(stats.t.ppf(0.975, deciding - 1) * error)
        a3, b3 = (cb.Intervals(np.tile(each.lower[:, 0], 3), np.full(300, 2.0), 0.9) for each in (a, b))
        pair = cb.compare_predictions(np.zeros(300), [a3, b3], metric="coverage").pairs[0]
        error = np.sqrt((0.14 - 0.06**2) / 299)
        assert pair.difference == pytest.approx(0.06)
        assert pair.high - 0.06 == pytest.approx(stats.t.ppf(0.975, 299) * error)

    def test_skill_by_the_delta_method(self):
        """Scores 0.04 and 0.16 of a, 0.25 of b: skill 1 - 0.1/0.25, se that of (a - 0.4 b)/0.25."""
        y = np.tile([0, 1], 100)
        pair = cb.compare_predictions(y, [np.tile([0.2, 0.6], 100), np.full(200, 0.5)]).pairs[0]
        error = 0.06 / 0.25 / np.sqrt(199)
        assert pair.skill == pytest.approx(0.6)
        t = stats.t.ppf(0.975, 199)
        assert (pair.skill_low, pair.skill_high) == pytest.approx((0.6 - t * error, 0.6 + t * error))

    def test_diebold_and_mariano(self):
        """125 rows: int(0.41 · 25) = 10 cosine transforms, whose mean square is the long-run variance."""
        rng = np.random.default_rng(0)
        a, b, y = rng.random(125), rng.random(125), rng.integers(2, size=125)
        d = (y - a) ** 2 - (y - b) ** 2
        pair = cb.compare_predictions(y, [a, b], time=np.arange(125)).pairs[0]
        at = np.pi * (np.arange(125) + 0.5) / 125
        transforms = [np.sqrt(2 / 125) * (d * np.cos(j * at)).sum() for j in range(1, 11)]
        error = np.sqrt(np.mean(np.square(transforms)) / 125)
        assert pair.high - pair.low == pytest.approx(2 * stats.t.ppf(0.975, 10) * error)
        assert pair.pvalue == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 10))


class TestSeveralMetrics:
    def test_share_the_error_rate(self, models):
        found = cb.compare_predictions(*models, metric=["ece", cb.brier_score])
        assert tuple(found.values) == ("ece", "brier_score")
        for pair in found.pairs:
            alone = cb.compare_predictions(*models, metric=pair.metric, level=0.975).pairs[0]
            assert (pair.low, pair.high) == pytest.approx((alone.low, alone.high))
        raw = [cb.compare_predictions(*models, metric=metric).pairs[0].pvalue for metric in found.values]
        assert [pair.pvalue for pair in found.pairs] == pytest.approx(holm(np.array(raw)))

    def test_one_that_cannot_be_compared_is_named(self, models, refusal):
        found = cb.compare_predictions(*models, metric=["decompose", "brier_score"])
        assert tuple(found.values) == ("brier_score",)
        assert "cannot be compared" in found.refused["decompose"]
        assert any("decompose is not compared" in caveat for caveat in found.findings.caveats)
        message = refusal(cb.compare_predictions, *models, metric=["decompose", "direction"], error=NotApplicableError)
        assert "direction: " in message

    def test_options_belong_to_one(self, models, refusal):
        for options in ({"bins": 5}, {"tolerance": 0.1}):
            message = refusal(cb.compare_predictions, *models, metric=["ece", "brier_score"], **options)
            assert "belongs to one metric" in message
        assert "one metric at least" in refusal(cb.compare_predictions, *models, metric=[])
        found = cb.compare_predictions(*models, metric=np.array(["ece", "brier_score"]))
        assert found.values.keys() == {"ece", "brier_score"}
        assert "expected a verb of calibrant" in refusal(cb.compare_predictions, *models, metric=np.array(0.5))


class TestRefusals:
    def test_confident_predictions_that_were_never_wrong(self, refusal):
        rng = np.random.default_rng(0)
        sure = np.append(rng.random(1000), np.full(500, 1e-9))
        unsure = np.append(sure[:1000] * 0.9 + 0.05, np.full(500, 0.01))
        y = np.append(rng.random(1000) < sure[:1000], np.zeros(500, bool))
        call = {"metric": "log_score", "error": NotApplicableError}
        assert "500 rows have a probability within" in refusal(cb.compare_predictions, y, [sure, unsure], **call)

    @pytest.mark.parametrize(
        ("y", "predictions", "metric", "error", "words"),
        [
            ([0, 0], [[0.1, 0.1], [0.2, 0.2]], "brier_score", NotApplicableError, "needs 50 rows"),
            (
                np.zeros(50),
                [np.full(50, 0.1), np.full(50, 0.2)],
                "brier_score",
                NotApplicableError,
                "all 50 differences",
            ),
            ([1] * 9, [np.full(9, 0.5), np.arange(9) / 8], "log_score", NotApplicableError, "row 0 is infinite"),
            (np.zeros(60), [BOTH, BOTH], "interval_score", InputError, "compare one"),
            ([0, 1, 1], [[0.5, 0.5, 0.5], [0.5, 0.5]], "brier_score", InputError, "rows"),
        ],
    )
    def test_rows(self, refusal, y, predictions, metric, error, words):
        assert words in refusal(cb.compare_predictions, y, predictions, metric=metric, error=error)

    @pytest.mark.parametrize("predictions", [[[0.5, 0.5]], {}, {"a": [0.5, 0.5]}, 3, "ab", None, np.ones((2, 3))])
    def test_two_predictions_are_needed(self, refusal, predictions):
        message = refusal(cb.compare_predictions, [0, 1], predictions)
        assert "two predictions or more" in message or "must be a mapping" in message

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"metric": "decompose"}, NotApplicableError, "not a mean of row scores"),
            ({"metric": "cutoff_error", "time": np.arange(500)}, NotApplicableError, "independent rows only"),
            ({"tolerance": -1}, InputError, "tolerance"),
            ({"metric": "ece", "norm": "l1"}, NotApplicableError, "debiased squared l2 error"),
            ({"metric": "ece", "weights": np.arange(1, 501)}, NotApplicableError, "equal weights only"),
            ({"metric": "ece", "time": np.arange(500)}, NotApplicableError, "independent rows only"),
            ({"metric": "ece", "bins": 200}, NotApplicableError, "rows in each bin"),
            ({"time": np.arange(5)}, InputError, "one number for each of the 500 rows"),
            ({"time": np.arange(500), "weights": np.arange(1, 501)}, NotApplicableError, "equal weights"),
            ({"time": np.arange(500) // 50}, NotApplicableError, "rows of 50 different times; got 10"),
            ({"level": 95}, InputError, "strictly between 0 and 1"),
            ({"colour": "red"}, InputError, "has no option colour"),
        ],
    )
    def test_options(self, models, refusal, options, error, words):
        assert words in refusal(cb.compare_predictions, *models, error=error, **options)

    def test_predictions_that_are_not_alike(self, models, refusal):
        y, p = models
        two = np.stack([1 - p["sharp"], p["sharp"]], axis=1)
        assert "of one kind" in refusal(cb.compare_predictions, y, {"one": p["sharp"], "two": two})
        wide, narrow = (cb.Intervals(-np.ones(60), np.ones(60), level) for level in (0.9, 0.5))
        assert "of one kind" in refusal(cb.compare_predictions, np.zeros(60), [wide, narrow], metric="interval_score")
        assert "different as texts" in refusal(cb.compare_predictions, y, {1: p["sharp"], "1": p["timid"]})

    def test_times_are_finite_and_belong_to_the_rows_that_count(self, models, refusal):
        time = np.arange(500.0)
        time[3] = np.nan
        assert "row 3 is nan" in refusal(cb.compare_predictions, *models, time=time)
        weights = np.where(np.arange(500) < 10, 0.0, 1.0)
        found = cb.compare_predictions(*models, time=np.arange(500), weights=weights)
        days = np.datetime64("2024-01-01") + np.arange(500)
        assert found == cb.compare_predictions(*models, time=days, weights=weights)

    def test_scale_does_not_matter(self, models):
        y, p = models
        one, other = (cb.compare_predictions(y, p, weights=np.full(500, w)).pairs[0] for w in (1.0, 1e-90))
        assert (one.low, one.pvalue) == pytest.approx((other.low, other.pvalue), rel=1e-9)


class TestClusters:
    def test_by_hand(self):
        """20 clusters of two equal rows are 20 rows: mean ± t s with 19 degrees of freedom."""
        y = np.tile([0, 1], 10)
        a, b = np.linspace(0.2, 0.8, 20), np.full(20, 0.5)
        twice, code = np.repeat(np.stack([y, a, b]), 2, axis=1), np.repeat(np.arange(20), 2)
        pair = cb.compare_predictions(twice[0].astype(int), [twice[1], twice[2]], clusters=code).pairs[0]
        d = (a - y) ** 2 - (b - y) ** 2
        half = 2.093024 * d.std(ddof=1) / np.sqrt(20)
        assert (pair.difference, pair.low, pair.high) == pytest.approx((d.mean(), d.mean() - half, d.mean() + half))

    @pytest.mark.parametrize("metric", ["brier_score", "ece"])
    def test_single_rows_are_rows(self, models, metric):
        y, p = models
        alone = cb.compare_predictions(y, p, metric=metric)
        found = cb.compare_predictions(y, p, metric=metric, clusters=np.arange(500)[::-1])
        for one, other in zip(alone.pairs, found.pairs, strict=True):
            assert (other.difference, other.low, other.high) == pytest.approx((one.difference, one.low, one.high))
        assert "clusters" in found.methods[metric]
        assert any("independent" in caveat for caveat in alone.findings.caveats)
        assert not any("independent" in caveat for caveat in found.findings.caveats)

    def test_the_jackknife_leaves_out_pairs_within_clusters(self):
        rng = np.random.default_rng(3)
        p, code = rng.random(200), np.repeat(np.arange(40), 5)
        rows = read_binary((rng.random(200) < p).astype(int), p, verb="ece")
        options = find("ece").parse({"norm": "l2-squared", "debias": True, "bins": 4, "strategy": "mass"})
        found = squared_error(rows, options, code)
        edges = bin_table(Ordered.of(rows), bins=4, strategy="mass").edges

        def error(kept):
            place, total = np.searchsorted(edges[1:], p), 0.0
            for b in range(4):
                i = np.flatnonzero((place == b) & kept)
                apart = code[i][:, None] != code[i]
                total += i.size * np.outer(rows.y[i] - p[i], rows.y[i] - p[i])[apart].mean()
            return total / kept.sum()

        theta, left = error(code >= 0), np.array([error(code != c) for c in range(40)])
        np.testing.assert_allclose(found, theta + 39 * (left.mean() - left), atol=1e-12)
        assert found.mean() == pytest.approx(theta)

    def test_level(self):
        """Two models that err alike, clusters of 10 that share scores and outcomes: 200 repeats, 3 standard errors."""
        rng = np.random.default_rng(4)
        wrong = without = 0
        for _ in range(200):
            code = np.repeat(np.arange(100), 10)
            q = rng.beta(2, 2, 100)[code]
            y = (rng.random(100)[code] < q).astype(int)
            a, b = (np.clip(q + 0.1 * rng.choice([-1, 1], 100)[code], 0, 1) for _ in range(2))
            truth = ((a - q) ** 2 - (b - q) ** 2).mean()
            pair, plain = (cb.compare_predictions(y, [a, b], **more).pairs[0] for more in ({"clusters": code}, {}))
            wrong += not pair.low <= truth <= pair.high
            without += not plain.low <= truth <= plain.high
        assert wrong <= 19
        assert without >= 60

    def test_cutoff_errors_of_single_rows_are_those_of_rows(self, models):
        """The covariance is the same; draws of Student's t with 499 degrees of freedom are a little wider."""
        y, p = models
        one = cb.compare_predictions(y, p, metric="cutoff_error").pairs[0]
        found = cb.compare_predictions(y, p, metric="cutoff_error", clusters=np.arange(500))
        other = found.pairs[0]
        assert other.difference == one.difference
        assert one.high - one.low < other.high - other.low < 1.1 * (one.high - one.low)
        assert "clusters" in found.methods["cutoff_error"]

    def test_cutoff_errors_of_equal_rows(self, models):
        """Each row ten times: the limits are those of one of them, and without clusters far too narrow."""
        y, p = models
        often = {name: np.repeat(each, 10) for name, each in p.items()}
        call = {"y": np.repeat(y, 10), "predictions": often, "metric": "cutoff_error"}
        alone = cb.compare_predictions(y, p, metric="cutoff_error", clusters=np.arange(500)).pairs[0]
        found = cb.compare_predictions(**call, clusters=np.repeat(np.arange(500), 10)).pairs[0]
        without = cb.compare_predictions(**call).pairs[0]
        assert found.difference == pytest.approx(alone.difference)
        assert found.high - found.low == pytest.approx(alone.high - alone.low, rel=0.05)
        assert without.high - without.low < 0.5 * (found.high - found.low)

    def test_limits_of_cutoff_errors_of_clusters_cover(self, monkeypatch):
        """Small shifts up and down, 10 equal rows a cluster: which sign the worst stretch has is not certain.

        80 repeats, 3 standard errors; without clusters a third of the limits miss.
        """
        for name, number in {"MIN_DRAWS": 400, "BEYOND": 10}.items():
            monkeypatch.setattr(f"calibrant.auditing.cutoff_differences.{name}", number)
        rng, wrong, without = np.random.default_rng(8), 0, 0
        for _ in range(80):
            code, q = np.repeat(np.arange(300), 10), rng.uniform(0.2, 0.8, 300)
            models = [np.repeat(q + shift, 10) for shift in (0.05, -0.05)]
            y = np.repeat(rng.random(300) < q, 10).astype(int)
            call = {"y": y, "predictions": models, "metric": "cutoff_error"}
            pair, plain = (cb.compare_predictions(**call, **more).pairs[0] for more in ({"clusters": code}, {}))
            wrong += not pair.low <= 0 <= pair.high
            without += not plain.low <= 0 <= plain.high
        assert wrong <= 10
        assert without >= 20

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"clusters": np.arange(500) // 50}, NotApplicableError, "needs 20 clusters of equal size .* got 10"),
            ({"clusters": np.arange(5)}, InputError, "one label per row"),
            ({"clusters": np.arange(500), "time": np.arange(500)}, InputError, "leave one of them out"),
            ({"clusters": np.arange(500), "metric": "mce"}, NotApplicableError, "independent rows only.*cutoff_error"),
        ],
    )
    def test_refusals(self, models, options, error, words):
        with pytest.raises(error, match=words):
            cb.compare_predictions(*models, **options)


class TestTiedTimes:
    def test_rows_of_one_time_are_taken_together(self, models):
        """Their order does not matter, and rows given twice at each time tell nothing more."""
        y, p = models
        days = np.arange(500) // 2
        order = np.lexsort([np.random.default_rng(0).random(500), days])
        one = cb.compare_predictions(y, p, time=days)
        other = cb.compare_predictions(y[order], {name: x[order] for name, x in p.items()}, time=days)
        assert (one.pairs[0].low, one.pairs[0].high) == pytest.approx((other.pairs[0].low, other.pairs[0].high))
        assert "long-run variance of 250 times" in one.methods["brier_score"]
        whole = cb.compare_predictions(y, p, time=np.arange(500)).pairs[0]
        doubled = {name: np.tile(x, 2) for name, x in p.items()}
        twice = cb.compare_predictions(np.tile(y, 2), doubled, time=np.tile(np.arange(500), 2)).pairs[0]
        assert (twice.low, twice.high) == pytest.approx((whole.low, whole.high))


def test_of_many_models_the_pairs_with_the_best_are_drawn(models, plt):
    y, p = models
    found = cb.compare_predictions(y, {f"m{k}": np.clip(p["sharp"] + 0.01 * k, 0, 1) for k in range(30)})
    figure = next(f for f in found.findings.sections[0].figures if f.name == "brier_score_differences")
    best = found.names[int(np.argmin(found.values["brier_score"]))]
    assert len(figure.curve.columns["pair"]) == 29
    assert all(best in name.split(" less ") for name in figure.curve.names)
    assert f"Of 435 pairs the 29 with {best} are drawn" in figure.reading
    assert len(found.findings.sections[1].measurements) == 435
    found.plot().canvas.draw()


def test_picture_of_rare_events_shows_them(plt):
    """All models lie below 0.5, so the axes end there; before, all dots stood in one corner."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.001, 0.02, 4000)
    y = rng.random(4000) < p
    curve = cb.compare_predictions(y, {"a": p, "b": 1.5 * p}).reliability
    ax = curve.plot()
    highest = float(curve.columns["interval_high"].max())
    assert highest < ax.get_xlim()[1] < 1.2 * highest
    assert ax.get_ylim() == ax.get_xlim()
    texts = [mark.text for mark in marks_reliability_curves(curve.columns, curve.details)]
    assert all("predicted 0.00" in text and "predicted 0.000," not in text for text in texts[:3])


@pytest.mark.parametrize(
    ("prediction", "metric"),
    [
        (cb.Intervals([0.0, 0.0], [1.0, 1.0], 0.9), "metric='interval_score'"),
        (cb.Sets([[True, False]] * 2, 0.9), "metric='coverage' or metric='width'"),
        (cb.Quantiles([[0.0, 1.0]] * 2, [0.1, 0.9]), "metric='weighted_interval_score'"),
        (cb.Samples([[0.0, 1.0]] * 2), "metric='crps'"),
        (cb.Normal([0.0, 0.0], [1.0, 1.0]), "metric='crps'"),
    ],
)
def test_predictions_that_are_no_probabilities_are_told_their_metric(refusal, prediction, metric):
    assert refusal(cb.compare_predictions, [0, 1], [prediction] * 2).endswith(f"Pass {metric}")
