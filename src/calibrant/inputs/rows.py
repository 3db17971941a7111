"""Checked rows: outcomes with predictive distributions, intervals, quantiles, sets or values of distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import (
    FloatArray,
    as_array,
    is_unit,
    read_numbers,
    read_weights,
    take_weights,
    unit_weights,
)
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals, refuse_rounded
from calibrant.inputs.labels import Rows, read_columns
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples, float_type
from calibrant.inputs.sets import Sets

DOUBLE = np.dtype(np.float64)
AS_INTERVALS = {
    "quantiles": "Call .intervals() on it, which pairs levels such as 0.1 and 0.9",
    "distributions": "Call .interval(level) on it",
    "samples": "Call .interval(level) on it",
}
"""What verbs of intervals advise for other kinds of prediction."""

J = TypeVar("J", bound="RegionRows")
Prediction = Intervals | Sets | Quantiles | CdfValues


@dataclass(frozen=True, eq=False)
class DistributionRows:
    """Outcomes y, their predictive distributions and weights w: one per row, all checked."""

    y: FloatArray  # (n, *distribution.shape)
    distribution: Distribution
    w: FloatArray
    keep: NDArray[np.bool_] | None = None  # mask of the rows that are left of the caller's; None: all
    dtype: np.dtype[Any] = DOUBLE  # the less precise type of outcomes and draws, in which they are compared

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def take(self, rows: Rows) -> DistributionRows:
        """Return these rows alone."""
        return DistributionRows(
            self.y[rows], self.distribution.take(rows), take_weights(self.w, rows), None, self.dtype
        )


def read_outcomes(y: Any, distribution: Any, *, weights: Any = None) -> DistributionRows:
    """Return checked rows of outcomes and their predictive distributions; rows of weight 0 are dropped.

    >>> from calibrant import Normal
    >>> rows = read_outcomes([0.5, 1.5, 2.5], Normal([0, 1, 2], 1.0), weights=[1, 0, 2])
    >>> rows.n, rows.distribution.mean.tolist()
    (2, [0.0, 2.0])
    """
    if not isinstance(distribution, Distribution):
        raise InputError(
            "prediction must be a distribution, such as Normal(mean, std), MvNormal(mean, cov) or Samples(draws); "
            f"got {shown(distribution)} ({type(distribution).__name__})"
        )
    if distribution.n == 0:
        raise InputError("there are no rows: prediction is empty; at least one row is needed")
    outcomes = read_numbers(y, "y")
    _check_shape(outcomes, distribution)
    w = read_weights(weights, distribution.n)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        values = outcomes.astype(np.float64, copy=False)
    if is_unit(w) or w.min() > 0:
        refuse_rounded(outcomes, "y")
        refuse_not_finite_outcome(values, None)
        return DistributionRows(values, distribution, w, None, _coarser(outcomes, distribution))
    rows = np.flatnonzero(w)
    refuse_rounded(outcomes[rows], "y", rows)
    refuse_not_finite_outcome(values[rows], rows)
    return DistributionRows(values[rows], distribution.take(rows), w[rows], w > 0, _coarser(outcomes, distribution))


def _coarser(y: NDArray[Any], distribution: Distribution) -> np.dtype[Any]:
    draws = distribution.held.dtype if isinstance(distribution, Samples) else DOUBLE
    return min(float_type(y.dtype), draws, key=lambda dtype: dtype.itemsize)


def _check_shape(y: NDArray[Any], distribution: Distribution) -> None:
    expected = (distribution.n, *distribution.shape)
    if y.shape == expected:
        return
    raise InputError(
        f"y must have shape {expected}, {'one vector' if distribution.shape else 'one number'} for each of the "
        f"{distribution.n} rows of {type(distribution).__name__}; got shape {y.shape}. {_shape_remedy(y, distribution)}"
    )


def _shape_remedy(y: NDArray[Any], distribution: Distribution) -> str:
    if y.ndim and isinstance(distribution, Samples) and y.shape[0] == distribution.M != distribution.n:
        return (
            "The axes of draws look swapped: draws must be (n, M) or (n, M, D), the draws of outcome i in draws[i]. "
            "Pass numpy.swapaxes(draws, 0, 1)"
        )
    if y.ndim and y.shape[0] != distribution.n:
        return "Take outcomes and distribution from the same table"
    if not distribution.shape and y.shape == (distribution.n, 1):
        return "Pass its one column as y[:, 0]"
    if not distribution.shape and y.ndim == 2:
        return "Vectors need a distribution of vectors, such as MvNormal(mean, cov)"
    if y.ndim == 1 and distribution.shape == (1,):
        return "Pass y[:, None], vectors of one coordinate"
    if y.ndim == 1:
        return "Pass one vector per row"
    return "Take outcomes and distribution from the same table"


def refuse_not_finite_outcome(y: FloatArray, rows: Rows | None) -> None:
    """Raise an error that shows the first missing or infinite outcome; `rows` are the caller's row numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(y.sum()):  # then all are finite, which one pass without a temporary array shows
            return
    bad = ~np.isfinite(y)
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), y.shape)
    row = int(place[0] if rows is None else rows[place[0]])
    where = "{row}" if y.ndim == 1 else f"{{row}}, coordinate {int(place[1])}"
    missing = " (missing)" if np.isnan(y[place]) else ""
    raise InputError(
        f"y must be finite; {where} is {{value}}{missing}. Drop or repair such rows", row=row, value=y[place]
    )


DrawnRows = Binary | Classes | DistributionRows
"""Rows whose outcomes can be redrawn from the predictions."""


@dataclass(frozen=True, eq=False)
class RegionRows:
    """Outcomes y, predictions of regions or of distribution functions, and weights w: one per row, all checked.

    `keep` is the mask of the rows that are left of the caller's, None if all are: further columns of the caller, such
    as groups, must be cut by it. It is None in rows returned by `take`.
    """

    y: NDArray[Any]
    prediction: Any
    w: FloatArray
    keep: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.prediction.n)

    def take(self, rows: Rows | slice) -> Self:
        """Return these rows alone; a slice is not copied."""
        w = self.w[rows] if isinstance(rows, slice) else take_weights(self.w, rows)
        return type(self)(self.y[rows], self.prediction.take(rows), w)


class IntervalRows(RegionRows):
    """Real outcomes and prediction intervals."""

    prediction: Intervals

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the outcome lies in the interval, bounds included, (n, L)."""
        y = self.y[:, None]
        return np.asarray((self.prediction.lower <= y) & (y <= self.prediction.upper))

    @property
    def sizes(self) -> FloatArray:
        """Width of each interval, (n, L); infinite if a bound is infinite."""
        with np.errstate(over="ignore"):
            return np.asarray(self.prediction.upper - self.prediction.lower)


class QuantileRows(RegionRows):
    """Real outcomes and quantile forecasts."""

    prediction: Quantiles

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the outcome is at most the quantile, (n, Q)."""
        return np.asarray(self.y[:, None] <= self.prediction.values)


class SetRows(RegionRows):
    """Labels as column numbers, and prediction sets."""

    prediction: Sets

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the outcome is in the set, (n, L)."""
        return np.asarray(self.prediction.mask[np.arange(self.n), self.y])

    @property
    def sizes(self) -> FloatArray:
        """Number of labels in each set, (n, L)."""
        return self.prediction.sizes.astype(np.float64)


class CdfRows(RegionRows):
    """Values of distribution functions at the outcomes; y is empty."""

    prediction: CdfValues


def read_regions(y: Any, prediction: Prediction, *, weights: Any = None, classes: Any = None) -> RegionRows:
    """Return checked rows of outcomes and predictions; rows of weight 0 are dropped."""
    n = _rows_of(prediction)
    w = read_weights(weights, n)
    rows = None if is_unit(w) or w.min() > 0 else np.flatnonzero(w)
    if isinstance(prediction, Sets):
        return _read_sets(y, prediction, w, rows, classes)
    if classes is not None:
        raise InputError(
            f"{{classes=}} is for labels; the outcomes of {type(prediction).__name__} are numbers", option="classes"
        )
    if isinstance(prediction, CdfValues):
        if y is not None:
            raise InputError("CdfValues contain the outcome already; pass None for y")
        return _kept(CdfRows(np.zeros((n, 0)), prediction, w), rows)
    outcomes = read_numbers(y, "y")
    _check_length(outcomes, prediction)
    refuse_rounded(outcomes if rows is None else outcomes[rows], "y", rows)
    with np.errstate(over="ignore"):
        values = outcomes.astype(np.float64, copy=False)
    kind: type[RegionRows] = IntervalRows if isinstance(prediction, Intervals) else QuantileRows
    kept = _kept(kind(values, prediction, w), rows)
    refuse_not_finite_outcome(kept.y, rows)
    return kept


def without_outcome(prediction: Any, *, weights: Any = None) -> RegionRows:
    """Return rows of predictions alone, for measurements that do not use outcomes."""
    n = _rows_of(prediction)
    w = read_weights(weights, n)
    rows = None if is_unit(w) or w.min() > 0 else np.flatnonzero(w)
    kinds: dict[type, type[RegionRows]] = {Intervals: IntervalRows, Sets: SetRows, Quantiles: QuantileRows}
    return _kept(kinds.get(type(prediction), RegionRows)(np.zeros((n, 0)), prediction, w), rows)


def _read_sets(y: Any, sets: Sets, w: FloatArray, rows: Rows | None, classes: Any) -> SetRows:
    outcomes = as_array(y, name="y")
    _check_length(outcomes, sets)
    labels = read_columns(outcomes if rows is None else outcomes[rows], rows, K=sets.K, classes=classes)
    if rows is None:
        return SetRows(labels, sets, w)
    return SetRows(labels, sets.take(rows), _weights_of(w, rows), w > 0)


def _rows_of(prediction: Any) -> int:
    if prediction.n == 0:
        raise InputError("there are no rows: prediction is empty; at least one row is needed")
    return int(prediction.n)


def _kept(judged: J, rows: Rows | None) -> J:
    if rows is None:
        return judged
    kept = judged.take(rows)
    return type(kept)(kept.y, kept.prediction, _weights_of(judged.w, rows), judged.w > 0)


def _weights_of(w: FloatArray, rows: Rows) -> FloatArray:
    chosen = take_weights(w, rows)
    return unit_weights(chosen.size) if (chosen == 1).all() else chosen


def _check_length(y: NDArray[Any], prediction: Prediction) -> None:
    name = type(prediction).__name__
    if y.ndim != 1:
        remedy = "Pass its one column as y[:, 0]" if y.ndim == 2 and y.shape[1] == 1 else "Pass one outcome per row"
        raise InputError(f"y must be 1-D, one outcome per row; got shape {y.shape}. {remedy}")
    if y.shape[0] != prediction.n:
        raise InputError(
            f"y and {name} must have the same number of rows; got {y.shape[0]} outcomes and {prediction.n} "
            "predictions. Take both from the same table"
        )
