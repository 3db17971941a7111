"""Each method on counted ranks: values by hand, sizes by simulation, and what is seen."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from calibrant import Ranks
from calibrant.inference.rank_methods import CONTINUOUS, METHODS, ON_COUNTS, column_test
from calibrant.inference.rank_randomised import kolmogorov, randomised
from calibrant.primitives.own_stream import own_stream


def found(ranks, method, bins=None, resamples=999, rng=0):
    return column_test(ranks, method, bins=bins, resamples=resamples, rng=rng)


def calibrated(n, M, columns=300, seed=0):
    return Ranks.of(np.random.default_rng(seed).integers(0, M + 1, (n, columns)), M)


class TestSize:
    """Of hundreds of calibrated columns about 5 % are rejected at 5 %."""

    @pytest.mark.parametrize("M", [4, 9, 20, 99, 1000])
    @pytest.mark.parametrize("method", METHODS)
    def test_hundred_rows(self, method, M):
        p = found(calibrated(100, M, columns=200 if M == 1000 else 300), method).pvalue
        assert 0.005 < np.mean(p <= 0.05) < 0.1
        assert np.mean(p <= 0.5) < 0.62

    @pytest.mark.parametrize("method", ON_COUNTS)
    def test_very_few_rows(self, method):
        p = found(calibrated(6, 3, columns=600), method, resamples=499).pvalue
        assert np.mean(p <= 0.05) < 0.085
        assert p.min() > 0

    def test_ranks_divided_by_M_are_not_uniform(self):
        """What others do, and why it is not done here."""
        rank = np.random.default_rng(0).integers(0, 21, (1000, 60))
        naive = [kstest(column / 20, "uniform").pvalue for column in rank.T]
        assert np.mean(np.array(naive) <= 0.05) > 0.9
        assert np.mean(found(Ranks.of(rank, 20), "ks").pvalue <= 0.05) < 0.17


class TestPower:
    @pytest.mark.parametrize("method", [m for m in METHODS if m != "piet"])
    def test_ranks_that_end_in_the_middle(self, method):
        """Ranks are judged by the number of draws, not by the highest rank seen."""
        ranks = Ranks.of(np.arange(500), M=1000)
        assert found(ranks, method).pvalue[0] < 1e-20

    def test_what_piet_sees(self):
        """Of single values alone the ends of the range count."""
        assert found(Ranks.of(np.zeros(500, int), M=10_000), "piet").pvalue[0] < 1e-3

    @pytest.mark.parametrize("method", ON_COUNTS)
    def test_too_narrow_predictions(self, method):
        rank = np.random.default_rng(0).binomial(1, 0.5, (300, 1)) * 9
        assert found(Ranks.of(rank, 9), method).pvalue[0] < 1e-20


class TestSmooth:
    def test_one_draw_by_hand(self):
        result = found(Ranks.of(np.repeat([0, 1], [40, 60]), M=1), "smooth")
        assert result.statistic[0] == pytest.approx(20**2 / 100)
        assert result.pvalue[0] == pytest.approx(chi2.sf(4, 1))
        assert result.shared["dof"] == 1

    def test_is_the_sum_of_squares(self):
        result = found(calibrated(200, 9, columns=3), "smooth")
        np.testing.assert_allclose(result.statistic, (result.columns["Z"] ** 2).sum(axis=0))
        np.testing.assert_allclose(result.pvalue, chi2.sf(result.statistic, 4))

    def test_few_rows_are_simulated(self):
        """All 27 rank vectors of three rows, against the law of their own."""
        every = np.array(list(itertools.product(range(3), repeat=3))).T
        result = found(Ranks.of(every, 2), "smooth", resamples=20_000)
        exact = [np.mean(result.statistic >= s - 1e-9) for s in result.statistic]
        np.testing.assert_allclose(result.pvalue, exact, atol=0.02)
        assert "simulated" in result.words

    def test_simulation_repeats_itself(self):
        ranks = calibrated(30, 9, columns=2)
        np.testing.assert_array_equal(found(ranks, "smooth", rng=None).pvalue, found(ranks, "smooth", rng=0).pvalue)
        assert (found(ranks, "smooth", rng=1).pvalue != found(ranks, "smooth", rng=0).pvalue).any()

    def test_blocks_of_simulated_sets(self, monkeypatch):
        monkeypatch.setattr("calibrant.inference.rank_methods.BLOCK", 100)
        p = found(calibrated(30, 9, columns=300), "smooth", resamples=499).pvalue
        assert 0.01 < np.mean(p <= 0.05) < 0.1

    def test_weights_give_components_of_variance_1(self):
        rng = np.random.default_rng(0)
        rank, w = rng.integers(0, 10, (300, 500)), rng.uniform(0.1, 5, 300)
        result = found(Ranks.of(rank, 9, weights=w), "smooth")
        np.testing.assert_allclose((result.columns["Z"] ** 2).mean(axis=1), 1, atol=0.3)
        assert 0.02 < np.mean(result.pvalue <= 0.05) < 0.09

    def test_few_weighted_rows_are_said(self):
        words = found(Ranks.of([0, 3, 5], 9, weights=[1, 2, 3]), "smooth").words
        assert "2.57 rows' worth" in words  # 36/14


class TestChi2:
    def test_by_hand(self):
        result = found(Ranks.of(np.repeat([0, 1, 2, 3], [30, 10, 30, 30]), M=3), "chi2", bins=2)
        assert result.statistic[0] == pytest.approx(10**2 / 50 * 2)
        assert result.pvalue[0] == pytest.approx(chi2.sf(4, 1))
        assert result.shared["bins"] == 2
        assert result.columns["counts"].tolist() == [[40], [60]]
        assert result.shared["expected"].tolist() == [50, 50]

    def test_few_rows_are_simulated(self):
        assert "499 simulated sets" in found(calibrated(20, 9, columns=1), "chi2", bins=10, resamples=499).words


class TestContinuous:
    @pytest.mark.parametrize("method", CONTINUOUS)
    def test_chance_is_asked_for(self, method, refusal):
        message = refusal(found, calibrated(10, 4, columns=1), method, rng=None)
        assert "rng=" in message
        assert '"band"' in message

    def test_one_random_V_per_rank(self):
        ranks = calibrated(50, 9, columns=2)
        expected = [kolmogorov(u) for u in randomised(ranks.counts, own_stream(3))]
        result = found(ranks, "ks", rng=3)
        assert result.statistic.tolist() == [D for D, _ in expected]
        assert result.pvalue.tolist() == [p for _, p in expected]
        assert "random V" in result.words
