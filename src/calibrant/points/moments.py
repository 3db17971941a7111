"""Mean and covariance of points: all that a Fréchet distance needs of a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, read_array
from calibrant.inputs.options import check_count
from calibrant.points.inputs import HUGE, read_points
from calibrant.progress import steps

CHUNK_NUMBERS = 1 << 21  # of the points that are looked at together
LEAST_CHUNK = 256  # points: fewer do not pay for adding d × d numbers
UNEQUAL = 1e-8  # of s_i s_j: what rounding may make of two equal entries, or of a correlation of 1
INDEFINITE = 1e-6  # of s_i s_j: what an entry may be off by before eigenvalues below 0 are no rounding of 32 bits


@dataclass(frozen=True, eq=False, repr=False)
class PointMoments(Summary):
    r"""Number, mean and scatter :math:`\sum_i (x_i - \bar x)(x_i - \bar x)^T` of points in d dimensions.

    Merged by Chan's formula, which subtracts no large numbers.

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
        problem = _misfit(self.rows, self.mean, self.scatter)
        if problem:
            raise SummaryError(f"PointMoments holds n, a mean (d,) and a scatter (d, d); {problem}")

    @classmethod
    def of(cls, points: Any) -> Self:
        """Read points (n, d), one row each, from any container."""
        X = read_points(points, "points", least=1)
        return cls.about(X, np.zeros(X.shape[1]))

    @classmethod
    def of_covariance(cls, n: int, mean: Any, covariance: Any) -> Self:
        """Read moments that were found elsewhere: mean (d,) and covariance (d, d), divisor n - 1, of n points."""
        rows = check_count("n", n, least=2)
        mu, S = read_array(mean, "mean"), read_array(covariance, "covariance")
        if mu.ndim != 1 or S.shape != (mu.size, mu.size):
            raise InputError(
                f"mean must have shape (d,) and covariance shape (d, d); got {mu.shape} and {S.shape}. A single "
                "column has the covariance [[variance]]"
            )
        if problem := _misfit(rows, mu, S) or _too_large(mu) or _no_scatter(S) or _indefinite(S):
            raise InputError(f"mean and covariance must be those of points; {problem}")
        with np.errstate(over="ignore"):  # what leaves float64 is refused
            return cls(rows, mu, (S + S.T) * ((rows - 1) / 2))

    @classmethod
    def about(cls, X: FloatArray, origin: FloatArray, rows: NDArray[np.intp] | None = None) -> Self:
        """Return the moments of X - origin, or of some rows of it; X (n, d) was read before.

        Points are looked at chunk by chunk, as differences from the first of them: a large offset costs no digits, and
        a column of equal numbers has scatter 0.
        """
        n, d = X.shape if rows is None else (rows.size, X.shape[1])
        base = X[0] if rows is None else X[rows[0]]
        mean, scatter = np.zeros(d), np.zeros((d, d))
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves float64 is refused
            for start, stop in steps(n, size=max(LEAST_CHUNK, CHUNK_NUMBERS // d), label="summing points"):
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
        """Return no points, of no dimensions."""
        return cls(0, np.zeros(0), np.zeros((0, 0)))

    def merged(self, other: Self) -> Self:
        """Return the moments of the points of both."""
        if not self.rows or not other.rows:
            return other if not self.rows else self
        if self.d != other.d:
            raise SummaryError(f"points with {self.d} columns do not merge with points with {other.d} columns")
        n = self.rows + other.rows
        step = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves float64 is refused
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

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        found = super()._checked(values)
        if problem := _no_scatter(found.scatter):
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: {problem}")
        return found


def _misfit(n: Any, mean: Any, scatter: Any) -> str:
    """Say what makes these values no moments of points; what one look at each number can tell."""
    if type(n) is not int or n < 0:
        return f"n must be a whole number of at least 0, got {shown(n)}"
    for name, value in (("mean", mean), ("scatter", scatter)):
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            return f"its {name} must be an array of float64, got {getattr(value, 'dtype', type(value).__name__)}"
    if mean.ndim != 1 or scatter.shape != (mean.size, mean.size) or (n == 0) != (mean.size == 0):
        return f"got n {n}, a mean of shape {mean.shape} and a scatter of shape {scatter.shape}"
    if not (np.isfinite(mean).all() and np.isfinite(scatter).all()):
        return "its numbers must be finite; give the points in other units"
    negative = np.diagonal(scatter) < 0
    if negative.any():
        at = int(np.argmax(negative))
        return f"sums of squares are at least 0, got {scatter[at, at]:.6g} in column {at}"
    return ""


def _too_large(mean: FloatArray) -> str:
    """Say that a mean lies where no point is read."""
    largest = float(np.abs(mean).max(initial=0.0))
    return f"a mean lies within ±{HUGE:g}, the largest is {largest:.6g}; give other units" if largest > HUGE else ""


def _indefinite(S: FloatArray) -> str:
    """Say that a symmetric matrix has an eigenvalue below 0 that rounding does not explain.

    Entries of the correlation matrix that are off by ε move its eigenvalues by no more than ε d; one Cholesky
    factorisation tells whether all of them are above -ε d.
    """
    size = np.sqrt(np.diagonal(S))
    live = size > 0
    C = S[np.ix_(live, live)] / size[live] / size[live, None]
    C[np.diag_indices_from(C)] += INDEFINITE * len(C)
    try:
        np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        return "the covariance has an eigenvalue below 0: a combination of the columns would have a negative variance"
    return ""


def _no_scatter(S: FloatArray) -> str:
    """Say what makes a square matrix no scatter and no covariance: what two columns at a time can tell."""
    size = np.sqrt(np.diagonal(S))
    for i, row in enumerate(S):
        most = size[i] * size
        if (np.abs(row - S[:, i]) > UNEQUAL * most).any():
            return f"row {i} and column {i} differ, so that the matrix is not symmetric"
        if (np.abs(row) > (1 + UNEQUAL) * most).any():
            j = int(np.argmax(np.abs(row) - (1 + UNEQUAL) * most))
            return f"columns {i} and {j} vary together by {row[j]:.6g}, more than their own spread allows"
    return ""
