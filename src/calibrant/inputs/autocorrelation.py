"""Dependence of successive draws: how many of them are worth one independent draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray

BLOCK = 1 << 17  # draws whose spectra are taken together
MIN_DRAWS = 4  # fewer draws do not tell a lag of 1 from the unknown mean


def autocorrelation_time(draws: NDArray[Any]) -> FloatArray:
    r"""Return τ of draws (n, M, D) along their second axis for each coordinate, (D,), or (1,) for draws (n, M).

    .. math:: \tau = 1 + 2 \sum_{k \ge 1} \rho_k ,

    the number of successive draws that tell as much as one independent draw. :math:`\rho_k` is the mean over rows of
    the autocorrelation at lag k, and the sum ends before the first pair :math:`\rho_{2t} + \rho_{2t+1}` that is not
    positive (Geyer 1992), at the latest at M/3. What the unknown mean of each row takes away is added again (Wolff
    2004). Rows without spread are left out; 1 where nothing can be told, as with fewer than 4 draws.

    For independent draws the value is 1 on average, with a standard error of about 3/√(nM). If M is less than about
    20τ it is too low: thin the draws by it and look again. Draws that were sorted seem to depend on each other, though
    ranks do not mind.

    Every draw twice, which makes ρ_1 = ½:

    >>> draws = np.random.default_rng(0).normal(size=(2000, 50))
    >>> autocorrelation_time(np.repeat(draws, 2, axis=1)).round(1)
    array([2.])
    """
    columns = draws[:, :, None] if draws.ndim == 2 else draws
    return np.array([_time(columns[:, :, d]) for d in range(columns.shape[2])])


def _time(draws: NDArray[Any]) -> float:
    M = int(draws.shape[1])
    rho = _autocorrelations(draws) if M >= MIN_DRAWS else None
    if rho is None:
        return 1.0
    pairs = rho[: 2 * max(1, M // 6)].reshape(-1, 2).sum(axis=1)
    positive = int(np.argmin(np.append(pairs > 0, False)))
    L = max(1, 2 * positive)  # lags 0 to L - 1 are summed
    width = 2 * L - 1  # on both sides
    total = float(2 * rho[:L].sum() - 1)
    missing = total / (M - width)  # the variance of a row's mean, by which each lag is too low
    return (total + width * missing) / (1 + missing)


def _autocorrelations(draws: NDArray[Any]) -> FloatArray | None:
    """Return the mean over rows of ρ_0, ρ_1, ..; None if no row varies."""
    n, M = draws.shape
    power, rows = np.zeros(M + 1), 0
    size = max(1, BLOCK // M)
    for start in range(0, n, size):
        x = draws[start : start + size].astype(np.float64)
        x = x[x.max(axis=1) > x.min(axis=1)]
        x /= np.abs(x).max(axis=1, keepdims=True)  # squares stay in range
        x -= x.mean(axis=1, keepdims=True)
        length = np.sqrt((x * x).sum(axis=1, keepdims=True))
        x = x[length[:, 0] > 0] / length[length[:, 0] > 0]
        spectrum = np.fft.rfft(x, 2 * M, axis=1)
        power += (spectrum.real**2 + spectrum.imag**2).sum(axis=0)
        rows += len(x)
    if rows == 0:
        return None
    sums = np.fft.irfft(power, 2 * M)[:M] / rows
    return np.asarray(sums * M / (M - np.arange(M)))  # as many products at every lag
