"""What predictions were made from, at the boundary."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant import Ranks, Samples, Summary, SummaryError, summarize
from calibrant.inputs.rows import read_outcomes
from calibrant.ranking.counting import rank_counts
from calibrant.ranking.covariates import (
    ExchangedRanks,
    KeptRanks,
    RankCovariates,
    covariate_columns,
    exchanged_counts,
    member_counts,
    read_covariates,
)
from calibrant.ranking.effects import legendre

KEEP = np.array([True, False, True])


class TestAsTheyCame:
    def test_any_shape_and_type(self):
        x = np.arange(24).reshape(3, 2, 4)
        found = read_covariates(x, 3, None)
        np.testing.assert_array_equal(found, x)
        assert not found.flags.writeable
        assert x.flags.writeable
        assert read_covariates(["a", "b", "c"], 2, KEEP).tolist() == ["a", "c"]

    @pytest.mark.parametrize("x", [[1, 2], np.array(3.0), np.zeros((2, 3))])
    def test_number_of_rows(self, refusal, x):
        assert "expected 3 rows" in refusal(read_covariates, x, 2, KEEP)


class TestColumns:
    def test_numbers(self):
        assert covariate_columns([1, 2, 3], 3, None).tolist() == [[1.0], [2.0], [3.0]]
        frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 1.5]})
        assert covariate_columns(frame, 2, KEEP).tolist() == [[1.0, 0.5], [3.0, 1.5]]

    @pytest.mark.parametrize(
        ("x", "words"),
        [
            ([1.0, 2.0], "expected 3 rows, got shape (2,)"),
            (np.zeros((3, 2, 2)), "(n,) or (n, q)"),
            (np.zeros((3, 0)), "(n,) or (n, q)"),
            ([[1.0], [2.0], [np.inf]], "row 2, column 0 is inf"),
            (["a", "b", "c"], "real numbers"),
        ],
    )
    def test_refusals(self, refusal, x, words):
        assert words in refusal(covariate_columns, x, 3, None)


M = 4
rows = st.lists(st.tuples(st.integers(0, M), st.sampled_from([0.0, 0.5, 2.0])), min_size=1, max_size=12)


def kept(rows):
    ranks, x = zip(*rows, strict=True)
    return KeptRanks.of(ranks, M, x)


def test_holds_the_rows():
    found = KeptRanks.of([[0, 1], [3, 2]], M, [[1.0], [2.0]], names=["u", "v"])
    assert found.rank.tolist() == [[0, 1], [3, 2]]
    assert found.x.tolist() == [[1.0], [2.0]]
    assert found.ranks == Ranks.of([[0, 1], [3, 2]], M, names=["u", "v"])
    assert found.n == 2


@given(a=rows, b=rows)
def test_merged_is_that_of_all_rows(a, b):
    assert kept(a) + kept(b) == kept([*a, *b])


@given(rows)
def test_zero_and_bytes(a):
    summary = kept(a)
    assert KeptRanks.zero() + summary == summary + KeptRanks.zero() == sum([summary])
    assert Summary.from_bytes(summary.to_bytes()) == summary
    assert Summary.from_bytes(KeptRanks.zero().to_bytes()) == KeptRanks.zero()


@given(rows, st.randoms(use_true_random=False))
def test_order_depends_on_values_alone(a, random):
    shuffled = random.sample(a, len(a))
    for ours, theirs in zip(kept(a).ordered(), kept(shuffled).ordered(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_order_keeps_rows_together():
    rank, x = KeptRanks.of([[0, 4], [3, 1], [2, 2]], M, [[5.0, 0.0], [1.0, 0.0], [3.0, 0.0]]).ordered()
    assert {(*r, *v) for r, v in zip(rank.tolist(), x.tolist(), strict=True)} == {
        (0, 4, 5.0, 0.0),
        (3, 1, 1.0, 0.0),
        (2, 2, 3.0, 0.0),
    }


def test_what_does_not_fit(refusal):
    one, two = KeptRanks.of([0], M, [1.0]), KeptRanks.of([0], M, [[1.0, 2.0]])
    assert "1 covariates do not merge with ranks with 2" in refusal(lambda: one + two, error=SummaryError)
    assert "among 5 draws" in refusal(lambda: one + KeptRanks.of([0], 5, [1.0]), error=SummaryError)
    assert "same rows" in refusal(KeptRanks, one.parts, one.rank, np.zeros((2, 1)), error=SummaryError)


M_RANK_COVARIATES = 4
rows_rank_covariates = st.lists(
    st.tuples(
        st.integers(0, M_RANK_COVARIATES), st.integers(0, M_RANK_COVARIATES), st.floats(-5, 5), st.floats(1e6, 1e6 + 5)
    ),
    min_size=1,
    max_size=12,
)


def made(rows):
    table = np.array(rows)
    return RankCovariates.of(table[:, :2].astype(int), M_RANK_COVARIATES, table[:, 2:])


def close(a, b):
    assert a.parts == b.parts
    for name in ("mean", "spread", "cross"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-6)


def test_by_hand():
    found = RankCovariates.of([0, 1], 1, [3.0, 5.0])
    assert found.mean.tolist() == [4.0]
    assert found.spread.tolist() == [[2.0]]
    assert found.cross.tolist() == [[[2.0]]]  # (-1)(-1) + 1 · 1, φ_1 = -1, 1
    assert found.ranks == Ranks.of([0, 1], 1)


def test_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    rank, x = rng.integers(0, M_RANK_COVARIATES + 1, (50, 3)), rng.normal(size=(50, 2)) + 7
    found = RankCovariates.of(rank, M_RANK_COVARIATES, x)
    step = x - x.mean(axis=0)
    phi = legendre(M_RANK_COVARIATES)[:2]
    for q in range(2):
        for k in range(2):
            for c in range(3):
                assert found.cross[q, k, c] == pytest.approx((step[:, q] * phi[k][rank[:, c]]).sum(), rel=1e-10)
    np.testing.assert_allclose(found.spread, 49 * np.cov(x.T))


@given(a=rows_rank_covariates, b=rows_rank_covariates)
def test_merged_is_that_of_all_rows_rank_covariates(a, b):
    close(made(a) + made(b), made([*a, *b]))


@given(a=rows_rank_covariates, b=rows_rank_covariates, c=rows_rank_covariates)
def test_merging_is_associative_and_has_a_zero(a, b, c):
    a, b, c = map(made, (a, b, c))
    close((a + b) + c, a + (b + c))
    assert RankCovariates.zero() + a == a + RankCovariates.zero() == sum([a])


@given(rows_rank_covariates)
def test_bytes_bring_it_back(a):
    summary = made(a)
    assert Summary.from_bytes(summary.to_bytes()) == summary
    assert RankCovariates.from_bytes(RankCovariates.zero().to_bytes()).n == 0


def test_a_large_offset_loses_no_digits():
    rng = np.random.default_rng(0)
    rank, x = rng.integers(0, M_RANK_COVARIATES + 1, 400), rng.integers(0, 1000, 400) / 4
    near, far = (RankCovariates.of(rank, M_RANK_COVARIATES, x + offset) for offset in (0.0, 2.0**40))
    np.testing.assert_allclose(far.spread, near.spread, rtol=1e-9)
    np.testing.assert_allclose(far.cross, near.cross, rtol=1e-6)


class TestRefusal:
    def test_another_number_of_covariates(self, refusal):
        one, two = (
            RankCovariates.of([0], M_RANK_COVARIATES, [1.0]),
            RankCovariates.of([0], M_RANK_COVARIATES, [[1.0, 2.0]]),
        )
        assert "1 covariates do not merge with ranks with 2" in refusal(lambda: one + two, error=SummaryError)

    def test_other_ranks(self, refusal):
        one, two = RankCovariates.of([0], M_RANK_COVARIATES, [1.0]), RankCovariates.of([0], 5, [1.0])
        assert "among 5 draws" in refusal(lambda: one + two, error=SummaryError)

    def test_covariates_that_do_not_fit(self, refusal):
        assert "expected 2 rows" in refusal(RankCovariates.of, [0, 1], M_RANK_COVARIATES, [1.0])
        assert "row 1" in refusal(RankCovariates.of, [0, 1], M_RANK_COVARIATES, [1.0, np.nan])

    def test_squares_beyond_float64(self, refusal):
        assert "too large" in refusal(RankCovariates.of, [0, 1], M_RANK_COVARIATES, [1e200, -1e200])

    def test_moments_that_do_not_fit(self, refusal):
        ranks = (Ranks.of([0], M_RANK_COVARIATES),)
        message = refusal(RankCovariates, ranks, np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2)), error=SummaryError)
        assert "do not fit" in message


def rows_exchanged_ranks(n=12, seed=0, M=5, D=2):
    rng = np.random.default_rng(seed)
    return read_outcomes(rng.normal(size=(n, D)), Samples(rng.normal(size=(n, M, D))))


def test_holds_the_ranks_and_their_replicates():
    given = rows_exchanged_ranks()
    found = ExchangedRanks.of(given, 7, 0)
    assert found.tables.shape == (7, 6, 2)
    assert (found.tables.sum(axis=1) == 12).all()
    assert found.ranks == summarize("ranks", given.y, given.distribution)
    assert found.n == 12


def test_replicates_add_up():
    chance = np.random.default_rng(0)
    one, other = (ExchangedRanks.of(rows_exchanged_ranks(seed=seed), 7, chance) for seed in (1, 2))
    both = one + other
    np.testing.assert_array_equal(both.tables, one.tables + other.tables)
    assert both.ranks == one.ranks + other.ranks
    assert (both + ExchangedRanks.of(rows_exchanged_ranks(seed=3), 7, chance)).n == 36


def test_zero_and_bytes_exchanged_ranks():
    found = ExchangedRanks.of(rows_exchanged_ranks(), 7, 0)
    assert ExchangedRanks.zero() + found == found + ExchangedRanks.zero() == sum([found])
    assert Summary.from_bytes(found.to_bytes()) == found
    assert Summary.from_bytes(ExchangedRanks.zero().to_bytes()) == ExchangedRanks.zero()


@pytest.mark.parametrize("rng", [None, 0, 3])
def test_the_same_chance_twice_is_refused(rng, refusal):
    one, other = (ExchangedRanks.of(rows_exchanged_ranks(seed=seed), 7, rng) for seed in (1, 2))
    message = refusal(lambda: one + other, error=SummaryError)
    assert "same chance" in message
    assert "Generator" in message


def test_different_numbers_merge():
    assert (
        ExchangedRanks.of(rows_exchanged_ranks(seed=1), 7, 1) + ExchangedRanks.of(rows_exchanged_ranks(seed=2), 7, 2)
    ).n == 24


def test_what_does_not_fit_exchanged_ranks(refusal):
    one = ExchangedRanks.of(rows_exchanged_ranks(), 7, 0)
    assert "same resamples" in refusal(
        lambda: one + ExchangedRanks.of(rows_exchanged_ranks(), 8, 1), error=SummaryError
    )
    assert "among 4 draws" in refusal(
        lambda: one + ExchangedRanks.of(rows_exchanged_ranks(M=4), 7, 1), error=SummaryError
    )
    assert "do not fit" in refusal(
        ExchangedRanks, (Ranks.of([0], 3),), np.zeros((2, 5, 1), np.int64), (1,), error=SummaryError
    )


def test_batches_of_different_weights(refusal):
    given = rows_exchanged_ranks()
    one, other = (
        ExchangedRanks.of(read_outcomes(given.y, given.distribution, weights=np.full(12, w)), 7, int(w))
        for w in (1.0, 2.0)
    )
    assert "weights" in refusal(lambda: one + other, error=SummaryError)


def test_too_many_counts_are_refused_before_they_are_made(refusal):
    message = refusal(ExchangedRanks.of, rows_exchanged_ranks(), 10**9, 0)
    assert "fewer resamples" in message


def test_ties_need_chance(refusal):
    tied = read_outcomes(np.zeros(3), Samples(np.zeros((3, 2))))
    assert "rng=" in refusal(ExchangedRanks.of, tied, 7, None)
    assert ExchangedRanks.of(tied, 7, 0).ranks.tied.tolist() == [3]


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


def test_compared_in_the_coarser_type():
    y, draws = np.array([[0.1]]), np.array([[[0.1]]], np.float32)
    assert member_counts(y, draws, np.dtype(np.float32))[1].max() == 1
    assert member_counts(y, draws, DOUBLE)[1].max() == 0


def test_without_ties_every_rank_is_equally_likely():
    rng = np.random.default_rng(0)
    rows = read_outcomes(rng.normal(size=40), Samples(rng.normal(size=(40, 4))))
    tables = exchanged_counts(rows, 500, np.random.default_rng(1))
    assert tables.shape == (500, 5, 1)
    assert (tables.sum(axis=1) == 40).all()
    share = tables.sum(axis=0)[:, 0] / (500 * 40)
    np.testing.assert_allclose(share, 0.2, atol=5 * np.sqrt(0.16 / (500 * 40)))


def test_one_member_stands_for_the_outcome_in_all_columns():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 6))
    both = np.stack([draws, -draws], axis=2)  # where one is high the other is low
    tables = exchanged_counts(read_outcomes(both[:, 0], Samples(both[:, 1:])), 50, np.random.default_rng(1))
    np.testing.assert_array_equal(tables[:, :, 0], tables[:, ::-1, 1])


def test_tied_members_share_their_ranks():
    rows = read_outcomes(np.zeros(100), Samples(np.zeros((100, 3))))
    share = exchanged_counts(rows, 200, np.random.default_rng(0)).sum(axis=0)[:, 0] / 20_000
    np.testing.assert_allclose(share, 0.25, atol=0.02)


@pytest.mark.parametrize("seed", [0, 1])
def test_small_blocks_change_nothing_but_chance(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = read_outcomes(rng.normal(size=(9, 2)), Samples(rng.normal(size=(9, 4, 2))))
    whole = exchanged_counts(rows, 2000, np.random.default_rng(0)).mean(axis=0)
    monkeypatch.setattr("calibrant.ranking.covariates.BLOCK", 1)
    np.testing.assert_allclose(exchanged_counts(rows, 2000, np.random.default_rng(0)).mean(axis=0), whole, atol=0.2)
