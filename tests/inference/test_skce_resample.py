"""Redrawn outcomes as the null: exact against all outcomes, for probabilities, classes and laws."""

import itertools
import math

import numpy as np
import pytest

import calibrant as cb
from calibrant import (
    Exponential,
    Gaussian,
    JointKernel,
    Laplace,
    Mixture,
    MvNormal,
    Normal,
    RationalQuadratic,
    Samples,
    skce,
    skce_test,
)
from calibrant.inputs import read_probabilities
from calibrant.primitives.redraw import redraw_labels

RNG = np.random.default_rng(0)
B = 1999


def close_to(exact, B=B):
    return pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / B) + 1 / B)


def exact_pvalue(y, P, measure):
    """Return P(T* >= T) over all outcomes of class probabilities."""
    T, total = measure(y), 0.0
    for outcome in itertools.product(range(P.shape[1]), repeat=len(P)):
        chance = math.prod(P[i, k] for i, k in enumerate(outcome))
        if chance and measure(outcome) >= T - 1e-12:
            total += chance
    return total


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.exp(-np.abs(p - q).sum(axis=1) / 2 / 0.3) * (a == b)


class TestExact:
    p = np.array([0.1, 0.25, 0.4, 0.5, 0.65, 0.7, 0.85])
    y = (1, 1, 0, 1, 1, 0, 0)

    @pytest.mark.parametrize("w", [None, [1, 2, 3, 1, 2, 3, 1]], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", [Exponential(0.2), Gaussian(0.2), RationalQuadratic(1.0, 0.2), None], ids=repr)
    def test_one_probability(self, kernel, w):
        P = np.column_stack([1 - self.p, self.p])
        exact = exact_pvalue(self.y, P, lambda y: skce(y, self.p, kernel=kernel, weights=w))
        assert skce_test(self.y, self.p, kernel=kernel, weights=w, resamples=B).pvalue == close_to(exact)

    def test_ties(self):
        p = np.repeat([0.25, 0.75], 3)
        y = [1, 1, 0, 1, 0, 0]
        P = np.column_stack([1 - p, p])
        exact = exact_pvalue(y, P, lambda y: skce(y, p, kernel=Exponential(0.2)))
        assert skce_test(y, p, kernel=Exponential(0.2), resamples=B).pvalue == close_to(exact)

    @pytest.mark.parametrize("w", [None, [1, 2, 3, 1]], ids=["", "weighted"])
    @pytest.mark.parametrize("kernel", [Exponential(0.3), Exponential(0.3) * Gaussian(1.0, "labels"), Joint()])
    def test_classes(self, kernel, w):
        P = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5]])
        y = [0, 2, 1, 1]
        exact = exact_pvalue(y, P, lambda y: skce(y, P, kernel=kernel, weights=w))
        few = 499 if isinstance(kernel, JointKernel) else B
        assert skce_test(y, P, kernel=kernel, weights=w, resamples=few).pvalue == close_to(exact, few)

    def test_two_columns(self):
        P = np.column_stack([1 - self.p, self.p])
        for kernel in (Exponential(0.2), Gaussian(0.2, "euclidean")):
            exact = exact_pvalue(self.y, P, lambda y, kernel=kernel: skce(y, P, kernel=kernel))
            assert skce_test(self.y, P, kernel=kernel, resamples=B).pvalue == close_to(exact)


class TestMedianOfTheLabels:
    """A length scale found from the outcomes is found anew for redrawn ones."""

    # The first two rows are certain, so that there are always two different labels.
    P = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], [0.5, 0, 0, 0.5], [0.125, 0.5, 0.25, 0.125]])
    y = (0, 3, 2, 3, 3)
    kernel = Exponential(0.5) * Exponential("median", "labels")

    def test_exact(self):
        exact = exact_pvalue(self.y, self.P, lambda y: skce(y, self.P, kernel=self.kernel))
        fixed = Exponential(0.5) * Exponential(1.0, "labels")  # the median of these labels
        assert skce(self.y, self.P, kernel=fixed) == pytest.approx(skce(self.y, self.P, kernel=self.kernel), rel=1e-12)
        held = exact_pvalue(self.y, self.P, lambda y: skce(y, self.P, kernel=fixed))
        found = skce_test(self.y, self.P, kernel=self.kernel, resamples=B).pvalue
        assert found == close_to(exact)
        assert found != close_to(held)

    def test_it_is_the_consistency_test(self):
        rng = np.random.default_rng(2)
        P = np.concatenate([np.eye(3), rng.dirichlet(np.ones(3), 12)])
        y = np.array([0, 1, 2, *(rng.choice(3, p=row) for row in P[3:, ::-1])])
        kernel = Exponential(0.3) * Exponential("median", "labels")
        first = skce_test(y, P, kernel=kernel, resamples=999).pvalue
        second = cb.consistency_test(y, P, metric=skce, kernel=kernel, resamples=999, rng=1).pvalue
        assert 0.02 < first < 0.98
        assert first == pytest.approx(second, abs=5 * math.sqrt(2 * first * (1 - first) / 999))


class TestResult:
    y, p = TestExact.y, TestExact.p

    def test_statistic_and_estimate(self):
        result = skce_test(self.y, self.p, kernel=Exponential(0.2), resamples=99)
        value = skce(self.y, self.p, kernel=Exponential(0.2))
        assert result.statistic == pytest.approx(7 * value, rel=1e-12)
        assert result.estimate == pytest.approx(value, rel=1e-12)
        assert result.n == 7
        assert result.details["resamples"] == 99
        assert result.details["variance"] == pytest.approx((self.p * (1 - self.p)).sum())
        assert result.method == "kernel test of calibration (SKCE); 99 redraws of the outcomes"

    def test_it_is_the_default_for_probabilities(self):
        assert skce_test(self.y, self.p) == skce_test(self.y, self.p, method="resample")

    def test_weights(self):
        # h_ij is replaced by w w' h / mean(w)²
        w = np.array([1.0, 2, 3, 1, 2, 3, 1])
        e = np.array(self.y) - self.p
        H = 2 * np.outer(w * e, w * e) * np.exp(-np.abs(np.subtract.outer(self.p, self.p)) / 0.2) / w.mean() ** 2
        result = skce_test(self.y, self.p, weights=w, kernel=Exponential(0.2), resamples=19)
        assert result.statistic == pytest.approx((H.sum() - np.trace(H)) / 6, rel=1e-12)
        assert result.estimate == pytest.approx(result.statistic / 7)

    def test_the_same_chance_gives_the_same_p(self):
        P3 = RNG.dirichlet(np.ones(3), 20)
        y3 = RNG.integers(0, 3, 20)
        for y, p in ((self.y, self.p), (y3, P3)):
            first, again = (skce_test(y, p, rng=3, resamples=199).pvalue for _ in range(2))
            assert first == again
            assert 0 < first <= 1

    def test_rows_in_another_order(self):
        P3 = RNG.dirichlet(np.ones(3), 20)
        y3 = RNG.integers(0, 3, 20)
        order = RNG.permutation(20)
        assert skce_test(y3[order], P3[order], resamples=99).pvalue == skce_test(y3, P3, resamples=99).pvalue

    def test_two_rows(self):
        assert 0 < skce_test([0, 1], [0.25, 0.75], kernel=Exponential(1.0)).pvalue <= 1

    def test_certain_and_right(self):
        assert skce_test([0, 1, 1], [0.0, 1.0, 1.0], resamples=99).pvalue == 1.0
        assert skce_test([0, 1, 2], np.eye(3), resamples=99).pvalue == 1.0

    def test_impossible_outcomes(self):
        assert skce_test([1, 0, 0], [0.0, 1.0, 1.0], resamples=99).pvalue == 1 / 100
        assert skce_test([1, 2, 0] * 3, np.tile(np.eye(3), (3, 1)), resamples=99).pvalue == 1 / 100


class TestLabels:
    def test_they_follow_the_predictions(self):
        P = np.array([[0.5, 0.0, 0.125, 0.375], [0.0, 1.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]])
        labels = redraw_labels(read_probabilities([0, 1, 0], P), 4000, np.random.default_rng(0))
        assert labels.shape == (4000, 3)
        assert labels.dtype == np.uint8
        shares = (labels[:, :, None] == np.arange(4)).mean(axis=0)
        assert (np.abs(shares - P) <= 5 * np.sqrt(P * (1 - P) / 4000)).all()

    def test_a_row_that_sums_to_a_little_less(self):
        class Highest:
            def random(self, n):
                return np.full(n, np.nextafter(1.0, 0.0))

        P = np.array([[1 - 5e-7, 0.0], [0.5, 0.5 - 5e-7]])
        labels = redraw_labels(read_probabilities([0, 0], P), 3, Highest())
        assert labels.tolist() == [[0, 1]] * 3


n = 25
CENTRE = RNG.normal(size=n)
LAWS = {
    "normal": Normal(CENTRE, 1.0),
    "laplace": Laplace(CENTRE, 1.0),
    "mixture": Mixture([Normal(CENTRE, 0.5), Normal(-CENTRE, 1.0)], [0.5, 0.5]),
    "vectors": MvNormal(np.column_stack([CENTRE, -CENTRE]), np.eye(2)),
    "draws": Samples(CENTRE[:, None] + RNG.normal(size=(n, 8))),
    "draws of vectors": Samples(CENTRE[:, None, None] + RNG.normal(size=(n, 8, 2))),
}


@pytest.mark.parametrize("name", LAWS)
class TestLaws:
    def test_far_away(self, name):
        law = LAWS[name]
        far = np.full((n, *law.shape), 8.0) + CENTRE.reshape(n, *(1,) * len(law.shape))
        result = skce_test(far, law, method="resample", resamples=19)
        assert result.pvalue == 1 / 20
        assert result.estimate == pytest.approx(skce(far, law), rel=1e-9)
        assert "variance" not in result.details

    def test_calibrated(self, name):
        law = LAWS[name]
        y = np.asarray(LAWS["normal"].sample(1, 4)[:, 0]) if name == "draws" else law.sample(1, 4)[:, 0]
        pvalue = skce_test(y, law, method="resample", resamples=19).pvalue
        assert pvalue > 1 / 20
        assert pvalue == skce_test(y, law, method="resample", resamples=19).pvalue


def test_a_few_rows_of_laws():
    result = skce_test([0.0, 1.0, 9.0], Normal([0.0, 1.0, 2.0], 1.0), method="resample", resamples=19)
    assert 0 < result.pvalue <= 1


def test_few_draws_of_laws():
    y, law = RNG.normal(size=20), Samples(RNG.normal(size=(20, 2)))
    assert 0 < skce_test(y, law, method="resample", resamples=19).pvalue <= 1


class TestLevel:
    """Under calibration p-values are uniform: fixed seeds, five standard deviations."""

    def shares(self, draw, repeats=200, **options):
        rng = np.random.default_rng(7)
        found = np.array([skce_test(*draw(rng), resamples=39, rng=rng, **options).pvalue for _ in range(repeats)])
        assert set(np.round(found * 40)) <= set(range(1, 41))
        return [(found <= level).mean() for level in (0.1, 0.5)]

    def assert_level(self, shares, repeats=200):
        for share, level in zip(shares, (0.1, 0.5), strict=True):
            assert abs(share - level) <= 5 * math.sqrt(level * (1 - level) / repeats)

    def test_rare_events(self):
        def draw(rng):
            p = rng.beta(1, 20, 60)
            return (rng.random(60) < p).astype(int), p

        self.assert_level(self.shares(draw))

    def test_classes(self):
        def draw(rng):
            P = rng.dirichlet(np.full(4, 0.3), 25)
            return np.array([rng.choice(4, p=row) for row in P]), P

        self.assert_level(self.shares(draw))

    def test_draws(self):
        def draw(rng):
            centre = rng.normal(size=12)
            return centre + rng.normal(size=12), Samples(centre[:, None] + rng.normal(size=(12, 4)))

        self.assert_level(self.shares(draw, repeats=100, method="resample"), repeats=100)


def test_gross_miscalibration():
    p = RNG.random(200)
    y = (RNG.random(200) < 1 - p).astype(int)
    assert skce_test(y, p).pvalue == 1 / 1000
    assert cb.consistency_test(y, p, metric="skce", resamples=99).pvalue == 1 / 100
