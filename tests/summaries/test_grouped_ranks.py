"""Counts of ranks per group: merging, reading back, and what does not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Ranks, Summary, SummaryError
from calibrant.inputs.row_labels import read_row_labels
from calibrant.inputs.weights import unit_weights
from calibrant.primitives.marginal_ranks import CELLS, cells
from calibrant.summaries import GroupedRanks

M = 4
rows = st.lists(st.tuples(st.integers(0, M), st.sampled_from("abc")), min_size=1, max_size=12)


def grouped(rows, **options):
    ranks, labels = zip(*rows, strict=True)
    return GroupedRanks.of(ranks, M, list(labels), **options)


def test_each_group_has_its_ranks():
    summary = GroupedRanks.of([[0, 1], [3, 3], [1, 0]], 3, ["x", "y", "x"])
    assert summary.labels == ("x", "y")
    assert summary.parts[0] == Ranks.of([[0, 1], [1, 0]], 3)
    assert summary.parts[1] == Ranks.of([[3, 3]], 3)
    assert summary.ranks == Ranks.of([[0, 1], [3, 3], [1, 0]], 3)


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
        assert "GroupedRanks and Ranks" in refusal(lambda: grouped([(0, "a")]) + Ranks.of([0], M), error=SummaryError)

    def test_groups_that_do_not_fit(self, refusal):
        assert "one label per row" in refusal(GroupedRanks.of, [0, 1], M, ["a"])
        assert "row 1 is None" in refusal(GroupedRanks.of, [0, 1], M, ["a", None])

    def test_illegal_ranks(self, refusal):
        assert "row 1 is 5" in refusal(GroupedRanks.of, [0, 5], M, ["a", "b"])

    def test_parts_that_do_not_fit(self, refusal):
        one, other = Ranks.of([0], 3), Ranks.of([0], 4)
        tied = np.zeros(1, np.int64)
        assert "merge" in refusal(GroupedRanks, (one, other), ("a", "b"), tied, error=SummaryError)
        assert "one label per part" in refusal(GroupedRanks, (one, one), ("a", "a"), tied, error=SummaryError)
        assert "must be Ranks" in refusal(GroupedRanks, (1,), ("a",), tied, error=SummaryError)
