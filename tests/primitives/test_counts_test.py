"""The exact test of a curve of counts."""

import numpy as np
import pytest

from calibrant.primitives.counts_test import counts_test
from calibrant.primitives.ecdf_band import ecdf_band, gamma_pvalue


def test_columns_are_judged_one_by_one():
    t, counts = np.array([0.25, 0.5, 0.75]), np.array([[2, 2], [4, 4], [4, 6]])
    found = counts_test(counts, 8, t)
    assert found.place.tolist() == [2, 0]  # 2 P(B <= 4) at 3/4; the second is at the mean everywhere
    assert found.pvalue.tolist() == [gamma_pvalue(gamma, 8, t) for gamma in found.gamma]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_band_and_the_pvalue_say_the_same(level):
    rng, t = np.random.default_rng(0), np.arange(1, 5) / 5
    counts = np.cumsum(rng.multinomial(12, np.full(5, 0.2), size=300), axis=1)[:, :-1].T
    band, found = ecdf_band(12, t, level), counts_test(counts, 12, t)
    leaves = ((counts < band.lower[:, None]) | (counts > band.upper[:, None])).any(axis=0)
    assert np.array_equal(leaves, found.pvalue <= 1 - level)
