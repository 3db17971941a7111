"""Which kernel a prediction gets, and every refusal of what does not fit."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Laplace, Mixture, MvNormal, Normal, Samples, ScipyDistribution
from calibrant.errors import InputError, NotApplicableError
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Matern32, Matern52, RationalQuadratic, composed

NORMAL = Normal([0.0, 1.0], 1.0)
MIXTURE, VECTORS = Mixture([NORMAL, NORMAL], [0.5, 0.5]), Samples(np.zeros((2, 4, 3)))
TURNED = MvNormal(np.zeros((2, 2)), [np.diag([1.0, 2.0]), [[1.0, 0.3], [0.3, 1.0]]])


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.ones(len(p))


class TestOption:
    @pytest.mark.parametrize("kernel", [None, Exponential(), Gaussian(1.0) * Delta(), Joint()])
    def test_kernels(self, kernel):
        composed.check_kernel_option(kernel)

    @pytest.mark.parametrize("kernel", [Exponential, Delta, Joint])
    def test_a_class(self, kernel, refusal):
        expected = f"kernel must be a kernel, not a class: write {kernel.__name__}()"
        assert refusal(composed.check_kernel_option, kernel) == expected

    @pytest.mark.parametrize("kernel", ["exponential", 0.2, np.exp, (Exponential(), Delta()), int])
    def test_what_is_no_kernel(self, kernel, refusal):
        message = refusal(composed.check_kernel_option, kernel)
        assert "Exponential(0.2) * Delta()" in message
        assert repr(kernel)[:20] in message


class TestProbabilities:
    def test_defaults(self):
        assert composed.probability_kernel(None, 3) == Exponential("median", "tv") * Delta()
        assert composed.probability_kernel(Matern32(0.5), 1) == Matern32(0.5, "tv") * Delta()
        expected = Gaussian(0.5, "euclidean") * Gaussian(1.0, "labels")
        assert composed.probability_kernel(Gaussian(0.5, "euclidean") * Gaussian(1.0, "labels"), 4) == expected
        for kernel in (Gaussian(1.0, "euclidean"), Exponential(1.0, "tv"), Exponential(1.0, "l1")):
            assert composed.probability_kernel(kernel, 10).prediction == kernel

    @pytest.mark.parametrize("shape", [Gaussian, Matern32, Matern52, RationalQuadratic])
    @pytest.mark.parametrize("distance", ["tv", "l1"])
    def test_smooth_shapes_with_an_l1_distance(self, shape, distance, refusal):
        kernel = shape(lengthscale=1.0, distance=distance)
        for K in (1, 2):
            assert composed.probability_kernel(kernel, K).prediction == kernel
        message = refusal(composed.probability_kernel, kernel, 3)
        assert f"{shape.__name__} with distance='{distance}' is not positive definite for 3 classes" in message
        assert f"distance='euclidean', or Exponential(distance='{distance}')" in message

    @pytest.mark.parametrize(
        ("kernel", "words"),
        [
            (Gaussian(), "Gaussian with distance='tv' is not positive definite for 3 classes"),
            (Delta(), "Delta() is a kernel on classes"),
            (Delta() * Delta(), "Delta() is a kernel on classes"),
            (Exponential(1.0, "wasserstein"), "is not a distance of probabilities; use one of tv, l1, euclidean"),
            (Exponential(1.0, "labels"), "distance='labels' is not a distance of probabilities"),
            (Exponential() * Gaussian(1.0), "these are classes; use Delta(), or for classes in a meaningful order"),
        ],
    )
    def test_refused(self, kernel, words, refusal):
        assert words in refusal(composed.probability_kernel, kernel, 3)

    def test_a_function_is_taken_as_it_is(self):
        kernel = Gaussian(1.0, lambda a, b: a) * Exponential(1.0, lambda a, b: a)
        assert composed.probability_kernel(kernel, 5) == kernel


class TestDistributions:
    @pytest.mark.parametrize(
        ("distribution", "distance", "target"),
        [
            (NORMAL, "wasserstein", Gaussian),
            (Laplace([0.0], 1.0), "wasserstein", Exponential),
            (ScipyDistribution(stats.gamma([2.0, 3.0])), "wasserstein", Gaussian),
            (Samples(np.zeros((2, 4))), "wasserstein", Gaussian),
            (VECTORS, "embedding", Gaussian),
            (MvNormal(np.zeros((2, 2)), np.eye(2)), "embedding", Gaussian),
            (MIXTURE, "embedding", Gaussian),
        ],
        ids=lambda value: getattr(value, "__name__", type(value).__name__),
    )
    def test_defaults(self, distribution, distance, target):
        expected = Exponential("median", distance) * target("median", "euclidean")
        assert composed.distribution_kernel(None, distribution) == expected

    def test_given(self):
        target = Gaussian("median", "euclidean")
        for kernel, expected in (
            (Matern52(2.0), Matern52(2.0, "wasserstein") * target),
            (Exponential(1.0, "wasserstein") * Gaussian(1.0, "euclidean"), None),
        ):
            assert composed.distribution_kernel(kernel, NORMAL) == (expected or kernel)

    @pytest.mark.parametrize(
        ("kernel", "distribution", "error", "words"),
        [
            (Joint(), NORMAL, NotApplicableError, "for class probabilities only; got Normal"),
            (Delta(), NORMAL, InputError, "Delta() is a kernel on classes"),
            (Exponential(1.0, lambda a, b: a), NORMAL, InputError, "for Normal use 'wasserstein' or 'embedding'"),
            (Exponential(1.0, "tv"), NORMAL, InputError, "distance of Normal; use one of wasserstein, embedding"),
            (Exponential(1.0, "wasserstein"), MIXTURE, NotApplicableError, "no form for Mixture; use distance='emb"),
            (Exponential(1.0, "wasserstein"), VECTORS, NotApplicableError, "no form for Samples in several dimensions"),
            (Exponential() * Delta(), NORMAL, InputError, "these outcomes are real; use Gaussian()"),
            (Exponential() * Gaussian(1.0, "labels"), NORMAL, InputError, "these outcomes are real; use Gaussian()"),
            (Exponential() * Gaussian(1.0, "tv"), NORMAL, InputError, "leave distance out"),
            (Exponential() * Gaussian(1.0, lambda a, b: a), NORMAL, InputError, "leave distance out"),
        ],
    )
    def test_refused(self, kernel, distribution, error, words, refusal):
        assert words in refusal(composed.distribution_kernel, kernel, distribution, error=error)

    @pytest.mark.parametrize("shape", [Gaussian, Matern32, Matern52, RationalQuadratic])
    def test_wasserstein_of_covariances_that_do_not_commute(self, shape, refusal):
        kernel = shape(lengthscale=1.0, distance="wasserstein")
        message = refusal(composed.distribution_kernel, kernel, TURNED)
        assert "covariances do not commute; use distance='embedding', or Exponential" in message
        assert composed.distribution_kernel(kernel, MvNormal(np.zeros((2, 2)), np.eye(2))).prediction == kernel

        exponential = Exponential(1.0, "wasserstein")
        assert composed.distribution_kernel(exponential, TURNED).prediction.distance == "wasserstein"


class TestTargetMatrix:
    def test_labels(self):
        e = np.exp(-np.arange(3) / 2)
        expected = [[e[0], e[1], e[2]], [e[1], e[0], e[1]], [e[2], e[1], e[0]]]
        np.testing.assert_allclose(composed.target_matrix(Exponential(2.0, "labels"), 3), expected, rtol=1e-15)
        assert composed.target_matrix(Delta(), 3) is None

    def test_a_function_of_labels(self):
        cost = np.array([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
        found = composed.target_matrix(Exponential(1.0, lambda a, b: cost[a, b]), 3)
        np.testing.assert_allclose(found, np.exp(-cost))

    def test_not_symmetric(self, refusal):
        message = refusal(composed.target_matrix, Exponential(1.0, lambda a, b: np.maximum(a - b, 0)), 3)
        assert message == "a distance must be symmetric; rows 0 and 1 have 0 one way and 1 the other"


class TestCommute:
    def test_shared_diagonal_and_turned(self):
        assert composed.commute(MvNormal(np.zeros((3, 2)), [[1.0, 0.3], [0.3, 1.0]]))
        assert composed.commute(MvNormal(np.zeros((2, 2)), [np.diag([1.0, 2.0]), np.diag([3.0, 0.5])]))
        assert not composed.commute(TURNED)
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
        covariances = [Q @ np.diag(values) @ Q.T for values in ([1, 2, 3], [5, 1, 0.1], [1, 1, 1])]
        assert composed.commute(MvNormal(np.zeros((3, 3)), covariances))  # one frame of axes

    def test_one_row_that_differs_among_many(self):
        covariances = np.array([np.diag([1.0 + i, 2.0]) for i in range(50)])
        covariances[31] = [[1.0, 1e-3], [1e-3, 2.0]]
        assert not composed.commute(MvNormal(np.zeros((50, 2)), covariances))


def test_wasserstein_may_fail_where_covariances_do_not_commute(refusal):
    # 0.99 u uᵀ + 0.01 I at six angles: the eigenvalue -0.055 that the refusal is for.
    from calibrant.kernel_errors.fitted import wasserstein

    angles = np.deg2rad(np.arange(0, 180, 30))
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    distribution = MvNormal(np.zeros((6, 2)), 0.99 * u[:, :, None] * u[:, None, :] + 0.01 * np.eye(2))
    rows = np.arange(6)
    G = Gaussian(1.0).of_distance(wasserstein(distribution)(rows[:, None], rows[None, :]))
    assert np.linalg.eigvalsh(G)[0] == pytest.approx(-0.055, abs=5e-4)
    refusal(composed.distribution_kernel, Gaussian(1.0, "wasserstein"), distribution)


P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
ROWS = np.arange(4)


def l1(a, b):
    return np.abs(a - b).sum(axis=-1)


def all_pairs(distance, n):
    i, j = (a.reshape(-1) for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    return distance(i, j).reshape(n, n)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tv", [0.25, 0.5]), ("l1", [0.5, 1.0]), ("euclidean", [np.sqrt(2) / 4, np.sqrt(0.25 + 2 / 16)])],
)
def test_values(name, expected):
    distance = composed.distance_of_points(P, name)
    assert distance(np.array([0, 0]), np.array([1, 2])) == pytest.approx(expected)


@pytest.mark.parametrize("distance", ["tv", "l1", "euclidean", l1])
def test_tiles_and_pairs_agree(distance):
    found = composed.distance_of_points(P, distance)
    tile = found(ROWS[:, None], ROWS[None, :])
    np.testing.assert_allclose(tile, all_pairs(found, 4), rtol=1e-14)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-14)
    assert (tile.diagonal() == 0).all()
    np.testing.assert_allclose(found(ROWS[1:3, None], ROWS[None, 2:]), tile[1:3, 2:], rtol=1e-14)


def test_numbers():
    x = np.array([0.0, 0.25, 1.0])
    for name in ("tv", "euclidean", "l1", "labels"):
        assert isinstance(composed.distance_of_points(x, name), composed.LineDistance)
    assert composed.distance_of_points(x, "tv")(np.array([0, 2]), np.array([1, 1])).tolist() == [0.25, 0.75]
    own = composed.distance_of_points(x, lambda a, b: (a - b) ** 2)
    assert own(np.array([0, 2]), np.array([1, 1])).tolist() == [0.0625, 0.5625]


class TestOwn:
    def test_gets_pairs_of_points_that_it_may_write_to(self):
        points = P.copy()

        def greedy(a, b):
            assert a.shape == b.shape == (len(a), 3)
            d = l1(a, b)
            a[:], b[:] = 9, 9
            return d

        distance = composed.distance_of_points(points, greedy)
        distance(ROWS[:, None], ROWS[None])
        np.testing.assert_array_equal(points, P)

    @pytest.mark.parametrize(
        ("own", "words"),
        [
            (lambda a, b: np.abs(a - b), "expected shape (16,), got shape (16, 3) and type float64"),
            (lambda a, b: l1(a[:, None], b[None]), "expected shape (16,), got shape (16, 16)"),
            (lambda a, b: np.maximum(a - b, 0)[:, 0], "must be symmetric; rows 0 and 1 have 0.25 one way and 0 the"),
            (lambda a, b: l1(a, b) + 1, "0 between a point and itself; row 0 has 1"),
        ],
    )
    def test_refused(self, own, words, refusal):
        assert words in refusal(composed.distance_of_points, P, own)

    @pytest.mark.parametrize(("bad", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-0.5, "-0.5")])
    def test_finite_and_not_negative(self, bad, shown, refusal):
        def spoilt(a, b):
            return np.where((a == P[2]).all(axis=1) & (b == P[1]).all(axis=1), bad, l1(a, b))

        message = refusal(composed.distance_of_points, P, spoilt)
        assert message == f"a distance must be finite and at least 0; rows 2 and 1 have {shown}"

    def test_whole_numbers_are_made_floats(self):
        found = composed.distance_of_points(P, lambda a, b: (a[:, 0] != b[:, 0]).astype(int))(ROWS[:, None], ROWS[None])
        assert found.dtype == np.float64
        assert found[0].tolist() == [0, 1, 1, 0]

    def test_far_apart_rows_are_checked_when_met(self, refusal):
        points = np.linspace(0, 1, 500)
        distance = composed.distance_of_points(
            points, lambda a, b: np.where((a == points[7]) | (b == points[7]), -1, abs(a - b))
        )
        assert "rows 7 and 400 have -1" in refusal(distance, np.array([1, 7]), np.array([3, 400]))
