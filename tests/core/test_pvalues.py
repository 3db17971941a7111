"""Survival functions in both tails (the 50-digit table is checked with the references)."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.core import pvalues as module

TABLE = {
    0.5: (0.99084301, 0.99999991),
    1: (0.62922257, 0.93663541),
    1.5: (0.26721521, 0.51294075),
    2: (0.091000524, 0.18149434),
    3: (0.0053995921, 0.010799168),
    4: (1.2668497e-4, 2.5336993e-4),
    8: (2.4883842e-15, 4.9767685e-15),
    20: (1.1014496e-88, 2.2028993e-88),
}
BOTH = pytest.mark.parametrize("sf", [module.brownian_max_sf, module.brownian_range_sf])


CRITICAL = {0.10: (1.959964, 2.241175), 0.05: (2.241403, 2.497672), 0.01: (2.807034, 3.023341)}


@pytest.mark.parametrize("which", [0, 1], ids=["max", "range"])
def test_table_of_the_specification_and_critical_values(which):
    sf = (module.brownian_max_sf, module.brownian_range_sf)[which]
    for x, values in TABLE.items():
        assert sf(x) == pytest.approx(values[which], rel=5e-8)
    for level, values in CRITICAL.items():
        assert sf(values[which]) == pytest.approx(level, rel=2e-6)


@BOTH
@pytest.mark.parametrize("switch", [1.0, 2.0])
def test_the_two_series_meet(sf, switch):
    assert sf(math.nextafter(switch, 0)) == pytest.approx(sf(switch), rel=1e-12)


@BOTH
def test_falls_from_one_to_zero(sf):
    values = [sf(k / 16) for k in range(640)]
    assert values[0] == 1.0
    assert all(a >= b - 1e-15 for a, b in itertools.pairwise(values))
    assert all(0 <= value <= 1 for value in values)
    assert sf(-1.0) == 1.0
    assert sf(37.0) > 0
    assert sf(40.0) == sf(math.inf) == 0.0


def test_normal():
    assert module.normal_sf(0.0) == 0.5
    assert module.normal_sf(1.959963984540054) == pytest.approx(0.025, rel=1e-12)
    assert module.normal_sf(10.0) == pytest.approx(7.61985302416e-24, rel=1e-10)
    assert module.normal_sf(-10.0) == 1.0
    assert module.normal_sf(math.inf) == 0.0


@given(st.integers(1, 80), st.floats(0.01, 0.99))
def test_binomial(n, level):
    from scipy.stats import binom

    k = np.arange(n + 1)
    low, high = module.binomial_tails(k, n, level)
    np.testing.assert_allclose(low, binom.cdf(k, n, level), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(high, binom.sf(k - 1, n, level), rtol=1e-10, atol=1e-300)
    assert low[-1] == high[0] == 1.0


def test_small_tails_keep_their_digits():
    low, high = module.binomial_tails([0, 30], 30, 0.9)
    assert low[0] == pytest.approx(1e-30, rel=1e-12)
    assert high[1] == pytest.approx(0.9**30, rel=1e-12)


@given(st.integers(1, 60), st.integers(1, 50), st.integers(1, 50), st.data())
def test_beta_binomial(n, a, b, data):
    from scipy.stats import betabinom

    k = data.draw(st.integers(0, n))
    mass = betabinom.pmf(np.arange(n + 1), n, a, b)
    assert module.beta_binomial_tails(k, n, a, b) == pytest.approx((mass[: k + 1].sum(), mass[k:].sum()), rel=1e-9)


def test_beta_binomial_with_a_known_coverage_is_binomial():
    ours = module.beta_binomial_tails(85, 100, 9e12, 1e12)
    assert ours == pytest.approx([float(tail) for tail in module.binomial_tails(85, 100, 0.9)], rel=1e-6)


def test_two_sided():
    assert module.two_sided(0.01, 0.995).item() == 0.02
    assert module.two_sided(0.6, 0.7).item() == 1.0


@pytest.mark.parametrize(
    ("pvalues", "adjusted"),
    [
        # 3 · 0.01, 2 · 0.04 and 1 · 0.03, which may not fall: sorted 0.01, 0.03, 0.04 become 0.03, 0.06, 0.06.
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([], []),
        ([np.nan, 0.25, np.nan], [np.nan, 0.25, np.nan]),  # unknown ones do not count
    ],
)
def test_holm_by_hand(pvalues, adjusted):
    np.testing.assert_allclose(module.holm(np.array(pvalues)), adjusted)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(pvalues):
    p = np.array(pvalues)
    adjusted = module.holm(p)
    for a in (0.01, 0.05, 0.3):
        rejected, order = np.zeros(p.size, dtype=bool), np.argsort(p, kind="stable")
        for i, k in enumerate(order):
            if p[k] * (p.size - i) > a:
                break
            rejected[k] = True
        np.testing.assert_array_equal(adjusted <= a, rejected)


def test_bonferroni():
    assert module.bonferroni([0.02, 0.5]) == pytest.approx(0.04)
    assert module.bonferroni([0.9, 0.8]) == 1.0
    assert module.bonferroni([]) == 1.0
