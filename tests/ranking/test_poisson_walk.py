"""Probabilities that counts keep to limits: against whole numbers, and two ways to convolve."""

import math
from fractions import Fraction
from math import comb
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core import dispatch
from calibrant.ranking.poisson_walk import PoissonWalk, norm, poisson_pmf


def share_inside(N, j, m, lower, upper):
    """Return the share of the m^N rank vectors with lower <= #{rank < j} <= upper at every j, as a fraction."""
    ways, before = {0: 1}, 0
    for point, low, high in zip(j, lower, upper, strict=True):
        arrived = dict.fromkeys(range(low, high + 1), 0)
        for k, way in ways.items():
            for count in range(max(low, k), high + 1):
                arrived[count] += way * comb(N - k, count - k) * (point - before) ** (count - k)
        ways, before = arrived, point
    return Fraction(sum(way * (m - before) ** (N - k) for k, way in ways.items()), m**N)


@st.composite
def walks(draw):
    N, m = draw(st.integers(1, 30)), draw(st.integers(2, 15))
    j = sorted(draw(st.sets(st.integers(1, m - 1), min_size=1)))
    if draw(st.booleans()):
        j = sorted({*j, *(m - x for x in j)})
    counts = st.lists(st.integers(0, N), min_size=len(j), max_size=len(j))
    lower, upper = np.sort([draw(counts), draw(counts)], axis=0)
    if draw(st.booleans()):
        lower, upper = np.sort(lower), np.sort(upper)
    return N, j, m, lower, upper


@given(walks())
def test_whole_numbers(walk):
    N, j, m, lower, upper = walk
    inside = share_inside(N, j, m, lower.tolist(), upper.tolist())
    found = PoissonWalk.of(N, np.array(j) / m, least=1e-300)
    assert found.inside(lower, upper) == pytest.approx(float(inside), rel=1e-12, abs=1e-15)
    assert found.outside(lower, upper) == pytest.approx(float(1 - inside), rel=2e-14, abs=1e-290)


@given(walks())
def test_transforms_change_nothing(walk):
    N, j, m, lower, upper = walk
    found = PoissonWalk.of(N, np.array(j) / m)
    direct = found.inside(lower, upper)
    with mock.patch.object(dispatch, "TRANSFORM_TERMS", 0):
        assert found.inside(lower, upper) == pytest.approx(direct, abs=1e-13)


@pytest.mark.parametrize(("N", "K"), [(10**5, 20), (10**5, 7), (10**4, 100)])
@pytest.mark.parametrize("multiple", [0.3, 2.0, 3.0])
def test_many_rows(N, K, multiple):
    """Half of the way and all of it, transforms and sums, 1 - inside and outside: one number."""
    t = np.arange(1, K) / K
    half = multiple * np.sqrt(N * t * (1 - t))
    lower, upper = np.ceil(N * t - half).astype(int), np.floor(N * t + half).astype(int)
    upper[::-1] = N - lower
    walk = PoissonWalk.of(N, t)
    inside = walk.inside(lower, upper)
    whole = PoissonWalk(N, t, walk.kernels, mirrored=False)
    with mock.patch.object(dispatch, "TRANSFORM_TERMS", 10**12):
        assert whole.inside(lower, upper) == pytest.approx(inside, rel=1e-11, abs=1e-13)
    assert 1 - whole.outside(lower, upper) == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize("K", [2, 3, 8, 9])
def test_limits_without_room(K):
    t = np.arange(1, K) / K
    lower, upper = np.zeros(K - 1, int), np.full(K - 1, 6)
    walk = PoissonWalk.of(6, t)
    assert walk.inside(lower, upper) == pytest.approx(1, rel=1e-14)
    assert walk.outside(lower, upper) == 0
    for place in (0, K - 2):
        for low, high in ((4, 3), (6, 0), (7, -1)):
            lower[place], upper[place] = low, high
            assert walk.inside(lower, upper) == 0
            assert walk.outside(lower, upper) == pytest.approx(1, rel=1e-14)
        lower[place], upper[place] = 0, 6
    falling, limits = PoissonWalk.of(4, np.array([0.3, 0.6])), (np.array([3, 0]), np.array([4, 2]))
    assert falling.inside(*limits) == 0
    assert falling.outside(*limits) == pytest.approx(1, rel=1e-14)


def test_kernels_and_transforms():
    even, uneven = (PoissonWalk.of(9, np.array(t)) for t in (np.arange(1, 1000) / 1000, [0.1, 0.2, 0.25, 0.3]))
    assert [len({id(kernel) for kernel in walk.kernels}) for walk in (even, uneven)] == [1, 2]
    others = [PoissonWalk.of(9, np.array(t)) for t in ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9001], [0.1, 0.9, 0.95])]
    assert [walk.mirrored for walk in (even, *others)] == [True, True, False, False]
    assert dispatch.takes_transform(1000, dispatch.TRANSFORM_TERMS // 1000)
    assert not dispatch.takes_transform(1000, dispatch.TRANSFORM_TERMS // 1000 - 1)


E30 = Fraction(sum(Fraction(1, math.factorial(k)) for k in range(40)))  # e to 47 digits


@pytest.mark.parametrize("n", [0, 1, 2, 5, 15, 16, 17, 40, 300])
def test_norm(n):
    exact = Fraction(math.factorial(n)) * E30**n / Fraction(n) ** n if n else Fraction(1)
    assert norm(np.array(n)) == pytest.approx(float(exact), rel=2e-15, abs=0)


@pytest.mark.parametrize(
    ("n", "mean"), [(0, 3), (1, 1), (3, 17), (17, 3), (100, 100), (120, 100), (60, 100), (400, 300)]
)
def test_probability(n, mean):
    exact = Fraction(mean) ** n / math.factorial(n) / E30**mean
    assert poisson_pmf(n, mean) == pytest.approx(float(exact), rel=1e-14, abs=0)


def test_large_counts_keep_their_digits():
    """P(N)/P(N - 1) = λ/N, which log n! of this size would miss by 1e-9."""
    N = 10**7
    near = poisson_pmf([N - 4000, N - 3999], N + 0.0)
    assert near[1] / near[0] == pytest.approx(N / (N - 3999), rel=1e-12, abs=0)
    assert poisson_pmf(np.arange(N - 30_000, N + 30_000), N).sum() == pytest.approx(1, rel=1e-13, abs=0)
