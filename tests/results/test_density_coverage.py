"""The record of precision, recall, density and coverage."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from calibrant.results.density_coverage import DensityCoverage, Relabelled


def record(**changes):
    values = {f.name: 0.5 for f in fields(DensityCoverage)} | {"k": 5, "n": 20, "m": 30, "relabelled": None}
    return DensityCoverage(**(values | changes))


def test_mean_and_range():
    found = Relabelled.of(np.arange(0.0, 201.0))
    assert (found.mean, found.low, found.high) == (100.0, 5.0, 195.0)
    assert all(type(value) is float for value in (found.mean, found.low, found.high))


def test_draws_are_kept_and_cannot_be_written_to():
    draws = np.array([0.1, 0.2])
    found = Relabelled.of(draws)
    draws[0] = 9.0
    assert found.draws.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        found.draws[0] = 1.0


def test_is_frozen():
    found = record(relabelled={"recall": Relabelled.of(np.ones(3))})
    with pytest.raises(FrozenInstanceError):
        found.recall = 1.0
    with pytest.raises(TypeError):
        found.relabelled["recall"] = None


def test_equal_by_value_and_through_a_pickle():
    one, other = (record(relabelled={"recall": Relabelled.of(np.array(v))}) for v in ([0.1, 0.2], [0.2, 0.1]))
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(record())) == record()
    assert one != other
    assert one != record()
    assert record() != record(recall=0.6)
    assert Relabelled.of(np.ones(2)) != 1.0
    assert Relabelled(0.0, 0.0, 0.0, np.ones(2)) != Relabelled.of(np.ones(2))


def test_draws_are_not_shown():
    assert repr(Relabelled.of(np.array([0.5, 0.5]))) == "Relabelled(mean=0.5, low=0.5, high=0.5)"
