"""Lag-1 coefficients of draws: exact moments, against all orders of a few draws."""

import itertools

import numpy as np
import pytest
from tests.references.books import book, by_id

from calibrant.core.draw_dependence import lag_one


def test_reference():
    found = lag_one(np.array(book("conditional")["data"]["draws"]["draws"]))
    assert [found.rho[0], found.z[0]] == pytest.approx(by_id("conditional")["dependence"]["value"][:2], rel=1e-9)
    assert not found.ordered
    assert not found.repeated


@pytest.mark.parametrize("draws", [[0.3, -1.0, 2.5], [1.0, 1.0, 2.0, 7.0], [0.1, 0.2, 0.5, -3.0, 1e3]])
def test_moments_are_those_of_all_orders(draws):
    orders = np.array(list(itertools.permutations(draws)))
    M = len(draws)
    each = np.array([lag_one(row[None]).rho[0] for row in orders])
    assert each.mean() == pytest.approx(-1 / M, abs=1e-12)
    z = np.array([lag_one(row[None]).z[0] for row in orders])
    assert z == pytest.approx((each + 1 / M) / each.std(), rel=1e-9)


def test_what_tells_nothing():
    draws = np.array([[1.0, 3.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0]])  # rows of equal draws are left out
    found, alone = lag_one(draws), lag_one(draws[:1])
    assert found.rows.tolist() == [1]
    assert found.z == pytest.approx(alone.z)
    same = lag_one(np.ones((6, 5)))
    assert np.isnan(same.z).all()
    assert (same.pvalue.tolist(), same.repeated) == ([1.0], True)
    for M in (1, 2):  # one order up to reflection
        assert np.isnan(lag_one(np.random.default_rng(0).normal(size=(9, M))).z).all()


def test_coordinates_are_separate_and_units_do_not_matter():
    draws = np.random.default_rng(1).normal(size=(7, 9, 2))
    found = lag_one(draws)
    for d, unit in enumerate((1e-200, 1e200)):
        assert lag_one(draws[:, :, d] * unit).z[0] == pytest.approx(found.z[d], rel=1e-9)


def test_same_and_sorted_draws_are_noticed():
    draws = np.sort(np.random.default_rng(2).normal(size=(5, 6)), axis=1)
    assert lag_one(draws).ordered
    assert not lag_one(draws).repeated
    assert lag_one(np.repeat(draws[:1], 5, axis=0)).repeated
    assert lag_one(draws).pvalue[0] < 1e-3
