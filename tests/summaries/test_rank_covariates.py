"""Co-moments of ranks and covariates: by hand, merged, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Ranks, Summary, SummaryError
from calibrant.primitives.legendre import legendre
from calibrant.summaries import RankCovariates

M = 4
rows = st.lists(
    st.tuples(st.integers(0, M), st.integers(0, M), st.floats(-5, 5), st.floats(1e6, 1e6 + 5)), min_size=1, max_size=12
)


def made(rows):
    table = np.array(rows)
    return RankCovariates.of(table[:, :2].astype(int), M, table[:, 2:])


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
    rank, x = rng.integers(0, M + 1, (50, 3)), rng.normal(size=(50, 2)) + 7
    found = RankCovariates.of(rank, M, x)
    step = x - x.mean(axis=0)
    phi = legendre(M)[:2]
    for q in range(2):
        for k in range(2):
            for c in range(3):
                assert found.cross[q, k, c] == pytest.approx((step[:, q] * phi[k][rank[:, c]]).sum(), rel=1e-10)
    np.testing.assert_allclose(found.spread, 49 * np.cov(x.T))


@given(a=rows, b=rows)
def test_merged_is_that_of_all_rows(a, b):
    close(made(a) + made(b), made([*a, *b]))


@given(a=rows, b=rows, c=rows)
def test_merging_is_associative_and_has_a_zero(a, b, c):
    a, b, c = map(made, (a, b, c))
    close((a + b) + c, a + (b + c))
    assert RankCovariates.zero() + a == a + RankCovariates.zero() == sum([a])


@given(rows)
def test_bytes_bring_it_back(a):
    summary = made(a)
    assert Summary.from_bytes(summary.to_bytes()) == summary
    assert RankCovariates.from_bytes(RankCovariates.zero().to_bytes()).n == 0


def test_a_large_offset_loses_no_digits():
    rng = np.random.default_rng(0)
    rank, x = rng.integers(0, M + 1, 400), rng.integers(0, 1000, 400) / 4
    near, far = (RankCovariates.of(rank, M, x + offset) for offset in (0.0, 2.0**40))
    np.testing.assert_allclose(far.spread, near.spread, rtol=1e-9)
    np.testing.assert_allclose(far.cross, near.cross, rtol=1e-6)


class TestRefusal:
    def test_another_number_of_covariates(self, refusal):
        one, two = RankCovariates.of([0], M, [1.0]), RankCovariates.of([0], M, [[1.0, 2.0]])
        assert "1 covariates do not merge with ranks with 2" in refusal(lambda: one + two, error=SummaryError)

    def test_other_ranks(self, refusal):
        one, two = RankCovariates.of([0], M, [1.0]), RankCovariates.of([0], 5, [1.0])
        assert "among 5 draws" in refusal(lambda: one + two, error=SummaryError)

    def test_covariates_that_do_not_fit(self, refusal):
        assert "expected 2 rows" in refusal(RankCovariates.of, [0, 1], M, [1.0])
        assert "row 1" in refusal(RankCovariates.of, [0, 1], M, [1.0, np.nan])

    def test_squares_beyond_float64(self, refusal):
        assert "too large" in refusal(RankCovariates.of, [0, 1], M, [1e200, -1e200])

    def test_moments_that_do_not_fit(self, refusal):
        ranks = (Ranks.of([0], M),)
        message = refusal(RankCovariates, ranks, np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2)), error=SummaryError)
        assert "do not fit" in message
