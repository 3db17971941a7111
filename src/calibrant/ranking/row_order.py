"""An order of rows that depends on what they contain and not on how they came.

Ties, reference points and folds are drawn at random, row after row. Drawn in this order they are the same for the same
rows in any order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.findings import Setting
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import rank_counts


def in_content_order(rows: DistributionRows, setting: Setting) -> tuple[DistributionRows, Setting, NDArray[np.intp]]:
    """Return rows of draws, and what the setting has of each row, in the order of their content, and this order.

    Where nothing random is drawn by row they are returned as they came.
    """
    x, density = setting.covariates, setting.log_density_y
    if not _draws_by_row(rows, x):
        return rows, setting, np.arange(rows.n)
    order = content_order(rows.y, cast(Samples, rows.distribution).held, *(() if x is None else (x.x,)))
    if (order[1:] > order[:-1]).all():
        return rows, setting, order
    moved = replace(
        setting,
        covariates=None if x is None else x.take(order),
        log_density_y=None if density is None else density[order],
    )
    return rows.take(order), moved, order


def _draws_by_row(rows: DistributionRows, covariates: Any) -> bool:
    distribution = cast(Samples, rows.distribution)
    several = bool(distribution.shape) and distribution.shape[0] > 1  # joint ranks have ties
    if several or covariates is not None:
        return True
    return bool(rank_counts(rows.y, distribution.held, rows.dtype)[1].any())


def content_order(y: NDArray[Any], *others: NDArray[Any]) -> NDArray[np.intp]:
    """Return the order of rows by their outcomes; of rows with equal outcomes by what else they have.

    Rows that differ in nothing may come in any order.
    """
    columns = y.reshape(len(y), -1)
    first = columns[:, 0]
    order = np.argsort(first)
    same = first[order[1:]] == first[order[:-1]]
    if not same.any():
        return order
    tied = np.zeros(len(y), bool)
    tied[order[1:]] = same
    tied[order[:-1]] |= same
    keys = [first, *(_places(other, tied) for other in (columns, *others))]
    return np.lexsort(keys[::-1])  # whose last key is the first that counts


def _places(values: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the places of some rows in the order of their bytes, equal for equal rows; 0 for the others."""
    chosen = np.ascontiguousarray(values[rows].reshape(int(rows.sum()), -1))
    found = np.zeros(len(values), np.intp)
    raw = chosen.view(np.dtype((np.void, chosen.dtype.itemsize * chosen.shape[1])))[:, 0]
    found[rows] = np.unique(raw, return_inverse=True)[1]
    return found
