"""Which way the means of a distribution and a kernel are found."""

import numpy as np
import pytest
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expected_line import LineMeans
from calibrant.kernels.expected_points import SampledMeans, SampleMeans
from calibrant.kernels.kernel import Delta, Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

DISTRIBUTIONS = {
    "Normal": Normal(np.zeros(2), 1.0),
    "Laplace": Laplace(np.zeros(2), 1.0),
    "MvNormal": MvNormal(np.zeros((2, 2)), np.eye(2)),
    "ScipyDistribution": ScipyDistribution(stats.logistic(np.zeros(2))),
}
NO_FORM = [
    ("Normal", Matern32(1.0)),
    ("Laplace", Matern52(1.0)),
    ("MvNormal", Exponential(1.0)),
    ("ScipyDistribution", Exponential(1.0)),
    ("Normal", RationalQuadratic(1.0, 1.0)),
]


@pytest.mark.parametrize(("name", "kernel"), NO_FORM)
def test_without_closed_form_draws_are_asked_for(refusal, name, kernel):
    message = refusal(target_means, DISTRIBUTIONS[name], kernel, error=NotApplicableError)
    assert message.startswith(f"{DISTRIBUTIONS[name].words} with the target kernel {type(kernel).__name__}(")
    assert "draws= (an even number such as 100) and rng=" in message
    assert isinstance(target_means(DISTRIBUTIONS[name], kernel, draws=2), SampledMeans)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(1.0)])
@pytest.mark.parametrize("name", ["Normal", "Laplace"])
def test_a_closed_form_wins_over_draws(name, kernel):
    assert isinstance(target_means(DISTRIBUTIONS[name], kernel, draws=4), LineMeans)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern32(1.0), RationalQuadratic(1.0, 1.0)])
def test_samples_take_every_kernel(kernel):
    assert isinstance(target_means(Samples(np.zeros((2, 3))), kernel), SampleMeans)


def test_a_distribution_without_quantiles_needs_draws(refusal):
    class Own(Distribution):
        n = 2

        def take(self, rows):
            return self

        def sample(self, size, rng):
            return rng.normal(size=(2, size))

    words = "Own with the target kernel Gaussian"
    assert words in refusal(target_means, Own(), Gaussian(1.0), error=NotApplicableError)
    assert isinstance(target_means(Own(), Gaussian(1.0), draws=4), SampledMeans)


def test_delta_is_for_classes(refusal):
    message = refusal(target_means, DISTRIBUTIONS["Normal"], Delta(), error=NotApplicableError)
    assert "Gaussian or Exponential" in message
