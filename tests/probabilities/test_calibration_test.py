"""`calibration_test`: cases by hand, its level, what it sees that single tests miss."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.ordered import Ordered
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.calibration_test import FourStatistics


def statistics(y, p, w=None):
    rows = Ordered.of(Binary(np.asarray(y, np.uint8), np.asarray(p, float), np.ones(len(p)) if w is None else w))
    return FourStatistics(rows.pool).of(rows.events[None])[:, 0]


class TestStatistics:
    def test_by_hand(self):
        """Scores 1/2 and 4/5, logits 0 and log 4; r = -1/2 and 1/5; v = 1/4 and 4/25."""
        extent, spread, cox, _ = statistics([0, 1], [0.5, 0.8])
        assert extent == pytest.approx(0.5)
        assert spread == pytest.approx(abs(0.2 * (1 - 1.6)))
        U = np.array([-0.3, 0.2 * np.log(4)])
        V = np.array([[0.41, 0.16 * np.log(4)], [0.16 * np.log(4), 0.16 * np.log(4) ** 2]])
        assert cox == pytest.approx(U @ np.linalg.solve(V, U))

    def test_one_score_has_one_direction(self):
        _, _, cox, smooth = statistics([0, 1, 1, 1], np.full(4, 0.5))
        assert cox == pytest.approx(1.0)  # (Σr)²/Σv = 1²/1
        assert smooth == pytest.approx(1.0)  # polynomials of one rank

    def test_weights_of_tied_scores_do_not_order_them(self):
        """Entries of one score have one rank, whatever their weights are: the smooth test sees their sum."""
        w = np.array([1.0, 1.0, 1.0, 5.0])
        _, _, cox, smooth = statistics([0, 1, 1, 1], np.full(4, 0.5), w)
        assert cox == pytest.approx(smooth)
        assert cox == pytest.approx((0.5 * 1 + 0.5 * 5) ** 2 / (0.25 * 28))

    def test_certain_scores_have_no_direction(self):
        assert statistics([0, 1], [0.0, 1.0]) == pytest.approx([0.0, 0.0, 0.0, 0.0])

    def test_the_first_is_the_cutoff_error(self, D1):
        assert statistics(*D1)[0] / 500 == pytest.approx(cb.cutoff_error(*D1), rel=1e-12)
        assert cb.calibration_test(*D1).estimate == pytest.approx(cb.cutoff_error(*D1), rel=1e-12)

    def test_quadratic_forms_have_their_mean_if_calibrated(self):
        rng = np.random.default_rng(0)
        p = rng.beta(0.5, 2.0, 400)
        drawn = np.array([statistics(rng.random(400) < p, p) for _ in range(400)])
        assert drawn[:, 2].mean() == pytest.approx(2, abs=0.4)
        assert drawn[:, 3].mean() == pytest.approx(9, abs=0.9)  # polynomials of degree 0 to 8

    def test_certain_rows_do_not_dilute_the_polynomials(self):
        """Rows of probability 0 or 1 have no information, so they leave the ranks of the others as they are."""
        rng = np.random.default_rng(0)
        p = rng.random(50)
        y = (rng.random(50) < p).astype(np.uint8)
        more = statistics(np.append(y, np.zeros(500, np.uint8)), np.append(p, np.zeros(500)))
        assert more == pytest.approx(statistics(y, p), rel=1e-9)

    def test_three_scores_have_three_directions(self):
        """With as many polynomials as scores the statistic is Pearson's: Σ (events - expected)² / variance."""
        p = np.repeat([0.1, 0.35, 0.8], [30, 20, 10])
        y = np.concatenate([np.arange(30) < 5, np.arange(20) < 9, np.arange(10) < 7])
        *_, smooth = statistics(y, p)
        assert smooth == pytest.approx(2**2 / 2.7 + 2**2 / 4.55 + 1**2 / 1.6)


class TestLevel:
    @pytest.mark.parametrize("design", ["uniform", "rare", "fence", "tied"])
    def test_is_held(self, design):
        rng, rejected = np.random.default_rng(7), 0
        for _ in range(200):
            p = {
                "uniform": lambda: rng.random(60),
                "rare": lambda: rng.beta(0.5, 10, 60),
                "fence": lambda: np.where(np.arange(60) < 6, 0.0035, 0.5),
                "tied": lambda: rng.integers(0, 4, 60) / 4,
            }[design]()
            rejected += cb.calibration_test(rng.random(60) < p, p, resamples=99, rng=rng).pvalue <= 0.05
        assert rejected <= 20  # Binomial(200, 0.05) exceeds 20 with probability 0.001


class TestPower:
    def test_a_fast_wave_that_low_orders_miss(self):
        """Three periods, p + 0.4 p (1 - p) cos(6πp); with four orders 1 of 10 such data sets was found."""
        rng, found = np.random.default_rng(0), 0
        for _ in range(40):
            p = rng.random(1500)
            y = rng.random(1500) < p + 0.4 * p * (1 - p) * np.cos(6 * np.pi * p)
            found += cb.calibration_test(y, p, resamples=199, rng=rng).pvalue <= 0.05
        assert found >= 24  # of 40; about 32 are expected

    def test_a_wave_that_kuiper_misses(self):
        rng = np.random.default_rng(0)
        p = rng.random(3000)
        y = rng.random(3000) < np.clip(p + 0.35 * p * (1 - p) * np.cos(4 * np.pi * p), 0, 1)
        found = cb.calibration_test(y, p)
        assert found.details["smooth"] < found.details["kuiper"]
        assert found.pvalue < 0.05

    def test_a_slope(self):
        rng = np.random.default_rng(0)
        p = rng.random(500)
        odds = (p / (1 - p)) ** 0.5
        found = cb.calibration_test(rng.random(500) < odds / (1 + odds), p)
        assert found.pvalue <= 0.005
        assert found.details["cox"] <= 0.002


class TestLaws:
    def test_many_scores_are_pooled(self):
        rng = np.random.default_rng(0)
        p = rng.random(5000)
        y = (rng.random(5000) < p).astype(np.uint8)
        found = cb.calibration_test(y, p)
        assert found.pvalue > 0.01
        assert found.estimate == pytest.approx(cb.cutoff_error(y, p), abs=1e-3)

    def test_an_impossible_outcome(self):
        """Many scores are pooled, but an event with the probability 0 is seen before."""
        assert cb.calibration_test([0, 1, 0], [0.0, 1.0, 1.0]).pvalue == 0
        p = np.append(0.0, np.random.default_rng(0).uniform(0, 1e-3, 3000))
        y = np.zeros(3001, np.uint8)
        assert cb.calibration_test(y, p).pvalue > 0
        y[0] = 1
        assert cb.calibration_test(y, p).pvalue == 0


@pytest.mark.parametrize("impossible", [False, True])
def test_the_smallest_of_four_pvalues_is_not_larger_than_theirs_together(impossible):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 2000)
    y = (rng.random(2000) < p + 0.2).astype(int)
    if impossible:
        y[0], p[0] = 1, 0.0
    found = cb.calibration_test(y, p, resamples=99)
    assert found.pvalue < 1e-6
    assert found.statistic <= found.pvalue
