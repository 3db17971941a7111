"""Outcomes exchanged with their draws: how members are counted, what adds up, levels, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant import Normal, Samples, summarize
from calibrant.errors import SummaryError
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking import exchange_test, rank_chi2_test, rank_smooth_test
from calibrant.ranking.counting import rank_counts
from calibrant.ranking.effects import band_test
from calibrant.ranking.exchange_test import (
    METHODS,
    ExchangeOptions,
    exchange,
    exchange_pvalues,
    exchanged_counts,
    member_counts,
    rank_exchange_test,
)
from calibrant.ranking.uniformity_test import uniformity_test
from calibrant.summaries import Ranks

UNADJUSTED = {"band": uniformity_test, "smooth": rank_smooth_test, "chi2": rank_chi2_test}


def exchanged(rows, resamples, rng):
    return exchange(rows, ExchangeOptions("band", resamples, rng))


def drawn(rng, n=25, M=5, D=3, scale=1.0, grid=None):
    """Return outcomes and draws of correlated coordinates; on a grid there are ties."""
    common = rng.normal(size=(n, M + 1, 1))
    z = common + 0.5 * rng.normal(size=(n, M + 1, D))
    z[:, 0] *= scale
    z = z if grid is None else np.round(z / grid) * grid
    return z[:, 0], Samples(z[:, 1:])


def gammas(table):
    """Return γ of each column of a table (M + 1, C)."""
    ranks = [np.repeat(np.arange(len(column)), column) for column in table.T]
    return band_test(Ranks.of(np.stack(ranks, axis=1), len(table) - 1)).gamma


def test_counts_replicates_that_are_at_least_as_extreme_in_blocks(monkeypatch):
    y, samples = drawn(np.random.default_rng(0))
    summary = exchanged(read_outcomes(y, samples), 99, 0)
    smallest = np.array([gammas(table).min() for table in summary.exchanged[0].tables])
    own = gammas(summary.counts)
    expected = [(1 + np.count_nonzero(smallest <= g * (1 + 1e-9))) / 100 for g in own]
    np.testing.assert_array_equal(exchange_pvalues(summary, "band", own), expected)
    y, samples = drawn(np.random.default_rng(0))
    expected = [rank_exchange_test(y, samples, method=m, resamples=99).pvalue for m in METHODS]
    monkeypatch.setattr("calibrant.ranking.exchange_test.BLOCK", 1)
    found = [rank_exchange_test(y, samples, method=m, resamples=99).pvalue for m in METHODS]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_copies_of_a_column_cost_nothing(method):
    y, samples = drawn(np.random.default_rng(1), D=1, scale=1.5)
    copies = np.repeat(y, 20, axis=1), Samples(np.repeat(samples.held, 20, axis=2))
    one, same = (rank_exchange_test(y, samples, method=method, rng=rng).pvalue[0] for rng in (None, 0))
    many = rank_exchange_test(*copies, method=method)
    assert (many.pvalue == one).all()
    assert one == same
    assert UNADJUSTED[method](*copies).pvalue[0] > one
    np.testing.assert_array_equal(many.statistic, UNADJUSTED[method](*copies).statistic)
    wide = rank_exchange_test(*drawn(np.random.default_rng(2), n=200, scale=2.0), method=method, resamples=199)
    assert wide.pvalue.max() == 1 / 200
    assert "199 exchanged sets" in wide.method


@pytest.mark.parametrize("grid", [None, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_level(method, grid):
    """With 19 replicates p <= 0.05 means: more extreme than all of them, once in 20 if they are alike."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(300):
        y, samples = drawn(rng, n=20, M=4, grid=grid)
        found.append(rank_exchange_test(y, samples, method=method, resamples=19, rng=rng).pvalue.min())
    assert 0.005 < np.mean(np.array(found) <= 0.05) < 0.1  # four standard errors above the level


def test_batches_with_one_generator_add_up():
    rng, chance = np.random.default_rng(0), np.random.default_rng(1)
    batches = [drawn(rng, n=60, scale=1.3) for _ in range(3)]
    summary = sum(exchanged(read_outcomes(*batch), 199, chance) for batch in batches)
    y, draws = (np.concatenate(part) for part in zip(*((y, s.held) for y, s in batches), strict=True))
    whole = rank_exchange_test(y, Samples(draws), resamples=199)
    found = rank_exchange_test(summary)
    np.testing.assert_array_equal(found.statistic, whole.statistic)
    np.testing.assert_allclose(found.pvalue, whole.pvalue, atol=0.12)
    np.testing.assert_array_equal(uniformity_test(summary).pvalue, uniformity_test(y, Samples(draws)).pvalue)


def test_refusals(refusal, monkeypatch):
    y, samples = drawn(np.random.default_rng(6))
    assert "unequal weights" in refusal(rank_exchange_test, y, samples, weights=np.linspace(1, 2, 25))
    assert "Pass draws of it" in refusal(rank_exchange_test, [0.0], Normal([0.0], 1.0))
    assert "needs the draws" in refusal(rank_exchange_test, Ranks.of([0, 1], 3), error=SummaryError)
    assert "rng=" in refusal(exchanged, read_outcomes(np.zeros(3), Samples(np.zeros((3, 2)))), 7, None)
    monkeypatch.setattr(exchange_test, "MAX_COUNTS", 1000)
    message = refusal(exchanged, rows_of(), 999, 0)
    assert "more than 1,000 counts" in message
    assert "fewer resamples" in message


def rows_of(n=12, seed=0, M=5, D=2):
    rng = np.random.default_rng(seed)
    return read_outcomes(rng.normal(size=(n, D)), Samples(rng.normal(size=(n, M, D))))


def test_what_is_held_and_what_does_not_fit(refusal):
    given = rows_of()
    found = exchanged(given, 7, 0)
    assert found.exchanged[0].tables.shape == (7, 6, 2)
    assert (found.exchanged[0].tables.sum(axis=1) == 12).all()
    assert found.take([0, 1]) == summarize("ranks", given.y, given.distribution)
    assert found.n == 12
    one = exchanged(rows_of(), 7, 1)
    assert (one + exchanged(rows_of(seed=2), 7, 2)).n == 24
    assert "same resamples" in refusal(lambda: one + exchanged(rows_of(), 8, 2), error=SummaryError)
    assert "among 4 draws" in refusal(lambda: one + exchanged(rows_of(M=4), 7, 2), error=SummaryError)
    weighted = exchanged(read_outcomes(rows_of().y, rows_of().distribution, weights=np.full(12, 2.0)), 7, 2)
    assert "weights" in refusal(lambda: one + weighted, error=SummaryError)
    for rng in (None, 0, 3):
        same = [exchanged(rows_of(seed=seed), 7, rng) for seed in (1, 2)]
        message = refusal(lambda same=same: same[0] + same[1], error=SummaryError)
        assert "same random numbers" in message
        assert "Generator" in message


DOUBLE = np.dtype(np.float64)
values = st.one_of(st.integers(-2, 2).map(float), st.sampled_from([np.inf, -np.inf, 0.5, -0.0]))


@given(arrays(float, (3, 5, 2), elements=values))
def test_members_are_counted_one_by_one(z):
    less, equal = member_counts(z[:, 0], z[:, 1:], DOUBLE)
    for member in range(5):
        others = np.delete(z, member, axis=1)
        np.testing.assert_array_equal(less[:, :, member], (others < z[:, member, None]).sum(axis=1))
        np.testing.assert_array_equal(equal[:, :, member], (others == z[:, member, None]).sum(axis=1))


def test_the_outcome_comes_first():
    rng = np.random.default_rng(0)
    y, draws = rng.integers(0, 5, (20, 2)) / 1.0, rng.integers(0, 5, (20, 7, 2)) / 1.0
    less, equal = member_counts(y, draws, DOUBLE)
    for found, expected in zip((less, equal), rank_counts(y, draws, DOUBLE), strict=True):
        np.testing.assert_array_equal(found[:, :, 0], expected)


def test_every_member_is_equally_likely_the_same_in_all_columns():
    rng = np.random.default_rng(0)
    rows = read_outcomes(rng.normal(size=40), Samples(rng.normal(size=(40, 4))))
    tables = exchanged_counts(rows, 500, np.random.default_rng(1))
    assert tables.shape == (500, 5, 1)
    assert (tables.sum(axis=1) == 40).all()
    share = tables.sum(axis=0)[:, 0] / (500 * 40)
    np.testing.assert_allclose(share, 0.2, atol=5 * np.sqrt(0.16 / (500 * 40)))
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 6))
    both = np.stack([draws, -draws], axis=2)  # where one is high the other is low
    tables = exchanged_counts(read_outcomes(both[:, 0], Samples(both[:, 1:])), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(tables[:, :, 0], tables[:, ::-1, 1])
    rows = read_outcomes(np.zeros(100), Samples(np.zeros((100, 3))))
    share = exchanged_counts(rows, 200, np.random.default_rng(0)).sum(axis=0)[:, 0] / 20_000
    np.testing.assert_allclose(share, 0.25, atol=0.02)
