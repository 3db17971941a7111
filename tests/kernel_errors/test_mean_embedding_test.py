"""Test at locations: its statistic, the exact null, and where it is refused."""

import itertools
import math

import numpy as np
import pytest

import calibrant as cb
from calibrant import MvNormal, Normal, Samples
from calibrant.kernel_errors import cme_test, ucme
from calibrant.kernel_errors.mean_embedding import statistic
from calibrant.kernels import Exponential

RNG = np.random.default_rng(0)
n = 60
P1 = RNG.random(n)
Y1 = (RNG.random(n) < P1).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = np.array([RNG.choice(3, p=row) for row in P3])
DISTRIBUTION = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = DISTRIBUTION.sample(1, 0)[:, 0]
PLACES = ([0.2, 0.6, 0.9], [1, 0, 1])
KERNEL = Exponential(0.3)


def scores(y, p, places=PLACES, lengthscale=0.3):
    t, u = np.array(places[0]), np.array(places[1])
    k = np.exp(-np.abs(np.subtract.outer(p, t)) / lengthscale)
    return k * (np.asarray(y) - p)[:, None] * np.where(u == 1, 1, -1)


class TestStatistic:
    def test_definition(self):
        Z = scores(Y1, P1)
        zbar, S = Z.mean(axis=0), np.cov(Z.T)
        Q, rank = statistic(Z)
        assert pytest.approx(n * zbar @ np.linalg.solve(S, zbar), rel=1e-9) == Q
        assert rank == 3

    def test_one_location_is_a_squared_t(self):
        Z = scores(Y1, P1)[:, :1]
        t = Z.mean() / (Z.std(ddof=1) / math.sqrt(n))
        assert statistic(Z) == (pytest.approx(t * t, rel=1e-10), 1)

    def test_scales_of_the_locations_do_not_matter(self):
        Z = scores(Y1, P1)
        assert statistic(Z * [1, 10, 0.1])[0] == pytest.approx(statistic(Z)[0], rel=1e-8)

    def test_a_location_twice(self):
        Z = scores(Y1, P1)
        Q, rank = statistic(np.column_stack([Z, Z[:, 0]]))
        assert rank == 3
        assert pytest.approx(statistic(Z)[0], rel=1e-7) == Q

    def test_no_spread(self):
        assert statistic(np.zeros((5, 2))) == (0.0, 0)
        assert statistic(np.ones((5, 2))) == (math.inf, 0)


class TestExact:
    y, p = np.array([1, 1, 0, 1, 0, 0]), np.array([0.1, 0.25, 0.4, 0.5, 0.65, 0.7])
    places = ([0.2, 0.6], [1, 1])

    def test_against_all_outcomes(self):
        T, total = statistic(scores(self.y, self.p, self.places))[0], 0.0
        for outcome in itertools.product([0, 1], repeat=6):
            chance = math.prod(q if o else 1 - q for o, q in zip(outcome, self.p, strict=True))
            if statistic(scores(outcome, self.p, self.places))[0] >= T - 1e-9:
                total += chance
        B = 1999
        result = cme_test(self.y, self.p, locations=self.places, kernel=KERNEL, resamples=B)
        assert result.pvalue == pytest.approx(total, abs=5 * math.sqrt(total * (1 - total) / B) + 1 / B)


class TestMedianOfTheLabels:
    """A length scale found from the outcomes is found anew for redrawn ones."""

    P = np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], [0.5, 0, 0, 0.5], [0.125, 0.5, 0.25, 0.125]])
    y = (0, 3, 3, 3, 2)
    places = (np.array([[0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0]]), [0, 2])

    def Q(self, y, lengthscale=None):
        t, u = self.places
        y = np.asarray(y)
        if lengthscale is None:
            gaps = [abs(a - b) for a, b in itertools.combinations(y, 2)]
            lengthscale = np.median(gaps) or np.mean(gaps)
        G = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / lengthscale)
        k = np.exp(-np.abs(self.P[:, None] - t[None]).sum(axis=2) / 2 / 0.5)
        return statistic(k * (G[y][:, u] - (self.P @ G)[:, u]))[0]

    def exact(self, lengthscale=None):
        T, total = self.Q(self.y, lengthscale), 0.0
        for outcome in itertools.product(range(4), repeat=5):
            chance = math.prod(self.P[i, k] for i, k in enumerate(outcome))
            if chance and self.Q(outcome, lengthscale) >= T - 1e-9 * abs(T):
                total += chance
        return total

    def test_against_all_outcomes(self):
        B = 1199
        kernel = Exponential(0.5) * Exponential("median", "labels")
        result = cme_test(self.y, self.P, locations=self.places, kernel=kernel, resamples=B)
        assert result.statistic == pytest.approx(self.Q(self.y), rel=1e-9)
        exact, held = self.exact(), self.exact(1.0)
        tolerance = 5 * math.sqrt(exact * (1 - exact) / B) + 1 / B
        assert result.pvalue == pytest.approx(exact, abs=tolerance)
        assert abs(held - exact) > 2 * tolerance  # what a scale held fixed would give
        numbers = Exponential(0.5) * Exponential(1.0, "labels")
        fixed = cme_test(self.y, self.P, locations=self.places, kernel=numbers, resamples=B)
        assert fixed.statistic == pytest.approx(result.statistic, rel=1e-9)
        assert fixed.pvalue == pytest.approx(held, abs=5 * math.sqrt(held * (1 - held) / B) + 1 / B)


class TestResult:
    def test_fields(self):
        result = cme_test(Y1, P1, locations=PLACES, kernel=KERNEL, resamples=99)
        Q, _ = statistic(scores(Y1, P1))
        assert result.statistic == pytest.approx(Q, rel=1e-9)
        assert result.estimate == pytest.approx(ucme(Y1, P1, locations=PLACES, kernel=KERNEL), rel=1e-11)
        assert (result.n, result.details) == (n, {"rank": 3, "locations": 3})
        assert result.method == "kernel test of calibration at 3 locations (CME); 99 redraws of the outcomes"
        assert 0 < result.pvalue <= 1

    @pytest.mark.parametrize(
        ("y", "prediction"),
        [
            (Y1, P1),
            (Y3, P3),
            (REAL, DISTRIBUTION),
            (REAL, Samples(DISTRIBUTION.sample(6, 3))),
            (RNG.normal(size=(n, 2)), MvNormal(np.zeros((n, 2)) + RNG.normal(size=(n, 1)) / 9, np.eye(2))),
        ],
        ids=["binary", "classes", "distributions", "draws", "vectors"],
    )
    def test_calibrated_and_not(self, y, prediction):
        first, again = (cme_test(y, prediction, locations=4, resamples=39, rng=2).pvalue for _ in range(2))
        assert first == again > 1 / 40
        worse = np.asarray(y) + 6 if isinstance(prediction, cb.Distribution) else np.where(np.asarray(y) == 0, 1, 0)
        assert cme_test(worse, prediction, locations=4, resamples=39, rng=2).pvalue == 1 / 40

    def test_weights(self):
        w = RNG.uniform(0.5, 3, n)
        result = cme_test(Y1, P1, locations=PLACES, kernel=KERNEL, weights=w, resamples=19)
        Z = scores(Y1, P1) * (w / w.mean())[:, None]
        assert result.statistic == pytest.approx(statistic(Z)[0], rel=1e-9)
        assert result.estimate == pytest.approx(ucme(Y1, P1, locations=PLACES, kernel=KERNEL, weights=w), rel=1e-10)

    def test_certain_and_right(self):
        y = np.arange(20) % 2
        result = cme_test(y, y.astype(float), locations=PLACES, resamples=19)
        assert (result.statistic, result.pvalue, result.details["rank"]) == (0.0, 1.0, 0)

    def test_all_rows_alike_and_wrong(self):
        # No spread but of rounding, and a mean: Q is infinite, and only redraws that are as bad reach it.
        result = cme_test([0] * 20, [1.0] * 20, locations=([0.5], [1]), kernel=KERNEL, resamples=19)
        assert (result.statistic, result.pvalue) == (math.inf, 1 / 20)


class TestRefusals:
    @pytest.mark.parametrize("rows", [2, 3])
    def test_rows_and_locations(self, rows, refusal):
        message = refusal(cme_test, Y1[:rows], P1[:rows], locations=PLACES, kernel=KERNEL)
        assert message == f"cme_test needs more rows than locations; got {rows} rows and 3 locations"
        assert 0 < cme_test(Y1[:4], P1[:4], locations=PLACES, kernel=KERNEL, resamples=19).pvalue <= 1

    def test_null(self, refusal):
        assert cme_test(Y1, P1, null="monte-carlo", resamples=9) == cme_test(Y1, P1, resamples=9)
        assert "rejects calibrated predictions too often" in refusal(cme_test, Y1, P1, null="asymptotic")


def test_level():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(150):
        p = rng.beta(1, 9, 30)
        y = (rng.random(30) < p).astype(int)
        found.append(cme_test(y, p, locations=3, resamples=19, rng=rng).pvalue)
    for level in (0.1, 0.5):
        share = np.mean(np.array(found) <= level)
        assert abs(share - level) <= 5 * math.sqrt(level * (1 - level) / 150)
