"""The band test of counted ranks, against enumeration and the reference values."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import Ranks
from calibrant.inference.rank_band import band_test, below


def test_counts_below_a_rank():
    counts = np.array([[1, 0], [2, 0], [0, 4], [3, 2]])
    assert below(counts, np.array([1, 2, 3])).tolist() == [[1, 0], [3, 0], [3, 4]]


def test_by_hand():
    found = band_test(Ranks.of([0, 0, 0], M=1))
    assert found.gamma[0] == pytest.approx(2 / 8)
    assert found.pvalue[0] == pytest.approx(2 / 8)
    assert found.where.tolist() == [0.5]


@pytest.mark.parametrize(("n", "M"), [(3, 2), (4, 3), (5, 2)])
def test_pvalues_have_the_law_they_claim(n, M):
    """Over all rank vectors the share of p-values at or below each p is p."""
    every = np.array(list(itertools.product(range(M + 1), repeat=n))).T  # (n, vectors)
    p = band_test(Ranks.of(every, M)).pvalue
    for value in np.unique(p.round(12)):
        assert np.mean(p <= value * (1 + 1e-9)) == pytest.approx(value, rel=1e-9)


def test_gamma_is_the_smallest_pointwise_pvalue():
    rank = np.random.default_rng(0).integers(0, 8, 30)
    counts = np.array([(rank < j).sum() for j in range(1, 8)])
    t = np.arange(1, 8) / 8
    pointwise = 2 * np.minimum(binom.cdf(counts, 30, t), binom.sf(counts - 1, 30, t))
    found = band_test(Ranks.of(rank, M=7))
    assert found.gamma[0] == pytest.approx(pointwise.min())
    assert found.where[0] == t[np.argmin(pointwise)]


def test_more_than_a_thousand_draws_are_looked_at_in_a_thousand_places():
    rank = np.random.default_rng(0).integers(0, 5001, (60, 2))
    found = band_test(Ranks.of(rank, M=5000))
    assert (found.pvalue > 0.001).all()
    assert np.isin(np.rint(found.where * 5001), Ranks.of(rank, M=5000).points).all()
