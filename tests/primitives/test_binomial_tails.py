"""Tails of the number of hits, against SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.binomial_tails import beta_binomial_tails, binomial_tails, two_sided


@given(st.integers(1, 80), st.floats(0.01, 0.99))
def test_binomial(n, level):
    from scipy.stats import binom

    k = np.arange(n + 1)
    low, high = binomial_tails(k, n, level)
    np.testing.assert_allclose(low, binom.cdf(k, n, level), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(high, binom.sf(k - 1, n, level), rtol=1e-10, atol=1e-300)
    assert low[-1] == high[0] == 1.0


def test_small_tails_keep_their_digits():
    low, high = binomial_tails([0, 30], 30, 0.9)
    assert low[0] == pytest.approx(1e-30, rel=1e-12)
    assert high[1] == pytest.approx(0.9**30, rel=1e-12)


@given(st.integers(1, 60), st.integers(1, 50), st.integers(1, 50), st.data())
def test_beta_binomial(n, a, b, data):
    from scipy.stats import betabinom

    k = data.draw(st.integers(0, n))
    mass = betabinom.pmf(np.arange(n + 1), n, a, b)
    assert beta_binomial_tails(k, n, a, b) == pytest.approx((mass[: k + 1].sum(), mass[k:].sum()), rel=1e-9)


def test_beta_binomial_with_a_known_coverage_is_binomial():
    ours = beta_binomial_tails(85, 100, 9e12, 1e12)
    assert ours == pytest.approx([float(tail) for tail in binomial_tails(85, 100, 0.9)], rel=1e-6)


def test_two_sided():
    assert two_sided(0.01, 0.995).item() == 0.02
    assert two_sided(0.6, 0.7).item() == 1.0
