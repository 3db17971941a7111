"""What all tests by random divisions of the pooled points share: they keep their level, and memory is asked for."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from calibrant.points import c2st, diversity_test, mmd_test, sliced_wasserstein_test
from calibrant.points.coordinates import coordinate_differences
from calibrant.points.inputs import PointSets

HEAVY, NEIGHBOURS = (lambda rng, size: rng.standard_t(2, size)), {"classifier": "neighbours"}


def coordinates(y, points, rng):
    return coordinate_differences(PointSets(y, points), 0.9, 19, rng)


def dependent(rng, size):
    return np.repeat(rng.exponential(size=(size[0], 1)), 4, axis=1) + 1e-3 * rng.normal(size=(size[0], 4))


EXACT = [  # P(p <= k/20) is k/20 for continuous points of any distribution, at any sizes
    *(
        (mmd_test, {"aggregate": aggregate, "resamples": 19}, 300, HEAVY, (*sizes, 2))
        for aggregate in (None, "max", "fuse")
        for sizes in ((8, 8), (5, 15))
    ),
    (sliced_wasserstein_test, {"directions": 5, "resamples": 19}, 200, np.random.Generator.normal, (12, 12, 2)),
    (coordinates, {}, 500, np.random.Generator.normal, (16, 10, 5)),
    (coordinates, {}, 500, HEAVY, (16, 10, 3)),
    (coordinates, {}, 500, dependent, (16, 10, 4)),
]
CONSERVATIVE = [
    (coordinates, {}, 300, lambda rng, size: rng.integers(0, 2, size) * 1.0, (10, 10, 2)),  # many ties
    (diversity_test, {"resamples": 49}, 100, np.random.Generator.normal, (40, 40, 2)),
    (c2st, {"resamples": 39}, 150, np.random.Generator.normal, (30, 30, 2)),
    (c2st, NEIGHBOURS, 200, np.random.Generator.normal, (12, 12, 2)),
    (c2st, NEIGHBOURS, 200, np.random.Generator.normal, (8, 30, 2)),
    (c2st, NEIGHBOURS, 200, lambda rng, size: rng.integers(0, 2, size), (12, 12, 2)),  # points on a lattice
    (c2st, {**NEIGHBOURS, "folds": 2, "resamples": 9}, 50, np.random.Generator.normal, (8, 8, 2)),
]


def pvalues(test, options, repeats, draw, sizes):
    rng, (n, m, d) = np.random.default_rng(5), sizes
    found = np.empty(repeats)
    for k in range(repeats):
        Z = draw(rng, size=(n + m, d))
        found[k] = test(Z[:n], Z[n:], rng=rng, **options).pvalue
    return found


@pytest.mark.parametrize("case", EXACT)
def test_exact_level(case):
    p = pvalues(*case)
    for level in (0.1, 0.5):
        assert abs(np.mean(p <= level + 1e-9) - level) <= 4.5 * math.sqrt(level * (1 - level) / p.size)


@pytest.mark.parametrize("case", CONSERVATIVE)
def test_level(case):
    """No more are rejected than in one of 10,000 sets of such tests."""
    p = pvalues(*case)
    for level in (0.05, 0.1, 0.2, 0.5):
        assert stats.binom.sf((p <= level + 1e-9).sum() - 1, p.size, level) > 1e-4
    assert (p <= 0.5).mean() > 0.2 or case[0] in (coordinates, diversity_test)


@pytest.mark.parametrize(
    ("test", "options"),
    [
        (c2st, {"rng": 0}),
        (c2st, {"rng": 0, "classifier": GaussianNB(), "folds": 2, "resamples": 10**9}),
        (sliced_wasserstein_test, {}),
        (mmd_test, {}),
        (mmd_test, {"aggregate": "fuse"}),
        (diversity_test, {}),
    ],
)
def test_memory_is_not_taken_on_request(test, options, refusal):
    many = np.random.default_rng(0).normal(size=(3000, 3))
    message = refusal(test, many, many[::-1], **{"resamples": 10**6, **options})
    assert "GB of memory; at most" in message or "resamples must be at most 1,000,000" in message
