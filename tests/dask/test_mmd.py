"""Pairs of blocks of points add up to all pairs."""

import numpy as np
import pytest

import calibrant
from calibrant.kernels import Matern32


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(6)
    return rng.normal(size=(230, 3)), rng.normal(size=(170, 3)) + 0.3


KERNELS = [("gaussian", 1.0), ("laplace", 2.0), ("polynomial", "median"), ("gaussian", "median"), (Matern32(1.5), None)]


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize(("kernel", "bandwidth"), KERNELS, ids=str)
@pytest.mark.parametrize("places", [(), (1, 40, 90, 91, 150), (0, 0, 100)], ids=["one block", "six", "empty ones"])
def test_all_pairs(places, kernel, bandwidth, estimator, sets, cut, threads):
    from calibrant.dask import mmd

    y, x = sets
    given = {"kernel": kernel, "estimator": estimator} | ({} if bandwidth is None else {"bandwidth": bandwidth})
    found = mmd(cut(y, *places).rechunk({1: 2}), cut(x, 60), **given)
    assert found == pytest.approx(calibrant.points.mmd(y, x, **given), rel=1e-12, abs=1e-13)


def test_on_two_workers_and_of_frames(sets, framed, cluster, refusal):
    from calibrant.dask import mmd

    names = ["height", "weight", "age"]
    y, x = (framed(dict(zip(names, Z.T, strict=True)), 50, 100) for Z in sets)
    with cluster.as_current():
        found = mmd(y, x, bandwidth=1.0)
    assert found == pytest.approx(calibrant.points.mmd(*sets, bandwidth=1.0), rel=1e-12, abs=1e-13)
    assert "another order" in refusal(mmd, y, x[names[::-1]])


def test_many_coordinates_come_from_products(cut, threads):
    from calibrant.dask import mmd

    rng = np.random.default_rng(1)
    y, x = rng.normal(size=(90, 40)) + 5, rng.normal(size=(70, 40)) + 5
    found = mmd(cut(y, 30), cut(x, 20, 50), bandwidth=9.0)
    assert found == pytest.approx(calibrant.points.mmd(y, x, bandwidth=9.0), rel=1e-11, abs=1e-13)


def test_refusals(cut, threads, refusal):
    from calibrant.dask import mmd

    y, x = cut(np.zeros((4, 2)), 2), cut(np.ones((4, 2)), 1)
    assert "estimator must be one of 'unbiased', 'biased'" in refusal(mmd, y, x, estimator="block")
    assert "same number of columns" in refusal(mmd, y, cut(np.ones((4, 3)), 1), bandwidth=1.0)
    assert "points must have at least 2 points; got 1" in refusal(mmd, y, cut(np.ones((1, 2))), bandwidth=1.0)
    assert "kernel must be one of" in refusal(mmd, y, x, kernel="cosine")
    bad = cut([[0.0, 1.0], [2.0, np.nan]], 1)
    assert refusal(mmd, y, bad, bandwidth=1.0).startswith("partition 1 of points: points must be finite")
    assert "y must be points (n, d)" in refusal(mmd, cut([1.0, 2.0], 1), x, bandwidth=1.0)
    assert "y must be a Dask array" in refusal(mmd, np.zeros((4, 2)), x)
    huge = cut([[1e120, 0.0], [0.0, 1e120], [1e130, 1.0]], 1)
    message = refusal(mmd, huge, x, kernel="polynomial")
    assert "too large" in message
