"""Do the draws of a row depend on their neighbours? Lag-1 coefficients, with exact moments under exchangeable draws."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.core.pvalues import normal_sf
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.autocorrelation import centred

MAX_DRAWS_AT_ONCE = 1 << 20


class LagOne(NamedTuple):
    """The lag-1 coefficients of draws, summed over the rows; one entry per coordinate."""

    rho: FloatArray  # (D,), the mean over the rows that vary; NaN if there are none
    z: FloatArray  # (D,), standardised by the exact mean and variance under exchangeable draws; NaN if that is 0
    pvalue: FloatArray  # (D,), upper normal tail of z: for 5 rows or more; 1 where z is NaN
    rows: NDArray[np.int64]  # (D,), the rows that vary
    ordered: bool  # whether the draws of every row are sorted in every coordinate, so that they tell nothing
    repeated: bool  # whether every row has the same draws, of which there are two rows or more


def lag_one(draws: NDArray[Any]) -> LagOne:
    r"""Return the lag-1 coefficients of finite draws (n, M) or (n, M, D), whose neighbours are on the second axis.

    .. math:: \rho = \sum_{j < M} z_j z_{j+1} \Big/ \sum_j z_j^2

    with z the draws of a row less their mean. If draws are exchangeable, every order of them is equally likely, so that

    .. math:: \mathrm{E}\,\rho = -\frac1M, \qquad
        \mathrm{Var}\,\rho = \frac{1 - \kappa}{M} + \frac{2(2\kappa - 1)}{M(M-1)} + \frac{3 - 6\kappa}{M(M-1)}
        - \frac1{M^2}, \qquad \kappa = \sum z^4 \Big/ \Bigl(\sum z^2\Bigr)^2

    exactly (Wald and Wolfowitz 1943), whatever their distribution. The statistic is :math:`\sum_i (\rho_i + 1/M)` over
    the root of the sum of the variances. Rows of equal draws are left out. Sums over coordinates would not do: those of
    a row depend on each other.

    1, 2, 3, 4 in this order have ρ = (1.5·.5 - .5·.5 + .5·1.5)/5, and -1/4 is expected:

    >>> found = lag_one(np.array([[1.0, 2.0, 3.0, 4.0]]))
    >>> found.rho, found.ordered
    (array([0.25]), True)
    """
    columns = draws[:, :, None] if draws.ndim == 2 else draws
    M, D = columns.shape[1:]
    total, variance, rows = np.zeros(D), np.zeros(D), np.zeros(D, np.int64)
    ordered, repeated = True, len(columns) > 1
    for part in chunks(len(columns), max(1, MAX_DRAWS_AT_ONCE // (M * D))):
        x = columns[part].astype(np.float64)
        ordered = ordered and bool((x[:, 1:] >= x[:, :-1]).all())
        repeated = repeated and bool((x == columns[:1]).all())
        sums = lag_sums(x)
        total, variance, rows = total + sums.total, variance + sums.variance, rows + sums.rows
    z, rho = standardised(total, variance, rows, M)
    pvalue = np.array([1.0 if math.isnan(value) else normal_sf(value) for value in z])
    return LagOne(rho, z, pvalue, rows, ordered, repeated)


class LagSums(NamedTuple):
    """Weighted sums over rows of the lag-1 coefficients and of their variances, and the rows that vary; each (D,)."""

    total: FloatArray  # Σwρ
    variance: FloatArray  # Σw² Var ρ
    rows: NDArray[np.int64]
    weight: FloatArray  # Σw of the rows that vary


def lag_sums(x: FloatArray, w: FloatArray | None = None) -> LagSums:
    rho, spread = _of_rows(x)
    varies = ~np.isnan(rho)
    weight = (np.ones(len(x)) if w is None else w)[:, None] * varies
    total, variance = np.where(varies, weight * rho, 0.0).sum(axis=0), (weight**2 * spread).sum(axis=0)
    return LagSums(total, variance, varies.sum(axis=0), weight.sum(axis=0))


def standardised(
    total: FloatArray, variance: FloatArray, weight: NDArray[Any], M: int
) -> tuple[FloatArray, FloatArray]:
    """Return z and the mean coefficient from sums; NaN where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, (total + weight / M) / np.sqrt(variance), np.nan)
        return z, total / np.where(weight > 0, weight, np.nan)


def _of_rows(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ρ (n, D) of draws (n, M, D), NaN where all are equal, and its variance under exchangeable draws."""
    M = x.shape[1]
    varies = x.max(axis=1) > x.min(axis=1)
    z = centred(x)
    square = (z * z).sum(axis=1)
    varies &= square > 0
    scale = np.where(varies, square, 1.0)
    rho = np.where(varies, (z[:, 1:] * z[:, :-1]).sum(axis=1) / scale, np.nan)
    kappa = (z**4).sum(axis=1) / scale**2
    pairs = M * (M - 1) if M > 1 else 1
    variance = (1 - kappa) / M + 2 * (2 * kappa - 1) / pairs + (3 - 6 * kappa) / pairs - 1 / M**2
    return rho, np.maximum(variance, 0.0) if M > 2 else np.zeros_like(variance)  # two draws have one ρ in either order
