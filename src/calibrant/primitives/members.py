"""An outcome and its draws as members of one set: calibrated, any of them could be the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray

BLOCK = 1 << 18  # numbers among the members of the rows that are looked at together


@dataclass(frozen=True, eq=False)
class Members:
    """The members z of each row, z_0 the outcome and z_1 to z_M its draws, to be had block by block."""

    y: FloatArray  # (n, D); numbers have D = 1
    draws: NDArray[Any]  # (n, M, D), as they came
    dtype: np.dtype[Any]  # the coarser of their types, in which both are meant

    @classmethod
    def of(cls, rows: LawRows) -> Self:
        """Take outcomes and their draws, which must be finite."""
        law = rows.law
        assert isinstance(law, Samples)  # the only kind that verbs of members read
        held = law.held if law.finite else law.draws  # the second names the infinite one
        return cls(rows.y.reshape(rows.n, -1), held.reshape(rows.n, law.M, -1), rows.dtype)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def M(self) -> int:
        """Number of draws per row."""
        return int(self.draws.shape[1])

    @property
    def D(self) -> int:
        """Number of coordinates."""
        return int(self.y.shape[1])

    @property
    def size(self) -> int:
        """How many rows make a block."""
        return max(1, BLOCK // ((self.M + 1) * self.D))

    def columns(self, part: slice) -> FloatArray:
        """Return z of these rows coordinate by coordinate, (D, r, M + 1)."""
        z = np.empty((self.D, len(self.y[part]), self.M + 1), self.dtype)
        with np.errstate(over="ignore"):
            z[:, :, 0] = self.y[part].T
            z[:, :, 1:] = self.draws[part].transpose(2, 0, 1)
        z = z.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            fits = self.dtype == np.float64 or np.isfinite(z.sum()) or np.isfinite(z).all()
        if not fits:
            row = part.start + int(np.argmax(~np.isfinite(z).all(axis=(0, 2))))
            raise InputError(
                "outcomes and draws are compared as {dtype}, the coarser of their types, and {row} goes "
                "beyond it. Pass both as float64",
                dtype=str(self.dtype),
                row=row,
            )
        return z

    def block(self, part: slice) -> FloatArray:
        """Return z of these rows, (r, M + 1, D)."""
        return self.columns(part).transpose(1, 2, 0)
