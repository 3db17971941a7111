"""Each shape, by its formula, at its ends, and as what it says of itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Delta, Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

FORMULAS = {
    Exponential: lambda u: math.exp(-u),
    Gaussian: lambda u: math.exp(-u * u / 2),
    Matern32: lambda u: (1 + math.sqrt(3) * u) * math.exp(-math.sqrt(3) * u),
    Matern52: lambda u: (1 + math.sqrt(5) * u + 5 * u * u / 3) * math.exp(-math.sqrt(5) * u),
    RationalQuadratic: lambda u: 1 / (1 + u * u / 2),
    Delta: lambda u: float(u == 0),
}
ALL = [Exponential(1.0), Gaussian(1.0), Matern32(1.0), Matern52(1.0), RationalQuadratic(1.0, 1.0), Delta()]


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: type(k).__name__)
@settings(max_examples=30)
@given(u=st.floats(0, 50))
def test_formula(kernel, u):
    assert kernel.profile(np.array([u]))[0] == pytest.approx(FORMULAS[type(kernel)](u), rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("kernel", ALL, ids=lambda k: type(k).__name__)
def test_ends(kernel):
    with np.errstate(over="raise", invalid="raise"):
        found = kernel.of_distance([0.0, 1e5, 1e150, np.inf])
    assert found[0] == 1.0
    assert (found[1:] < 1e-9).all()
    assert (np.diff(found) <= 0).all()
    assert (kernel.supremum, kernel.signed) == (1.0, False)


def test_only_the_exponential_is_valid_with_l1_in_many_dimensions():
    assert [type(kernel).__name__ for kernel in ALL if kernel.on_l1] == ["Exponential"]


def test_length_scales():
    # u = 2 for each
    assert Gaussian(0.5).of_distance(1.0) == pytest.approx(math.exp(-2))
    assert Matern32(0.5).of_distance(1.0) == pytest.approx((1 + 2 * math.sqrt(3)) * math.exp(-2 * math.sqrt(3)))


class TestRationalQuadratic:
    def test_formula(self):
        # (1 + 4 / 6)^-3
        assert RationalQuadratic(3.0, 1.0).of_distance(2.0) == pytest.approx((5 / 3) ** -3)

    def test_is_gaussian_for_a_large_alpha(self):
        u = np.linspace(0, 3, 20)
        np.testing.assert_allclose(
            RationalQuadratic(1e8, 1.0).of_distance(u), Gaussian(1.0).of_distance(u), rtol=1e-6, atol=0
        )

    @pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, True, "1", None])
    def test_what_is_no_alpha(self, alpha, refusal):
        assert "alpha must be a number above 0" in refusal(RationalQuadratic, alpha)

    def test_equality_and_repr(self):
        kernel = RationalQuadratic(2, 0.5, "euclidean")
        assert kernel == RationalQuadratic(2.0, 0.5, "euclidean") != RationalQuadratic(1.0, 0.5, "euclidean")
        assert repr(kernel) == "RationalQuadratic(lengthscale=0.5, distance='euclidean', alpha=2.0)"

    def test_with(self):
        kernel = RationalQuadratic(2.0).with_lengthscale(3.0).with_distance("l1")
        assert (kernel.alpha, kernel.lengthscale, kernel.distance) == (2.0, 3.0, "l1")

    def test_length_scale_and_distance_are_checked_too(self, refusal):
        assert "lengthscale" in refusal(RationalQuadratic, 1.0, -1.0)
        assert "distance" in refusal(RationalQuadratic, 1.0, 1.0, "nowhere")


class TestDelta:
    def test_takes_no_length_scale(self):
        with pytest.raises(TypeError):
            Delta(1.0)

    def test_repr_and_equality(self):
        assert repr(Delta()) == "Delta()"
        assert Delta() == Delta()
