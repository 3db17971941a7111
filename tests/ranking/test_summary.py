"""Counts of ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Ranks as RanksGroupedRanks
from calibrant import Ranks as RanksWithRanks
from calibrant import Summary, SummaryError
from calibrant.inputs.arrays import unit_weights
from calibrant.inputs.groups import read_row_labels
from calibrant.ranking.counting import CELLS, Ranked, cells
from calibrant.ranking.covariates import KeptRanks, RankCovariates
from calibrant.ranking.summary import GroupedRanks, Ranks, WithRanks, rank_points

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


def test_ranks_that_do_not_occur_are_there():
    found = Ranks.of(np.arange(500), M=1000)
    assert (found.M, found.counts.shape) == (1000, (1001, 1))


def test_columns():
    found = Ranks.of(TWO, M=3)
    assert found.counts.T.tolist() == [[1, 1, 0, 1], [0, 0, 1, 2]]
    assert (found.names, found.single, found.C) == (("0", "1"), False, 2)
    assert Ranks.of(TWO, M=3, names=["a", "b"]).names == ("a", "b")
    assert Ranks.of([1, 2], M=3, names="a").names == ("a",)
    one = found.take([1])
    assert (one.counts.T.tolist(), one.names, one.single) == ([[0, 0, 1, 2]], ("1",), False)


def test_weights():
    found = Ranks.of(TWO, M=3, weights=[1.0, 2.0, 0.0])
    assert found.counts.T.tolist() == [[1, 1, 0, 0], [0, 0, 0, 2]]
    assert found.weight.T.tolist() == [[1, 2, 0, 0], [0, 0, 0, 3]]
    assert found.weight2.T.tolist() == [[1, 4, 0, 0], [0, 0, 0, 5]]
    assert not found.has_equal_weights
    assert Ranks.of(TWO, M=3, weights=[0.3, 0.3, 0.3]).has_equal_weights
    assert Ranks.of(TWO, M=3).has_equal_weights


def test_points():
    assert Ranks.of([0], M=4).points.tolist() == [1, 2, 3, 4]
    assert cells_ranks(0, 5).points.size == 99


class TestMerge:
    def test_adds_up(self):
        total = Ranks.of([0, 3], M=3, weights=[1, 2]) + Ranks.of([3], M=3)
        assert total.counts[:, 0].tolist() == [1, 0, 0, 2]
        assert total.weight[:, 0].tolist() == [1, 0, 0, 3]
        assert total.weight2[:, 0].tolist() == [1, 0, 0, 5]
        assert total == Ranks.of([3, 0, 3], M=3, weights=[1, 1, 2])

    def test_zero(self):
        one = Ranks.of(TWO, M=3)
        assert Ranks.zero() + one == one == one + Ranks.zero()
        assert (Ranks.zero() + Ranks.zero()).n == 0
        assert sum([one, one]).n == 6

    def test_ties_add_up(self):
        found = Ranked(np.array([0, 1]), 2, ("",), np.array([2]))
        one = Ranks.of_ranked(found, unit_weights(2))
        assert (one + one + Ranks.of([1], M=2)).tied.tolist() == [4]

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

    def test_bytes(self):
        one = Ranks.of(TWO, M=3, names=["a", "b"], weights=[1, 2, 3])
        assert Summary.from_bytes(one.to_bytes()) == one
        assert Summary.from_bytes(cells_ranks(3).to_bytes()).cells


class TestRefusals:
    @pytest.mark.parametrize(
        ("ranks", "words"),
        [
            ([0.5, 1.0], "Ranks divided by M are no ranks any more"),
            ([[[0]]], "shape (1, 1, 1)"),
            ([], "whole numbers"),
            ([0, 4], "between 0 and M = 3; row 1 is 4"),
            ([[0, 1], [1, -1]], "row 1 is -1"),
        ],
    )
    def test_ranks(self, refusal, ranks, words):
        assert words in refusal(Ranks.of, ranks, M=3)

    @pytest.mark.parametrize("names", [["a"], ["a", "a"], "ab", [1, 2]])
    def test_names(self, refusal, names):
        assert "names must be 2 different texts" in refusal(Ranks.of, TWO, M=3, names=names)

    @pytest.mark.parametrize("M", [0, 2.0, True])
    def test_number_of_draws(self, refusal, M):
        assert "M must be" in refusal(Ranks.of, [0], M=M)

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


def test_ranks_and_rows_are_those_of_all_parts():
    parts = (RanksWithRanks.of([0, 1], 3), RanksWithRanks.of([3], 3))
    found = WithRanks(parts)
    assert found.n == 3
    assert found.ranks == RanksWithRanks.of([0, 1, 3], 3)
    assert WithRanks(()).n == 0
    assert WithRanks(()).ranks == RanksWithRanks.zero()


def test_only_ranks_are_parts(refusal):
    assert "must be Ranks" in refusal(WithRanks, (3,), error=SummaryError)


def test_bytes_with_parts_of_another_kind_are_refused(refusal):
    inner = GroupedRanks.of([0], 3, ["a"])
    foreign = KeptRanks.of([0], 3, [1.0])
    data = inner.to_bytes().replace(b"GroupedRanks", b"KeptRanks")
    assert refusal(RankCovariates.from_bytes, foreign.to_bytes(), error=SummaryError)
    assert refusal(GroupedRanks.from_bytes, data, error=SummaryError)


M = 4
rows = st.lists(st.tuples(st.integers(0, M), st.sampled_from("abc")), min_size=1, max_size=12)


def grouped(rows, **options):
    ranks, labels = zip(*rows, strict=True)
    return GroupedRanks.of(ranks, M, list(labels), **options)


def test_each_group_has_its_ranks():
    summary = GroupedRanks.of([[0, 1], [3, 3], [1, 0]], 3, ["x", "y", "x"])
    assert summary.labels == ("x", "y")
    assert summary.parts[0] == RanksGroupedRanks.of([[0, 1], [1, 0]], 3)
    assert summary.parts[1] == RanksGroupedRanks.of([[3, 3]], 3)
    assert summary.ranks == RanksGroupedRanks.of([[0, 1], [3, 3], [1, 0]], 3)


@given(a=rows, b=rows)
def test_merged_is_that_of_all_rows(a, b):
    assert grouped(a) + grouped(b) == grouped([*a, *b])
    assert (grouped(a) + grouped(b)).n == len(a) + len(b)


@given(a=rows, b=rows, c=rows)
def test_merging_is_associative_and_has_a_zero(a, b, c):
    a, b, c = map(grouped, (a, b, c))
    assert (a + b) + c == a + (b + c)
    assert GroupedRanks.zero() + a == a + GroupedRanks.zero() == sum([a])


@given(rows)
def test_bytes_bring_it_back(a):
    summary = grouped(a)
    assert Summary.from_bytes(summary.to_bytes()) == summary
    assert GroupedRanks.from_bytes(GroupedRanks.zero().to_bytes()) == GroupedRanks.zero()


@pytest.mark.parametrize("labels", [[2, 10, 1], [True, False, True], [0.5, -1.0, 0.5], ["b", "a", "b"]], ids=str)
def test_labels_stay_what_they_are_and_ascend(labels):
    summary = GroupedRanks.of([0, 1, 2], M, labels)
    assert list(summary.labels) == sorted(set(labels))
    assert Summary.from_bytes(summary.to_bytes()).labels == summary.labels


def test_weight_0_is_an_absent_row():
    found = GroupedRanks.of([0, 1, 2], M, ["a", "b", "a"], weights=[1, 0, 1])
    assert found == GroupedRanks.of([0, 2], M, ["a", "a"])


def test_ties_are_counted_over_all_groups():
    u = np.array([[0.1], [0.2], [0.3]])
    found = cells(u, np.array([[True], [False], [True]]))
    summary = GroupedRanks.of_ranked(found, unit_weights(3), read_row_labels(["a", "b", "b"], 3))
    assert summary.tied.tolist() == [2]
    assert (summary + summary).tied.tolist() == [4]
    assert summary.ranks.M == CELLS - 1
    assert summary.ranks.cells


class TestRefusal:
    def test_other_M_or_names(self, refusal):
        one = grouped([(0, "a")])
        assert "among 5 draws" in refusal(lambda: one + GroupedRanks.of([0], 5, ["b"]), error=SummaryError)
        assert "merge" in refusal(lambda: one + GroupedRanks.of([0], M, ["b"], names="x"), error=SummaryError)

    def test_another_kind(self, refusal):
        assert "GroupedRanks and Ranks" in refusal(
            lambda: grouped([(0, "a")]) + RanksGroupedRanks.of([0], M), error=SummaryError
        )

    def test_groups_that_do_not_fit(self, refusal):
        assert "one label per row" in refusal(GroupedRanks.of, [0, 1], M, ["a"])

    def test_rows_without_a_group_are_one(self):
        found = GroupedRanks.of([0, 1], M, ["a", None])
        assert found.to_bytes() == GroupedRanks.of([0, 1], M, ["a", "(missing)"]).to_bytes()

    def test_illegal_ranks(self, refusal):
        assert "row 1 is 5" in refusal(GroupedRanks.of, [0, 5], M, ["a", "b"])

    def test_parts_that_do_not_fit(self, refusal):
        one, other = RanksGroupedRanks.of([0], 3), RanksGroupedRanks.of([0], 4)
        tied = np.zeros(1, np.int64)
        assert "merge" in refusal(GroupedRanks, (one, other), ("a", "b"), tied, error=SummaryError)
        assert "one label per part" in refusal(GroupedRanks, (one, one), ("a", "a"), tied, error=SummaryError)
        assert "must be Ranks" in refusal(GroupedRanks, (1,), ("a",), tied, error=SummaryError)


@pytest.mark.parametrize("M", [1, 2, 99, 999])
def test_all_ranks_up_to_a_thousand(M):
    np.testing.assert_array_equal(rank_points(50, M, cells=False), np.arange(1, M + 1))


@pytest.mark.parametrize("M", [1000, 1500, 4095, 10**6])
def test_999_of_more(M):
    found = rank_points(50, M, cells=False)
    assert found.size == 999
    assert found.min() >= 1
    assert found.max() <= M
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(found, np.arange(1, 1000) * (M + 1) / 1000, rtol=0, atol=0.5)


def test_symmetric_up_to_halves():
    found = rank_points(50, 2001, cells=False)
    assert np.abs(found + found[::-1] - 2002).max() <= 1


@pytest.mark.parametrize(
    ("n", "K"), [(1, 100), (99, 100), (100, 100), (124, 100), (125, 125), (240, 200), (999, 500), (1000, 1000)]
)
def test_cells_are_joined_to_about_as_many_as_rows(n, K):
    found = rank_points(n, 999, cells=True)
    np.testing.assert_array_equal(found, np.arange(1, K) * (1000 // K))


def test_never_more_than_a_thousand_cells():
    assert rank_points(10**9, 999, cells=True).size == 999
