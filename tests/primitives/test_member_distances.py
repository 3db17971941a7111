"""Sums of distances between members: whole numbers, in two bodies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.member_distances import distance_sums, reference_sums, unit_cube, unit_of


def defined(z, scale):
    x = z / scale
    return np.sqrt(((x[:, :, None] - x[:, None]) ** 2).sum(axis=3)).sum(axis=2)


@given(st.integers(1, 4), st.integers(2, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_are_the_definition_up_to_a_unit_of_each_row(n, m, D, seed):
    rng = np.random.default_rng(seed)
    z, scale = rng.normal(3, 1, (n, m, D)), rng.uniform(0.5, 2, D)
    found, expected = distance_sums(z, scale), defined(z, scale)
    np.testing.assert_allclose(found / found[:, :1], expected / expected[:, :1], rtol=1e-12)


@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 12), st.integers(0, 10**6))
def test_the_bodies_agree_to_the_last_digit(require, n, m, D, seed):
    require("numba")
    from calibrant.primitives.member_distances_fast import compiled_sums

    x = np.random.default_rng(seed).random((n, m, D))
    np.testing.assert_array_equal(compiled_sums(x, unit_of(x)), reference_sums(x, unit_of(x)))


def test_the_fast_body_can_be_asked_for():
    z = np.random.default_rng(0).normal(size=(3, 5, 2))
    np.testing.assert_array_equal(distance_sums(z, np.ones(2), fast=True), distance_sums(z, np.ones(2)))


@pytest.mark.parametrize("fast", [False, True])
@given(seed=st.integers(0, 10**6), m=st.integers(2, 30), coarse=st.booleans())
def test_members_that_change_places_take_their_sums_with_them(fast, seed, m, coarse):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 4, (1, m, 10)) * 0.1 if coarse else rng.standard_cauchy((1, m, 10))
    order = rng.permutation(m)
    scale = rng.uniform(0.1, 10, 10)
    found = distance_sums(z, scale, fast=fast)
    np.testing.assert_array_equal(distance_sums(z[:, order], scale, fast=fast), found[:, order])


def test_equal_sums_are_equal():
    square = np.array([[[0.1, 0.1], [0.1, 0.4], [0.4, 0.1], [0.4, 0.4]]])  # sides that differ by rounding
    corners = distance_sums(np.array([[[0.0, 0.0], [0.0, 3.0], [3.0, 0.0], [3.0, 3.0]]]), np.ones(2))
    assert len(set(corners[0].tolist())) == 1
    near = distance_sums(square, np.ones(2))
    assert np.ptp(near) <= 1e-12 * near.max()
    assert near.dtype == corners.dtype == np.float64
    assert (near == np.rint(near)).all()


@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e200, 1.7e308])
def test_numbers_near_the_ends_of_float64(factor):
    z = np.array([[[0.0, 0.0], [1.0, 0.0], [-1.0, 0.5], [0.25, 0.5]]])
    found, expected = distance_sums(z * factor, np.ones(2)), distance_sums(z, np.ones(2))
    np.testing.assert_allclose(found / found[0, 0], expected / expected[0, 0], rtol=1e-9)
    small = distance_sums(z, np.full(2, 1e-300))
    np.testing.assert_allclose(small / small[0, 0], expected / expected[0, 0], rtol=1e-12)


def test_a_far_place_loses_no_digits():
    z = np.random.default_rng(0).integers(0, 100, (5, 9, 2)) * 1.0
    np.testing.assert_array_equal(distance_sums(z + 2.0**40, np.ones(2)), distance_sums(z, np.ones(2)))


def test_members_that_are_all_the_same():
    assert distance_sums(np.full((2, 3, 2), 0.3), np.ones(2)).tolist() == [[0, 0, 0]] * 2


def test_a_constant_coordinate_of_small_scale():
    z = np.array([[[0.0, 5.0], [1.0, 5.0], [3.0, 5.0]]])
    found = distance_sums(z, np.array([1.0, 1e-300]))
    np.testing.assert_allclose(found / found[0, 0], [[1.0, 0.75, 1.25]])


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 5), st.floats(-300, 300), st.integers(0, 10**6))
def test_the_cube(n, m, D, power, seed):
    z = np.random.default_rng(seed).normal(size=(n, m, D)) * 10.0**power
    x = unit_cube(z, np.ones(D))
    assert x.min() >= 0
    assert x.max() <= 1
    if m > 1:
        assert x.max(axis=(1, 2)).min() >= 0.25


@pytest.mark.parametrize(("m", "D"), [(2, 1), (100, 3), (10**6, 1000)])
def test_sums_are_exact(m, D):
    unit = unit_of(np.broadcast_to(0.0, (1, m, D)))
    assert (m - 1) * (np.sqrt(D) * unit + 0.5) < 2.0**53
    assert 8 * m * np.sqrt(D) * unit > 2.0**53
