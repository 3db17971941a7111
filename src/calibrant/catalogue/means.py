"""Metrics that are means of row scores."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.entries import Verb
from calibrant.catalogue.reading import AnyRows, part_of
from calibrant.catalogue.verbs import metric
from calibrant.inputs import Binary, Classes
from calibrant.inputs.judged import Judged
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.sets import Sets
from calibrant.primitives.dispatch import chunks
from calibrant.summaries import Moments

RowScores = Mapping[str, NDArray[np.float64]]
SEVERAL = "several "
"""Marks the columns of a metric that is an array: one column per level."""


def mean_metric(**properties: Any) -> Callable[[Callable[..., NDArray[np.float64]]], Verb[Any]]:
    """Enter a metric that is the mean of row scores, given as the function from checked rows to those scores.

    The scores have shape (n,), or (n, L) for predictions of L levels; the metric is then a number, or an array (L,) if
    the prediction has several levels.
    """

    def decorate(row_scores: Callable[..., NDArray[np.float64]]) -> Verb[Any]:
        signature = inspect.signature(row_scores)
        defaults = {p.name: p.default for p in list(signature.parameters.values())[1:]}

        def column(options: Mapping[str, Any]) -> str:
            changed = ", ".join(f"{k}={v!r}" for k, v in options.items() if v != defaults[k])
            return f"{row_scores.__name__}({changed})" if changed else row_scores.__name__

        def summarise(rows: AnyRows, **options: Any) -> Moments:
            def named(piece: AnyRows) -> RowScores:
                scores = row_scores(piece, **options)
                names = column_names(rows, None if scores.ndim == 1 else scores.shape[1])
                columns = [scores] if scores.ndim == 1 else list(scores.T)
                return {column(options) + name: s for name, s in zip(names, columns, strict=True)}

            return moments_of(rows, named)

        @functools.wraps(row_scores)
        def finish(summary: Moments, **options: Any) -> Any:
            name = column(options)
            held = [other for other in summary.names if other == name or other.startswith(f"{name}[")]
            values = [summary.mean_of(other) for other in held or [name]]
            return np.array(values) if SEVERAL in held[0] else values[0]

        returns = "float" if signature.return_annotation == "FloatArray" else signature.return_annotation
        returns = properties.pop("returns", returns)
        finish.__annotations__ = {**row_scores.__annotations__, "return": returns}
        finish.__signature__ = signature.replace(return_annotation=returns)  # type: ignore[attr-defined]
        return metric(reads=(Moments,), summarise=summarise, mean=True, row_scores=row_scores, **properties)(finish)

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
    """Return the moments of row scores, folded chunk by chunk so that no score array is as long as the data."""
    total = Moments.zero()
    for part in chunks(rows.n):
        piece = part_of(rows, part)
        total += Moments.of(row_scores(piece), piece.w)
    return total
