"""Counts of ranks of outcomes and of members in their place: merging, and chance that must not repeat itself."""

import numpy as np
import pytest

from calibrant import Ranks, Samples, Summary, SummaryError, summarize
from calibrant.inputs.outcomes import read_outcomes
from calibrant.summaries.exchanged_ranks import ExchangedRanks


def rows(n=12, seed=0, M=5, D=2):
    rng = np.random.default_rng(seed)
    return read_outcomes(rng.normal(size=(n, D)), Samples(rng.normal(size=(n, M, D))))


def test_holds_the_ranks_and_their_replicates():
    given = rows()
    found = ExchangedRanks.of(given, 7, 0)
    assert found.tables.shape == (7, 6, 2)
    assert (found.tables.sum(axis=1) == 12).all()
    assert found.ranks == summarize("ranks", given.y, given.law)
    assert found.n == 12


def test_replicates_add_up():
    chance = np.random.default_rng(0)
    one, other = (ExchangedRanks.of(rows(seed=seed), 7, chance) for seed in (1, 2))
    both = one + other
    np.testing.assert_array_equal(both.tables, one.tables + other.tables)
    assert both.ranks == one.ranks + other.ranks
    assert (both + ExchangedRanks.of(rows(seed=3), 7, chance)).n == 36


def test_zero_and_bytes():
    found = ExchangedRanks.of(rows(), 7, 0)
    assert ExchangedRanks.zero() + found == found + ExchangedRanks.zero() == sum([found])
    assert Summary.from_bytes(found.to_bytes()) == found
    assert Summary.from_bytes(ExchangedRanks.zero().to_bytes()) == ExchangedRanks.zero()


@pytest.mark.parametrize("rng", [None, 0, 3])
def test_the_same_chance_twice_is_refused(rng, refusal):
    one, other = (ExchangedRanks.of(rows(seed=seed), 7, rng) for seed in (1, 2))
    message = refusal(lambda: one + other, error=SummaryError)
    assert "same chance" in message
    assert "Generator" in message


def test_different_numbers_merge():
    assert (ExchangedRanks.of(rows(seed=1), 7, 1) + ExchangedRanks.of(rows(seed=2), 7, 2)).n == 24


def test_what_does_not_fit(refusal):
    one = ExchangedRanks.of(rows(), 7, 0)
    assert "same resamples" in refusal(lambda: one + ExchangedRanks.of(rows(), 8, 1), error=SummaryError)
    assert "among 4 draws" in refusal(lambda: one + ExchangedRanks.of(rows(M=4), 7, 1), error=SummaryError)
    assert "do not fit" in refusal(
        ExchangedRanks, (Ranks.of([0], 3),), np.zeros((2, 5, 1), np.int64), (1,), error=SummaryError
    )


def test_batches_of_different_weights(refusal):
    given = rows()
    one, other = (
        ExchangedRanks.of(read_outcomes(given.y, given.law, weights=np.full(12, w)), 7, int(w)) for w in (1.0, 2.0)
    )
    assert "weights" in refusal(lambda: one + other, error=SummaryError)


def test_too_many_counts_are_refused_before_they_are_made(refusal):
    message = refusal(ExchangedRanks.of, rows(), 10**9, 0)
    assert "fewer resamples" in message


def test_ties_need_chance(refusal):
    tied = read_outcomes(np.zeros(3), Samples(np.zeros((3, 2))))
    assert "rng=" in refusal(ExchangedRanks.of, tied, 7, None)
    assert ExchangedRanks.of(tied, 7, 0).ranks.tied.tolist() == [3]
