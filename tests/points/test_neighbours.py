"""Nearest neighbours and members of balls: both bodies decide as differences do."""

from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.points import neighbours
from calibrant.points.neighbours import Neighbours, smallest_of_rows, squares_of_pairs

BODIES = pytest.mark.parametrize("body", ["tree", "products"])
SMALL = {  # so that a few points are many
    "DIFFERENCES_HELD": 60,
    "MAX_NEIGHBOURS_HELD": 12,
    "LEAF_POINTS": 2,
    "MAX_PAIRS_HELD": 9,
    "PRODUCTS_HELD": 60,
    "SAMPLED_POINTS": 1,
    "CENTRE_POINTS": 4,
}


@contextmanager
def only(body, *, small=True):
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(neighbours, "takes_tree", return_value=body == "tree"))
        for name, value in SMALL.items() if small else ():
            stack.enter_context(mock.patch.object(neighbours, name, value))
        yield


def search(points, count=None):
    return Neighbours(points, np.ones(len(points), dtype=np.int64) if count is None else count)


def nearest(of, K, rows):
    parts = list(of.nearest(K, rows))
    assert [i for part, _ in parts for i in range(len(rows))[part]] == list(range(len(rows)))
    return np.concatenate([near.index for _, near in parts]), np.concatenate([near.square for _, near in parts])


def held(of, centres, R2):
    found = np.zeros((len(centres), len(of.points)), dtype=np.int64)
    for i, j in of.inside(centres, R2):
        np.add.at(found, (i, j), 1)
    return found


@BODIES
@given(data=st.data())
def test_nearest(clouds, body, data):
    X = np.concatenate(data.draw(clouds.two_sets()))  # repeated points too
    K = data.draw(st.integers(1, len(X) + 1))
    rows = np.array(data.draw(st.permutations(range(len(X)))))[: data.draw(st.integers(1, len(X)))]
    expected, D = clouds.to_others(X)[rows, :K], clouds.squares(X, X)
    for small in (True, False):
        with only(body, small=small):
            index, square = nearest(search(X), K, rows)
        np.testing.assert_array_equal(square, expected)
        np.testing.assert_array_equal(D[rows[:, None], index], square)
        assert (index != rows[:, None]).all()
        assert all(len(set(row)) == len(row) for row in index.tolist())


@BODIES
@given(data=st.data())
def test_inside(clouds, body, data):
    centres, X = data.draw(clouds.two_sets())
    D = clouds.squares(centres, X)
    edge = np.sort(D, axis=1)[np.arange(len(D)), data.draw(st.integers(0, 10**6)) % len(X)]
    for R2 in (edge, np.nextafter(edge, np.inf), np.nextafter(edge, 0.0), np.zeros(len(D)), np.full(len(D), D.max())):
        for small in (True, False):
            with only(body, small=small):
                np.testing.assert_array_equal(held(search(X), centres, R2), R2[:, None] >= D)


@BODIES
@given(data=st.data())
def test_radii_count_points_as_often_as_they_occur(clouds, body, data):
    points, _ = data.draw(clouds.two_sets())
    points = np.unique(points, axis=0)
    count = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(points), max_size=len(points))))
    if count.sum() < 2:
        count = count + 1
    k = data.draw(st.integers(1, int(count.sum()) - 1))
    repeated = np.repeat(points, count, axis=0)
    first = np.cumsum(count) - count
    with only(body):
        found = search(points, count).radii(k, np.arange(len(points)))
    np.testing.assert_array_equal(found, clouds.to_others(repeated)[first, k - 1])


def test_ten_thousand_equal_points_in_a_tree():
    X = np.concatenate([np.zeros((10_000, 3)), np.ones((2, 3))])
    with only("tree", small=False):
        index, square = nearest(search(X), 3, np.array([0, 10_000]))
        assert square.tolist() == [[0.0, 0.0, 0.0], [0.0, 3.0, 3.0]]
        assert [[i < 10_000 for i in row] for row in index.tolist()] == [[True] * 3, [False, True, True]]
        assert sum(len(j) for _, j in search(X).inside(X[:1], np.zeros(1))) == 10_000


@BODIES
def test_distances_that_differ_by_the_order_of_their_sums_alone(clouds, body):
    steps = np.sqrt([0.13, 0.21, 0.34, 0.55, 0.89, 1.44, 2.33, 3.77, 6.1])
    around = np.random.default_rng(0).permuted(np.tile(steps, (200, 1)), axis=1)
    X = np.concatenate([np.zeros((1, 9)), around])
    expected = clouds.to_others(X)[0]
    assert len(set(expected.tolist())) > 2  # equal, but for rounding
    for K in (1, 20, 100, 199):
        with only(body, small=False):
            of = search(X)
            np.testing.assert_array_equal(nearest(of, K, np.array([0]))[1][0], expected[:K])
            assert held(of, X[:1], expected[K - 1 : K]).sum() == 1 + np.count_nonzero(expected <= expected[K - 1])


def test_a_far_point_makes_no_deep_tree(clouds, rng):
    X = rng.normal(size=(3000, 2)) * 10.0 ** rng.uniform(-100, 100, (3000, 1))
    rows = np.arange(0, 3000, 100)
    with only("tree", small=False):
        square = nearest(search(X), 4, rows)[1]
    D = np.sort(clouds.squares(X[rows], X), axis=1)[:, 1:5]
    np.testing.assert_array_equal(square, D)


@pytest.mark.parametrize("d", [11, 70])
@pytest.mark.parametrize("kind", ["normal", "cauchy", "clusters", "outlier", "tenths"])
def test_many_tiles(clouds, kind, d):
    rng = np.random.default_rng(d)
    X, centres = clouds.cloud(kind, 2500, d, rng), clouds.cloud(kind, 40, d, rng)
    centres[::2] = X[:20]
    rows, D = np.arange(0, 2500, 50), clouds.squares(centres, X)
    R2 = np.sort(D, axis=1)[:, 5]
    with only("products", small=False):
        _, square = nearest(search(X), 6, rows)
        np.testing.assert_array_equal(held(search(X), centres, R2), R2[:, None] >= D)
    own = clouds.squares(X[rows], X)
    own[np.arange(len(rows)), rows] = np.inf
    np.testing.assert_array_equal(square, np.sort(own, axis=1)[:, :6])


@given(seed=st.integers(0, 10**6), rows=st.integers(1, 9), columns=st.integers(1, 9), data=st.data())
def test_the_smallest_of_rows_are_those_of_the_whole_table(seed, rows, columns, data):
    rng = np.random.default_rng(seed)
    K = data.draw(st.integers(1, columns))
    table = rng.integers(0, 4, (rows, columns)) * 1.0
    table[rng.random(table.shape) < 0.3] = np.inf
    table[:, :K] = np.where(np.isinf(table[:, :K]), 2.0, table[:, :K])  # K or more of each row
    table = rng.permuted(table, axis=1)
    i, j = np.nonzero(np.isfinite(table))
    mixed = rng.permutation(len(i))
    found = smallest_of_rows(i[mixed], j[mixed], table[i, j][mixed], rows, K)
    index, square = found.index, found.square
    np.testing.assert_array_equal(square, np.sort(table, axis=1)[:, :K])
    np.testing.assert_array_equal(np.take_along_axis(table, index, axis=1), square)
    assert all(len(set(row)) == K for row in index.tolist())


@given(data=st.data())
def test_squares_are_the_definition_to_the_last_digit(clouds, data):
    A, B = data.draw(clouds.two_sets())
    expected = clouds.squares(A, B)
    i, j = np.indices(expected.shape).reshape(2, -1)
    np.testing.assert_array_equal(squares_of_pairs(A, B, i, j).reshape(expected.shape), expected)
    np.testing.assert_array_equal(squares_of_pairs(B, A, j, i).reshape(expected.shape), expected)
