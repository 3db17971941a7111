"""Ranks and covariates row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Ranks, Summary, SummaryError
from calibrant.summaries import KeptRanks

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
