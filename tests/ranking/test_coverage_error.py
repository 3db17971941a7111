"""The largest error of the coverage of an interval between two quantiles of the draws."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.ranking.coverage_error import Arcs, coverage_errors, kuiper_quantile
from calibrant.ranking.effects import band_test
from calibrant.summaries import Ranks

counts = st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(any)


def ranks_of(counts):
    return Ranks.of(np.repeat(np.arange(len(counts)), counts), len(counts) - 1)


def every_interval(counts):
    """Return the outcomes inside, and the probability, of every interval between two quantiles and of its outside."""
    m, n = len(counts), sum(counts)
    inside = [(sum(counts[a:b]), (b - a) / m) for a, b in itertools.combinations(range(m + 1), 2) if b - a < m]
    return inside + [(n - c, 1 - width) for c, width in inside]


def test_by_hand():
    found = coverage_errors(ranks_of([30, 20, 20, 30]), 0.05, 0.05)
    assert found.estimate[0] == pytest.approx(0.1)  # the middle half contains 40 of 100, each quantile is off by 0.05
    found = coverage_errors(ranks_of([40, 10]), 0.05, 0.025)
    limits = stats.binomtest(40, 50).proportion_ci(0.95)
    assert found.estimate[0] == pytest.approx(0.3)
    assert found.high[0] == pytest.approx(limits.high - 0.5)
    # of Binomial(50, 1/2) the outcomes below 18 and above 32 have probability 0.0328, the largest up to 0.05
    inner = stats.binomtest(40, 50).proportion_ci(1 - 2 * stats.binom.cdf(18, 50, 0.5))
    assert found.low[0] == pytest.approx(inner.low - 0.5)


@given(counts, st.sampled_from([0.05, 0.001]), st.floats(0.01, 0.4))
def test_upper_limit_and_pvalue_are_those_of_the_worst_interval(counts, rate, tolerance):
    n, arcs = sum(counts), Arcs.of(ranks_of(counts))
    every = every_interval(counts)
    assert arcs.error[0] == pytest.approx(max(c / n - width for c, width in every))
    limits = [(1.0 if c == n else stats.beta.isf(rate, c + 1, n - c)) - width for c, width in every]
    assert arcs.upper(rate)[0] == pytest.approx(max(limits))
    tails = [stats.binom.cdf(c, n, width + tolerance) for c, width in every if width + tolerance < 1]
    assert arcs.pvalue(tolerance)[0] == pytest.approx(max(tails, default=0.0), abs=1e-12)


@given(counts)
def test_mirrored_and_turned_ranks_have_the_same_error(counts):
    for other in (counts[::-1], counts[1:] + counts[:1]):
        one, two = Arcs.of(ranks_of(counts)), Arcs.of(ranks_of(other))
        assert one.error[0] == pytest.approx(two.error[0])
        np.testing.assert_array_equal(one.most, two.most)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 200), st.sampled_from([0.05, 0.01]))
def test_the_lower_limit_is_positive_exactly_if_the_test_rejects(seed, M, n, rate):
    rng = np.random.default_rng(seed)
    ranks = Ranks.of(rng.binomial(M, rng.beta(1, rng.choice([1.0, 1.4]), n)), M)
    found = coverage_errors(ranks, rate, rate)
    p = band_test(ranks).pvalue[0]
    assert 0 <= found.low[0] <= found.estimate[0] <= found.high[0] <= 1
    if abs(p - rate) > 1e-9:
        assert (found.low[0] > 0) == (p < rate)


@pytest.mark.parametrize(("shift", "spread"), [(0.2, 1.4), (0.0, 1.5), (0.6, 1.0), (0.0, 0.7)])
@pytest.mark.parametrize("M", [4, 19])
def test_limits_miss_no_more_often_than_they_may(shift, spread, M):
    n, repeats, rng = 100, 500, np.random.default_rng(1)
    u = stats.norm.cdf(spread * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000) - shift)
    mass = stats.binom.pmf(np.arange(M + 1)[:, None], M, u).mean(axis=1)
    gap = np.append(0, np.cumsum(mass) - np.arange(1, M + 2) / (M + 1))
    truth = gap.max() - gap.min()
    drawn = rng.multinomial(n, mass / mass.sum(), size=repeats)
    ranks = Ranks.of(np.stack([np.repeat(np.arange(M + 1), row) for row in drawn], axis=1), M)
    found = coverage_errors(ranks, 0.05, 0.05)
    assert np.mean(found.low > truth) < 0.05
    assert np.mean(found.high < truth) < 0.05


def test_more_than_a_thousand_draws_are_bounded_from_above():
    rank = np.random.default_rng(0).integers(0, 5001, 300)
    ranks = Ranks.of(rank, 5000)
    every = np.arange(5002)
    gap = np.searchsorted(np.sort(rank), every) / 300 - every / 5001
    found = coverage_errors(ranks, 0.05, 0.05)
    assert found.estimate[0] == pytest.approx(gap.max() - gap.min(), abs=0.01)
    assert found.high[0] > gap.max() - gap.min()


@pytest.mark.parametrize(("rate", "value"), [(0.1, 1.620), (0.05, 1.747), (0.025, 1.862), (0.01, 2.001)])
def test_quantiles_of_the_range(rate, value):
    """Stephens 1970, Table 1."""
    assert kuiper_quantile(rate) == pytest.approx(value, abs=0.0006)


def test_the_range_of_uniform_numbers_exceeds_it_less_often():
    rng, n = np.random.default_rng(0), 40
    u = np.sort(rng.random((4000, n)), axis=1)
    range_ = (np.arange(1, n + 1) / n - u).max(axis=1) + (u - np.arange(n) / n).max(axis=1)
    assert np.mean(range_ > kuiper_quantile(0.05) / np.sqrt(n)) < 0.05
