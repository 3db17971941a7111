"""Shift and spread of normal predictions by their ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant import Ranks
from calibrant.inference.normal_errors import normal_errors, shrinkage
from calibrant.inference.rank_effect import rank_effect
from calibrant.primitives.legendre import legendre

Z, WEIGHT = (9 * part for part in np.polynomial.legendre.leggauss(300))


def rank_law(M, shift, spread):
    """Return the probabilities of ranks 0 to M: outcomes N(0, spread²) among M draws of N(shift, 1), by Gauss."""
    u = stats.norm.cdf(spread * Z - shift)
    return stats.binom.pmf(np.arange(M + 1)[:, None], M, u) @ (WEIGHT * stats.norm.pdf(Z))


def counts_of(M, shift, spread, n=10**9):
    return np.round(n * rank_law(M, shift, spread)).astype(np.int64)


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
        law = rank_law(19, 0.3, 1.4)
        assert normal_errors(counts_of(19, 0.3, 1.4), 0.95).ends == pytest.approx(law[0] + law[-1], rel=1e-6)

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
