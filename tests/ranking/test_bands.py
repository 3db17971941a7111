"""Exact bands of counts and exact p-values: reference values, whole numbers, every rank vector, a simulation."""

import math
from fractions import Fraction
from functools import cache
from math import comb
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.references.books import arrays, by_id

from calibrant.core.pvalues import binomial_tails
from calibrant.ranking import bands as module
from calibrant.ranking.bands import (
    count_limits,
    counts_test,
    doubled_tail,
    ecdf_band,
    gamma_pvalue,
    histogram_band,
    largest_gamma,
    observed_gamma,
    probability_inside,
)
from calibrant.ranking.poisson_walk import PoissonWalk

BOOK, ARRAYS = by_id("samples"), arrays("samples")


def counts_below(ranks, M):
    """Return #{rank < j} for j = 1..M, (M, C)."""
    return (ranks.reshape(len(ranks), 1, -1) < np.arange(1, M + 1)[:, None]).sum(axis=0)


class Exact:
    """The distribution of γ for N ranks 0..M in whole numbers: everything in units of (M + 1)^-N."""

    def __init__(self, N, M):
        self.N, self.m, self.all = N, M + 1, (M + 1) ** N
        self.t = np.arange(1, self.m) / self.m
        mass = [[comb(N, c) * j**c * (self.m - j) ** (N - c) for c in range(N + 1)] for j in range(1, self.m)]
        self.values = [[2 * min(sum(row[: c + 1]), sum(row[c:])) for c in range(N + 1)] for row in mass]

    def gamma(self, counts):
        return min(row[c] for row, c in zip(self.values, counts, strict=True))

    def at_most(self, gamma):
        """Return the number of rank vectors with γ <= gamma."""
        ways = {0: 1}
        for row in self.values:
            arrived = {}
            for k, way in ways.items():
                for c in range(k, self.N + 1):
                    if row[c] > gamma:
                        arrived[c] = arrived.get(c, 0) + way * comb(self.N - k, c - k)
            ways = arrived
        return self.all - sum(ways.values())

    def band(self, level):
        """Return the largest g with P(γ >= g) >= level, and that probability, from the distribution of γ."""
        attained = sorted({v for row in self.values for v in row})
        for below, g in reversed(list(zip([0, *attained], attained, strict=False))):
            inside = self.all - self.at_most(below)
            if inside >= level * self.all:
                return Fraction(g, self.all), Fraction(inside, self.all)
        raise AssertionError


@pytest.mark.parametrize(
    "row", BOOK["band_table"]["value"], ids=lambda row: f"{row['N']}-{row['K']}-{row['level']:.3g}"
)
def test_reference_bands(row):
    K = row["K"]
    band = ecdf_band(row["N"], np.arange(1, K) / K, row["level"])
    assert band.gamma == pytest.approx(row["gamma"], rel=1e-12, abs=0)
    assert band.coverage == pytest.approx(row["coverage"], abs=1e-11)
    middle = row["j"] - 1
    assert (band.lower[middle], band.upper[middle]) == (row["lower"], row["upper"])
    assert (band.lower[0], band.upper[0]) == (row["lower_1"], row["upper_1"])
    np.testing.assert_array_equal(band.lower, row["N"] - band.upper[::-1])


@pytest.mark.parametrize("row", BOOK["pointwise_band_coverage"]["value"])
def test_reference_coverage_of_pointwise_bands(row):
    N, K = row["N"], row["K"]
    t = np.arange(1, K) / K
    half = row["multiple_of_sd"] * np.sqrt(N * t * (1 - t))
    lower = np.maximum(np.ceil(N * t - half), 0).astype(int)
    upper = np.minimum(np.floor(N * t + half), N).astype(int)
    walk = PoissonWalk.of(N, t)
    assert walk.inside(lower, upper) == pytest.approx(row["simultaneous_coverage"], abs=1e-11)
    assert walk.outside(lower, upper) == pytest.approx(1 - row["simultaneous_coverage"], abs=1e-11)


@pytest.mark.parametrize("name", sorted(key.split("/")[-1] for key in BOOK if key.startswith("band/gamma/")))
def test_reference_curves(name):
    ranks = ARRAYS[f"ranks_{name}"]
    M = ARRAYS[f"samples_{name}"].shape[1]
    t = np.arange(1, M + 1) / (M + 1)
    gamma, place = observed_gamma(counts_below(ranks, M), len(ranks), t)
    np.testing.assert_allclose(gamma, BOOK[f"band/gamma/{name}"]["value"], rtol=1e-12)
    assert (place + 1).tolist() == BOOK[f"band/where/{name}"]["value"]
    pvalues = [gamma_pvalue(g, len(ranks), t) for g in gamma]
    np.testing.assert_allclose(pvalues, BOOK[f"band/pvalue/{name}"]["value"], rtol=1e-12)


SMALL = [(1, 1), (2, 1), (4, 1), (2, 3), (5, 3), (6, 9), (13, 4), (30, 6), (60, 4)]


@pytest.mark.parametrize(("N", "M"), SMALL)
@pytest.mark.parametrize("level", ["1/20", "1/2", "3/4", "9/10", "95/100", "999/1000"])
def test_band_in_whole_numbers(N, M, level):
    exact, level = Exact(N, M), Fraction(level)
    gamma, coverage = exact.band(level)
    band = ecdf_band(N, exact.t, float(level))
    assert band.gamma == pytest.approx(float(gamma), rel=1e-10, abs=0)
    assert band.coverage == pytest.approx(float(coverage), rel=1e-13, abs=0)
    for row, low, high in zip(exact.values, band.lower, band.upper, strict=True):
        assert [c for c, v in enumerate(row) if v >= gamma * exact.all] == list(range(low, high + 1))


@pytest.mark.parametrize(("N", "M"), SMALL)
def test_pvalue_in_whole_numbers(N, M):
    """Also where it is 2e-34, with all its digits."""
    exact, rng = Exact(N, M), np.random.default_rng(N)
    seen = set()
    for power in (1, 2, 5, 20, 1e9):
        ranks = np.minimum(rng.random(N) ** power * (M + 1), M).astype(int)
        counts = counts_below(ranks, M)
        g = exact.gamma(counts[:, 0])
        (gamma,), _ = observed_gamma(counts, N, exact.t)
        p = Fraction(exact.at_most(g), exact.all)
        assert gamma == pytest.approx(float(Fraction(g, exact.all)), rel=5e-14, abs=0)
        assert gamma_pvalue(gamma, N, exact.t) == pytest.approx(float(p), rel=3e-14, abs=0)
        seen.add(float(p))
    assert N < 60 or min(seen) < 1e-34


@pytest.mark.parametrize(("N", "M"), [*SMALL, (25, 30), (200, 99), (1000, 20)])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.75, 0.9, 0.95, 0.99, 0.99999])
def test_curve_leaves_the_band_exactly_if_p_is_small(N, M, level):
    rng, t = np.random.default_rng(M), np.arange(1, M + 1) / (M + 1)
    band = ecdf_band(N, t, level)
    powers = rng.choice([1.0, 1.1, 1.3, 2.0], 60)
    counts = np.hstack([counts_below((rng.random(N) ** power * (M + 1)).astype(int), M) for power in powers])
    edge = np.clip(np.stack([band.lower, band.upper, band.lower - 1, band.upper + 1], axis=1), 0, N)
    counts = np.hstack([counts, np.maximum.accumulate(edge, axis=0)])  # curves along the limits
    leaves = ((counts < band.lower[:, None]) | (counts > band.upper[:, None])).any(axis=0)
    gamma, _ = observed_gamma(counts, N, t)
    small = np.array([gamma_pvalue(g, N, t) for g in gamma]) <= 1 - level + 1e-12
    np.testing.assert_array_equal(leaves, small)


@given(N=st.integers(1, 80), M=st.integers(1, 40), seed=st.integers(0, 100), power=st.sampled_from([1.0, 1.5, 6.0]))
@example(N=1, M=1, seed=0, power=1.0)
def test_mirrored_ranks_have_the_same_p(N, M, seed, power):
    ranks = (np.random.default_rng(seed).random(N) ** power * (M + 1)).astype(int)
    t = np.arange(1, M + 1) / (M + 1)
    (one, other), places = observed_gamma(counts_below(np.stack([ranks, M - ranks], axis=1), M), N, t)
    assert one == pytest.approx(other, rel=1e-12, abs=0)
    assert gamma_pvalue(one, N, t) == pytest.approx(gamma_pvalue(other, N, t), rel=1e-13, abs=0)
    values = [
        observed_gamma(counts_below(r, M)[[k]], N, t[[k]])[0] for r, k in zip((ranks, M - ranks), places, strict=True)
    ]
    assert values == [pytest.approx(one), pytest.approx(one)]


def test_own_points():
    """Points need no pattern: limits and probabilities of (1/10, 3/10, 8/10) by whole numbers."""
    N, j = 12, (1, 3, 8)
    t, exact = np.array(j) / 10, Exact(N, 9)
    exact.values = [exact.values[k - 1] if k in j else [10**N * 9] * (N + 1) for k in range(1, 10)]
    for level in (0.5, 0.8, 0.95):
        band = ecdf_band(N, t, level)
        gamma, coverage = exact.band(Fraction(level))
        assert band.gamma == pytest.approx(float(gamma), rel=1e-12, abs=0)
        assert band.coverage == pytest.approx(float(coverage), rel=1e-13, abs=0)
        assert gamma_pvalue(band.gamma, N, t) == pytest.approx(
            exact.at_most(round(gamma * exact.all)) / exact.all, rel=1e-13
        )


def test_levels_close_to_one():
    band = ecdf_band(5, np.arange(1, 4) / 4, 0.9)
    assert band.gamma == pytest.approx(53 / 256)
    assert band.coverage == pytest.approx(235 / 256)
    # Where 1 - P(inside) has no digits left, the band comes from the sum of what leaves.
    t = np.arange(1, 20) / 20
    for tail in (3e-9, 1e-9, 1e-12, 1e-15):
        band = ecdf_band(100, t, 1 - tail)
        assert gamma_pvalue(band.gamma * (1 - 1e-6), 100, t) <= 1 - (1 - tail)
        assert gamma_pvalue(band.gamma, 100, t) > 1 - (1 - tail)


def test_all_ranks_equal_among_many():
    """Tails that no float can hold: p is a bound and not 0, the place is where the curve is farthest."""
    N, M = 5000, 99
    t = np.arange(1, M + 1) / (M + 1)
    tied = np.round(N * t).astype(int)
    tied[[19, 79]] += 100, -100  # at t = 0.2 and at its mirror image
    counts = np.stack([np.where(t > 0.3, N, 0), np.full(M, N), tied], axis=1)
    gamma, place = observed_gamma(counts, N, t)
    assert (gamma == 0).tolist() == [True, True, False]
    assert place.tolist() == [30, 0, 19]
    assert gamma_pvalue(0.0, N, t) == pytest.approx(M * 1e-200)


def test_long_walks_end_earlier():
    t = np.arange(1, 50) / 50
    exact = {g: gamma_pvalue(g, 500, t) for g in (0.2, 0.001, 1e-6, 1e-12)}
    module._pvalue.cache_clear()
    with mock.patch.object(module, "MAX_PRODUCTS", 0):
        quick = {g: gamma_pvalue(g, 500, t) for g in exact}
    module._pvalue.cache_clear()
    assert quick.pop(1e-12) == 49 * 1e-12 > exact[1e-12]
    for g, p in quick.items():
        assert p == pytest.approx(exact[g], abs=1e-12)


@given(N=st.integers(1, 60), M=st.integers(1, 20), gamma=st.floats(1e-30, 2))
def test_bounds_of_p(N, M, gamma):
    t = np.arange(1, M + 1) / (M + 1)
    counts = counts_below(np.random.default_rng(N).integers(0, M + 1, N), M)
    (attained,), _ = observed_gamma(counts, N, t)
    assert attained / 2 <= gamma_pvalue(attained, N, t) * (1 + 1e-12)
    assert 0 <= gamma_pvalue(gamma, N, t) <= min(1, M * gamma) * (1 + 1e-9)


@pytest.mark.parametrize("band_of", [ecdf_band, histogram_band])
def test_bands_are_remembered_and_read_only(band_of):
    band = band_of(30, [0.25, 0.75], 0.9)
    assert band_of(30, np.array([0.25, 0.75]), 0.9) is band
    with pytest.raises(ValueError, match="read-only"):
        band.lower[0] = 3
    assert band.lower.dtype == band.upper.dtype == np.int64


def independent(N, t):
    """Return P(outside) of independent binomial counts."""
    mass = np.array([[math.comb(N, c) * x**c * (1 - x) ** (N - c) for c in range(N + 1)] for x in t])
    counts = np.arange(N + 1)

    def outside(limits):
        inside = (counts >= limits.lower[:, None]) & (counts <= limits.upper[:, None])
        return 1 - float((mass * inside).sum(axis=1).prod())

    return outside


@settings(max_examples=30)
@given(
    N=st.integers(1, 25),
    t=st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True),
    tail=st.floats(0.001, 0.999),
    guess=st.floats(1e-6, 5),
)
def test_every_attained_value(N, t, tail, guess):
    t = np.sort(t) / 100
    outside = independent(N, t)
    limits, p = largest_gamma(N, t, outside, tail=tail, guess=guess)
    assert p == outside(limits) <= tail + 1e-12
    steps, g = [], 2.0
    while g > 0:
        steps.append(count_limits(g, N, t))
        g = steps[-1].next_below
    best = next(step for step in steps if outside(step) <= tail + 1e-12)
    assert limits.reached == pytest.approx(best.reached, rel=1e-9, abs=0)
    np.testing.assert_array_equal(limits.lower, best.lower)
    np.testing.assert_array_equal(limits.upper, best.upper)


def test_few_steps_are_tried():
    tried = []
    t = np.arange(1, 200) / 200

    def outside(limits):  # a smooth function, so that lines are right
        tried.append(limits)
        return min(1.0, 30 * limits.reached)

    limits, _ = largest_gamma(5000, t, outside, tail=0.05, guess=0.05)
    assert limits.reached <= 0.05 / 30
    assert len(tried) < 15


@cache
def tails(N, t):
    """Return 2 P(B <= c) and 2 P(B >= c) for c = 0..N, exactly."""
    mass = [comb(N, c) * t**c * (1 - t) ** (N - c) for c in range(N + 1)]
    return [2 * sum(mass[: c + 1]) for c in range(N + 1)], [2 * sum(mass[c:]) for c in range(N + 1)]


def expected(g, N, t, *, strict=False):
    low, high = tails(N, t)
    inside = (lambda v: v > g) if strict else (lambda v: v >= g)
    lower = min((c for c in range(N + 1) if inside(low[c])), default=N + 1)
    return lower, max((c for c in range(N + 1) if inside(high[c])), default=-1)


@given(
    N=st.integers(1, 40),
    m=st.integers(2, 12),
    g=st.fractions(Fraction(1, 10**6), 2, max_denominator=10**6),
    strict=st.booleans(),
)
def test_every_count(N, m, g, strict):
    points = [Fraction(j, m) for j in range(1, m)]
    found = count_limits(float(g), N, np.array([float(t) for t in points]), strict=strict)
    wanted = [expected(g, N, t, strict=strict) for t in points]
    assert list(zip(found.lower.tolist(), found.upper.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("N", "m"), [(3, 2), (7, 10), (25, 6)])
def test_attained_values(N, m, strict):
    """A tail value is reached by its own count, and not exceeded, though mirrored tails are rounded differently."""
    points = [Fraction(j, m) for j in range(1, m)]
    t = np.array([float(x) for x in points])
    for g in {v for x in points for side in tails(N, x) for v in side if v < 1.9}:
        found = count_limits(float(g), N, t, strict=strict)
        assert found.lower.tolist() == [expected(g, N, x, strict=strict)[0] for x in points]
        assert found.upper.tolist() == [expected(g, N, x, strict=strict)[1] for x in points]


@pytest.mark.parametrize("N", [1, 9, 1000, 10**6])
@pytest.mark.parametrize("g", [1.9, 1.0, 0.3, 1e-3, 1e-30, 1e-200])
def test_mirrored_points_have_mirrored_limits(N, g):
    found = count_limits(g, N, np.arange(1, 20) / 20)
    np.testing.assert_array_equal(found.lower, N - found.upper[::-1])


@pytest.mark.parametrize("N", [9, 1000])
def test_neighbouring_values(N):
    t, g = np.array([0.2, 0.5, 0.7]), 0.01
    found = count_limits(g, N, t)
    low = doubled_tail(np.stack([found.lower, found.lower - 1]), N, t, 0)
    high = doubled_tail(N - np.stack([found.upper, found.upper + 1]), N, t, 1)
    assert found.reached == min(low[0].min(), high[0].min()) >= g
    assert found.next_below == pytest.approx(max(np.where(found.lower > 0, low[1], 0).max(), high[1].max()))
    assert found.next_below < g
    for end in (0, 1):  # P(B >= 0) and P(B <= N) are 1 and not NaN
        assert doubled_tail(np.array([N]), N, np.array([0.3]), end) == 2


def share_inside(N, sizes, lower, upper):
    """Return the share of all vectors of N ranks whose bins, of so many ranks each, have counts within limits."""
    ways = {0: 1}
    for size, low, high in zip(sizes, lower, upper, strict=True):
        arrived = {}
        for k, way in ways.items():
            for c in range(low, min(high, N - k) + 1):
                arrived[k + c] = arrived.get(k + c, 0) + way * comb(N - k, c) * size**c
        ways = arrived
    return Fraction(ways.get(N, 0), sum(sizes) ** N)


@pytest.mark.parametrize("row", BOOK["histogram_band"]["value"], ids=lambda row: f"{row['N']}-{row['bins']}")
def test_reference_bands_of_histograms(row):
    band = histogram_band(row["N"], np.array(row["sizes"]) / row["ranks"], row["level"])
    assert band.gamma == pytest.approx(row["gamma"], rel=1e-12, abs=0)
    assert band.coverage == pytest.approx(row["coverage"], abs=1e-11)
    assert band.lower.tolist() == row["lower"]
    assert band.upper.tolist() == row["upper"]


@given(
    N=st.integers(1, 60),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    limits=st.dictionaries(st.integers(1, 5), st.tuples(st.integers(0, 30), st.integers(0, 60)), min_size=5),
)
def test_whole_numbers(N, sizes, limits):
    different, which, bins = np.unique(sizes, return_inverse=True, return_counts=True)
    lower, upper = np.array([limits[size] for size in different]).T
    exact = share_inside(N, sizes, lower[which].tolist(), upper[which].tolist())
    found = probability_inside(N, different / sum(sizes), bins, lower, upper)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("level", [0.3, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(("N", "sizes"), [(40, [1] * 5), (25, [3, 2, 3, 2]), (60, [1, 7]), (7, [2, 1, 1, 2, 1])])
def test_no_other_g_will_do(N, sizes, level):
    """All attained tail values are tried."""
    m = sum(sizes)
    mass = [[comb(N, c) * b**c * (m - b) ** (N - c) for c in range(N + 1)] for b in sizes]
    values = [[2 * min(sum(row[: c + 1]), sum(row[c:])) for c in range(N + 1)] for row in mass]
    best = None
    for g in sorted({v for row in values for v in row}):
        inside = [[c for c, v in enumerate(row) if v >= g] for row in values]
        if all(inside) and share_inside(N, sizes, [c[0] for c in inside], [c[-1] for c in inside]) >= Fraction(level):
            best = g, inside
    band = histogram_band(N, np.array(sizes) / m, level)
    assert band.gamma == pytest.approx(float(Fraction(best[0], m**N)), rel=1e-12, abs=0)
    assert band.lower.tolist() == [c[0] for c in best[1]]
    assert band.upper.tolist() == [c[-1] for c in best[1]]
    exact = share_inside(N, sizes, band.lower.tolist(), band.upper.tolist())
    assert band.coverage == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_many_rows_and_bins():
    """Bins are almost independent: P(inside) is near the product of theirs."""
    N, bins = 10**6, 1000
    band = histogram_band(N, np.full(bins, 1 / bins), 0.95)
    low, _ = binomial_tails(band.lower[0] - 1, N, 1 / bins)
    _, high = binomial_tails(band.upper[0] + 1, N, 1 / bins)
    assert 0.95 <= band.coverage < 0.951
    assert band.coverage == pytest.approx((1 - low - high) ** bins, abs=3e-4)


def test_columns_are_judged_one_by_one():
    t, counts = np.array([0.25, 0.5, 0.75]), np.array([[2, 2], [4, 4], [4, 6]])
    found = counts_test(counts, 8, t)
    assert found.where.tolist() == [0.75, 0.25]  # 2 P(B <= 4) at 3/4; the second is at the mean everywhere
    assert found.pvalue.tolist() == [gamma_pvalue(gamma, 8, t) for gamma in found.gamma]
