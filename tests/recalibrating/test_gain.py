"""The gain of a map: reference values, hand-worked cases, what no fold may see, limits, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import skew, t
from tests.references.books import book

from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples, Sets, recalibration_gain, summarize
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.recalibrating.cross_fitting import cross_fit, read_dealing, scores_before
from calibrant.recalibrating.fitting import fit, read_calibration
from calibrant.recalibrating.gain_limits import Units, gain_limits, unseen_misses
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibrate import recalibrate

BOOK = book("recalibration")
GAINS = [case for case in BOOK["cases"] if case["id"].startswith("gain")]


def simulated(n, slope=0.6, seed=0, spread=1.5):
    """Return outcomes of overconfident probabilities."""
    rng = np.random.default_rng(seed)
    p = expit(spread * rng.normal(size=n))
    return (rng.random(n) < expit(slope * logit(p))).astype(int), p


@pytest.mark.parametrize("case", GAINS, ids=lambda case: case["id"])
def test_reference_values(case):
    data, value = BOOK["data"][case["data"]], case["value"]
    options = {**case["options"], "folds": data["folds"]}
    found = recalibration_gain(data["y"], data.get("p", data.get("P")), **options)
    names = ["before", "after", "estimate", "in_sample", "share"]
    if value["issued"]:
        names += ["low", "high"]
        assert found.note == ""
    else:
        assert (found.low, found.high) == (-math.inf, math.inf)
        assert found.note.startswith("No limits: ")
    for name in names:
        assert getattr(found, name) == pytest.approx(value[name], rel=case["rtol"], abs=0)
    assert Units(np.ones(found.n)).deciding(found.row_gain) == pytest.approx(value["guard"], rel=1e-6)
    assert found.n == len(data["y"])
    assert found.chosen == (case["options"]["method"],) * len(set(data["folds"]))


class TestByHand:
    def test_the_map_of_each_fold_is_that_of_the_other(self):
        """Fold 0 has 3 events of 4 rows at 0.5 + 1/4, fold 1 has 2 of 4; temperature gives the frequency elsewhere."""
        y, folds = [1, 1, 1, 0, 1, 1, 0, 0], [0] * 4 + [1] * 4
        found = recalibration_gain(y, [0.9] * 8, method="temperature", folds=folds, score="brier")
        before = (5 * 0.01 + 3 * 0.81) / 8
        after = (4 * 0.25 + 2 * 0.25**2 + 2 * 0.75**2) / 8
        assert (found.before, found.after) == pytest.approx((before, after), rel=1e-9)
        np.testing.assert_allclose(found.row_gain[:4], [0.01 - 0.25] * 3 + [0.81 - 0.25], rtol=1e-9)
        q = 5 / 8
        assert found.in_sample == pytest.approx(before - (5 * (1 - q) ** 2 + 3 * q**2) / 8, rel=1e-9)

    def test_limits_of_one_repeat(self):
        rng = np.random.default_rng(1)
        d = rng.gamma(2.0, size=(1, 50)) - 1.5
        found = gain_limits(d, 0.7, Units(np.ones(50)), 0.9, chosen=False)
        q, V = t.ppf(0.95, 49), d.var(ddof=1) / 50
        h = (1 + 2 * q * q) / 6 * skew(d[0]) * d.std() / 50
        assert h > 0
        c = min(q * q * V / (2 * max(0.7, V**0.5)), q * V**0.5 / 4)
        high = d.mean() + q * math.sqrt(V + ((0.7 - d.mean()) / 2) ** 2) + h + c
        assert (found.low, found.high) == pytest.approx((d.mean() - q * V**0.5, max(high, 0.7)), rel=1e-12)
        mirrored = gain_limits(-d, -0.9, Units(np.ones(50)), 0.9, chosen=False)
        assert mirrored.low == pytest.approx(-d.mean() - q * V**0.5 - h, rel=1e-12)

    def test_a_choice_widens_the_upper_limit_only(self):
        d = np.random.default_rng(2).normal(0.2, 1.0, size=(3, 80))
        one, other = (gain_limits(d, 0.01, Units(np.ones(80)), 0.95, chosen=chosen) for chosen in (False, True))
        assert one.low == other.low
        assert one.high < other.high

    def test_the_in_sample_gain_is_never_above_the_upper_limit(self):
        d = np.random.default_rng(2).normal(0.0, 1e-3, size=(1, 80))
        assert gain_limits(d, 0.5, Units(np.ones(80)), 0.95, chosen=False).high == pytest.approx(0.5, rel=0.1)

    def test_variance_of_repeats_is_their_mean(self):
        d = np.random.default_rng(3).normal(size=(4, 60))
        units = Units(np.ones(60))
        V = np.mean(d.var(axis=1, ddof=1)) / 60
        found = gain_limits(d, 0.0, units, 0.95, chosen=False)
        h = units.skew_term(d.mean(axis=0), t.ppf(0.975, 59))
        assert found.low == pytest.approx(d.mean() - t.ppf(0.975, 59) * math.sqrt(V) + min(h, 0), rel=1e-12)

    def test_unseen_misses(self):
        """Of 10 rows with |x| in [2, 3) none missed: the upper limit of their number is 10 (1 - 0.025^0.1)."""
        x = np.array([2.5] * 10 + [0.1] * 4)
        missed = np.array([False] * 10 + [True, False] * 2)
        loss = np.array([-3.0] * 10 + [0.0] * 4)
        expected = 10 * (1 - 0.025**0.1) * 3 / 14
        assert unseen_misses(x, missed, loss, np.ones(14)) == pytest.approx(expected, rel=1e-9)


class TestUnits:
    D = np.random.default_rng(0).normal(size=40)
    CELLS = np.array([0.5, -1.0, 2.0])

    @pytest.mark.parametrize(
        ("one", "d", "other", "same_d"),
        [
            (Units(np.full(40, 7.0)), D, Units(np.ones(40)), D),
            (Units(np.ones(40), unit=np.arange(40)), D, Units(np.ones(40)), D),
            (Units(np.ones(3), np.array([3.0, 1.0, 2.0])), CELLS, Units(np.ones(6)), np.repeat(CELLS, [3, 1, 2])),
        ],
        ids=["equal weights are no weights", "clusters of one row are rows", "counts stand for rows"],
    )
    def test_the_same_rows(self, one, d, other, same_d):
        for name in ("mean", "variance", "deciding"):
            assert getattr(one, name)(d) == pytest.approx(getattr(other, name)(same_d), rel=1e-12)
        assert one.skew_term(d, 2.0) == pytest.approx(other.skew_term(same_d, 2.0), rel=1e-12)
        assert other.variance(same_d) == pytest.approx(same_d.var(ddof=1) / same_d.size, rel=1e-12)

    def test_weights(self):
        d, w = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
        units, nu = Units(w), 16 / 6
        assert units.mean(d) == pytest.approx(9 / 4)
        square = (1.25**2 + 4 * 0.25**2 + 1.75**2) / 16
        assert units.variance(d) == pytest.approx(square * nu / (nu - 1), rel=1e-12)

    def test_clusters(self):
        d, unit = np.array([1.0, 3.0, -1.0, 1.0]), np.array([0, 0, 1, 2])
        sums = np.array([2.0, -2.0, 0.0])  # of d - 1
        found = Units(np.ones(4), unit=unit)
        assert found.variance(d) == pytest.approx((sums**2).sum() / 16 * 3 / 2, rel=1e-12)
        D = 3 / 4 * np.array([4.0, -1.0, 1.0]) - 1
        assert found.deciding(d) == pytest.approx((D**2).sum() ** 2 / (D**4).sum(), rel=1e-12)

    def test_series_have_bartletts_variance(self):
        d = np.random.default_rng(4).normal(size=37).cumsum()
        e, lags = d - d.mean(), int(1.3 * math.sqrt(37))
        pairs = [(i, j) for i in range(37) for j in range(37) if abs(i - j) <= lags]
        square = sum((1 - abs(i - j) / (lags + 1)) * e[i] * e[j] for i, j in pairs)
        found = Units(np.ones(37), unit=np.arange(37), ordered=True).variance(d)
        assert found == pytest.approx(square / 37**2 * 37 / 36, rel=1e-9)


@pytest.mark.parametrize("method", ["temperature", "logistic", "beta", "venn-abers"])
def test_no_fold_sees_its_rows(method):
    y, p = simulated(120)
    labels = np.arange(120) % 4
    changed = np.where(labels == 2, 1 - y, y)
    options = FitOptions(score="log")

    def maps(outcomes):
        data = read_calibration(outcomes, p)
        found = []

        def fitted(train, rows):
            found.append(fit(train, method, options))
            return found[-1]

        cross_fit(data, options, read_dealing(120, labels).partition(np.random.default_rng(0)), fitted, np.zeros(120))
        return [one.apply([0.2, 0.6, 0.9]) for one in found]

    before, after = maps(y), maps(changed)
    np.testing.assert_array_equal(before[2], after[2])
    assert all(not np.array_equal(before[k], after[k]) for k in (0, 1, 3))


def test_auto_sees_no_row_of_its_fold(monkeypatch):
    """Outcomes of a fold decide neither the method nor the map that predicts it."""
    y, p = simulated(200)
    labels = np.arange(200) % 4
    found = recalibration_gain(y, p, folds=labels)
    rows = labels == 1
    other = recalibration_gain(np.where(rows, 1 - y, y), p, folds=labels)
    assert found.chosen[1] == other.chosen[1]
    data = read_calibration(y, p)
    flipped = scores_before(read_calibration(1 - y, p), FitOptions(score="log"))
    after = scores_before(data, FitOptions(score="log")) - found.row_gain
    # Log scores of the two outcomes after one map are those of q and 1 - q.
    np.testing.assert_allclose(np.exp(-after[rows]) + np.exp(-(flipped - other.row_gain)[rows]), 1.0, rtol=1e-9)


def test_the_future_never_leaks():
    y, p = simulated(300)
    time = np.arange(300)
    one = recalibration_gain(y, p, method="logistic", time=time)
    late = time >= 250
    other = recalibration_gain(np.where(late, 1 - y, y), p, method="logistic", time=time)
    np.testing.assert_array_equal(one.row_gain[~late], other.row_gain[~late])
    assert np.isnan(one.row_gain[:50]).all()
    assert not np.isnan(one.row_gain[50:]).any()
    assert one.estimate == pytest.approx(np.nanmean(one.row_gain), rel=1e-9)


def test_rows_of_a_cluster_never_predict_each_other():
    """A score that is the name of its cluster predicts its rows well only if others of the cluster were seen."""
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(60), 10)
    score = rng.permutation(np.linspace(0.2, 0.8, 60))[cluster]
    happens = rng.random(60) < score[::10]
    y = np.where(rng.random(600) < 0.95, happens[cluster], ~happens[cluster]).astype(int)
    apart = recalibration_gain(y, score, method="venn-abers")
    together = recalibration_gain(y, score, method="venn-abers", clusters=cluster)
    assert apart.low > 0
    assert together.estimate < 0


class TestOrderAndWeights:
    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, 1000))
    def test_row_order_does_not_matter_with_given_folds(self, seed):
        y, p = simulated(80)
        labels, order = np.arange(80) % 5, np.random.default_rng(seed).permutation(80)
        one = recalibration_gain(y, p, method="logistic", folds=labels)
        other = recalibration_gain(y[order], p[order], method="logistic", folds=labels[order])
        assert (one.estimate, one.in_sample) == pytest.approx((other.estimate, other.in_sample), rel=1e-9)
        np.testing.assert_allclose(one.row_gain[order], other.row_gain, rtol=1e-7, atol=1e-12)

    def test_time_with_equal_times(self):
        y, p = simulated(600)
        time, order = np.arange(600) // 4, np.random.default_rng(0).permutation(600)
        one = recalibration_gain(y, p, method="logistic", time=time, score="brier")
        other = recalibration_gain(y[order], p[order], method="logistic", time=time[order], score="brier")
        assert math.isfinite(one.low)
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high), rel=1e-9)

    def test_a_common_factor_changes_nothing(self):
        y, p = simulated(400)
        w = np.random.default_rng(1).gamma(2.0, size=400)
        one, other = (recalibration_gain(y, p, method="logistic", weights=c * w, score="brier") for c in (1.0, 1e-5))
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high), rel=1e-7)

    def test_rows_of_weight_zero_are_dropped(self):
        y, p = simulated(300)
        labels, w = np.arange(300) % 5, np.ones(300)
        w[10:40] = 0
        kept = w > 0
        one = recalibration_gain(y, p, method="logistic", folds=labels, weights=w)
        other = recalibration_gain(y[kept], p[kept], method="logistic", folds=labels[kept])
        assert (one.estimate, one.low, one.n) == (other.estimate, other.low, other.n)
        np.testing.assert_array_equal(one.row_gain[kept], other.row_gain)
        assert np.isnan(one.row_gain[~kept]).all()

    def test_a_call_repeats_itself_and_seeds_differ(self):
        y, p = simulated(150)
        one, again, other = (recalibration_gain(y, p, method="logistic", rng=seed) for seed in (3, 3, 4))
        assert one.estimate == again.estimate
        assert one.estimate != other.estimate

    def test_repeats(self):
        y, p = simulated(150)
        assert len(recalibration_gain(y, p, method="logistic").chosen) == 20
        assert len(recalibration_gain(y, p, method="logistic", repeats=2, folds=3).chosen) == 6


def changed(rows, y, p, slope=0.6):
    """Return 600 rows, some of which are others."""
    many = simulated(600, slope)
    many[0][rows], many[1][rows] = y, p
    return many


AT_0, FEW = changed(slice(3), 0, 0.0), changed(slice(5, 9), [0, 0, 1, 1], 1e-9, slope=1.0)
CONFIDENT = [np.append(column, [last] * 60) for column, last in zip(simulated(600), (0, 1e-9), strict=True)]


class TestLimits:
    @pytest.mark.parametrize(
        ("rows", "options", "words"),
        [
            (AT_0, {"method": "logistic"}, "limit them with clip= of recalibrate (--clip)"),
            (CONFIDENT, {"method": "temperature"}, "misses of confident predictions"),
            (FEW, {"method": "temperature"}, "clip= of recalibrate"),
            (FEW, {"method": "temperature", "weights": np.where(np.arange(600) < 3, 0.0, 1.0)}, "clip= of recalibrate"),
            (
                simulated(600),
                {"method": "logistic", "score": "brier", "clusters": np.arange(600) % 20},
                "limits need at least 30 clusters; got 20",
            ),
        ],
    )
    def test_are_not_given_and_why(self, rows, options, words):
        found = recalibration_gain(*rows, **options)
        assert (found.low, found.high) == (-math.inf, math.inf)
        assert words in found.note
        if rows is FEW:  # the rows are named by their numbers among the caller's
            assert found.note.split("The rows that carry the mean are ")[1][:4] in ("7, 8", "8, 7")

    @pytest.mark.parametrize("options", [{"clip": 1e-3}, {"score": "brier"}])
    def test_of_scores_of_0_need_a_clip_or_another_score(self, options):
        assert math.isfinite(recalibration_gain(*AT_0, method="logistic", **options).low)

    def test_rows_that_become_exactly_1_are_counted(self):
        y, p = simulated(400, slope=1.6)
        p[0], y[0] = 1 - 1e-13, 1
        assert "1 rows inside (0, 1) become exactly 0 or 1" in recalibration_gain(y, p, method="temperature").note

    def test_identity_gains_nothing(self):
        y, p = simulated(100)
        found = recalibration_gain(y, p, method="identity")
        assert (found.estimate, found.low, found.high, found.in_sample) == (0, 0, 0, 0)

    def test_folds_that_cannot_be_fitted_keep_their_predictions(self):
        p, labels = np.tile([0.4, 0.6, 0.45, 0.55], 10), np.arange(40) % 5
        alone = np.zeros(40, int)  # all events are in fold 2: without it there is one class
        alone[labels == 2] = [0, 1, 1, 0, 1, 0, 1, 0]
        found = recalibration_gain(alone, p, method="logistic", folds=labels)
        assert found.chosen == ("logistic", "logistic", "identity", "logistic", "logistic")
        assert "1 of 5 folds keep their predictions" in found.note
        assert (found.row_gain[labels == 2] == 0).all()
        assert found.low == -math.inf

    @pytest.mark.parametrize("method", ["logistic", "isotonic", "auto"])
    def test_a_single_event_shows_no_gain(self, method):
        """The fold of the only event has no map, and all other rows gain from a map that says less."""
        rng = np.random.default_rng(2)
        p = np.exp(rng.uniform(np.log(0.001), np.log(0.02), 200))
        y = (np.arange(200) == 7).astype(int)
        found = recalibration_gain(y, p, method=method, score="brier")
        assert not found.low > 0
        assert method == "auto" or "hides what they would lose" in found.note


@pytest.mark.parametrize("seed", range(3))
def test_calibrated_data_do_not_gain(seed):
    """Of 40 calibrated data sets none is said to gain; simulations of 400 sets a cell find none either."""
    claims = 0
    for k in range(40):
        y, p = simulated(300, slope=1.0, seed=1000 * seed + k)
        claims += recalibration_gain(y, p, method=["temperature", "logistic", "beta"][k % 3]).low > 0
    assert claims <= 1


def test_a_real_gain_is_found():
    y, p = simulated(2000, slope=0.5)
    found = recalibration_gain(y, p)
    assert 0 < found.low < found.estimate < found.high
    assert found.share == pytest.approx(found.estimate / found.before)
    assert found.after == pytest.approx(found.before - found.estimate)


class TestSummaries:
    def parts(self, y, p, number):
        return [summarize("ece", y[k::number], p[k::number]) for k in range(number)]

    def test_of_scores_that_cells_keep_equal_the_rows(self):
        rng = np.random.default_rng(7)
        p = rng.choice([0.105, 0.255, 0.405, 0.605, 0.805], 1000)
        y = (rng.random(1000) < expit(0.5 * logit(p))).astype(int)
        rows = recalibration_gain(y, p, method="logistic", folds=np.arange(1000) % 5)
        cells = recalibration_gain(self.parts(y, p, 5), method="logistic")
        for name in ("before", "after", "estimate", "low", "high", "in_sample", "n"):
            assert getattr(cells, name) == pytest.approx(getattr(rows, name), rel=1e-8)
        assert "counted in cells" in cells.note
        assert cells.row_gain.size == 0
        merged = recalibration_gain(self.parts(y, p, 10), method="logistic", folds=5)
        assert merged.estimate == pytest.approx(cells.estimate, rel=1e-8)

    def test_auto(self):
        y, p = simulated(2000)
        assert recalibration_gain(self.parts(y, p, 5)).low > 0

    def test_refusals(self, refusal):
        y, p = simulated(200)
        parts = self.parts(y, p, 5)
        assert "one gives a map" in refusal(recalibration_gain, parts[0], error=SummaryError)
        assert "needs at least 5 summaries" in refusal(recalibration_gain, parts[:4], folds=2, error=SummaryError)
        assert "replace the rows" in refusal(recalibration_gain, parts, p)
        other = summarize("kuiper_test", y, p)
        assert "of kind Grid; got Ordered" in refusal(recalibration_gain, [*parts, other], error=SummaryError)
        message = refusal(recalibration_gain, parts, method="venn-abers", error=NotApplicableError)
        assert "venn-abers counts rows" in message


def test_what_clip_alone_costs_is_said(rng):
    p = expit(rng.normal(0, 3, 2000))
    y = (rng.uniform(size=2000) < p).astype(int)
    found = recalibration_gain(y, p, method="temperature", clip=0.1)
    assert found.low > 0  # although the predictions are calibrated
    given, clipped = (-np.log(np.where(y == 1, q, 1 - q)).mean() for q in (p, np.clip(p, 0.1, 0.9)))
    assert found.before == pytest.approx(clipped)
    assert f"Clipping alone raises the mean score from {given:.4f} to {clipped:.4f}" in found.note
    assert "clip" not in recalibration_gain(y, p, method="temperature", clip=1e-9).note


ROWS = simulated(60)
EVENT_AT_0 = np.where(np.arange(60) == 5, 1, ROWS[0]), np.where(np.arange(60) == 5, 0.0, ROWS[1])
LATE = np.where(np.arange(60) < 40, 0, np.arange(60) % 2), np.tile([0.4, 0.6, 0.5], 20)
TWELVE = np.arange(300) % 12, np.random.default_rng(0).dirichlet(np.ones(12), 300)
OPEN = ROWS[1], Intervals(np.where(np.arange(60) == 40, -np.inf, -1.0), np.ones(60), 0.8)
SETS = [0, 1, 2, 0], Sets(np.ones((4, 3), bool), 0.9)
FROM_3, FROM_10 = (np.where(np.arange(60) < n, 0.0, 1.0) for n in (3, 10))


class TestRefusals:
    @pytest.mark.parametrize(
        ("rows", "options", "words"),
        [
            (ROWS, {"method": "isotonic"}, "use method='venn-abers', or score='brier'"),
            (ROWS, {"method": "centred-isotonic"}, "use method='venn-abers', or score='brier'"),
            # (1 - Kc)P + c would be negative
            (TWELVE, {"method": "one-vs-rest", "clip": 0.09}, "clip times the number of classes must be below 1"),
            (TWELVE, {"method": "one-vs-rest", "clip": 0.09, "score": "brier"}, "clip times the number of classes"),
            (EVENT_AT_0, {"method": "logistic"}, "the score of row 5 as predicted is infinite"),
            (
                EVENT_AT_0,
                {"method": "logistic", "score": "brier", "weights": FROM_3},
                "the score of row 5 is 0 and the outcome is 1",
            ),
            (OPEN, {"weights": FROM_10}, "the score of row 40 as predicted is infinite"),
            (LATE, {"method": "logistic", "time": np.arange(60)}, "is refused in 4 of 5 folds, .* only one class"),
            (SETS, {}, "Sets have no proper score"),
            (ROWS, {"score": "crps"}, "score must be"),
            (ROWS, {"method": "platt"}, "can be recalibrated by"),
            (ROWS, {"level": 95}, "level must lie strictly between 0 and 1"),
            (ROWS, {"repeats": 0}, "repeats must be at least 1"),
            (ROWS, {"repeats": 10**9}, "repeats must be at most 1,000 with 60 rows"),
            (ROWS, {"repeats": 2, "folds": [0, 1] * 30}, "repeats must be 1 with given folds"),
            (ROWS, {"repeats": 2, "time": range(60)}, "repeats must be 1 with time"),
            (ROWS, {"repeats": 2, "folds": 60}, "repeats must be 1 with folds of one"),
            (ROWS, {"method": "logistic", "ridge": 0.01}, "does not use ridge="),
            (ROWS, {"rng": -1}, "rng must be"),
            (ROWS, {"binz": 3}, "recalibration_gain has no option binz"),
        ],
    )
    def test_with_words(self, rows, options, words):
        with pytest.raises(InputError, match=words):
            recalibration_gain(*rows, **options)

    def test_isotonic_maps_have_a_brier_score(self):
        for method in ("isotonic", "centred-isotonic"):
            assert math.isfinite(recalibration_gain(*ROWS, method=method, score="brier").estimate)

    def test_intervals_have_no_clip_to_advise(self, refusal):
        assert "clip" not in refusal(recalibrate, *OPEN, weights=FROM_10, error=NotApplicableError)


class TestAuto:
    def test_chooses_the_simplest_that_helps(self):
        found = recalibrate(*simulated(2000, slope=0.5))
        assert found.method == "temperature"
        assert [one.method for one in found.compared] == ["identity", "temperature", "logistic", "beta", "venn-abers"]
        assert [one.chosen for one in found.compared] == [False, True, False, False, False]
        assert found.compared[1].gain == pytest.approx(found.compared[0].score - found.compared[1].score)
        assert found.compared[1].gain > found.compared[1].se > 0

    def test_a_shift_needs_an_intercept(self, rng):
        p = rng.random(3000)
        y = (rng.random(3000) < expit(logit(p) - 1)).astype(int)
        assert recalibrate(y, p).method == "logistic"

    def test_leaves_calibrated_predictions_alone_and_says_so(self):
        y, p = simulated(1000, slope=1.0, seed=3)
        with pytest.warns(UserWarning, match="auto leaves predictions as they are: no candidate is better"):
            found = recalibrate(y, p)
        assert found.method == "identity"
        np.testing.assert_array_equal(found.apply(p), p)

    @pytest.mark.parametrize(
        ("n", "events", "words"), [(29, 15, "needs 30 rows, got 29"), (60, 4, "rarer outcome, got 4")]
    )
    def test_few_rows(self, n, events, words):
        y = np.arange(n) < events
        with pytest.warns(UserWarning, match=words):
            assert recalibrate(y.astype(int), np.linspace(0.1, 0.9, n)).method == "identity"

    def test_venn_abers_from_100_rows_of_the_rarer_outcome(self):
        y, p = simulated(150)
        assert 50 < y.sum() < 100
        assert "venn-abers" not in [one.method for one in recalibrate(y, p, clip=0.01).compared]

    def test_separated_rows(self):
        y = np.array([0] * 20 + [1] * 20)
        with pytest.warns(UserWarning, match="separated"):
            assert recalibrate(y, np.linspace(0.01, 0.99, 40)).method == "identity"

    def test_clip_goes_to_the_methods_that_use_it(self):
        y, p = simulated(1000, slope=0.4)
        p[0], y[0] = 0.0, 1
        found = recalibrate(y, p, clip=1e-3)
        assert (found.method, found.options.clip) == ("temperature", 1e-3)

    @pytest.mark.parametrize(
        ("kind", "method"), [("quantiles", "shift"), ("distributions", "location-scale"), ("samples", "location-scale")]
    )
    def test_of_other_kinds(self, kind, method, rng):
        """Quantiles that lie 2.3 too low, and distributions and draws of half the spread."""
        centre = rng.normal(size=800)
        y = centre + (1 if kind == "quantiles" else 2) * rng.normal(size=800)
        prediction = {
            "quantiles": Quantiles(np.stack([centre - 3, centre - 2.3], axis=1), [0.25, 0.5]),
            "distributions": Normal(centre, 1.0),
            "samples": Samples(centre[:, None] + rng.normal(size=(800, 15))),
        }[kind]
        assert recalibrate(y, prediction).method == method
        found = recalibration_gain(y, prediction, method=method, repeats=1)
        assert found.low > 0
        assert found.score == {"quantiles": "quantile", "distributions": "log", "samples": "crps"}[kind]

    def test_calibrated_intervals_stay_as_they_are(self):
        rng = np.random.default_rng(1)
        centre = rng.normal(size=300)
        y, half = centre + rng.normal(size=300), np.full(300, 1.6449)
        with pytest.warns(UserWarning, match="auto leaves predictions as they are"):
            assert recalibrate(y, Intervals(centre - half, centre + half, 0.9)).method == "identity"
        assert recalibrate(y, Intervals(centre - half / 3, centre + half / 3, 0.9)).method == "shift"

    def test_classes(self):
        rng = np.random.default_rng(1)
        P = rng.dirichlet(np.full(3, 0.7), 600)
        y = (rng.random((600, 1)) > (0.5 * P + 1 / 6).cumsum(axis=1)).sum(axis=1)
        assert recalibrate(y, P).method == "temperature"
        assert recalibration_gain(y, P, method="temperature").low > 0

    def test_sets_are_compared_by_the_place_of_the_outcome(self, rng):
        """Sets of size 1 and 2 of three labels, stated to cover half and 80 %; the first label never happens."""
        mask = np.zeros((200, 3, 2), bool)
        mask[:, 0, 0] = mask[:, :2, 1] = True
        off = Sets(mask, [0.5, 0.8])
        with pytest.warns(UserWarning, match="become full"):
            assert recalibrate(rng.choice([1, 2], 200), off).method == "relevel"
        right = rng.choice([0, 1, 2], 200, p=[0.6, 0.3, 0.1])
        with pytest.warns(UserWarning, match="auto leaves predictions as they are"):
            assert recalibrate(right, off).method == "identity"

    def test_values_of_distributions_have_no_score(self, refusal):
        assert "pass pit" in refusal(recalibrate, None, CdfValues(np.linspace(0.01, 0.99, 60)))


def test_a_calibrated_ensemble_of_few_members_gains_nothing(rng):
    """A map stretches draws about their own mean; the fair CRPS, made for independent draws, rewards too wide ones."""
    mean = rng.normal(size=1500)
    y, draws = rng.normal(mean), Samples(rng.normal(mean[:, None], 1.0, (1500, 10)))
    assert recalibration_gain(y, draws, method="location-scale", repeats=1).low <= 0
    with pytest.warns(UserWarning, match="auto leaves predictions as they are"):
        assert recalibrate(y, draws).method == "identity"
