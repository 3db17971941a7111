"""Properties of every method of every kind: order of rows, weights, units, precision, files, and inputs that stay."""

import pickle

import numpy as np
import pytest

from calibrant import Intervals, Normal, Quantiles, Samples
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibrate import recalibrate
from calibrant.recalibrating.recalibration import Recalibration

FIELDS = {
    "Intervals": ("lower", "upper"),
    "Sets": ("mask",),
    "Quantiles": ("values",),
    "Samples": ("draws",),
    "Normal": ("mean", "std"),
    "CdfValues": ("at", "below"),
}
NO_WEIGHTS = ("pit",)  # they count rows
COUNTS_ROWS = ("venn-abers", "matrix", "shift", "shift-each-end", "scale", "relevel")  # repeated rows are other rows
EVERY = [(kind, method) for kind, methods in METHODS.items() for method in methods if method != "identity"]
pytestmark = [
    pytest.mark.parametrize(("kind", "method"), EVERY),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # of few rows, and of maps that are not a gain
]


def numbers(prediction):
    if isinstance(prediction, np.ndarray):
        return [prediction]
    return [np.asarray(getattr(prediction, name)) for name in FIELDS[type(prediction).__name__]]


def take(values, rows):
    return values[rows] if isinstance(values, np.ndarray) else None if values is None else values.take(rows)


def assert_same(one, other, prediction, rtol=1e-8):
    for first, second in zip(numbers(one.apply(prediction)), numbers(other.apply(prediction)), strict=True):
        np.testing.assert_allclose(first, second, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_order_of_rows_and_weights(kind, method, seed, calibration_rows):
    y, prediction = calibration_rows(kind, method, seed)
    rng = np.random.default_rng(seed)
    if kind == "binary" and seed == 5:  # ties
        prediction = prediction.round(1).clip(0.1, 0.9)
    order, w = rng.permutation(60), None if method in NO_WEIGHTS else rng.integers(1, 4, 60)
    found = recalibrate(y, prediction, method=method, weights=w)
    turned = recalibrate(take(y, order), take(prediction, order), method=method, weights=take(w, order))
    assert_same(found, turned, prediction)
    if w is None:
        return
    for factor in (1e-30, 7.5, 1e30):
        assert_same(found, recalibrate(y, prediction, method=method, weights=factor * w), prediction)
    if method not in COUNTS_ROWS:
        rows = np.repeat(np.arange(60), w)
        assert_same(found, recalibrate(take(y, rows), take(prediction, rows), method=method), prediction)


def test_a_map_read_back_or_unpickled_gives_the_same_bits(kind, method, calibration_rows):
    y, prediction = calibration_rows(kind, method)
    clip = {"clip": 0.001} if "clip" in METHODS[kind][method].uses else {}
    found = recalibrate(y, prediction, method=method, **clip)
    for again in (Recalibration.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert repr(again) == repr(found)
        for one, other in zip(numbers(again.apply(prediction)), numbers(found.apply(prediction)), strict=True):
            assert one.tobytes() == other.tobytes()


def test_inputs_are_not_changed(kind, method, calibration_rows):
    y, prediction = calibration_rows(kind, method)
    before = pickle.dumps((y, numbers(prediction)))
    arrays = [array for array in (y, prediction) if isinstance(array, np.ndarray)]
    for array in arrays:
        array.flags.writeable = False
    found = recalibrate(y, prediction, method=method)
    after = found.apply(prediction)
    assert not any(np.shares_memory(one, new) for one in numbers(prediction) for new in numbers(after))
    assert not any(value.flags.writeable for value in found.parameters.values() if isinstance(value, np.ndarray))
    assert pickle.dumps((y, numbers(prediction))) == before


@pytest.mark.parametrize("unit", [1e300, 1e-300])
def test_units_do_not_matter(kind, method, unit, calibration_rows):
    """A map of outcomes in another unit is the same map."""
    y, prediction = calibration_rows(kind, method)
    if kind not in ("intervals", "quantiles", "samples", "distributions"):
        return
    far = in_unit(prediction, unit)
    found, expected = recalibrate(unit * y, far, method=method), recalibrate(y, prediction, method=method)
    for one, other in zip(numbers(found.apply(far)), numbers(expected.apply(prediction)), strict=True):
        np.testing.assert_allclose(one / unit, other, rtol=1e-8, atol=1e-8)


def in_unit(prediction, unit):
    values = [unit * array for array in numbers(prediction)]
    if isinstance(prediction, (Intervals, Quantiles)):
        return type(prediction)(*values, prediction.levels)
    return Normal(*values) if isinstance(prediction, Normal) else Samples(*values)


def test_low_precision_is_read_as_it_is(kind, method, calibration_rows):
    y, prediction = calibration_rows(kind, method)
    if kind not in ("binary", "samples"):
        return
    of = (lambda array: array) if kind == "binary" else Samples
    for dtype in (np.float16, np.float32):
        low = np.asarray(numbers(prediction)[0], dtype)
        found, expected = (recalibrate(y, of(part), method=method) for part in (low, low.astype(float)))
        assert_same(found, expected, of(low.astype(float)))
        assert numbers(found.apply(of(low)))[0].dtype == np.float64
