"""Dependence of successive draws: how many of them are worth one independent draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray

MAX_DRAWS_TRANSFORMED = 1 << 17  # at once
SMALL_EXCESS = 0.02  # of a coefficient over what is expected of independent draws, at which the sum of τ ends


def autocorrelation_time(draws: NDArray[Any]) -> FloatArray:
    r"""Return τ of draws (n, M, D) along their second axis for each coordinate, (D,), or (1,) for draws (n, M).

    .. math:: \tau = 1 + 2 \sum_{k \ge 1} (\rho_k + 1/M) ,

    the number of successive draws that tell as much as one independent draw. :math:`\rho_k` is the mean over rows of
    the coefficient at lag k (see `lag_coefficients`); that of exchangeable draws at lag 1 is -1/M on average, because
    the mean of each row is unknown. The sum ends before the first term of at most 0.02. Rows without spread are left
    out; 1 where nothing can be told.

    Independent draws have a value of 1 or a little more, also antithetic ones. If M is less than about 20τ, the value
    is too low: thin the draws by it and look again. Draws that were sorted seem to depend on each other, though ranks
    do not mind.

    Every draw twice, which makes ρ_1 = ½:

    >>> draws = np.random.default_rng(0).normal(size=(2000, 50))
    >>> autocorrelation_time(np.repeat(draws, 2, axis=1)).round(1)
    array([2.])
    """
    columns = draws[:, :, None] if draws.ndim == 2 else draws
    n, M, D = columns.shape
    size = max(1, MAX_DRAWS_TRANSFORMED // (M * D))
    sums = np.zeros((M, D))
    for start in range(0, n, size):
        x = columns[start : start + size].astype(np.float64)
        sums += lag_coefficients(x, np.ones(len(x)))
    return time_of_sums(sums)


def centred(x: FloatArray) -> FloatArray:
    """Return the draws of each row (n, M, D) less their mean, in units in which squares stay in range."""
    x = x / np.maximum(np.abs(x).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(x - x.mean(axis=1, keepdims=True))


def lag_coefficients(x: FloatArray, w: FloatArray) -> FloatArray:
    r"""Return the coefficients at lags 0 to M - 1 of draws (n, M, D), (M, D), summed over rows with weights w.

    .. math:: \rho_k = \sum_{j \le M - k} z_j z_{j+k} \Big/ \sum_j z_j^2

    with z the draws of a row less their mean; 0 for a row of equal draws, also at lag 0.
    """
    M = x.shape[1]
    z = centred(x)
    z /= np.maximum(np.sqrt((z * z).sum(axis=1, keepdims=True)), np.finfo(np.float64).tiny)
    spectrum = np.fft.rfft(z, 2 * M, axis=1)
    power = np.tensordot(w, spectrum.real**2 + spectrum.imag**2, axes=1)
    return np.asarray(np.fft.irfft(power, 2 * M, axis=0)[:M])


def time_of_sums(sums: FloatArray) -> FloatArray:
    """Return τ from the coefficients (M, D) summed over rows; those at lag 0 are the total weight of rows that vary."""
    excess = sums[1:] / np.where(sums[0] > 0, sums[0], np.inf) + 1 / len(sums)
    used = np.logical_and.accumulate((excess > SMALL_EXCESS) & (sums[0] > 0), axis=0)
    return np.asarray(1 + 2 * np.where(used, excess, 0.0).sum(axis=0))
