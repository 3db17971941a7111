"""Tests of calibration from any metric, by outcomes that are redrawn from the predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Rng
from calibrant.core.catalogue import Entry, find, is_verb
from calibrant.core.null import reaches, redraw_centre, resampled_pvalue
from calibrant.core.results import Decomposition, Direction, TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.kinds import read
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.rows import DistributionRows, DrawnRows, RegionRows
from calibrant.kernels.kernel_rows import canonical_order
from calibrant.progress import steps

Measure = Callable[[DrawnRows], float]
REDRAWN = ("binary", "classes", "samples", "distributions")


def consistency_test(
    y: ArrayLike,
    prediction: ArrayLike | Distribution,
    *,
    metric: str | Callable[..., Any],
    resamples: int = 999,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
    rng: Rng = 0,
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
        As in `ece`: one probability per row, or class probabilities (n, K); or a predictive distribution, for metrics
        such as `skce` that judge one.
    metric
        A metric of calibrant or its name (for `decompose` its `mcb` is used), or a function
        ``metric(y, prediction)``, which gets outcomes as 0 and 1 or as column numbers (and ``weights=`` if there are
        any) and returns a number.
    resamples
        Number of redraws, B.
    rng
        A random generator or its seed.
    **options
        Options of the metric, such as ``bins=10``.

    Returns
    -------
    TestResult
        `statistic` and `estimate` are the metric's value. `details` has `expected`, its mean if calibrated, and
        `resamples`.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    >>> p = [0.9] * 10
    >>> consistency_test(y, p, metric="ece").pvalue
    0.001
    """
    B, random = check_count("resamples", resamples), generator(rng)
    if isinstance(y, Summary):
        raise InputError("consistency_test redraws the outcomes of rows; pass y and prediction, not a summary")
    given: dict[str, Any] = {"weights": weights, "classes": classes, "pos_label": pos_label}
    if isinstance(metric, str) or is_verb(metric):
        entry = find(metric)
        read_rows, measure = entry.read(y, prediction, **given), _of_entry(entry, options)
    else:
        read_rows, measure = read("consistency_test", REDRAWN, y, prediction, **given), _of_function(metric, options)
    if isinstance(read_rows, RegionRows):
        raise NotApplicableError(
            f"{type(read_rows.prediction).__name__} do not determine a distribution from which outcomes could be "
            "redrawn; consistency_test needs probabilities or a predictive distribution"
        )
    rows: DrawnRows = read_rows
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "metric")
    T = measure(rows)
    if np.isnan(T):
        raise InputError(f"{name} is nan for these data; the test needs a number")
    redrawn = np.array([measure(rows_b) for rows_b in _redraws(rows, B, random, name)])
    if np.isnan(redrawn).any():
        raise InputError(f"{name} is nan for redrawn outcomes; the test needs a number for every outcome")
    extreme = int(np.count_nonzero(reaches(redrawn, T)))
    words = f"consistency test of {name}; {B} redraws of the outcomes, predictions fixed"
    details = {"expected": float(redrawn.mean()), "resamples": B}
    return TestResult(T, resampled_pvalue(extreme, B), T, words, rows.n, details)


def _redraws(rows: DrawnRows, B: int, rng: np.random.Generator, name: str) -> Iterator[DrawnRows]:
    """Yield the rows with redrawn outcomes, drawn in an order that does not depend on that of the rows."""
    order = canonical_order(rows)
    ordered, back = redraw_centre(rows.take(order), rng), np.argsort(order)
    for _ in steps(B, size=1, label=f"redrawing outcomes for {name}"):
        yield ordered.redrawn(rng).take(back)


def _of_entry(entry: Entry[Any, Any], options: dict[str, Any]) -> Measure:
    if entry.kind != "metric":
        raise InputError(f"metric must be a number that grows with miscalibration; {entry.name} is a {entry.kind}")
    completed = entry.parse(options)

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
        # Copies, and whole numbers from which one can subtract: the function may change them.
        weighted = {} if is_unit(rows.w) else {"weights": rows.w.copy()}
        if isinstance(rows, DistributionRows):
            return _number(function(rows.y.copy(), rows.distribution, **weighted, **options), "the metric")
        y, prediction = rows.y.astype(np.int64), rows.prediction.copy()
        return _number(function(y, prediction, **weighted, **options), "the metric")

    return measure


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must return one number; got {shown(value)}") from None
