"""The probability integral transform of outcomes, and its histogram."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.bins import width_edges
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.dispatch import CHUNK_ROWS, chunks
from calibrant.core.moments import Moments
from calibrant.core.results import Curve
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, read_array, refuse_where
from calibrant.inputs.kinds import read
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.bands import check_band_level, histogram_band
from calibrant.ranking.counting import JUDGED, PASS_RNG, Bounds, Forecast, as_compared, pit_bounds

ENOUGH_DRAWS = 50.0  # effective draws, below which the mean weight is a poor stand-in for the weight of the outcome
MAX_BINS = 1000


@public
def pit(
    y: ArrayLike | None, prediction: Forecast, *, y_weight: ArrayLike | None = None, rng: Rng | None = None
) -> FloatArray:
    r"""Value of the predicted distribution function at the outcome: uniform on [0, 1] if predictions are calibrated.

    .. math:: u_i = F_i(y_i) \qquad\text{or}\qquad
              u_i = F_i(y_i-) + V_i \bigl(F_i(y_i) - F_i(y_i-)\bigr), \quad V_i \sim \mathrm{U}(0, 1),

    the second where the distribution function jumps at the outcome.

    Parameters
    ----------
    y
        Outcomes; None for `CdfValues`, which have them already.
    prediction
        A distribution, `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), `Quantiles` or
        `CdfValues`. Rows of `Samples` may have unequal numbers of draws, and draws may have weights.
    y_weight : array_like of shape (n,), optional
        For `Samples` with ``draw_weights``: the weight of the outcome, on one scale with theirs. Without it the mean
        weight of the draws stands for it, which is approximate.
    rng
        Generator or seed for V. Needed as soon as one row has a jump; draws and quantiles always have.

    Returns
    -------
    ndarray of shape (n,), or (n, D) for vectors, coordinate by coordinate

    Examples
    --------
    >>> from calibrant import Normal, Samples
    >>> pit([0.0, 1.0], Normal([0.0, 1.0], 1.0))
    array([0.5, 0.5])

    The outcome lies above one of three draws, so in the second of four cells:

    >>> (pit([1.5], Samples([[1.0, 2.0, 3.0]]), rng=0) * 4).astype(int)
    array([1])
    """
    rows = read("pit", JUDGED, y, prediction, unequal=True, weighted=True)
    low, high = _bounds(cast("DistributionRows | QuantileRows | CdfRows", rows), y_weight)
    wide = np.count_nonzero(high > low)
    if not wide:
        return np.array(high)
    if rng is None:
        words = f"{wide} of {low.size} values are intervals, from which one value is drawn at random"
        raise InputError(f"{words}; {PASS_RNG}. pit_histogram needs none")
    return np.asarray(low + generator(rng).random(low.shape) * (high - low))


def _bounds(rows: DistributionRows | QuantileRows | CdfRows, y_weight: Any) -> Bounds:
    samples = rows.samples
    if samples is None or samples.draw_weights is None:
        if y_weight is not None:
            raise InputError("y_weight goes with Samples(draws, draw_weights=...), on one scale; give both or neither")
        return pit_bounds(rows)
    weights = samples.draw_weights
    at_outcome = None if y_weight is None else _read_y_weight(y_weight, rows.n)
    largest = weights.max(axis=1) if at_outcome is None else np.maximum(weights.max(axis=1), at_outcome)
    power = -np.frexp(largest)[1]  # weights of a row times a power of two, to keep sums and squares in float64
    weights = np.ldexp(weights, power[:, None])
    at_outcome = _mean_weight(weights) if at_outcome is None else np.ldexp(at_outcome, power)
    one_each = [1] * len(samples.shape)  # the weights of a draw are those of all its coordinates
    weights, at_outcome = weights.reshape(*weights.shape, *one_each), at_outcome.reshape(-1, *one_each)
    draws, y = as_compared(samples.held, rows.dtype), as_compared(rows.y, rows.dtype)[:, None]
    total = weights.sum(axis=1) + at_outcome
    less = np.where(draws < y, weights, 0.0).sum(axis=1)
    at_most = np.where(draws <= y, weights, 0.0).sum(axis=1)
    return less / total, np.minimum((at_most + at_outcome) / total, 1.0)


def _mean_weight(weights: FloatArray) -> FloatArray:
    effective = weights.sum(axis=1) ** 2 / (weights * weights).sum(axis=1)
    if effective.min() < ENOUGH_DRAWS:
        warnings.warn(
            f"the weighted draws of a row are worth only {effective.min():.3g} equal ones: without y_weight the values "
            "are uniform only to one or two over that number. Pass y_weight",
            stacklevel=4,
        )
    return np.asarray(weights.mean(axis=1))


def _read_y_weight(values: Any, n: int) -> FloatArray:
    array = read_array(values, "y_weight")
    if array.shape != (n,):
        raise InputError(f"y_weight must have one weight per row, shape (n,) = ({n},); got shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0))
    refuse_where(bad, array, "y_weight must be finite and at least 0", "Drop or repair such rows")
    return array


@public
def pit_histogram(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    bins: int = 10,
    level: float = 0.95,
    weights: ArrayLike | None = None,
) -> Curve:
    r"""Histogram of the probability integral transform, without randomness.

    A row whose transform is the interval [F(y-), F(y)] is spread evenly over it (Czado, Gneiting and Held 2009). Bin
    (a, b] has the share

    .. math:: \bar F(b) - \bar F(a), \qquad
              \bar F(t) = \frac1W \sum_i w_i \min\Bigl(1, \max\Bigl(0, \frac{t - F_i(y_i-)}{F_i(y_i) - F_i(y_i-)}
              \Bigr)\Bigr) .

    Flat if the predictions are calibrated, up to chance, which the band shows. A U: too narrow; a dome: too wide; a
    slope: biased, upwards if it falls to the right.

    The band has the limits of the counts of n uniform numbers, of :math:`(\sum w)^2 / \sum w^2` with weights, as in
    `rank_histogram`. Rows that are spread over several bins scatter less, so with them the band is too wide.

    Parameters
    ----------
    y
        Outcomes; None for `CdfValues`. Or the summary made by `summarize`.
    prediction
        A distribution, `Samples` (draws (n, M), those of row i in ``draws[i]``), `Quantiles` or `CdfValues`.
    bins
        Number of bins of equal width, right-closed, 0 in the first; at most 1000.
    level
        Probability that all shares of calibrated predictions lie in the band.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    Curve
        `lower`, `upper` (edges), `share` of the rows, `expected` share if calibrated, 1/bins, `density`, their ratio,
        and `band_low`, `band_high`, the limits of the share.

    Examples
    --------
    A distribution with mass 1/2 on each of two values is spread over both halves:

    >>> from calibrant import CdfValues
    >>> curve = pit_histogram(None, CdfValues([0.5, 1.0, 1.0], below=[0.0, 0.5, 0.0]), bins=4)
    >>> (curve.share * 12).round(9).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    return PIT_HISTOGRAM(y, prediction, PitOptions(bins, level), weights=weights)


@dataclass(frozen=True)
class PitOptions:
    bins: int
    level: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_band_level("level", self.level))
        if check_count("bins", self.bins) > MAX_BINS:
            raise InputError(f"bins must be at most {MAX_BINS}; got {shown(self.bins)}")


def _bin_shares(rows: DistributionRows | QuantileRows | CdfRows, options: PitOptions) -> Moments:
    """Return the moments of the share of each row that falls into each bin."""
    m = options.bins
    total = Moments.zero()
    for part in chunks(rows.n, max(1, CHUNK_ROWS // m)):
        piece = rows.part(part)
        low, high = pit_bounds(piece)
        if low.ndim > 1:
            words = f"pit_histogram shows one number per row; these are vectors of {low.shape[1]}"
            raise InputError(f"{words}. Pass one coordinate, such as Samples(draws[:, :, 0])")
        names = [_name(k, m) for k in range(m)]
        total += Moments.of(dict(zip(names, _shares((low, high), width_edges(m)), strict=True)), piece.w)
    return total


def _histogram(summary: Moments, options: PitOptions) -> Curve:
    m = options.bins
    share = np.array([summary.mean_of(_name(k, m)) for k in range(m)])
    ends, expected = width_edges(m), np.full(m, 1 / m)
    bins = {"lower": ends[:-1], "upper": ends[1:]}
    N = round(summary.w / (summary.w2 / summary.w))
    band = histogram_band(N, expected, options.level)
    limits = {"band_low": band.lower / N, "band_high": band.upper / N}
    return Curve(
        kind="pit_histogram",
        columns={**bins, "share": share, "expected": expected, "density": share / expected, **limits},
        method=f"each row spread evenly over [F(y-), F(y)]; exact simultaneous band of {N:,} uniform numbers",
        n=summary.n,
        details={"level": options.level},
    )


PIT_HISTOGRAM = enter(
    Entry(
        pit_histogram,
        PitOptions,
        _bin_shares,
        _histogram,
        reads=(Moments,),
        kind="curve",
        predictions=JUDGED,
        unequal=True,
    )
)


def _shares(bounds: Bounds, edges: FloatArray) -> list[FloatArray]:
    """Return for each bin the share of every row that falls into it."""
    low, high = bounds
    wide = high > low
    length = np.where(wide, high - low, 1.0)

    def below(t: float) -> FloatArray:
        return np.where(wide, np.clip((t - low) / length, 0.0, 1.0), high <= t)

    found, last = [], np.zeros(low.size)
    for t in edges[1:-1]:
        found.append(below(float(t)) - last)
        last = last + found[-1]
    return [*found, 1.0 - last]


def _name(k: int, m: int) -> str:
    return f"pit_histogram[bin {k} of {m}]"
