"""Columns of a frame under plain names, because polars takes ``*`` and ``^p.*$`` for patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def cells(rows: pl.DataFrame, column: str) -> pl.Series:
    """Return a column under a plain name, because methods of a series named ``^p.*$`` would look for a pattern."""
    return rows.get_column(column).alias("cells")


def matrix(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns under plain names."""
    import polars as pl

    return pl.DataFrame([rows.get_column(name).alias(str(k)) for k, name in enumerate(columns)])
