"""The 129-point rule against laws whose means are known."""

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Normal, ScipyLaw
from calibrant.kernels import Gaussian
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expectations.points import PointMeans
from calibrant.kernels.expectations.quadrature import normal_rule, quadrature_means, quantile_points
from calibrant.kernels.expectations.sampled import SampledMeans

ROOT = np.sqrt(3)
LAWS = {  # name: law, characteristic function of a centred copy, accuracy of E k(Z, Z')
    "normal": (stats.norm, lambda w: np.exp(-0.5 * w * w), 1e-12),
    "logistic": (stats.logistic, lambda w: np.pi * w / np.sinh(np.pi * w), 1e-12),
    "gamma(2)": (stats.gamma, lambda w: 1 / (1 + w * w), 1e-12),
    "t(3)": (stats.t, lambda w: (1 + ROOT * np.abs(w)) * np.exp(-ROOT * np.abs(w)), 2e-8),
    "laplace": (stats.laplace, lambda w: 1 / (1 + w * w), 1e-6),
}
SHAPES = {"gamma(2)": (2,), "t(3)": (3,)}
ROWS, COLUMNS = np.array([[0], [1]]), np.array([[0, 1]])


def law_of(name, *, scale=1.0):
    return ScipyLaw(LAWS[name][0](*SHAPES.get(name, ()), loc=[0.0, 0.5], scale=scale))


def test_rule():
    x, weights = normal_rule()
    assert x.size == 129
    assert weights.sum() == pytest.approx(1, rel=1e-15)
    assert (weights * x**2).sum() == pytest.approx(1, rel=1e-13)


def test_points_use_the_survival_side():
    points, _ = quantile_points(Normal([0.0, 5.0], [1.0, 2.0]))
    x, _ = normal_rule()
    np.testing.assert_allclose(points, [x, 5 + 2 * x], rtol=1e-12, atol=1e-12)
    points, _ = quantile_points(ScipyLaw(stats.norm([0.0], [1.0])))
    np.testing.assert_allclose(points[0], x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["normal", "logistic", "gamma(2)", "t(3)"])
def test_one_expectation_to_twelve_digits(integral, name):
    means, density = target_means(law_of(name), Gaussian(1.0)), LAWS[name][0](*SHAPES.get(name, ())).pdf
    assert isinstance(means, PointMeans)
    for t in (0.0, 0.7, 3.0):

        def f(x, t=t):
            return density(x) * np.exp(-0.5 * (x - t) ** 2)

        assert means.single(np.array(0), np.array(t)) == pytest.approx(integral(f, (0.0, 1.0), (t, 1.0)), abs=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_two_expectations_by_characteristic_functions(integral, name):
    # E k(Z, Z' + m) = ∫ |c(ω)|² cos(ωm) n(ω) dω for the Gaussian kernel, n the standard normal density; |c| of gamma(2)
    # is 1/(1 + ω²).
    _, c, accuracy = LAWS[name]

    def mean(shift):
        return integral(
            lambda w: np.abs(c(w)) ** 2 * np.cos(w * shift) * np.exp(-0.5 * w * w) / np.sqrt(2 * np.pi), (0.0, 0.3)
        )

    means = target_means(law_of(name), Gaussian(1.0))
    expected = [[mean(0), mean(0.5)], [mean(0.5), mean(0)]]
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), expected, rtol=0, atol=accuracy)
    np.testing.assert_allclose(means.beside(means, ROWS, COLUMNS), means.double(ROWS, COLUMNS), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("name", "scale"), [("normal", 12.0), ("t(3)", 12.0)])
def test_a_rule_too_coarse_is_refused(refusal, name, scale):
    law = law_of(name, scale=scale)
    assert quadrature_means(law, Gaussian(1.0)) is None
    assert "draws=" in refusal(target_means, law, Gaussian(1.0), error=NotApplicableError)
    assert isinstance(target_means(law, Gaussian(1.0), draws=2), SampledMeans)


def test_one_wide_row_among_many_is_seen():
    scale = np.ones(500)
    scale[123] = 20.0
    assert quadrature_means(ScipyLaw(stats.norm(0.0, scale)), Gaussian(1.0)) is None


def test_agrees_with_the_closed_form():
    law = Normal([0.0, 1.0, -2.0], [1.0, 0.1, 3.0])
    exact, points = target_means(law, Gaussian(1.0)), quadrature_means(law, Gaussian(1.0))
    i, j = np.arange(3)[:, None], np.arange(3)[None, :]
    np.testing.assert_allclose(points.double(i, j), exact.double(i, j), rtol=0, atol=1e-13)
    np.testing.assert_allclose(points.single(i, law.mean[j]), exact.single(i, law.mean[j]), rtol=0, atol=1e-13)
