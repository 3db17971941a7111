"""Probability integral transform."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.reading import read
from calibrant.errors import InputError
from calibrant.inputs import generator
from calibrant.inputs.judged import CdfRows, QuantileRows
from calibrant.inputs.laws import Samples
from calibrant.inputs.laws.parameters import read_array, refuse_where
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.pit_bounds import Bounds, pit_bounds
from calibrant.primitives.rank_counts import as_compared

JUDGED = ("samples", "laws", "quantiles", "cdf")
FEW = 50.0  # effective draws, below which the mean weight stands badly for the weight of the outcome


def pit(
    y: Any,
    prediction: Any,
    *,
    draw_weights: Any = None,
    y_weight: Any = None,
    rng: Any = None,
) -> FloatArray:
    r"""Value of the predicted distribution function at the outcome: uniform on [0, 1] if predictions are calibrated.

    .. math:: u_i = F_i(y_i) \qquad\text{or}\qquad
              u_i = F_i(y_i-) + V_i \bigl(F_i(y_i) - F_i(y_i-)\bigr), \quad V_i \sim \mathrm{U}(0, 1),

    the second where the distribution function jumps at the outcome.

    Parameters
    ----------
    y
        Outcomes; None for `CdfValues`, which hold them already.
    prediction
        A law, `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), `Quantiles` or `CdfValues`.
    draw_weights : array_like of shape (n, M), optional
        Importance weights of the draws of each row, target over proposal, on one scale with `y_weight`.
    y_weight : array_like of shape (n,), optional
        The same at the outcome. Without it the mean weight of the draws stands for it, which is approximate.
    rng
        Generator or seed for V. Needed as soon as one row has a jump; draws and quantiles always have.

    Returns
    -------
    ndarray of shape (n,), or (n, D) for vectors, coordinate by coordinate

    Notes
    -----
    For M draws u falls on [#{x < y}, #{x <= y} + 1]/(M + 1): the rank of the outcome among its draws, exactly uniform
    if they are exchangeable, which #/M is not. For quantiles it falls on the cell of levels that holds y; nothing is
    interpolated, because interpolated values are not uniform, and rows beyond the outer quantiles are spread over the
    outer cells. Weighted draws: :math:`(\sum_{x<y} \omega + V(\omega(y) + \sum_{x=y} \omega)) / (\sum \omega +
    \omega(y))`, exactly uniform if both weights are known (Tibshirani et al. 2019). A law of one's own is taken to have
    no jumps; give one that has as `CdfValues`. `pit_histogram` needs no randomness.

    Examples
    --------
    >>> from calibrant import Normal, Samples
    >>> pit([0.0, 1.0], Normal([0.0, 1.0], 1.0))
    array([0.5, 0.5])

    The outcome lies above one of three draws, so in the second of four cells:

    >>> (pit([1.5], Samples([[1.0, 2.0, 3.0]]), rng=0) * 4).astype(int)
    array([1])
    """
    rows = read("pit", JUDGED, y, prediction)
    low, high = _bounds(cast("LawRows | QuantileRows | CdfRows", rows), draw_weights, y_weight)
    wide = np.count_nonzero(high > low)
    if not wide:
        return np.array(high)
    if rng is None:
        raise InputError(
            f"{wide} of {low.size} values are intervals, between which chance decides; pass rng=, a numpy Generator or "
            "a whole number. pit_histogram needs none"
        )
    return np.asarray(low + generator(rng).random(low.shape) * (high - low))


def _bounds(rows: LawRows | QuantileRows | CdfRows, draw_weights: Any, y_weight: Any) -> Bounds:
    if draw_weights is None:
        if y_weight is not None:
            raise InputError("y_weight goes with draw_weights, on one scale; give both or neither")
        return pit_bounds(rows)
    if not isinstance(rows, LawRows) or not isinstance(rows.law, Samples):
        got = type(rows.law if isinstance(rows, LawRows) else rows.prediction).__name__
        raise InputError(f"draw_weights are for Samples; leave them out for {got}")
    weights = _read(draw_weights, "draw_weights", (rows.n, rows.law.M), ("row", "draw"))
    own = None if y_weight is None else _read(y_weight, "y_weight", (rows.n,), ("row",))
    largest = weights.max(axis=1) if own is None else np.maximum(weights.max(axis=1), own)
    refuse_where(largest == 0, largest, "the weights of a row must not all be 0", "Drop such rows")
    power = -np.frexp(largest)[1]  # weights of a row times a power of two, so that sums and squares stay in float64
    weights = np.ldexp(weights, power[:, None])
    own = _mean_weight(weights) if own is None else np.ldexp(own, power)
    return _weighted_bounds(rows, rows.law, weights, own)


def _weighted_bounds(rows: LawRows, law: Samples, weights: FloatArray, own: FloatArray) -> Bounds:
    total = weights.sum(axis=1) + own
    draws, y = as_compared(law.held, rows.dtype), as_compared(rows.y, rows.dtype)
    if not law.shape:
        return _between(draws, y, weights, own, total)
    parts = [_between(draws[:, :, d], y[:, d], weights, own, total) for d in range(law.shape[0])]
    low, high = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
    return low, high


def _between(draws: NDArray[Any], y: NDArray[Any], weights: FloatArray, own: FloatArray, total: FloatArray) -> Bounds:
    less = np.where(draws < y[:, None], weights, 0.0).sum(axis=1)
    at_most = np.where(draws <= y[:, None], weights, 0.0).sum(axis=1)
    return less / total, np.minimum((at_most + own) / total, 1.0)


def _mean_weight(weights: FloatArray) -> FloatArray:
    effective = weights.sum(axis=1) ** 2 / (weights * weights).sum(axis=1)
    if effective.min() < FEW:
        warnings.warn(
            f"the weighted draws of a row are worth only {effective.min():.3g} equal ones: without y_weight the values "
            "are uniform only to one or two over that number. Pass y_weight",
            stacklevel=4,
        )
    return np.asarray(weights.mean(axis=1))


def _read(values: Any, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> FloatArray:
    array = read_array(values, name)
    if array.shape != shape:
        wanted = "one weight per draw, shape (n, M)" if len(shape) == 2 else "one weight per row, shape (n,)"
        raise InputError(f"{name} must have {wanted} = {shape}; got shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    refuse_where(bad, array, f"{name} must be finite and at least 0", "Drop or repair such rows", axes=axes)
    return array
