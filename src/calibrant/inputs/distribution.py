"""The base classes of typed predictions, and of all predictive distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray, Rng, field_values, locked, refuse_where

if TYPE_CHECKING:
    from calibrant.inputs.intervals import Intervals
    from calibrant.inputs.quantiles import Quantiles

Selection = NDArray[np.intp] | NDArray[np.bool_] | slice | list[int]


class Stored:
    """A prediction of a kind that has a name, and a table from which it can be built again."""

    prediction_kind: ClassVar[str]  # a name of `inputs.kinds.KINDS`

    def columns(self) -> tuple[list[Any], FloatArray]:
        """Return the kind, as plain values, and what it says of each row (n, c); `of_columns` builds it again."""
        raise SummaryError(
            f"{type(self).__name__} has no table of parameters to be merged or stored; pass all rows in one call"
        )


class Checked(Stored):
    """A prediction made of fields that were checked when it was built; the first has one entry per row."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(next(iter(field_values(self).values())))

    def _hold(self, **checked: Any) -> None:
        """Set the fields of a frozen dataclass."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _with(self, **changed: Any) -> Self:
        """Return the same prediction with other fields, which are not checked."""
        made = object.__new__(type(self))
        made._hold(**{**field_values(self), **changed})
        return made

    def take(self, rows: Selection) -> Self:
        """Return these rows alone; a slice shares memory."""
        return self._with(**{name: rows_of(values, rows) for name, values in field_values(self).items()})


class Distribution(Stored, ABC):
    """One predictive distribution per row.

    A distribution of real outcomes (`shape` is ``()``) is evaluated at points `x` of shape ``(n,)`` or ``(n, k)``: row
    i at ``x[i]``. A single number is used for every row. The density of a distribution of vectors (`shape` is
    ``(D,)``) is evaluated at points of shape ``(n, D)`` or ``(n, k, D)``. A method that a distribution does not have
    raises a `NotApplicableError`.

    Write your own distribution as a subclass. It needs `n` and `take`, and those of `cdf`, `sf`, `ppf`, `isf`,
    `log_density`, `sample`, `means` and `variances` that you want to use. `sf` and `isf` are used in the upper tail,
    where ``1 - cdf`` would lose digits. One with atoms sets `is_discrete` and defines `log_probability`.
    `calibrant.testing.check_distribution` tests whether the methods agree.

    Examples
    --------
    Waiting times with a constant rate of events: half of them end before log(2) / rate.

    >>> class WaitingTime(Distribution):
    ...     def __init__(self, rate):
    ...         self.rate = np.asarray(rate, dtype=float)
    ...
    ...     @property
    ...     def n(self):
    ...         return len(self.rate)
    ...
    ...     def take(self, rows):
    ...         return WaitingTime(self.rate[rows])
    ...
    ...     def cdf(self, x):
    ...         rate = self.rate[:, None] if np.ndim(x) > 1 else self.rate  # beside points (n, k) a column
    ...         return -np.expm1(-rate * np.maximum(x, 0))
    >>> distribution = WaitingTime([1.0, 2.0])
    >>> distribution.cdf(np.log(2))
    array([0.5 , 0.75])
    >>> distribution.take([1]).n
    1
    >>> distribution.log_density(0.0)
    Traceback (most recent call last):
    calibrant.errors.NotApplicableError: WaitingTime has no log_density(...). Define it in the class...
    """

    prediction_kind: ClassVar[str] = "distributions"

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    def is_discrete(self) -> bool:
        """Whether it has probabilities of single values in place of a density."""
        return False

    @property
    def words(self) -> str:
        """What messages call it."""
        return type(self).__name__

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one outcome: ``()`` for real outcomes, ``(D,)`` for vectors."""
        return ()

    def __repr__(self) -> str:
        return described(self)

    @abstractmethod
    def take(self, rows: Selection) -> Distribution:
        """Return the distribution of these rows alone (row numbers, a slice or a mask)."""

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return P(Y <= x)."""
        raise self._lacks("cdf")

    def sf(self, x: ArrayLike) -> FloatArray:
        """Return P(Y > x), accurate where it is small."""
        raise self._lacks("sf")

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Return the smallest x with P(Y <= x) >= q."""
        raise self._lacks("ppf")

    def isf(self, q: ArrayLike) -> FloatArray:
        """Return the smallest x with P(Y > x) <= q, accurate where q is small."""
        raise self._lacks("isf")

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Return the natural logarithm of the density at x."""
        raise self._lacks("log_density")

    def log_probability(self, x: ArrayLike) -> FloatArray:
        """Return the natural logarithm of P(Y = x) of a discrete distribution."""
        raise self._lacks("log_probability")

    def sample(self, size: int, rng: Rng) -> FloatArray:
        """Return `size` independent draws of every row, of shape ``(n, size, *shape)``."""
        raise self._lacks("sample")

    def means(self) -> FloatArray:
        """Return the mean of each row, (n,) or (n, D)."""
        raise self._lacks("means")

    def variances(self) -> FloatArray:
        """Return the variance of each row, (n,), or of each coordinate, (n, D)."""
        raise self._lacks("variances")

    def deviations(self) -> FloatArray:
        """Return the standard deviation of each row or coordinate, which may be infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.sqrt(self.variances())

    def covariances(self) -> FloatArray:
        """Return the covariance matrix of each row, (n, D, D); a number counts as one coordinate."""
        if self.shape:
            raise self._lacks("covariances")
        return self.variances()[:, None, None]

    def cdf_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(Y < y) and P(Y <= y) at outcomes, coordinate by coordinate; the same where there is no jump."""
        at = self.cdf(y)
        return (self.cdf(np.nextafter(y, -np.inf)) if self.is_discrete else at), at

    def density_level(self, y: FloatArray) -> FloatArray | None:
        """Return the mass of the smallest region of highest density with y; None if no closed form is known."""
        return None

    def marginals(self) -> list[Distribution]:
        """Return the distributions of the single coordinates; of real outcomes the distribution itself."""
        if self.shape:
            raise self._lacks("marginals")
        return [self]

    def as_mixture(self) -> tuple[tuple[Distribution, ...], FloatArray]:
        """Return the components and their weights (n, C): one component of weight 1, unless it is a mixture."""
        return (self,), np.ones((self.n, 1))

    def interval(self, level: float | ArrayLike) -> Intervals:
        """Return the central intervals of one level, or of several."""
        from calibrant.inputs.intervals import Intervals
        from calibrant.inputs.options import read_levels

        levels, single = read_levels(level)
        tail = np.broadcast_to((1 - levels) / 2, (self.n, levels.size))
        low, high = self.ppf(tail), self.isf(tail)
        return Intervals(low[:, 0], high[:, 0], level) if single else Intervals(low, high, levels)

    def quantiles(self, levels: float | ArrayLike) -> Quantiles:
        """Return the quantiles of one level, or of several in increasing order."""
        from calibrant.inputs.options import read_levels
        from calibrant.inputs.quantiles import Quantiles

        found, single = read_levels(levels, "levels")
        values = self.ppf(np.broadcast_to(found, (self.n, found.size)))
        return Quantiles(values[:, 0], levels) if single else Quantiles(values, found)

    def _lacks(self, method: str) -> NotApplicableError:
        reason = (
            f"Its outcomes are vectors of {self.shape[0]} coordinates"
            if self.shape and method in ("cdf", "sf", "ppf", "isf", "interval", "quantiles")
            else "Define it in the class, or describe the distribution by draws: Samples(draws)"
        )
        return NotApplicableError(f"{type(self).__name__} has no {method}(...). {reason}")

    def _refuse_vectors(self, method: str) -> None:
        """Refuse a method that only distributions of real outcomes have."""
        if self.shape:
            raise self._lacks(method)

    def _points(self, x: ArrayLike) -> FloatArray:
        """Return x as float64; refuse a shape that does not match the rows."""
        points = np.asarray(x, dtype=np.float64)
        cut = points.ndim - len(self.shape)
        lead, one = points.shape[: max(cut, 0)], points.shape[max(cut, 0) :]
        if one == self.shape and (lead in ((), (self.n,)) or (len(lead) == 2 and lead[0] in (1, self.n))):
            return points
        D = "".join(f", {size}" for size in self.shape)
        raise InputError(
            f"points must have shape ({self.n}{D or ','}) or ({self.n}, k{D}), x[i] for row i; "
            f"got shape {points.shape}. The same points for all rows have shape (1, k{D})"
        )

    def _levels(self, q: ArrayLike) -> FloatArray:
        """Return probabilities q as float64; refuse those outside [0, 1]."""
        levels = self._points(q)
        refuse_where(~((levels >= 0) & (levels <= 1)), levels, "q must lie in [0, 1]", "It is a probability")
        return levels


def described(distribution: Distribution, what: str = "") -> str:
    """Return the `repr` of a distribution: the number of rows and `what`, but no parameters."""
    coordinates = f" of {distribution.shape[0]} coordinates" if distribution.shape else ""
    return (
        f"{type(distribution).__name__}({distribution.n:,} row{'' if distribution.n == 1 else 's'}{what}{coordinates})"
    )


def beside(parameter: FloatArray, x: Any) -> FloatArray:
    """Return one number per row in a shape that broadcasts against points x of shape (), (n,) or (n, k).

    >>> beside(np.array([1.0, 2.0]), np.zeros((2, 5))).shape
    (2, 1)
    """
    return parameter[:, None] if np.ndim(x) > 1 else parameter


def rows_of(array: FloatArray, rows: Selection) -> FloatArray:
    """Return these rows of an array, read-only."""
    return locked(array[rows])
