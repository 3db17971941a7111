"""Points of one set in balls around those of another."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import neighbours
from calibrant.primitives.ball_counts import ball_counts, balls
from calibrant.primitives.distinct_points import distinct
from calibrant.primitives.neighbours import Neighbours

BODIES = pytest.mark.parametrize("body", ["differences", "tree", "products"])


def only(body):
    return mock.patch.object(neighbours, "neighbour_body", return_value=body)


def search(points):
    found = distinct(points)
    return Neighbours(found.points, found.count)


@BODIES
@given(data=st.data())
def test_are_the_definition(clouds, body, data):
    X, Y = data.draw(clouds.two_sets())
    k = data.draw(st.integers(1, min(len(X), len(Y)) - 1))
    with only(body):
        assert ball_counts(search(X), search(Y), k) == clouds.counts(X, Y, k)


@BODIES
@pytest.mark.parametrize("d", [1, 3, 30])
def test_a_copy(clouds, body, d):
    rng = np.random.default_rng(0)
    for kind in clouds.kinds:
        X = clouds.cloud(kind, 60, d, rng)
        with only(body):
            precise, recalled, members, covered = ball_counts(search(X), search(X[::-1]), 4)
        assert (precise, recalled, covered) == (60, 60, 60)
        assert members >= 5 * 60
        if kind in ("normal", "cauchy", "far", "clusters"):  # no two neighbours are equally far
            assert members == 5 * 60 or d == 1
        if kind == "constant":
            assert members == 60 * 60


def test_some_balls():
    line = search(np.array([[0.0], [1.0], [3.0], [10.0]]))
    other = search(np.array([[0.5], [0.5], [4.0]]))
    found = balls(line, other, 1, np.array([2, 0]))  # [1, 5] and [-1, 1]
    assert found.inside.tolist() == [1, 2]
    assert found.hit.tolist() == [True, True]
    assert balls(line, other, 1, np.array([1])).hit.tolist() == [True, False]  # [0, 2]
