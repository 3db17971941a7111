"""Kernel errors of intervals, sets and quantiles: h = 2 k e e' in the mean over levels, and every refusal."""

import itertools
import math

import numpy as np
import pytest

from calibrant import (
    Delta,
    Exponential,
    Gaussian,
    Intervals,
    JointKernel,
    Matern32,
    NotApplicableError,
    Quantiles,
    RationalQuadratic,
    Sets,
    cme_test,
    consistency_test,
    skce,
    skce_test,
    ucme,
)
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.rows import read_judged
from calibrant.kernels.kernel_rows import CoverageRows

RNG = np.random.default_rng(0)
n = 24
CENTRE = RNG.normal(size=n)
Y = CENTRE + RNG.normal(size=n)
HALF = RNG.uniform(0.5, 2, n)
W = RNG.uniform(0.5, 3, n)
LABELS = RNG.integers(0, 4, n)
MASK = RNG.random((n, 4, 2)) < [0.7, 0.4]
KERNELS = [Exponential(0.7), Gaussian(0.7), Matern32(0.7, "euclidean"), RationalQuadratic(2.0, 0.7)]

CASES = {
    "intervals": (Y, Intervals(CENTRE - HALF, CENTRE + 1, 0.8)),
    "two levels": (
        Y,
        Intervals(np.column_stack([CENTRE - 2, CENTRE - HALF]), np.column_stack([CENTRE + 2, CENTRE + 1]), [0.95, 0.7]),
    ),
    "sets": (LABELS, Sets(MASK[:, :, 0], 0.7)),
    "sets of two levels": (LABELS, Sets(MASK, [0.7, 0.4])),
    "quantile": (Y, Quantiles(CENTRE, 0.5)),
    "quantiles": (Y, Quantiles(np.column_stack([CENTRE - HALF, CENTRE, CENTRE + 1]), [0.1, 0.5, 0.9])),
}


def seen(name):
    """Return points (L, n, c) and residuals (L, n), written out for each kind."""
    y, prediction = CASES[name]
    L = prediction.levels.size
    if isinstance(prediction, Intervals):
        points = [np.column_stack([prediction.lower[:, k], prediction.upper[:, k]]) for k in range(L)]
        hits = [(prediction.lower[:, k] <= y) & (y <= prediction.upper[:, k]) for k in range(L)]
    elif isinstance(prediction, Sets):
        points = [prediction.mask[:, :, k].sum(axis=1)[:, None].astype(float) for k in range(L)]
        hits = [np.array([prediction.mask[i, label, k] for i, label in enumerate(y)]) for k in range(L)]
    else:
        points = [prediction.values[:, [k]] for k in range(L)]
        hits = [y <= prediction.values[:, k] for k in range(L)]
    return points, [hit - level for hit, level in zip(hits, prediction.levels, strict=True)]


def matrix(name, kernel):
    """Return H by its definition, one pair at a time."""
    points, e = seen(name)
    H = np.zeros((n, n))
    for x, r in zip(points, e, strict=True):
        for i, j in itertools.product(range(n), repeat=2):
            k = kernel.of_distance(np.array([math.dist(x[i], x[j])]))[0]
            H[i, j] += 2 * k * r[i] * r[j] / len(e)
    return H


def estimate(H, unbiased, w):
    w = np.ones(n) if w is None else w
    total = w @ H @ w
    if not unbiased:
        return total / w.sum() ** 2
    return (total - (w**2 * H.diagonal()).sum()) / (w.sum() ** 2 - (w**2).sum())


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", CASES)
def test_definition(name, kernel, w):
    H = matrix(name, kernel)
    for unbiased in (True, False):
        found = skce(*CASES[name], kernel=kernel, weights=w, unbiased=unbiased)
        assert found == pytest.approx(estimate(H, unbiased, w), rel=1e-11, abs=1e-14)
        assert found == pytest.approx(
            skce(*CASES[name], kernel=kernel * Delta(), weights=w, unbiased=unbiased), rel=1e-11, abs=1e-14
        )


@pytest.mark.parametrize("name", CASES)
def test_the_default_is_the_median_distance_in_the_mean_over_levels(name):
    points, _ = seen(name)
    medians = [np.median([math.dist(x[i], x[j]) for i, j in itertools.combinations(range(n), 2)]) for x in points]
    expected = skce(*CASES[name], kernel=Exponential(float(np.mean(medians))))
    assert skce(*CASES[name]) == pytest.approx(expected, rel=1e-12)


def test_by_hand():
    # Hits of level 0.8 have e = 0.2, misses -0.8; the bounds (0, 1) and (3, 5) are 5 apart.
    intervals = Intervals([0.0, 3.0], [1.0, 5.0], 0.8)
    assert skce([0.5, 9.0], intervals, kernel=Exponential(5.0)) == pytest.approx(2 * 0.2 * -0.8 * math.exp(-1))
    # P(y <= q) = 0.25: a hit has e = 0.75; sizes 1 and 3 are 2 apart
    assert skce([0.0, 1.0], Quantiles([0.0, 0.0], 0.25), kernel=Exponential(1.0)) == 2 * 0.75 * -0.25
    sets = Sets([[True, False, False], [True, True, True]], 0.5)
    assert skce([1, 1], sets, kernel=Exponential(2.0)) == pytest.approx(-2 * 0.25 * math.exp(-1))


@pytest.mark.parametrize("name", CASES)
def test_blocks(name):
    y, prediction = CASES[name]
    kernel, m = Exponential(0.7), 5
    parts = [slice(a, a + m) for a in range(0, n - m + 1, m)]
    values = [skce(y[part], prediction.take(part), kernel=kernel, weights=W[part]) for part in parts]
    shares = [W[part].sum() ** 2 - (W[part] ** 2).sum() for part in parts]
    found = skce(y, prediction, kernel=kernel, weights=W, blocksize=m)
    assert found == pytest.approx(np.average(values, weights=shares), rel=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_rows_in_another_order(name):
    y, prediction = CASES[name]
    order = RNG.permutation(n)
    assert skce(y[order], prediction.take(order), weights=W[order]) == pytest.approx(
        skce(y, prediction, weights=W), rel=1e-12
    )


class TestRows:
    @pytest.mark.parametrize("name", CASES)
    def test_what_a_kernel_sees(self, name):
        y, prediction = CASES[name]
        rows = CoverageRows.of(read_judged(y, prediction))
        points, e = seen(name)
        np.testing.assert_array_equal(rows.points, np.stack(points, axis=1))
        np.testing.assert_allclose(rows.e, np.column_stack(e), rtol=1e-15)
        assert rows.n == n
        assert is_unit(rows.w)

    def test_take(self):
        rows = CoverageRows.of(read_judged(*CASES["two levels"], weights=W))
        some = rows.take(np.array([3, 0]))
        assert some.n == 2
        np.testing.assert_array_equal(some.points, rows.points[[3, 0]])
        np.testing.assert_array_equal(some.e, rows.e[[3, 0]])
        np.testing.assert_array_equal(some.w, W[[3, 0]])
        assert some.levels is rows.levels
        assert is_unit(CoverageRows.of(read_judged(*CASES["two levels"])).take(np.array([1])).w)


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.ones(len(p))


class TestRefusals:
    def test_sets_without_a_level(self, refusal):
        message = refusal(skce, LABELS, Sets(MASK[:, :, 0]))
        assert message == "Sets without a level cannot be compared with one; pass Sets(mask, level)"

    def test_infinite_bounds(self, refusal):
        lower = CENTRE - 1
        lower[7] = -np.inf
        for verb in (skce, skce_test):
            message = refusal(verb, Y, Intervals(lower, CENTRE + 1, 0.9))
            assert "a kernel on Intervals measures distances" in message
            assert "row 7" in message
            assert "coverage_hsic" in message
        assert "a kernel on Quantiles" in refusal(skce, Y, Quantiles(np.full(n, np.inf), 0.9))
        # A row without weight does not count.
        w = np.ones(n)
        w[7] = 0
        rest = np.delete(np.arange(n), 7)
        found = skce(Y, Intervals(lower, CENTRE + 1, 0.9), weights=w)
        assert found == pytest.approx(skce(Y[rest], Intervals(lower[rest], CENTRE[rest] + 1, 0.9)), rel=1e-12)

    @pytest.mark.parametrize("name", CASES)
    def test_outcomes_cannot_be_redrawn(self, name, refusal):
        message = refusal(skce_test, *CASES[name], method="resample", error=NotApplicableError)
        assert "do not say how outcomes are drawn" in message
        assert 'method="bootstrap"' in message
        kind = type(CASES[name][1]).__name__
        message = refusal(consistency_test, *CASES[name], metric=skce, error=NotApplicableError)
        assert f"{kind} do not say how outcomes are drawn" in message

    @pytest.mark.parametrize("distance", ["tv", "l1", "labels", "wasserstein", "embedding", lambda a, b: abs(a - b)])
    def test_distances(self, distance, refusal):
        for verb, options in ((skce, {}), (skce_test, {"method": "bound"})):
            message = refusal(verb, *CASES["intervals"], kernel=Exponential(1.0, distance), **options)
            assert "uses the Euclidean distance of their bounds, sizes or values" in message

    def test_kernels(self, refusal):
        assert "uses the Euclidean distance" in refusal(skce, *CASES["sets"], kernel=Delta())
        message = refusal(skce, *CASES["sets"], kernel=Exponential(1.0) * Gaussian(1.0))
        assert "hit or miss: the kernel on targets is Delta(); got Gaussian(" in message
        message = refusal(skce, *CASES["sets"], kernel=Joint(), error=NotApplicableError)
        assert "for class probabilities only" in message

    @pytest.mark.parametrize("verb", [ucme, cme_test])
    def test_locations_need_a_distribution(self, verb, refusal):
        assert f"{verb.__name__} judges " in refusal(verb, *CASES["intervals"])

    def test_too_little_variance(self, refusal):
        V = n * 0.8 * 0.2
        for method in ("bootstrap", "block"):
            message = refusal(skce_test, *CASES["intervals"], method=method, error=NotApplicableError)
            assert f"it is {V:.3g}" in message
            assert 'method="resample"' not in message  # which is refused


class TestTest:
    m = 400
    centre = RNG.normal(size=m)
    y = centre + RNG.normal(size=m)
    right = Intervals(centre - 1.2815515655446004, centre + 1.2815515655446004, 0.8)

    @pytest.mark.parametrize("method", ["bootstrap", "block"])
    def test_calibrated_and_not(self, method):
        assert skce_test(self.y, self.right, method=method, resamples=99).pvalue > 0.02
        # Right on average, but narrow on one side and wide on the other.
        width = np.where(self.centre > 0, 0.4, 3.0)
        wrong = Intervals(self.centre - width, self.centre + width, 0.8)
        assert skce_test(self.y, wrong, method=method, resamples=99).pvalue <= 0.01

    def test_it_is_the_bootstrap(self):
        result = skce_test(self.y, self.right, resamples=9)
        assert result.method.endswith("9 bootstrap replicates")
        assert result.estimate == pytest.approx(skce(self.y, self.right), rel=1e-9)
        assert result.details["variance"] == pytest.approx(400 * 0.16)

    def test_the_bound(self):
        result = skce_test(self.y, self.right, method="bound")
        assert result.details == {"bound": 2.0}
        assert result.estimate == skce(self.y, self.right)
