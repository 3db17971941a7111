"""h of rows and a kernel: which form is built, and its value from integrals and from draws taken one by one."""

import itertools

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant import Laplace, Mixture, MvNormal, Normal, Samples, ScipyDistribution
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_outcomes
from calibrant.kernel_errors import fitted
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel
from calibrant.kernels.composed import VectorDistance
from calibrant.kernels.expectations import target_means
from calibrant.kernels.forms import DistributionForm, JointForm, LineForm, MeanForm, VectorForm

RNG = np.random.default_rng(0)
n = 5
MEAN, STD, Y = RNG.normal(size=n), RNG.uniform(0.5, 2, n), RNG.normal(size=n)


def chance(draws=None, seed=0):
    return fitted.Randomness(draws, np.random.default_rng(seed))


def matrix(form):
    rows = np.arange(form.n)
    H = form.h(rows[:, None], rows[None, :])
    np.fill_diagonal(H, form.diagonal())
    return H


def of_distributions(y, distribution, kernel, draws=None):
    rows = read_outcomes(y, distribution)
    some = chance(draws)
    return fitted.form_of(rows, fitted.resolved(rows, kernel, some), some)


DISTRIBUTIONS = {
    "normal": Normal(MEAN, STD),
    "laplace": Laplace(MEAN, STD),
    "mixture": Mixture([Normal(MEAN, STD), Laplace(-MEAN, 0.5)], [0.3, 0.7]),
    "gamma": ScipyDistribution(stats.gamma(2 + STD, scale=0.5)),
    "t": ScipyDistribution(stats.t(df=5, loc=MEAN, scale=STD)),
}


def target_part(distribution, y, shape, lengthscale):
    """Return h_Y by integrals over a fine grid."""
    x, step = np.linspace(-30, 30, 2401, retstep=True)
    f = np.exp(distribution.log_density(np.tile(x, (distribution.n, 1)))) * step

    def k(gap):
        u = np.abs(gap) / lengthscale
        return np.exp(-u) if shape is Exponential else np.exp(-u * u / 2)

    E1 = f @ k(np.subtract.outer(x, y))  # row i, target j
    E2 = f @ k(np.subtract.outer(x, x)) @ f.T
    return k(np.subtract.outer(y, y)) - E1 - E1.T + E2


@pytest.mark.parametrize("distance", ["wasserstein", "embedding"])
@pytest.mark.parametrize("shape", [Gaussian, Exponential])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name, shape, distance):
    distribution = DISTRIBUTIONS[name]
    if (distance == "wasserstein" and name == "mixture") or (shape is Exponential and name in ("gamma", "t")):
        return  # refused: tested below and in test_composed.py
    form = of_distributions(Y, distribution, Exponential(1.3, distance) * shape(0.9))
    assert isinstance(form, DistributionForm)
    rows = np.arange(n)
    k_P = np.exp(-form.distance(rows[:, None], rows[None, :]) / 1.3)
    np.testing.assert_allclose(matrix(form), k_P * target_part(distribution, Y, shape, 0.9), atol=2e-4)


def test_vectors_from_their_definition():
    mean, cov = RNG.normal(size=(3, 2)), np.array([np.diag([1.0, 0.5]), [[1.0, 0.3], [0.3, 0.6]], np.eye(2)])
    y = RNG.normal(size=(3, 2))
    form = of_distributions(y, MvNormal(mean, cov), Exponential(1.0) * Gaussian(0.9))
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    grid = np.array(list(itertools.product(nodes, nodes)))
    w = np.prod(list(itertools.product(weights, weights)), axis=1) / (2 * np.pi)
    Z = [mean[i] + grid @ np.linalg.cholesky(cov[i]).T for i in range(3)]

    def k(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / 2 / 0.81)

    for i, j in itertools.product(range(3), repeat=2):
        part = (
            k(y[i : i + 1], y[j : j + 1])[0, 0]
            - w @ k(Z[i], y[j : j + 1])[:, 0]
            - w @ k(Z[j], y[i : i + 1])[:, 0]
            + w @ k(Z[i], Z[j]) @ w
        )
        k_P = np.exp(-form.distance(np.array([i]), np.array([j]))[0])
        assert matrix(form)[i, j] == pytest.approx(k_P * part, abs=1e-9)


class TestSamples:
    """Even draws for one kernel, odd ones for the other, and the other way round."""

    def brute(self, draws, y, l_P, l_Y, i, j):
        halves = [[draws[r][start::2] for r in range(len(y))] for start in (0, 1)]

        def k(a, b):
            return np.exp(-((a - b) ** 2) / (2 * l_Y**2))

        def target(half):
            own = [(a, b) for a in range(len(half[i])) for b in range(len(half[j])) if i != j or a != b]
            E2 = np.mean([k(half[i][a], half[j][b]) for a, b in own])
            E1 = np.mean([k(z, y[j]) for z in half[i]]) + np.mean([k(z, y[i]) for z in half[j]])
            return k(y[i], y[j]) - E1 + E2

        def prediction(half):
            W = np.sqrt(np.mean((np.sort(half[i]) - np.sort(half[j])) ** 2))
            return np.exp(-W / l_P)

        A, B = halves
        return (prediction(A) * target(B) + prediction(B) * target(A)) / 2

    @pytest.mark.parametrize("M", [4, 5, 8])
    def test_against_a_loop(self, M):
        draws, y = RNG.normal(size=(4, M)), RNG.normal(size=4)
        form = of_distributions(y, Samples(draws), Exponential(1.2) * Gaussian(0.7))
        assert isinstance(form, MeanForm)
        expected = [[self.brute(draws, y, 1.2, 0.7, i, j) for j in range(4)] for i in range(4)]
        np.testing.assert_allclose(matrix(form), expected, rtol=1e-12)

    @pytest.mark.parametrize("M", [2, 3])
    def test_two_or_three_draws_have_no_diagonal(self, M):
        draws, y = RNG.normal(size=(4, M)), RNG.normal(size=4)
        form = of_distributions(y, Samples(draws), Exponential(1.2) * Gaussian(0.7))
        i, j = np.array([0, 2]), np.array([1, 3])
        expected = [self.brute(draws, y, 1.2, 0.7, a, b) for a, b in zip(i, j, strict=True)]
        np.testing.assert_allclose(form.h(i, j), expected, rtol=1e-12)

    def test_one_draw(self, refusal):
        assert "at least 2 draws per row" in refusal(cb.skce, [0.0, 1.0], Samples([[0.0], [1.0]]))

    def test_vectors(self):
        draws, y = RNG.normal(size=(3, 4, 2)), RNG.normal(size=(3, 2))
        form = of_distributions(y, Samples(draws), Exponential(1.2) * Gaussian(0.7))
        A, B = draws[:, 0::2], draws[:, 1::2]

        def k(a, b):
            return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / 2 / 0.49)

        def target(D, i, j):
            return k(y[[i]], y[[j]])[0, 0] - k(D[i], y[[j]]).mean() - k(D[j], y[[i]]).mean() + k(D[i], D[j]).mean()

        def prediction(D, i, j):
            square = k(D[i], D[i]).mean() - 2 * k(D[i], D[j]).mean() + k(D[j], D[j]).mean()
            return np.exp(-np.sqrt(square) / 1.2)

        expected = (prediction(A, 0, 2) * target(B, 0, 2) + prediction(B, 0, 2) * target(A, 0, 2)) / 2
        assert form.h(np.array([0]), np.array([2]))[0] == pytest.approx(expected, rel=1e-12)


class TestDraws:
    distribution = DISTRIBUTIONS["gamma"]

    def test_no_closed_form_is_refused(self, refusal):
        kernel = Exponential(1.0) * Exponential(0.9)
        message = refusal(of_distributions, Y, self.distribution, kernel, error=NotApplicableError)
        assert "ScipyDistribution of gamma with the target kernel" in message
        assert "Pass draws= " in message
        assert "rng=" in message

    @pytest.mark.parametrize("distance", ["wasserstein", "embedding"])
    def test_the_mean_over_many_draws_is_near_the_integral(self, distance):
        form = of_distributions(Y, self.distribution, Exponential(1.3, distance) * Exponential(0.9), draws=1000)
        rows = np.arange(n)
        k_P = np.exp(-form.distance(rows[:, None], rows[None, :]) / 1.3)
        np.testing.assert_allclose(matrix(form), k_P * target_part(self.distribution, Y, Exponential, 0.9), atol=0.05)

    def test_the_draws_of_the_distance_are_others(self):
        form = of_distributions(Y, self.distribution, Exponential(1.0, "embedding") * Exponential(0.9), draws=10)
        assert not np.array_equal(form.distance.means.points, form.means.points)

    def test_quadrature_needs_no_draws(self):
        exact = of_distributions(Y, self.distribution, Exponential(1.0) * Gaussian(0.9))
        asked = of_distributions(Y, self.distribution, Exponential(1.0) * Gaussian(0.9), draws=10)
        np.testing.assert_array_equal(matrix(exact), matrix(asked))


class Product(JointKernel):
    def __call__(self, p, a, q, b):
        return np.exp(-np.abs(p - q).sum(axis=1)) * (a == b)


class TestKinds:
    def test_forms(self):
        binary, classes = read_probabilities([0, 1], [0.2, 0.7]), read_probabilities([0, 1], np.eye(3)[:2])
        tv = Exponential(1.0, "tv") * Delta()
        assert isinstance(fitted.form_of(binary, tv, chance()), LineForm)
        assert isinstance(fitted.form_of(classes, tv, chance()), VectorForm)
        assert isinstance(fitted.form_of(classes, Product(), chance()), JointForm)
        assert fitted.form_of(binary, Product(), chance()).P.tolist() == [[0.8, 0.2], pytest.approx([0.3, 0.7])]

    def test_residuals_of_one_probability(self):
        rows = read_probabilities([0, 1], np.array([0.25, 0.75], "float32"))
        form = fitted.form_of(rows, Exponential(1.0) * Delta(), chance())
        assert form.e.tolist() == [-0.25, 0.25]
        assert form.x.dtype == np.float64
        assert form.factor == 2.0

    def test_binary_factor(self):
        assert fitted.binary_factor(Delta()) == 2.0
        assert fitted.binary_factor(Gaussian(1.0, "labels")) == pytest.approx(2 - 2 * np.exp(-0.5))

    def test_a_joint_kernel_that_is_not_symmetric(self, refusal):
        class Skew(JointKernel):
            def __call__(self, p, a, q, b):
                return (p[:, 0] > q[:, 0]) * (a == b) + 0.0

        message = refusal(cb.skce, [0, 1, 0], [0.1, 0.5, 0.9], kernel=Skew())
        assert "must be symmetric, k((p, a), (q, b)) = k((q, b), (p, a)); rows" in message

    def test_a_joint_kernel_that_is_not_finite(self, refusal):
        class Broken(JointKernel):
            def __call__(self, p, a, q, b):
                return np.where(p[:, 0] == q[:, 0], 1.0, np.nan)

        assert "must be finite; rows 0 and 1 give nan" in refusal(cb.skce, [0, 1], [0.1, 0.5], kernel=Broken())


FIRST, SECOND = np.array([0]), np.array([1])


def of_two(distance):
    return float(distance(FIRST, SECOND)[0])


def by_quantiles(distribution):
    """Return ∫ (F⁻¹ - F'⁻¹)² over (0, 1) of rows 0 and 1, by its square root."""
    q = (np.arange(100_000) + 0.5) / 100_000
    gap = np.diff(distribution.ppf(np.tile(q, (2, 1))), axis=0)[0]
    return np.sqrt((gap**2).mean())


class TestWasserstein:
    def test_normal(self):
        assert of_two(fitted.wasserstein(Normal([0.0, 3.0], [1.0, 5.0]))) == 5.0

    def test_laplace(self):
        assert of_two(fitted.wasserstein(Laplace([0.0, 1.0], [1.0, 3.0]))) == pytest.approx(3.0)  # √(1 + 2 · 4)

    @pytest.mark.parametrize(
        "distribution",
        [
            Normal([0.3, -1.0], [0.5, 2.0]),
            Laplace([0.3, -1.0], [0.5, 2.0]),
            ScipyDistribution(stats.gamma([2.0, 3.0], scale=[1.0, 0.5])),
            ScipyDistribution(stats.logistic([0.0, 1.0], [1.0, 0.2])),
        ],
        ids=lambda distribution: type(distribution).__name__,
    )
    def test_definition(self, distribution):
        assert of_two(fitted.wasserstein(distribution)) == pytest.approx(by_quantiles(distribution), rel=1e-3)

    def test_draws(self):
        # sorted 0, 1, 5 against 2, 2, 3: squares 4, 1, 4
        distribution = Samples([[5.0, 0.0, 1.0], [2.0, 3.0, 2.0]])
        assert of_two(fitted.wasserstein(distribution)) == pytest.approx(np.sqrt(3))

    def test_commuting_covariances(self):
        distribution = MvNormal([[0.0, 0.0], [2.0, 0.0]], [np.diag([1.0, 4.0]), np.diag([9.0, 16.0])])
        assert isinstance(fitted.wasserstein(distribution), VectorDistance)
        assert of_two(fitted.wasserstein(distribution)) == pytest.approx(np.sqrt(4 + 4 + 4))

    def test_commuting_and_general_formulas_agree(self):
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
        covariances = [Q @ np.diag(values) @ Q.T for values in ([1, 2, 3], [5, 1, 0.1], [1, 1, 1])]
        distribution = MvNormal(np.random.default_rng(1).normal(size=(3, 3)), covariances)
        rows = np.arange(3)
        assert isinstance(fitted.wasserstein(distribution), VectorDistance)
        expected = fitted.NormalWasserstein(distribution)(rows[:, None], rows[None])
        np.testing.assert_allclose(fitted.wasserstein(distribution)(rows[:, None], rows[None]), expected, atol=1e-7)

    def test_covariances_that_do_not_commute(self):
        first, second = np.diag([1.0, 0.25]), np.array([[0.5, 0.2], [0.2, 0.5]])
        distribution = MvNormal([[0.0, 1.0], [1.0, 1.0]], [first, second])
        found = fitted.wasserstein(distribution)
        assert isinstance(found, fitted.NormalWasserstein)
        # tr (A^½ B A^½)^½ of two by two matrices is √(tr AB + 2 √det AB)
        cross = np.sqrt(np.trace(first @ second) + 2 * np.sqrt(np.linalg.det(first @ second)))
        expected = np.sqrt(1 + np.trace(first) + np.trace(second) - 2 * cross)
        assert of_two(found) == pytest.approx(expected, rel=1e-12)
        assert float(found(SECOND, FIRST)[0]) == pytest.approx(expected, rel=1e-12)
        tile = found(np.array([[0], [1]]), np.array([[0, 1]]))
        np.testing.assert_allclose(tile, [[0, expected], [expected, 0]], atol=1e-7)


class TestEmbedding:
    @pytest.mark.parametrize(
        "distribution",
        [Normal([0.3, -1.0], [0.5, 2.0]), Mixture([Normal([0.0, 1.0], 1.0), Normal([2.0, 0.0], 0.5)], [0.3, 0.7])],
        ids=lambda distribution: type(distribution).__name__,
    )
    def test_definition(self, distribution):
        # d² = ∬ (f - f')(z) (f - f')(t) k(z, t)
        x, h = np.linspace(-12, 12, 1601, retstep=True)
        f, g = np.exp(distribution.log_density(np.tile(x, (2, 1))))
        k = np.exp(-((x[:, None] - x[None, :]) ** 2) / 2 / 0.7**2)
        expected = np.sqrt((f - g) @ k @ (f - g)) * h
        found = fitted.EmbeddingDistance(target_means(distribution, Gaussian(0.7, "euclidean")))
        assert of_two(found) == pytest.approx(expected, rel=1e-9)

    def test_normal_by_hand(self):
        # l = 1, both standard deviations 1, means 0 and 2: 2/√3 · (1 - exp(-4/6))
        found = fitted.EmbeddingDistance(target_means(Normal([0.0, 2.0], 1.0), Gaussian(1.0, "euclidean")))
        assert of_two(found) == pytest.approx(np.sqrt(2 / np.sqrt(3) * (1 - np.exp(-2 / 3))))

    @pytest.mark.parametrize("draws", [[[0.0, 1.0], [3.0, 2.0]], [[[0.0, 0.0], [1.0, 0.0]], [[3.0, 1.0], [2.0, 2.0]]]])
    def test_draws_use_all_pairs_and_equal_ones_too(self, draws):
        kernel, draws = Exponential(1.5, "euclidean"), np.array(draws)
        A, B = (d.reshape(2, -1) for d in draws)

        def mean(a, b):
            return np.exp(-np.linalg.norm(a[:, None] - b[None], axis=-1) / 1.5).mean()

        expected = np.sqrt(mean(A, A) - 2 * mean(A, B) + mean(B, B))
        found = of_two(fitted.EmbeddingDistance(target_means(Samples(draws), kernel)))
        assert found == pytest.approx(expected, rel=1e-12)


def test_a_level_of_equal_quantiles_has_no_scale_of_its_own(rng):
    std = rng.uniform(0.5, 1.5, 60)
    y = rng.normal(0.0, std)
    three = np.stack([-std, np.zeros(60), std], axis=1)  # all medians are 0
    quantiles = cb.Quantiles(three, [0.16, 0.5, 0.84])
    scale = float(np.median([abs(a - b) for i, a in enumerate(std) for b in std[:i]]))
    assert cb.skce(y, quantiles) == pytest.approx(cb.skce(y, quantiles, kernel=cb.kernels.Exponential(scale)))
