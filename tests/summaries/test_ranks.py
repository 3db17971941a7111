"""Counts of ranks."""

import numpy as np
import pytest

from calibrant import Summary, SummaryError
from calibrant.inputs.weights import unit_weights
from calibrant.primitives.ranked import Ranked
from calibrant.summaries.ranks import Ranks

TWO = [[0, 3], [1, 3], [3, 2]]


def cells(*rank):
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
    assert cells(0, 5).points.size == 99


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
            (cells(7), "ranks among 3 draws do not merge with cells of 1,000"),
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
        assert Summary.from_bytes(cells(3).to_bytes()).cells


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
