"""Kolmogorov-Smirnov test."""

import math

import pytest

from calibrant import kolmogorov_smirnov_test
from calibrant.inference.tails import brownian_max_sf


def test_by_hand():
    # Residuals 3/4, -1/2, -3/4: C is 1/4, 1/12, -1/6 after division by three. σ² = (3/16 + 1/4 + 3/16)/9.
    result = kolmogorov_smirnov_test([1, 0, 0], [0.25, 0.5, 0.75], null="asymptotic")
    assert result.estimate == pytest.approx(1 / 4)
    assert result.statistic == pytest.approx(0.75 / math.sqrt(10 / 16))
    assert result.pvalue == brownian_max_sf(result.statistic)
    assert result.n == 3


def test_the_lowest_point_counts_as_well_as_the_highest():
    # C falls to -7/12 and never rises above 0.
    assert kolmogorov_smirnov_test([0, 0, 1], [0.75, 1.0, 1.0], null="asymptotic").estimate == pytest.approx(1.75 / 3)


def test_values_of_the_specification(D1):
    result = kolmogorov_smirnov_test(*D1)
    assert result.statistic == pytest.approx(1.555955, abs=5e-7)
    assert result.pvalue == pytest.approx(0.239431, abs=5e-7)
    assert result.method == (
        "Kolmogorov-Smirnov test of cumulative differences; limit law of the largest height of a Brownian motion"
    )


def test_all_outcomes_of_m(M):
    # Enumerated: 0.20842, where the series gives 0.25257.
    assert kolmogorov_smirnov_test(*M).pvalue == pytest.approx(0.20842, abs=0.02)
    assert kolmogorov_smirnov_test(*M, null="asymptotic").pvalue == pytest.approx(0.25257, abs=5e-6)
