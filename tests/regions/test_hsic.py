"""HSIC between width and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.references.intervals import CASES, intervals_of

from calibrant import Intervals, Quantiles, Sets
from calibrant.errors import NotApplicableError
from calibrant.inputs.rows import IntervalRows
from calibrant.regions import hsic as module
from calibrant.regions.hsic import coverage_hsic, coverage_hsic_test, hsic_permutations, pair_median
from calibrant.regions.sizes import Sizes


def of_widths(widths, covered):
    """Return outcomes and intervals with these widths that cover or miss."""
    y = np.where(np.array(covered, dtype=bool), 0.0, -1.0)
    return y, Intervals(np.zeros(len(y)), widths, 0.9)


def scale_of(y, prediction, k=0):
    table = Sizes.of(IntervalRows.read(y, prediction)).tied(k)
    finite = np.isfinite(table.size)
    return 2 * pair_median(table.size[finite], table.rows[finite]) ** 2


def trace(x, c, scale, coverage_scale=1.0, kernel="gaussian"):
    """The definition."""
    n = len(x)
    d = np.abs(np.subtract.outer(x, x))
    K = np.exp(-(d**2) / scale) if kernel == "gaussian" else np.exp(-d / scale)
    L = np.exp(-(np.subtract.outer(c, c) ** 2) / coverage_scale)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / (n - 1) ** 2


@pytest.mark.parametrize(("words", "expected"), CASES["hsic-reg16"].items())
def test_of_the_reference(words, expected):
    level, scale, coverage_scale = (float(part.split("=")[1]) for part in words.split(", "))
    y, prediction = intervals_of("reg16")
    options = {"scale": scale, "coverage_scale": coverage_scale}
    assert coverage_hsic(y, prediction.at(level), **options) == pytest.approx(expected["hsic"], rel=1e-9)
    assert coverage_hsic(y, prediction.at(level), root=True, **options) == pytest.approx(expected["root"], rel=1e-9)


def test_more_of_the_reference():
    y, prediction = intervals_of("toy5")
    np.testing.assert_allclose(coverage_hsic(y, prediction, scale=1, root=True), CASES["hsic-toy5"], rtol=1e-10)
    three = Intervals([[9, 9], [8.5, 9], [10.5, 10.5]], [[10, 10], [12.5, 12], [12, 12]], [0.9, 0.8])
    np.testing.assert_allclose(
        coverage_hsic([9.5, 10.5, 12.5], three, scale=1, root=True), CASES["hsic-doc3"], rtol=1e-10
    )
    y, prediction = intervals_of("reg16")
    found = coverage_hsic(y, prediction, kernel="exponential", scale=0.5)
    np.testing.assert_allclose(found, CASES["hsic-laplacian"], rtol=1e-9)


def test_default_scale_of_the_reference():
    y, prediction = intervals_of("reg16")
    for k, expected in enumerate(CASES["hsic-median"]):
        assert scale_of(y, prediction, k) == pytest.approx(expected["scale"], rel=1e-9)
        assert coverage_hsic(y, prediction)[k] == pytest.approx(expected["hsic"], rel=1e-9)
    expected = CASES["edge-hsic-mostly-tied"]["scale"]
    assert scale_of(*of_widths([1, 1, 1, 1, 1, 1, 3, 6], [1] * 8)) == expected


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_units_do_not_matter_with_the_default_scale(kernel):
    y, prediction = intervals_of("reg16")
    larger = Intervals(1000 * prediction.lower, 1000 * prediction.upper, [0.8, 0.95])
    found = coverage_hsic(1000 * y, larger, kernel=kernel)
    np.testing.assert_allclose(found, coverage_hsic(y, prediction, kernel=kernel), rtol=1e-10)


def test_exactly_zero():
    widths = np.random.default_rng(0).random(300) * 7
    w = np.random.default_rng(1).random(300) + 0.1
    some = np.arange(300) % 3 > 0
    for weights in (None, w):
        for case in (
            of_widths(widths, some | True),
            of_widths(widths, some & False),
            of_widths(np.full(300, 0.3), some),
        ):
            for options in ({}, {"scale": 1.0}, {"kernel": "exponential"}, {"root": True}):
                assert coverage_hsic(*case, weights=weights, **options) == CASES["hsic-all-covered"]
    assert coverage_hsic(*of_widths(np.full(300, np.inf), some)) == 0.0


def test_split_conformal_widths_are_one():
    rng = np.random.default_rng(0)
    centre = rng.normal(0, 50, 200)
    assert coverage_hsic(centre + rng.normal(size=200), Intervals(centre - 0.7, centre + 0.7, 0.5)) == 0.0


def test_infinite_widths():
    widths, covered = [1, 2, 3, 4, np.inf, np.inf], [1, 0, 1, 1, 0, 1]
    expected = CASES["edge-hsic-infinite"]
    assert scale_of(*of_widths(widths, covered)) == expected["scale"]
    assert coverage_hsic(*of_widths(widths, covered)) == pytest.approx(expected["hsic"], rel=1e-9)
    # One finite width, and c̃ = (1/2, 1/2, -1/2, -1/2): two blocks that each add (Σ c̃)² = 1.
    found = coverage_hsic(*of_widths([1, 1, np.inf, np.inf], [1, 1, 0, 0]))
    assert found == pytest.approx(2 * (1 - np.exp(-1)) * 2 / 9)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
def test_is_the_trace(kernel, scale):
    rng = np.random.default_rng(0)
    widths = np.concatenate([rng.random(150) * 5, rng.integers(1, 4, 50)])
    covered = rng.random(200) < 0.2 + 0.1 * widths
    found = coverage_hsic(*of_widths(widths, covered), scale=scale, kernel=kernel, coverage_scale=0.5)
    assert found == pytest.approx(trace(widths, covered.astype(float), scale, 0.5, kernel), rel=1e-11)


def test_weights_are_the_formula():
    rng = np.random.default_rng(3)
    x, c, w = rng.random(80) * 4, rng.random(80) < 0.7, rng.random(80) + 0.1
    e = w * (c - (w * c).sum() / w.sum())
    K = np.exp(-(np.subtract.outer(x, x) ** 2) / 2.0)
    expected = 2 * (1 - np.exp(-1)) * (e[:, None] * e * K).sum() / w.sum() ** 2 * (80 / 79) ** 2
    assert coverage_hsic(*of_widths(x, c), scale=2.0, weights=w) == pytest.approx(expected, rel=1e-11)


def test_sets():
    rng = np.random.default_rng(0)
    mask, y = rng.random((60, 4)) < 0.5, rng.integers(0, 4, 60)
    covered = mask[np.arange(60), y].astype(float)
    found = coverage_hsic(y, Sets(mask), scale=2.0)
    assert found == pytest.approx(trace(mask.sum(axis=1).astype(float), covered, 2.0), rel=1e-11)


def test_refusals(refusal):
    y, prediction = intervals_of("reg16")
    for scale in (-1, 0, np.inf, np.nan, "wide", True):
        assert "scale must be a number above 0, or None" in refusal(coverage_hsic, y, prediction, scale=scale)
    assert "coverage_scale must be a number above 0" in refusal(coverage_hsic, y, prediction, coverage_scale=None)
    one = Intervals([0.0], [1.0], 0.9)
    assert "at least two are needed" in refusal(coverage_hsic, [0.5], one, error=NotApplicableError)
    assert ".intervals()" in refusal(coverage_hsic_test, [1.0], Quantiles([2.0], 0.5))


class TestPermutations:
    def sizes(self, widths, covered, weights=None):
        y, prediction = of_widths(widths, covered)
        return Sizes.of(IntervalRows.read(y, prediction, weights=weights))

    @pytest.mark.parametrize("ties", [False, True])
    def test_every_permutation_is_as_likely(self, ties):
        # All 6 choices of two covered rows among four, by brute force.
        widths = np.array([1.0, 2.0, 4.0, 7.0])
        rows = np.repeat(np.arange(4), 10) if ties else np.arange(4)
        covered = np.isin(np.arange(rows.size), np.arange(rows.size // 2))
        statistic, found = hsic_permutations(self.sizes(widths[rows], covered), 0, resamples=4000, rng=0)
        assert statistic == pytest.approx(coverage_hsic(*of_widths(widths[rows], covered)), rel=1e-12)
        assert found.shape == (4000,)
        m = scale_of(*of_widths(widths[rows], covered))
        rng = np.random.default_rng(1)
        drawn = [trace(widths[rows], rng.permutation(covered).astype(float), m) for _ in range(1000)]
        assert found.mean() == pytest.approx(np.mean(drawn), rel=0.1)
        np.testing.assert_allclose(np.quantile(found, [0.1, 0.5, 0.9]), np.quantile(drawn, [0.1, 0.5, 0.9]), rtol=0.2)

    def test_some_ties(self):
        rng = np.random.default_rng(0)
        widths, covered = np.concatenate([rng.random(30), np.ones(10)]), rng.random(40) < 0.7
        statistic, found = hsic_permutations(self.sizes(widths, covered), 0, resamples=500, rng=0)
        e = np.var(covered)
        K = np.exp(-(np.subtract.outer(widths, widths) ** 2) / scale_of(*of_widths(widths, covered)))
        off = (K.sum() - 40) / (40 * 39)  # E e_i e_j = -Var/(n - 1) under permutation
        expected = 2 * (1 - np.exp(-1)) * 40 * e * (1 - off) / 39**2
        assert found.mean() == pytest.approx(expected, rel=0.1)
        assert statistic > 0

    def test_all_covered(self):
        statistic, found = hsic_permutations(self.sizes([1.0, 2.0, 3.0], [1, 1, 1]), 0, resamples=9, rng=0)
        assert statistic == 0.0
        assert found.tolist() == [0.0] * 9


def of(values):
    return pair_median(*np.unique(values, return_counts=True))


def brute(values):
    i, j = np.triu_indices(len(values), 1)
    d = np.abs(np.asarray(values)[i] - np.asarray(values)[j])
    return np.median(d if np.median(d) > 0 else d[d > 0])


@pytest.fixture
def many_rounds(monkeypatch):
    monkeypatch.setattr(module, "MAX_SORTED_PAIRS", 4)


def test_by_hand():
    assert of([1.0, 2.0, 4.0]) == 2.0
    assert of([1.0, 2.0, 3.0, 4.0]) == 1.5  # 1, 1, 1, 2, 2, 3
    assert of([5.0, 3.0]) == 2.0
    assert of([1.0, 1.0, 3.0, 7.0]) == 3.0  # 0, 2, 2, 4, 6, 6


def test_zero_gives_way_to_the_positive_differences():
    assert of([1, 1, 1, 1, 1, 1, 3, 6]) == 3.0
    assert of([0.0, 0.0, 0.0, 4.0]) == 2.0  # 0, 0, 0, 4, 4, 4: the mean of the two in the middle is above 0


def test_without_differences():
    assert of([1.0]) is None
    assert of([2.0, 2.0, 2.0]) is None
    assert pair_median(np.zeros(0), np.zeros(0, int)) is None


@given(st.lists(st.integers(0, 40), min_size=2, max_size=60).filter(lambda drawn: len(set(drawn)) > 1))
def test_every_pair(drawn):
    values = np.array(drawn) / 7
    assert of(values) == pytest.approx(brute(values), rel=1e-15)


@pytest.mark.usefixtures("many_rounds")
@pytest.mark.parametrize("seed", range(30))
def test_however_few_pairs_are_sorted(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    for values in (
        rng.normal(size=n),
        np.exp(20 * rng.normal(size=n)),
        rng.integers(0, 25, n) * 0.1,
        np.concatenate([np.full(n, 0.3), rng.random(n)]),
        1e308 * rng.random(n),
        5e-324 * rng.integers(1, 50, n),
    ):
        assert of(values) == pytest.approx(brute(values), rel=1e-15, abs=0)


def test_dependence_is_found_and_there_is_none_without_a_miss():
    rng = np.random.default_rng(0)
    width = rng.uniform(1, 3, 200)
    hit = rng.random(200) < np.where(width > 2, 1.0, 0.6)
    found = coverage_hsic_test(np.where(hit, 0.0, 9.0), Intervals(-width, width, 0.8), resamples=199)
    assert (found.pvalue, found.estimate, found.n) == (1 / 200, hit.mean(), 200)
    none = coverage_hsic_test(np.zeros(200), Intervals(-width, width, 0.8), resamples=19)
    assert (none.statistic, none.pvalue) == (0.0, 1.0)
