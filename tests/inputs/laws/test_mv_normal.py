"""The normal law of vectors."""

import numpy as np
import pytest
from scipy import stats

from calibrant.inputs.laws import MvNormal, Normal

N, D = 5, 3
RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=(N, D))
ROOT = RNG.normal(size=(N, D, D))
COV = ROOT @ ROOT.swapaxes(1, 2) + 0.5 * np.eye(D)
COV = (COV + COV.swapaxes(1, 2)) / 2
X = RNG.normal(scale=5, size=(N, 4, D))


class TestMade:
    def test_one_covariance_for_all_rows(self):
        law = MvNormal(MEAN, COV[0])
        assert law.is_shared
        assert law.cov.shape == (N, D, D)
        assert law.cov.strides[0] == 0
        assert np.array_equal(law.cov[4], COV[0])
        assert law.take(np.array([1, 1, 2])).is_shared
        assert law.take(np.array([1, 1, 2])).cov.shape == (3, D, D)
        assert law.take(np.array([], int)).take(slice(0)).cov.shape == (0, D, D)

    def test_one_covariance_per_row(self):
        law = MvNormal(MEAN, COV)
        assert not law.is_shared
        assert np.array_equal(law.cov, COV)
        assert np.array_equal(law.take(slice(1, 3)).cov, COV[1:3])

    @pytest.mark.parametrize("n", [1, 2])
    def test_as_many_rows_as_coordinates(self, n):
        eye = np.eye(n)
        assert MvNormal(np.zeros((n, n)), eye).is_shared
        assert not MvNormal(np.zeros((n, n)), np.stack([eye] * n)).is_shared

    def test_diagonal(self):
        assert MvNormal(MEAN, np.diag([1.0, 2.0, 3.0])).is_diagonal
        mixed = MvNormal(MEAN, np.stack([np.eye(D), COV[1], np.eye(D), np.eye(D), np.eye(D)]))
        assert not mixed.is_diagonal
        assert mixed.take([0, 2]).is_diagonal

    def test_nobody_writes_to_it(self):
        given = COV.copy()
        for law in (MvNormal(MEAN, given), MvNormal(MEAN, given[0])):
            given[:] = 7.0
            assert np.array_equal(law.cov[0], COV[0])
            for array in (law.mean, law.cov, law.take([0]).cov):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 5.0
            given[:] = COV

    def test_rounding_of_float32_is_made_symmetric(self):
        given = np.array([[1.0, 0.5], [0.5 + 4e-8, 1.0]])
        law = MvNormal([[0.0, 0.0]], given)
        assert law.cov[0, 0, 1] == law.cov[0, 1, 0] == 0.5 + 2e-8

    def test_scales_may_differ_widely(self):
        cov = np.array([[1e-24, 0.9], [0.9, 1e24]])
        assert MvNormal([[0.0, 0.0]], cov).log_density([[0.0, 0.0]])[0] == pytest.approx(
            -np.log(2 * np.pi) - 0.5 * np.log(0.19), rel=1e-12
        )


class TestAsked:
    def test_agrees_with_scipy(self):
        expected = [stats.multivariate_normal(MEAN[i], COV[i]).logpdf(X[i]) for i in range(N)]
        np.testing.assert_allclose(MvNormal(MEAN, COV).log_density(X), expected, rtol=1e-12)

    def test_agrees_with_scipy_for_a_shared_covariance(self):
        expected = [stats.multivariate_normal(MEAN[i], COV[0]).logpdf(X[i]) for i in range(N)]
        np.testing.assert_allclose(MvNormal(MEAN, COV[0]).log_density(X), expected, rtol=1e-12)

    def test_shapes_of_points(self):
        law = MvNormal(MEAN, COV)
        table = law.log_density(X)
        assert np.array_equal(law.log_density(X[:, 2]), table[:, 2])
        assert np.array_equal(law.log_density(X[:1])[0], table[0])
        assert np.array_equal(law.log_density(X[0, 0]), law.log_density(np.tile(X[0, 0], (N, 1))))

    def test_refused_points(self, refusal):
        law = MvNormal(MEAN, COV)
        for x in (0.0, X[:, :, :2], X[:4], X[:4, 0], X[None]):
            assert "points must have shape (5, 3) or (5, k, 3)" in refusal(law.log_density, x)

    def test_one_coordinate_is_the_normal_law(self):
        x = np.linspace(-4, 4, 7)
        law = MvNormal(np.zeros((1, 1)), [[4.0]])
        np.testing.assert_allclose(law.log_density(x[None, :, None]), Normal(0, 2).log_density(x[None]), rtol=1e-14)

    def test_far_away(self):
        assert MvNormal([[0.0, 0.0]], np.eye(2)).log_density([[1e200, 0.0]]).tolist() == [-np.inf]

    @pytest.mark.parametrize("cov", [COV, COV[0]], ids=["own", "shared"])
    def test_draws_have_mean_and_covariance(self, cov):
        m = 20_000
        law = MvNormal(MEAN, cov)
        centred = law.sample(m, 0) - MEAN[:, None]
        std = np.sqrt(np.diagonal(law.cov, axis1=1, axis2=2))
        assert np.all(np.abs(centred.mean(axis=1)) < 5 * std / np.sqrt(m))
        found = np.einsum("nmi,nmj->nij", centred, centred) / m
        assert np.all(np.abs(found - law.cov) < 5 * np.sqrt(2 / m) * std[:, :, None] * std[:, None, :])


EYE = np.eye(2)
ZERO = np.zeros((3, 2))
BAD_ROW = np.stack([EYE, [[1.0, 2.0], [2.0, 1.0]], EYE])
REFUSED = {
    "mean 1-D": (([0, 0], EYE), ["mean must have shape (n, D)", "(2,)", "mean[None, :]", "mean[:, None]"]),
    "mean a number": ((0, EYE), ["mean must have shape (n, D)", "Normal(mean, std)"]),
    "mean 3-D": ((np.zeros((2, 2, 2)), EYE), ["mean must have shape (n, D)", "(2, 2, 2)"]),
    "mean missing": (([[0, 0], [0, np.nan]], EYE), ["mean must be finite", "row 1, coordinate 1 is nan"]),
    "mean empty": ((np.zeros((0, 2)), EYE), ["mean is empty"]),
    "variances": ((ZERO, np.ones((3, 2))), ["(3, 2, 2)", "got shape (3, 2)", "cov[..., None] * numpy.eye(D)"]),
    "one variance": ((ZERO, 1.0), ["cov must have shape (n, D, D) = (3, 2, 2)", "got shape ()"]),
    "other rows": ((ZERO, np.stack([EYE] * 2)), ["got shape (2, 2, 2)", "same number of rows"]),
    "other coordinates": ((ZERO, np.eye(3)), ["(D, D) = (2, 2)", "got shape (3, 3)"]),
    "missing": ((ZERO, [[1, 0], [np.nan, 1]]), ["cov must be finite", "line 1, column 0 is nan"]),
    "missing in a row": (
        (ZERO, np.stack([EYE, EYE, [[1, 0], [0, np.inf]]])),
        ["cov must be finite", "row 2, line 1, column 1 is inf"],
    ),
    "no variance": ((ZERO, [[1, 0], [0, 0]]), ["positive variances", "line 1 is 0.0", "do not vary"]),
    "negative variance": ((ZERO, np.stack([EYE, EYE, -EYE])), ["positive variances", "row 2, line 0 is -1.0"]),
    "asymmetric": ((ZERO, [[1, 0.5], [0.2, 1]]), ["symmetric", "line 0, column 1 is 0.5", "diagonal 0.2"]),
    "asymmetric row": (
        (ZERO, np.stack([EYE, EYE, [[1, 0.5], [0.2, 1]]])),
        ["symmetric", "row 2, line 0, column 1 is 0.5"],
    ),
    "indefinite": ((ZERO, BAD_ROW[1]), ["positive definite", "smallest eigenvalue of it is -1", "Drop coordinates"]),
    "indefinite row": ((ZERO, BAD_ROW), ["positive definite", "smallest eigenvalue of row 1 is -1"]),
    "singular": ((ZERO, np.ones((2, 2))), ["positive definite", "smallest eigenvalue of it is"]),
    "singular to rounding": ((ZERO, [[0.1, 0.3], [0.3, 0.9]]), ["positive definite", "smallest eigenvalue of it is"]),
    "bool": ((ZERO, EYE == 1), ["cov must be real numbers", "bool"]),
    "complex": ((ZERO, EYE * 1j), ["cov must be real numbers", "complex128"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    given, words = REFUSED[name]
    message = refusal(MvNormal, *given)
    assert all(word in message for word in words), message


def test_the_bad_row_is_named_and_not_a_badly_scaled_one(refusal):
    cov = np.stack([np.diag([1e-20, 1.0]), BAD_ROW[1]])
    assert "of row 1 is -1" in refusal(MvNormal, ZERO[:2], cov)
