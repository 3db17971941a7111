"""Maps of intervals, sets and quantiles: reference values, hand-worked cases, properties, coverage and refusals."""

import math
import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Intervals, Quantiles, Sets, quantile_score
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.region_maps import conformal_quantile, rows_needed

INTERVAL_METHODS = ("shift", "shift-each-end", "scale")


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of too few rows


class TestConformalQuantile:
    def test_the_product_is_rounded_before_it_is_rounded_up(self):
        scores = np.arange(1.0, 100.0)
        assert 100 * 0.29 < 29
        assert conformal_quantile(scores, np.ones(99), 0.29) == 29
        assert 100 * 0.55 > 55
        assert conformal_quantile(scores, np.ones(99), 0.55) == 55

    def test_weights_by_hand(self):
        # Shares 0.5, 1, 0.25 of the heaviest: half of 1.75 + 1 is 1.375, reached at 3 (0.5 + 1 = 1.5).
        scores, w = np.array([3.0, 1.0, 7.0]), np.array([4.0, 2.0, 1.0])
        assert conformal_quantile(scores, w, 0.5) == 3.0
        assert conformal_quantile(scores, w, 0.18) == 1.0
        assert conformal_quantile(scores, w, 0.19) == 3.0
        assert conformal_quantile(scores, w, 0.64) == math.inf

    @pytest.mark.parametrize(("level", "rows"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99), (0.29, 1)])
    def test_rows_needed_is_the_least_number(self, level, rows):
        assert rows_needed(level) == rows
        assert conformal_quantile(np.zeros(rows), np.ones(rows), level) == 0
        if rows > 1:
            assert conformal_quantile(np.zeros(rows - 1), np.ones(rows - 1), level) == math.inf

    @given(
        scores=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
        level=st.floats(0.01, 0.99),
        factor=st.sampled_from([0.5, 3.0, 1e-5]),
    )
    def test_unit_weights_are_the_rule_and_a_common_factor_changes_nothing(self, scores, level, factor):
        scores = np.array(scores)
        k = math.ceil(round((scores.size + 1) * level, 10))
        expected = math.inf if k > scores.size else np.sort(scores)[k - 1]
        assert conformal_quantile(scores, np.ones(scores.size), level) == expected
        assert conformal_quantile(scores, np.full(scores.size, factor), level) == expected
        w = 1 + np.arange(scores.size) % 3
        assert conformal_quantile(scores, w * factor, level) == conformal_quantile(scores, w.astype(float), level)

    @given(level=st.sampled_from([0.5, 0.6, 0.8, 0.9]), n=st.integers(1, 5))
    def test_exactly_k_of_n_plus_one_exchangeable_rows_are_covered(self, level, n):
        # Every row in turn is the new one; all orders of the others give the same.
        values = np.arange(n + 1.0) ** 2
        hits = sum(values[i] <= conformal_quantile(np.delete(values, i), np.ones(n), level) for i in range(n + 1))
        assert hits == min(math.ceil(round((n + 1) * level, 10)), n + 1)
        assert len({conformal_quantile(np.array(o), np.ones(n), level) for o in permutations(values[:n])}) == 1


class TestIntervalsByHand:
    y = (1.0, 2.0, 3.0)

    def test_ends_that_would_cross_become_the_middle(self):
        wide = Intervals([-9.0, -8.0, -7.0], [11.0, 12.0, 13.0], 0.5)
        found = recalibrate(self.y, wide, method="shift")
        assert found.parameters["shift"] == -10.0
        after = found.apply(Intervals([0.0, 0.0], [2.0, 30.0], 0.5))
        np.testing.assert_array_equal(after.lower[:, 0], [1.0, 10.0])
        np.testing.assert_array_equal(after.upper[:, 0], [1.0, 20.0])

    def test_shift_each_end_splits_the_misses(self):
        # At level 0.5 each end has the level 0.75: the 3rd smallest of 3 scores.
        found = recalibrate(self.y, Intervals([0.0, 2.5, 2.0], [2.0, 4.0, 2.5], 0.5), method="shift-each-end")
        assert dict(found.parameters) == {"lower_shift": 0.5, "upper_shift": 0.5}
        crossed = recalibrate(self.y, Intervals([-3.0, -2.0, -1.0], [2.0, 3.0, 4.0], 0.5), method="shift-each-end")
        assert dict(crossed.parameters) == {"lower_shift": -4.0, "upper_shift": -1.0}
        after = crossed.apply(Intervals([0.0], [3.0], 0.5))  # 4 and 2 cross: both become 3
        assert (after.lower[0, 0], after.upper[0, 0]) == (3.0, 3.0)

    def test_scale(self):
        # Distances from the middle in half widths: 1, 0 and 2.
        ivs = Intervals([1.0, 1.0, 0.0], [3.0, 3.0, 2.0], 0.5)
        found = recalibrate(self.y, ivs, method="scale")
        assert found.parameters["scale"] == 1.0
        found = recalibrate(self.y, Intervals(ivs.lower[:, 0], ivs.upper[:, 0], 0.7), method="scale")
        assert found.parameters["scale"] == 2.0
        after = found.apply(Intervals([0.0, 5.0], [4.0, 5.0], 0.7))
        np.testing.assert_array_equal(after.lower[:, 0], [-2.0, 5.0])
        np.testing.assert_array_equal(after.upper[:, 0], [6.0, 5.0])

    def test_intervals_without_width(self):
        ivs = Intervals([1.0, 2.0, 9.0], [1.0, 2.0, 9.0], 0.5)
        found = recalibrate(self.y, ivs, method="scale")  # two of three hit: the 2nd smallest is 0
        assert found.parameters["scale"] == 0.0
        with pytest.warns(UserWarning, match=r"1 of 3 intervals of level 0.7 have no width and miss"):
            found = recalibrate(self.y, Intervals([1.0, 2.0, 9.0], [1.0, 2.0, 9.0], 0.7), method="scale")
        assert found.parameters["scale"] == math.inf
        after = found.apply(Intervals([4.0], [4.0], 0.7))
        assert (after.lower[0, 0], after.upper[0, 0]) == (-math.inf, math.inf)

    def test_several_levels_are_nested(self):
        # Shifts 0 (level 0.5) and -2 (level 0.7): the envelope keeps the outer intervals around the inner ones.
        y = [0.0, 1.0, 2.0]
        lower, upper = np.array([[-5.0, 1.0]] * 3), np.array([[7.0, 1.0]] * 3)
        found = recalibrate(y, Intervals(lower, upper, [0.7, 0.5]), method="shift")
        np.testing.assert_array_equal(found.parameters["shift"], [-5.0, 1.0])
        after = found.apply(Intervals([[0.0, 4.0]], [[12.0, 8.0]], [0.7, 0.5]))
        np.testing.assert_array_equal(after.lower, [[3.0, 3.0]])  # 5 is lowered to 3
        np.testing.assert_array_equal(after.upper, [[9.0, 9.0]])

    def test_infinite_bounds_stay_infinite(self):
        ivs = Intervals([-math.inf, -math.inf, 0.0], [0.0, 1.0, math.inf], 0.5)
        found = recalibrate(self.y, ivs, method="shift")  # scores 1, 1, -3
        assert found.parameters["shift"] == 1.0
        after = found.apply(ivs)
        np.testing.assert_array_equal(after.lower[:, 0], [-math.inf, -math.inf, -1.0])
        np.testing.assert_array_equal(after.upper[:, 0], [1.0, 2.0, math.inf])

    def test_too_few_rows(self):
        with pytest.warns(UserWarning, match=r"^level 0.9 takes at least 9 rows of equal weight; there are 3 rows, so"):
            found = recalibrate(self.y, Intervals([0.0] * 3, [9.0] * 3, 0.9), method="shift")
        assert found.parameters["shift"] == math.inf
        with pytest.warns(UserWarning, match="level 0.9 takes at least 19 rows"):  # each end has the level 0.95
            recalibrate(self.y, Intervals([0.0] * 3, [9.0] * 3, 0.9), method="shift-each-end")
        with pytest.warns(UserWarning, match="there is 1 row, so"):
            recalibrate([1.0], Intervals([0.0], [2.0], 0.9), method="scale")

    def test_shift(self):
        # Outcomes stick out by 1, -1 and 3: the 3rd of 4 ranks at level 0.7 is 3.
        found = recalibrate(self.y, Intervals([2.0, 1.0, -4.0], [3.0, 3.0, 0.0], 0.7), method="shift")
        assert found.parameters["shift"] == 3.0
        after = found.apply(Intervals([0.0], [1.0], 0.7))
        assert (after.lower[0, 0], after.upper[0, 0]) == (-3.0, 4.0)


class TestGroups:
    y = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0])
    groups = ("a", "a", "a", "b", "b", "b")

    def test_each_group_has_its_own_shift(self):
        ivs = Intervals(np.zeros(6), np.zeros(6), 0.5)
        found = recalibrate(self.y, ivs, method="shift", groups=self.groups)
        assert [part["shift"] for part in found.parameters["groups"]] == [2.0, 20.0]
        after = found.apply(Intervals([0.0, 0.0], [0.0, 1.0], 0.5), groups=["b", "a"])
        np.testing.assert_array_equal(after.upper[:, 0], [20.0, 3.0])

    @pytest.mark.parametrize("method", INTERVAL_METHODS)
    def test_groups_equal_maps_of_their_rows(self, method):
        rng = np.random.default_rng(2)
        y, groups = rng.normal(size=40), rng.integers(0, 2, 40)
        lower = np.stack([y - rng.uniform(0, 2, 40), y - rng.uniform(1, 3, 40)], axis=1) + rng.normal(size=(40, 1))
        ivs = Intervals(lower, lower + np.array([2.0, 4.0]), [0.5, 0.8])
        whole = recalibrate(y, ivs, method=method, groups=groups).apply(ivs, groups=groups)
        for g in (0, 1):
            rows = groups == g
            alone = recalibrate(y[rows], ivs.take(rows), method=method).apply(ivs.take(rows))
            np.testing.assert_array_equal(whole.lower[rows], alone.lower)
            np.testing.assert_array_equal(whole.upper[rows], alone.upper)

    def test_a_small_group_is_named_and_gets_infinite_intervals(self):
        ivs = Intervals(np.zeros(6), np.zeros(6), 0.8)
        with pytest.warns(UserWarning, match="^group b: level 0.8 takes at least 4 rows of equal weight; there are 2"):
            found = recalibrate(self.y, ivs, method="shift", groups=["a"] * 4 + ["b"] * 2)
        after = found.apply(ivs, groups=["a"] * 4 + ["b"] * 2)
        assert np.isinf(after.upper[:, 0]).tolist() == [False] * 4 + [True] * 2


@st.composite
def interval_rows(draw, levels=1, least=2):
    n = draw(st.integers(least, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    rounded = draw(st.booleans())
    values = rng.normal(size=(n, 3)) * [3.0, 1.0, 1.0]
    values = values.round(0) if rounded else values
    y, middle, half = values[:, 0], values[:, 1], np.abs(values[:, 2])
    stretch = np.arange(1.0, levels + 1)
    level = [0.8] if levels == 1 else sorted(rng.choice([0.3, 0.5, 0.7, 0.9], levels, replace=False))
    lower, upper = middle[:, None] - half[:, None] * stretch, middle[:, None] + half[:, None] * stretch
    return y, Intervals(lower, upper, level), rng


class TestIntervalProperties:
    @given(interval_rows(), st.sampled_from(INTERVAL_METHODS))
    @settings(max_examples=80)
    def test_the_calibration_rows_are_covered_as_often_as_the_rule_says(self, rows, method):
        y, ivs, _ = rows
        after = recalibrate(y, ivs, method=method).apply(ivs)
        slack = 1e-9 * (1 + np.abs(y))
        covered = np.count_nonzero((after.lower[:, 0] - slack <= y) & (y <= after.upper[:, 0] + slack))
        assert covered >= math.ceil(round((y.size + 1) * 0.8, 10)) - 1

    @given(interval_rows(), st.sampled_from(INTERVAL_METHODS))
    @settings(max_examples=60)
    def test_refitting_gives_the_identity(self, rows, method):
        y, ivs, _ = rows
        first = recalibrate(y, ivs, method=method)
        if method == "shift-each-end" or not all(
            0 < abs(v) < math.inf for v in map(float, np.ravel(list(first.parameters.values())))
        ):
            return  # the ends may cross, and a scale of 0 leaves nothing to stretch
        again = recalibrate(y, first.apply(ivs), method=method)
        expected = 1.0 if method == "scale" else 0.0
        np.testing.assert_allclose(np.ravel(list(again.parameters.values())), expected, atol=1e-9)

    @given(interval_rows(levels=3), st.sampled_from(INTERVAL_METHODS))
    @settings(max_examples=60)
    def test_results_are_nested_and_ordered(self, rows, method):
        y, ivs, _ = rows
        after = recalibrate(y, ivs, method=method).apply(ivs)
        assert (after.lower[:, 1:] <= after.lower[:, :-1]).all()
        assert (after.upper[:, 1:] >= after.upper[:, :-1]).all()
        assert (after.lower <= after.upper).all()  # and none is nan

    def test_coverage_of_new_rows(self):
        """Mean coverage over calibration sets lies in [level, level + 1/(n + 1)] within four standard errors."""
        rng = np.random.default_rng(5)
        n, new, sets, level = 24, 200, 400, 0.8
        for method in ("shift", "scale"):
            hits = []
            for _ in range(sets):
                mean, spread = rng.normal(size=n + new), rng.uniform(0.5, 2, n + new)
                y = mean + spread * rng.standard_t(5, n + new)
                ivs = Intervals(mean - spread, mean + spread, level)
                after = recalibrate(y[:n], ivs.take(slice(n)), method=method).apply(ivs.take(slice(n, None)))
                hits.append(np.mean((after.lower[:, 0] <= y[n:]) & (y[n:] <= after.upper[:, 0])))
            se = np.std(hits) / math.sqrt(sets)
            assert level - 4 * se <= np.mean(hits) <= level + 1 / (n + 1) + 4 * se
            assert se < 0.006


class TestSets:
    # Row 0 is covered from the first set on, row 1 from the second, row 2 never.
    mask = np.array([[[1, 1], [0, 1], [0, 0]], [[0, 1], [1, 1], [0, 0]], [[1, 1], [0, 1], [0, 0]]], dtype=bool)
    y = (0, 0, 2)

    def test_relevel_by_hand(self):
        found = recalibrate(self.y, Sets(self.mask, [0.25, 0.5]), method="relevel")  # places 0, 1, 2; ranks 1 and 2
        assert found.parameters["column"].tolist() == [0, 1]
        with pytest.warns(UserWarning, match="sets of level 0.7 become full: they contain every label"):
            found = recalibrate(self.y, Sets(self.mask, [0.5, 0.7]), method="relevel")  # ranks 2 and 3: the full set
        assert found.parameters["column"].tolist() == [1, 2]
        after = found.apply(Sets(self.mask, [0.5, 0.7]))
        np.testing.assert_array_equal(after.sizes, [[2, 3], [2, 3], [2, 3]])

    def test_levels_in_any_order(self):
        turned = Sets(self.mask[:, :, ::-1], [0.5, 0.25])
        found = recalibrate(self.y, turned, method="relevel")
        assert found.parameters["column"].tolist() == [0, 1]  # column 0 has the level 0.5
        np.testing.assert_array_equal(found.apply(turned).mask, turned.mask)

    def test_one_level_is_kept_or_becomes_full(self):
        one = Sets(self.mask[:, :, 1], 0.5)
        with pytest.warns(UserWarning, match="can only stay as they are or become full"):
            found = recalibrate(self.y, one, method="relevel")
        assert found.parameters["column"] == 0
        np.testing.assert_array_equal(found.apply(one).mask, one.mask)
        with pytest.warns(UserWarning, match="can only"), pytest.warns(UserWarning, match="of level 0.7 become full"):
            found = recalibrate(self.y, Sets(self.mask[:, :, 1], 0.7), method="relevel")
        assert found.parameters["column"] == 1
        assert found.apply(Sets(self.mask[:, :, 1], 0.7)).mask.all()

    def test_too_few_rows(self):
        with pytest.warns(UserWarning, match="level 0.9 takes at least 9 rows"):
            found = recalibrate(self.y, Sets(self.mask, [0.5, 0.9]), method="relevel")
        assert found.parameters["column"].tolist() == [1, 2]

    @given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
    @settings(max_examples=40)
    def test_results_are_nested_and_cover_the_calibration_rows(self, seed, n):
        rng = np.random.default_rng(seed)
        scores = rng.uniform(size=(n, 4))
        mask = scores[:, :, None] <= np.array([0.2, 0.5, 0.8])
        levels, y = np.array([0.4, 0.6, 0.9]), rng.integers(0, 4, n)
        found = recalibrate(y, Sets(mask, levels), method="relevel")
        after = found.apply(Sets(mask, levels)).mask
        assert (after[:, :, :-1] <= after[:, :, 1:]).all()
        assert (after[np.arange(n), y].sum(axis=0) >= np.ceil(((n + 1) * levels).round(10)) - 1).all()
        twice = recalibrate(np.repeat(y, 3), Sets(np.repeat(mask, 3, axis=0), levels), method="relevel")
        assert (np.asarray(twice.parameters["column"]) <= np.asarray(found.parameters["column"])).all()


class TestQuantiles:
    @pytest.mark.parametrize(
        ("y", "levels", "shifts"),
        [
            ([1.0, 2.0, 3.0, 4.0], [0.25, 0.5, 0.75], [1.0, 3.0, 4.0]),  # ranks ⌊5 · 0.25⌋, ⌈5 · 0.5⌉, ⌈5 · 0.75⌉
            (np.arange(1.0, 100.0), [0.07, 0.29, 0.57], [7.0, 29.0, 57.0]),  # products are rounded first
        ],
    )
    def test_shift_by_hand(self, y, levels, shifts):
        found = recalibrate(y, Quantiles(np.zeros((len(y), 3)), levels), method="shift")
        np.testing.assert_array_equal(found.parameters["shift"], shifts)

    def test_rows_are_sorted(self):
        found = recalibrate([5.0, 5.0, 5.0], Quantiles([[0.0, 9.0]] * 3, [0.4, 0.6]), method="shift")
        np.testing.assert_array_equal(found.parameters["shift"], [5.0, -4.0])
        np.testing.assert_array_equal(found.apply(Quantiles([[0.0, 1.0]], [0.4, 0.6])).values, [[-3.0, 5.0]])

    def test_too_few_rows_for_the_outer_levels(self):
        with pytest.warns(UserWarning, match="level 0.[19] takes at least 9 rows of equal weight; there are 3 rows"):
            found = recalibrate([1.0, 2.0, 3.0], Quantiles(np.zeros((3, 3)), [0.1, 0.5, 0.9]), method="shift")
        np.testing.assert_array_equal(found.parameters["shift"], [-math.inf, 2.0, math.inf])
        after = found.apply(Quantiles([[-math.inf, 0.0, math.inf], [1.0, 1.0, 1.0]], [0.1, 0.5, 0.9]))
        np.testing.assert_array_equal(after.values, [[-math.inf, 2.0, math.inf], [-math.inf, 3.0, math.inf]])

    def test_one_level_is_a_number(self):
        found = recalibrate([1.0, 2.0, 3.0], Quantiles([0.0, 0.0, 0.0], 0.5), method="shift")
        assert found.parameters["shift"] == 2.0
        assert found.apply(Quantiles([4.0], 0.5)).values.tolist() == [[6.0]]

    @given(seed=st.integers(0, 10**6), n=st.integers(9, 40), weighted=st.booleans())
    @settings(max_examples=40)
    def test_sorted_and_better_on_the_calibration_rows(self, seed, n, weighted):
        rng = np.random.default_rng(seed)
        levels = np.array([0.2, 0.4, 0.5, 0.8])
        y, values = rng.normal(size=n), np.sort(rng.normal(2, 1, size=(n, 4)), axis=1)
        w = rng.uniform(0.5, 1.0, n) if weighted else np.ones(n)
        prediction = Quantiles(values, levels)
        found = recalibrate(y, prediction, method="shift", weights=w)
        after = found.apply(prediction)
        assert (np.diff(after.values, axis=1) >= 0).all()
        shares = np.average(y[:, None] <= values + found.parameters["shift"] + 1e-12, axis=0, weights=w)
        assert (shares[levels >= 0.5] >= levels[levels >= 0.5] - 1e-9).all()
        below = np.average(y[:, None] < values + found.parameters["shift"] - 1e-12, axis=0, weights=w)
        assert (below[levels < 0.5] <= levels[levels < 0.5] + 1e-9).all()
        if np.isfinite(found.parameters["shift"]).all():
            raw = values + found.parameters["shift"]
            unsorted = np.where(y[:, None] < raw, (1 - levels) * (raw - y[:, None]), levels * (y[:, None] - raw))
            assert np.mean(quantile_score(y, after)) <= 2 * unsorted.mean() + 1e-9


class TestBadInput:
    y = np.arange(10.0)
    ivs = Intervals(np.arange(10.0) - 1, np.arange(10.0) + 1, 0.9)

    def test_level_given_as_alpha(self):
        with pytest.warns(UserWarning, match=r"level 0.1 is nominal coverage, .* cover 100.0% .* pass 0.9 if 0.1"):
            recalibrate(self.y, Intervals(self.y - 1, self.y + 1, 0.1), method="shift")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            recalibrate(self.y, Intervals(self.y + 1, self.y + 2, 0.1), method="shift")  # covers nothing
            recalibrate(self.y, self.ivs, method="shift")

    def test_narrowing_beyond_the_largest_number_stays_an_interval(self):
        top = 1.7e308
        found = recalibrate([0.0, 0.0, 0.0], Intervals([-top] * 3, [top] * 3, 0.5), method="shift")
        assert found.parameters["shift"] == -top
        after = found.apply(Intervals([top, -top], [np.inf, top], 0.5))
        assert (after.lower <= after.upper).all()
        assert np.isfinite(after.lower).all()

    def test_ties_and_float32(self):
        ivs = Intervals(np.zeros(20), np.full(20, 2.0), 0.9)
        found = recalibrate(np.ones(20), ivs, method="shift")
        assert found.parameters["shift"] == -1.0
        after = found.apply(ivs)
        assert (after.lower == 1).all()
        assert (after.upper == 1).all()
        lower = np.random.default_rng(0).normal(size=30).astype(np.float32)
        upper = lower + np.float32(1)
        single = recalibrate(np.zeros(30, np.float32), Intervals(lower, upper, 0.8), method="shift")
        double = recalibrate(np.zeros(30), Intervals(lower.astype(float), upper.astype(float), 0.8), method="shift")
        assert single.parameters["shift"] == double.parameters["shift"]
