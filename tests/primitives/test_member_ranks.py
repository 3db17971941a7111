"""Ranks by a score of the members."""

import numpy as np
import pytest

from calibrant.primitives.member_ranks import member_ranks, outcome_counts, tie_broken

SCORES = np.array([[2, 1, 2, 3], [0, 1, 1, 1], [5, 5, 5, 5]])


def test_counts_of_draws_below_the_outcome_and_beside_it():
    less, equal = outcome_counts(SCORES)
    assert (less.tolist(), equal.tolist()) == ([1, 0, 0], [1, 0, 3])


@pytest.mark.parametrize("size", [1, 2, 99])
def test_any_number_of_rows_at_a_time(size):
    found = member_ranks(lambda part: SCORES[part], 3, 0, M=3, size=size, what="it")
    assert found.rank[0] in (1, 2)
    assert found.rank[1] == 0
    assert (found.tied.tolist(), found.M, found.names) == ([2], 3, ("",))
    once = member_ranks(lambda part: SCORES[part], 3, 0, M=3, size=3, what="it")
    np.testing.assert_array_equal(found.rank, once.rank)


def test_ties_are_counted_in_the_message(refusal):
    message = refusal(tie_broken, *outcome_counts(SCORES), None, M=3, what="the depth")
    assert message.startswith("the depth of the outcome equals that of draws in 2 of 3 ranks")


def test_without_ties_no_generator_is_needed():
    found = tie_broken(np.array([[1, 0]]), np.array([[0, 0]]), None, M=3, what="it", names=("a", "b"))
    assert (found.rank.tolist(), found.names) == ([[1, 0]], ("a", "b"))
