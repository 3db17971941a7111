"""Poisson probabilities against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest

from calibrant.primitives.poisson_pmf import norm, poisson_pmf

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
