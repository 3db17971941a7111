"""What coordinates are divided by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import members as module
from calibrant.primitives.coordinate_scale import coordinate_scale
from calibrant.primitives.members import Members

DOUBLE = np.dtype(np.float64)


def of(z):
    """Return members z (n, m, D)."""
    return Members(np.ascontiguousarray(z[:, 0]), np.ascontiguousarray(z[:, 1:]), DOUBLE)


@given(st.integers(1, 6), st.integers(2, 6), st.integers(1, 4), st.floats(-250, 250), st.integers(0, 10**6))
def test_pooled_is_the_spread_of_all_members(n, m, D, power, seed):
    z = np.random.default_rng(seed).normal(5, 1, (n, m, D)) * 10.0**power
    with np.errstate(all="ignore"):
        expected = (z / 10.0**power).std(axis=(0, 1)) * 10.0**power
    np.testing.assert_allclose(coordinate_scale("pooled", of(z)), expected, rtol=2e-6)


@given(st.integers(0, 10**6))
def test_no_order_changes_it(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(100, 1, (7, 5, 3))
    found = coordinate_scale("pooled", of(z))
    turned = np.stack([row[rng.permutation(5)] for row in z[rng.permutation(7)]])  # outcomes become draws
    np.testing.assert_array_equal(coordinate_scale("pooled", of(turned)), found)


def test_blocks_do_not_change_it(monkeypatch):
    z = np.random.default_rng(0).normal(size=(50, 4, 2))
    found = coordinate_scale("pooled", of(z))
    monkeypatch.setattr(module, "BLOCK", 24)
    np.testing.assert_array_equal(coordinate_scale("pooled", of(z)), found)


def test_constant_coordinates_stay_as_they_are():
    z = np.random.default_rng(0).normal(size=(3, 4, 2))
    z[:, :, 1] = 0.1
    assert coordinate_scale("pooled", of(z))[1] == 1.0


@pytest.mark.parametrize("far", [1.7e308, 5e-324])
def test_ends_of_float64(far):
    found = coordinate_scale("pooled", of(np.array([[[far], [-far]]])))
    assert found[0] in (1.0, pytest.approx(far, rel=1e-5))


def test_given_scales():
    members = of(np.zeros((1, 2, 2)))
    assert coordinate_scale(None, members).tolist() == [1.0, 1.0]
    assert coordinate_scale([2, 3], members).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ("std", 'scale must be "pooled", None or an array of shape (2,)'),
        (2.0, "got shape ()"),
        ([1.0, -1.0], "coordinate 1 is -1.0"),
        ([np.inf, 1.0], "coordinate 0 is inf"),
        ([True, False], "real numbers"),
    ],
)
def test_refusals(refusal, scale, words):
    assert words in refusal(coordinate_scale, scale, of(np.zeros((1, 2, 2))))
