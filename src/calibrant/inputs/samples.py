"""Draws from the predictive distribution of each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, Rng, is_finite, locked, read_numbers, refuse_rounded, refuse_where
from calibrant.inputs.distribution import Checked, Distribution, Selection, rows_of
from calibrant.inputs.options import check_count, generator

if TYPE_CHECKING:
    from calibrant.inputs.intervals import Intervals

AXES = ("row", "draw", "coordinate")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Samples(Checked, Distribution):
    """Draws from the predictive distribution of each row, such as an ensemble or posterior draws.

    Parameters
    ----------
    draws : array_like of shape (n, M), or (n, M, D) for vectors
        M draws per row, with the axes in this order: ``draws[i]`` belongs to outcome i. Transpose an array of shape
        (M, n, D) with ``numpy.swapaxes(draws, 0, 1)``; if n = M, swapped axes cannot be detected. Infinite draws are
        allowed where only the order of draws matters. Arrays of floats are not copied: do not change them while the
        samples are in use.
    log_density : array_like of shape (n, M), optional
        Log density of the predictive distribution at each draw, if the model provides it. Stored as `log_densities`.

    Notes
    -----
    The distribution is the empirical one, with probability 1/M for each draw of the row; it has no density. If the same
    draws of a parameter are used for all rows, the rows are dependent; tests do not account for this.

    Examples
    --------
    >>> distribution = Samples([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 5.0, 5.0]])
    >>> distribution.n, distribution.M
    (2, 4)
    >>> distribution.cdf(2.0)
    array([0.5, 0.5])
    >>> distribution.ppf([0.75, 0.75])
    array([3., 5.])
    """

    held: NDArray[Any]  # (n, M) or (n, M, D), float16, float32 or float64, perhaps infinite
    log_densities: NDArray[Any] | None  # (n, M), of such a type too
    finite: bool

    def __init__(self, draws: ArrayLike, log_density: ArrayLike | None = None) -> None:
        array = _read_draws(draws)
        log_densities = _read_log_densities(log_density, array.shape[:2])
        self._hold(held=array, log_densities=log_densities, finite=is_finite(array))

    @cached_property
    def draws(self) -> FloatArray:
        """The draws in float64; infinite draws are refused."""
        if not self.finite:
            expected = "draws must be finite for measurements that use more than their order"
            remedy = "ranks, pit and coverage take infinite draws"
            refuse_where(np.isinf(self.held), self.held, expected, remedy, axes=AXES)
        return locked(self.held.astype(np.float64, copy=False))

    @property
    def M(self) -> int:
        """Number of draws per row."""
        return int(self.held.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one outcome."""
        return self.held.shape[2:]

    def __repr__(self) -> str:
        vectors = f" of {self.shape[0]} coordinates" if self.shape else ""
        return f"Samples({self.n} rows, {self.M} draws{vectors})"

    def take(self, rows: Selection) -> Samples:
        """Return the distribution of these rows alone."""
        held, known = rows_of(self.held, rows), self.log_densities
        log_densities = None if known is None else rows_of(known, rows)
        return self._with(held=held, log_densities=log_densities, finite=self.finite or is_finite(held))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return the share of draws <= x."""
        self._refuse_vectors("cdf")
        return self._share(x, np.less_equal)

    def sf(self, x: ArrayLike) -> FloatArray:
        """Return the share of draws > x."""
        self._refuse_vectors("sf")
        return self._share(x, np.greater)

    def ppf(self, q: ArrayLike) -> FloatArray:
        """Return the smallest draw x with P(Y <= x) >= q."""
        self._refuse_vectors("ppf")
        levels = self._levels(q)
        k = np.ceil(levels * self.M)
        k -= (k - 1) / self.M >= levels  # the product may have been rounded up
        k += k / self.M < levels
        return self._kth(k)

    def isf(self, q: ArrayLike) -> FloatArray:
        """Return the smallest draw x with P(Y > x) <= q."""
        self._refuse_vectors("isf")
        levels = self._levels(q)
        above = np.floor(levels * self.M)  # the most draws that may lie above x
        above += (above + 1) / self.M <= levels
        above -= above / self.M > levels
        return self._kth(self.M - above)

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Raise an error: draws do not determine a density."""
        raise NotApplicableError(
            "Samples has no log_density(...): draws do not determine a density. Use a distribution that has one, such "
            "as Normal; log densities at the draws are in log_densities"
        )

    def sample(self, size: int, rng: Rng) -> FloatArray:
        """Return `size` draws of every row with replacement, of shape (n, size, *shape)."""
        chosen = generator(rng).integers(self.M, size=(self.n, check_count("size", size)))
        drawn = np.take_along_axis(self.held, chosen[..., None] if self.shape else chosen, axis=1)
        return drawn.astype(np.float64, copy=False)

    def interval(self, level: float | ArrayLike) -> Intervals:
        """Return intervals between order statistics; they cover with at least the level if draws are exchangeable.

        [x_(a), x_(b)] with a = ⌊(M + 1) α/2⌋ and b = ⌈(M + 1)(1 - α/2)⌉, where x_(0) = -inf and x_(M+1) = inf, covers
        with probability (b - a)/(M + 1). The products are rounded to 1e-10 first, because 20 · 0.05 must be 1.
        """
        from calibrant.inputs.intervals import Intervals
        from calibrant.inputs.options import read_levels

        self._refuse_vectors("interval")
        levels, single = read_levels(level)
        a = np.floor(((self.M + 1) * (1 - levels) / 2).round(10)).astype(np.intp)
        b = np.ceil(((self.M + 1) * (1 + levels) / 2).round(10)).astype(np.intp)
        ends = np.full((self.n, 1), np.inf)
        ordered = np.concatenate([-ends, np.sort(self.held, axis=1), ends], axis=1)
        low, high = ordered[:, a], ordered[:, b]
        return Intervals(low[:, 0], high[:, 0], level) if single else Intervals(low, high, levels)

    def _share(self, x: ArrayLike, compare: np.ufunc) -> FloatArray:
        points = self._points(x)
        columns = self._columns(points)
        shares = np.empty(columns.shape)
        for j, column in enumerate(columns.T):  # one point per row at a time: memory does not grow with k
            shares[:, j] = np.count_nonzero(compare(self.held, column[:, None]), axis=1)
        shares /= self.M
        return shares if points.ndim == 2 else shares[:, 0]

    def _kth(self, k: FloatArray) -> FloatArray:
        """Return the k-th smallest draw of each row, counted from 1."""
        place = np.clip(k, 1, self.M).astype(np.intp) - 1
        found = np.take_along_axis(np.sort(self.held, axis=1), self._columns(place), axis=1)
        found = found.astype(np.float64, copy=False)
        return found if place.ndim == 2 else found[:, 0]

    def _columns(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return points of shape (), (n,), (1, k) or (n, k) as (n, k)."""
        columns = points if points.ndim == 2 else np.atleast_1d(points)[:, None]
        return np.broadcast_to(columns, (self.n, columns.shape[1]))


def _read_draws(draws: Any) -> NDArray[Any]:
    array = read_numbers(draws, "draws")
    if array.size == 0:
        raise InputError(f"draws is empty (shape {array.shape}); at least one value is needed")
    if array.ndim not in (2, 3):
        remedy = (
            "For one draw per row pass draws[:, None], for one row draws[None, :]" if array.ndim == 1 else "Reshape it"
        )
        raise InputError(
            "draws must have shape (n, M), M draws per row, or (n, M, D) for vectors of D coordinates; "
            f"got shape {array.shape}. {remedy}"
        )
    refuse_rounded(array, "draws")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
        held: NDArray[Any] = np.ascontiguousarray(array, dtype=float_type(array.dtype)).view()
    held.flags.writeable = False
    if not is_finite(held):
        refuse_where(np.isnan(held), held, "draws must not be missing", "Drop or repair such rows", axes=AXES)
    return held


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which numbers of a type are stored: float16 and float32 as they are, all others as float64.

    >>> float_type(np.dtype(">f4")), float_type(np.dtype(int))
    (dtype('float32'), dtype('float64'))
    """
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize < 8 else np.dtype(np.float64)


def _read_log_densities(log_density: Any, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if log_density is None:
        return None
    numbers = read_numbers(log_density, "log_density")
    refuse_rounded(numbers, "log_density")
    with np.errstate(over="ignore"):
        array = locked(numbers.astype(float_type(numbers.dtype), order="C", copy=True))
    if array.shape != shape:
        raise InputError(
            f"log_density must have one value per draw: shape (n, M) = {shape}; got shape {array.shape}. "
            "It is the joint density of all coordinates of a draw"
        )
    bad = ~(array < np.inf)  # minus infinity stands for a density of 0
    remedy = "Drop or repair such rows"
    refuse_where(bad, array, "log_density must be below infinity and not missing", remedy, axes=AXES)
    return array
