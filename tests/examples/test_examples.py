from dataclasses import FrozenInstanceError, fields
from importlib.resources import files

import numpy as np
import pytest

from calibrant import examples

LOADERS = [examples.churn, examples.digits]


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


@pytest.mark.parametrize("load", LOADERS)
def test_arrays_are_read_only(load):
    example = load()
    for field in fields(example):
        array = getattr(example, field.name)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


@pytest.mark.parametrize("load", LOADERS)
def test_examples_are_frozen(load):
    with pytest.raises(FrozenInstanceError):
        load().y = None


@pytest.mark.parametrize("name", ["churn.npz", "digits.npz"])
def test_files_hold_no_pickles(name):
    with files("calibrant.examples").joinpath(name).open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        assert all(archive[key].dtype.kind in "ifU" for key in archive.files)


def test_files_are_small():
    folder = files("calibrant.examples")
    assert sum(len(folder.joinpath(name).read_bytes()) for name in ("churn.npz", "digits.npz")) < 300_000
