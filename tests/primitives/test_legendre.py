"""Orthonormal polynomials of a rank."""

import numpy as np
import pytest

from calibrant.primitives.legendre import legendre


@pytest.mark.parametrize("M", [1, 2, 3, 4, 5, 9, 99, 1000, 5000])
def test_orthonormal_and_free_of_constants(M):
    phi = legendre(M)
    assert phi.shape == (min(4, M), M + 1)
    np.testing.assert_allclose(phi @ phi.T / (M + 1), np.eye(len(phi)), atol=1e-10)
    np.testing.assert_allclose(phi.mean(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("M", [1, 4, 9, 1000])
def test_signs(M):
    phi = legendre(M)
    assert (phi[:, -1] > 0).all()
    for k, row in enumerate(phi, start=1):
        np.testing.assert_allclose(row[::-1], (-1) ** k * row, atol=1e-12)


def test_are_polynomials_of_their_degree():
    r = np.arange(21)
    for k, row in enumerate(legendre(20), start=1):
        np.testing.assert_allclose(np.polyval(np.polyfit(r, row, k), r), row, atol=1e-10)


def test_by_hand():
    np.testing.assert_allclose(legendre(2), [np.array([-1, 0, 1]) * np.sqrt(1.5), np.array([1, -2, 1]) / np.sqrt(2)])


def test_limit_is_the_continuous_polynomial():
    x = 2 * (np.arange(5001) + 0.5) / 5001 - 1
    np.testing.assert_allclose(legendre(5000)[1], np.sqrt(5) * (3 * x * x - 1) / 2, atol=1e-3)
