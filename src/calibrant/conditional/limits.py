"""Means of residuals over some rows, and limits of what they estimate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray


class RegionMean(NamedTuple):
    """The weighted mean of a residual column over some rows, and what its limits need."""

    n: int
    mean: float
    stated: float  # weighted mean of what was stated
    v: float  # Σw²v / Σw²
    s2: float  # Σw²(F - mean)² / Σw²
    kappa: float  # Σw² / (Σw)²
    information: float  # (Σwv)² / Σw²v
    equal: bool  # whether weights are equal and rows independent
    cluster_se: float | None = None

    @classmethod
    def of(
        cls, F: FloatArray, v: FloatArray, stated: FloatArray, w: FloatArray, clusters: NDArray[np.intp] | None = None
    ) -> RegionMean:
        """Summarise the columns (rows,) of a region."""
        total, square = float(w.sum()), float((w * w).sum())
        mean = float(w @ F) / total
        seen = float((w * w) @ v)
        grouped = None if clusters is None else np.bincount(clusters, w * (F - mean))
        return cls(
            len(F),
            mean,
            float(w @ stated) / total,
            seen / square,
            float((w * w) @ (F - mean) ** 2) / square,
            square / total**2,
            float(w @ v) ** 2 / seen if seen > 0 else 0.0,
            clusters is None and bool((w == w[0]).all()),
            None if grouped is None else math.sqrt(float(grouped @ grouped)) / total,
        )

    @property
    def se(self) -> float:
        """The standard error of the mean: the larger of that stated and that seen; with clusters that of their sums."""
        return math.sqrt(self.kappa * max(self.s2, self.v)) if self.cluster_se is None else self.cluster_se

    def numbers(self, c: float, *, share: bool, unit: float) -> dict[str, float]:
        """Return what is shown: means of outcome and prediction, and their difference with limits, in a unit."""
        low, high = self.limits(c, share=share)
        values = {"difference": unit * self.mean, "low": unit * low, "high": unit * high}
        return {"observed": self.stated + unit * self.mean, "predicted": self.stated, **values}

    def limits(self, c: float, *, share: bool) -> tuple[float, float]:
        r"""Return limits of the difference, c standard errors away.

        Of components of ranks c is replaced by the quantile of Student's distribution of the same tail. Of shares they
        are the score limits: the δ with :math:`(\bar F - \delta)^2 \le C(\bar v + h + \delta(1 - 2\bar p) -
        \delta^2)`, :math:`C = c^2\kappa`, and h the variance that differences between rows add.
        """
        if not share or self.cluster_se is not None:
            from scipy.special import ndtr, stdtrit

            reach = (c if share else -float(stdtrit(self.n - 1, ndtr(-c)))) * self.se
            return self.mean - reach, self.mean + reach
        C, m, slope = c * c * self.kappa, self.mean, 1 - 2 * self.stated
        h = max(0.0, self.s2 - self.v - m * slope + m * m)
        b = m + C * slope / 2
        root = math.sqrt(max(0.0, b * b - (1 + C) * (m * m - C * (self.v + h))))
        return min(m, (b - root) / (1 + C)), max(m, (b + root) / (1 + C))  # a share of 0 or 1 is a limit itself
