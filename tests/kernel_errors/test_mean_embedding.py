"""Unnormalised calibration mean embedding."""

import numpy as np
import pytest

import calibrant as cb
from calibrant import Laplace, Mixture, MvNormal, Normal, Samples, summarize
from calibrant.errors import SummaryError
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_outcomes
from calibrant.kernel_errors import ucme
from calibrant.kernel_errors.fitted import Randomness
from calibrant.kernel_errors.mean_embedding import UCME, Locations, located, location_scores
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel
from calibrant.kernels.expectations import target_means

RNG = np.random.default_rng(0)
n = 40
P1 = RNG.integers(0, 17, n) / 16
Y1 = (RNG.random(n) < P1**0.7).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = RNG.integers(0, 3, n)
DISTRIBUTION = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)
KERNEL = Exponential(0.3)


def test_by_hand():
    # residual 0.75 at 0.25 and -1 at 1, seen from 0.5 with u = 1 and from 1 with u = 0
    Z = np.array([[0.75, -0.75], [-1.0, 1.0]]) * np.exp(-np.array([[0.25, 0.75], [0.5, 0.0]]) / 0.3)
    found = ucme([1, 0], [0.25, 1.0], locations=([0.5, 1.0], [1, 0]), kernel=KERNEL)
    assert found == pytest.approx((Z.mean(axis=0) ** 2).mean(), rel=1e-12)
    w = np.array([1.0, 3.0])
    weighted = ucme([1, 0], [0.25, 1.0], locations=([0.5, 1.0], [1, 0]), kernel=KERNEL, weights=w)
    assert weighted == pytest.approx((np.average(Z, axis=0, weights=w) ** 2).mean(), rel=1e-12)


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
def test_classes(w):
    t, u = P3[:4] ** 2 / (P3[:4] ** 2).sum(axis=1, keepdims=True), np.array([0, 1, 2, 0])
    k = np.exp(-np.abs(P3[:, None] - t[None]).sum(axis=2) / 2 / 0.3)
    Z = k * ((Y3[:, None] == u) - P3[:, u])
    found = ucme(Y3, P3, locations=(t, u), kernel=KERNEL, weights=w)
    assert found == pytest.approx((np.average(Z, axis=0, weights=w) ** 2).mean(), rel=1e-11)


class TestDrawn:
    @pytest.mark.parametrize(
        ("y", "prediction"), [(Y1, P1), (Y3, P3), (REAL, DISTRIBUTION)], ids=["binary", "classes", "distributions"]
    )
    def test_repeatable(self, y, prediction):
        found = [ucme(y, prediction, locations=5, rng=seed) for seed in (1, 1, 2)]
        assert found[0] == found[1] != found[2]

    def test_ten_by_default(self):
        assert ucme(Y3, P3) == ucme(Y3, P3, locations=10)
        assert len(summarize(ucme, Y3, P3).names) == 10

    def test_targets_come_from_the_predictions(self):
        # Predictions that are certain have certain targets: class 0 only.
        P = np.tile([1.0, 0.0], (20, 1))
        P[0] = [0.5, 0.5]
        y = np.ones(20, dtype=int)
        found = [ucme(y, P, locations=1, kernel=Exponential(1e6), rng=seed) for seed in range(10)]
        # Z is -(1 - p_1) whenever u = 0
        assert found == pytest.approx([(19.5 / 20) ** 2] * 10, rel=1e-5)

    def test_more_than_rows(self, refusal):
        assert "locations=41 draws 41 different rows; there are 40" in refusal(ucme, Y3, P3, locations=41)


class TestRefusals:
    @pytest.mark.parametrize("locations", ["ten", [0.5, 0.2], ([0.5],), ([0.5], [1], [2])])
    def test_no_locations(self, locations, refusal):
        message = refusal(ucme, Y1, P1, locations=locations)
        assert "locations must be a whole number J or a pair (prediction, y)" in message

    @pytest.mark.parametrize("locations", [0, -1, 2.0, True, None, {"J": 3}])
    def test_no_number_of_locations(self, locations, refusal):
        assert "locations must be" in refusal(ucme, Y1, P1, locations=locations)

    def test_of_another_kind(self, refusal):
        assert "class probabilities with 3 columns" in refusal(ucme, Y3, P3, locations=([0.5], [1]))
        assert "class probabilities with 3 columns" in refusal(ucme, Y3, P3, locations=([[0.5, 0.5]], [1]))
        assert "a distribution like the prediction, Normal" in refusal(ucme, REAL, DISTRIBUTION, locations=([0.5], [1]))
        assert refusal(ucme, Y1, P1, locations=(Normal([0.0], 1.0), [1.0]))
        laplace = cb.Laplace([0.0], 1.0), [1.0]
        assert "a distribution like the prediction" in refusal(ucme, REAL, DISTRIBUTION, locations=laplace)

    def test_bad_locations_are_read_like_rows(self, refusal):
        assert "row 1" in refusal(ucme, Y1, P1, locations=([0.5, 1.5], [1, 0]))
        assert "row 0" in refusal(ucme, REAL, DISTRIBUTION, locations=(Normal([0.0], 1.0), [np.nan]))

    def test_a_joint_kernel(self, refusal):
        assert "test locations need a product of kernels" in refusal(ucme, Y3, P3, kernel=JointKernel())


class TestSummary:
    def test_other_locations_or_kernels_do_not_merge(self, refusal):
        places = {"locations": ([0.5], [1])}
        base = summarize(ucme, Y1, P1, kernel=KERNEL, **places)
        for other in ({"kernel": KERNEL, "locations": ([0.25], [1])}, {"kernel": Exponential(0.2), **places}):
            more = summarize(ucme, Y1, P1, **other)
            assert refusal(lambda more=more: base + more, error=SummaryError)

    def test_moments_of_something_else(self, refusal):
        other = summarize("brier_score", Y1, P1)
        assert "not ucme" in refusal(ucme, other, error=SummaryError)


CENTRE = RNG.integers(0, 9, n).astype(float)
PREDICTIONS = {
    "binary": (RNG.integers(0, 2, n), RNG.integers(0, 9, n) / 8),
    "classes": (RNG.integers(0, 3, n), RNG.multinomial(4, np.ones(3) / 3, n) / 4),
    "Normal": (RNG.normal(size=n), Normal(CENTRE, RNG.uniform(0.5, 2, n))),
    "Laplace": (RNG.normal(size=n), cb.Laplace(CENTRE, 1.0)),
    "Mixture": (RNG.normal(size=n), cb.Mixture([Normal(CENTRE, 1.0), Normal(-CENTRE, 2.0)], [0.5, 0.5])),
    "MvNormal": (RNG.normal(size=(n, 2)), cb.MvNormal(np.column_stack([CENTRE, -CENTRE]), np.eye(2))),
}


class TestLocationsAndOutcomes:
    """Locations are chosen without a look at the outcomes."""

    def places(self, y, prediction, seed=1):
        kernel = Exponential(0.3) if not isinstance(prediction, cb.Distribution) else Exponential(1.0) * Gaussian(1.0)
        chance = Randomness(None, np.random.default_rng(seed))
        return located(UCME.read(y, prediction), UCME.parse({"locations": 6, "kernel": kernel}), chance)[1].rows

    def predictions(self, rows):
        if hasattr(rows, "distribution"):
            return rows.distribution.columns()[1]
        return rows.p if hasattr(rows, "p") else rows.P

    @pytest.mark.parametrize("name", PREDICTIONS)
    def test_other_outcomes_give_the_same_locations(self, name):
        y, prediction = PREDICTIONS[name]
        first = self.places(y, prediction)
        for other in (y[::-1], np.zeros_like(y), np.roll(y, 7, axis=0)):
            second = self.places(other, prediction)
            np.testing.assert_array_equal(self.predictions(first), self.predictions(second))
            np.testing.assert_array_equal(first.y, second.y)  # drawn from the predictions
        another = self.places(y, prediction, seed=2)
        assert not np.array_equal(self.predictions(first), self.predictions(another))


LOCATION_RNG = np.random.default_rng(0)


def scores(rows, places, kernel, chosen=None):
    some = Randomness(None, np.random.default_rng(0))
    return location_scores(rows, Locations(places, chosen), kernel, some).of(rows.y)


@pytest.mark.parametrize("target", [Delta(), Gaussian(1.0, "labels")])
def test_classes_locations(target):
    P, y = LOCATION_RNG.dirichlet(np.ones(3), 6), LOCATION_RNG.integers(0, 3, 6)
    t, u = LOCATION_RNG.dirichlet(np.ones(3), 2), np.array([2, 0])
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
    ("distribution", "places"),
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
def test_distributions(distribution, places):
    y, u = np.array([0.3, 0.9, 2.5]), np.array([0.0, 1.0])
    kernel = Exponential(1.0, "embedding") * Gaussian(0.7, "euclidean")
    found = scores(read_outcomes(y, distribution), read_outcomes(u, places), kernel)
    means, others = (target_means(some, kernel.target) for some in (distribution, places))
    i = np.arange(3)[:, None]
    bracket = np.exp(-(np.subtract.outer(y, u) ** 2) / 2 / 0.49) - means.single(i, u[None, :])
    assert found.shape == (3, 2)
    # k_P is what is left: 1 at the row's own law, and never larger
    ratio = found / bracket
    assert (ratio > 0).all()
    assert (ratio < 1).all()
    own = scores(read_outcomes(y, distribution), read_outcomes(y, distribution), kernel)
    alone = 1 - means.single(np.arange(3), y)
    np.testing.assert_allclose(own.diagonal(), alone, rtol=1e-12)
    assert others is not means


def test_wasserstein_of_normal_distributions():
    rows, places = read_outcomes([0.3], Normal([0.0], 1.0)), read_outcomes([1.0], Normal([3.0], 5.0))
    s2 = 0.49 + 1
    bracket = np.exp(-(0.7**2) / 2 / 0.49) - np.sqrt(0.49 / s2) * np.exp(-1 / 2 / s2)
    found = scores(rows, places, Exponential(2.0, "wasserstein") * Gaussian(0.7, "euclidean"))
    assert found[0, 0] == pytest.approx(np.exp(-5 / 2) * bracket, rel=1e-12)


def test_vectors_locations():
    distribution = MvNormal([[0.0, 0.0], [1.0, 1.0]], np.eye(2))
    y, u = np.array([[0.5, 0.0], [1.0, 2.0]]), np.array([[0.0, 0.0]])
    places = MvNormal([[0.0, 1.0]], np.eye(2))
    kernel = Exponential(1.0, "wasserstein") * Gaussian(1.0)
    found = scores(read_outcomes(y, distribution), read_outcomes(u, places), kernel)
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
    distribution, y = Normal([0.0, 1.0, 2.0], [1.0, 2.0, 0.5]), np.array([0.3, 0.9, 2.5])
    kernel = Exponential(1.0, "wasserstein") * Gaussian(1.0, "euclidean")
    places = read_outcomes([0.0, 1.0], distribution.take(np.array([2, 0])))
    rows = read_outcomes(y, distribution)
    np.testing.assert_array_equal(scores(rows, places, kernel, np.array([2, 0])), scores(rows, places, kernel))


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

    def test_distributions_that_print_alike(self):
        # Long arrays are printed with dots in the middle, and digits are rounded.
        mean = np.linspace(0, 1, 3000)
        other = mean.copy()
        other[1500] += 0.25
        y = np.zeros(3000)
        first, second = (Locations(read_outcomes(y, Normal(m, 1.0))).digest(self.kernel) for m in (mean, other))
        assert first != second
        near = Locations(read_outcomes([0.0], Normal([1 / 3], 1.0))).digest(self.kernel)
        assert near != Locations(read_outcomes([0.0], Normal([1 / 3 + 1e-13], 1.0))).digest(self.kernel)
