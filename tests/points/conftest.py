"""Sets of points that are hard for whoever compares distances, and the definition of what is counted among them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

KINDS = ("normal", "cauchy", "lattice", "tenths", "constant", "far", "clusters", "outlier", "tiny", "mixed")


def cloud(kind, n, d, rng):
    """Return n points of d coordinates of one kind."""
    x = rng.normal(size=(n, d))
    return {
        "normal": lambda: x,
        "cauchy": lambda: rng.standard_cauchy((n, d)),
        "lattice": lambda: rng.integers(0, 3, (n, d)) * 1.0,
        "tenths": lambda: rng.integers(0, 4, (n, d)) * 0.1 + 0.7,  # distances that differ by rounding alone
        "constant": lambda: np.full((n, d), 0.3),
        "far": lambda: x + 2.0**30,
        "clusters": lambda: x + rng.choice([-1e8, 0.0, 1e8], (n, 1)),
        "outlier": lambda: np.where(np.arange(n)[:, None] == 0, 1e150, x),
        "tiny": lambda: x * 1e-160,
        "mixed": lambda: np.where(rng.random((n, 1)) < 0.5, x, np.round(x)),
    }[kind]()


@st.composite
def two_sets(draw, least=2, most=40):
    """Draw two sets of points, the second of which may repeat points of both."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind, d = draw(st.sampled_from(KINDS)), draw(st.integers(1, 14))
    n, m = (draw(st.integers(least, most)) for _ in range(2))
    X, Y = cloud(kind, n, d, rng), cloud(kind, m, d, rng)
    if draw(st.booleans()):
        Y = np.where(rng.random((m, 1)) < 0.4, np.concatenate([X, Y])[rng.integers(0, n + m, m)], Y)
    return X, Y


def squares(A, B):
    """Return |a - b|² of all pairs, added up coordinate by coordinate."""
    total = np.zeros((len(A), len(B)))
    for c in range(A.shape[1]):
        total = total + (A[:, c, None] - B[None, :, c]) ** 2
    return total


def to_others(X):
    """Return the sorted squared distances of each point to the other points of its set."""
    D = squares(X, X)
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :-1]


def counts(X, Y, k):
    """Return how many points are precise, how many recalled, pairs of a ball and a member, and balls covered."""
    D = squares(X, Y)
    held, back = to_others(X)[:, [k - 1]] >= D, to_others(Y)[:, k - 1] >= D
    return tuple(int(part.sum()) for part in (held.any(axis=0), back.any(axis=1), held, held.any(axis=1)))


@pytest.fixture(scope="session")
def clouds():
    """Return sets of points to draw (`two_sets`), one of a kind (`cloud`), and definitions."""
    return SimpleNamespace(
        kinds=KINDS, cloud=cloud, two_sets=two_sets, squares=squares, to_others=to_others, counts=counts
    )
