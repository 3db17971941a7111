"""Normal and Laplace laws by row number: units, shapes, symmetry."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.parametric import Laplace, Normal
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expected_line import (
    LineMeans,
    laplace_exponential,
    laplace_gaussian,
    laplace_laplace_exponential,
    laplace_laplace_gaussian,
    normal_exponential,
    normal_gaussian,
    normal_laplace_exponential,
    normal_laplace_gaussian,
    second_difference,
)
from calibrant.kernels.kernel import Exponential, Gaussian

RNG = np.random.default_rng(4)
CENTRE, SPREAD = RNG.normal(size=6) * 3, np.exp(RNG.normal(size=6))
SPREAD[3] = SPREAD[2] * (1 + 1e-8)
ROWS, COLUMNS = np.arange(6)[:, None], np.arange(6)[None, :]
CASES = [(distribution, kernel) for distribution in (Normal, Laplace) for kernel in (Gaussian, Exponential)]


@pytest.mark.parametrize(("distribution", "kernel"), CASES)
def test_tiles_and_pairs_agree(distribution, kernel):
    means = target_means(distribution(CENTRE, SPREAD), kernel(1.7))
    assert isinstance(means, LineMeans)
    tile = means.double(ROWS, COLUMNS)
    assert tile.shape == (6, 6)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-13)
    assert ((tile > 0) & (tile < 1)).all()
    i, j = (rows.ravel() for rows in np.broadcast_arrays(ROWS, COLUMNS))
    np.testing.assert_allclose(means.double(i, j).reshape(6, 6), tile, rtol=1e-14)
    np.testing.assert_allclose(means.squared_norms, np.diag(tile), rtol=1e-13)
    np.testing.assert_allclose(means.double_within(np.arange(6)), np.diag(tile), rtol=1e-13)
    t = RNG.normal(size=6)
    single = means.single(ROWS, t[None, :])
    np.testing.assert_allclose(means.single(COLUMNS, t[:, None]), single.T, rtol=1e-14)
    np.testing.assert_allclose(means.single(np.arange(6), t), np.diag(single), rtol=1e-13)


@pytest.mark.parametrize(("distribution", "kernel"), CASES)
def test_units_and_origin_do_not_matter(distribution, kernel):
    means = target_means(distribution(CENTRE, SPREAD), kernel(1.7))
    moved = target_means(distribution(8 * CENTRE + 64, 8 * SPREAD), kernel(8 * 1.7))
    np.testing.assert_allclose(moved.double(ROWS, COLUMNS), means.double(ROWS, COLUMNS), rtol=1e-12)
    expected = means.single(ROWS, CENTRE[COLUMNS])
    np.testing.assert_allclose(moved.single(ROWS, 8 * CENTRE[COLUMNS] + 64), expected, rtol=1e-12)


@given(st.sampled_from(CASES), st.floats(-300, 300), st.floats(-300, 300), st.floats(-150, 150))
def test_any_magnitude(case, place, spread, length):
    distribution, kernel = case
    means = target_means(distribution([10.0**place, -(10.0**place)], 10.0**spread), kernel(10.0**length))
    rows = np.arange(2)
    for value in (means.double(rows[:, None], rows[None]), means.single(rows, np.zeros(2)), means.double_within(rows)):
        assert ((value >= 0) & (value <= 1 + 1e-15)).all()


distances = st.one_of(st.just(0.0), st.floats(1e-6, 50))
scales = st.one_of(st.floats(1e-3, 1e3), st.sampled_from([1.0, 1 - 1e-8, 1 + 1e-8, 1 - 1e-14, 1 + 1e-4]))
nearness = st.sampled_from([0.0, 1e-15, 1e-8, -1e-8, 1e-4, 0.01, 0.5, 3.0])


def at(form, *numbers):
    return float(form(*(np.array(float(x)) for x in numbers)))


REFERENCES = [
    ("laplace-expectation", laplace_exponential, ("distance", "beta")),
    ("laplace-double-expectation", laplace_laplace_exponential, ("distance", "beta")),
    ("normal-exponential", normal_exponential, ("distance", "std")),
    ("laplace-gaussian", laplace_gaussian, ("distance", "beta")),
]


@pytest.mark.parametrize(("kind", "form", "names"), REFERENCES)
def test_reference_values(vectors, kind, form, names):
    for given_, expected, tolerance in vectors(kind):
        value = at(form, *np.hstack([given_[name] for name in names]))
        assert value == pytest.approx(expected, rel=tolerance, abs=0)


@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 7.0, 40.0])
def test_equal_scales_by_hand(z):
    assert at(laplace_exponential, z, 1) == pytest.approx((1 + z) * math.exp(-z) / 2, rel=4e-15)
    assert at(laplace_laplace_exponential, z, 1, 1) == pytest.approx((3 + 3 * z + z * z) * math.exp(-z) / 8, rel=4e-15)


@given(distances, scales)
def test_one_distribution_is_the_integral(integral, z, b):
    def f(x):
        return np.exp(-np.abs(x - z) / b - np.abs(x)) / (2 * b)

    narrow = b / (1 + b)
    expected = integral(f, (0.0, 1.0), (z, b), (0.0, narrow), (z, narrow))
    assert at(laplace_exponential, z, b) == pytest.approx(expected, rel=1e-12, abs=1e-17)


@given(distances, scales, nearness)
def test_two_distributions_are_the_integral_of_one(integral, z, b, off):
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
    for form in (laplace_exponential, normal_exponential):
        assert at(form, z, 1e-50) == pytest.approx(math.exp(-z), rel=1e-14)
    assert at(normal_gaussian, z, 1e-50) == pytest.approx(math.exp(-z * z / 2), rel=1e-15)
    assert at(laplace_laplace_exponential, z, b, 1e-50) == pytest.approx(at(laplace_exponential, z, b), rel=1e-14)


EXTREME_DISTANCES, EXTREME_SCALES = (0.0, 1e-300, 1e-50, 1.0, 1e50, 1e100), (1e-50, 1e-10, 1.0, 1e10, 1e100)


ONE = [laplace_exponential, normal_exponential, normal_gaussian, laplace_gaussian]
TWO = [laplace_laplace_exponential, laplace_laplace_gaussian, normal_laplace_gaussian, normal_laplace_exponential]


@pytest.mark.parametrize("form", [*ONE, *TWO])
def test_extremes_stay_in_the_unit_interval(form):
    for z, b in itertools.product(EXTREME_DISTANCES, EXTREME_SCALES):
        for more in [()] if form in ONE else [(c,) for c in EXTREME_SCALES]:
            assert 0 <= at(form, z, b, *more) <= 1 + 1e-15, (z, b, more)


def test_second_difference_by_hand():
    # Of exp(-x) at 0, log 2, log 4: slopes -1/(2 log 2) and -1/(4 log 2), their difference over log 4.
    expected = 0.25 / math.log(2) / math.log(4)
    for points in ((0, math.log(2), math.log(4)), (math.log(4), 0, math.log(2)), (math.log(2), math.log(4), 0)):
        assert at(second_difference, *points) == pytest.approx(expected, rel=1e-15)
    assert at(second_difference, 3, 3, 3) == pytest.approx(math.exp(-3) / 2, rel=1e-15)


spreads = st.floats(1e-3, 30)


def density(x, d, s):
    return np.exp(-0.5 * ((x - d) / s) ** 2) / (s * math.sqrt(2 * math.pi))


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
    places = (0.0, 1.0), (d, s), (d / (1 + s * s), min(s, 1))
    expected = integral(lambda x: density(x, d, s) * np.exp(-0.5 * x * x), *places)
    assert at(normal_gaussian, d, s) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_far_spread():
    # A flat density of height 1/(s√(2π)) times the mass of the kernel, 2 or √(2π).
    assert at(normal_exponential, 0.0, 1e50) == pytest.approx(2 / (1e50 * math.sqrt(2 * math.pi)), rel=1e-14)
    assert at(normal_gaussian, 0.0, 1e50) == pytest.approx(1e-50, rel=1e-14)


scales_normal_laplace = st.floats(1e-3, 1e3)
nearness_normal_laplace = st.sampled_from(
    [0.0, 1e-15, 1e-8, -1e-8, 1e-5, 9.9e-5, 1.01e-4, 1e-3, 0.0099, 0.0101, -0.0101, 0.5, 3.0]
)


def under_laplace(integral, form, z, b, *around):
    """Return the mean of form(|x|) over x ~ Laplace(z, b)."""
    places = [(place, scale) for place in (0.0, z) for scale in (b, *around)]
    return integral(lambda x: np.exp(-np.abs(x - z) / b) / (2 * b) * form(np.abs(x)), *places)


@given(distances, scales_normal_laplace)
def test_one_laplace_distribution(integral, d, b):
    expected = under_laplace(integral, lambda x: np.exp(-0.5 * x * x), d, b, 1.0, min(1.0, 1 / b))
    assert at(laplace_gaussian, d, b) == pytest.approx(expected, rel=1e-12, abs=1e-16)


@given(distances, scales_normal_laplace, nearness_normal_laplace)
def test_two_laplace_distributions(integral, d, b, off):
    c = b * (1 + off)
    expected = under_laplace(integral, lambda x: laplace_gaussian(x, np.array(b)), d, c, 1.0, b)
    assert at(laplace_laplace_gaussian, d, b, c) == pytest.approx(expected, rel=2e-12, abs=1e-15)
    assert at(laplace_laplace_gaussian, d, b, c) == pytest.approx(at(laplace_laplace_gaussian, d, c, b), rel=1e-13)


@given(distances, st.floats(1e-3, 30), scales_normal_laplace)
def test_a_normal_and_a_laplace_distribution(integral, d, s, b):
    wide = math.sqrt(1 + s * s)
    expected = under_laplace(integral, lambda x: normal_gaussian(x, np.array(s)), d, b, wide)
    assert at(normal_laplace_gaussian, d, s, b) == pytest.approx(expected, rel=2e-12, abs=1e-15)


@given(
    distances, st.floats(1e-3, 30), st.one_of(scales_normal_laplace, nearness_normal_laplace.map(lambda off: 1 + off))
)
def test_a_normal_and_a_laplace_distribution_with_the_exponential_kernel(integral, d, s, b):
    expected = under_laplace(integral, lambda x: normal_exponential(x, np.array(s)), d, b, s, 1.0)
    assert at(normal_laplace_exponential, d, s, b) == pytest.approx(expected, rel=2e-12, abs=1e-15)


@given(distances, scales_normal_laplace)
def test_a_narrow_distribution_leaves_the_other(d, b):
    assert at(laplace_gaussian, d, 1e-50) == pytest.approx(math.exp(-d * d / 2), rel=1e-14)
    for form, scales, other in (
        (laplace_laplace_gaussian, (b, 1e-50), laplace_gaussian),
        (normal_laplace_gaussian, (1e-50, b), laplace_gaussian),
        (normal_laplace_exponential, (1e-50, b), laplace_exponential),
        (normal_laplace_exponential, (b, 1e-50), normal_exponential),
    ):
        assert at(form, d, *scales) == pytest.approx(at(other, d, b), rel=1e-12)


@pytest.mark.parametrize("form", TWO[1:])
def test_near_and_far_pairs_in_one_array(form):
    d = np.array([[0.0], [0.7]])
    b = np.array([[1.0, 1.0 + 1e-6, 0.4, 2.0]])
    c = np.array([[1.0], [1.0 + 2e-6]])
    value = form(d, b, c)
    assert value.shape == (2, 4)
    for i in range(2):
        for j in range(4):
            assert value[i, j] == pytest.approx(at(form, d[i, 0], b[0, j], c[i, 0]), rel=1e-14)
