"""Integer ranks of outcomes among what was predicted for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs import generator
from calibrant.primitives.rank_counts import Counts


class Ranked(NamedTuple):
    """Ranks 0 to M: one column, (n,), or several, (n, C).

    `names` are those of the columns, `tied` is the number of rows of each column whose rank chance has decided, and
    `cells` tells that the ranks are cells of values in [0, 1], and `outward` that high ones are outlying outcomes.
    """

    rank: NDArray[np.int64]
    M: int
    names: tuple[str, ...]  # (C,); ("",) for one column without a name
    tied: NDArray[np.int64]  # (C,)
    cells: bool = False
    outward: bool = False


def ranked(less: Counts, equal: Counts, rng: Any, *, names: tuple[str, ...] | None = None, M: int) -> Ranked:
    """Return less + U with U uniform on the whole numbers 0 to equal: uniform on 0 to M if all members are alike.

    >>> ranked(np.array([3, 0]), np.array([0, 2]), rng=0, M=4).rank.tolist()[0]
    3
    >>> ranked(np.array([3, 0]), np.array([0, 2]), rng=None, M=4)
    Traceback (most recent call last):
    calibrant.errors.InputError: the outcome equals draws in 1 of 2 ranks, and chance decides its place among them; ...
    """
    ties = equal > 0
    tied = np.atleast_1d(np.count_nonzero(ties, axis=0)).astype(np.int64)
    rank = less.astype(np.int64, copy=True)
    if ties.any():
        if rng is None:
            raise InputError(
                f"the outcome equals draws in {int(tied.sum()):,} of {less.size:,} ranks, and chance decides its place "
                "among them; pass rng=, a numpy Generator or a whole number"
            )
        rank[ties] += generator(rng).integers(0, equal[ties], endpoint=True)
    return Ranked(rank, M, names or column_names(rank), tied)


def column_names(rank: NDArray[Any]) -> tuple[str, ...]:
    """Return the numbers of the columns as their names; one column without an axis has no name."""
    return ("",) if rank.ndim == 1 else tuple(str(d) for d in range(rank.shape[1]))
