"""The median heuristic: the strict upper triangle, 4096 rows at most, the mean where the median is 0."""

import statistics

import numpy as np
import pytest

import calibrant as cb
from calibrant import Normal
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_outcomes
from calibrant.kernel_errors.fitted import Randomness, resolved
from calibrant.kernels import Exponential, Gaussian, median
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.median import distance_quantiles, median_lengthscale, median_points, median_rows


def l1(a, b):
    return np.abs(a - b).sum(axis=-1)


def scale(points, distance="euclidean"):
    points = np.asarray(points, dtype=float)
    return median_lengthscale(distance_of_points(points, distance), np.arange(len(points)))


def rng(seed=0):
    return np.random.default_rng(seed)


def test_strict_upper_triangle():
    # The distances 1, 3, 10, 2, 9, 7 have the median (3 + 7) / 2; with the zeros of the diagonal it would be 2.
    assert scale([0, 1, 3, 10]) == 5.0


@pytest.mark.parametrize("distance", ["tv", "l1", "euclidean", l1])
def test_vectors(distance, monkeypatch):
    monkeypatch.setattr(median, "TILE", 5)  # several tiles, the last one not full
    P = rng().dirichlet(np.ones(3), 13)
    named = {"tv": lambda a, b: l1(a, b) / 2, "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum())}
    of = named.get(distance, l1)
    every = [float(of(P[i], P[j])) for i in range(13) for j in range(i)]
    assert scale(P, distance) == pytest.approx(statistics.median(every), rel=1e-14)


def test_median_zero_is_the_mean():
    # 6 of 10 distances are 0, the others 0.5
    assert scale([0.2, 0.2, 0.2, 0.2, 0.7]) == pytest.approx(0.2)


def test_rows_that_are_all_alike(refusal):
    message = refusal(scale, [0.3] * 5, error=cb.errors.NotApplicableError)
    assert "the predictions are the same in all 5 rows" in message
    assert "pass a kernel that has one, such as kernel=Exponential(1.0)" in message
    assert "needs two rows of the predictions; got 1" in refusal(scale, [0.3], error=cb.errors.NotApplicableError)


def test_all_rows_up_to_4096():
    generator = rng()
    assert median_rows(4096, generator).tolist() == list(range(4096))
    assert generator.random() == rng().random()  # none was drawn


def test_4096_rows_of_more():
    rows = median_rows(5000, rng())
    assert rows.size == 4096 == np.unique(rows).size
    assert rows.max() < 5000
    np.testing.assert_array_equal(rows, median_rows(5000, rng()))
    assert not np.array_equal(rows, median_rows(5000, rng(1)))


def test_a_subsample_is_repeatable_through_the_verb(monkeypatch):
    monkeypatch.setattr(median, "MAX_MEDIAN_ROWS", 20)
    p = rng().random(100)
    y = rng(1).integers(0, 2, 100)
    first, again, other = (cb.skce(y, p, rng=seed) for seed in (3, 3, 4))
    assert first == again != other
    # The rows are those of the sorted scores.
    few = np.sort(p)[np.sort(rng(3).choice(100, 20, replace=False))]
    assert first == pytest.approx(cb.skce(y, p, kernel=Exponential(scale(few))), rel=1e-13)


class TestResolved:
    def of(self, rows, kernel=None):
        return resolved(rows, kernel, Randomness(None, rng()))

    def test_one_probability_and_two_columns(self):
        p = np.array([0.0, 0.1, 0.3, 1.0])
        found = self.of(read_probabilities([0, 1, 1, 0], p))
        assert found == Exponential(scale(p), "tv") * cb.kernels.Delta()
        columns = self.of(read_probabilities([0, 1, 1, 0], np.column_stack([1 - p, p])))
        assert found.prediction.lengthscale == pytest.approx(0.5)
        assert columns.prediction.lengthscale == pytest.approx(0.5)

    def test_labels(self):
        rows = read_probabilities([0, 2, 2, 2], np.eye(3)[[0, 1, 2, 2]])
        found = self.of(rows, Exponential(1.0) * Gaussian(distance="labels"))
        assert found.target.lengthscale == 1.0  # the median of 2, 2, 2, 0, 0, 0

    def test_distributions(self):
        y, mean, std = [0.0, 1.0, 3.0], [0.0, 3.0, 0.0], [1.0, 5.0, 2.0]
        found = self.of(read_outcomes(y, Normal(mean, std)))
        # the distances of (0, 1), (3, 5), (0, 2) are 5, 1 and √18
        assert found.prediction == Exponential(18**0.5, "wasserstein")
        assert found.target == Gaussian(2.0, "euclidean")

    def test_samples_take_the_mean_of_both_halves(self):
        draws = np.array([[0.0, 0.0], [1.0, 3.0], [10.0, 30.0]])
        found = self.of(read_outcomes([0.0, 1.0, 2.0], cb.Samples(draws)))
        assert found.prediction.lengthscale == pytest.approx((9 + 27) / 2)

    def test_equal_outcomes(self, refusal):
        rows = read_outcomes([1.0, 1.0, 1.0], Normal([0.0, 1.0, 2.0], 1.0))
        assert "the outcomes are the same in all 3 rows" in refusal(self.of, rows, error=cb.errors.NotApplicableError)


class TestPoints:
    def test_few_are_all_taken(self):
        Z = rng().normal(size=(50, 2))
        assert median_points(Z, rng()) is Z

    def test_of_many_the_same_are_drawn_in_any_order(self, monkeypatch):
        monkeypatch.setattr(median, "MAX_MEDIAN_ROWS", 20)
        Z = rng().normal(size=(100, 2))
        few = median_points(Z, rng(3))
        assert len(np.unique(few, axis=0)) == 20
        np.testing.assert_array_equal(median_points(rng(1).permutation(Z), rng(3)), few)


class TestQuantiles:
    def of(self, points, shares):
        points = np.asarray(points, dtype=float)
        distance = distance_of_points(points, "euclidean")
        return distance_quantiles(distance, np.arange(len(points)), shares, "the points").tolist()

    def test_linear_between_distances(self):
        # the distances are 1, 3, 10, 2, 9, 7
        assert self.of([0, 1, 3, 10], (0.0, 0.1, 0.5, 1.0)) == [1.0, 1.5, 5.0, 10.0]

    def test_a_quantile_of_zero(self):
        # six distances of 0, four of 0.5
        assert self.of([0.5, 0.5, 0.5, 0.5, 1.0], (0.05, 0.95)) == [0.5, 0.5]
        assert self.of([0.5, 0.5, 0.5, 0.5, 1.0], (0.7, 0.95)) == [0.5, 0.5]
        assert self.of([0, 0, 1, 3], (0.5,)) == [1.5]  # 0, 1, 1, 2, 3, 3: nothing is left out

    def test_rows_that_are_all_alike(self, refusal):
        message = refusal(self.of, [0.3] * 5, (0.05,), error=cb.errors.NotApplicableError)
        assert message == "the points are the same in all 5 rows and have no length scale"

    def test_too_far_apart(self, refusal):
        with np.errstate(over="ignore"):
            message = refusal(self.of, [[-1e308], [1e308], [0.0]], (0.95,), error=cb.errors.NotApplicableError)
        assert "too large for floating point" in message
