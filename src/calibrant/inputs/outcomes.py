"""Outcomes judged by predictive laws: real numbers or vectors at the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.bounds import refuse_rounded
from calibrant.inputs.labels import Rows
from calibrant.inputs.laws.law import Law
from calibrant.inputs.laws.parameters import read_numbers
from calibrant.inputs.laws.samples import Samples, float_type
from calibrant.inputs.weights import FloatArray, is_unit, read_weights, take_weights

DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class LawRows:
    """Outcomes y, the law that was predicted for each of them, weights w: one per row, all legal."""

    y: FloatArray  # (n, *law.shape)
    law: Law
    w: FloatArray
    keep: NDArray[np.bool_] | None = None  # which of the caller's rows these are; None: all
    dtype: np.dtype[Any] = DOUBLE  # the coarser type of outcomes and draws, in which they are compared

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    def take(self, rows: Rows) -> LawRows:
        """Return these rows alone."""
        return LawRows(self.y[rows], self.law.take(rows), take_weights(self.w, rows), None, self.dtype)


def read_outcomes(y: Any, law: Any, *, weights: Any = None) -> LawRows:
    """Return checked rows of outcomes and their laws; rows of weight 0 are dropped.

    >>> from calibrant.inputs.laws import Normal
    >>> rows = read_outcomes([0.5, 1.5, 2.5], Normal([0, 1, 2], 1.0), weights=[1, 0, 2])
    >>> rows.n, rows.law.mean.tolist()
    (2, [0.0, 2.0])
    """
    if not isinstance(law, Law):
        raise InputError(
            "prediction must be a law, such as Normal(mean, std), MvNormal(mean, cov) or Samples(draws); "
            f"got {shown(law)} ({type(law).__name__})"
        )
    if law.n == 0:
        raise InputError("there are no rows: prediction is empty; at least one row is needed")
    outcomes = read_numbers(y, "y")
    _check_shape(outcomes, law)
    w = read_weights(weights, law.n)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite and is refused as such
        values = outcomes.astype(np.float64, copy=False)
    if is_unit(w) or w.min() > 0:
        refuse_rounded(outcomes, "y")
        refuse_not_finite_outcome(values, None)
        return LawRows(values, law, w, None, _coarser(outcomes, law))
    rows = np.flatnonzero(w)
    refuse_rounded(outcomes[rows], "y", rows)
    refuse_not_finite_outcome(values[rows], rows)
    return LawRows(values[rows], law.take(rows), w[rows], w > 0, _coarser(outcomes, law))


def _coarser(y: NDArray[Any], law: Law) -> np.dtype[Any]:
    draws = law.held.dtype if isinstance(law, Samples) else DOUBLE
    return min(float_type(y.dtype), draws, key=lambda dtype: dtype.itemsize)


def _check_shape(y: NDArray[Any], law: Law) -> None:
    expected = (law.n, *law.shape)
    if y.shape == expected:
        return
    raise InputError(
        f"y must have shape {expected}, {'one vector' if law.shape else 'one number'} for each of the {law.n} rows of "
        f"{type(law).__name__}; got shape {y.shape}. {_shape_remedy(y, law)}"
    )


def _shape_remedy(y: NDArray[Any], law: Law) -> str:
    if y.ndim and isinstance(law, Samples) and y.shape[0] == law.M != law.n:
        return (
            "The axes of draws look swapped: draws must be (n, M) or (n, M, D), the draws of outcome i in draws[i]. "
            "Pass numpy.swapaxes(draws, 0, 1)"
        )
    if y.ndim and y.shape[0] != law.n:
        return "Take outcomes and law from the same table"
    if not law.shape and y.shape == (law.n, 1):
        return "Pass its one column as y[:, 0]"
    if not law.shape and y.ndim == 2:
        return "Vectors are judged by a law of vectors, such as MvNormal(mean, cov)"
    if y.ndim == 1 and law.shape == (1,):
        return "Pass y[:, None], vectors of one coordinate"
    if y.ndim == 1:
        return "Pass one vector per row"
    return "Take outcomes and law from the same table"


def refuse_not_finite_outcome(y: FloatArray, rows: Rows | None) -> None:
    """Raise an error that shows the first missing or infinite outcome; `rows` are the caller's row numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(y.sum()):  # then all are; one pass that writes nothing
            return
    bad = ~np.isfinite(y)
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), y.shape)
    row = int(place[0] if rows is None else rows[place[0]])
    raise InputError(
        "y must be finite; {row}{coordinate} is {value}{missing}. Drop or repair such rows",
        row=row,
        coordinate="" if y.ndim == 1 else f", coordinate {int(place[1])}",
        value=y[place],
        missing=" (missing)" if np.isnan(y[place]) else "",
    )
