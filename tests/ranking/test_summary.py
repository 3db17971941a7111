"""Counts of ranks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.groups import read_row_labels
from calibrant.ranking.counting import CELLS, Ranked, cells, legendre
from calibrant.ranking.summary import CovariateMoments, ExchangedCounts, Ranks, covariate_columns, rank_points
from calibrant.summaries import Summary

TWO = [[0, 3], [1, 3], [3, 2]]


def cells_ranks(*rank):
    found = Ranked(np.array(rank), 999, ("",), np.array([0]), cells=True)
    return Ranks.of_ranked(found, unit_weights(len(rank)))


def test_counts():
    found = Ranks.of([0, 3, 1, 3], M=3)
    assert found.counts.tolist() == [[1], [1], [0], [2]]
    assert found.counts.dtype == np.int64
    assert (found.n, found.M, found.C, found.names, found.single, found.cells) == (4, 3, 1, ("",), True, False)
    assert found.tied.tolist() == [0]
    assert repr(found) == "Ranks(n=4, M=3)"
    assert Ranks.of(np.arange(500), M=1000).counts.shape == (1001, 1)  # ranks that do not occur are there
    assert cells_ranks(0, 5).points.size == 99


def test_columns_and_weights():
    found = Ranks.of(TWO, M=3)
    assert found.counts.T.tolist() == [[1, 1, 0, 1], [0, 0, 1, 2]]
    assert (found.names, found.single, found.C) == (("0", "1"), False, 2)
    assert Ranks.of(TWO, M=3, names=["a", "b"]).names == ("a", "b")
    assert Ranks.of([1, 2], M=3, names="a").names == ("a",)
    one = found.take([1])
    assert (one.counts.T.tolist(), one.names, one.single) == ([[0, 0, 1, 2]], ("1",), False)
    found = Ranks.of(TWO, M=3, weights=[1.0, 2.0, 0.0])
    assert found.counts.T.tolist() == [[1, 1, 0, 0], [0, 0, 0, 2]]
    assert found.weight.T.tolist() == [[1, 2, 0, 0], [0, 0, 0, 3]]
    assert found.weight2.T.tolist() == [[1, 4, 0, 0], [0, 0, 0, 5]]
    assert not found.has_equal_weights
    assert Ranks.of(TWO, M=3, weights=[0.3, 0.3, 0.3]).has_equal_weights
    assert Ranks.of(TWO, M=3).has_equal_weights


class TestMerge:
    def test_adds_up(self):
        total = Ranks.of([0, 3], M=3, weights=[1, 2]) + Ranks.of([3], M=3)
        assert total.counts[:, 0].tolist() == [1, 0, 0, 2]
        assert total.weight[:, 0].tolist() == [1, 0, 0, 3]
        assert total.weight2[:, 0].tolist() == [1, 0, 0, 5]
        assert total == Ranks.of([3, 0, 3], M=3, weights=[1, 1, 2])
        tied = Ranks.of_ranked(Ranked(np.array([0, 1]), 2, ("",), np.array([2])), unit_weights(2))
        assert (tied + tied + Ranks.of([1], M=2)).tied.tolist() == [4]
        assert (Ranks.zero() + Ranks.zero()).n == 0

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (Ranks.of([0], M=4), "ranks among 3 draws do not merge with ranks among 4 draws"),
            (cells_ranks(7), "ranks among 3 draws do not merge with cells of 1,000"),
            (Ranks.of([0], M=3, names="a"), "ranks of one column do not merge with ranks of a"),
            (Ranks.of([[0]], M=3, names=[""]), "do not merge"),
            (Ranks.of(TWO, M=3), "ranks of one column do not merge with ranks of 0, 1"),
        ],
    )
    def test_what_does_not_fit_together(self, refusal, other, words):
        one = Ranks.of([0], M=3)
        assert words in refusal(lambda: one + other, error=SummaryError)


class TestRefusals:
    @pytest.mark.parametrize(
        ("ranks", "options", "words"),
        [
            ([0.5, 1.0], {}, "Ranks divided by M are not ranks"),
            ([[[0]]], {}, "shape (1, 1, 1)"),
            ([], {}, "whole numbers"),
            ([0, 4], {}, "between 0 and M = 3; row 1 is 4"),
            ([[0, 1], [1, -1]], {}, "row 1, column 1 is -1"),
            *((TWO, {"names": names}, "must be 2 different texts") for names in (["a"], ["a", "a"], "ab", [1, 2])),
            *(([0], {"M": M}, "M must be") for M in (0, 2.0, True)),
        ],
    )
    def test_input(self, refusal, ranks, options, words):
        assert words in refusal(Ranks.of, ranks, **{"M": 3, **options})

    def test_tables_that_do_not_fit(self, refusal):
        one = Ranks.of(TWO, M=3)
        fields = (one.counts, one.weight, one.weight2)
        for broken in (
            (one.counts[:-1], one.weight, one.weight2, ("0", "1"), False, one.tied, False, False),
            (*fields, ("0",), False, one.tied, False, False),
            (*fields, ("0", "1"), True, one.tied, False, False),
            (*fields, ("0", "1"), False, one.tied[:1], False, False),
        ):
            assert refusal(lambda given=broken: Ranks(*given), error=SummaryError)


M = 4
rows = st.lists(st.tuples(st.integers(0, M), st.sampled_from("abc")), min_size=1, max_size=12)


def grouped(rows, **options):
    ranks, labels = zip(*rows, strict=True)
    return Ranks.of(ranks, M, groups=list(labels), **options)


def test_groups():
    summary = Ranks.of([[0, 1], [3, 3], [1, 0]], 3, groups=["x", "y", "x"])
    assert summary.labels == ("x", "y")
    assert summary.groups[0] == Ranks.of([[0, 1], [1, 0]], 3)
    assert summary.groups[1] == Ranks.of([[3, 3]], 3)
    assert summary.take([0, 1]) == Ranks.of([[0, 1], [3, 3], [1, 0]], 3)
    assert repr(summary) == "Ranks(n=3, M=3, 2 columns, 2 groups)"
    u = np.array([[0.1], [0.2], [0.3]])
    found = cells(u, np.array([[True], [False], [True]]))
    summary = Ranks.of_ranked(found, unit_weights(3), labels=read_row_labels(["a", "b", "b"], 3))
    assert summary.tied.tolist() == [2]
    assert (summary + summary).tied.tolist() == [4]
    assert summary.M == CELLS - 1
    assert summary.cells


@given(a=rows, b=rows, c=rows)
def test_merged_is_that_of_all_rows(a, b, c):
    one, other = grouped(a) + grouped(b), grouped([*a, *b])
    assert one == other
    assert one + grouped(c) == grouped(a) + (grouped(b) + grouped(c))
    assert Ranks.zero() + one == one + Ranks.zero() == sum([one])
    assert Summary.from_bytes(one.to_bytes()) == one


@pytest.mark.parametrize("labels", [[2, 10, 1], [True, False, True], [0.5, -1.0, 0.5], ["b", "a", "b"]], ids=str)
def test_labels_stay_what_they_are_and_ascend(labels):
    summary = Ranks.of([0, 1, 2], M, groups=labels)
    assert list(summary.labels) == sorted(set(labels))
    assert Summary.from_bytes(summary.to_bytes()).labels == summary.labels


def test_parts_that_do_not_fit(refusal):
    one, other = Ranks.of([0], 3), Ranks.of([0], 4)
    both = Ranks.of([0, 0], 3)

    def joined(groups, labels):
        return replace(both, groups=groups, labels=labels)

    assert joined((one, one), ("a", "b")).groups == (one, one)
    assert "merge" in refusal(joined, (one, other), ("a", "b"), error=SummaryError)
    assert "one label per group" in refusal(joined, (one, one), ("a", "a"), error=SummaryError)
    assert "must be Ranks" in refusal(joined, (1,), ("a",), error=SummaryError)
    assert "rows of all ranks" in refusal(joined, (one,), ("a",), error=SummaryError)
    message = refusal(lambda: Ranks.of([0], 3, groups=["a"]) + one, error=SummaryError)
    assert "ranks with groups do not merge with ranks without" in message
    assert "one label per row" in refusal(Ranks.of, [0, 1], M, groups=["a"])
    assert "groups must not be missing; row 1" in refusal(Ranks.of, [0, 1], M, groups=["a", None])


KEEP = np.array([True, False, True])


class TestCovariateColumns:
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


covariate_rows = st.lists(
    st.tuples(st.integers(0, M), st.integers(0, M), st.floats(-5, 5), st.floats(1e6, 1e6 + 5)), min_size=1, max_size=12
)


def with_covariates(rows):
    table = np.array(rows)
    return Ranks.of(table[:, :2].astype(int), M, covariates=table[:, 2:])


def close(a, b):
    assert np.array_equal(a.counts, b.counts)
    for name in ("mean", "mean_phi", "spread", "cross"):
        ours, theirs = (getattr(ranks.covariates[0], name) for ranks in (a, b))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-6)


class TestCovariateMoments:
    def test_by_hand_and_as_the_rows(self):
        found = Ranks.of([0, 1], 1, covariates=[3.0, 5.0])
        (moments,) = found.covariates
        assert moments.mean.tolist() == [4.0]
        assert moments.spread.tolist() == [[2.0]]
        assert moments.cross.tolist() == [[[2.0]]]  # (-1)(-1) + 1 · 1, φ_1 = -1, 1
        assert replace(found, covariates=()) == Ranks.of([0, 1], 1)
        rng = np.random.default_rng(0)
        rank, x = rng.integers(0, M + 1, (50, 3)), rng.integers(0, 1000, (50, 2)) / 4
        found, far = (Ranks.of(rank, M, covariates=x + offset).covariates[0] for offset in (0.0, 2.0**40))
        cross = np.einsum("nq,knc->qkc", x - x.mean(axis=0), legendre(M)[:2][:, rank])
        np.testing.assert_allclose(found.cross, cross, rtol=1e-10)
        np.testing.assert_allclose(found.spread, 49 * np.cov(x.T))
        np.testing.assert_allclose(far.spread, found.spread, rtol=1e-9)  # a large offset loses no digits
        np.testing.assert_allclose(far.cross, found.cross, rtol=1e-6, atol=1e-9)

    @given(a=covariate_rows, b=covariate_rows, c=covariate_rows)
    def test_merged_is_that_of_all_rows(self, a, b, c):
        close(with_covariates(a) + with_covariates(b), with_covariates([*a, *b]))
        a, b, c = map(with_covariates, (a, b, c))
        close((a + b) + c, a + (b + c))
        assert Ranks.zero() + a == a + Ranks.zero() == sum([a]) == Summary.from_bytes(a.to_bytes())

    def test_what_does_not_fit(self, refusal):
        one, two = (Ranks.of([0], M, covariates=x) for x in ([1.0], [[1.0, 2.0]]))
        assert "1 covariates do not merge with ranks with 2" in refusal(lambda: one + two, error=SummaryError)
        five = Ranks.of([0], 5, covariates=[1.0])
        assert "among 5 draws" in refusal(lambda: one + five, error=SummaryError)
        assert "expected 2 rows" in refusal(Ranks.of, [0, 1], M, covariates=[1.0])
        assert "row 1" in refusal(Ranks.of, [0, 1], M, covariates=[1.0, np.nan])
        assert "too large" in refusal(Ranks.of, [0, 1], M, covariates=[1e200, -1e200])
        message = refusal(lambda: one + Ranks.of([0], M), error=SummaryError)
        assert "ranks with covariates do not merge" in message
        shapes = (1, np.zeros(2), np.zeros((2, 1)), np.zeros((2, 2)), np.zeros((2, 2, 2)))
        assert "do not fit" in refusal(CovariateMoments, *shapes, error=SummaryError)
        for moments in (five.covariates, two.covariates * 2):
            assert refusal(replace, Ranks.of([0, 1], M), covariates=moments, error=SummaryError)


def test_exchanged_counts_that_do_not_fit(refusal):
    own = Ranks.of([0, 1], 3)
    fits = ExchangedCounts(np.stack([own.counts, own.counts[::-1]]), (1,))
    assert replace(own, exchanged=(fits,)).exchanged[0].n == 2
    assert Summary.from_bytes(replace(own, exchanged=(fits,)).to_bytes()) == replace(own, exchanged=(fits,))
    for broken in (np.concatenate([fits.tables, 0 * fits.tables], axis=1), 2 * fits.tables):
        other = (ExchangedCounts(broken, (1,)),)
        assert "same rows and columns" in refusal(replace, own, exchanged=other, error=SummaryError)
    uneven = fits.tables * np.array([1, 2])[:, None, None]
    for broken in (-fits.tables, uneven):
        assert "tables of the same rows" in refusal(ExchangedCounts, broken, (1,), error=SummaryError)


@pytest.mark.parametrize("M", [1, 2, 99, 999, 1000, 1500, 4095, 10**6])
def test_all_ranks_up_to_a_thousand_and_999_of_more(M):
    found = rank_points(50, M, cells=False)
    assert found.size == min(M, 999)
    assert (np.diff(found, prepend=0, append=M + 1) > 0).all()
    np.testing.assert_allclose(found, np.arange(1, found.size + 1) * (M + 1) / (found.size + 1), rtol=0, atol=0.5)


@pytest.mark.parametrize(
    ("n", "K"),
    [(1, 100), (99, 100), (100, 100), (124, 100), (125, 125), (240, 200), (999, 500), (1000, 1000), (10**9, 1000)],
)
def test_cells_are_joined_to_about_as_many_as_rows(n, K):
    found = rank_points(n, 999, cells=True)
    np.testing.assert_array_equal(found, np.arange(1, K) * (1000 // K))
