"""The summary of one set of points for the Fréchet distance: mean and covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, read_array
from calibrant.inputs.options import check_count
from calibrant.points.inputs import read_points
from calibrant.progress import steps

CHUNK_NUMBERS = 1 << 21  # coordinates that are summed together
MIN_CHUNK_POINTS = 256  # fewer do not pay for adding d × d numbers
ENTRY_ROUNDING = 1e-8  # of an entry, in units of s_i s_j
SINGLE_ROUNDING = 1e-6  # of an entry from float32 data, in units of s_i s_j


@dataclass(frozen=True, eq=False, repr=False)
class PointMoments(Summary):
    r"""Number, mean and scatter :math:`\sum_i (x_i - \bar x)(x_i - \bar x)^T` of points in d dimensions.

    Merged by Chan's formula, which does not subtract large numbers.

    >>> first, second = PointMoments.of([[0.0, 0.0], [2.0, 0.0]]), PointMoments.of([[1.0, 3.0]])
    >>> both = first + second
    >>> both.n, both.mean.tolist(), both.covariance.tolist()
    (3, [1.0, 1.0], [[1.0, 0.0], [0.0, 3.0]])
    """

    rows: int
    mean: FloatArray  # (d,)
    scatter: FloatArray  # (d, d)

    def __post_init__(self) -> None:
        super().__post_init__()
        if problem := _misfit(self.rows, self.mean, self.scatter):
            raise SummaryError(f"PointMoments holds n, a mean (d,) and a scatter (d, d); {problem}")

    @classmethod
    def of(cls, points: ArrayLike) -> Self:
        """Read points (n, d), one row each, from any container."""
        X = read_points(points, "points", least=1)
        return cls.about(X, np.zeros(X.shape[1]))

    @classmethod
    def of_covariance(cls, n: int, mean: ArrayLike, covariance: ArrayLike) -> Self:
        """Read moments that were computed elsewhere: mean (d,) and covariance (d, d), divisor n - 1, of n points."""
        rows = check_count("n", n, least=2)
        mu, S = read_array(mean, "mean"), read_array(covariance, "covariance")
        if mu.ndim != 1 or S.shape != (mu.size, mu.size):
            raise InputError(
                f"mean must have shape (d,) and covariance shape (d, d); got {mu.shape} and {S.shape}. A single "
                "column has the covariance [[variance]]"
            )
        if problem := _misfit(rows, mu, S) or _indefinite(S):
            raise InputError(f"mean and covariance must be those of points; {problem}")
        with np.errstate(over="ignore"):  # overflow is refused
            return cls(rows, mu, (S + S.T) * ((rows - 1) / 2))

    @classmethod
    def about(cls, X: FloatArray, origin: FloatArray, rows: NDArray[np.intp] | None = None) -> Self:
        """Return the moments of X - origin, or of some rows of it; X (n, d) was read before.

        Points are summed chunk by chunk, as differences from the first point: a large offset costs no digits, and a
        constant column has scatter 0.
        """
        n, d = X.shape if rows is None else (rows.size, X.shape[1])
        base = X[0] if rows is None else X[rows[0]]
        mean, scatter = np.zeros(d), np.zeros((d, d))
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused
            for start, stop in steps(n, size=max(MIN_CHUNK_POINTS, CHUNK_NUMBERS // d), label="summing points"):
                many = stop - start
                step = np.empty((many + 1, d))
                np.subtract(X[start:stop] if rows is None else X[rows[start:stop]], base, out=step[:-1])
                own = step[:-1].mean(axis=0)
                step[:-1] -= own
                step[-1] = (own - mean) * np.sqrt(start * many / stop)  # Chan's term, as one more row
                mean += (own - mean) * (many / stop)
                scatter += step.T @ step
        if not np.isfinite(scatter.sum()):
            raise InputError("points are too large for the sums of their squares; give them in other units")
        return cls(n, (base - origin) + mean, scatter)

    @classmethod
    def zero(cls) -> Self:
        return cls(0, np.zeros(0), np.zeros((0, 0)))

    def merged(self, other: Self) -> Self:
        if self.d != other.d:
            raise SummaryError(f"points with {self.d} columns do not merge with points with {other.d} columns")
        n = self.rows + other.rows
        step = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused
            scatter = np.multiply.outer(step, step)
            scatter *= self.rows * other.rows / n
            scatter += self.scatter
            scatter += other.scatter
        return type(self)(n, self.mean + step * (other.rows / n), scatter)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.rows

    @property
    def d(self) -> int:
        """Number of coordinates."""
        return self.mean.size

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix (d, d), with divisor n - 1."""
        if self.rows < 2:
            raise SummaryError(f"a covariance needs at least 2 points; these are the moments of {self.rows}")
        return self.scatter / (self.rows - 1)


def _misfit(n: int, mean: FloatArray, scatter: FloatArray) -> str:
    """Return what is wrong with these moments, judged number by number, or an empty text."""
    if n < 0 or scatter.shape != (mean.size, mean.size) or (n == 0) != (mean.size == 0):
        return f"got n {n}, a mean of shape {mean.shape} and a scatter of shape {scatter.shape}"
    if not (np.isfinite(mean).all() and np.isfinite(scatter).all()):
        return "its numbers must be finite; give the points in other units"
    if (smallest := np.diagonal(scatter).min(initial=0.0)) < 0:
        at = int(np.argmin(np.diagonal(scatter)))
        return f"sums of squares are at least 0, got {smallest:.6g} in column {at}"
    return ""


def _indefinite(S: FloatArray) -> str:
    """Return a message if a matrix is not symmetric, or has an eigenvalue below 0 that rounding does not explain.

    Errors ε of the correlation matrix move its eigenvalues by at most ε d; one Cholesky factorisation shows whether all
    of them are above -ε d.
    """
    size = np.sqrt(np.diagonal(S))
    size = np.where(size > 0, size, 1.0)
    C = S / size / size[:, None]
    lopsided = (np.abs(C - C.T) > ENTRY_ROUNDING).any(axis=1)
    if lopsided.any():
        i = int(np.argmax(lopsided))
        return f"row {i} and column {i} differ, so the matrix is not symmetric"
    C[np.diag_indices_from(C)] += SINGLE_ROUNDING * len(C)
    try:
        np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        return "the covariance has an eigenvalue below 0: a combination of the columns would have a negative variance"
    return ""
