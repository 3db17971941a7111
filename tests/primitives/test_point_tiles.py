"""Tiles of distances and kernels of points, against those of all pairs at once."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from calibrant import Exponential, Gaussian
from calibrant.primitives.dispatch import FEW_COORDINATES
from calibrant.primitives.point_tiles import distance_tile, kernel_tile

ROWS, COLUMNS = slice(3, 10), slice(0, 20)


def points(d, offset=0.0):
    return np.random.default_rng(d).normal(size=(20, d)) + offset


@pytest.mark.parametrize("d", [1, 2, FEW_COORDINATES, FEW_COORDINATES + 1, 100])
@pytest.mark.parametrize(("name", "scipy_name"), [("euclidean", "euclidean"), ("l1", "cityblock")])
def test_distances(d, name, scipy_name):
    Z = points(d)
    found, expected = distance_tile(Z, name)(ROWS, COLUMNS), cdist(Z[ROWS], Z[COLUMNS], scipy_name)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-6 if d > FEW_COORDINATES else 0)
    apart = expected > 0
    np.testing.assert_allclose(found[apart], expected[apart], rtol=1e-12)


def test_points_far_from_the_origin():
    Z = points(100, offset=1e6)
    np.testing.assert_allclose(distance_tile(Z, "euclidean")(ROWS, slice(10, 20)), cdist(Z[ROWS], Z[10:]), rtol=1e-10)


@pytest.mark.parametrize("d", [2, 100])
def test_a_kernel_is_that_of_its_distance(d):
    Z = points(d)
    for kernel in (Gaussian(2.0, "euclidean"), Exponential(3.0, "l1")):
        found = kernel_tile(Z, kernel)(ROWS, COLUMNS)
        expected = kernel.of_distance(distance_tile(Z, kernel.distance)(ROWS, COLUMNS))
        np.testing.assert_allclose(found, expected, rtol=1e-13)
