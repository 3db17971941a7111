"""Several columns judged by exchanged members."""

import numpy as np
import pytest

from calibrant import Samples
from calibrant.inference.rank_band import band_test
from calibrant.inference.rank_exchange import exchange_pvalues
from calibrant.inference.uniformity_test import uniformity_test
from calibrant.inputs.outcomes import read_outcomes
from calibrant.summaries import Ranks
from calibrant.summaries.exchanged_ranks import ExchangedRanks

METHODS = ("band", "smooth", "chi2")


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


def test_counts_replicates_that_are_at_least_as_extreme():
    y, samples = drawn(np.random.default_rng(0))
    summary = ExchangedRanks.of(read_outcomes(y, samples), 99, 0)
    smallest = np.array([gammas(table).min() for table in summary.tables])
    own = gammas(summary.ranks.counts)
    expected = [(1 + np.count_nonzero(smallest <= g * (1 + 1e-9))) / 100 for g in own]
    np.testing.assert_array_equal(exchange_pvalues(summary, "band", own, None), expected)


def test_small_blocks_change_nothing(monkeypatch):
    y, samples = drawn(np.random.default_rng(0))
    expected = [uniformity_test(y, samples, method=m, multiplicity="exchange").pvalue for m in METHODS]
    monkeypatch.setattr("calibrant.inference.rank_exchange.BLOCK", 1)
    found = [uniformity_test(y, samples, method=m, multiplicity="exchange").pvalue for m in METHODS]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_copies_of_a_column_cost_nothing(method):
    y, samples = drawn(np.random.default_rng(1), D=1, scale=1.5)
    copies = np.repeat(y, 20, axis=1), Samples(np.repeat(samples.held, 20, axis=2))
    one = uniformity_test(y, samples, method=method, multiplicity="exchange").pvalue[0]
    many = uniformity_test(*copies, method=method, multiplicity="exchange").pvalue
    assert (many == one).all()
    assert uniformity_test(*copies, method=method).pvalue[0] > one


@pytest.mark.parametrize("grid", [None, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_size(method, grid):
    """With 19 replicates p <= 0.05 means: more extreme than all of them, once in 20 if they are alike."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(300):
        y, samples = drawn(rng, n=20, M=4, grid=grid)
        options = {"method": method, "multiplicity": "exchange", "resamples": 19, "rng": rng}
        found.append(uniformity_test(y, samples, **options).pvalue.min())
    assert 0.005 < np.mean(np.array(found) <= 0.05) < 0.1  # four standard errors above the level


@pytest.mark.parametrize("method", METHODS)
def test_too_wide_an_outcome_is_seen(method):
    y, samples = drawn(np.random.default_rng(2), n=200, scale=2.0)
    found = uniformity_test(y, samples, method=method, multiplicity="exchange", resamples=199)
    assert found.pvalue.max() == 1 / 200
    assert "199 exchanged sets" in found.method


def test_batches_with_one_generator_add_up():
    rng, chance = np.random.default_rng(0), np.random.default_rng(1)
    batches = [drawn(rng, n=60, scale=1.3) for _ in range(3)]
    summary = sum(ExchangedRanks.of(read_outcomes(*batch), 199, chance) for batch in batches)
    y, draws = (np.concatenate(part) for part in zip(*((y, s.held) for y, s in batches), strict=True))
    whole = uniformity_test(y, Samples(draws), multiplicity="exchange", resamples=199)
    found = uniformity_test(summary, multiplicity="exchange")
    np.testing.assert_array_equal(found.statistic, whole.statistic)
    np.testing.assert_allclose(found.pvalue, whole.pvalue, atol=0.12)
    np.testing.assert_array_equal(uniformity_test(summary).pvalue, uniformity_test(y, Samples(draws)).pvalue)
