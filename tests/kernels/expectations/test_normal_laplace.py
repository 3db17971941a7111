"""Means that mix normal and Laplace parts against reference values and integrals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.expectations.laplace import laplace_exponential
from calibrant.kernels.expectations.normal import normal_exponential, normal_gaussian
from calibrant.kernels.expectations.normal_laplace import (
    laplace_gaussian,
    laplace_laplace_gaussian,
    normal_laplace_exponential,
    normal_laplace_gaussian,
)

distances = st.one_of(st.just(0.0), st.floats(1e-6, 50))
scales = st.floats(1e-3, 1e3)
nearness = st.sampled_from([0.0, 1e-15, 1e-8, -1e-8, 1e-5, 9.9e-5, 1.01e-4, 1e-3, 0.0099, 0.0101, -0.0101, 0.5, 3.0])
PAIRS = [laplace_laplace_gaussian, normal_laplace_gaussian, normal_laplace_exponential]


def at(form, *numbers):
    return float(form(*(np.array(float(x)) for x in numbers)))


def under_laplace(integral, form, z, b, *around):
    """Return the mean of form(|x|) over x ~ Laplace(z, b)."""
    places = [(place, scale) for place in (0.0, z) for scale in (b, *around)]
    return integral(lambda x: np.exp(-np.abs(x - z) / b) / (2 * b) * form(np.abs(x)), *places)


def test_reference_values(vectors):
    for given_, expected, tolerance in vectors("laplace-gaussian"):
        assert at(laplace_gaussian, given_["distance"], given_["beta"]) == pytest.approx(expected, rel=tolerance, abs=0)


@given(distances, scales)
def test_one_laplace_law(integral, d, b):
    expected = under_laplace(integral, lambda x: np.exp(-0.5 * x * x), d, b, 1.0, min(1.0, 1 / b))
    assert at(laplace_gaussian, d, b) == pytest.approx(expected, rel=1e-12, abs=1e-16)


@given(distances, scales, nearness)
def test_two_laplace_laws(integral, d, b, off):
    c = b * (1 + off)
    expected = under_laplace(integral, lambda x: laplace_gaussian(x, np.array(b)), d, c, 1.0, b)
    assert at(laplace_laplace_gaussian, d, b, c) == pytest.approx(expected, rel=2e-12, abs=1e-15)
    assert at(laplace_laplace_gaussian, d, b, c) == pytest.approx(at(laplace_laplace_gaussian, d, c, b), rel=1e-13)


@given(distances, st.floats(1e-3, 30), scales)
def test_a_normal_and_a_laplace_law(integral, d, s, b):
    wide = math.sqrt(1 + s * s)
    expected = under_laplace(integral, lambda x: normal_gaussian(x, np.array(s)), d, b, wide)
    assert at(normal_laplace_gaussian, d, s, b) == pytest.approx(expected, rel=2e-12, abs=1e-15)


@given(distances, st.floats(1e-3, 30), st.one_of(scales, nearness.map(lambda off: 1 + off)))
def test_a_normal_and_a_laplace_law_with_the_exponential_kernel(integral, d, s, b):
    expected = under_laplace(integral, lambda x: normal_exponential(x, np.array(s)), d, b, s, 1.0)
    assert at(normal_laplace_exponential, d, s, b) == pytest.approx(expected, rel=2e-12, abs=1e-15)


@given(distances, scales)
def test_a_narrow_law_leaves_the_other(d, b):
    assert at(laplace_gaussian, d, 1e-50) == pytest.approx(math.exp(-d * d / 2), rel=1e-14)
    assert at(laplace_laplace_gaussian, d, b, 1e-50) == pytest.approx(at(laplace_gaussian, d, b), rel=1e-13)
    assert at(normal_laplace_gaussian, d, 1e-50, b) == pytest.approx(at(laplace_gaussian, d, b), rel=1e-13)
    assert at(normal_laplace_exponential, d, 1e-50, b) == pytest.approx(at(laplace_exponential, d, b), rel=1e-12)
    assert at(normal_laplace_exponential, d, b, 1e-50) == pytest.approx(at(normal_exponential, d, b), rel=1e-12)


@pytest.mark.parametrize("form", PAIRS)
@pytest.mark.parametrize("d", [0.0, 1e-300, 1e-50, 1.0, 1e50, 1e100])
@pytest.mark.parametrize("b", [1e-50, 1e-10, 1.0, 1e10, 1e100])
def test_extremes_stay_in_the_unit_interval(form, d, b):
    assert 0 <= at(laplace_gaussian, d, b) <= 1 + 1e-15
    for c in (1e-50, 1e-10, 1.0, 1e10, 1e100):
        assert 0 <= at(form, d, b, c) <= 1 + 1e-15


@pytest.mark.parametrize("form", PAIRS)
def test_near_and_far_pairs_in_one_array(form):
    d = np.array([[0.0], [0.7]])
    b = np.array([[1.0, 1.0 + 1e-6, 0.4, 2.0]])
    c = np.array([[1.0], [1.0 + 2e-6]])
    value = form(d, b, c)
    assert value.shape == (2, 4)
    for i in range(2):
        for j in range(4):
            assert value[i, j] == pytest.approx(at(form, d[i, 0], b[0, j], c[i, 0]), rel=1e-14)
