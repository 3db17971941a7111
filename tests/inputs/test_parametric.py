"""Normal and Laplace distributions, of numbers and of vectors."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from calibrant.inputs.parametric import Laplace, MvNormal, Normal

Z = np.array([-38.0, -20.0, -8.3, -3.0, -1.0, -1e-9, 0.0, 1e-300, 0.5, 2.0, 8.3, 20.0, 38.0])
Q = np.array([0.0, 5e-324, 1e-300, 1e-20, 0.025, 0.5, 0.75, 1 - 2**-53, 1.0])
Z_LAPLACE = np.array([-700.0, -40.0, -3.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 40.0, 700.0])
Q_LAPLACE = np.array([0.0, 5e-324, 1e-300, 1e-20, 0.025, 0.5 - 1e-12, 0.5, 0.5 + 1e-12, 0.75, 1 - 2**-53, 1.0])
MEAN, STD = np.array([0.0, -3.0, 1e6]), np.array([1.0, 0.01, 1e3])
BOTH = {"normal": (Normal, stats.norm, Z, Q), "laplace": (Laplace, stats.laplace, Z_LAPLACE, Q_LAPLACE)}


def test_hand_numbers():
    distribution = Normal([0.0, 10.0], [1.0, 2.0])
    assert distribution.cdf([0.0, 10.0]).tolist() == [0.5, 0.5]
    assert distribution.cdf([1.959963984540054, 10 + 2 * 1.959963984540054]) == pytest.approx([0.975, 0.975], rel=1e-15)
    expected = [-0.9189385332046727, -0.9189385332046727 - 0.5 - np.log(2)]
    assert distribution.log_density([0.0, 12.0]) == pytest.approx(expected)
    assert distribution.ppf(0.975) == pytest.approx([1.959963984540054, 13.919927969080108], rel=1e-15)


@pytest.mark.parametrize("family", BOTH)
def test_agrees_with_scipy(family):
    made, of_scipy, z, q = BOTH[family]
    ours, theirs = made(MEAN, STD), of_scipy(MEAN[:, None], STD[:, None])
    x = MEAN[:, None] + STD[:, None] * z
    for method, same in (("cdf", "cdf"), ("sf", "sf"), ("log_density", "logpdf")):
        np.testing.assert_allclose(getattr(ours, method)(x), getattr(theirs, same)(x), rtol=1e-12)
    for method in ("ppf", "isf"):
        np.testing.assert_allclose(getattr(ours, method)(q[None]), getattr(theirs, method)(q), rtol=1e-12)


def test_far_tails_keep_their_digits():
    distribution = Normal(0, 1)
    assert distribution.sf(20.0)[0] == pytest.approx(2.7536241186062337e-89, rel=1e-12)
    assert distribution.sf(20.0) == distribution.cdf(-20.0)
    assert distribution.isf(distribution.sf(30.0))[0] == pytest.approx(30.0, rel=1e-14)


@pytest.mark.parametrize("made", [Normal, Laplace])
def test_infinity_is_a_point(made):
    distribution = made(0, 1e-300)
    assert distribution.cdf([[-np.inf, np.inf, -1e300, 1e300]]).tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert distribution.sf([[-np.inf, np.inf]]).tolist() == [[1.0, 0.0]]
    assert distribution.log_density([[np.inf, 1e300]]).tolist() == [[-np.inf, -np.inf]]
    assert distribution.ppf([[0.0, 1.0]]).tolist() == [[-np.inf, np.inf]]
    assert distribution.isf([[0.0, 1.0]]).tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize(("made", "variance", "fourth"), [(Normal, 1, 3), (Laplace, 2, 24)])
def test_draws_have_mean_median_and_spread(made, variance, fourth):
    m = 40_000
    z = (made(MEAN, STD).sample(m, 0) - MEAN[:, None]) / STD[:, None]
    assert np.all(np.abs(z.mean(axis=1)) < 5 * np.sqrt(variance / m))
    assert np.all(np.abs((z**2).mean(axis=1) - variance) < 5 * np.sqrt((fourth - variance**2) / m))
    assert np.all(np.abs((z < 0).mean(axis=1) - 0.5) < 2.5 / np.sqrt(m))
    assert abs(np.corrcoef(z)[0, 1]) < 5 / np.sqrt(m)


def test_hand_numbers_laplace():
    distribution, log2 = Laplace([0.0, 10.0], [1.0, 2.0]), np.log(2)
    assert distribution.cdf([0.0, 10.0]).tolist() == [0.5, 0.5]
    assert distribution.cdf([-log2, 10 + 2 * log2]) == pytest.approx([0.25, 0.75], rel=1e-15)
    assert distribution.log_density([3.0, 10.0]) == pytest.approx([-3 - log2, -np.log(4)], rel=1e-15)
    assert distribution.ppf([0.25, 0.75]) == pytest.approx([-log2, 10 + 2 * log2], rel=1e-15)


def test_quantiles_near_the_middle_keep_their_digits():
    # With q = 1/2 + e the quantile is -log(1 - 2e).
    e = 2.0**-40
    assert Laplace(0, 1).ppf(0.5 + e)[0] == pytest.approx(-np.log1p(-2 * e), rel=1e-15)
    assert Laplace(0, 1).isf(0.5 + e)[0] == pytest.approx(np.log1p(-2 * e), rel=1e-15)


N, D = 5, 3
RNG = np.random.default_rng(0)
MEAN_MV_NORMAL = RNG.normal(size=(N, D))
ROOT = RNG.normal(size=(N, D, D))
COV = ROOT @ ROOT.swapaxes(1, 2) + 0.5 * np.eye(D)
COV = (COV + COV.swapaxes(1, 2)) / 2
X_MV_NORMAL = RNG.normal(scale=5, size=(N, 4, D))


class TestMade:
    def test_one_covariance_for_all_rows(self):
        distribution = MvNormal(MEAN_MV_NORMAL, COV[0])
        assert distribution.is_shared
        assert distribution.cov.shape == (N, D, D)
        assert distribution.cov.strides[0] == 0
        assert np.array_equal(distribution.cov[4], COV[0])
        assert distribution.take(np.array([1, 1, 2])).is_shared
        assert distribution.take(np.array([1, 1, 2])).cov.shape == (3, D, D)
        assert distribution.take(np.array([], int)).take(slice(0)).cov.shape == (0, D, D)

    def test_one_covariance_per_row(self):
        distribution = MvNormal(MEAN_MV_NORMAL, COV)
        assert not distribution.is_shared
        assert np.array_equal(distribution.cov, COV)
        assert np.array_equal(distribution.take(slice(1, 3)).cov, COV[1:3])

    @pytest.mark.parametrize("n", [1, 2])
    def test_as_many_rows_as_coordinates(self, n):
        eye = np.eye(n)
        assert MvNormal(np.zeros((n, n)), eye).is_shared
        assert not MvNormal(np.zeros((n, n)), np.stack([eye] * n)).is_shared

    def test_diagonal(self):
        assert MvNormal(MEAN_MV_NORMAL, np.diag([1.0, 2.0, 3.0])).is_diagonal
        mixed = MvNormal(MEAN_MV_NORMAL, np.stack([np.eye(D), COV[1], np.eye(D), np.eye(D), np.eye(D)]))
        assert not mixed.is_diagonal
        assert mixed.take([0, 2]).is_diagonal

    @pytest.mark.parametrize("shared", [False, True])
    def test_nobody_writes_to_it(self, shared):
        given = COV.copy()
        distribution = MvNormal(MEAN_MV_NORMAL, given[0] if shared else given)
        given[:] = 7.0
        assert np.array_equal(distribution.cov[0], COV[0])
        arrays = (distribution.mean, distribution.cov, distribution.take([0]).cov)
        assert not any(array.flags.writeable for array in arrays)

    def test_rounding_of_float32_is_made_symmetric(self):
        given = np.array([[1.0, 0.5], [0.5 + 4e-8, 1.0]])
        distribution = MvNormal([[0.0, 0.0]], given)
        assert distribution.cov[0, 0, 1] == distribution.cov[0, 1, 0] == 0.5 + 2e-8

    def test_scales_may_differ_widely(self):
        found = MvNormal([[0.0, 0.0]], [[1e-24, 0.9], [0.9, 1e24]]).log_density([[0.0, 0.0]])[0]
        assert found == pytest.approx(-np.log(2 * np.pi) - 0.5 * np.log(0.19), rel=1e-12)


class TestAsked:
    @pytest.mark.parametrize("cov", [COV, COV[0]], ids=["own", "shared"])
    def test_agrees_with_scipy(self, cov):
        each = np.broadcast_to(cov, COV.shape)
        expected = [stats.multivariate_normal(MEAN_MV_NORMAL[i], each[i]).logpdf(X_MV_NORMAL[i]) for i in range(N)]
        np.testing.assert_allclose(MvNormal(MEAN_MV_NORMAL, cov).log_density(X_MV_NORMAL), expected, rtol=1e-12)

    def test_shapes_of_points(self):
        x, log_density = X_MV_NORMAL, MvNormal(MEAN_MV_NORMAL, COV).log_density
        table, close = log_density(x), partial(np.allclose, rtol=1e-13, atol=1e-300)
        assert close(log_density(x[:, 2]), table[:, 2])
        assert close(log_density(x[:1])[0], table[0])
        assert close(log_density(x[0, 0]), log_density(np.tile(x[0, 0], (N, 1))))

    def test_refused_points(self, refusal):
        distribution = MvNormal(MEAN_MV_NORMAL, COV)
        for x in (0.0, X_MV_NORMAL[:, :, :2], X_MV_NORMAL[:4], X_MV_NORMAL[:4, 0], X_MV_NORMAL[None]):
            assert "points must have shape (5, 3) or (5, k, 3)" in refusal(distribution.log_density, x)

    def test_one_coordinate_is_the_normal_distribution(self):
        x = np.linspace(-4, 4, 7)
        distribution = MvNormal(np.zeros((1, 1)), [[4.0]])
        expected = Normal(0, 2).log_density(x[None])
        np.testing.assert_allclose(distribution.log_density(x[None, :, None]), expected, rtol=1e-14)

    def test_far_away(self):
        assert MvNormal([[0.0, 0.0]], np.eye(2)).log_density([[1e200, 0.0]]).tolist() == [-np.inf]

    @pytest.mark.parametrize("cov", [COV, COV[0]], ids=["own", "shared"])
    def test_draws_have_mean_and_covariance(self, cov):
        m = 20_000
        distribution = MvNormal(MEAN_MV_NORMAL, cov)
        centred = distribution.sample(m, 0) - MEAN_MV_NORMAL[:, None]
        std = np.sqrt(np.diagonal(distribution.cov, axis1=1, axis2=2))
        assert np.all(np.abs(centred.mean(axis=1)) < 5 * std / np.sqrt(m))
        found = np.einsum("nmi,nmj->nij", centred, centred) / m
        assert np.all(np.abs(found - distribution.cov) < 5 * np.sqrt(2 / m) * std[:, :, None] * std[:, None, :])


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
    "asymmetric": ((ZERO, [[1, 0.5], [0.2, 1]]), ["symmetric", "line 0, column 1 is 0.5"]),
    "asymmetric row": (
        (ZERO, np.stack([EYE, EYE, [[1, 0.5], [0.2, 1]]])),
        ["symmetric", "row 2, line 0, column 1 is 0.5"],
    ),
    "indefinite": ((ZERO, BAD_ROW[1]), ["positive definite", "smallest eigenvalue of it is -1", "Drop coordinates"]),
    "indefinite row": ((ZERO, BAD_ROW), ["positive definite", "smallest eigenvalue of row 1 is -1"]),
    "beside a badly scaled one": ((ZERO[:2], np.stack([np.diag([1e-20, 1.0]), BAD_ROW[1]])), ["of row 1 is -1"]),
    "singular": ((ZERO, np.ones((2, 2))), ["positive definite", "smallest eigenvalue of it is"]),
    "singular to rounding": ((ZERO, [[0.1, 0.3], [0.3, 0.9]]), ["positive definite", "smallest eigenvalue of it is"]),
    "bool": ((ZERO, EYE == 1), ["cov must be real numbers", "bool"]),
    "complex": ((ZERO, EYE * 1j), ["cov must be real numbers", "complex128"]),
}


def test_refused(refuses):
    refuses(lambda given: MvNormal(*given), REFUSED)
