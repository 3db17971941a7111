"""What tests of ranks return."""

import numpy as np

from calibrant import Ranks
from calibrant.inference.rank_effect import rank_effect
from calibrant.inference.rank_result import Found, adjusted, rank_result, ranks_in_words, shaped


def found(C):
    return Found(np.full(C, 2.0), np.full(C, 0.25), "a test", {"Z": np.ones((3, C))}, {"dof": 3})


def test_one_column_without_an_axis_gives_numbers():
    ranks = Ranks.of([0, 1, 3], M=3)
    result = rank_result(ranks, found(1), np.array([0.5]), "")
    effect = rank_effect(ranks)
    assert [type(v) for v in (result.statistic, result.pvalue, *result.estimate)] == [float] * 4
    assert result.estimate == (effect.shift[0], effect.spread[0])
    assert (result.pvalue, result.details["pvalue_each"], result.details["dof"]) == (0.5, 0.25, 3)
    assert result.details["Z"].shape == (3,)
    assert result.details["names"] == ("",)
    assert type(result.details["tied"]) is int
    assert result.method == "a test; ranks among 3 draws"


def test_columns_give_arrays():
    ranks = Ranks.of([[0, 1], [3, 2]], M=3, names=["u", "v"])
    result = rank_result(ranks, found(2), np.array([0.5, 0.5]), "Holm")
    assert result.pvalue.shape == result.estimate[0].shape == (2,)
    assert result.details["Z"].shape == (3, 2)
    assert result.details["names"] == ("u", "v")
    assert result.method == "a test; ranks among 3 draws; 2 columns, Holm"


def test_one_column_with_an_axis_gives_arrays_too():
    assert rank_result(Ranks.of([[0], [3]], M=3), found(1), np.array([0.5]), "").pvalue.shape == (1,)


def test_no_pvalue_is_0():
    result = rank_result(Ranks.of([0], M=3), found(1)._replace(pvalue=np.zeros(1)), np.zeros(1), "")
    assert 0 < result.pvalue < 1e-300
    assert 0 < result.details["pvalue_each"] < 1e-300


def test_adjusted():
    p = np.array([[0.01, 0.04], [np.nan, 0.5]])
    np.testing.assert_allclose(adjusted(p, "holm"), [[0.03, 0.08], [np.nan, 0.5]])
    np.testing.assert_allclose(adjusted(p, "bonferroni"), [[0.03, 0.12], [np.nan, 1.0]])
    np.testing.assert_array_equal(adjusted(p, "none"), p)


def test_shaped():
    assert shaped(np.array([2.5]), True) == 2.5
    assert shaped(np.ones((3, 1)), True).shape == (3,)
    assert shaped(np.ones((3, 1)), False).shape == (3, 1)


def test_words_for_cells():
    cells = Ranks.of([0], 999)
    object.__setattr__(cells, "cells", True)
    assert "1,000" in ranks_in_words(cells)
