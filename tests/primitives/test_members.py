"""Outcomes and draws as members of one set."""

import numpy as np
import pytest

from calibrant import Samples
from calibrant.inputs.outcomes import read_outcomes
from calibrant.primitives import members as module
from calibrant.primitives.members import Members


def of(y, draws):
    return Members.of(read_outcomes(y, Samples(draws)))


def test_the_outcome_comes_first():
    found = of([[0.0, 1.0]], [[[2.0, 3.0], [4.0, 5.0]]])
    assert (found.n, found.M, found.D) == (1, 2, 2)
    np.testing.assert_array_equal(found.block(slice(0, 1)), [[[0, 1], [2, 3], [4, 5]]])


def test_numbers_are_vectors_of_one_coordinate():
    np.testing.assert_array_equal(of([7.0], [[8.0, 9.0]]).block(slice(0, 9)), [[[7], [8], [9]]])


@pytest.mark.parametrize(("y", "draws"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_both_are_rounded_to_the_coarser_type(y, draws):
    z = of(np.array([0.1]).astype(y), np.array([[0.1]]).astype(draws)).block(slice(0, 1))
    assert z.dtype == np.float64
    assert z.ravel().tolist() == [float(np.float32(0.1))] * 2


def test_blocks_cover_the_rows(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 12)
    found = of(np.zeros((5, 2)), np.ones((5, 2, 2)))
    assert found.size == 2
    assert [len(found.block(slice(at, at + 2))) for at in (0, 2, 4)] == [2, 2, 1]
    monkeypatch.setattr(module, "BLOCK", 1)
    assert found.size == 1


def test_blocks_are_copies():
    y, draws = np.zeros((1, 2)), np.ones((1, 2, 2))
    of(y, draws).block(slice(0, 1))[:] = 9
    assert (y.max(), draws.max()) == (0, 1)


def test_infinite_draws_are_named(refusal):
    assert "row 1, draw 0 is inf" in refusal(of, [0.0, 0.0], [[1.0], [np.inf]])


def test_numbers_beyond_the_coarser_type(refusal):
    far = of(np.zeros(3, np.float32), np.array([[1.0], [2.0], [1e300]]))
    assert "row 2 goes beyond it" in refusal(far.block, slice(1, 3))
    assert "compared as float32" in refusal(far.block, slice(0, 3))
