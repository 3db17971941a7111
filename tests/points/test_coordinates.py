"""Which coordinates differ: against a plain implementation, the level of all statements together, awkward columns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.points import coordinates as module
from calibrant.points.coordinates import CoordinateDifferences, coordinate_differences
from calibrant.points.inputs import PointSets
from calibrant.points.sums import relabellings

RNG = np.random.default_rng(2)
Y = RNG.normal(size=(40, 3))
X = np.column_stack([RNG.normal(1.0, 1.0, 55), RNG.normal(0.0, 2.5, 55), RNG.normal(size=55)])


def found(y, points, level=0.95, resamples=199, seed=0):
    sets = PointSets(np.asarray(y, dtype=float), np.asarray(points, dtype=float))
    return coordinate_differences(sets, level, resamples, np.random.default_rng(seed))


def kurtosis(x):
    centred = x - x.mean(axis=0)
    return (centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2


def statistics(y, x):
    """Return z, u and the standard error that u has, as the docstring has them."""
    n, m = len(y), len(x)
    vy, vx = y.var(axis=0, ddof=1), x.var(axis=0, ddof=1)
    z = (x.mean(axis=0) - y.mean(axis=0)) / np.sqrt(vy / n + vx / m)
    kappa = np.maximum((n * kurtosis(y) + m * kurtosis(x)) / (n + m), 1.2)
    error = np.sqrt((kappa - 1) * (1 / n + 1 / m))
    return z, np.log(vx / vy) / error, error


def plainly(y, x, level, resamples, seed):
    """Return the differences, one division after another."""
    n, m, pooled = len(y), len(x), np.concatenate([y, x])
    largest = np.empty(resamples)
    for b, label in enumerate(relabellings(n, m, resamples, np.random.default_rng(seed)).astype(bool)):
        largest[b] = max(np.abs(part).max() for part in statistics(pooled[label], pooled[~label])[:2])
    z, u, error = statistics(y, x)
    p = [[(1 + np.sum(largest >= abs(value) - 1e-9)) / (resamples + 1) for value in values] for values in (z, u)]
    reach = np.sort(largest)[math.ceil(level * (resamples + 1)) - 1]
    sd = y.std(axis=0, ddof=1)
    return CoordinateDifferences(
        (x.mean(axis=0) - y.mean(axis=0)) / sd,
        x.std(axis=0, ddof=1) / sd,
        np.array(p[0]),
        np.array(p[1]),
        reach * np.sqrt(y.var(axis=0, ddof=1) / n + x.var(axis=0, ddof=1) / m) / sd,
        reach * error / 2,
        reach * np.sqrt(y.var(axis=0, ddof=1) / n + x.var(axis=0, ddof=1) / m) / sd,
        reach * error / 2,
        "",
    )


def assert_same(a, b, rtol=1e-9):
    for name in CoordinateDifferences._fields[:-1]:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-12, err_msg=name)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(3, 25), st.integers(1, 6))
def test_of_any_size(seed, n, m, d):
    rng = np.random.default_rng(seed)
    y, x = rng.standard_t(3, size=(n, d)), rng.normal(0.5, 2.0, size=(m, d))
    assert_same(found(y, x, resamples=99, seed=seed), plainly(y, x, 0.95, 99, seed), rtol=1e-7)


def test_parts_change_nothing(monkeypatch):
    whole = found(Y, X)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 1000)
    assert_same(found(Y, X), whole, rtol=1e-12)


def test_what_it_says():
    result = found(Y, X)
    assert result.method == "largest of all coordinates, 199 random divisions of the pooled points"
    assert result.location_pvalue[0] == 1 / 200 < result.location_pvalue[2]
    assert result.spread_pvalue[1] == 1 / 200 < result.spread_pvalue[2]
    assert result.pvalue == 1 / 200
    assert result.location[0] > 0.5
    assert result.spread[1] > 2


@given(st.integers(0, 10**6), st.floats(-3, 3), st.floats(0.5, 2.0))
@settings(max_examples=25)
def test_leaving_the_reach_is_a_small_pvalue(seed, shift, factor):
    """At 0.95 and 99 divisions a value beyond the bar has p <= 0.05, and one within it does not."""
    rng = np.random.default_rng(seed)
    result = found(rng.normal(size=(20, 3)), rng.normal([0, 0, shift], [1, factor, 1], size=(30, 3)), resamples=99)
    np.testing.assert_array_equal(np.abs(result.location) > result.location_reach, result.location_pvalue <= 0.05)
    np.testing.assert_array_equal(np.abs(np.log(result.spread)) > result.spread_reach, result.spread_pvalue <= 0.05)


class TestUnits:
    @pytest.mark.parametrize("offset", [1e6, 1e9, -1e12])
    def test_huge_offsets(self, offset):
        """The numbers that are left after rounding are compared, and nothing is lost beyond that."""
        y, x = offset + Y, offset + X
        assert_same(found(y, x), found(y - offset, x - offset), rtol=1e-6)

    @pytest.mark.parametrize("unit", [2.0**-300, 2.0**300, [1.0, 2.0**-60, 2.0**60]])
    def test_units_have_no_part_in_it(self, unit):
        assert_same(found(Y * unit, X * unit), found(Y, X), rtol=1e-12)


class TestConstantColumns:
    @pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -1e-300])
    def test_the_same_everywhere(self, value):
        result = found(np.column_stack([Y, np.full(40, value)]), np.column_stack([X, np.full(55, value)]))
        assert (result.location[3], result.spread[3], result.location_reach[3]) == (0, 1, 0)
        assert result.location_pvalue[3] == result.spread_pvalue[3] == 1
        assert_same(CoordinateDifferences(*(part[:3] for part in result[:-1]), ""), found(Y, X), rtol=1e-12)

    def test_but_for_rounding(self, rng):
        y, x = (np.where(rng.random((size, 1)) < 0.5, 0.1 + 0.2, 0.3) for size in (40, 55))
        assert np.ptp(y) > 0
        result = found(y, x)
        assert (result.location[0], result.spread[0]) == (0, 1)
        assert result.pvalue == 1

    def test_all_of_them(self):
        result = found(np.ones((5, 2)), np.ones((7, 2)))
        assert result.pvalue == 1
        assert np.isfinite(np.concatenate(result[:-1])).all()

    def test_in_one_set_alone(self):
        x = X[:, :1]
        result = found(np.full((40, 1), 0.1), x)
        assert (result.spread[0], result.spread_pvalue[0]) == (math.inf, 1 / 200)
        pooled = np.concatenate([np.full(40, 0.1), X[:, 0]])
        assert result.location[0] == pytest.approx((x.mean() - 0.1) / pooled.std())
        result = found(x, np.full((40, 1), 0.1))
        assert (result.spread[0], result.spread_pvalue[0]) == (0, 1 / 200)
        assert result.location[0] == pytest.approx((0.1 - x.mean()) / x.std(ddof=1))

    def test_two_constants(self):
        result = found(np.full((20, 1), 0.1), np.full((20, 1), 0.2))
        assert (result.spread[0], result.location_pvalue[0]) == (1, 1 / 200)
        assert result.location[0] == pytest.approx(2)  # a pooled sd is half of the distance

    def test_two_values_as_often_as_each_other(self):
        """Their kurtosis is 1, and the spread has no standard error but for the least one that is allowed."""
        y, x = np.array([[0.0], [1.0]] * 30), np.array([[0.0], [1.0]] * 40)
        result = found(y, x)
        assert np.isfinite(np.concatenate(result[:-1])).all()
        assert result.pvalue > 0.5


@pytest.mark.parametrize(
    ("n", "m", "mean", "sd", "others"),
    [
        *((25, 25, [shift, 0.0, 0.0], 1.0, ([1, 2], [0, 1, 2])) for shift in (1.0, 4.0, 8.0, 100.0)),
        (20, 40, 0.0, [5.0, 1.0], ([0, 1], [1])),
    ],
    ids=str,
)
def test_a_shift_is_no_spread_and_a_spread_is_no_shift(n, m, mean, sd, others):
    """Nor does it make a finding of what chance does in other coordinates."""
    rng, wrong, d = np.random.default_rng(7), 0, np.size(mean) if np.size(mean) > 1 else np.size(sd)
    for _ in range(300):
        y, x = rng.normal(size=(n, d)), rng.normal(mean, sd, size=(m, d))
        result = coordinate_differences(PointSets(y, x), 0.9, 19, rng)
        p = np.concatenate([result.location_pvalue[others[0]], result.spread_pvalue[others[1]]])
        wrong += p.min() <= 0.1 + 1e-9
    assert wrong / 300 <= 0.1 + 4.5 * math.sqrt(0.09 / 300)


class TestManyPoints:
    def test_the_normal_distribution_agrees_with_divisions(self, monkeypatch):
        rng = np.random.default_rng(8)
        y = rng.normal(size=(400, 2))
        x = rng.normal([0.15, 0.0], [1.0, 1.1], size=(600, 2))
        by_division = found(y, x, resamples=1999)
        monkeypatch.setattr(module, "MAX_RELABELLED", 10)
        by_distribution = found(y, x)
        assert by_distribution.method == "normal limit, Bonferroni over coordinates"
        np.testing.assert_array_equal(by_distribution.location, by_division.location)
        np.testing.assert_array_equal(by_distribution.spread, by_division.spread)
        for name in ("location_pvalue", "spread_pvalue"):
            a, b = getattr(by_distribution, name), getattr(by_division, name)
            assert (a >= b - 0.03).all()  # Bonferroni's factor is never too small
            assert (a <= 0.03 + 1.5 * b).all()
        for name in ("location_reach", "spread_reach"):
            np.testing.assert_allclose(getattr(by_distribution, name), getattr(by_division, name), rtol=0.06)

    def test_above_twenty_thousand(self):
        rng = np.random.default_rng(9)
        y, x = rng.normal(size=(10_001, 2)), rng.normal([0.0, 0.1], 1.0, size=(10_000, 2))
        result = found(y, x)
        assert result.method == "normal limit, Bonferroni over coordinates"
        z, u, _ = statistics(y, x)
        tails = [math.erfc(abs(value) / math.sqrt(2)) for value in (*z, *u)]
        expected = [min(1.0, 2 * 2 * p) for p in tails]  # two questions of two coordinates
        np.testing.assert_allclose([*result.location_pvalue, *result.spread_pvalue], expected, rtol=1e-6)
        assert result.location_pvalue[1] < 1e-6
        assert result.location_pvalue[0] > 0.05


def test_so_far_apart_that_no_fourth_moment_is_left():
    """Seen as shifted; nothing false is said of the spread, of which rounding leaves too little."""
    result = found(1e6 + Y[:, :1], X[:, 1:2])
    assert result.location_pvalue[0] == 1 / 200
    assert result.spread_pvalue[0] > 0.05
    assert result.spread[0] == pytest.approx(X[:, 1].std() / Y[:, 0].std(), rel=0.02)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 9), (9, 2)])
def test_very_few_points(n, m):
    rng = np.random.default_rng(11)
    result = found(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), resamples=99)
    assert np.isfinite(np.concatenate(result[:-1])).all()
    assert result.pvalue >= 0.01


def test_more_divisions_than_are_held(refusal):
    message = refusal(found, Y, X, level=1 - 1e-10, resamples=160_000_000_000)
    assert "160,000,000,000 random divisions of the points would take 179,040.0 GB of memory" in message
    assert "pass a lower level" in message
