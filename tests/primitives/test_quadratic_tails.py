"""Tails of the limits of Anderson-Darling and Cramér-von Mises."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import binom

from calibrant.primitives.quadratic_tails import anderson_darling_sf, cramer_von_mises_sf


def anderson_darling_series(z):
    """Return the distribution function as Anderson and Darling (1954) give it."""
    total = 0.0
    for j in range(12):
        a = (4 * j + 1) ** 2 * np.pi**2 / (8 * z)
        inner = quad(lambda w, a=a: np.exp(z / (8 * (w * w + 1)) - a * w * w), 0, np.inf, epsabs=0, epsrel=1e-12)[0]
        total += binom(-0.5, j) * (4 * j + 1) * np.exp(-a) * inner
    return np.sqrt(2 * np.pi) / z * total


@pytest.mark.parametrize("x", [0.1, 0.3, 0.7, 1.0, 1.933, 2.492, 3.857, 6.0])
def test_anderson_darling_equals_its_series(x):
    assert anderson_darling_sf(x) == pytest.approx(1 - anderson_darling_series(x), abs=1e-11)


@pytest.mark.parametrize(("x", "p"), [(1.933, 0.1), (2.492, 0.05), (3.0775, 0.025), (3.8781, 0.01)])
def test_anderson_darling_table(x, p):
    assert anderson_darling_sf(x) == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize(("x", "p"), [(0.34730, 0.1), (0.46136, 0.05), (0.74346, 0.01), (1.16786, 0.001)])
def test_cramer_von_mises_table(x, p):
    assert cramer_von_mises_sf(x) == pytest.approx(p, rel=2e-4)


@pytest.mark.parametrize(("tail", "first"), [(anderson_darling_sf, 2.0), (cramer_von_mises_sf, np.pi**2)])
def test_far_tail_falls_like_its_largest_part(tail, first):
    """P(Q > x) ~ const exp(-x u_1 / 2) / sqrt(x): a small probability keeps its digits."""
    x = np.array([40.0, 80.0, 120.0]) / first
    scaled = [tail(value) * np.exp(value * first / 2) * np.sqrt(value) for value in x]
    assert scaled[0] == pytest.approx(scaled[2], rel=0.05)
    assert scaled[1] == pytest.approx(scaled[2], rel=0.02)


@pytest.mark.parametrize("tail", [anderson_darling_sf, cramer_von_mises_sf])
def test_falls_from_1(tail):
    x = np.concatenate([[0.0], np.geomspace(1e-4, 100, 400)])
    found = np.array([tail(value) for value in x])
    assert found[0] == 1.0
    assert (np.diff(found) <= 1e-12).all()
    assert (found > 0).all()
    assert (found <= 1).all()
