"""Features whose products are a Gaussian kernel on an interval.

k(u) = exp(-u²/2) is the mean of cos(ωu) over ω ~ Normal(0, 1). Summed over equidistant frequencies, h apart, it becomes
Σ_m k(u + 2πm/h), and on an interval of width R the copies m ≠ 0 vanish when 2π/h exceeds R by nine length scales. So
k(x - x') is a product of finitely many cosines and sines, within 1e-15, and a mean over all pairs of points is the
product of two short vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray

HIGHEST = 8.6  # frequencies beyond have less than 1e-17 of the mass
MARGIN = 8.8  # in length scales; a copy that far away is below 1e-16
MOST_COLUMNS, FEW_COLUMNS = 8192, 512
MOST_NUMBERS = 1 << 24  # of features, 128 MiB; few columns are always affordable
SLACK = 0.25  # how much wider than the points the interval is on each side, so that outcomes lie in it too
CHUNK = 1 << 17


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The feature map x -> (√q_k cos(ω_k x), √q_k sin(ω_k x)) on [low, high]."""

    low: float
    high: float
    length: float

    @classmethod
    def covering(cls, points: FloatArray, length: float) -> Spectrum | None:
        """Return the map on an interval around these points; None when that takes too many columns."""
        low, high = float(points.min()), float(points.max())
        slack = SLACK * (high - low) + length
        found = cls(low - slack, high + slack, length)
        most = max(FEW_COLUMNS, min(MOST_COLUMNS, MOST_NUMBERS // len(points)))
        return found if most // 2 * found.step > HIGHEST else None

    @property
    def step(self) -> float:
        """The distance of frequencies."""
        return 2 * math.pi / ((self.high - self.low) / self.length + MARGIN)

    @property
    def roots(self) -> FloatArray:
        """√q_k of the frequencies k · step."""
        omega = self.step * np.arange(math.ceil(HIGHEST / self.step) + 1)
        q = 2 * self.step * np.exp(-0.5 * omega * omega) / math.sqrt(2 * math.pi)
        q[0] /= 2
        return np.sqrt(q)

    def covers(self, t: FloatArray) -> NDArray[np.bool_]:
        """Tell which outcomes lie in the interval."""
        return (t >= self.low) & (t <= self.high)

    def features(self, t: FloatArray) -> FloatArray:
        """Return the features of outcomes, (*t.shape, columns)."""
        roots = self.roots
        angle = self._angle(t)[..., None] * np.arange(roots.size)
        return np.concatenate([roots * np.cos(angle), roots * np.sin(angle)], axis=-1)

    def mean_features(self, points: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted mean of the features over the points of each row: (n, M) to (n, columns)."""
        roots = self.roots
        mean = np.empty((len(points), roots.size), dtype=np.complex128)
        rows = max(1, CHUNK // points.shape[1])
        for start in range(0, len(points), rows):
            part = slice(start, start + rows)
            wave = np.exp(1j * self._angle(points[part]))
            power = np.broadcast_to(weights, wave.shape).astype(np.complex128)
            for k in range(roots.size):
                mean[part, k] = power.sum(axis=1)
                power *= wave
        mean *= roots
        return np.concatenate([mean.real, mean.imag], axis=1)

    def _angle(self, x: FloatArray) -> FloatArray:
        return np.asarray((x - 0.5 * (self.low + self.high)) / self.length * self.step)


def products(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return sums over the last axis of two arrays that broadcast; a column against a row is a matrix product.

    Means of a positive kernel: what rounding makes negative is 0.
    """
    if x.ndim == y.ndim == 3 and x.shape[1] == y.shape[0] == 1:
        value = x[:, 0] @ y[0].T
    elif x.ndim == y.ndim == 3 and x.shape[0] == y.shape[1] == 1:
        value = y[:, 0] @ x[0].T
    else:
        value = np.einsum("...c,...c->...", x, y)
    return np.asarray(np.maximum(value, 0.0))
