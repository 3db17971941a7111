"""Which kind of error uneven ranks show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.ranking.bands import ecdf_band
from calibrant.ranking.counting import legendre
from calibrant.ranking.effects import below, rank_effect
from calibrant.ranking.failures import failures_of, normal_errors, outward_failure, shrinkage, smallest_effects
from calibrant.ranking.summary import rank_points
from calibrant.summaries import Ranks

RNG = np.random.default_rng(0)
Z = RNG.normal(size=4000)
SIGN = RNG.choice([-1, 1], 4000)


def ranked(u, M=99):
    return np.bincount(RNG.binomial(M, u), minlength=M + 1)


def failures(counts):
    return failures_of(counts, normal_errors(counts, 0.95))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (stats.norm.cdf(Z / 0.7), ("too narrow",)),
        (stats.norm.cdf(Z / 1.4), ("too wide",)),
        (stats.norm.cdf(Z - 0.4), ("too high",)),
        (stats.norm.cdf(Z + 0.4), ("too low",)),
        (stats.norm.cdf(Z - 1.5), ("too high",)),  # which makes a U of its own, and is not called too narrow
        (stats.norm.cdf((Z - 0.4) / 0.7), ("too high", "too narrow")),
        (stats.norm.cdf((Z + 0.4) / 1.4), ("too wide", "too low")),
        (stats.norm.cdf(Z + 0.8 * SIGN), ("too narrow",)),
        (stats.gamma.cdf(Z * np.sqrt(2) + 2, 2), ("skewed",)),
        (stats.t.cdf(Z * np.sqrt(3), 3), ("heavy-tailed",)),
        (stats.t.cdf(Z, 3), ("heavy-tailed",)),
        (stats.norm.cdf(stats.t.ppf(stats.norm.cdf(Z), 3) / np.sqrt(3)), ("light-tailed",)),
        (stats.norm.cdf((SIGN + 0.3 * Z) / np.sqrt(1.09)), ("two modes",)),
    ],
)
@pytest.mark.parametrize("M", [19, 99, 999])
def test_of_known_errors(values, expected, M):
    assert failures(ranked(values, M)) == expected


class TestOutside:
    def flat(self, below, above, M=99):
        counts = np.full(M + 1, 20)
        counts[[0, -1]] = below, above
        return counts

    def test_spikes_at_both_ends(self):
        assert failures(self.flat(200, 220)) == ("outside",)

    def test_a_spike_at_one_end(self):
        assert failures(self.flat(300, 20)) == ("outside",)

    def test_a_slope_towards_the_ends_is_a_spread(self):
        assert failures(ranked(stats.norm.cdf(2 * Z))) == ("too narrow",)

    def test_few_draws_do_not_tell_a_spike_from_a_slope(self):
        assert failures(self.flat(100, 100, M=4))[0] == "too narrow"

    def test_nothing_between_the_ends(self):
        counts = np.zeros(100, dtype=np.int64)
        counts[[0, -1]] = 500
        assert failures(counts) == ("too narrow",)


class TestOther:
    def test_a_comb(self):
        counts = np.tile([40, 0], 50)
        assert failures(counts) == ("other",)

    def test_one_draw_knows_a_bias_alone(self):
        assert failures(np.array([70, 30])) == ("too high",)
        assert failures(np.array([50, 50])) == ("other",)

    def test_the_largest_is_named_even_if_it_is_not_clear(self):
        # Z1 is about 2.4: seen, and not beyond three standard errors
        counts = np.round(np.linspace(12, 8, 10) * 4).astype(np.int64)
        assert failures(counts) == ("too high",)


class TestOutward:
    def test_direction_of_a_bias_does_not_show(self):
        rising = np.arange(1, 11) * 10
        assert outward_failure(rising) == "too narrow or biased"
        assert outward_failure(rising[::-1]) == "too wide"

    def test_other(self):
        assert outward_failure(np.array([100, 0, 100, 0, 100])) == "other"
        assert outward_failure(np.array([60, 10, 10, 10, 60])) == "other"


Z_NORMAL_ERRORS, WEIGHT = (9 * part for part in np.polynomial.legendre.leggauss(300))


def rank_distribution(M, shift, spread):
    """Return the probabilities of ranks 0 to M: outcomes N(0, spread²) among M draws of N(shift, 1), by Gauss."""
    u = stats.norm.cdf(spread * Z_NORMAL_ERRORS - shift)
    return stats.binom.pmf(np.arange(M + 1)[:, None], M, u) @ (WEIGHT * stats.norm.pdf(Z_NORMAL_ERRORS))


def counts_of(M, shift, spread, n=10**9):
    return np.round(n * rank_distribution(M, shift, spread)).astype(np.int64)


class TestShrinkage:
    @pytest.mark.parametrize("M", [1, 2, 4, 9, 99])
    def test_is_what_a_binomial_rank_leaves_of_legendre_polynomials(self, M):
        u = np.linspace(0, 1, 9)
        mean = legendre(M) @ stats.binom.pmf(np.arange(M + 1)[:, None], M, u)
        continuous = [np.sqrt(2 * k + 1) * np.polynomial.Legendre.basis(k)(2 * u - 1) for k in range(1, len(mean) + 1)]
        np.testing.assert_allclose(mean, shrinkage(M)[:, None] * continuous, atol=1e-12)

    def test_by_hand(self):
        # M = 1: 1/3 under the root; M = 2: 2/4, and times 1/5
        np.testing.assert_allclose(shrinkage(1), [np.sqrt(1 / 3)], rtol=1e-15)
        np.testing.assert_allclose(shrinkage(2), np.sqrt([1 / 2, 1 / 10]), rtol=1e-15)


class TestNormalErrors:
    @pytest.mark.parametrize("M", [2, 9, 49])
    @pytest.mark.parametrize(("shift", "spread"), [(0.0, 1.0), (0.4, 1.0), (-1.0, 1.0), (0.0, 1 / 0.7), (0.3, 0.5)])
    def test_finds_the_errors_that_made_the_ranks(self, M, shift, spread):
        found = normal_errors(counts_of(M, shift, spread), 0.95)
        assert found.measurable
        assert found.shift == pytest.approx(shift, abs=1e-6)
        assert found.spread == pytest.approx(spread, abs=1e-6)
        np.testing.assert_allclose(found.rest, 0.0, atol=1e-5)

    def test_knows_the_share_outside_all_draws(self):
        distribution = rank_distribution(19, 0.3, 1.4)
        assert normal_errors(counts_of(19, 0.3, 1.4), 0.95).ends == pytest.approx(
            distribution[0] + distribution[-1], rel=1e-6
        )

    def test_one_draw_tells_a_shift_alone(self):
        # P(outcome below the draw) = Φ(shift/√2)
        n = 10**8
        below = round(n * stats.norm.cdf(0.5 / np.sqrt(2)))
        found = normal_errors(np.array([below, n - below]), 0.95)
        assert found.shift == pytest.approx(0.5, abs=1e-6)
        assert np.isnan([found.spread, found.spread_low, found.spread_high]).all()
        assert found.rest.size == 0

    def test_small_errors_among_many_draws_are_those_of_the_first_order(self):
        counts = counts_of(199, 0.01, 1.01)
        first = rank_effect(_ranks(counts))
        found = normal_errors(counts, 0.95)
        assert found.shift == pytest.approx(first.shift[0], rel=0.02)
        assert np.log(found.spread) == pytest.approx(np.log(first.spread[0]), rel=0.03)

    @given(st.lists(st.integers(0, 60), min_size=5, max_size=12).filter(any))
    def test_mirrored_ranks_have_the_opposite_shift(self, counts):
        one, other = (normal_errors(np.array(c, dtype=np.int64), 0.95) for c in (counts, counts[::-1]))
        assert one.shift == pytest.approx(-other.shift, abs=1e-6)
        assert one.spread == pytest.approx(other.spread, rel=1e-6)
        assert one.measurable == other.measurable
        if one.measurable:
            assert one.shift_low == pytest.approx(-other.shift_high, rel=1e-4, abs=1e-4)

    @pytest.mark.parametrize("place", [0, 4])
    def test_outcomes_beyond_all_draws_are_beyond_measure(self, place):
        counts = np.zeros(5, dtype=np.int64)
        counts[place] = 100
        found = normal_errors(counts, 0.95)
        assert not found.measurable
        assert (found.shift > 0) == (place == 0)
        assert np.isinf([found.shift_low, found.shift_high]).all()
        assert np.isfinite([found.shift, found.spread]).all()

    @pytest.mark.parametrize(("ranks", "spread"), [([50, 0, 0, 0, 50], 20.0), ([0, 0, 100, 0, 0], 0.05)])
    def test_a_spread_beyond_measure_is_the_nearest_within(self, ranks, spread):
        found = normal_errors(np.array(ranks), 0.95)
        assert not found.measurable
        assert found.spread == pytest.approx(spread)


@pytest.mark.parametrize("M", [4, 99])
@pytest.mark.parametrize(("shift", "spread"), [(0.0, 1.0), (0.4, 1.4)])
def test_intervals_hold_the_errors_that_made_the_ranks(M, shift, spread):
    rng, repeats, n = np.random.default_rng(0), 200, 200
    held = np.zeros(2)
    for _ in range(repeats):
        u = stats.norm.cdf(spread * rng.normal(size=n) - shift)
        found = normal_errors(np.bincount(rng.binomial(M, u), minlength=M + 1), 0.95)
        held += [found.shift_low <= shift <= found.shift_high, found.spread_low <= spread <= found.spread_high]
    np.testing.assert_allclose(held / repeats, 0.95, atol=4 * np.sqrt(0.95 * 0.05 / repeats))


class TestFewRows:
    def test_one_row_has_an_interval(self):
        found = normal_errors(np.array([0, 0, 1, 0, 0, 0]), 0.95)
        assert found.shift_high - found.shift_low > 3
        assert found.spread_low < 0.1
        assert found.spread_high > 10


def _ranks(counts):
    table = counts[:, None].astype(np.int64)
    return Ranks(table, table.astype(float), table.astype(float), ("",), True, np.zeros(1, np.int64), False, False)


def power(shift, spread, n, M, *, tail=0.05, repeats=400, cells=False):
    """Return how often curves with an error leave the band, which is when p <= tail, by simulation."""
    rng = np.random.default_rng(0)
    u = stats.norm.cdf(spread * rng.normal(size=(n, repeats)) - shift)
    ranks = Ranks.of(np.minimum((u * (M + 1)).astype(int), M) if cells else rng.binomial(M, u), M)
    j = rank_points(n, M, cells=cells)
    counts, band = below(ranks.counts, j), ecdf_band(n, j / (M + 1), 1 - tail)
    return np.mean(((counts < band.lower[:, None]) | (counts > band.upper[:, None])).any(axis=0))


@pytest.mark.parametrize(("n", "M", "cells"), [(300, 99, False), (100, 9, False), (200, 999, True)])
def test_are_seen_four_times_in_five(n, M, cells):
    shift, spread = smallest_effects(n, M, cells=cells)
    assert power(shift, 1.0, n, M, cells=cells) == pytest.approx(0.8, abs=0.07)
    sides = [power(0.0, factor, n, M, cells=cells) for factor in (spread, 1 / spread)]
    assert min(sides) == pytest.approx(0.8, abs=0.09)


def test_several_columns_leave_less_to_each():
    tail = 0.05 / 20
    shift, spread = smallest_effects(300, 49, tail=tail)
    assert power(shift, 1.0, 300, 49, tail=tail) == pytest.approx(0.8, abs=0.07)
    alone = smallest_effects(300, 49)
    assert (shift, spread) > alone


def test_few_draws_see_less():
    many, few = smallest_effects(200, 999), smallest_effects(200, 9)
    assert few[0] > many[0]
    assert few[1] > many[1]


def test_one_draw_sees_no_spread():
    shift, spread = smallest_effects(200, 1)
    assert 0 < shift < 1
    assert np.isnan(spread)


def test_too_few_rows_see_nothing():
    assert smallest_effects(3, 99)[1] == np.inf


def test_many_rows_see_by_their_root():
    base, four = smallest_effects(10_000, 19), smallest_effects(40_000, 19)
    assert four[0] == pytest.approx(base[0] / 2)
    assert np.log(four[1]) == pytest.approx(np.log(base[1]) / 2)
