"""Metrics that are means of row scores."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.entries import Verb
from calibrant.catalogue.reading import AnyRows, part_of
from calibrant.catalogue.verbs import metric
from calibrant.inputs import Binary, Classes
from calibrant.inputs.judged import Judged
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.sets import Sets
from calibrant.primitives.dispatch import CHUNK_ROWS, chunks, on_threads
from calibrant.primitives.interval_sums import IntervalSums, sums_in_one_pass
from calibrant.summaries import Grid, Moments, Summary

S = TypeVar("S", bound=Summary)
Scores = NDArray[np.float64] | NDArray[np.bool_]
RowScores = Mapping[str, Scores]
SERIAL_CHUNKS = 4  # fewer end before the threads have begun
SEVERAL = "several "
"""Marks the columns of a metric that is an array: one column per level."""


def mean_metric(
    *,
    fused: Callable[..., list[IntervalSums] | None] | None = None,
    of_grid: Callable[..., float] | None = None,
    **properties: Any,
) -> Callable[[Callable[..., Scores]], Verb[Any]]:
    """Enter a metric that is the mean of row scores, given as the function from checked rows to those scores.

    The scores, numbers or True and False, have shape (n,), or (n, L) for predictions of L levels; the metric is then a
    number, or an array (L,) if the prediction has several levels. `fused(rows, **options)` may give the sums of those
    scores in one pass, one entry per level, where there are so many rows of weight 1 that it pays. `of_grid(grid,
    **options)` gives the mean for one probability per row from a `Grid`, exactly, if that can be done.
    """

    def decorate(row_scores: Callable[..., Scores]) -> Verb[Any]:
        signature = inspect.signature(row_scores)
        defaults = {p.name: p.default for p in list(signature.parameters.values())[1:]}

        def column(options: Mapping[str, Any]) -> str:
            changed = ", ".join(f"{k}={v!r}" for k, v in options.items() if v != defaults[k])
            return f"{row_scores.__name__}({changed})" if changed else row_scores.__name__

        def summarise(rows: AnyRows, **options: Any) -> Moments:
            def names(L: int | None) -> list[str]:
                return [column(options) + name for name in column_names(rows, L)]

            def named(piece: AnyRows) -> RowScores:
                scores = row_scores(piece, **options)
                if scores.ndim == 1:
                    return {names(None)[0]: scores}
                return dict(zip(names(scores.shape[1]), scores.T, strict=True))

            sums = fused(rows, **options) if fused and sums_in_one_pass(rows.n, rows.w) else None
            return moments_of(rows, named) if sums is None else Moments.of_sums(names(len(sums)), sums)

        def numbers(rows: AnyRows, **options: Any) -> NDArray[np.float64]:
            return np.asarray(row_scores(rows, **options), dtype=np.float64)

        @functools.wraps(row_scores)
        def finish(summary: Moments | Grid, **options: Any) -> Any:
            if isinstance(summary, Grid):
                assert of_grid is not None  # else it is not among what the verb reads
                return of_grid(summary, **options)
            name = column(options)
            held = [other for other in summary.names if other == name or other.startswith(f"{name}[")]
            values = [summary.mean_of(other) for other in held or [name]]
            return np.array(values) if SEVERAL in held[0] else values[0]

        returns = "float" if signature.return_annotation == "FloatArray" else signature.return_annotation
        returns = properties.pop("returns", returns)
        finish.__annotations__ = {**row_scores.__annotations__, "return": returns}
        finish.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
        reads = (Moments,) if of_grid is None else (Moments, Grid)
        return metric(
            reads=reads,
            summarise=summarise,
            mean=True,
            row_scores=numbers,
            on_grid=lambda options: of_grid is not None,
            **properties,
        )(finish)

    return decorate


def column_names(rows: AnyRows, L: int | None) -> list[str]:
    """Return what is added to a metric's name for each column of scores: scores of different kinds do not mix."""
    if isinstance(rows, Binary):
        return [""]
    if isinstance(rows, Classes):
        return [f"[{rows.K} classes]"]
    if isinstance(rows, LawRows):
        return ["[law]"] if L is None else [f"[{SEVERAL}coordinate {k}]" for k in range(L)]
    return _level_names(rows, L)


def _level_names(rows: Judged, L: int | None) -> list[str]:
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
    """Return the moments of row scores, chunk by chunk so that no score array is as long as the data."""
    return folded(rows, lambda piece: Moments.of(row_scores(piece), piece.w), Moments.zero())


def folded(rows: Any, summarise: Callable[[Any], S], zero: S) -> S:
    """Return the sum of the summaries of chunks, computed on all cores and merged in their order."""

    def of(part: slice) -> S:
        return summarise(part_of(rows, part))

    levels = getattr(getattr(rows, "prediction", None), "levels", None)
    size = max(1, CHUNK_ROWS // (1 if levels is None else levels.size))  # so many columns stay in the cache
    few = rows.n <= SERIAL_CHUNKS * size
    parts = map(of, chunks(rows.n, size)) if few else on_threads(of, rows.n, size=size)
    return reduce(add, parts, zero)
