"""Normal laws in several dimensions: the paths for shared, diagonal and general covariances are one function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.laws import MvNormal, Normal
from calibrant.kernels import Gaussian
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expectations.mv_normal import MvNormalMeans

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
        law, y = MvNormal(*([row[k] for row in pair] for k in ("mean", "cov"))), np.array([row["y"] for row in pair])
        kernel = Gaussian(1.0)
        assert target_part(target_means(law, kernel), kernel, y) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("kind", ["general", "shared", "diagonal", "shared diagonal"])
@pytest.mark.parametrize("D", [1, 2, 5])
def test_every_path_is_the_definition(kind, D):
    n, length = 5, 1.3
    cov = covariances(n, D)
    if "diagonal" in kind:
        cov = cov * np.eye(D)
    law = MvNormal(RNG.normal(size=(n, D)), cov[0] if "shared" in kind else cov)
    means = target_means(law, Gaussian(length))
    assert isinstance(means, MvNormalMeans)
    t = RNG.normal(size=(4, D))
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    double = [
        [definition(law.mean[a] - law.mean[b], law.cov[a] + law.cov[b], length) for b in range(n)] for a in range(n)
    ]
    single = [[definition(law.mean[a] - x, law.cov[a], length) for x in t] for a in range(n)]
    np.testing.assert_allclose(means.double(i, j), double, rtol=1e-12)
    np.testing.assert_allclose(means.single(i, t[None]), single, rtol=1e-12)
    np.testing.assert_allclose(means.single(j, t[:, None]), np.transpose(single), rtol=1e-12)
    np.testing.assert_allclose(means.single(np.arange(4), t), np.diag(np.array(single)[:4]), rtol=1e-12)
    np.testing.assert_allclose(means.own, np.diag(double), rtol=1e-12)


def test_shared_and_own_covariances_agree():
    mean, cov = RNG.normal(size=(4, 3)), covariances(1, 3)[0]
    shared, own = (target_means(MvNormal(mean, c), Gaussian(0.8)) for c in (cov, np.stack([cov] * 4)))
    i, j = np.arange(4)[:, None], np.arange(4)[None, :]
    np.testing.assert_allclose(shared.double(i, j), own.double(i, j), rtol=1e-13)
    np.testing.assert_allclose(shared.beside(own, i, j), own.double(i, j), rtol=1e-13)
    np.testing.assert_allclose(own.beside(shared, i, j), own.double(i, j), rtol=1e-13)


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
    law = MvNormal([[1e300, 0.0], [-1e300, 0.0]], covariances(2, 2))
    assert target_means(law, Gaussian(1e-3)).double(np.array(0), np.array(1)) == 0
