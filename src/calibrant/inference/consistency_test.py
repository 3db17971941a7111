"""A test of calibration from any metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from calibrant.catalogue import AnyRows, Entry, find, is_verb
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inputs import Binary, check_count, generator, read_probabilities
from calibrant.inputs.judged import Judged
from calibrant.inputs.laws import Law
from calibrant.inputs.outcomes import LawRows, read_outcomes
from calibrant.inputs.weights import is_unit
from calibrant.kernels.fitted import DrawnRows
from calibrant.primitives.canonical import canonical_order
from calibrant.primitives.redraw import redraw_centre, redraw_rows
from calibrant.progress import steps
from calibrant.results import Decomposition, Direction, TestResult
from calibrant.summaries import Summary

Measure = Callable[[DrawnRows], float]


def consistency_test(
    y: Any,
    prediction: Any,
    *,
    metric: Any,
    resamples: int = 999,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    rng: Any = 0,
    **options: Any,
) -> TestResult:
    r"""Test calibration by any metric that grows with miscalibration.

    Outcomes are redrawn from the predictions (y* ~ p, independently), the metric T is recomputed with predictions, bins
    and weights held fixed, and

    .. math:: p = \frac{1 + \#\{T^*_b \ge T\}}{B + 1}

    is an exact p-value for every metric, any n and any number of classes.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`: one probability per row, or class probabilities (n, K); or a predictive law, for metrics such as
        `skce` that judge one.
    metric
        A metric of calibrant or its name (of `decompose` the `mcb` is used), or a function
        ``metric(y, prediction)``, which gets outcomes as 0 and 1 or as column numbers (and ``weights=`` if there are
        any) and returns a number.
    resamples
        Number of redraws, B.
    rng
        A Generator or a whole number.
    **options
        Options of the metric, such as ``bins=10``.

    Returns
    -------
    TestResult
        `statistic` and `estimate` are the metric's value. `details` has `expected`, its mean if calibrated, and
        `resamples`.

    Notes
    -----
    Drawing the predictions with replacement as well (Bröcker and Smith 2007; CalibrationTests.jl) creates ties that
    shrink a binned error under the null: with 10 classes and 250 rows a calibrated model is then rejected always
    (Widmann, Lindsten and Zachariah 2019). Predictions stay fixed here. Rows must be independent given the
    predictions.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> p = [0.9] * 10
    >>> consistency_test(y, p, metric="ece").pvalue
    0.001
    """
    B, rng = check_count("resamples", resamples), generator(rng)
    if isinstance(y, Summary):
        raise InputError("consistency_test redraws the outcomes of rows; pass y and prediction, not a summary")
    given = {"weights": weights, "classes": classes, "pos_label": pos_label}
    if isinstance(metric, str) or is_verb(metric):
        entry = find(metric)
        rows, measure = _with_law(entry.read(y, prediction, **given)), _of_entry(entry, options)
    else:
        rows, measure = _read(y, prediction, **given), _of_function(metric, options)
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    T = measure(rows)
    if np.isnan(T):
        raise InputError(f"{name} is nan for these data; the test needs a number")
    redrawn = np.array([measure(rows_b) for rows_b in _redraws(rows, B, rng, name)])
    if np.isnan(redrawn).any():
        raise InputError(f"{name} is nan for redrawn outcomes; the test needs a number for every outcome")
    extreme = int(np.count_nonzero(reaches(redrawn, T)))
    return TestResult(
        statistic=T,
        pvalue=resampled_pvalue(extreme, B),
        estimate=T,
        method=f"consistency test of {name}; {B} redraws of the outcomes, predictions fixed",
        n=rows.n,
        details={"expected": float(redrawn.mean()), "resamples": B},
    )


def _with_law(rows: AnyRows) -> DrawnRows:
    if isinstance(rows, Judged):
        raise NotApplicableError(
            f"{type(rows.prediction).__name__} do not say how outcomes are drawn, so that they cannot be redrawn; "
            "consistency_test needs probabilities or a law"
        )
    return rows


def _read(y: Any, prediction: Any, *, weights: Any, **labels: Any) -> DrawnRows:
    if isinstance(prediction, Law):
        return read_outcomes(y, prediction, weights=weights)
    return read_probabilities(y, prediction, weights=weights, **labels)


def _redraws(rows: DrawnRows, B: int, rng: np.random.Generator, name: str) -> Iterator[DrawnRows]:
    """Yield the rows with redrawn outcomes, drawn in an order that does not depend on that of the rows."""
    order = canonical_order(rows)
    ordered, back = redraw_centre(rows.take(order), rng), np.argsort(order)
    for _ in steps(B, size=1, label=f"redrawing outcomes for {name}"):
        yield redraw_rows(ordered, rng).take(back)


def _of_entry(entry: Entry, options: dict[str, Any]) -> Measure:
    if entry.kind != "metric":
        raise InputError(f"metric must be a number that grows with miscalibration; {entry.name} is a {entry.kind}")
    completed = entry.completed(options)

    def measure(rows: DrawnRows) -> float:
        value = entry.of_rows(rows, completed)
        if isinstance(value, Direction):
            raise InputError(
                "direction returns several numbers; pass one of them as a function, such as "
                "metric=lambda y, p: direction(y, p).over"
            )
        return _number(value.mcb if isinstance(value, Decomposition) else value, entry.name)

    return measure


def _of_function(function: Any, options: dict[str, Any]) -> Measure:
    if not callable(function):
        raise InputError(f"metric must be a verb of calibrant, its name, or a function; got {shown(function)}")

    def measure(rows: DrawnRows) -> float:
        # Copies, and whole numbers that can be subtracted from: the function may do what it likes with them.
        weighted = {} if is_unit(rows.w) else {"weights": rows.w.copy()}
        if isinstance(rows, LawRows):
            return _number(function(rows.y.copy(), rows.law, **weighted, **options), "the metric")
        prediction = rows.p if isinstance(rows, Binary) else rows.P
        return _number(function(rows.y.astype(np.int64), prediction.copy(), **weighted, **options), "the metric")

    return measure


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must return one number; got {shown(value)}") from None
