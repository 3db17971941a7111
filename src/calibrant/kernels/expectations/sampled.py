"""Means by draws from the law: what is left where there is no closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs.laws import Law
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.points import PointMeans
from calibrant.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class SampledMeans(PointMeans):
    """Unbiased means over M draws per row: draw m meets draw m of another row, and draw m + M/2 of its own.

    This costs M values of the kernel per pair and not M², and is as precise per value. `inner` takes all pairs.
    """

    @classmethod
    def of(cls, law: Law, kernel: Kernel, draws: Any, rng: Any) -> SampledMeans:
        """Draw from the law; the number of draws is even."""
        M = check_count("draws", draws, least=2)
        if M % 2:
            raise InputError(
                f"draws must be even, as one half of the draws of a row meets the other; got {M}. Pass {M + 1}"
            )
        return cls(law.sample(M, generator(rng)), np.full(M, 1 / M), kernel)

    @property
    def draws(self) -> FloatArray:
        """The draws, (n, M) or (n, M, D)."""
        return self.points

    def double(self, i: Rows, j: Rows) -> FloatArray:
        """Return the mean over pairs of draws of the same number; rows i and j are different."""
        total: FloatArray = np.zeros(())
        for m in range(self.weights.size):
            total = total + self._kernel(self.points[i, m], self.points[j, m])
        return np.asarray(total / self.weights.size)

    def alone(self, i: Rows) -> FloatArray:
        """Return the mean over pairs of draws m and m + M/2 of row i."""
        half = self.weights.size // 2
        total: FloatArray = np.zeros(())
        for m in range(half):
            total = total + self._kernel(self.points[i, m], self.points[i, m + half])
        return np.asarray(total / half)

    def inner(self, i: Rows, j: Rows) -> FloatArray:
        """Return the mean over all pairs of draws, equal ones too."""
        return super().double(i, j)
