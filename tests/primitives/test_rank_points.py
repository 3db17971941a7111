"""At which ranks a curve is looked at."""

import numpy as np
import pytest

from calibrant.primitives.rank_points import rank_points


@pytest.mark.parametrize("M", [1, 2, 99, 999])
def test_all_ranks_up_to_a_thousand(M):
    np.testing.assert_array_equal(rank_points(50, M, cells=False), np.arange(1, M + 1))


@pytest.mark.parametrize("M", [1000, 1500, 4095, 10**6])
def test_999_of_more(M):
    found = rank_points(50, M, cells=False)
    assert found.size == 999
    assert found.min() >= 1
    assert found.max() <= M
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(found, np.arange(1, 1000) * (M + 1) / 1000, rtol=0, atol=0.5)


def test_symmetric_up_to_halves():
    found = rank_points(50, 2001, cells=False)
    assert np.abs(found + found[::-1] - 2002).max() <= 1


@pytest.mark.parametrize(
    ("n", "K"), [(1, 100), (99, 100), (100, 100), (124, 100), (125, 125), (240, 200), (999, 500), (1000, 1000)]
)
def test_cells_are_joined_to_about_as_many_as_rows(n, K):
    found = rank_points(n, 999, cells=True)
    np.testing.assert_array_equal(found, np.arange(1, K) * (1000 // K))


def test_never_more_than_a_thousand_cells():
    assert rank_points(10**9, 999, cells=True).size == 999
