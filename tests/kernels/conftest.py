"""What tests of expectations share: reference vectors and an integral that knows where to look."""

import numpy as np
import pytest
from tests.references.books import book

STEPS = np.array([0.1, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 14, 20, 28, 40])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


@pytest.fixture(scope="session")
def vectors():
    """Return a function that gives the reference vectors of a kind, with the tolerance of each."""
    every = book("kernel")["vectors"]

    def of_kind(kind):
        found = [vector for vector in every if vector["kind"] == kind]
        assert found
        return [(v["inputs"], v["expected"], v.get("relative_tolerance", 1e-12)) for v in found]

    return of_kind


@pytest.fixture(scope="session")
def integral():
    """Return a function that integrates f over the line by Gauss-Legendre panels around (place, scale) pairs."""

    def integrate(f, *places):
        edges = np.concatenate([[x, *(x + h * STEPS), *(x - h * STEPS)] for x, h in places])
        edges = np.unique(edges)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        return float((f(middle[:, None] + half[:, None] * NODES) * WEIGHTS * half[:, None]).sum())

    return integrate


@pytest.fixture(scope="session")
def target_part():
    """Return a function that gives h_Y of rows 0 and 1 with outcomes y."""

    def h(means, kernel, y):
        i, j = np.array([0]), np.array([1])
        gap = np.atleast_1d(np.linalg.norm(np.atleast_1d(y[0] - y[1])))
        value = kernel.of_distance(gap) - means.single(i, y[1:]) - means.single(j, y[:1]) + means.double(i, j)
        return float(value[0])

    return h
