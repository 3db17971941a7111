"""Input that broke recalibration once: extreme spreads and gains, groups that a fold lacks, separation by ties."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import calibrant as cb
from calibrant.errors import InputError, NotApplicableError
from calibrant.recalibrating.gain_limits import Units, gain_limits


def test_quadratic_maps_are_refused_where_ties_leave_some_scores_separated(refusal, rng):
    """Only 0.2 and 0.7 have both outcomes; a parabola through their frequencies separates the rest, at infinity."""
    p = np.repeat([0.1, 0.2, 0.3, 0.5, 0.7, 0.9], [1, 3, 1, 2, 3, 2])
    y = np.array([1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1])
    for _ in range(5):
        order = rng.permutation(y.size)
        assert "separated" in refusal(cb.recalibrate, y[order], p[order], method="quadratic", error=NotApplicableError)


def test_a_laplace_of_tiny_scale_decides_the_shift() -> None:
    y, scale = np.array([0.3, -1.0, 2.0, 0.5]), np.array([1e-320, 1.0, 1.0, 1.0])
    found = cb.recalibrate(y, cb.Laplace(np.zeros(4), scale), method="location-scale")
    assert found.parameters["shift"] == pytest.approx(0.3)
    assert found.parameters["scale"] == pytest.approx((1.3 + 1.7 + 0.2) / 4)


@pytest.mark.parametrize("family", [cb.Normal, cb.Laplace])
def test_spreads_that_only_an_infinite_scale_would_repair_are_refused(family: type) -> None:
    spread = np.array([1e-320, 1e-320, 1.0, 1.0])
    with pytest.raises(NotApplicableError, match="beyond the range of float64: the smallest spread is"):
        cb.recalibrate([0.3, -1.0, 2.0, 0.5], family(np.zeros(4), spread), method="location-scale")


@pytest.mark.parametrize("factor", [2.0**900, 2.0**-900])
def test_limits_scale_with_gains_of_any_size(factor: float) -> None:
    """Squares of such gains overflow or vanish."""
    d = np.random.default_rng(0).normal(0.1, 1.0, (2, 50))
    units = Units(np.ones(50))
    plain, scaled = (gain_limits(d * f, 0.2 * f, units, 0.95, chosen=False) for f in (1.0, factor))
    assert np.array(scaled[:3]) / factor == pytest.approx(plain[:3])
    assert scaled.deciding == pytest.approx(plain.deciding)


@pytest.mark.parametrize("factor", [2.0**600, 2.0**-600])
def test_a_choice_does_not_depend_on_the_unit(factor: float, rng: np.random.Generator) -> None:
    y, mean = rng.normal(size=300), rng.normal(size=300)
    found = [cb.recalibrate(f * y, cb.Normal(f * mean, np.full(300, f)), score="crps") for f in (1.0, factor)]
    assert found[0].method == found[1].method == "location-scale"
    assert found[1].compared[1].se / factor == pytest.approx(found[0].compared[1].se)


def test_weights_over_thirty_decades_raise_no_floating_point_error(rng: np.random.Generator) -> None:
    p = rng.uniform(0.05, 0.95, 300)
    y, w = rng.uniform(size=300) < p, 10.0 ** rng.uniform(-30, 0, 300)
    for method in ("auto", "logistic", "beta", "venn-abers"):
        expected = cb.recalibrate(y, p, method=method, weights=w).apply(p)
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(cb.recalibrate(y, p, method=method, weights=w).apply(p), expected)


def test_a_group_that_a_fold_lacks_has_infinite_intervals_there(rng: np.random.Generator) -> None:
    y, group = rng.normal(size=40), np.repeat([0, 1], [1, 39])
    intervals = cb.Intervals(np.full(40, -1.0), np.full(40, 1.0), 0.8)
    with pytest.raises(NotApplicableError, match="row 0 after the map is infinite"):
        cb.recalibration_gain(y, intervals, method="shift", groups=group, repeats=1)


def test_times_may_be_dates_of_python(rng: np.random.Generator) -> None:
    p = rng.uniform(0.1, 0.9, 60)
    y = rng.uniform(size=60) < p
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(k)) for k in rng.permutation(60)]
    expected = cb.recalibration_gain(y, p, method="logistic", time=np.array(days, "M8[D]"), rng=0)
    moments = [datetime.datetime.combine(day, datetime.time()) for day in days]
    for time in (days, moments, np.array(days, dtype=object)):
        found = cb.recalibration_gain(y, p, method="logistic", time=time, rng=0)
        assert found.estimate == pytest.approx(expected.estimate)
    with pytest.raises(InputError, match="time must be finite numbers or dates; row 0 is '2024-01-01'"):
        cb.recalibration_gain(y, p, method="logistic", time=["2024-01-01", *days[1:]], rng=0)
