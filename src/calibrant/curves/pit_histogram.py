"""Histogram of the probability integral transform."""

from __future__ import annotations

import numpy as np

from calibrant.catalogue import AnyRows, curve
from calibrant.catalogue.reading import part_of
from calibrant.errors import InputError
from calibrant.inputs import check_count
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import width_edges
from calibrant.primitives.dispatch import CHUNK_ROWS, chunks
from calibrant.primitives.pit_bounds import Bounds, pit_bounds
from calibrant.results import Curve
from calibrant.summaries import Moments

MOST_BINS = 1000


def bin_shares(rows: AnyRows, *, bins: int) -> Moments:
    """Return the moments of the share of each row that falls into each bin."""
    m = check_count("bins", bins)
    if m > MOST_BINS:
        raise InputError(f"bins must be at most {MOST_BINS}; got {m}")
    total = Moments.zero()
    for part in chunks(rows.n, max(1, CHUNK_ROWS // m)):
        piece = part_of(rows, part)
        low, high = pit_bounds(piece)
        if low.ndim > 1:
            raise InputError(
                f"pit_histogram shows one number per row; the outcomes are vectors of {low.shape[1]} coordinates. "
                "Pass one coordinate, such as Samples(draws[:, :, 0]) or Normal(mean[:, 0], std[:, 0])"
            )
        names = [_name(k, m) for k in range(m)]
        total += Moments.of(dict(zip(names, _shares((low, high), width_edges(m)), strict=True)), piece.w)
    return total


@curve(reads=(Moments,), summarise=bin_shares, predictions=("samples", "laws", "quantiles", "cdf"))
def pit_histogram(summary: Moments, *, bins: int = 10) -> Curve:
    r"""Histogram of the probability integral transform, without randomness.

    A row whose transform is the interval [F(y-), F(y)] is spread evenly over it (Czado, Gneiting and Held 2009), so
    that bin (a, b] has the share

    .. math:: \bar F(b) - \bar F(a), \qquad
              \bar F(t) = \frac1W \sum_i w_i \min\Bigl(1, \max\Bigl(0, \frac{t - F_i(y_i-)}{F_i(y_i) - F_i(y_i-)}
              \Bigr)\Bigr) .

    Parameters
    ----------
    y, weights
        Outcomes and importance weights; y is None for `CdfValues`.
    prediction
        A law, `Samples` (draws (n, M), those of row i in ``draws[i]``), `Quantiles` or `CdfValues`.
    bins
        Number of bins of equal width, right-closed, 0 in the first.

    Returns
    -------
    Curve
        `lower`, `upper` (edges), `share` of the rows, `expected` share if calibrated, 1/bins, and `density`, their
        ratio.

    Notes
    -----
    Flat if the predictions are calibrated, up to chance. A U: too narrow; a dome: too wide; a slope: biased, upwards if
    it falls to the right. A flat histogram does not show that predictions are sharp, nor that they are right for every
    kind of row. Heights are judged by a test, not by eye.

    Examples
    --------
    A law with mass 1/2 on each of two values is spread over both halves:

    >>> from calibrant import CdfValues
    >>> curve = pit_histogram(None, CdfValues([0.5, 1.0, 1.0], below=[0.0, 0.5, 0.0]), bins=4)
    >>> (curve.share * 12).round(9).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    m = check_count("bins", bins)
    share = np.array([summary.mean_of(_name(k, m)) for k in range(m)])
    edges = width_edges(m)
    expected = np.full(m, 1 / m)
    return Curve(
        kind="pit_histogram",
        columns={
            "lower": edges[:-1],
            "upper": edges[1:],
            "share": share,
            "expected": expected,
            "density": share / expected,
        },
        method="each row spread evenly over [F(y-), F(y)]",
        n=summary.n,
        details={},
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
