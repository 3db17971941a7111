"""Mixtures against a double loop over components, also of different kinds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Laplace, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.kernels import Exponential, Gaussian
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expectations.mixture import MixtureMeans, between
from calibrant.kernels.expectations.sampled import SampledMeans

RNG = np.random.default_rng(8)
N = 4
ROWS, COLUMNS = np.arange(N)[:, None], np.arange(N)[None, :]


def weights(C):
    w = RNG.random((N, C))
    return w / w.sum(axis=1, keepdims=True)


def line(law):
    return law(RNG.normal(size=N), np.exp(RNG.normal(size=N)))


def test_reference_values(vectors, target_part):
    kernel = Gaussian(1.0)
    for given_, expected, tolerance in vectors("target-part-mixture"):
        pair = (given_["first"], given_["second"])
        mean, std, w = (np.array([row[k] for row in pair]) for k in ("mean", "std", "weights"))
        law = Mixture([Normal(mean[:, c], std[:, c]) for c in range(mean.shape[1])], w)
        y = np.array([row["y"] for row in pair])
        assert target_part(target_means(law, kernel), kernel, y) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("kernel", [Gaussian(0.9), Exponential(0.9)])
@pytest.mark.parametrize("kinds", [(Normal, Normal, Normal), (Laplace, Laplace), (Normal, Laplace, Normal, Laplace)])
def test_against_a_loop_over_rows_and_components(kernel, kinds):
    parts, w = [line(kind) for kind in kinds], weights(len(kinds))
    means = target_means(Mixture(parts, w), kernel)
    assert isinstance(means, MixtureMeans)
    each = [target_means(part, kernel) for part in parts]
    t = RNG.normal(size=3)
    for i in range(N):
        single = sum(w[i, c] * each[c].single(np.array(i), t) for c in range(len(parts)))
        np.testing.assert_allclose(means.single(ROWS, t[None])[i], single, rtol=1e-13)
        for j in range(N):
            double = sum(
                w[i, c] * w[j, d] * between(each[c], each[d], np.array(i), np.array(j))
                for c in range(len(parts))
                for d in range(len(parts))
            )
            assert means.double(ROWS, COLUMNS)[i, j] == pytest.approx(float(double), rel=1e-13)
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), means.double(ROWS, COLUMNS).T, rtol=1e-14)
    np.testing.assert_allclose(means.alone(np.arange(N)), means.own, rtol=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(0.9), Exponential(0.9)])
def test_against_draws(kernel):
    law = Mixture([line(Normal), line(Laplace)], weights(2))
    means, z = target_means(law, kernel), law.sample(200_000, 5)
    assert means.double(np.array(0), np.array(1)) == pytest.approx(
        kernel.of_distance(np.abs(z[0] - z[1])).mean(), abs=5e-3
    )
    assert means.single(np.array(2), np.array(0.4)) == pytest.approx(
        kernel.of_distance(np.abs(z[2] - 0.4)).mean(), abs=5e-3
    )


@given(st.floats(0, 1))
def test_equal_components_are_one_law(share):
    part = line(Normal)
    mixed = target_means(Mixture([part, part], [share, 1 - share]), Gaussian(1.0))
    np.testing.assert_allclose(
        mixed.double(ROWS, COLUMNS), target_means(part, Gaussian(1.0)).double(ROWS, COLUMNS), rtol=1e-13
    )


def test_vector_components():
    A = RNG.normal(size=(2, N, 2, 3))
    cov = A @ A.swapaxes(2, 3)
    parts = [MvNormal(RNG.normal(size=(N, 2)), cov[0]), MvNormal(RNG.normal(size=(N, 2)), cov[1, 0])]
    w, kernel = weights(2), Gaussian(1.1)
    law = Mixture(parts, w)
    means, z = target_means(law, kernel), law.sample(100_000, 1)
    assert isinstance(means, MixtureMeans)
    expected = kernel.of_distance(np.linalg.norm(z[0] - z[1], axis=1)).mean()
    assert means.double(np.array(0), np.array(1)) == pytest.approx(expected, abs=5e-3)
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), means.double(ROWS, COLUMNS).T, rtol=1e-13)


def test_other_laws_join_by_their_points():
    parts = [line(Normal), ScipyLaw(stats.logistic(RNG.normal(size=N))), Samples(RNG.normal(size=(N, 5)))]
    law = Mixture(parts, weights(3))
    means = target_means(law, Gaussian(1.0))
    assert isinstance(means, MixtureMeans)
    tile = means.double(ROWS, COLUMNS)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-13)
    z = law.sample(200_000, 2)
    expected = Gaussian(1.0).of_distance(np.abs(z[0] - z[1])).mean()
    assert tile[0, 1] == pytest.approx(expected, abs=5e-3)
    # A row alone pairs different draws of its Samples component; everything else is as in `double`.
    difference = means.own - means.alone(np.arange(N))
    samples = target_means(parts[2], Gaussian(1.0))
    expected = law.weights[:, 2] ** 2 * (samples.own - samples.alone(np.arange(N)))
    np.testing.assert_allclose(difference, expected, rtol=1e-12, atol=1e-15)


def test_a_component_without_closed_form_needs_draws(refusal):
    law = Mixture([line(Normal), ScipyLaw(stats.logistic(np.zeros(N)))], [0.5, 0.5])
    message = refusal(target_means, law, Exponential(1.0), error=NotApplicableError)
    assert "Mixture of Normal, ScipyLaw" in message
    assert "draws=" in message
    assert "rng=" in message
    assert isinstance(target_means(law, Exponential(1.0), draws=10), SampledMeans)
