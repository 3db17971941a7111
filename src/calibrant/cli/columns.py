"""The columns that options name, one by one, by a pattern or separated by commas, and their labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.cli.options import NAMING, Request
from calibrant.cli.output import tell
from calibrant.errors import InputError, did_you_mean, listing, shown
from calibrant.files.lazy_libraries import pl
from calibrant.files.values import depth
from calibrant.files.where import literal
from calibrant.inputs.columns import NamedColumns, from_columns
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets

Names = tuple[str, ...]
Named = tuple[Names, list[tuple[str, Names]]]
"""The columns of the outcome, and those of the prediction with the option that names them."""
WILDCARDS = "*?["
ALL = "all"  # covariates: every column that is nothing else


@dataclass(frozen=True)
class Columns:
    """Which column is what."""

    y: tuple[str, ...]  # one for each coordinate of the outcome
    p: tuple[str, ...]  # of intervals all lower bounds and then all upper bounds
    pattern: str | None = None  # what named them, if several were named at once
    by: tuple[str, ...] = ()
    weights: str | None = None
    clusters: str | None = None
    covariates: tuple[str, ...] = ()
    log_density: str | None = None
    log_density_y: str | None = None
    kind: str = "binary"
    draw_cols: bool = False  # whether each draw has a column

    @property
    def outcome(self) -> str:
        return join_labels(self.y) if len(self.y) > 1 else self.y[0]

    @property
    def prediction(self) -> str:
        if self.kind != "intervals":
            return self.pattern or self.p[0]
        half = len(self.p) // 2
        return ", ".join(f"{low} to {high}" for low, high in zip(self.p[:half], self.p[half:], strict=True))

    def named(self, levels: Sequence[float], crossed: str | None) -> NamedColumns:
        y = self.y if len(self.y) > 1 else self.y[0]
        extra = () if self.log_density_y is None else (self.log_density_y,)
        prediction = self.prediction_columns(levels, crossed or "raise")
        labels = self.by if self.clusters is None else tuple(dict.fromkeys((*self.by, self.clusters)))
        return NamedColumns(y, prediction, self.weights, labels, extra, self.covariates)

    def prediction_columns(self, levels: Sequence[float], crossed: str) -> Any:
        p = self.p if len(self.p) > 1 or self.draw_cols else self.p[0]
        if self.kind == "samples":
            return from_columns(Samples, p, self.log_density)
        if self.kind == "sets":
            return from_columns(Sets, p, level=levels[0])
        if self.kind == "quantiles":
            order = np.argsort(levels)  # each column comes with its level, so their order does not matter
            return from_columns(Quantiles, [self.p[k] for k in order], levels=np.array(levels)[order], crossed=crossed)
        if self.kind == "intervals":
            lower, upper = self.p[: len(levels)], self.p[len(levels) :]
            return from_columns(Intervals, lower, upper, level=levels, crossed=crossed)
        return p


def choose(
    names: Sequence[str], path: Path, request: Request, kind: str, lists: Mapping[str, pl.DataType] | None = None
) -> Columns:
    """Return the columns that the options name, all of which exist and none of which is two things at once."""
    if kind == "samples":
        y, named = named_draws(names, path, request, lists or {})
    else:
        y, named = (find_column(str(request.y), names, path, option="--y"),), _named(names, path, request, kind)
    chosen = Columns(
        y=y,
        p=tuple(name for _, found in named for name in found),
        pattern=request.p_cols or request.set_cols or request.quantile_cols or request.draws or request.draw_cols,
        by=tuple(find_column(name, names, path, option="--by") for name in dict.fromkeys(request.by)),
        weights=_optional(request.weights, names, path, "--weights"),
        clusters=_optional(request.clusters, names, path, "--clusters"),
        log_density=_optional(request.log_density, [*(lists or ()), *names], path, "--log-density"),
        log_density_y=_optional(request.log_density_y, names, path, "--log-density-y"),
        kind=kind,
        draw_cols=request.draw_cols is not None,
    )
    chosen = replace(chosen, covariates=_covariates(request, names, path, chosen))
    weights = (chosen.weights,) if chosen.weights else ()
    roles = [("--y", chosen.y), ("--weights", weights), ("--covariates", chosen.covariates), *named]
    for (role, columns), (other, others) in combinations(roles, 2):
        for name in columns:
            if name in others:
                raise InputError(f"column {shown(name)} is named by {role} and by {other}; name a different one")
    return chosen


def _covariates(request: Request, names: Sequence[str], path: Path, chosen: Columns) -> tuple[str, ...]:
    """Return the columns that are searched; with "all" those that no other option names."""
    text = request.covariates
    if text is None:
        return ()
    if text != ALL or ALL in names:
        return _several(text, names, path, "--covariates")
    beside = (chosen.weights, chosen.clusters, chosen.log_density, chosen.log_density_y)
    named = {*chosen.y, *chosen.p, *chosen.by, *beside}
    found = tuple(name for name in names if name not in named)
    if not found:
        raise InputError(f"--covariates all: every column of {path} is named by another option")
    return found


def _optional(name: str | None, names: Sequence[str], path: Path, option: str) -> str | None:
    return None if name is None else find_column(name, names, path, option=option)


def _several(text: str, names: Sequence[str], path: Path, option: str) -> tuple[str, ...]:
    return each_once(matching(text, names, path, option=option), f"{option} {shown(text)}")


def _named(names: Sequence[str], path: Path, request: Request, kind: str) -> list[tuple[str, tuple[str, ...]]]:
    if kind == "binary":
        return [("--p", (find_column(str(request.p), names, path, option="--p"),))]
    if kind == "intervals":
        lower, upper = (
            tuple(name for text in texts for name in matching(text, names, path, option=option))
            for option, texts in (("--lower", request.lower), ("--upper", request.upper))
        )
        if len(lower) != len(upper):
            raise InputError(
                f"--lower and --upper must name columns in pairs; got {len(lower)} ({listing(lower, most=6)}) and "
                f"{len(upper)} ({listing(upper, most=6)})"
            )
        return [("--lower", lower), ("--upper", upper)]
    (option,) = NAMING[kind]
    text = request.value(option)
    found = _several(text, names, path, option)
    if len(found) == 1 and kind != "quantiles":
        of_event = f"If it is the probability of an event, use --p {found[0]}"
        remedy = of_event if kind == "classes" else "Name one for each class"
        raise InputError(f"only one column of {path} matches {shown(text)}: {shown(found[0])}. {remedy}")
    return [(f"{option} {shown(text)}", found)]


def class_labels(y: pl.Series, columns: Columns, given: str | None) -> list[Any] | None:
    """Return the label of each column of class probabilities or sets; None where labels are column numbers."""
    if given is not None:
        return [literal(text, y.dtype, column=columns.outcome, option="classes") for text in split_labels(given)]
    parts = wild_parts(columns.p, str(columns.pattern))
    labels = set(y.unique().to_list())
    try:
        classes = [literal(part, y.dtype, column=columns.outcome, option="p_cols") for part in parts]
    except InputError:
        classes = []
    if classes and labels <= set(classes):
        tell(f"labels are taken from the names of the columns: {pairs(columns.p, classes)}")
        return classes
    if y.dtype.is_numeric() and labels <= set(range(len(columns.p))):
        tell(f"labels are taken as column numbers: {pairs(columns.p, range(len(columns.p)))}")
        return None
    known = classes or range(len(columns.p))
    strange = next(label for label in y.to_list() if label not in known)
    raise InputError(
        f"the label {shown(strange)} of column {shown(columns.outcome)} fits none of the columns "
        f"{listing(columns.p, most=6)}. Add --classes with one label for each column, in this order"
    )


def named_draws(names: Sequence[str], path: Path, request: Request, lists: Mapping[str, pl.DataType]) -> Named:
    known = list(dict.fromkeys((*lists, *names)))
    flat = [name for name in names if name not in lists]
    y = matching(str(request.y), known, path, option="--y", among=flat)
    if request.draw_cols is not None:
        found = matching(request.draw_cols, names, path, option="--draw-cols", among=flat)
        if len(y) > 1 or y[0] in lists:
            raise InputError(
                f"--draw-cols names the draws of one number, and --y {shown(request.y)} is a vector; "
                "name lists of draws with --draws, one for each column of --y"
            )
        return y, [(f"--draw-cols {shown(request.draw_cols)}", each_once(found, "--draw-cols"))]
    draws = matching(str(request.draws), known, path, option="--draws", among=lists)
    for name in draws:
        if name not in lists:
            raise InputError(
                f"column {shown(name)} of {path} (--draws) contains no lists; --draws names lists of numbers, and "
                "--draw-cols a column for each draw. CSV has no lists: use Parquet, NDJSON or NPZ"
            )
    _check_vectors(each_once(y, "--y"), each_once(draws, "--draws"), request, lists)
    return y, [("--draws", draws)]


def _check_vectors(y: Names, draws: Names, request: Request, lists: Mapping[str, pl.DataType]) -> None:
    drawn, outcome = ([depth(lists[name]) if name in lists else 0 for name in names] for names in (draws, y))
    side_by_side = set(drawn) == {1} and set(outcome) == {0} and len(y) == len(draws)
    whole = drawn == [2] and (set(outcome) == {0} or outcome == [1])  # one column contains the draws of all coordinates
    if not (side_by_side or whole):
        raise InputError(
            f"--y names {_described(y, lists)} and --draws {_described(draws, lists)}; name one list of draws for each "
            "number of the outcome, such as --y a,b --draws draws_of_a,draws_of_b"
        )
    if len(draws) > 1:
        _check_order(y, draws, request)


def _described(names: tuple[str, ...], lists: Mapping[str, pl.DataType]) -> str:
    kinds = ("numbers", "lists", "lists of lists")
    held = {kinds[min(2, depth(lists[name]))] if name in lists else "numbers" for name in names}
    return f"{len(names)} column{'s' * (len(names) > 1)} of {' and '.join(sorted(held))} ({listing(names, most=6)})"


def _check_order(y: tuple[str, ...], draws: tuple[str, ...], request: Request) -> None:
    """Tell the user which draws belong to which coordinate; refuse an order that contradicts the names."""
    of_outcomes, of_draws = wild_parts(y, str(request.y)), wild_parts(draws, str(request.draws))
    if of_outcomes == of_draws:
        return
    if sorted(of_outcomes) == sorted(of_draws):
        raise InputError(
            f"the columns are paired in their order, {pairs(y, draws)}, and their names say otherwise; "
            "give --y and --draws in the same order, with commas between"
        )
    tell("draws: " + ", ".join(f"{b} are of {a}" for a, b in zip(y, draws, strict=True)))


def find_column(name: str, columns: Sequence[str], path: Path, *, option: str) -> str:
    if name not in columns:
        hint = did_you_mean(name, columns)
        raise InputError(
            f"{path} has no column {shown(name)} ({option}). {hint}".rstrip()
            + ("" if hint else f" Its columns are {listing(columns)}")
        )
    if f"{name}_duplicated_0" in columns:
        raise InputError(f"{path} has two columns named {shown(name)} ({option}); rename one of them")
    return name


def matching(
    text: str, names: Sequence[str], path: Path, *, option: str, among: Container[str] | None = None
) -> tuple[str, ...]:
    """Return the columns that a name, a pattern (of columns `among` these), or several with commas stand for."""
    if text in names:
        return (find_column(text, names, path, option=option),)
    found = tuple(name for name in names if fnmatchcase(name, text) and (among is None or name in among))
    if found:
        return found
    parts = split_labels(text)
    if len(parts) > 1:
        return tuple(name for part in parts for name in matching(part, names, path, option=option, among=among))
    if any(character in text for character in WILDCARDS):
        raise InputError(f"no column of {path} matches {shown(text)} ({option}). Its columns are {listing(names)}")
    return (find_column(text, names, path, option=option),)


def each_once(names: tuple[str, ...], option: str) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"column {shown(name)} is named twice by {option}; name it once")
    return names


def split_labels(text: str) -> list[str]:
    """Return the labels of ``a,b,c``; a label with a comma stands in double quotes.

    >>> split_labels('cat, "dog, small",bird')
    ['cat', 'dog, small', 'bird']
    """
    return next(csv.reader([text], skipinitialspace=True), [])


def join_labels(labels: Iterable[str], between: str = ", ") -> str:
    """Return labels joined by commas, the inverse of `split_labels`.

    >>> join_labels(["cat", "dog, small", "bird"])
    'cat, "dog, small", bird'
    """
    written = []
    for label in labels:
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow([label])
        written.append(text.getvalue())
    return between.join(written)


def wild_parts(names: Sequence[str], pattern: str) -> list[str]:
    """Return what the wildcards stand for: the names without what the pattern spells out at both ends."""
    wild = [i for i, character in enumerate(pattern) if character in WILDCARDS]
    if not wild or not all(fnmatchcase(name, pattern) for name in names):
        return list(names)
    head = wild[0]
    tail = len(pattern) - 1 - max(wild[-1], pattern.rfind("]"))
    return [name[head : len(name) - tail] for name in names]


def pairs(names: Sequence[str], labels: Sequence[Any]) -> str:
    texts = [f"{name} is {shown(label)}" for name, label in zip(names, labels, strict=True)]
    return ", ".join(texts if len(texts) <= 4 else [*texts[:3], "...", texts[-1]])
