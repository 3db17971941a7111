"""Checked rows: outcomes with predictive distributions, intervals, quantiles, sets or values of distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import (
    FloatArray,
    as_array,
    kept_rows,
    read_numbers,
    read_weights,
    refuse_not_finite,
    refuse_rounded,
    refuse_where,
    take_weights,
    unit_weights,
)
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.labels import Rows, read_columns
from calibrant.inputs.named import Names, column_labels, flattened, same_names
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples, float_type
from calibrant.inputs.sets import Sets

DOUBLE = np.dtype(np.float64)
Prediction = Intervals | Sets | Quantiles | CdfValues


@dataclass(frozen=True, eq=False)
class DistributionRows:
    """Outcomes y, their predictive distributions and weights w: one per row, all checked."""

    y: FloatArray  # (n, *distribution.shape)
    distribution: Distribution
    w: FloatArray
    keep: NDArray[np.bool_] | None = None  # mask of the rows that are left of the caller's; None: all
    dtype: np.dtype[Any] = DOUBLE  # the less precise type of outcomes and draws, in which they are compared
    names: Names | None = None  # of the coordinates of vectors, if the caller's data have them

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def kind(self) -> str:
        return self.distribution.prediction_kind

    @property
    def prediction(self) -> Distribution:
        return self.distribution

    @property
    def samples(self) -> Samples | None:
        """The predictive distributions, where they are known by draws alone."""
        return self.distribution if isinstance(self.distribution, Samples) else None

    def take(self, rows: Rows | slice) -> DistributionRows:
        w = self.w[rows] if isinstance(rows, slice) else take_weights(self.w, rows)
        return DistributionRows(self.y[rows], self.distribution.take(rows), w, None, self.dtype, self.names)

    part = take

    def redrawn(self, rng: np.random.Generator) -> DistributionRows:
        """Return the same rows with outcomes drawn from their predictive distributions.

        Draws do not tell the distribution they come from. The outcome and the draws are then pooled, and one of them,
        chosen at random, changes places with the outcome. This leaves their joint distribution as it is if the draws
        are calibrated. Redraws must start from `core.null.redraw_centre`.
        """
        samples = self.samples
        if samples is None:
            drawn = self.distribution.sample(1, rng)[:, 0]
            expected = f"sample of {type(self.distribution).__name__} must return finite numbers"
            refuse_where(~np.isfinite(drawn), drawn, expected, "Check the distribution", axes=("row", "coordinate"))
            return DistributionRows(drawn, self.distribution, self.w)
        draws, y = samples.draws.copy(), self.y.copy()
        chosen = rng.integers(samples.M + 1, size=self.n)
        moved = np.flatnonzero(chosen < samples.M)
        y[moved] = samples.draws[moved, chosen[moved]]
        draws[moved, chosen[moved]] = self.y[moved]
        return DistributionRows(y, Samples(draws), self.w)


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
    named, names = y, column_labels(y)
    if isinstance(y, Mapping):
        named, names = flattened(y, "y", axes=1)
    outcomes = read_numbers(named, "y")
    _check_shape(outcomes, distribution)
    names = same_names(names, getattr(distribution, "names", None)) if distribution.shape else None
    w = read_weights(weights, distribution.n)
    values, rows = _real_outcomes(outcomes, w)
    draws = distribution.held.dtype if isinstance(distribution, Samples) else DOUBLE
    coarser = min(float_type(outcomes.dtype), draws, key=lambda dtype: dtype.itemsize)
    if rows is None:
        return DistributionRows(values, distribution, w, None, coarser, names)
    return DistributionRows(values, distribution.take(rows), w[rows], w > 0, coarser, names)


def _real_outcomes(y: NDArray[Any], w: FloatArray) -> tuple[FloatArray, Rows | None]:
    """Return the outcomes of the rows with positive weight, all finite, and the numbers of these rows (None: all)."""
    rows = kept_rows(w)
    kept = y if rows is None else y[rows]
    refuse_rounded(kept, "y", rows)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        values = kept.astype(np.float64, copy=False)
    refuse_not_finite(values, "y", axes=("row", "coordinate"), rows=rows)
    return values, rows


def _check_shape(y: NDArray[Any], distribution: Distribution) -> None:
    expected = (distribution.n, *distribution.shape)
    if y.shape == expected:
        return
    raise InputError(
        f"y must have shape {expected}, {'one vector' if distribution.shape else 'one number'} for each of the "
        f"{distribution.n} rows of {type(distribution).__name__}; got shape {y.shape}. {_shape_remedy(y, distribution)}"
    )


def _shape_remedy(y: NDArray[Any], distribution: Distribution) -> str:
    if y.ndim and isinstance(distribution, Samples) and y.shape[0] == distribution.held.shape[1] != distribution.n:
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


DrawnRows = Binary | Classes | DistributionRows
"""Rows whose outcomes can be redrawn from the predictions."""


@dataclass(frozen=True, eq=False)
class RegionRows:
    """Outcomes y, predictions of regions or of distribution functions, and weights w: one per row, all checked."""

    y: NDArray[Any]
    prediction: Any
    w: FloatArray
    keep: NDArray[np.bool_] | None = None  # mask of the rows that are left of the caller's; None: all

    samples: ClassVar[None] = None  # predictions of regions are not known by draws
    names: ClassVar[None] = None  # outcomes are single values
    dtype: ClassVar[np.dtype[Any]] = DOUBLE

    @classmethod
    def read(cls, y: Any, prediction: Prediction, *, weights: Any = None, classes: Any = None) -> Self:
        """Return checked rows of outcomes and predictions; rows of weight 0 are dropped."""
        w = _read_weights(weights, prediction)
        return cls._kept(cls.read_outcomes(y, prediction, w, classes), prediction, w)

    @classmethod
    def alone(cls, prediction: Any, *, weights: Any = None) -> Self:
        return cls._kept(None, prediction, _read_weights(weights, prediction))

    @classmethod
    def _kept(cls, y: NDArray[Any] | None, prediction: Any, w: FloatArray) -> Self:
        """Return the rows with positive weight; `y` are their outcomes, None if there are none."""
        rows = kept_rows(w)
        if rows is None:
            return cls(np.zeros((prediction.n, 0)) if y is None else y, prediction, w)
        chosen = unit_weights(rows.size) if (w[rows] == 1).all() else w[rows]
        return cls(np.zeros((rows.size, 0)) if y is None else y, prediction.take(rows), chosen, w > 0)

    @property
    def n(self) -> int:
        return int(self.prediction.n)

    @classmethod
    def read_outcomes(cls, y: Any, prediction: Any, w: FloatArray, classes: Any) -> NDArray[Any] | None:
        """Return the outcomes of the rows with positive weight: here real numbers."""
        if classes is not None:
            raise InputError(
                f"{{classes=}} is for labels; the outcomes of {type(prediction).__name__} are numbers", option="classes"
            )
        outcomes = read_numbers(y, "y")
        _check_length(outcomes, prediction)
        return _real_outcomes(outcomes, w)[0]

    @property
    def kind(self) -> str:
        return str(self.prediction.prediction_kind)

    def take(self, rows: Rows | slice) -> Self:
        w = self.w[rows] if isinstance(rows, slice) else take_weights(self.w, rows)
        return type(self)(self.y[rows], self.prediction.take(rows), w)

    part = take


class IntervalRows(RegionRows):
    """Real outcomes and prediction intervals."""

    prediction: Intervals

    @property
    def points(self) -> FloatArray:
        """Both bounds, (n, L, 2)."""
        return np.stack([self.prediction.lower, self.prediction.upper], axis=2)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the outcome is covered and not equal to a bound, (n, L)."""
        y = self.y[:, None]
        return np.asarray((self.prediction.lower < y) & (y < self.prediction.upper))

    def is_nested(self, inner: int, outer: int) -> NDArray[np.bool_]:
        """Tell in which rows the interval of one level lies within that of another."""
        lower, upper = self.prediction.lower, self.prediction.upper
        return np.asarray((lower[:, outer] <= lower[:, inner]) & (upper[:, outer] >= upper[:, inner]))

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
    def points(self) -> FloatArray:
        return self.prediction.values[:, :, None]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the outcome is below the quantile, (n, Q)."""
        return np.asarray(self.y[:, None] < self.prediction.values)

    def is_nested(self, inner: int, outer: int) -> NDArray[np.bool_]:
        """Tell that the quantiles of every row do not decrease, which was checked when they were built."""
        return np.ones(self.n, dtype=bool)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the outcome is at most the quantile, (n, Q)."""
        return np.asarray(self.y[:, None] <= self.prediction.values)


class SetRows(RegionRows):
    """Labels as column numbers, and prediction sets."""

    prediction: Sets

    @property
    def points(self) -> FloatArray:
        """The size of each set, (n, L, 1)."""
        return self.sizes[:, :, None]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the outcome is in the set, which has no edge, (n, L)."""
        return self.covered

    def is_nested(self, inner: int, outer: int) -> NDArray[np.bool_]:
        mask = self.prediction.mask
        return np.asarray(~(mask[:, :, inner] & ~mask[:, :, outer]).any(axis=1))

    @property
    def covered(self) -> NDArray[np.bool_]:
        return np.asarray(self.prediction.mask[np.arange(self.n), self.y])

    @property
    def sizes(self) -> FloatArray:
        return self.prediction.sizes.astype(np.float64)

    @classmethod
    def read_outcomes(cls, y: Any, prediction: Sets, w: FloatArray, classes: Any) -> NDArray[Any]:
        labels, rows = as_array(y, name="y"), kept_rows(w)
        _check_length(labels, prediction)
        return read_columns(labels if rows is None else labels[rows], rows, K=prediction.K, classes=classes)


class CdfRows(RegionRows):
    """Values of distribution functions at the outcomes; y is empty."""

    prediction: CdfValues

    @classmethod
    def read_outcomes(cls, y: Any, prediction: CdfValues, w: FloatArray, classes: Any) -> None:
        if y is not None:
            raise InputError("CdfValues contain the outcome already; pass None for y")


def _read_weights(weights: Any, prediction: Any) -> FloatArray:
    if prediction.n == 0:
        raise InputError("there are no rows: prediction is empty; at least one row is needed")
    return read_weights(weights, prediction.n)


def _check_length(y: NDArray[Any], prediction: Prediction) -> None:
    name = type(prediction).__name__
    if y.ndim != 1:
        remedy = "Pass its one column as y[:, 0]" if y.ndim == 2 and y.shape[1] == 1 else "Pass one outcome per row"
        raise InputError(f"y must be 1-D, one outcome per row; got shape {y.shape}. {remedy}")
    if y.shape[0] != prediction.n:
        raise InputError(
            f"y and {name} must have the same number of rows; got {y.shape[0]} outcomes and {prediction.n} predictions"
        )
