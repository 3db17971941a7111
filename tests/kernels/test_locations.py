"""Rows compared with test locations."""

import numpy as np
import pytest

from calibrant import Delta, Exponential, Gaussian, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.inputs import read_probabilities
from calibrant.inputs.outcomes import read_outcomes
from calibrant.kernels.expectations import target_means
from calibrant.kernels.fitted import Chance
from calibrant.kernels.locations import Locations, location_scores

RNG = np.random.default_rng(0)


def scores(rows, places, kernel, chosen=None):
    some = Chance(None, np.random.default_rng(0))
    return location_scores(rows, Locations(places, chosen), kernel, some).of(rows.y)


@pytest.mark.parametrize("target", [Delta(), Gaussian(1.0, "labels")])
def test_classes(target):
    P, y = RNG.dirichlet(np.ones(3), 6), RNG.integers(0, 3, 6)
    t, u = RNG.dirichlet(np.ones(3), 2), np.array([2, 0])
    G = target.of_distance(np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
    k = np.exp(-np.abs(P[:, None] - t[None]).sum(axis=2) / 2 / 0.4)
    found = scores(read_probabilities(y, P), read_probabilities(u, t), Exponential(0.4, "tv") * target)
    np.testing.assert_allclose(found, k * (G[y][:, u] - (P @ G)[:, u]), rtol=1e-13, atol=1e-15)


def test_one_probability_is_two_columns():
    # ± (y - p), + for u = 1
    p, y = np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1])
    t, u = np.array([0.5, 0.2]), np.array([1, 0])
    found = scores(read_probabilities(y, p), read_probabilities(u, t), Exponential(0.4, "tv") * Delta())
    expected = np.exp(-np.abs(np.subtract.outer(p, t)) / 0.4) * (y - p)[:, None] * [1, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    both = (np.column_stack([1 - x, x]) for x in (p, t))
    rows, places = (read_probabilities(v, P) for v, P in zip((y, u), both, strict=True))
    np.testing.assert_allclose(scores(rows, places, Exponential(0.4, "tv") * Delta()), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("law", "places"),
    [
        (Normal([0.0, 1.0, 2.0], [1.0, 2.0, 0.5]), Normal([0.5, 0.0], [1.0, 3.0])),
        (Laplace([0.0, 1.0, 2.0], [1.0, 2.0, 0.5]), Laplace([0.5, 0.0], [1.0, 3.0])),
        (
            Mixture([Normal([0.0, 1.0, 2.0], 1.0), Normal([1.0, 1.0, 1.0], 2.0)], [0.4, 0.6]),
            Mixture([Normal([0.5, 0.0], 1.0), Normal([2.0, 1.0], 0.1)], [0.5, 0.5]),
        ),
    ],
    ids=["normal", "laplace", "mixture"],
)
def test_laws(law, places):
    y, u = np.array([0.3, 0.9, 2.5]), np.array([0.0, 1.0])
    kernel = Exponential(1.0, "embedding") * Gaussian(0.7, "euclidean")
    found = scores(read_outcomes(y, law), read_outcomes(u, places), kernel)
    means, others = (target_means(some, kernel.target) for some in (law, places))
    i = np.arange(3)[:, None]
    bracket = np.exp(-(np.subtract.outer(y, u) ** 2) / 2 / 0.49) - means.single(i, u[None, :])
    assert found.shape == (3, 2)
    # k_P is what is left: 1 at the row's own law, and never larger
    ratio = found / bracket
    assert (ratio > 0).all()
    assert (ratio < 1).all()
    own = scores(read_outcomes(y, law), read_outcomes(y, law), kernel)
    alone = 1 - means.single(np.arange(3), y)
    np.testing.assert_allclose(own.diagonal(), alone, rtol=1e-12)
    assert others is not means


def test_wasserstein_of_normal_laws():
    rows, places = read_outcomes([0.3], Normal([0.0], 1.0)), read_outcomes([1.0], Normal([3.0], 5.0))
    s2 = 0.49 + 1
    bracket = np.exp(-(0.7**2) / 2 / 0.49) - np.sqrt(0.49 / s2) * np.exp(-1 / 2 / s2)
    found = scores(rows, places, Exponential(2.0, "wasserstein") * Gaussian(0.7, "euclidean"))
    assert found[0, 0] == pytest.approx(np.exp(-5 / 2) * bracket, rel=1e-12)


def test_vectors():
    law = MvNormal([[0.0, 0.0], [1.0, 1.0]], np.eye(2))
    y, u = np.array([[0.5, 0.0], [1.0, 2.0]]), np.array([[0.0, 0.0]])
    places = MvNormal([[0.0, 1.0]], np.eye(2))
    found = scores(read_outcomes(y, law), read_outcomes(u, places), Exponential(1.0, "wasserstein") * Gaussian(1.0))
    k = np.exp(-np.array([1.0, 1.0]))
    gap = (y**2).sum(axis=1)
    expected = np.exp(-gap / 2) - 0.5 * np.exp(-np.array([0.0, 2.0]) / 4)
    np.testing.assert_allclose(found[:, 0], k * expected, rtol=1e-12)


def test_draws_are_split():
    draws, y, u = np.array([[0.0, 1.0, 2.0, 5.0]]), np.array([0.5]), np.array([1.0])
    other = np.array([[1.0, 1.0, 0.0, 2.0]])
    found = scores(
        read_outcomes(y, Samples(draws)),
        read_outcomes(u, Samples(other)),
        Exponential(1.0, "wasserstein") * Gaussian(1.0),
    )

    def W(a, b):
        return np.sqrt(((np.sort(a) - np.sort(b)) ** 2).mean())

    def bracket(half):
        return np.exp(-0.125) - np.exp(-((half - 1.0) ** 2) / 2).mean()

    A, B = draws[0, ::2], draws[0, 1::2]
    k = [np.exp(-W(a, b)) for a, b in ((A, other[0, ::2]), (B, other[0, 1::2]))]
    assert found[0, 0] == pytest.approx((k[0] * bracket(B) + k[1] * bracket(A)) / 2, rel=1e-12)


def test_rows_of_the_data_and_the_same_rows_given():
    law, y = Normal([0.0, 1.0, 2.0], [1.0, 2.0, 0.5]), np.array([0.3, 0.9, 2.5])
    kernel = Exponential(1.0, "wasserstein") * Gaussian(1.0, "euclidean")
    places = read_outcomes([0.0, 1.0], law.take(np.array([2, 0])))
    rows = read_outcomes(y, law)
    np.testing.assert_array_equal(scores(rows, places, kernel, np.array([2, 0])), scores(rows, places, kernel))


class TestRefusals:
    def test_another_number_of_classes(self, refusal):
        rows, places = read_probabilities([0], [[0.5, 0.25, 0.25]]), read_probabilities([0], np.full((1, 4), 0.25))
        message = refusal(scores, rows, places, Exponential(1.0, "tv") * Delta())
        assert "the 3 classes of the prediction; got 4" in message

    def test_another_law(self, refusal):
        rows, places = read_outcomes([0.0], Normal([0.0], 1.0)), read_outcomes([0.0], Laplace([0.0], 1.0))
        message = refusal(scores, rows, places, Exponential(1.0, "wasserstein") * Gaussian(1.0))
        assert "a law like that of the prediction" in message
        assert "Normal" in message
        assert "Laplace" in message

    def test_another_kind(self, refusal):
        rows, places = read_outcomes([0.0], Normal([0.0], 1.0)), read_probabilities([0], [0.5])
        assert "of the same kind" in refusal(scores, rows, places, Exponential(1.0, "wasserstein") * Gaussian(1.0))


class TestDigest:
    kernel = Exponential(1.0, "wasserstein") * Gaussian(1.0)

    def test_like_and_unlike(self):
        def digest(y, prediction, kernel=self.kernel):
            read = read_outcomes if isinstance(prediction, Normal) else read_probabilities
            return Locations(read(y, prediction)).digest(kernel)

        same = digest([0.0, 1.0], Normal([0.0, 1.0], 1.0))
        assert same == digest([0.0, 1.0], Normal([0.0, 1.0], 1.0))
        others = {
            same,
            digest([0.0, 2.0], Normal([0.0, 1.0], 1.0)),
            digest([0.0, 1.0], Normal([0.0, 1.5], 1.0)),
            digest([0.0, 1.0], Normal([0.0, 1.0], 2.0)),
            digest([0.0, 1.0], Normal([0.0, 1.0], 1.0), Exponential(2.0, "wasserstein") * Gaussian(1.0)),
            digest([0, 1], [0.5, 0.25]),
            digest([0, 1], [0.5, 0.75]),
            digest([0, 1], [[0.5, 0.5], [0.5, 0.5]]),
        }
        assert len(others) == 8

    def test_laws_that_print_alike(self):
        # Long arrays are printed with dots in the middle, and digits are rounded.
        mean = np.linspace(0, 1, 3000)
        other = mean.copy()
        other[1500] += 0.25
        y = np.zeros(3000)
        first, second = (Locations(read_outcomes(y, Normal(m, 1.0))).digest(self.kernel) for m in (mean, other))
        assert first != second
        near = Locations(read_outcomes([0.0], Normal([1 / 3], 1.0))).digest(self.kernel)
        assert near != Locations(read_outcomes([0.0], Normal([1 / 3 + 1e-13], 1.0))).digest(self.kernel)
