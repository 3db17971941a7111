"""Normal laws in several dimensions: the paths for shared, diagonal and general covariances are one function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.errors import NotApplicableError
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution
from calibrant.kernels.expectations import MixtureMeans, MvNormalMeans, between, target_means
from calibrant.kernels.expected_points import SampledMeans
from calibrant.kernels.kernel import Exponential, Gaussian

RNG = np.random.default_rng(3)


def covariances(n, D):
    A = RNG.normal(size=(n, D, D + 2))
    return A @ A.swapaxes(1, 2) / D


def definition(d, covariance, length):
    """Return l^D |A|^(-1/2) exp(-d'A⁻¹d/2), A = l² I + covariance, of one pair."""
    A = length**2 * np.eye(len(d)) + covariance
    return length ** len(d) / np.sqrt(np.linalg.det(A)) * np.exp(-0.5 * d @ np.linalg.solve(A, d))


def test_reference_values(vectors, target_part):
    for given_, expected, tolerance in vectors("target-part-mvnormal"):
        pair = (given_["first"], given_["second"])
        distribution = MvNormal(*([row[k] for row in pair] for k in ("mean", "cov")))
        y = np.array([row["y"] for row in pair])
        kernel = Gaussian(1.0)
        assert target_part(target_means(distribution, kernel), kernel, y) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("kind", ["general", "shared", "diagonal", "shared diagonal"])
@pytest.mark.parametrize("D", [1, 2, 5])
def test_every_path_is_the_definition(kind, D):
    n, length = 5, 1.3
    cov = covariances(n, D)
    if "diagonal" in kind:
        cov = cov * np.eye(D)
    distribution = MvNormal(RNG.normal(size=(n, D)), cov[0] if "shared" in kind else cov)
    means = target_means(distribution, Gaussian(length))
    assert isinstance(means, MvNormalMeans)
    t = RNG.normal(size=(4, D))
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    double = [
        [
            definition(distribution.mean[a] - distribution.mean[b], distribution.cov[a] + distribution.cov[b], length)
            for b in range(n)
        ]
        for a in range(n)
    ]
    single = [[definition(distribution.mean[a] - x, distribution.cov[a], length) for x in t] for a in range(n)]
    np.testing.assert_allclose(means.double(i, j), double, rtol=1e-12)
    np.testing.assert_allclose(means.single(i, t[None]), single, rtol=1e-12)
    np.testing.assert_allclose(means.single(j, t[:, None]), np.transpose(single), rtol=1e-12)
    np.testing.assert_allclose(means.single(np.arange(4), t), np.diag(np.array(single)[:4]), rtol=1e-12)
    np.testing.assert_allclose(means.squared_norms, np.diag(double), rtol=1e-12)


@given(st.floats(-50, 50), st.floats(1e-3, 1e3), st.floats(1e-2, 1e2))
def test_one_dimension_is_normal(mean, std, length):
    line = target_means(Normal([mean, 0.3], [std, 1.0]), Gaussian(length))
    space = target_means(MvNormal([[mean], [0.3]], [[[std**2]], [[1.0]]]), Gaussian(length))
    i, j = np.array([0, 0, 1]), np.array([0, 1, 1])
    np.testing.assert_allclose(space.double(i, j), line.double(i, j), rtol=1e-11, atol=1e-300)


def test_many_dimensions_do_not_underflow_in_between():
    # The determinant is beyond float64, its root is not.
    cov = np.eye(120) * 1024 + 0.5
    expected = np.exp(-0.5 * np.linalg.slogdet(np.eye(120) + 2 * cov)[1])
    assert 0 < expected < 1e-190
    for given_ in (cov, np.stack([cov] * 2)):
        means = target_means(MvNormal(np.zeros((2, 120)), given_), Gaussian(1.0))
        assert means.double(np.array(0), np.array(1)) == pytest.approx(expected, rel=1e-11, abs=0)


def test_far_means_are_zero():
    distribution = MvNormal([[1e300, 0.0], [-1e300, 0.0]], covariances(2, 2))
    assert target_means(distribution, Gaussian(1e-3)).double(np.array(0), np.array(1)) == 0


RNG_MIXTURE = np.random.default_rng(8)
N = 4
ROWS, COLUMNS = np.arange(N)[:, None], np.arange(N)[None, :]


def weights(C):
    w = RNG_MIXTURE.random((N, C))
    return w / w.sum(axis=1, keepdims=True)


def line(distribution):
    return distribution(RNG_MIXTURE.normal(size=N), np.exp(RNG_MIXTURE.normal(size=N)))


def test_reference_values_mixture(vectors, target_part):
    kernel = Gaussian(1.0)
    for given_, expected, tolerance in vectors("target-part-mixture"):
        pair = (given_["first"], given_["second"])
        mean, std, w = (np.array([row[k] for row in pair]) for k in ("mean", "std", "weights"))
        distribution = Mixture([Normal(mean[:, c], std[:, c]) for c in range(mean.shape[1])], w)
        y = np.array([row["y"] for row in pair])
        assert target_part(target_means(distribution, kernel), kernel, y) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("kernel", [Gaussian(0.9), Exponential(0.9)])
@pytest.mark.parametrize("kinds", [(Normal, Normal, Normal), (Laplace, Laplace), (Normal, Laplace, Normal, Laplace)])
def test_against_a_loop_over_rows_and_components(kernel, kinds):
    parts, w = [line(kind) for kind in kinds], weights(len(kinds))
    means = target_means(Mixture(parts, w), kernel)
    assert isinstance(means, MixtureMeans)
    each = [target_means(part, kernel) for part in parts]
    t = RNG_MIXTURE.normal(size=3)
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
    np.testing.assert_allclose(means.double_within(np.arange(N)), means.squared_norms, rtol=1e-14)


@given(st.floats(0, 1))
def test_equal_components_are_one_distribution(share):
    part = line(Normal)
    mixed = target_means(Mixture([part, part], [share, 1 - share]), Gaussian(1.0))
    expected = target_means(part, Gaussian(1.0)).double(ROWS, COLUMNS)
    np.testing.assert_allclose(mixed.double(ROWS, COLUMNS), expected, rtol=1e-13)


def test_vector_components():
    A = RNG_MIXTURE.normal(size=(2, N, 2, 3))
    cov = A @ A.swapaxes(2, 3)
    parts = [MvNormal(RNG_MIXTURE.normal(size=(N, 2)), cov[0]), MvNormal(RNG_MIXTURE.normal(size=(N, 2)), cov[1, 0])]
    w, kernel = weights(2), Gaussian(1.1)
    distribution = Mixture(parts, w)
    means, z = target_means(distribution, kernel), distribution.sample(100_000, 1)
    assert isinstance(means, MixtureMeans)
    expected = kernel.of_distance(np.linalg.norm(z[0] - z[1], axis=1)).mean()
    assert means.double(np.array(0), np.array(1)) == pytest.approx(expected, abs=5e-3)
    np.testing.assert_allclose(means.double(ROWS, COLUMNS), means.double(ROWS, COLUMNS).T, rtol=1e-13)


def test_other_distributions_join_by_their_points():
    parts = [
        line(Normal),
        ScipyDistribution(stats.logistic(RNG_MIXTURE.normal(size=N))),
        Samples(RNG_MIXTURE.normal(size=(N, 5))),
    ]
    distribution = Mixture(parts, weights(3))
    means = target_means(distribution, Gaussian(1.0))
    assert isinstance(means, MixtureMeans)
    tile = means.double(ROWS, COLUMNS)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-13)
    z = distribution.sample(200_000, 2)
    expected = Gaussian(1.0).of_distance(np.abs(z[0] - z[1])).mean()
    assert tile[0, 1] == pytest.approx(expected, abs=5e-3)
    # A row alone pairs different draws of its Samples component; everything else is as in `double`.
    difference = means.squared_norms - means.double_within(np.arange(N))
    samples = target_means(parts[2], Gaussian(1.0))
    expected = distribution.weights[:, 2] ** 2 * (samples.squared_norms - samples.double_within(np.arange(N)))
    np.testing.assert_allclose(difference, expected, rtol=1e-12, atol=1e-15)


def test_a_component_without_closed_form_needs_draws(refusal):
    distribution = Mixture([line(Normal), ScipyDistribution(stats.logistic(np.zeros(N)))], [0.5, 0.5])
    message = refusal(target_means, distribution, Exponential(1.0), error=NotApplicableError)
    assert "Mixture of Normal, ScipyDistribution" in message
    assert "draws=" in message
    assert "rng=" in message
    assert isinstance(target_means(distribution, Exponential(1.0), draws=10), SampledMeans)
