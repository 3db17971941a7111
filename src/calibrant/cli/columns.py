"""The columns a person named, and the labels that columns of class probabilities or sets stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.cli.draw_columns import named_draws
from calibrant.cli.messages import tell
from calibrant.cli.options import Request
from calibrant.cli.patterns import each_once, find_column, join_labels, matching, pairs, split_labels, wild_parts
from calibrant.errors import InputError, listing, shown
from calibrant.files.literals import literal

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    `y` is the column of the outcome, or the columns of its coordinates. `p` are the columns of the prediction, of
    intervals all lower bounds and then all upper bounds. `pattern` is what named them, if several were named at once.
    """

    y: tuple[str, ...]
    p: tuple[str, ...]
    pattern: str | None = None
    by: tuple[str, ...] = ()
    weights: str | None = None
    covariates: tuple[str, ...] = ()
    log_density: str | None = None
    log_density_y: str | None = None
    kind: str = "binary"

    @property
    def all(self) -> list[str]:
        """Every column that is read, once."""
        return list(dict.fromkeys((*self.y, *self.p, *self.by, *self.checked)))

    @property
    def checked(self) -> list[str]:
        """Every column that must have a value in each row, once."""
        single = [name for name in (self.weights, self.log_density, self.log_density_y) if name is not None]
        return list(dict.fromkeys((*self.y, *self.p, *self.covariates, *single)))

    @property
    def outcome(self) -> str:
        """What the user calls the outcome."""
        return join_labels(self.y) if len(self.y) > 1 else self.y[0]

    @property
    def prediction(self) -> str:
        """What the user calls the prediction."""
        if self.kind != "intervals":
            return self.pattern or self.p[0]
        half = len(self.p) // 2
        return ", ".join(f"{low} to {high}" for low, high in zip(self.p[:half], self.p[half:], strict=True))


def choose(
    names: Sequence[str], path: Path, request: Request, kind: str, lists: Mapping[str, pl.DataType] | None = None
) -> Columns:
    """Return the columns that the options name, all of which exist and none of which is two things at once.

    `lists` are the columns of lists, which draws may be among.
    """
    if kind == "samples":
        y, named = named_draws(names, path, request, lists or {})
    else:
        y, named = (find_column(str(request.y), names, path, option="--y"),), _named(names, path, request, kind)
    chosen = Columns(
        y=y,
        p=tuple(name for _, found in named for name in found),
        pattern=request.p_cols or request.set_cols or request.quantile_cols or request.draws or request.draw_cols,
        by=tuple(find_column(name, names, path, option="--by") for name in dict.fromkeys(request.by)),
        weights=_found(request.weights, names, path, "--weights"),
        covariates=() if request.covariates is None else _several(request.covariates, names, path, "--covariates"),
        log_density=_found(request.log_density, [*(lists or ()), *names], path, "--log-density"),
        log_density_y=_found(request.log_density_y, names, path, "--log-density-y"),
        kind=kind,
    )
    roles = [
        ("--y", chosen.y),
        ("--weights", (chosen.weights,) if chosen.weights else ()),
        ("--covariates", chosen.covariates),
        *named,
    ]
    for place, (role, own) in enumerate(roles):
        for other, others in roles[place + 1 :]:
            for name in own:
                if name in others:
                    raise InputError(f"column {shown(name)} is named by {role} and by {other}; name a different one")
    return chosen


def _found(name: str | None, names: Sequence[str], path: Path, option: str) -> str | None:
    return None if name is None else find_column(name, names, path, option=option)


def _several(text: str, names: Sequence[str], path: Path, option: str) -> tuple[str, ...]:
    return each_once(matching(text, names, path, option=option), f"{option} {shown(text)}")


def _named(names: Sequence[str], path: Path, request: Request, kind: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the columns of the prediction, with the options that name them."""
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
    option, text = {
        "classes": ("--p-cols", request.p_cols),
        "sets": ("--set-cols", request.set_cols),
        "quantiles": ("--quantile-cols", request.quantile_cols),
    }[kind]
    found = _several(str(text), names, path, option)
    if len(found) == 1 and kind != "quantiles":
        remedy = (
            f"If it is the probability of an event, use --p {found[0]}"
            if kind == "classes"
            else "Name one for each class"
        )
        raise InputError(f"only one column of {path} is like {shown(text)}: {shown(found[0])}. {remedy}")
    return [(f"{option} {shown(text)}", found)]


def class_labels(y: pl.Series, columns: Columns, given: str | None) -> list[Any] | None:
    """Return the label of each column of class probabilities or sets; None where labels are column numbers.

    Labels are taken from `given`, or from the names of the columns, or are column numbers, and whenever that is not
    what was typed it is said.
    """
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
