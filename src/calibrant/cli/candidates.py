"""Columns that were not named: taken where values or names leave one of each, else listed with a command to type."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.cli.kinds import level_in, levels_in
from calibrant.cli.options import NAMING, Request
from calibrant.cli.output import tell
from calibrant.errors import InputError, listing, shown
from calibrant.files.lazy_libraries import pl
from calibrant.files.table_file import TableFile
from calibrant.files.values import list_lengths

MAX_ROWS_EXAMINED = 10_000
OUTCOME_NAMES = (
    "y", "y_true", "y_test", "label", "true_label", "target", "outcome", "truth", "ground_truth", "actual", "observed",
    "correct"
)  # fmt: skip
PROBABILITY_NAMES = ("p", "prob", "proba", "probability", "y_prob", "y_proba", "pred_prob", "confidence")
PREDICTION_NAMES = (*PROBABILITY_NAMES, "score", "y_score", "pred", "y_pred", "prediction")
PREDICTED = re.compile(r"(y_?)?(pred|prob|hat)", re.IGNORECASE)  # begins names that no outcome has
ROW_NAMES = ("", "unnamed: 0", "index", "__index_level_0__", "id", "row")
MIN_PERCENTAGE = 2  # of the largest value: less may be probabilities with an error
SURE_PERCENTAGE = 10  # of the largest value: less may be a scale from 1 to 5 or from 0 to 10
# Which of two labels is the event, and the others that tell, if some are needed: 1 beside 2 may be either.
EVENT_LABELS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("yes", "true", "positive", "pos", "event", "correct"), ()),
    "y": ("n",), "t": ("f",), "1": ("0", "-1"), "right": ("wrong",)
}  # fmt: skip
BOUND_NAMES = (("lower", "upper"), ("Lower", "Upper"), ("low", "high"), ("lo", "hi"), ("lwr", "upr"), ("min", "max"))
CLASS_NAME = re.compile(r"(?P<stem>.*[_.\- ](?=[^_.\- ]+\Z)|\D+(?=\d+\Z)).+", re.DOTALL)
LEVEL_NAME = re.compile(r"(?P<stem>.*?)[\d.%]+", re.DOTALL)
# Without such a word numbered columns may as well be what a prediction was made from.
DRAW_NAME = re.compile(r"(?P<stem>(?:.*[_.\- ])?(?:draws?|samples?|members?|ens|ensemble|mbr|particles?)[_.\- ]?)\d+")


@dataclass(frozen=True)
class Candidate:
    """One or more columns, a description, the options that name them, the kind, and whether to take them unasked."""

    name: str
    description: str
    options: tuple[str, ...]
    kind: str = ""
    sure: bool = True


def completed(table: TableFile, request: Request, kind: str | None) -> Request:
    """Return the request with the columns that it lacks, where one of each could be meant; else list what could be."""
    taken = {*request.by, request.weights, request.clusters, request.time, request.y, request.p}
    whole = table.head(MAX_ROWS_EXAMINED)
    free = [name for name in whole.columns if name not in taken and name.casefold() not in ROW_NAMES]
    rows = whole.select([cells(whole, name).alias(name) for name in free])
    predictions = _predictions(rows, request) if kind is None else None
    kind = kind or (predictions[0].kind if predictions else "binary")
    outcomes = _outcomes(rows, request, kind, predictions or []) if request.y is None else None
    if outcomes is not None:
        outcomes = [candidate for candidate in outcomes if not PREDICTED.match(candidate.name)]
        outcomes += _by_name(rows, [*outcomes, *(predictions or ())])
        outcomes.sort(key=lambda candidate: candidate.name.casefold() not in OUTCOME_NAMES)
    wanted = ((outcomes, OUTCOME_NAMES), (predictions, PREDICTION_NAMES))
    lacking = [(found, names) for found, names in wanted if found is not None]
    chosen = [candidate for found, names in lacking for candidate in _decided(found, names)]
    if len(chosen) == len(lacking):
        words = [word for candidate in chosen for word in candidate.options]
        others = listing(list(dict.fromkeys(each.name for found, _ in lacking for each in found if each not in chosen)))
        why = f"by their names, though {others} would fit too" if others else "where no other columns fit"
        tell(f"taken from {table.path}, {why}: {shlex.join(words)}")
        return _with(request, words)
    asked, lines, typed = [], [], list(request.typed)
    naming = predictions[0].options[:1] if predictions and kind == "samples" else NAMING[kind]
    for what, options, found in (("outcome", ("--y",), outcomes), ("prediction", naming, predictions)):
        if found is not None:
            hint = " (for percentages add --percent)" if what == "prediction" and not request.percent else ""
            asked.append(f"{what} ({' and '.join(options)})")
            lines.append(f"  could be the {what}: {_listed(found) or f'none of them{hint}'}")
            typed += found[0].options if found else (options[0], "COLUMN")
    judged = f", judged by the first {MAX_ROWS_EXAMINED:,} rows" if len(rows) == MAX_ROWS_EXAMINED else ""
    raise InputError(
        f"which column is the {' and which the '.join(asked)}? {table.path} has {listing(whole.columns)}{judged}\n"
        + "\n".join(lines)
        + f"\ntype, for instance:\n  {shlex.join(typed)}"
    )


def _decided(found: Sequence[Candidate], names: Sequence[str]) -> list[Candidate]:
    """Return the only candidate, or of several of one kind the only one with such a name; nothing if it is not sure."""
    of_one_kind = len({candidate.kind for candidate in found}) == 1
    named = [candidate for candidate in found if of_one_kind and candidate.name.casefold() in names]
    chosen = found if len(found) == 1 else named
    return [candidate for candidate in chosen if candidate.sure and len(chosen) == 1]


def _with(request: Request, words: Sequence[str]) -> Request:
    """Return the request with these options too."""
    remaining = iter(words)
    for option in remaining:
        name, before = option.removeprefix("--").replace("-", "_"), request.value(option)
        value = before is False or next(remaining)  # a flag has none
        given = float(value) if name == "level" else value
        changed: dict[str, Any] = {name: (*before, given) if isinstance(before, tuple) else given}
        request = replace(request, **changed)
    return request


def _listed(found: Sequence[Candidate], most: int = 8) -> str:
    listed = ", ".join(f"{shown(candidate.name)} ({candidate.description})" for candidate in found[:most])
    return listed if len(found) <= most else f"{listed} and {len(found) - most} more"


def _outcomes(rows: pl.DataFrame, request: Request, kind: str, predictions: Sequence[Candidate]) -> list[Candidate]:
    if kind in ("classes", "sets"):
        return _labels(rows)
    if kind == "binary":
        return _events(rows)
    taken = {*request.lower, *request.upper, request.quantile_cols, request.draw_cols}
    taken |= {word for candidate in predictions if candidate.kind == kind for word in candidate.options}
    free = [name for name in rows.columns if not any(fnmatchcase(name, str(t)) for t in taken)]
    draws = predictions[0].name if kind == "samples" and predictions else request.draws
    if draws in rows.columns:
        return [*_vectors_like(draws, rows), *_numbers([name for name in free if not _is_part(name, draws)], rows)]
    return _numbers(free, rows)


def _by_name(rows: pl.DataFrame, others: Sequence[Candidate]) -> list[Candidate]:
    known = {candidate.name for candidate in others} | {word for candidate in others for word in candidate.options}
    named = [name for name in rows.columns if name.casefold() in OUTCOME_NAMES and name not in known]
    return [Candidate(name, f"by its name; {cells(rows, name).dtype}", ("--y", name), sure=False) for name in named]


def _ranges(names: Sequence[str], rows: pl.DataFrame) -> dict[str, tuple[float, float]]:
    found = {}
    for name in names:
        column = cells(rows, name)
        if column.dtype.is_numeric() and len(_values(column, 3)) > 2:
            found[name] = float(column.min()), float(column.max())  # type: ignore[arg-type]
    return found


def _numbers(names: Sequence[str], rows: pl.DataFrame) -> list[Candidate]:
    ranges = _ranges(names, rows).items()
    return [Candidate(name, f"{low:.4g} to {high:.4g}", ("--y", name)) for name, (low, high) in ranges]


def _events(rows: pl.DataFrame) -> list[Candidate]:
    """Return the columns with two values: booleans and 0 and 1 first."""
    plain, labelled = [], []
    for name in rows.columns:
        column = cells(rows, name)
        values = _values(column, 3)
        if column.dtype == pl.Boolean:
            plain.append(Candidate(name, "true and false", ("--y", name)))
        elif column.dtype.is_numeric() and values and set(values) <= {0, 1}:
            plain.append(Candidate(name, "0 and 1", ("--y", name)))
        elif len(values) == 2 and not column.dtype.is_float():
            event = event_of(column)
            label = str(values[-1] if event is None else event)
            values_shown = f"{shown(values[0])} and {shown(values[1])}"
            options = ("--y", name, "--pos-label", label)
            labelled.append(Candidate(name, values_shown, options, sure=event is not None))
    return plain + labelled


def event_of(column: pl.Series) -> Any:
    """Return which of two labels is the event, where its name tells."""
    values = _values(column, 3)
    if len(values) != 2:
        return None
    for value, other in (values, values[::-1]):
        needed = EVENT_LABELS.get(str(value).lower())
        if needed is not None and (not needed or str(other).lower() in needed):
            return value
    return None


def _scores(rows: pl.DataFrame, request: Request) -> list[Candidate]:
    """Return columns of numbers from 0 to 1, or of percentages: with --percent, or if they are called probabilities."""
    found, top = [], 100 if request.percent else 1
    for name, (low, high) in _ranges(rows.columns, rows).items():
        described, called = f"{low:.3g} to {high:.3g}", name.casefold()
        if low >= 0 and high <= top and (rows.schema[name].is_float() or request.percent):
            found.append(Candidate(name, described, ("--p", name), "binary"))
        elif low >= 0 and MIN_PERCENTAGE < high <= 100 and called in PREDICTION_NAMES:
            options, sure = ("--p", name, "--percent"), called in PROBABILITY_NAMES and high > SURE_PERCENTAGE
            found.append(Candidate(name, f"{described}, percentages?", options, "binary", sure))
    return found


def _labels(rows: pl.DataFrame) -> list[Candidate]:
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
    """Return candidates: bounds and quantiles (by their names), class probabilities, draws, single probabilities."""
    scores = _scores(rows, request)
    vectors = _vectors(rows, scores)
    regressions = [] if vectors else [*_bounds(rows, request), *_quantiles(rows)]
    draws = _draws(rows, [*regressions, *vectors])
    wholes = [candidate.name for candidate in (*vectors, *draws)]
    single = [s for s in scores if not any(fnmatchcase(s.name, w) or _is_part(s.name, w) for w in wholes)]
    return [*regressions, *vectors, *draws, *single]


def _families(names: Iterable[str], stem: re.Pattern[str], rows: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Return the patterns, such as ``p_*``, that stand for two or more columns with one stem and for no others."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if match := stem.fullmatch(name):
            groups.setdefault(glob.escape(match["stem"]) + "*", []).append(name)
    return [
        (pattern, group)
        for pattern, group in groups.items()
        if len(group) > 1 and [name for name in rows.columns if fnmatchcase(name, pattern)] == group
    ]


def _vectors(rows: pl.DataFrame, scores: Sequence[Candidate]) -> list[Candidate]:
    return [
        Candidate(pattern, f"{len(names)} columns that sum to 1", ("--p-cols", pattern), "classes")
        for pattern, names in _families((score.name for score in scores), CLASS_NAME, rows)
        if np.abs(np.sum([cells(rows, name).to_numpy() for name in names], axis=0) - 1).max() < 1e-3
    ]


def _bounds(rows: pl.DataFrame, request: Request) -> list[Candidate]:
    """Return the pairs of columns whose names differ in ``lower`` and ``upper`` alone, and that are in this order."""
    pairs: dict[str, tuple[str, ...]] = {}
    for low in rows.columns:
        high = next((low.replace(a, b) for a, b in BOUND_NAMES if a in low and low.replace(a, b) in rows.columns), None)
        if high is not None and _in_order(rows, [low, high]):
            level = () if request.level else ("--level", f"{level_in(low) or 'NUMBER'}")
            pairs[f"{low} and {high}"] = ("--lower", low, "--upper", high, *level)
    known = len({options[-1] for options in pairs.values()} - {"NUMBER"})
    if known > 1 and known == len(pairs):  # one prediction at several levels
        pairs = {", ".join(pairs): tuple(word for options in pairs.values() for word in options)}
    return [
        Candidate(name, "lower and upper bounds", options, "intervals", "NUMBER" not in options)
        for name, options in pairs.items()
    ]


def _quantiles(rows: pl.DataFrame) -> list[Candidate]:
    numbered = [name for name in rows.columns if level_in(name) is not None and rows.schema[name].is_numeric()]
    found = []
    for pattern, names in _families(numbered, LEVEL_NAME, rows):
        levels = levels_in(names)
        if levels is not None and _in_order(rows, [name for _, name in sorted(zip(levels, names, strict=True))]):
            description = f"{len(names)} columns, each at least the one before"
            found.append(Candidate(pattern, description, ("--quantile-cols", pattern), "quantiles"))
    return found


def _in_order(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    columns = [cells(rows, name) for name in names]
    return all(column.dtype.is_numeric() for column in columns) and all(
        bool((low <= high).all()) for low, high in pairwise(columns)
    )


def _values(column: pl.Series, most: int) -> list[Any]:
    """Return the first different values, sorted, at most `most` of them; none where they have no order."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return []
    if column.dtype.is_float():
        column = column.filter(column.is_not_nan())
    return column.drop_nulls().unique().sort().head(most).to_list()


def _draws(rows: pl.DataFrame, others: Sequence[Candidate]) -> list[Candidate]:
    taken = [word for candidate in others for word in candidate.options]
    lists: dict[str, tuple[int, ...]] = {}
    for name in rows.columns:
        sizes = list_lengths(cells(rows, name))
        if sizes and min(sizes) > 0 and sizes[0] > 1 and not any(_is_part(word, name) for word in taken):
            lists[name] = sizes
    longest_first = sorted(lists, key=lambda name: (-len(lists[name]), -lists[name][0]))
    numbers = [name for name in rows.columns if rows.schema[name].is_numeric()]
    free = [name for name in numbers if not any(_is_part(name, whole) for whole in lists)]
    return [
        *(Candidate(name, _sizes_in_words(lists[name]), ("--draws", name), "samples") for name in longest_first),
        *(
            Candidate(pattern, f"{len(names)} numbered columns", ("--draw-cols", pattern), "samples")
            for pattern, names in _families(free, DRAW_NAME, rows)
        ),
    ]


def _vectors_like(draws: str, rows: pl.DataFrame) -> list[Candidate]:
    sizes = list_lengths(cells(rows, draws))
    found = [name for name in rows.columns if len(sizes) == 2 and list_lengths(cells(rows, name)) == sizes[1:]]
    return [Candidate(name, _sizes_in_words(sizes[1:]), ("--y", name)) for name in found]


def _is_part(name: str, whole: str) -> bool:
    """Tell whether a column, or a pattern of columns, is a column of the array `whole` of an NPZ file."""
    return re.fullmatch(re.escape(whole) + r"_(\d+|\*)", name) is not None


def _sizes_in_words(sizes: tuple[int, ...]) -> str:
    return f"{sizes[0]:,} numbers per row" if len(sizes) == 1 else f"{sizes[0]:,} vectors of {sizes[1]:,} per row"


def cells(rows: pl.DataFrame, column: str) -> pl.Series:
    """Return a column under a plain name, because methods of a series named ``^p.*$`` would look for a pattern."""
    return rows.get_column(column).alias("cells")
