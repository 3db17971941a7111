"""Metrics that are means of row scores: their entry in the catalogue, and how their means are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import Entry, Shown, enter
from calibrant.core.dispatch import CHUNK_ROWS, chunks, on_threads
from calibrant.core.grid import Grid
from calibrant.core.interval_sums import IntervalSums, sums_in_one_pass
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import field_values
from calibrant.inputs.kinds import AnyRows
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.sets import Sets

OptionsT = TypeVar("OptionsT")
R = TypeVar("R")
S = TypeVar("S", bound=Summary)
Scores = NDArray[np.float64] | NDArray[np.bool_]
RowScores = Mapping[str, Scores]
SERIAL_CHUNKS = 4  # up to so many chunks are done before threads have started
SEVERAL = "several "  # marks the columns of a metric that is an array, with one column per level


def enter_mean(
    verb: Callable[..., R],
    options: type[OptionsT],
    row_scores: Callable[[Any, OptionsT], Scores],
    *,
    predictions: tuple[str, ...],
    sums: Callable[[Any, OptionsT], list[IntervalSums] | None] | None = None,
    of_grid: Callable[[Grid, OptionsT], float] | None = None,
    range: tuple[float, float] = (-np.inf, np.inf),
    perfect: float = 0.0,
    audit: Mapping[str, Shown] | None = None,
    instead: Mapping[str, str] | None = None,
    outcome: bool = True,
) -> Entry[OptionsT, R]:
    """Enter a metric that is the mean of row scores; what is not said here is as for `Entry`.

    `row_scores` is the function from checked rows and options to scores (numbers or booleans) of shape (n,), or (n, L)
    for predictions of L levels. The metric is a number, or an array (L,) if the prediction has several levels. `sums`
    returns the sums of those scores in one compiled pass, one entry per level; it is used for many rows of weight 1.
    `of_grid` returns the exact mean for one probability per row from a `Grid`, if that is possible.
    """

    def summarise(rows: AnyRows, options: OptionsT) -> Moments:
        def names(L: int | None) -> list[str]:
            return [column(entry, options) + name for name in column_names(rows, L)]

        def named(piece: AnyRows) -> RowScores:
            scores = row_scores(piece, options)
            if scores.ndim == 1:
                return {names(None)[0]: scores}
            return dict(zip(names(scores.shape[1]), scores.T, strict=True))

        found = sums(rows, options) if sums and sums_in_one_pass(rows.n, rows.w) else None
        return moments_of(rows, named) if found is None else Moments.of_sums(names(len(found)), found)

    def finish(summary: Moments | Grid, options: OptionsT) -> Any:
        if isinstance(summary, Grid):
            assert of_grid is not None  # otherwise the verb does not read a Grid
            return of_grid(summary, options)
        name = column(entry, options)
        held = [other for other in summary.names if other == name or other.startswith(f"{name}[")]
        values = [summary.mean_of(other) for other in held or [name]]
        return np.array(values) if SEVERAL in held[0] else values[0]

    entry = Entry(
        verb,
        options,
        summarise,
        finish,
        reads=(Moments,) if of_grid is None else (Moments, Grid),
        predictions=predictions,
        outcome=outcome,
        range=range,
        perfect=perfect,
        mean=True,
        audit=audit or {},
        row_scores=lambda rows, options: np.asarray(row_scores(rows, options), dtype=np.float64),
        on_grid=lambda options: of_grid is not None,
        instead=instead or {},
    )
    return enter(entry)


def column(entry: Entry[Any, Any], options: Any) -> str:
    """Return the column name of the scores of a metric with these options.

    >>> from calibrant.core.catalogue import find
    >>> column(find("brier_score"), find("brier_score").parse({"half": True}))
    'brier_score(half=True)'
    """
    values = field_values(options).items()
    changed = ", ".join(f"{name}={value!r}" for name, value in values if value != entry.defaults[name])
    return f"{entry.name}({changed})" if changed else entry.name


def column_names(rows: AnyRows, L: int | None) -> list[str]:
    """Return the suffix of each column of scores; it keeps scores of different kinds of prediction apart."""
    if isinstance(rows, Binary):
        return [""]
    if isinstance(rows, Classes):
        return [f"[{rows.K} classes]"]
    if isinstance(rows, DistributionRows):
        return ["[distribution]"] if L is None else [f"[{SEVERAL}coordinate {k}]" for k in range(L)]
    prediction = rows.prediction
    kind = type(prediction).__name__
    levels = getattr(prediction, "levels", None)
    words = [f"{level:.10g}" for level in levels] if levels is not None else [f"column {k}" for k in range(L or 0)]
    if L is None:  # one score over all levels
        return [f"[{kind} {', '.join(words)}]"]
    several = "" if prediction.single else SEVERAL
    size = f"K={prediction.K} " if isinstance(prediction, Sets) else ""
    return [f"[{several}{kind} {size}{word}]" for word in words]


def moments_of(rows: Any, row_scores: Callable[[Any], RowScores]) -> Moments:
    """Return the moments of row scores, computed by chunks; no array of scores is as long as the data."""
    return folded(rows, lambda piece: Moments.of(row_scores(piece), piece.w), Moments.zero())


def folded(rows: Any, summarise: Callable[[Any], S], zero: S) -> S:
    """Return the sum of the summaries of chunks, computed on all cores and merged in their order."""

    def of(part: slice) -> S:
        return summarise(rows.part(part))

    levels = getattr(getattr(rows, "prediction", None), "levels", None)
    size = max(1, CHUNK_ROWS // (1 if levels is None else levels.size))  # all columns of a chunk fit into the cache
    few = rows.n <= SERIAL_CHUNKS * size
    parts = map(of, chunks(rows.n, size)) if few else on_threads(of, rows.n, size=size)
    return reduce(add, parts, zero)
