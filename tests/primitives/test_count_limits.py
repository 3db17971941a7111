"""Limits of binomial counts, against a look at every count."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.count_limits import count_limits, doubled_tail


def tails(N, t):
    """Return 2 P(B <= c) and 2 P(B >= c) for c = 0..N, exactly."""
    mass = [comb(N, c) * t**c * (1 - t) ** (N - c) for c in range(N + 1)]
    return [2 * sum(mass[: c + 1]) for c in range(N + 1)], [2 * sum(mass[c:]) for c in range(N + 1)]


def expected(g, N, t, *, strict=False):
    low, high = tails(N, t)
    inside = (lambda v: v > g) if strict else (lambda v: v >= g)
    lower = min((c for c in range(N + 1) if inside(low[c])), default=N + 1)
    return lower, max((c for c in range(N + 1) if inside(high[c])), default=-1)


@given(
    N=st.integers(1, 40),
    m=st.integers(2, 12),
    g=st.fractions(Fraction(1, 10**6), 2, max_denominator=10**6),
    strict=st.booleans(),
)
def test_every_count(N, m, g, strict):
    points = [Fraction(j, m) for j in range(1, m)]
    found = count_limits(float(g), N, np.array([float(t) for t in points]), strict=strict)
    wanted = [expected(g, N, t, strict=strict) for t in points]
    assert list(zip(found.lower.tolist(), found.upper.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("N", "m"), [(3, 2), (7, 10), (25, 6)])
def test_attained_values(N, m, strict):
    """A tail value is reached by its own count, and not exceeded, though mirrored tails are rounded differently."""
    points = [Fraction(j, m) for j in range(1, m)]
    t = np.array([float(x) for x in points])
    for g in {v for x in points for side in tails(N, x) for v in side if v < 1.9}:
        found = count_limits(float(g), N, t, strict=strict)
        assert found.lower.tolist() == [expected(g, N, x, strict=strict)[0] for x in points]
        assert found.upper.tolist() == [expected(g, N, x, strict=strict)[1] for x in points]


@pytest.mark.parametrize("N", [1, 9, 1000, 10**6])
@pytest.mark.parametrize("g", [1.9, 1.0, 0.3, 1e-3, 1e-30, 1e-200])
def test_mirrored_points_and_known_limits_change_nothing(N, g):
    t = np.arange(1, 20) / 20
    both = count_limits(g, N, t)
    wide, narrow = count_limits(g / 3, N, t), count_limits(g * 2, N, t)
    for other in (count_limits(g, N, t, mirrored=True), count_limits(g, N, t, wide=wide, narrow=narrow)):
        np.testing.assert_array_equal(other.lower, both.lower)
        np.testing.assert_array_equal(other.upper, both.upper)
        assert other.reached == pytest.approx(both.reached, rel=1e-11, abs=0)
        assert other.next_below == pytest.approx(both.next_below, rel=1e-11, abs=0)


@pytest.mark.parametrize("N", [9, 1000])
def test_neighbouring_values(N):
    t, g = np.array([0.2, 0.5, 0.7]), 0.01
    found = count_limits(g, N, t)
    low = doubled_tail(np.stack([found.lower, found.lower - 1]), N, t, 0)
    high = doubled_tail(N - np.stack([found.upper, found.upper + 1]), N, t, 1)
    assert found.reached == min(low[0].min(), high[0].min()) >= g
    assert found.next_below == pytest.approx(max(np.where(found.lower > 0, low[1], 0).max(), high[1].max()))
    assert found.next_below < g


def test_tail_of_all_and_of_none():
    """P(B >= 0) and P(B <= N) are 1 and not NaN."""
    assert doubled_tail(np.array([5]), 5, np.array([0.3]), 0) == 2
    assert doubled_tail(np.array([5]), 5, np.array([0.3]), 1) == 2
