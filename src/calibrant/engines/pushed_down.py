"""Means that a lazy frame's own engine gives: one aggregation, and no row leaves it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.core.kinds import AnyRows, read
from calibrant.core.moments import Moments
from calibrant.core.several import Several
from calibrant.engines.measuring import Measuring
from calibrant.errors import InputError
from calibrant.inputs.columns import OF_ROWS, FromColumns, NamedColumns
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles

if TYPE_CHECKING:
    import narwhals as nw

EXACT = 2.0**53  # whole numbers below are the same in float64


class Terms(NamedTuple):
    """The columns of a prediction as expressions, and what a legal row obeys.

    `bounds` holds a tuple per level: (p,), (lower, upper) or (q,). `like` is a row of the same kind, from which the
    summary of a verb takes its names.
    """

    y: nw.Expr | None
    bounds: list[tuple[nw.Expr, ...]]
    levels: list[float]
    legal: list[nw.Expr]
    like: AnyRows


def pushed_down(job: Measuring, columns: NamedColumns, frame: Any) -> Several | None:
    """Return the summaries that the job's verbs read, from one aggregation of a lazy frame.

    None where that does not do: a verb is no plain mean, there are weights, groups or labels, a column is no number, or
    a row is one that the boundary refuses or whose score is infinite. The rows themselves then tell more.

    Notes
    -----
    Mean and variance are those of the engine, whose variance is no difference of large sums. Sums are plain ones:
    measured on Spark, means were off by at most 4e-14 of their value for partitions of up to 5·10⁶ rows, and by 7e-13
    for one of 8·10⁷.
    """
    import narwhals as nw

    if columns.weights or columns.groups or any(value is not None for value in job.labels.values()):
        return None
    if any((wanted.verb, _kind(columns)) not in SCORES for wanted in job.wanted.values()):
        return None
    lazy = nw.from_native(frame).lazy()
    terms = _terms(columns, lazy.collect_schema())
    if terms is None:
        return None
    templates, scores = {}, {}
    for name, wanted in job.wanted.items():
        if terms.y is None and wanted.entry.outcome:
            return None
        try:
            like = wanted.entry.summarise(terms.like, wanted.entry.parse(wanted.options))
            found = SCORES[wanted.verb, _kind(columns)](terms, **wanted.options)
        except InputError:  # told in the same words by the rows
            return None
        if type(like) is not Moments or len(like.names) != len(found):
            return None
        templates[name], scores[name] = like.names, found
    return _asked(lazy, terms, templates, scores)


def _asked(
    lazy: nw.LazyFrame[Any], terms: Terms, names: Mapping[str, tuple[str, ...]], scores: Mapping[str, list[nw.Expr]]
) -> Several | None:
    import narwhals as nw

    every = [score for found in scores.values() for score in found]
    legal = functools.reduce(operator.and_, [*terms.legal, *(score.is_finite() for score in every)])
    asked = [nw.len().alias("n"), nw.when(legal).then(nw.lit(1)).otherwise(nw.lit(0)).sum().alias("legal")]
    for k, score in enumerate(every):
        asked += [score.mean().alias(f"mean_{k}"), score.var(ddof=0).alias(f"variance_{k}")]
    told = lazy.select(*asked).collect().rows(named=True)[0]
    n = int(told["n"])
    if n == 0 or told["legal"] != n:
        return None
    parts, k = {}, 0
    for name, found in scores.items():
        places = range(k, k + len(found))
        mean, spread = np.array([[told[f"mean_{i}"], told[f"variance_{i}"] * n] for i in places]).T
        parts[name] = Moments(names[name], n, float(n), float(n), 1.0, mean, mean, spread, np.zeros(len(found)))
        k += len(found)
    return Several.of(parts)


def _kind(columns: NamedColumns) -> str | None:
    p = columns.prediction
    if isinstance(p, str):
        return "binary"
    if not isinstance(p, FromColumns) or p.others.get("crossed", "raise") != "raise":
        return None
    return {Intervals: "intervals", Quantiles: "quantiles"}.get(p.kind)  # type: ignore[call-overload,no-any-return]


def _terms(columns: NamedColumns, schema: Mapping[str, Any]) -> Terms | None:
    """Return the columns as expressions in float64; None if one is of another type."""
    import narwhals as nw

    if isinstance(columns.y, tuple) or not all(_numeric(name, columns, schema) for name in columns.needed):
        return None
    legal = []
    for name in columns.needed:
        value = _double(name)
        legal += [~nw.col(name).is_null(), ~value.is_nan()]
        if schema[name].is_integer():
            legal.append(value.abs() < EXACT)
    y = None if columns.y is None else _double(columns.y)
    p = columns.prediction
    if isinstance(p, str):
        probability = _double(p)
        legal += [probability >= 0, probability <= 1]
        if y is not None:
            legal.append((y == 0) | (y == 1))
        return Terms(y, [(probability,)], [], legal, read("audit", ("binary",), [0], [0.5]))
    assert isinstance(p, FromColumns)
    if y is not None:
        legal.append(y.is_finite())
    return _judged(p, y, legal)


def _judged(p: FromColumns, y: nw.Expr | None, legal: list[nw.Expr]) -> Terms | None:
    """Return the terms of intervals and quantiles, made once of a row to see that levels and columns fit."""
    sides = {name: (given,) if isinstance(given, str) else given for name, given in p.columns.items()}
    row = {name: np.zeros(1 if isinstance(given, str) else (1, len(given))) for name, given in p.columns.items()}
    try:
        like: Any = p.kind(**row, **p.others)
    except InputError:
        return None
    bounds = [tuple(map(_double, names)) for names in zip(*(sides[side] for side in OF_ROWS[type(like)]), strict=True)]
    if isinstance(like, Intervals):
        legal += [(low <= high) & (low < np.inf) & (high > -np.inf) for low, high in bounds]
    else:
        legal += [first[0] <= second[0] for first, second in pairwise(bounds)]
    rows = read("audit", ("intervals", "quantiles"), [0.0], like)
    return Terms(y, bounds, like.levels.tolist(), legal, rows)


def _numeric(name: str, columns: NamedColumns, schema: Mapping[str, Any]) -> bool:
    """Tell whether a column is of numbers; events may be booleans."""
    event = name == columns.y and isinstance(columns.prediction, str)
    return bool(schema[name].is_numeric() or (event and str(schema[name]) == "Boolean"))


def _double(name: str) -> nw.Expr:
    import narwhals as nw

    return nw.col(name).cast(nw.Float64)


def _share(hit: nw.Expr) -> nw.Expr:
    import narwhals as nw

    return nw.when(hit).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def _brier(terms: Terms, *, half: bool) -> list[nw.Expr]:
    return [(terms.y - p) * (terms.y - p) for (p,) in terms.bounds]


def _inside(terms: Terms) -> list[nw.Expr]:
    return [_share((low <= terms.y) & (terms.y <= high)) for low, high in terms.bounds]


def _below(terms: Terms) -> list[nw.Expr]:
    return [_share(terms.y <= q) for (q,) in terms.bounds]


def _width(terms: Terms, *, statistic: str) -> list[nw.Expr]:
    """Return the width and whether it is finite, which it is where this is used."""
    return [score for low, high in terms.bounds for score in (high - low, _share(low <= high))]


def _interval_score(terms: Terms, *, part: str) -> list[nw.Expr]:
    found = []
    for (low, high), level in zip(terms.bounds, terms.levels, strict=True):
        below, above = (_positive(low - terms.y), _positive(terms.y - high))
        penalty = 2 / (1 - level)
        parts = {"width": high - low, "below": below * penalty, "above": above * penalty}
        found.append(parts["width"] + (below + above) * penalty if part == "total" else parts[part])
    return found


def _quantile_score(terms: Terms) -> list[nw.Expr]:
    found = []
    for (q,), tau in zip(terms.bounds, terms.levels, strict=True):
        found.append(_positive(terms.y - q) * tau + _positive(q - terms.y) * (1 - tau))
    return found


def _positive(value: nw.Expr) -> nw.Expr:
    import narwhals as nw

    return nw.when(value > 0).then(value).otherwise(nw.lit(0.0))


SCORES: Mapping[tuple[str, str | None], Callable[..., list[Any]]] = {
    ("brier_score", "binary"): _brier,
    ("coverage", "intervals"): _inside,
    ("coverage", "quantiles"): _below,
    ("width", "intervals"): _width,
    ("interval_score", "intervals"): _interval_score,
    ("quantile_score", "quantiles"): _quantile_score,
}
"""The row scores of verbs by kind of prediction, as expressions, in the order of the names of their `Moments`."""
