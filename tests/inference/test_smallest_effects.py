"""The smallest errors that the band test finds four times in five."""

import numpy as np
import pytest
from scipy import stats

from calibrant import Ranks
from calibrant.inference.rank_band import band_test
from calibrant.inference.smallest_effects import smallest_effects


def power(shift, spread, n, M, *, tail=0.05, repeats=400, cells=False):
    """Return how often the band test finds an error, by simulation."""
    rng = np.random.default_rng(0)
    u = stats.norm.cdf(spread * rng.normal(size=(n, repeats)) - shift)
    rank = np.minimum((u * (M + 1)).astype(int), M) if cells else rng.binomial(M, u)
    ranks = Ranks.of(rank, M)
    object.__setattr__(ranks, "cells", cells)
    return np.mean(band_test(ranks).pvalue <= tail)


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
