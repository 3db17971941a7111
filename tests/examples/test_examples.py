from dataclasses import FrozenInstanceError, fields
from importlib.resources import files

import numpy as np
import pytest

from calibrant import examples

LOADERS = [examples.churn, examples.digits, examples.house_prices, examples.demand]
FILES = ["churn.npz", "digits.npz", "house_prices.npz", "demand.npz"]


def test_churn_has_the_documented_shapes_and_dtypes():
    example = examples.churn()
    assert example.y.shape == example.p.shape == example.segment.shape == (4000,)
    assert example.y.dtype == np.int8
    assert example.p.dtype == np.float64
    assert example.segment.dtype.kind == "U"


def test_churn_values_are_in_range():
    example = examples.churn()
    assert set(example.y.tolist()) == {0, 1}
    # Strictly inside: a stored 0 or 1 would make the logarithmic score infinite.
    assert example.p.min() > 0.0
    assert example.p.max() < 1.0
    assert 0.25 < example.y.mean() < 0.35


def test_churn_segments_are_the_four_plans_and_none_is_tiny():
    names, counts = np.unique(examples.churn().segment, return_counts=True)
    assert names.tolist() == ["basic", "business", "family", "student"]
    assert counts.min() >= 400


def test_churn_is_over_confident():
    example = examples.churn()
    confidence = np.maximum(example.p, 1.0 - example.p)
    correct = (example.p > 0.5) == (example.y == 1)
    assert confidence.mean() - correct.mean() > 0.03


def test_digits_has_the_documented_shapes_and_dtypes():
    example = examples.digits()
    assert example.y.shape == (3000,)
    assert example.P.shape == (3000, 10)
    assert example.y.dtype == np.int8
    assert example.P.dtype == np.float64


def test_digits_values_are_in_range():
    example = examples.digits()
    assert set(example.y.tolist()) == set(range(10))
    assert example.P.min() > 0.0
    assert example.P.max() < 1.0


def test_digits_rows_sum_to_one():
    np.testing.assert_allclose(examples.digits().P.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)


def test_digits_is_over_confident():
    example = examples.digits()
    accuracy = (example.P.argmax(axis=1) == example.y).mean()
    assert 0.75 < accuracy < 0.9
    assert example.P.max(axis=1).mean() - accuracy > 0.03


def test_house_prices_have_the_documented_shapes_and_dtypes():
    example = examples.house_prices()
    assert example.y.shape == example.size.shape == (3000,)
    assert example.y.dtype == np.float64
    assert example.prediction.lower.shape == example.prediction.upper.shape == (3000, 2)
    assert example.prediction.levels.tolist() == [0.8, 0.9]
    assert example.calibration_size == 4000
    names, counts = np.unique(example.size, return_counts=True)
    assert names.tolist() == ["large", "medium", "small"]
    assert counts.min() >= 500


def test_house_prices_are_covered_on_average_only():
    example = examples.house_prices()
    y, bounds = example.y[:, None], example.prediction
    covered = (bounds.lower <= y) & (y <= bounds.upper)
    assert np.abs(covered.mean(axis=0) - bounds.levels).max() < 0.01
    assert (covered[example.size == "small"].mean(axis=0) > bounds.levels + 0.07).all()
    assert (covered[example.size == "large"].mean(axis=0) < bounds.levels - 0.1).all()


def test_intervals_of_house_prices_are_nested_and_differ_in_width():
    low, high = examples.house_prices().prediction.lower.T, examples.house_prices().prediction.upper.T
    assert (low[1] < low[0]).all()
    assert (high[1] > high[0]).all()
    assert np.unique((high - low)[1]).size > 1000


def test_demand_has_the_documented_shapes_and_dtypes():
    example = examples.demand()
    assert example.y.shape == example.product.shape == (3000,)
    assert example.y.dtype == np.int16
    assert example.prediction.values.shape == (3000, 5)
    assert example.prediction.levels.tolist() == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert np.unique(example.product).tolist() == ["bread", "fruit", "ice cream"]
    assert example.y.min() >= 0
    assert example.prediction.values.min() > 0


def test_demand_is_too_narrow_for_every_product():
    example = examples.demand()
    below = example.y[:, None] <= example.prediction.values
    for product in np.unique(example.product):
        low, *_, high = below[example.product == product].mean(axis=0)
        assert low > 0.05 + 0.02
        assert high < 0.95 - 0.04


def _arrays(example):
    for field in fields(example):
        value = getattr(example, field.name)
        if isinstance(value, np.ndarray):
            yield value
        elif not isinstance(value, int):
            yield from (value.lower, value.upper) if hasattr(value, "lower") else (value.values,)


@pytest.mark.parametrize("load", LOADERS)
def test_arrays_are_read_only(load):
    for array in _arrays(load()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


@pytest.mark.parametrize("load", LOADERS)
def test_examples_are_frozen(load):
    with pytest.raises(FrozenInstanceError):
        load().y = None


@pytest.mark.parametrize("name", FILES)
def test_files_hold_no_pickles(name):
    with files("calibrant.examples").joinpath(name).open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        assert all(archive[key].dtype.kind in "ifU" for key in archive.files)


def test_files_are_small():
    folder = files("calibrant.examples")
    assert sum(len(folder.joinpath(name).read_bytes()) for name in FILES) < 300_000
