"""Columns whose cells are lists: draws, draws of vectors, or the coordinates of an outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.files.rows_in_words import counting
from calibrant.files.table_file import TableFile
from calibrant.files.where import Where

if TYPE_CHECKING:
    import polars as pl

DRAWS, COORDINATES = ("draw", "coordinate"), ("coordinate",)  # what stands along the axes of a cell


def depth(dtype: Any) -> int:
    """Return how many axes a cell has: 0 of a number, 1 of a list of numbers, 2 of a list of lists."""
    import polars as pl

    return 1 + depth(dtype.inner) if isinstance(dtype, (pl.List, pl.Array)) else 0


def lengths(column: pl.Series) -> tuple[int, ...]:
    """Return the lengths along the axes of a cell, of numbers; 0 where they differ or there are none."""
    found = []
    for _ in range(depth(column.dtype)):
        column = _as_lists(column.drop_nulls())
        sizes = column.list.len().unique()
        found.append(int(sizes[0]) if len(sizes) == 1 else 0)
        column = column.explode()
    return tuple(found) if column.dtype.is_numeric() else ()


def check_lists(column: pl.Series, name: str, table: TableFile, where: Where | None, axes: tuple[str, ...]) -> None:
    """Refuse what is no list, lists of different lengths, and lists in which a number is missing."""
    place = f"column {shown(name)} of {table.path}"
    if not depth(column.dtype):
        raise InputError(f"{place} must hold lists of numbers; it holds {column.dtype}. Name another column")
    sizes: list[int] = []
    flat = column
    for axis in axes[: depth(column.dtype)]:
        _refuse_missing(flat, (len(column), *sizes), axes, place, where)
        flat = _as_lists(flat)
        found = flat.list.len()
        strange = found != found[0]
        if strange.any():
            first = int(strange.arg_max() or 0)
            raise InputError(
                f"{place} must hold lists of one length; {_placed(0, (len(column), *sizes), axes)} has {found[0]:,} "
                f"{axis}s and {_placed(first, (len(column), *sizes), axes)} has {found[first]:,} "
                f"({counting(where, '--where')})"
            )
        if found[0] == 0:
            raise InputError(f"{place} holds empty lists; there must be at least one {axis}")
        sizes.append(int(found[0]))
        flat = flat.explode()
    if not flat.dtype.is_numeric():
        raise InputError(f"{place} must hold lists of numbers; it holds {column.dtype}. Name another column")
    _refuse_missing(flat, (len(column), *sizes), axes, place, where)


def array_of(column: pl.Series) -> NDArray[Any]:
    """Return checked lists as an array of two axes, or lists of lists as one of three."""
    shape = [len(column)]
    for _ in range(depth(column.dtype)):
        column = _as_lists(column)
        shape.append(int(column.list.len()[0]))
        column = column.explode()
    return np.reshape(column.to_numpy(), shape)


def _as_lists(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.arr.to_list() if isinstance(column.dtype, pl.Array) else column


def _refuse_missing(
    flat: pl.Series, shape: tuple[int, ...], axes: tuple[str, ...], place: str, where: Where | None
) -> None:
    missing = flat.is_null() | (flat.is_nan() if flat.dtype.is_float() else False)
    if missing.any():
        first = _placed(int(missing.arg_max() or 0), shape, axes)
        raise InputError(
            f"{place} has no value in {first} ({counting(where, '--where')}), and {missing.sum() - 1:,} more are "
            "missing. Repair or leave out such rows"
        )


def _placed(number: int, shape: tuple[int, ...], axes: tuple[str, ...]) -> str:
    """Say where a number stands among all of a column.

    >>> _placed(13, (2, 4, 3), DRAWS)
    'row 1, draw 0, coordinate 1'
    """
    return ", ".join(f"{axis} {i}" for axis, i in zip(("row", *axes), np.unravel_index(number, shape), strict=False))
