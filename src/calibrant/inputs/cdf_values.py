"""Values of the predictive distribution function at the outcome, for distributions that calibrant does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant.inputs.arrays import FloatArray, read_parameters, refuse_where
from calibrant.inputs.distribution import Checked


@dataclass(frozen=True, eq=False, init=False)
class CdfValues(Checked):
    """F(y) of the predictive distribution of each row, and F(y-) where the distribution has atoms.

    Parameters
    ----------
    at : array_like of shape (n,)
        P(Y <= y) at the outcome y of the row.
    below : array_like of shape (n,), optional
        P(Y < y); default: the distribution has no jump at y.

    Examples
    --------
    >>> CdfValues([0.2, 0.9], below=[0.0, 0.7])
    CdfValues(n=2)
    """

    prediction_kind: ClassVar[str] = "cdf"
    at: FloatArray  # (n,)
    below: FloatArray  # (n,)

    def __init__(self, at: ArrayLike, below: ArrayLike | None = None) -> None:
        high, low = read_parameters(at=at, below=at if below is None else below)
        for values, name in ((high, "at"), (low, "below")):
            refuse_where(~((values >= 0) & (values <= 1)), values, f"{name} must lie in [0, 1]", "It is a probability")
        refuse_where(low > high, low, "below must not exceed at", "It is P(Y < y), and at is P(Y <= y)")
        self._hold(at=high, below=low)

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> CdfValues:
        """Return the values whose `columns` these are."""
        return cls(columns[:, 0], columns[:, 1])

    def columns(self) -> tuple[list[Any], FloatArray]:
        return ["CdfValues"], np.stack([self.at, self.below], axis=1)

    def __repr__(self) -> str:
        return f"CdfValues(n={self.n})"
