"""What a file could mean, when nobody said: the columns that fit, and the command to type."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from calibrant.cli.messages import listing
from calibrant.cli.options import Request
from calibrant.cli.table_file import TableFile, cells, matrix
from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl

LOOK = 10_000  # rows that candidates are judged by
EVENTS = ("yes", "true", "y", "t", "1", "positive", "pos", "event")
STEM = re.compile(r"(?P<stem>.*?[_.\- ])(?P<label>[^_.\- ]+)|(?P<letters>\D+)(?P<digits>\d+)")


@dataclass(frozen=True)
class Candidate:
    """A column or a pattern of columns, what it looks like, and the options that name it."""

    name: str
    looks: str
    options: tuple[str, ...]


def refuse_unnamed(table: TableFile, request: Request) -> InputError:
    """Return the error that lists the columns which could be the outcome or the prediction."""
    rows = table.head(LOOK)
    predictions = _predictions(rows) if request.p is None and request.p_cols is None else None
    vectors = request.p_cols is not None or any("--p-cols" in candidate.options for candidate in predictions or ())
    outcomes = (_labels(rows) if vectors else _outcomes(rows)) if request.y is None else None
    asked, lines, typed = [], [], list(request.typed)
    for what, option, found in (("outcome", "--y", outcomes), ("prediction", "--p", predictions)):
        if found is not None:
            asked.append(f"{what} ({option})")
            lines.append(f"  could be the {what}: {_listed(found) or 'none of them'}")
            typed += found[0].options if found else (option, "COLUMN")
    judged = f", judged by the first {LOOK:,} rows" if len(rows) == LOOK else ""
    return InputError(
        f"which column is the {' and which the '.join(asked)}? {table.path} has {listing(rows.columns)}{judged}\n"
        + "\n".join(lines)
        + f"\ntype, for instance:\n  {shlex.join(typed)}"
    )


def _listed(found: Sequence[Candidate], most: int = 8) -> str:
    listed = ", ".join(f"{shown(candidate.name)} ({candidate.looks})" for candidate in found[:most])
    return listed if len(found) <= most else f"{listed} and {len(found) - most} more"


def _outcomes(rows: pl.DataFrame) -> list[Candidate]:
    """Return the columns with two values: booleans and 0 and 1 first."""
    import polars as pl

    plain, labelled = [], []
    for name in rows.columns:
        column = cells(rows, name)
        values = _values(column, 3)
        if column.dtype == pl.Boolean:
            plain.append(Candidate(name, "true and false", ("--y", name)))
        elif column.dtype.is_numeric() and values and set(values) <= {0, 1}:
            plain.append(Candidate(name, "0 and 1", ("--y", name)))
        elif len(values) == 2 and not column.dtype.is_float():
            event = next((v for v in values if str(v).lower() in EVENTS), values[-1])
            looks = f"{shown(values[0])} and {shown(values[1])}"
            labelled.append(Candidate(name, looks, ("--y", name, "--pos-label", str(event))))
    return plain + labelled


def _scores(rows: pl.DataFrame) -> list[Candidate]:
    """Return the columns of fractions between 0 and 1."""
    found = []
    for name in rows.columns:
        column = cells(rows, name)
        if column.dtype.is_float() and len(_values(column, 3)) > 2:
            low, high = float(column.min()), float(column.max())  # type: ignore[arg-type]
            if low >= 0 and high <= 1:
                found.append(Candidate(name, f"{low:.3g} to {high:.3g}", ("--p", name)))
    return found


def _labels(rows: pl.DataFrame) -> list[Candidate]:
    """Return the columns of few different values, which could be classes."""
    import polars as pl

    kinds = (pl.Boolean, pl.String, pl.Categorical, pl.Enum)
    found = []
    for name in rows.columns:
        column = cells(rows, name)
        if column.dtype.is_integer() or isinstance(column.dtype, kinds):
            different = column.n_unique()
            if 2 <= different <= max(2, len(column) // 2):
                found.append(Candidate(name, f"{different:,} values", ("--y", name)))
    return found


def _predictions(rows: pl.DataFrame) -> list[Candidate]:
    """Return the patterns of class probabilities, then the columns that are not among these."""
    scores = _scores(rows)
    vectors = _vectors(rows, scores)
    return [*vectors, *(s for s in scores if not any(fnmatchcase(s.name, v.name) for v in vectors))]


def _vectors(rows: pl.DataFrame, scores: Sequence[Candidate]) -> list[Candidate]:
    """Return the groups of such columns that share the beginning of their names and sum to 1."""
    groups: dict[str, list[str]] = {}
    for candidate in scores:
        match = STEM.fullmatch(candidate.name)
        if match:
            groups.setdefault(match["stem"] or match["letters"], []).append(candidate.name)
    found = []
    for stem, names in groups.items():
        total = matrix(rows, names).sum_horizontal()
        pattern = glob.escape(stem) + "*"
        matches = [name for name in rows.columns if fnmatchcase(name, pattern)]
        if len(names) > 1 and matches == names and float((total - 1).abs().max()) < 1e-3:  # type: ignore[arg-type]
            found.append(Candidate(pattern, f"{len(names)} columns that sum to 1", ("--p-cols", pattern)))
    return found


def _values(column: pl.Series, most: int) -> list[Any]:
    """Return the first different values, sorted, at most `most` of them; none where they have no order."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Object:
        return []
    if column.dtype.is_float():
        column = column.filter(column.is_not_nan())
    return column.drop_nulls().unique().sort().head(most).to_list()
