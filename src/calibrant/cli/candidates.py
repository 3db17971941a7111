"""What a file could mean, when nobody said: the columns that fit, and the command to type."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from calibrant.cli.cells import cells, matrix
from calibrant.cli.draw_candidates import Candidate, draws_in, is_part, vectors_like
from calibrant.cli.kinds import NAMING
from calibrant.cli.levels import level_in, levels_in
from calibrant.cli.options import Request
from calibrant.errors import InputError, listing, shown
from calibrant.files.table_file import TableFile

if TYPE_CHECKING:
    import polars as pl

LOOK = 10_000  # rows that candidates are judged by
EVENTS = ("yes", "true", "y", "t", "1", "positive", "pos", "event")
SIDES = (("lower", "upper"), ("Lower", "Upper"), ("low", "high"), ("lo", "hi"), ("lwr", "upr"), ("min", "max"))
STEM = re.compile(r"(?P<stem>.*?[_.\- ])(?P<label>[^_.\- ]+)|(?P<letters>\D+)(?P<digits>\d+)")


def refuse_unnamed(table: TableFile, request: Request, kind: str | None) -> InputError:
    """Return the error that lists the columns which could be the outcome or the prediction."""
    rows = table.head(LOOK)
    predictions = _predictions(rows, request) if kind is None else None
    kind = kind or (predictions[0].kind if predictions else "binary")
    outcomes = _outcomes(rows, request, kind, predictions or []) if request.y is None else None
    asked, lines, typed = [], [], list(request.typed)
    naming = predictions[0].options[:1] if predictions and kind == "samples" else NAMING[kind]
    for what, options, found in (("outcome", ("--y",), outcomes), ("prediction", naming, predictions)):
        if found is not None:
            asked.append(f"{what} ({' and '.join(options)})")
            lines.append(f"  could be the {what}: {_listed(found) or 'none of them'}")
            typed += found[0].options if found else (options[0], "COLUMN")
    judged = f", judged by the first {LOOK:,} rows" if len(rows) == LOOK else ""
    return InputError(
        f"which column is the {' and which the '.join(asked)}? {table.path} has {listing(rows.columns)}{judged}\n"
        + "\n".join(lines)
        + f"\ntype, for instance:\n  {shlex.join(typed)}"
    )


def _listed(found: Sequence[Candidate], most: int = 8) -> str:
    listed = ", ".join(f"{shown(candidate.name)} ({candidate.looks})" for candidate in found[:most])
    return listed if len(found) <= most else f"{listed} and {len(found) - most} more"


def _outcomes(rows: pl.DataFrame, request: Request, kind: str, predictions: Sequence[Candidate]) -> list[Candidate]:
    """Return the columns that could be what such a prediction predicts."""
    if kind in ("classes", "sets"):
        return _labels(rows)
    if kind == "binary":
        return _events(rows)
    taken = {*request.lower, *request.upper, *request.by, request.weights, request.quantile_cols, request.draw_cols}
    taken |= {word for candidate in predictions if candidate.kind == kind for word in candidate.options}
    free = [name for name in rows.columns if not any(fnmatchcase(name, str(t)) for t in taken)]
    draws = predictions[0].name if kind == "samples" and predictions else request.draws
    if draws in rows.columns:
        return [*vectors_like(draws, rows), *_numbers([name for name in free if not is_part(name, draws)], rows)]
    return _numbers(free, rows)


def _numbers(names: Sequence[str], rows: pl.DataFrame) -> list[Candidate]:
    """Return the columns of many different numbers."""
    found = []
    for name in names:
        column = cells(rows, name)
        if column.dtype.is_numeric() and len(_values(column, 3)) > 2:
            low, high = float(column.min()), float(column.max())  # type: ignore[arg-type]
            found.append(Candidate(name, f"{low:.4g} to {high:.4g}", ("--y", name)))
    return found


def _events(rows: pl.DataFrame) -> list[Candidate]:
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
                found.append(Candidate(name, f"{low:.3g} to {high:.3g}", ("--p", name), "binary"))
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


def _predictions(rows: pl.DataFrame, request: Request) -> list[Candidate]:
    """Return bounds and quantiles, which names tell, class probabilities, draws, then single ones not among these."""
    scores = _scores(rows)
    vectors = _vectors(rows, scores)
    regressions = [] if vectors else [*_bounds(rows, request), *_quantiles(rows)]
    draws = draws_in(rows, [*regressions, *vectors])
    single = [
        s for s in scores if not any(fnmatchcase(s.name, v.name) or is_part(s.name, v.name) for v in [*vectors, *draws])
    ]
    return [*regressions, *vectors, *draws, *single]


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
            found.append(Candidate(pattern, f"{len(names)} columns that sum to 1", ("--p-cols", pattern), "classes"))
    return found


def _bounds(rows: pl.DataFrame, request: Request) -> list[Candidate]:
    """Return the pairs of columns whose names differ in ``lower`` and ``upper`` alone, and that are in this order."""
    pairs: dict[str, tuple[str, ...]] = {}
    for low in rows.columns:
        high = next((low.replace(a, b) for a, b in SIDES if a in low and low.replace(a, b) in rows.columns), None)
        if high is not None and _in_order(rows, [low, high]):
            level = () if request.level else ("--level", f"{level_in(low) or 'NUMBER'}")
            pairs[f"{low} and {high}"] = ("--lower", low, "--upper", high, *level)
    known = len({options[-1] for options in pairs.values()} - {"NUMBER"})
    if known > 1 and known == len(pairs):  # one prediction at several levels
        pairs = {", ".join(pairs): tuple(word for options in pairs.values() for word in options)}
    return [Candidate(name, "lower and upper bounds", options, "intervals") for name, options in pairs.items()]


def _quantiles(rows: pl.DataFrame) -> list[Candidate]:
    """Return the groups of columns that share the beginning of their names, which go on with levels."""
    groups: dict[str, list[str]] = {}
    for name in rows.columns:
        if level_in(name) is not None and cells(rows, name).dtype.is_numeric():
            groups.setdefault(name.rstrip("0123456789.%"), []).append(name)
    found = []
    for stem, names in groups.items():
        levels = levels_in(names)
        pattern = glob.escape(stem) + "*"
        matches = [name for name in rows.columns if fnmatchcase(name, pattern)]
        if levels is not None and len(names) > 1 and matches == names:
            ordered = [name for _, name in sorted(zip(levels, names, strict=True))]
            if _in_order(rows, ordered):
                looks = f"{len(names)} columns, each at least the one before"
                found.append(Candidate(pattern, looks, ("--quantile-cols", pattern), "quantiles"))
    return found


def _in_order(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    """Tell whether the numbers of every row do not decrease."""
    columns = [cells(rows, name) for name in names]
    return all(column.dtype.is_numeric() for column in columns) and all(
        bool((low <= high).all()) for low, high in pairwise(columns)
    )


def _values(column: pl.Series, most: int) -> list[Any]:
    """Return the first different values, sorted, at most `most` of them; none where they have no order."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Object:
        return []
    if column.dtype.is_float():
        column = column.filter(column.is_not_nan())
    return column.drop_nulls().unique().sort().head(most).to_list()
