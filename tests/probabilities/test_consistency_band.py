"""Where frequencies and isotonic fits fall if the predictions are calibrated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import reliability_curve, summarize
from calibrant.probabilities import consistency_band
from calibrant.probabilities.consistency_band import EXACT_ROWS, count_band, distribution
from calibrant.probabilities.reliability_curve import RELIABILITY_CURVE


def exact_quantiles(p, level):
    mass, tail = distribution(np.asarray(p)), (1 - level) / 2
    below, above = np.cumsum(mass), np.cumsum(mass[::-1])[::-1] - mass
    return int(np.argmax(below >= tail)), int(np.argmax(above <= tail))


class TestBins:
    def test_by_hand(self):
        # Two rows of 0.5 have counts 0, 1, 2 with chances 1/4, 1/2, 1/4; level 0.5 leaves 1/4 on each side.
        curve = reliability_curve([0, 1], [0.5, 0.5], bins=1, level=0.5)
        assert (curve.consistency_low[0], curve.consistency_high[0]) == (0.0, 0.5)

    def test_each_bin_has_the_distribution_of_its_own_scores(self):
        rng = np.random.default_rng(0)
        p = rng.random(300)
        curve = reliability_curve(rng.random(300) < p, p, bins=4)
        for b in range(4):
            mine = p[(p > b / 4) & (p <= (b + 1) / 4)]
            low, high = exact_quantiles(mine, 0.95)
            assert curve.consistency_low[b] == low / mine.size
            assert curve.consistency_high[b] == high / mine.size
        assert "consistency band exact" in curve.method

    def test_does_not_look_at_the_outcomes(self):
        p = np.linspace(0.1, 0.9, 30)
        one, other = (reliability_curve(np.full(30, y), p, bins=3) for y in (0, 1))
        np.testing.assert_array_equal(one.consistency_low, other.consistency_low)
        np.testing.assert_array_equal(one.consistency_high, other.consistency_high)

    @pytest.mark.parametrize("low", [0.0, 0.4, 0.9])
    def test_many_rows_in_a_bin(self, low):
        # 2500 rows in one bin: within one count of the exact law, and outside it.
        p = low + 0.1 * np.random.default_rng(1).random(2500)
        curve = reliability_curve(np.zeros(2500, int), p, bins=1)
        exact_low, exact_high = exact_quantiles(p, 0.95)
        assert exact_low - 1 <= round(curve.consistency_low[0] * 2500) <= exact_low
        assert exact_high <= round(curve.consistency_high[0] * 2500) <= exact_high + 1
        assert "exact up to 2000 rows per bin, by three cumulants beyond" in curve.method

    def test_no_event_among_many_rare_ones_stays_inside(self):
        # 45 000 rows, 15 bins; 0.006 events are expected in the first, and none is what will be seen.
        p = np.concatenate([np.full(3000, 2e-6), np.repeat((np.arange(1, 15) + 0.5) / 15, 3000)])
        curve = reliability_curve(np.zeros(p.size, int), p, simultaneous=True)
        assert curve.consistency_low[0] == 0.0
        assert curve.consistency_high[0] > 0.0


class TestSimultaneous:
    def test_level_is_shared_by_the_bins_that_hold_rows(self):
        rng = np.random.default_rng(2)
        p = np.concatenate([0.5 * rng.random(200), 0.75 + 0.25 * rng.random(200)])  # the third of four bins is empty
        curve = reliability_curve(rng.random(400) < p, p, bins=4, simultaneous=True)
        for b in (0, 1, 3):
            mine = p[(p > b / 4) & (p <= (b + 1) / 4)]
            low, high = count_band(np.sort(mine), np.ones(mine.size, np.int64), 0.95 ** (1 / 3))
            assert (curve.consistency_low[b], curve.consistency_high[b]) == (low / mine.size, high / mine.size)
        assert "simultaneous consistency band" in curve.method

    def test_is_wider(self, D1):
        one, all_ = reliability_curve(*D1), reliability_curve(*D1, simultaneous=True)
        assert (all_.consistency_low <= one.consistency_low).all()
        assert (all_.consistency_high >= one.consistency_high).all()
        assert (all_.consistency_high > one.consistency_high).any()

    def test_probability_of_leaving_the_band_anywhere(self):
        # Three bins of two rows: all 64 outcomes, weighted by their chance under calibration.
        p = np.array([0.2, 0.3, 0.4, 0.6, 0.7, 0.9])
        curve = reliability_curve([0] * 6, p, bins=3, level=0.6, simultaneous=True)
        inside = 0.0
        for y in itertools.product([0, 1], repeat=6):
            seen = np.array(y).reshape(3, 2).mean(axis=1)
            if ((seen >= curve.consistency_low) & (seen <= curve.consistency_high)).all():
                inside += np.prod(np.where(y, p, 1 - p))
        assert inside >= 0.6


class TestWeighted:
    def test_quantiles_of_the_redrawn_frequency(self):
        # Weights 5, 2 and 1, all 0.5: the frequency is 0, 1/8, 2/8, 3/8, 5/8, 6/8, 7/8 or 1, with equal chances. At
        # level 0.8 the tails are 0.1 and the quantiles are 0 and 1; at level 0.6 they are 1/8 and 7/8.
        found = {
            level: reliability_curve([0, 1, 1], [0.5] * 3, bins=1, weights=[5, 2, 1], level=level, resamples=1999)
            for level in (0.8, 0.6)
        }
        assert (found[0.8].consistency_low[0], found[0.8].consistency_high[0]) == (0.0, 1.0)
        assert (found[0.6].consistency_low[0], found[0.6].consistency_high[0]) == (0.125, 0.875)
        assert "from 1999 redraws" in found[0.6].method

    def test_repeats_itself(self, D1):
        w = np.linspace(1, 2, 500)
        one, same, other = (reliability_curve(*D1, weights=w, rng=rng, resamples=99) for rng in (1, 1, 2))
        np.testing.assert_array_equal(one.consistency_low, same.consistency_low)
        assert (one.consistency_low != other.consistency_low).any()

    @pytest.mark.parametrize("level", [0.95, 0.99])
    def test_probability_of_leaving_the_simultaneous_band_anywhere(self, level):
        # By 999 redraws alone no bin of 20 has a level of 0.99^(1/20): 2.4 % of frequencies would leave the band.
        rng = np.random.default_rng(5)
        p, w = (np.arange(400) + 0.5) / 400, rng.lognormal(size=400)
        bin_of, weight = np.arange(400) // 20, w.reshape(20, 20).sum(axis=1)
        left = []
        for seed in range(20):
            curve = reliability_curve(p > 0.5, p, bins=20, weights=w, level=level, simultaneous=True, rng=seed)
            drawn = np.array([np.bincount(bin_of, w * y) / weight for y in rng.random((2000, 400)) < p])
            left.append(((drawn < curve.consistency_low - 1e-9) | (drawn > curve.consistency_high + 1e-9)).any(axis=1))
        assert 0.5 * (1 - level) < np.mean(left) < 1.15 * (1 - level)

    def test_a_level_that_needs_more_redraws_gets_them(self):
        p, w = np.linspace(0.1, 0.9, 60), np.linspace(1, 2, 60)
        for simultaneous in (False, True):
            curve = reliability_curve(
                p > 0.5, p, bins=3, weights=w, level=0.99, resamples=19, simultaneous=simultaneous
            )
            assert "from 200 redraws" in curve.method

    def test_close_to_the_exact_band_for_nearly_equal_weights(self):
        p = np.linspace(0.3, 0.7, 200)
        exact = reliability_curve([0] * 200, p, bins=1)
        redrawn = reliability_curve([0] * 200, p, bins=1, weights=1 + 1e-9 * np.arange(200), resamples=1999)
        assert redrawn.consistency_low[0] == pytest.approx(exact.consistency_low[0], abs=2 / 200)
        assert redrawn.consistency_high[0] == pytest.approx(exact.consistency_high[0], abs=2 / 200)


class TestIsotonic:
    def test_quantiles_of_all_fits(self):
        # Scores 0.3 and 0.6. Outcomes 00, 01, 10, 11 have chances 0.28, 0.42, 0.12, 0.18 and fits 0 0, 0 1, ½ ½, 1 1.
        # Quartiles at 0.3: 0 and ½ (0 up to 0.70, ½ up to 0.82). At 0.6: 0 (up to 0.28) and 1.
        curve = reliability_curve([0, 1], [0.3, 0.6], strategy="isotonic", level=0.5, resamples=4999)
        assert curve.consistency_low.tolist() == [0.0, 0.0]
        assert curve.consistency_high.tolist() == [0.5, 1.0]

    def test_is_around_the_diagonal_whatever_the_outcomes(self):
        p = np.linspace(0.05, 0.95, 200)
        one, other = (reliability_curve(np.full(200, y), p, strategy="isotonic", resamples=99) for y in (0, 1))
        np.testing.assert_array_equal(one.consistency_low, other.consistency_low)
        assert (one.consistency_low <= p).all()
        assert (one.consistency_high >= p).all()

    @pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
    def test_many_scores(self, weighted):
        n = 10_500
        p = (np.arange(n) + 0.5) / n
        w = 1 + p if weighted else None
        curve = reliability_curve(p > 0.5, p, strategy="isotonic", resamples=19, level=0.9, weights=w)
        assert curve.p.size == curve.fitted.size == curve.consistency_low.size == n
        assert "consistency region from 19 redraws on" in curve.method
        assert "mass bins" in curve.method
        assert (np.diff(curve.consistency_low) >= 0).all()
        inner = slice(500, -500)
        assert np.abs(curve.consistency_low - p)[inner].max() < 0.15
        assert np.abs(curve.consistency_high - p)[inner].max() < 0.15
        assert (curve.consistency_low[inner] <= curve.consistency_high[inner]).all()

    def test_pooled_scores_have_the_region_of_all_scores(self, monkeypatch):
        # 60 rows pooled to 20 mass bins of three neighbours: nearly the region of the rows themselves.
        p = (np.arange(60) + 0.5) / 60
        options = {"strategy": "isotonic", "resamples": 1999}
        full = reliability_curve(p > 0.5, p, **options)
        monkeypatch.setattr(consistency_band, "MAX_ISOTONIC_SCORES", 20)
        pooled = reliability_curve(p > 0.5, p, **options)
        assert "on 20 mass bins" in pooled.method
        inner = slice(6, -6)
        np.testing.assert_allclose(pooled.consistency_low[inner], full.consistency_low[inner], atol=0.12)
        np.testing.assert_allclose(pooled.consistency_high[inner], full.consistency_high[inner], atol=0.12)
        assert all(np.ptp(pooled.consistency_low[3 * b : 3 * b + 3]) == 0 for b in range(20))

    def test_ties_are_drawn_together(self):
        # Four rows of 0.5: the fit is a binomial share with chances 1, 4, 6, 4, 1 of 16; quartiles 1/4 and 3/4.
        curve = reliability_curve([0, 1, 1, 0], [0.5] * 4, strategy="isotonic", level=0.5, resamples=1999)
        assert (curve.consistency_low.tolist(), curve.consistency_high.tolist()) == ([0.25], [0.75])


class TestGrid:
    def rounding(self, grid, **options):
        return RELIABILITY_CURVE.rounding(grid, RELIABILITY_CURVE.parse(options))

    def test_one_score_per_cell_is_exact(self):
        y, p = np.arange(40) % 2, np.repeat([0.1, 0.2, 0.35, 0.9], 10)
        grid = summarize("ece", y, p)
        on_grid, exact = reliability_curve(grid, bins=4), reliability_curve(y, p, bins=4)
        for name, column in exact.columns.items():
            np.testing.assert_allclose(on_grid.columns[name], column, rtol=1e-13)
        assert self.rounding(grid, bins=4)["consistency_low"] == 0.0
        assert on_grid.method == "clopper-pearson intervals; consistency band exact of the means of cells"

    @pytest.mark.parametrize("n", [50, 1000, 20_000])
    def test_pooled_scores_move_the_band_by_a_row_at_most(self, n):
        rng = np.random.default_rng(n)
        y, p = rng.integers(0, 2, n), rng.choice([0.4955, 0.497, 0.5, 0.501, 0.504, 0.0102, 0.01013], n)
        grid = summarize("ece", y, p)
        for options in ({"bins": 1}, {"bins": 3, "level": 0.999}, {"bins": 10, "simultaneous": True}):
            on_grid, exact = reliability_curve(grid, **options), reliability_curve(y, p, **options)
            bound = self.rounding(grid, **options)["consistency_low"]
            assert 0 < bound <= 1.1 / exact.count[exact.count > 0].min()
            for name in ("consistency_low", "consistency_high"):
                assert np.nanmax(np.abs(on_grid.columns[name] - exact.columns[name])) <= bound

    def test_unequal_weights_have_a_band_from_redraws(self):
        rng = np.random.default_rng(0)
        p, w = rng.random(2000), rng.random(2000) + 0.5
        y = rng.random(2000) < p
        grid = summarize("ece", y, p, weights=w)
        on_grid, exact = reliability_curve(grid), reliability_curve(y, p, weights=w)
        np.testing.assert_allclose(on_grid.interval_low, exact.interval_low, rtol=1e-12)
        np.testing.assert_allclose(on_grid.consistency_low, exact.consistency_low, atol=0.03)
        assert on_grid.method.endswith("from 999 redraws of the means of cells")
        assert "consistency_low" not in self.rounding(grid)


def enumerated(p):
    mass = np.zeros(len(p) + 1)
    for outcome in itertools.product([0, 1], repeat=len(p)):
        mass[sum(outcome)] += math.prod(q if y else 1 - q for y, q in zip(outcome, p, strict=True))
    return mass


def one_count(p):
    return np.ones(len(p), dtype=np.int64)


class TestDistribution:
    @given(st.lists(st.floats(0, 1), max_size=9))
    def test_all_outcomes_enumerated(self, p):
        np.testing.assert_allclose(distribution(np.array(p)), enumerated(p), rtol=1e-12, atol=1e-15)

    def test_by_hand(self):
        # P(0) = 0.75 * 0.5, P(2) = 0.25 * 0.5.
        assert distribution(np.array([0.25, 0.5])).tolist() == [0.375, 0.5, 0.125]
        assert distribution(np.array([0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 1.0, 0.0]

    def test_scipy(self):
        from scipy import stats

        if not hasattr(stats, "poisson_binom"):  # new in SciPy 1.15
            pytest.skip("this SciPy has no poisson_binom")
        p = np.random.default_rng(0).beta(0.5, 2, 300)
        np.testing.assert_allclose(distribution(p), stats.poisson_binom(p).pmf(np.arange(301)), rtol=1e-9, atol=1e-14)


class TestExactBand:
    def test_by_hand(self):
        # Two rows of 0.5: masses 1/4, 1/2, 1/4. At level 0.5 the tails are 1/4 each: P(X <= 0) = 1/4, P(X > 1) = 1/4.
        p = np.array([0.5, 0.5])
        assert count_band(p, one_count(p), 0.5) == (0, 1)
        assert count_band(p, one_count(p), 0.49) == (1, 1)
        assert count_band(p, one_count(p), 0.51) == (0, 2)
        assert count_band(np.array([0.5]), np.array([2]), 0.5) == (0, 1)  # repeated scores are counted
        assert count_band(np.array([0.0, 1.0]), np.array([3, 4]), 0.95) == (4, 4)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
    def test_quantiles_of_the_enumerated_distribution(self, p, level):
        mass, tail = enumerated(p), (1 - level) / 2
        below = [math.fsum(mass[: k + 1]) for k in range(mass.size)]
        above = [math.fsum(mass[k + 1 :]) for k in range(mass.size)]
        if any(abs(value - tail) < 1e-9 for value in below + above):
            return  # which side of the tail a rounded sum falls on is not defined
        low, high = count_band(np.sort(p), one_count(p), level)
        assert low == next(k for k, value in enumerate(below) if value >= tail)
        assert high == next(k for k, value in enumerate(above) if value <= tail)


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
    def test_within_one_count_of_the_exact_distribution(self, shape, level):
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


def test_simultaneous_weighted_band_keeps_its_level():
    # 15 bins at level 0.95 together: each tail is 1.7 of 999 redraws. Interpolated quantiles were left by 7 to 8 %.
    rng = np.random.default_rng(0)
    p, w = rng.random(1500), rng.exponential(size=1500)
    repeats = 400
    curve = reliability_curve(rng.random(1500) < p, p, weights=w, simultaneous=True)
    band = curve.consistency_low - 1e-9, curve.consistency_high + 1e-9
    number = np.minimum(np.ceil(p * 15).astype(int) - 1, 14)
    total = np.bincount(number, w, minlength=15)
    missed = 0
    for _ in range(repeats):
        observed = np.bincount(number, w * (rng.random(1500) < p), minlength=15) / total
        missed += bool(((observed < band[0]) | (observed > band[1])).any())
    assert missed / repeats <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)


@pytest.mark.parametrize(("B", "level", "k"), [(999, 0.95, 25), (999, 0.99, 5), (19, 0.9, 1), (19, 0.95, 1)])
def test_limits_are_order_statistics(B, level, k):
    draws = np.random.default_rng(0).permutation(np.arange(1.0, B + 1))[:, None]
    low, high = consistency_band._quantiles(draws, level)
    assert (low[0], high[0]) == (k, B + 1 - k)
