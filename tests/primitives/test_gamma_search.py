"""The search for the largest g, where every attained value can be tried."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.count_limits import count_limits
from calibrant.primitives.gamma_search import largest_gamma


def independent(N, t):
    """Return P(outside) of independent binomial counts."""
    mass = np.array([[math.comb(N, c) * x**c * (1 - x) ** (N - c) for c in range(N + 1)] for x in t])
    counts = np.arange(N + 1)

    def outside(limits):
        inside = (counts >= limits.lower[:, None]) & (counts <= limits.upper[:, None])
        return 1 - float((mass * inside).sum(axis=1).prod())

    return outside


@given(
    N=st.integers(1, 25),
    t=st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True),
    tail=st.floats(0.001, 0.999),
    guess=st.floats(1e-6, 5),
)
def test_every_attained_value(N, t, tail, guess):
    t = np.sort(t) / 100
    outside = independent(N, t)
    limits, p = largest_gamma(
        lambda g, wide, narrow: count_limits(g, N, t, wide=wide, narrow=narrow), outside, tail=tail, guess=guess
    )
    assert p == outside(limits) <= tail + 1e-12
    steps, g = [], 2.0
    while g > 0:
        steps.append(count_limits(g, N, t))
        g = steps[-1].next_below
    best = next(step for step in steps if outside(step) <= tail + 1e-12)
    assert limits.reached == pytest.approx(best.reached, rel=1e-9, abs=0)
    np.testing.assert_array_equal(limits.lower, best.lower)
    np.testing.assert_array_equal(limits.upper, best.upper)


def test_few_steps_are_tried():
    tried = []
    t = np.arange(1, 200) / 200

    def find(g, wide, narrow):
        tried.append(g)
        return count_limits(g, 5000, t, wide=wide, narrow=narrow)

    def outside(limits):  # a smooth law, so that lines are right
        return min(1.0, 30 * limits.reached)

    limits, _ = largest_gamma(find, outside, tail=0.05, guess=0.05)
    assert limits.reached <= 0.05 / 30
    assert len(tried) < 15
