"""The law of the number of events, and its quantiles."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.poisson_binomial import EXACT_ROWS, count_band, law


def enumerated(p):
    mass = np.zeros(len(p) + 1)
    for outcome in itertools.product([0, 1], repeat=len(p)):
        mass[sum(outcome)] += math.prod(q if y else 1 - q for y, q in zip(outcome, p, strict=True))
    return mass


def one_count(p):
    return np.ones(len(p), dtype=np.int64)


class TestLaw:
    @given(st.lists(st.floats(0, 1), max_size=9))
    def test_all_outcomes_enumerated(self, p):
        np.testing.assert_allclose(law(np.array(p)), enumerated(p), rtol=1e-12, atol=1e-15)

    def test_by_hand(self):
        # P(0) = 0.75 * 0.5, P(2) = 0.25 * 0.5.
        assert law(np.array([0.25, 0.5])).tolist() == [0.375, 0.5, 0.125]

    def test_certain_rows(self):
        assert law(np.array([0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 1.0, 0.0]

    def test_scipy(self):
        from scipy import stats

        if not hasattr(stats, "poisson_binom"):  # new in SciPy 1.15
            pytest.skip("this SciPy has no poisson_binom")
        p = np.random.default_rng(0).beta(0.5, 2, 300)
        np.testing.assert_allclose(law(p), stats.poisson_binom(p).pmf(np.arange(301)), rtol=1e-9, atol=1e-14)

    def test_equal_rows_are_binomial(self):
        from scipy import stats

        np.testing.assert_allclose(
            law(np.full(777, 0.01)), stats.binom(777, 0.01).pmf(np.arange(778)), rtol=1e-10, atol=1e-300
        )


class TestExactBand:
    def test_by_hand(self):
        # Two rows of 0.5: masses 1/4, 1/2, 1/4. At level 0.5 the tails are 1/4 each: P(X <= 0) = 1/4, P(X > 1) = 1/4.
        p = np.array([0.5, 0.5])
        assert count_band(p, one_count(p), 0.5) == (0, 1)
        assert count_band(p, one_count(p), 0.49) == (1, 1)
        assert count_band(p, one_count(p), 0.51) == (0, 2)

    def test_repeated_scores_are_counted(self):
        assert count_band(np.array([0.5]), np.array([2]), 0.5) == (0, 1)
        assert count_band(np.array([0.0, 1.0]), np.array([3, 4]), 0.95) == (4, 4)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
    def test_quantiles_of_the_enumerated_law(self, p, level):
        mass, tail = enumerated(p), (1 - level) / 2
        below = [math.fsum(mass[: k + 1]) for k in range(mass.size)]
        above = [math.fsum(mass[k + 1 :]) for k in range(mass.size)]
        if any(abs(value - tail) < 1e-9 for value in below + above):
            return  # which side of the tail a rounded sum falls on is not defined
        low, high = count_band(np.sort(p), one_count(p), level)
        assert low == next(k for k, value in enumerate(below) if value >= tail)
        assert high == next(k for k, value in enumerate(above) if value <= tail)


def exact_quantiles(p, level):
    mass, tail = law(p), (1 - level) / 2
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])[::-1] - mass
    return int(np.argmax(below >= tail)), int(np.argmax(above <= tail))


SHAPES = {
    "uniform": (1, 1),
    "rare": (0.5, 10),
    "very rare": (0.1, 100),
    "confident": (5, 0.2),
    "almost certain": (100, 0.1),
    "hopeless": (0.01, 1000),
}


class TestManyRows:
    """Beyond 2000 rows: never inside the exact quantiles, and one count outside them at most.

    Two counts where less than one event, or non-event, is expected: there the skewness is all there is.
    """

    def assert_close(self, p, band, level):
        (low, high), (exact_low, exact_high) = band, exact_quantiles(p, level)
        slack = 1 if 1 <= p.sum() <= p.size - 1 else 2
        assert exact_low - slack <= low <= exact_low
        assert exact_high <= high <= exact_high + slack

    @pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.95 ** (1 / 15), 0.999])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_within_one_count_of_the_exact_law(self, shape, level):
        p = np.sort(np.random.default_rng(3).beta(*SHAPES[shape], EXACT_ROWS + 500))
        self.assert_close(p, count_band(p, one_count(p), level), level)

    @pytest.mark.parametrize("score", [0.0, 1e-9, 1e-6, 1e-4, 0.5])
    @pytest.mark.parametrize("level", [0.95, 0.99, 0.999])
    def test_no_event_among_rare_ones_stays_inside(self, score, level):
        n = EXACT_ROWS + 1000
        low, high = count_band(np.array([score]), np.array([n]), level)
        self.assert_close(np.full(n, score), (low, high), level)
        # The same law counted from the other end.
        assert count_band(np.array([1 - score]), np.array([n]), level) == (n - high, n - low)

    def test_exact_up_to_the_limit(self):
        p = np.sort(np.random.default_rng(4).random(EXACT_ROWS))
        assert count_band(p, one_count(p), 0.95) == exact_quantiles(p, 0.95)
