"""Ranks of outcomes by a score that every member of a row has: a distance, a depth, a density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.primitives.dispatch import on_threads
from calibrant.primitives.rank_counts import Counts
from calibrant.primitives.ranked import Ranked, ranked

Score = Callable[[slice], NDArray[Any]]
"""From rows to the score of each of their members, (r, M + 1), that of the outcome first."""


def member_ranks(score: Score, n: int, rng: Any, *, M: int, size: int, what: str) -> Ranked:
    """Rank outcomes by their score, `size` rows at a time on all cores; ties at random.

    >>> height = np.array([[3.0, 1.0, 5.0], [0.0, 4.0, 2.0]])
    >>> member_ranks(lambda part: height[part], 2, None, M=2, size=1, what="height").rank
    array([1, 0])
    """
    less, equal = np.empty((2, n), np.int64)

    def work(part: slice) -> None:
        less[part], equal[part] = outcome_counts(score(part))

    for _ in on_threads(work, n, size=size):
        pass
    return tie_broken(less, equal, rng, M=M, what=what)


def outcome_counts(scores: NDArray[Any]) -> tuple[Counts, Counts]:
    """Return how many draws of each row score less than the outcome, and how many the same."""
    own, others = scores[:, :1], scores[:, 1:]
    return np.count_nonzero(others < own, axis=1), np.count_nonzero(others == own, axis=1)


def tie_broken(
    less: Counts, equal: Counts, rng: Any, *, M: int, what: str, names: tuple[str, ...] | None = None
) -> Ranked:
    """Return the ranks; without `rng` ties of what is compared, `what`, are an error that counts them."""
    ties = int(np.count_nonzero(equal))
    if ties and rng is None:
        raise InputError(
            f"{what} of the outcome equals that of draws in {ties:,} of {less.size:,} ranks, and chance decides its "
            "place among them; pass rng=, a numpy Generator or a whole number"
        )
    return ranked(less, equal, rng, M=M, names=names)
