"""Any member of a row in the place of its outcome: what ranks would be if another member had come true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.rank_counts import Counts, as_compared

BLOCK = 1 << 22  # ranks that are looked at together


def exchanged_counts(rows: LawRows, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return B tables of counts (B, M + 1, C): of ranks, if a random member of each row were its outcome.

    If outcomes are calibrated, outcome and draws are exchangeable, and the table of the outcomes is one more such
    table: whatever is computed of it has the law of the same computed of these, however the columns depend on each
    other. Ties are broken at random, anew in each table.

    >>> from calibrant.inputs.outcomes import read_outcomes
    >>> rows = read_outcomes([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    >>> exchanged_counts(rows, 5, np.random.default_rng(0)).sum(axis=1)[:, 0]
    array([2, 2, 2, 2, 2])
    """
    law = rows.law
    assert isinstance(law, Samples)  # whoever calls has checked it
    m, y = law.M + 1, rows.y.reshape(rows.n, -1)
    C = y.shape[1]
    tables = np.zeros((C, resamples * m), np.int64)
    offset = np.arange(resamples) * m
    for part in chunks(rows.n, max(1, BLOCK // max(resamples, m * C))):
        less, equal = member_counts(y[part], law.held[part].reshape(-1, law.M, C), rows.dtype)
        chosen = rng.integers(m, size=(len(less), resamples))
        for c in range(C):
            rank = np.take_along_axis(less[:, c], chosen, axis=1)
            ties = np.take_along_axis(equal[:, c], chosen, axis=1)
            if ties.any():
                rank += rng.integers(0, ties, endpoint=True)
            tables[c] += np.bincount((rank + offset).ravel(), minlength=tables.shape[1])
    return np.ascontiguousarray(tables.reshape(C, resamples, m).transpose(1, 2, 0))


def member_counts(y: NDArray[Any], draws: NDArray[Any], dtype: np.dtype[Any]) -> tuple[Counts, Counts]:
    """Return how many other members lie below each member and how many equal it, (n, C, M + 1), the outcome first.

    >>> less, equal = member_counts(np.array([[2.0]]), np.array([[[1.0], [2.0], [5.0]]]), np.dtype(np.float64))
    >>> less[0, 0], equal[0, 0]
    (array([1, 0, 1, 3]), array([1, 0, 1, 0]))
    """
    z = np.concatenate([as_compared(y[:, None], dtype), as_compared(draws, dtype)], axis=1).transpose(0, 2, 1)
    order = np.argsort(z, axis=2)
    ascending = np.take_along_axis(z, order, axis=2)
    place = np.arange(z.shape[2])
    first = np.ones(z.shape, bool)  # of a run of equal members
    first[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    last = np.ones(z.shape, bool)
    last[..., :-1] = first[..., 1:]
    starts = np.maximum.accumulate(np.where(first, place, 0), axis=2)
    ends = np.minimum.accumulate(np.where(last, place, z.shape[2])[..., ::-1], axis=2)[..., ::-1]
    less, equal = np.empty((2, *z.shape), np.int64)
    np.put_along_axis(less, order, starts, axis=2)
    np.put_along_axis(equal, order, ends - starts, axis=2)
    return less, equal
