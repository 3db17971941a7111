"""Ranks and covariates that are kept: merging, bytes, order, and what does not fit."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import SummaryError
from calibrant.summaries import KeptCovariates, Ranks, Summary

M = 4
rows = st.lists(st.tuples(st.integers(0, M), st.sampled_from([0.0, 0.5, 2.0])), min_size=1, max_size=12)


def kept(rows):
    ranks, x = zip(*rows, strict=True)
    return KeptCovariates.of_ranks(ranks, M, x)


def test_holds_the_rows():
    found = KeptCovariates.of_ranks([[0, 1], [3, 2]], M, [[1.0], [2.0]], names=["u", "v"])
    assert found.rank.tolist() == [[0, 1], [3, 2]]
    assert found.x.tolist() == [[1.0], [2.0]]
    assert found.kept[0] == Ranks.of([[0, 1], [3, 2]], M, names=["u", "v"])
    weighted = KeptCovariates.of_ranks([0, 1, 2], M, ["a", "b", "c"], weights=[1, 0, 2])
    assert (weighted.n, weighted.labels, weighted.w.tolist()) == (2, (("a", "c"),), [1, 2])


@given(a=rows, b=rows)
def test_merged_is_that_of_all_rows(a, b):
    one, zero = kept(a), KeptCovariates.zero()
    assert one + kept(b) == kept([*a, *b])
    assert zero + one == one + zero == sum([one]) == Summary.from_bytes(one.to_bytes())
    assert Summary.from_bytes(zero.to_bytes()) == zero


@given(rows, st.randoms(use_true_random=False))
def test_order_depends_on_values_alone(a, random):
    one, other = kept(a), kept(random.sample(a, len(a)))
    for name in ("rank", "x", "w"):
        np.testing.assert_array_equal(getattr(one, name)[one.order()], getattr(other, name)[other.order()])


def test_what_does_not_fit(refusal):
    one, two = KeptCovariates.of_ranks([0], M, [1.0]), KeptCovariates.of_ranks([0], M, [[1.0, 2.0]])
    assert "do not merge with those with x0, x1" in refusal(lambda: one + two, error=SummaryError)
    assert "among 5 draws" in refusal(lambda: one + KeptCovariates.of_ranks([0], 5, [1.0]), error=SummaryError)
    assert "same rows" in refusal(replace, one, x=np.zeros((2, 1)), error=SummaryError)
    assert "categories in one part" in refusal(lambda: one + KeptCovariates.of_ranks([0], M, ["a"]), error=SummaryError)
    assert "among their labels" in refusal(replace, one, labels=(("a",),), error=SummaryError)
