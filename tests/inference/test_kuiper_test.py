"""Kuiper test."""

import math

import numpy as np
import pytest

from calibrant import kolmogorov_smirnov_test, kuiper_test
from calibrant.inference.tails import brownian_range_sf


def test_by_hand():
    # Residuals 3/4, -1/2, -3/4: C is 0, 1/4, 1/12, -1/6, with range 5/12. σ² = (3/16 + 1/4 + 3/16)/9.
    result = kuiper_test([1, 0, 0], [0.25, 0.5, 0.75], null="asymptotic")
    assert result.estimate == pytest.approx(5 / 12)
    assert result.statistic == pytest.approx(1.25 / math.sqrt(10 / 16))
    assert result.pvalue == brownian_range_sf(result.statistic)
    assert result.n == 3


def test_the_start_counts():
    # All differences are negative: from C_0 = 0 down to -0.75, so that range and height agree.
    y, p = [0, 0, 0, 0], [0.6, 0.7, 0.8, 0.9]
    assert kuiper_test(y, p).statistic == pytest.approx(0.75 / (math.sqrt(0.7) / 4))
    assert kuiper_test(y, p).statistic == pytest.approx(kolmogorov_smirnov_test(y, p).statistic, rel=1e-13)


def test_values_of_the_specification(D1):
    result = kuiper_test(*D1)
    assert result.statistic == pytest.approx(2.689156, abs=5e-7)
    assert result.pvalue == pytest.approx(0.0286525, abs=5e-8)
    assert result.method == "Kuiper test of cumulative differences; limit law of the range of a Brownian motion"


def test_all_outcomes_of_m(M):
    # Enumerated: 0.30033, where the series gives 0.44179.
    assert kuiper_test(*M).pvalue == pytest.approx(0.30033, abs=0.023)
    assert kuiper_test(*M, null="asymptotic").pvalue == pytest.approx(0.44179, abs=5e-6)


def test_complement_is_the_same_test(D1):
    # Predicting the other outcome reverses the order and the signs of the walk; its range stays.
    y, p = D1
    assert kuiper_test(1 - y, 1 - p).estimate == pytest.approx(kuiper_test(y, p).estimate, abs=1e-12)


def test_sees_a_stretch_anywhere():
    # Events where 0.4 < p < 0.6 happen always, elsewhere as often as stated.
    p = (np.arange(100) + 0.5) / 100
    y = np.where((p > 0.4) & (p < 0.6), 1, np.diff(np.floor(np.append(0, np.cumsum(p)))))
    assert kuiper_test(y, p, null="asymptotic").estimate == pytest.approx(0.2 * 0.5, abs=0.01)
