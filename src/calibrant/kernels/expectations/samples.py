"""Means under draws that stand for a law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Samples
from calibrant.inputs.weights import FloatArray
from calibrant.kernels.distances import Rows
from calibrant.kernels.expectations.points import PointMeans
from calibrant.kernels.kernel import Kernel


@dataclass(frozen=True, eq=False)
class SampleMeans(PointMeans):
    """Means over the draws of each row: all pairs for two rows, pairs of different draws for one row alone.

    Both are unbiased for the law the draws come from. `inner` and `own` take all pairs also within a row, as the
    distance of embeddings needs it.
    """

    @classmethod
    def of(cls, law: Samples, kernel: Kernel) -> SampleMeans:
        """Return the means under equally likely draws."""
        return cls(law.draws, np.full(law.M, 1 / law.M), kernel)

    def alone(self, i: Rows) -> FloatArray:
        """Return the mean over pairs of different draws of row i."""
        M = self.weights.size
        if M < 2:
            raise NotApplicableError(
                "the mean over pairs of different draws needs at least 2 draws per row; got 1. Give more draws, or use "
                "unbiased=True, which does not pair a row with itself"
            )
        itself = self.kernel.at_zero
        return np.asarray((M * self.own[i] - itself) / (M - 1))
