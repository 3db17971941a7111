"""Whether a predictive law of one's own keeps its word: what its methods say must agree, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.testing.asked import BESIDE, QUESTIONS, Asked, first
from calibrant.testing.distributions import check_distribution
from calibrant.testing.draws import check_draws

ROWS = 12  # of many, that are checked


def check_law(law: Distribution, *, draws: int = 10_000, seed: int = 0) -> None:
    """Assert that a predictive law obeys the laws of distributions, as far as it defines them.

    `cdf` lies between 0 and 1 and does not decrease, `sf` is what is left of 1, `ppf` and `isf` are their inverses (the
    smallest x that reaches a level, so that atoms are legal), `sf` and `isf` are accurate in the upper tail, the
    density adds up to the `cdf`, draws follow it and are independent, `take` keeps rows, and points of shape ``()``,
    ``(n,)`` and ``(n, k)`` get answers of their own shape.

    Parameters
    ----------
    law
        At least two rows, which should differ; at most 12 of them are looked at. Methods that raise
        `NotApplicableError`, as those of `Distribution` do, are not defined and not checked.
    draws
        Number of draws of a row that are compared with `cdf` or `ppf`, by the bound of Dvoretzky, Kiefer, Wolfowitz
        and Massart: right draws fail with probability 1e-9.
    seed
        Seed of the draws.

    Raises
    ------
    AssertionError
        If a law does not hold, saying at which row and point.

    Notes
    -----
    It looks at a few rows and points, so that it finds what is wrong there and proves nothing. Of laws of vectors it
    checks shapes, rows and that draws repeat themselves, and not whether draws follow the density.

    Examples
    --------
    >>> from calibrant import Distribution, Normal
    >>> check_law(Normal([0.0, 5.0], 2.0))

    A law whose survival function belongs to twice the rate:

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
    ...         return -np.expm1(-self._times(x))
    ...
    ...     def sf(self, x):
    ...         return np.exp(-2 * self._times(x))
    ...
    ...     def _times(self, x):
    ...         rate = self.rate[:, None] if np.ndim(x) > 1 else self.rate
    ...         return rate * np.maximum(x, 0)
    >>> check_law(WaitingTime([1.0, 2.0]))
    Traceback (most recent call last):
    AssertionError: WaitingTime: cdf + sf must be 1; row 0 at x = 0.0010005: 0.001 + 0.998001...
    """
    assert isinstance(law, Distribution), f"check_law takes a law, such as Normal([0.0, 5.0], 2.0); got {shown(law)}"
    _check_size(law)
    rows = np.unique(np.linspace(0, law.n - 1, min(law.n, ROWS)).astype(np.intp))
    few = Asked.of(_taken(law, rows))
    assert few.defined, f"{few.name} defines none of {', '.join(QUESTIONS)} and sample; define what is to be used"
    for method in QUESTIONS:
        if few.has(method):
            _check_shapes(few, method, few.of_rows(method))
    _check_take(few)
    _check_taken(Asked(law, few.defined), few, rows)
    if not law.shape:
        check_distribution(few)
    if few.has("sample"):
        check_draws(few, draws, seed)


def _check_size(law: Distribution) -> None:
    name, n, shape = type(law).__name__, law.n, law.shape
    assert isinstance(n, (int, np.integer)), f"{name}: n must be a whole number; got {shown(n)}"
    assert n >= 2, f"{name}: pass a law of at least two rows, so that rows are told from points; got {n}"
    right = isinstance(shape, tuple) and len(shape) <= 1
    assert right, f"{name}: shape must be () for real outcomes or (D,) for vectors; got {shown(shape)}"


def _check_shapes(law: Asked, method: str, x: FloatArray) -> None:
    """Assert that points (n, k), (n, n), (n,) and () are answered alike."""
    found = law(method, x)
    for k in (0, x.shape[1] // 2):
        _check_same(law, method, law(method, x[:, k]), found[:, k], "points (n,) as of (n, k)", f". {BESIDE}")
    square = np.repeat(x[:, :1], law.n, axis=1)  # nothing fails if rows are taken for points
    _check_same(
        law, method, law(method, square), np.repeat(found[:, :1], law.n, axis=1), "points (n, n)", f". {BESIDE}"
    )
    if not law.law.shape:
        one = float(x[0, x.shape[1] // 2])
        _check_same(law, method, law(method, one), law(method, np.full(law.n, one)), "a number, as of n alike,")


def _check_take(law: Asked) -> None:
    """Assert that rows that are taken, by numbers, a mask or a slice, are those rows."""
    every, shape = np.arange(law.n), law.law.shape
    for chosen in (every[::-1], np.array([1, 1, 1]), every % 2 == 0, slice(1, None), every[:0]):
        taken, n = _taken(law.law, chosen), len(every[chosen])
        assert (taken.n, taken.shape) == (n, shape), (
            f"{law.name}: take of {n} rows must return a law of {n} rows and shape {shape}; got {taken.n} rows and "
            f"shape {taken.shape}"
        )
        if n:
            _check_taken(law, Asked(taken, law.defined), every[chosen])


def _taken(law: Distribution, rows: Any) -> Distribution:
    taken = law.take(rows)
    assert isinstance(taken, Distribution), f"{type(law).__name__}: take must return a law; got {shown(taken)}"
    return taken


def _check_taken(law: Asked, taken: Asked, rows: NDArray[Any]) -> None:
    """Assert that a law gives rows the answers that they have once they are taken."""
    for method in QUESTIONS:
        if taken.has(method):
            x = taken.of_rows(method)[:, 5]
            every = np.repeat(x[:1], law.n, axis=0)
            every[rows] = x
            _check_same(law, method, taken(method, every[rows]), law(method, every)[rows], "rows that are taken")


def _check_same(law: Asked, method: str, found: FloatArray, expected: FloatArray, what: str, remedy: str = "") -> None:
    same = np.isclose(found, expected, rtol=1e-9, atol=1e-12)
    if not same.all():
        at = first(~same)
        raise AssertionError(
            f"{law.name}: {method} of {what} must give each row its own answer; row {at[0]} has {found[at]:.6g}, not "
            f"{expected[at]:.6g}{remedy}"
        )
