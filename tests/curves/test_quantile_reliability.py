"""Reliability of quantile forecasts."""

import numpy as np
import pytest

from calibrant import Quantiles, Summary, reliability_curve, summarize

Y = [3.0, 1.0, 5.0, 4.0]


def test_by_hand():
    # Outcomes 3, 1 fall and are pooled, 5 and 4 too: medians anywhere in [1, 3] and [4, 5].
    curve = reliability_curve(Y, Quantiles([1.0, 2.0, 3.0, 4.0], 0.5))
    np.testing.assert_array_equal(curve.level, [0.5] * 4)
    np.testing.assert_array_equal(curve.forecast, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_low, [1.0, 1.0, 4.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_high, [3.0, 3.0, 5.0, 5.0])
    np.testing.assert_array_equal(curve.count, [1] * 4)
    assert curve.kind == "quantile_reliability"
    assert curve.n == 4


def test_equal_forecasts_are_pooled_first():
    curve = reliability_curve(Y, Quantiles([2.0, 1.0, 2.0, 2.0], 0.5))
    np.testing.assert_array_equal(curve.forecast, [1.0, 2.0])
    np.testing.assert_array_equal(curve.recalibrated_low, [1.0, 4.0])
    np.testing.assert_array_equal(curve.recalibrated_high, [1.0, 4.0])
    np.testing.assert_array_equal(curve.count, [1, 3])


def test_one_tenth_however_it_is_written():
    # Of ten rows the 0.1-quantile is anywhere between the first and the second.
    y, q = np.arange(10.0), np.zeros(10)
    for level in (0.1, 1 - 0.9):
        curve = reliability_curve(y, Quantiles(q, level))
        assert (curve.recalibrated_low[0], curve.recalibrated_high[0]) == (0.0, 1.0)


def test_several_levels_stand_one_below_the_other():
    values = np.stack([np.arange(4.0), np.arange(4.0) + 2], axis=1)
    curve = reliability_curve(Y, Quantiles(values, [0.25, 0.75]))
    for level in (0.25, 0.75):
        alone = reliability_curve(Y, Quantiles(values, [0.25, 0.75]).at(level))
        for name, column in alone.columns.items():
            np.testing.assert_array_equal(curve.columns[name][curve.level == level], column)


def test_weights_move_the_quantile():
    curve = reliability_curve(Y, Quantiles([0.0] * 4, 0.5), weights=[1, 5, 1, 1])
    assert (curve.recalibrated_low[0], curve.recalibrated_high[0]) == (1.0, 1.0)


def test_calibrated_forecasts_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    mean = rng.integers(0, 5, 20_000) * 1.0
    curve = reliability_curve(rng.normal(mean), Quantiles(mean - 1.2815515655446004, 0.1))
    np.testing.assert_allclose(curve.recalibrated_low, curve.forecast, atol=0.1)


def test_batches_add_up():
    q = Quantiles([1.0, 2.0, 3.0, 4.0], 0.5)
    pieces = [summarize(reliability_curve, Y[s], q.take(s)) for s in (slice(0, 1), slice(1, 4))]
    merged = reliability_curve(Summary.from_bytes(sum(pieces).to_bytes()))
    np.testing.assert_array_equal(merged.recalibrated_high, reliability_curve(Y, q).recalibrated_high)


@pytest.mark.parametrize(
    ("option", "value"),
    [("bins", 5), ("strategy", "isotonic"), ("level", 0.9), ("method", "wilson"), ("simultaneous", True)],
)
def test_options_of_probabilities(refusal, option, value):
    message = refusal(reliability_curve, Y, Quantiles(Y, 0.5), **{option: value})
    assert message == f"{option}= is for probabilities; got {value!r} with Quantiles. Leave it out"
