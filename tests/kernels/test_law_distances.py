"""2-Wasserstein and embedding distances of predictive laws, by hand and against their definitions."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Exponential, Gaussian, Laplace, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.kernels.distances import VectorDistance
from calibrant.kernels.expectations import target_means
from calibrant.kernels.law_distances import EmbeddingDistance, NormalWasserstein, coordinates, wasserstein

FIRST, SECOND = np.array([0]), np.array([1])


def of_two(distance):
    return float(distance(FIRST, SECOND)[0])


def by_quantiles(law):
    """Return ∫ (F⁻¹ - F'⁻¹)² over (0, 1) of rows 0 and 1, by its square root."""
    q = (np.arange(100_000) + 0.5) / 100_000
    gap = np.diff(law.ppf(np.tile(q, (2, 1))), axis=0)[0]
    return np.sqrt((gap**2).mean())


class TestWasserstein:
    def test_normal(self):
        assert of_two(wasserstein(Normal([0.0, 3.0], [1.0, 5.0]))) == 5.0

    def test_laplace(self):
        assert of_two(wasserstein(Laplace([0.0, 1.0], [1.0, 3.0]))) == pytest.approx(3.0)  # √(1 + 2 · 4)

    @pytest.mark.parametrize(
        "law",
        [
            Normal([0.3, -1.0], [0.5, 2.0]),
            Laplace([0.3, -1.0], [0.5, 2.0]),
            ScipyLaw(stats.gamma([2.0, 3.0], scale=[1.0, 0.5])),
            ScipyLaw(stats.logistic([0.0, 1.0], [1.0, 0.2])),
        ],
        ids=lambda law: type(law).__name__,
    )
    def test_definition(self, law):
        assert of_two(wasserstein(law)) == pytest.approx(by_quantiles(law), rel=1e-3)

    def test_a_law_by_its_quantiles_agrees_with_the_closed_form(self):
        mean, std = [0.3, -1.0], [0.5, 2.0]
        by_scipy = of_two(wasserstein(ScipyLaw(stats.norm(mean, std))))
        assert by_scipy == pytest.approx(of_two(wasserstein(Normal(mean, std))), rel=1e-9)

    def test_draws(self):
        # sorted 0, 1, 5 against 2, 2, 3: squares 4, 1, 4
        law = Samples([[5.0, 0.0, 1.0], [2.0, 3.0, 2.0]])
        assert of_two(wasserstein(law)) == pytest.approx(np.sqrt(3))

    def test_commuting_covariances(self):
        law = MvNormal([[0.0, 0.0], [2.0, 0.0]], [np.diag([1.0, 4.0]), np.diag([9.0, 16.0])])
        assert isinstance(wasserstein(law), VectorDistance)
        assert of_two(wasserstein(law)) == pytest.approx(np.sqrt(4 + 4 + 4))

    def test_commuting_and_general_formulas_agree(self):
        Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
        covariances = [Q @ np.diag(values) @ Q.T for values in ([1, 2, 3], [5, 1, 0.1], [1, 1, 1])]
        law = MvNormal(np.random.default_rng(1).normal(size=(3, 3)), covariances)
        rows = np.arange(3)
        assert isinstance(wasserstein(law), VectorDistance)
        np.testing.assert_allclose(
            wasserstein(law)(rows[:, None], rows[None]), NormalWasserstein(law)(rows[:, None], rows[None]), atol=1e-7
        )

    def test_covariances_that_do_not_commute(self):
        first, second = np.diag([1.0, 0.25]), np.array([[0.5, 0.2], [0.2, 0.5]])
        law = MvNormal([[0.0, 1.0], [1.0, 1.0]], [first, second])
        found = wasserstein(law)
        assert isinstance(found, NormalWasserstein)
        # tr (A^½ B A^½)^½ of two by two matrices is √(tr AB + 2 √det AB)
        cross = np.sqrt(np.trace(first @ second) + 2 * np.sqrt(np.linalg.det(first @ second)))
        expected = np.sqrt(1 + np.trace(first) + np.trace(second) - 2 * cross)
        assert of_two(found) == pytest.approx(expected, rel=1e-12)
        assert float(found(SECOND, FIRST)[0]) == pytest.approx(expected, rel=1e-12)
        tile = found(np.array([[0], [1]]), np.array([[0, 1]]))
        np.testing.assert_allclose(tile, [[0, expected], [expected, 0]], atol=1e-7)

    def test_shared_covariance(self):
        law = MvNormal([[0.0, 0.0], [3.0, 4.0]], [[1.0, 0.3], [0.3, 0.5]])
        assert of_two(wasserstein(law)) == pytest.approx(5.0)

    def test_coordinates_have_one_row_per_row(self):
        assert coordinates(Normal([0.0, 1.0, 2.0], 1.0)).shape == (3, 2)
        assert coordinates(MvNormal(np.zeros((3, 2)), np.eye(2))).shape == (3, 6)
        assert coordinates(Samples(np.zeros((3, 7)))).shape == (3, 7)


class TestEmbedding:
    @pytest.mark.parametrize(
        "law",
        [
            Normal([0.3, -1.0], [0.5, 2.0]),
            Mixture([Normal([0.0, 1.0], 1.0), Normal([2.0, 0.0], 0.5)], [0.3, 0.7]),
        ],
        ids=lambda law: type(law).__name__,
    )
    def test_definition(self, law):
        # d² = ∬ (f - f')(z) (f - f')(t) k(z, t)
        x, h = np.linspace(-12, 12, 1601, retstep=True)
        f, g = np.exp(law.log_density(np.tile(x, (2, 1))))
        k = np.exp(-((x[:, None] - x[None, :]) ** 2) / 2 / 0.7**2)
        expected = np.sqrt((f - g) @ k @ (f - g)) * h
        found = EmbeddingDistance(target_means(law, Gaussian(0.7, "euclidean")))
        assert of_two(found) == pytest.approx(expected, rel=1e-9)

    def test_normal_by_hand(self):
        # l = 1, both standard deviations 1, means 0 and 2: 2/√3 · (1 - exp(-4/6))
        found = EmbeddingDistance(target_means(Normal([0.0, 2.0], 1.0), Gaussian(1.0, "euclidean")))
        assert of_two(found) == pytest.approx(np.sqrt(2 / np.sqrt(3) * (1 - np.exp(-2 / 3))))

    @pytest.mark.parametrize("draws", [[[0.0, 1.0], [3.0, 2.0]], [[[0.0, 0.0], [1.0, 0.0]], [[3.0, 1.0], [2.0, 2.0]]]])
    def test_draws_use_all_pairs_and_equal_ones_too(self, draws):
        kernel, draws = Exponential(1.5, "euclidean"), np.array(draws)
        A, B = (d.reshape(2, -1) for d in draws)

        def mean(a, b):
            return np.exp(-np.linalg.norm(a[:, None] - b[None], axis=-1) / 1.5).mean()

        expected = np.sqrt(mean(A, A) - 2 * mean(A, B) + mean(B, B))
        assert of_two(EmbeddingDistance(target_means(Samples(draws), kernel))) == pytest.approx(expected, rel=1e-12)

    def test_equal_laws_are_at_distance_zero(self):
        law = MvNormal(np.ones((2, 3)), np.eye(3) * 0.3)
        assert of_two(EmbeddingDistance(target_means(law, Gaussian(1.0, "euclidean")))) == pytest.approx(0, abs=1e-7)
