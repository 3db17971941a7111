"""Rows as kernels see them: coverage, h = 2 k e e' in the mean over levels, refusals, and an order of their own."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import calibrant as cb
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import IntervalRows, read_outcomes
from calibrant.kernel_errors import cme_test, ucme
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Matern32, RationalQuadratic
from calibrant.kernels.kernel_rows import canonical_order

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
    "intervals": (Y, cb.Intervals(CENTRE - HALF, CENTRE + 1, 0.8)),
    "two levels": (
        Y,
        cb.Intervals(CENTRE[:, None] - np.stack([np.full(n, 2.0), HALF], 1), CENTRE[:, None] + [2, 1], [0.95, 0.7]),
    ),
    "sets": (LABELS, cb.Sets(MASK[:, :, 0], 0.7)),
    "sets of two levels": (LABELS, cb.Sets(MASK, [0.7, 0.4])),
    "quantile": (Y, cb.Quantiles(CENTRE, 0.5)),
    "quantiles": (Y, cb.Quantiles(np.column_stack([CENTRE - HALF, CENTRE, CENTRE + 1]), [0.1, 0.5, 0.9])),
}


def seen(name):
    """Return points (L, n, c) and residuals (L, n), written out for each kind."""
    y, prediction = CASES[name]
    L = prediction.levels.size
    if isinstance(prediction, cb.Intervals):
        points = [np.column_stack([prediction.lower[:, k], prediction.upper[:, k]]) for k in range(L)]
        hits = [(prediction.lower[:, k] <= y) & (y <= prediction.upper[:, k]) for k in range(L)]
    elif isinstance(prediction, cb.Sets):
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
        found = cb.skce(*CASES[name], kernel=kernel, weights=w, unbiased=unbiased)
        assert found == pytest.approx(estimate(H, unbiased, w), rel=1e-11, abs=1e-14)
        expected = cb.skce(*CASES[name], kernel=kernel * Delta(), weights=w, unbiased=unbiased)
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_the_default_is_the_median_distance_in_the_mean_over_levels(name):
    points, _ = seen(name)
    medians = [np.median([math.dist(x[i], x[j]) for i, j in itertools.combinations(range(n), 2)]) for x in points]
    expected = cb.skce(*CASES[name], kernel=Exponential(float(np.mean(medians))))
    assert cb.skce(*CASES[name]) == pytest.approx(expected, rel=1e-12)


def test_by_hand():
    # Hits of level 0.8 have e = 0.2, misses -0.8; the bounds (0, 1) and (3, 5) are 5 apart.
    intervals = cb.Intervals([0.0, 3.0], [1.0, 5.0], 0.8)
    assert cb.skce([0.5, 9.0], intervals, kernel=Exponential(5.0)) == pytest.approx(2 * 0.2 * -0.8 * math.exp(-1))
    # P(y <= q) = 0.25: a hit has e = 0.75; sizes 1 and 3 are 2 apart
    assert cb.skce([0.0, 1.0], cb.Quantiles([0.0, 0.0], 0.25), kernel=Exponential(1.0)) == 2 * 0.75 * -0.25
    sets = cb.Sets([[True, False, False], [True, True, True]], 0.5)
    assert cb.skce([1, 1], sets, kernel=Exponential(2.0)) == pytest.approx(-2 * 0.25 * math.exp(-1))


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.ones(len(p))


class TestRefusals:
    def test_infinite_bounds(self, refusal):
        lower = CENTRE - 1
        lower[7] = -np.inf
        for verb in (cb.skce, cb.skce_test):
            message = refusal(verb, Y, cb.Intervals(lower, CENTRE + 1, 0.9))
            assert "a kernel on Intervals measures distances" in message
            assert "row 7" in message
            assert "coverage_hsic" in message
        assert "a kernel on Quantiles" in refusal(cb.skce, Y, cb.Quantiles(np.full(n, np.inf), 0.9))
        # A row without weight does not count.
        w = np.ones(n)
        w[7] = 0
        rest = np.delete(np.arange(n), 7)
        found = cb.skce(Y, cb.Intervals(lower, CENTRE + 1, 0.9), weights=w)
        assert found == pytest.approx(cb.skce(Y[rest], cb.Intervals(lower[rest], CENTRE[rest] + 1, 0.9)), rel=1e-12)

    @pytest.mark.parametrize("name", CASES)
    def test_outcomes_cannot_be_redrawn(self, name, refusal):
        message = refusal(cb.skce_test, *CASES[name], method="resample", error=NotApplicableError)
        assert "do not say how outcomes are drawn" in message
        assert 'method="bootstrap"' in message
        kind = type(CASES[name][1]).__name__
        message = refusal(cb.consistency_test, *CASES[name], metric=cb.skce, error=NotApplicableError)
        assert f"{kind} do not determine a distribution" in message

    @pytest.mark.parametrize("distance", ["tv", "l1", "labels", "wasserstein", "embedding", lambda a, b: abs(a - b)])
    def test_distances(self, distance, refusal):
        for verb, options in ((cb.skce, {}), (cb.skce_test, {"method": "bound"})):
            message = refusal(verb, *CASES["intervals"], kernel=Exponential(1.0, distance), **options)
            assert "uses the Euclidean distance of their bounds, sizes or values" in message

    def test_kernels_and_sets_without_a_level(self, refusal):
        for prediction, kernel, error, words in (
            (CASES["sets"][1], Delta(), InputError, "uses the Euclidean distance"),
            (CASES["sets"][1], Exponential(1.0) * Gaussian(1.0), InputError, "targets is Delta(); got Gaussian("),
            (CASES["sets"][1], Joint(), NotApplicableError, "for class probabilities only"),
            (cb.Sets(MASK[:, :, 0]), None, InputError, "Sets without a level cannot be compared with one; pass Sets("),
        ):
            assert words in refusal(cb.skce, LABELS, prediction, kernel=kernel, error=error)

    @pytest.mark.parametrize("verb", [ucme, cme_test])
    def test_locations_need_a_distribution(self, verb, refusal):
        assert f"{verb.__name__} judges " in refusal(verb, *CASES["intervals"])

    def test_too_little_variance(self, refusal):
        V = n * 0.8 * 0.2
        for method in ("bootstrap", "block"):
            message = refusal(cb.skce_test, *CASES["intervals"], method=method, error=NotApplicableError)
            assert f"it is {V:.3g}" in message
            assert 'method="resample"' not in message  # which is refused


class TestTest:
    m = 400
    centre = RNG.normal(size=m)
    y = centre + RNG.normal(size=m)
    right = cb.Intervals(centre - 1.2815515655446004, centre + 1.2815515655446004, 0.8)

    @pytest.mark.parametrize("method", ["bootstrap", "block"])
    def test_calibrated_and_not(self, method):
        assert cb.skce_test(self.y, self.right, method=method, resamples=99).pvalue > 0.02
        # Right on average, but narrow on one side and wide on the other.
        width = np.where(self.centre > 0, 0.4, 3.0)
        wrong = cb.Intervals(self.centre - width, self.centre + width, 0.8)
        assert cb.skce_test(self.y, wrong, method=method, resamples=99).pvalue <= 0.01


ORDER_RNG = np.random.default_rng(0)
ORDERED = 40
ORDER_WEIGHTS = ORDER_RNG.integers(1, 4, ORDERED).astype(float)


def test_by_prediction_then_weight_then_outcome():
    rows = read_probabilities([1, 0, 1, 0], [0.5, 0.5, 0.25, 0.5], weights=[2, 2, 9, 1])
    assert canonical_order(rows, with_outcomes=True).tolist() == [2, 3, 1, 0]
    assert canonical_order(rows).tolist() == [2, 3, 0, 1]


def test_distributions_by_prediction_then_weight_then_outcome():
    rows = read_outcomes([1.0, -1.0, 1.0, 0.0], cb.Normal([1.0, 0.0, 1.0, 1.0], 1.0), weights=[2, 1, 1, 2])
    assert canonical_order(rows).tolist() == [1, 2, 0, 3]
    assert canonical_order(rows, with_outcomes=True).tolist() == [1, 2, 3, 0]


PREDICTIONS = {
    "binary": ORDER_RNG.integers(0, 5, ORDERED) / 4,  # many ties
    "classes": ORDER_RNG.multinomial(4, [0.3, 0.3, 0.4], ORDERED) / 4,
    "Normal": cb.Normal(ORDER_RNG.integers(0, 3, ORDERED), ORDER_RNG.integers(1, 3, ORDERED)),
    "Laplace": cb.Laplace(ORDER_RNG.integers(0, 3, ORDERED), 1.0),
    "Samples": cb.Samples(ORDER_RNG.integers(0, 2, (ORDERED, 4)).astype(float)),
    "MvNormal": cb.MvNormal(ORDER_RNG.integers(0, 3, (ORDERED, 2)), np.eye(2)),
    "Mixture": cb.Mixture(
        [cb.Normal(ORDER_RNG.integers(0, 2, ORDERED), 1.0), cb.Normal(np.zeros(ORDERED), 2.0)], [0.5, 0.5]
    ),
    "ScipyDistribution": cb.ScipyDistribution(stats.norm(ORDER_RNG.integers(0, 3, ORDERED), 1.0)),
}


@pytest.mark.parametrize("prediction", PREDICTIONS.values(), ids=PREDICTIONS)
def test_an_order_of_their_own(prediction):
    """The order does not depend on that of the rows, nor on outcomes unless these are asked for."""
    drawn = isinstance(prediction, cb.Distribution)
    first, second = (
        read_outcomes(ORDER_RNG.normal(size=(ORDERED, *prediction.shape)), prediction, weights=ORDER_WEIGHTS)
        if drawn
        else read_probabilities(ORDER_RNG.integers(0, 2, ORDERED), prediction, weights=ORDER_WEIGHTS)
        for _ in range(2)
    )
    np.testing.assert_array_equal(canonical_order(first), canonical_order(second))
    assert not np.array_equal(canonical_order(first, with_outcomes=True), canonical_order(second, with_outcomes=True))
    mixed = first.take(ORDER_RNG.permutation(ORDERED))
    for asked in (False, True):
        one, other = (rows.take(canonical_order(rows, with_outcomes=asked)) for rows in (first, mixed))
        shown = [rows.distribution.sample(3, 0) if drawn else rows.prediction for rows in (one, other)]
        np.testing.assert_array_equal(*shown)
        np.testing.assert_array_equal(one.w, other.w)
    np.testing.assert_array_equal(one.y, other.y)  # the last was asked to look at them


def test_a_distribution_that_says_nothing_of_itself_keeps_its_order():
    class Silent(cb.Distribution):
        def __init__(self, n):
            self.rows = n

        @property
        def n(self):
            return self.rows

        def take(self, rows):
            return Silent(len(np.arange(self.rows)[rows]))

    rows = read_outcomes([3.0, 1.0, 2.0], Silent(3))
    assert canonical_order(rows).tolist() == [0, 1, 2]
    assert canonical_order(rows, with_outcomes=True).tolist() == [1, 2, 0]


def test_coverage_by_points_then_weight_then_hits():
    intervals = cb.Intervals([0.0, 1.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0], 0.9)
    outcomes = [1.0, 9.0, 1.0, 9.0], [9.0] * 4
    first, second = (IntervalRows.read(y, intervals, weights=[2, 1, 1, 2]) for y in outcomes)
    assert canonical_order(first).tolist() == canonical_order(second).tolist() == [2, 0, 3, 1]
    assert canonical_order(first, with_outcomes=True).tolist() == [2, 3, 0, 1]
