"""Means under normal laws against reference values and integrals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.expectations.normal import normal_exponential, normal_gaussian

distances = st.one_of(st.just(0.0), st.floats(1e-6, 50))
spreads = st.floats(1e-3, 30)


def at(form, *numbers):
    return float(form(*(np.array(float(x)) for x in numbers)))


def density(x, d, s):
    return np.exp(-0.5 * ((x - d) / s) ** 2) / (s * math.sqrt(2 * math.pi))


def test_reference_values(vectors):
    for given_, expected, tolerance in vectors("normal-exponential"):
        assert at(normal_exponential, given_["distance"], given_["std"]) == pytest.approx(
            expected, rel=tolerance, abs=0
        )


def test_by_hand():
    # At d = 0 it is exp(s²/2) erfc(s/√2); at distance s² both branches of the formula meet.
    assert at(normal_exponential, 0, 2) == pytest.approx(math.exp(2) * math.erfc(math.sqrt(2)), rel=1e-14)
    assert at(normal_gaussian, 2, math.sqrt(3)) == pytest.approx(math.exp(-0.5) / 2, rel=1e-15)
    for s in (1e-3, 0.5, 3.0):
        left, right = (at(normal_exponential, s * s * f, s) for f in (1 - 1e-12, 1 + 1e-12))
        assert left == pytest.approx(right, rel=1e-11)


@given(distances, spreads)
def test_exponential_is_the_integral(integral, d, s):
    expected = integral(lambda x: density(x, d, s) * np.exp(-np.abs(x)), (0.0, 1.0), (d, s), (d - s * s, s), (0.0, s))
    assert at(normal_exponential, d, s) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(distances, spreads)
def test_gaussian_is_the_integral(integral, d, s):
    expected = integral(
        lambda x: density(x, d, s) * np.exp(-0.5 * x * x), (0.0, 1.0), (d, s), (d / (1 + s * s), min(s, 1))
    )
    assert at(normal_gaussian, d, s) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(st.floats(0, 600))
def test_no_spread_leaves_the_kernel(d):
    assert at(normal_exponential, d, 1e-50) == pytest.approx(math.exp(-d), rel=1e-15)
    assert at(normal_gaussian, d, 1e-50) == pytest.approx(math.exp(-d * d / 2), rel=1e-15)


@pytest.mark.parametrize("form", [normal_exponential, normal_gaussian])
@pytest.mark.parametrize("d", [0.0, 1e-300, 1e-50, 1.0, 1e50, 1e100])
@pytest.mark.parametrize("s", [1e-50, 1e-10, 1.0, 1e10, 1e100])
def test_extremes_stay_in_the_unit_interval(form, d, s):
    assert 0 <= at(form, d, s) <= 1


def test_far_spread():
    # A flat density of height 1/(s√(2π)) times the mass of the kernel, 2 or √(2π).
    assert at(normal_exponential, 0.0, 1e50) == pytest.approx(2 / (1e50 * math.sqrt(2 * math.pi)), rel=1e-14)
    assert at(normal_gaussian, 0.0, 1e50) == pytest.approx(1e-50, rel=1e-14)
