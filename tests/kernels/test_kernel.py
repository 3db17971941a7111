"""A kernel is a shape of a distance in units of a length scale; a product joins predictions and targets."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.kernels import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
)


class Cauchy(Kernel):
    def profile(self, u):
        return 1 / (1 + u * u)


def test_of_distance_divides_by_the_length_scale():
    assert Cauchy(2.0).of_distance([0.0, 2.0, 4.0]).tolist() == [1.0, 0.5, 0.2]


@pytest.mark.parametrize("lengthscale", [1, np.float32(1), np.int64(1), Fraction(1)])
def test_any_real_number_is_a_length_scale(lengthscale):
    assert Cauchy(lengthscale) == Cauchy(1.0)
    assert type(Cauchy(lengthscale).lengthscale) is float


@pytest.mark.parametrize("lengthscale", [0, -1.0, np.nan, np.inf, True, "mean", None, [1.0], 1j])
def test_what_is_no_length_scale(lengthscale, refusal):
    message = refusal(Cauchy, lengthscale)
    assert 'a number above 0, such as 1.0, or "median"' in message
    assert repr(lengthscale)[:10] in message


@pytest.mark.parametrize("distance", ["manhattan", 3, "TV"])
def test_what_is_no_distance(distance, refusal):
    message = refusal(Cauchy, 1.0, distance)
    assert "tv, l1, euclidean, labels, wasserstein, embedding, a function or None" in message
    assert repr(distance) in message


def test_the_value_at_zero():
    class Three(Kernel):
        def profile(self, u):
            return 3 * np.exp(-u)

    assert Exponential(0.1).at_zero == Delta().at_zero == Cauchy().at_zero == 1.0
    assert Three(2.0).at_zero == 3.0
    assert type(Three(2.0).at_zero) is float


class TestProfilesOfAUser:
    def kernel(self, function):
        return type("Own", (Kernel,), {"profile": lambda self, u: function(u)})(2.0)

    def test_whole_numbers_and_flags_become_floats(self):
        for function in (lambda u: u < 1, lambda u: (u < 1).astype(int), lambda u: (u < 1).astype("float32")):
            found = self.kernel(function).of_distance([0.0, 4.0])
            assert found.tolist() == [1.0, 0.0]
            assert found.dtype == np.float64

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda u: 1.0, "got shape () and type float64"),
            (lambda u: None, "got shape () and type object"),
            (lambda u: u[:1], "got shape (1,) and type float64"),
            (lambda u: u[:, None], "got shape (3, 1) and type float64"),
            (lambda u: u + 0j, "got shape (3,) and type complex128"),
            (lambda u: u.astype(str), "got shape (3,) and type <U"),
        ],
    )
    def test_one_real_number_for_each(self, function, words, refusal):
        message = refusal(self.kernel(function).of_distance, [0.0, 2.0, 4.0])
        assert "profile of Own must return one real number for each element: expected shape (3,), " in message
        assert words in message

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_finite(self, bad, refusal):
        message = refusal(self.kernel(lambda u: np.where(u > 1, bad, 1.0)).of_distance, [[0.0, 2.0], [4.0, 6.0]])
        assert message == f"profile of Own must be finite; at u = 2 it is {bad}"

    def test_the_value_at_zero_is_checked_too(self, refusal):
        with np.errstate(divide="ignore"):
            message = refusal(lambda: self.kernel(lambda u: 1 / u).at_zero)
        assert message == "profile of Own must be finite; at u = 0 it is inf"


def test_median_needs_rows(refusal):
    assert "give a number" in refusal(Cauchy().of_distance, [1.0])


def test_kernels_that_define_nothing(refusal):
    assert "Kernel must define profile" in refusal(Kernel(1.0).of_distance, [0.0], error=NotImplementedError)
    with pytest.raises(NotImplementedError, match="must define __call__"):
        JointKernel()(np.eye(2), np.zeros(2, int), np.eye(2), np.zeros(2, int))


def test_a_tiny_length_scale_gives_the_value_at_infinity():
    assert Exponential(1e-300).of_distance([0.0, 1e10]).tolist() == [1.0, 0.0]
    assert Cauchy(1e-300).of_distance([0.0, 1e10]).tolist() == [1.0, 0.0]


def test_a_product():
    product = Exponential(1.0) * Delta()
    assert isinstance(product, Product)
    assert (product.prediction, product.target) == (Exponential(1.0), Delta())
    assert repr(product) == "Exponential(lengthscale=1.0, distance=None) * Delta()"
    assert product == Exponential(1.0) * Delta() != Delta() * Exponential(1.0)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (2.0, "such as Exponential(0.2) * Delta(); got 2.0"),
        ("delta", "got 'delta'"),
        (Delta, "made of kernels, not of classes: write Delta()"),
        (Exponential(1.0) * Delta(), "got Exponential(lengthscale=1.0, distance=None) * Delta()"),
    ],
)
def test_no_product_with_what_is_no_kernel(other, words, refusal):
    assert words in refusal(lambda: Exponential(1.0) * other)
    assert words in refusal(Product, other, Delta())


@pytest.mark.parametrize("other", [Delta(), 2.0])
def test_no_product_of_three(other, refusal):
    message = refusal(lambda: Exponential(1.0) * Delta() * other)
    assert "a product has two factors" in message
    assert f"times {other!r}" in message


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


class TestRationalQuadratic:
    def test_formula(self):
        # (1 + 4 / 6)^-3
        assert RationalQuadratic(3.0, 1.0).of_distance(2.0) == pytest.approx((5 / 3) ** -3)

    def test_is_gaussian_for_a_large_alpha(self):
        u = np.linspace(0, 3, 20)
        expected = Gaussian(1.0).of_distance(u)
        np.testing.assert_allclose(RationalQuadratic(1e8, 1.0).of_distance(u), expected, rtol=1e-6, atol=0)

    @pytest.mark.parametrize("alpha", [0, -1, np.nan, np.inf, True, "1", None])
    def test_what_is_no_alpha(self, alpha, refusal):
        assert "alpha must be a number above 0" in refusal(RationalQuadratic, alpha)

    def test_equality_repr_and_with(self):
        kernel = RationalQuadratic(2, 0.5, "euclidean")
        assert kernel == RationalQuadratic(2.0, 0.5, "euclidean") != RationalQuadratic(1.0, 0.5, "euclidean")
        assert repr(kernel) == "RationalQuadratic(lengthscale=0.5, distance='euclidean', alpha=2.0)"
        assert kernel.with_lengthscale(3.0).with_distance("l1") == RationalQuadratic(2.0, 3.0, "l1")

    def test_length_scale_and_distance_are_checked_too(self, refusal):
        assert "lengthscale" in refusal(RationalQuadratic, 1.0, -1.0)
        assert "distance" in refusal(RationalQuadratic, 1.0, 1.0, "nowhere")
