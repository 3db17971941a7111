"""Means of the exponential kernel under Laplace laws against reference values, integrals and the textbook quotients."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.kernels.expectations.laplace import laplace_exponential, laplace_laplace_exponential, second_difference

distances = st.one_of(st.just(0.0), st.floats(1e-6, 50))
scales = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([1.0, 1 - 1e-8, 1 + 1e-8, 1 - 1e-14, 1 + 1e-4]))
nearness = st.sampled_from([0.0, 1e-15, 1e-8, -1e-8, 1e-4, 0.01, 0.5, 3.0])


def at(form, *numbers):
    return float(form(*(np.array(float(x)) for x in numbers)))


def test_reference_values(vectors):
    for given_, expected, tolerance in vectors("laplace-expectation"):
        assert at(laplace_exponential, given_["distance"], given_["beta"]) == pytest.approx(
            expected, rel=tolerance, abs=0
        )
    for given_, expected, tolerance in vectors("laplace-double-expectation"):
        value = at(laplace_laplace_exponential, given_["distance"], *given_["beta"])
        assert value == pytest.approx(expected, rel=tolerance, abs=0)


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 7.0, 40.0])
def test_equal_scales_by_hand(z):
    assert at(laplace_exponential, z, 1) == pytest.approx((1 + z) * math.exp(-z) / 2, rel=4e-15)
    assert at(laplace_laplace_exponential, z, 1, 1) == pytest.approx((3 + 3 * z + z * z) * math.exp(-z) / 8, rel=4e-15)


@given(distances, scales)
def test_one_law_is_the_integral(integral, z, b):
    def f(x):
        return np.exp(-np.abs(x - z) / b - np.abs(x)) / (2 * b)

    narrow = b / (1 + b)
    expected = integral(f, (0.0, 1.0), (z, b), (0.0, narrow), (z, narrow))
    assert at(laplace_exponential, z, b) == pytest.approx(expected, rel=1e-12, abs=1e-17)


@given(distances, scales, nearness)
def test_two_laws_are_the_integral_of_one(integral, z, b, off):
    c = b * (1 + off)

    def f(x):
        return np.exp(-np.abs(x - z) / c) / (2 * c) * laplace_exponential(np.abs(x), np.array(b))

    expected = integral(f, (0.0, 1.0), (0.0, b), (z, c), (0.0, min(b, c, 1)), (z, min(b, c, 1)))
    assert at(laplace_laplace_exponential, z, b, c) == pytest.approx(expected, rel=1e-12, abs=1e-17)


@given(distances, st.floats(1e-3, 0.5), st.floats(2, 1e3))
def test_far_from_equal_it_is_the_textbook_quotient(z, b, c):
    def one(b):
        return (math.exp(-z) - b * math.exp(-z / b)) / (1 - b * b)

    assert at(laplace_exponential, z, b) == pytest.approx(one(b), rel=1e-13)
    expected = (b * b * one(b) - c * c * one(c)) / (b * b - c * c)
    assert at(laplace_laplace_exponential, z, b, c) == pytest.approx(expected, rel=1e-12)


@given(distances, scales, scales)
def test_symmetric_and_at_most_one(z, b, c):
    value = at(laplace_laplace_exponential, z, b, c)
    assert value == pytest.approx(at(laplace_laplace_exponential, z, c, b), rel=1e-13)
    assert 0 < value <= at(laplace_exponential, 0, max(b, c)) * (1 + 1e-14)


@given(st.floats(0, 600), scales)
def test_no_spread_leaves_the_kernel(z, b):
    assert at(laplace_exponential, z, 1e-50) == pytest.approx(math.exp(-z), rel=1e-14)
    assert at(laplace_laplace_exponential, z, b, 1e-50) == pytest.approx(at(laplace_exponential, z, b), rel=1e-14)


@pytest.mark.parametrize("z", [0.0, 1e-300, 1e-50, 1.0, 1e50, 1e100])
@pytest.mark.parametrize("b", [1e-50, 1e-10, 1.0, 1e10, 1e100])
def test_extremes_stay_in_the_unit_interval(z, b):
    assert 0 <= at(laplace_exponential, z, b) <= 1
    for c in (1e-50, 1e-10, 1.0, 1e10, 1e100):
        assert 0 <= at(laplace_laplace_exponential, z, b, c) <= 1


def test_second_difference_by_hand():
    # Of exp(-x) at 0, log 2, log 4: slopes -1/(2 log 2) and -1/(4 log 2), their difference over log 4.
    expected = 0.25 / math.log(2) / math.log(4)
    for points in ((0, math.log(2), math.log(4)), (math.log(4), 0, math.log(2)), (math.log(2), math.log(4), 0)):
        assert at(second_difference, *points) == pytest.approx(expected, rel=1e-15)
    assert at(second_difference, 3, 3, 3) == pytest.approx(math.exp(-3) / 2, rel=1e-15)
