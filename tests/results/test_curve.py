"""The result of a curve."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from calibrant import Curve, cumulative_differences, reliability_curve


@pytest.fixture
def curve():
    return Curve("cumulative", {"x": np.array([1.0, 2.0]), "k": [3, 4]}, "by hand", 7, {"level": 0.5})


def test_columns_and_details_are_attributes(curve):
    assert curve.x is curve.columns["x"]
    assert curve.k.tolist() == [3, 4]
    assert curve.level == 0.5
    assert {"x", "k", "level", "plot"} <= set(dir(curve))


def test_unknown_attribute_names_those_there_are(curve):
    with pytest.raises(AttributeError, match="a cumulative curve has x, k, level; not z"):
        _ = curve.z
    assert not hasattr(curve, "_private")


def test_is_frozen(curve):
    with pytest.raises(FrozenInstanceError):
        curve.n = 3
    with pytest.raises(ValueError, match="read-only"):
        curve.x[0] = 9
    with pytest.raises(TypeError):
        curve.columns["x"] = np.zeros(2)
    with pytest.raises(TypeError):
        curve.details["level"] = 1


def test_does_not_share_memory_with_what_it_was_made_of():
    column, details = np.array([1.0, 2.0]), {"level": 0.5}
    curve = Curve("cumulative", {"x": column}, "by hand", 2, details)
    column[0], details["level"] = 9.0, 0.9
    assert curve.x[0] == 1.0
    assert curve.level == 0.5
    assert column.flags.writeable


def test_repr(curve):
    assert repr(curve) == "Curve(cumulative, 2 points of x, k; by hand; n=7)"


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda curve: pickle.loads(pickle.dumps(curve))],
    ids=["copy", "deep", "pickle"],
)
@pytest.mark.parametrize("verb", [reliability_curve, cumulative_differences], ids=lambda verb: verb.__name__)
def test_travels_between_processes(duplicate, verb):
    curve = verb([0, 1, 1], [0.2, 0.4, 0.9])
    twin = duplicate(curve)
    assert (twin.kind, twin.method, twin.n) == (curve.kind, curve.method, curve.n)
    assert dict(twin.details) == dict(curve.details)
    for name, column in curve.columns.items():
        np.testing.assert_array_equal(twin.columns[name], column)
