"""A predictive law, asked with care: answers of a wrong shape or kind are refused with words on what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution

OF_REALS = ("cdf", "sf", "ppf", "isf")
QUESTIONS = (*OF_REALS, "log_density")
LEVELS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
BESIDE = "Beside points of shape (n, k) a number per row is needed as a column, parameter[:, None]"


@dataclass(frozen=True, eq=False)
class Asked:
    """A law, and which of its methods it defines."""

    law: Distribution
    defined: frozenset[str]

    @classmethod
    def of(cls, law: Distribution) -> Asked:
        """Find out what a law defines: what does not raise `NotApplicableError`."""
        middle = np.full(law.n, 0.5)
        asks: dict[str, Callable[[], Any]] = {
            "log_density": lambda: law.log_density(np.zeros((law.n, *law.shape))),
            "sample": lambda: law.sample(1, np.random.default_rng(0)),
        }
        if not law.shape:
            asks |= {"cdf": lambda: law.cdf(middle), "sf": lambda: law.sf(middle)}
            asks |= {"ppf": lambda: law.ppf(middle), "isf": lambda: law.isf(middle)}
        return cls(law, frozenset(name for name, ask in asks.items() if _answers(ask)))

    @property
    def name(self) -> str:
        """The law as messages call it."""
        return type(self.law).__name__

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.law.n

    def take(self, rows: Any) -> Asked:
        """Return some of the rows."""
        return Asked(self.law.take(rows), self.defined)

    def has(self, *methods: str) -> bool:
        """Tell whether all of these are defined."""
        return self.defined.issuperset(methods)

    def __call__(self, method: str, x: Any) -> FloatArray:
        """Return one real number, not NaN, for each point."""
        given = np.array(x, dtype=np.float64)
        points = given.shape[: given.ndim - len(self.law.shape)] or (self.n,)
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(getattr(self.law, method)(given.copy()))
        except Exception as problem:
            raise AssertionError(
                f"{self.name}: {method} fails for shape {given.shape} ({type(problem).__name__}: {problem}). {BESIDE}"
            ) from problem
        assert found.shape == points, (
            f"{self.name}: {method} must answer shape {given.shape} with shape {points}; got {found.shape}. {BESIDE}"
        )
        assert found.dtype.kind in "fiu", f"{self.name}: {method} must return real numbers; got {found.dtype}"
        bad = np.isnan(found)
        assert not bad.any(), f"{self.name}: {method} must not be NaN; {place(bad, given)}"
        return found.astype(np.float64)

    def of_rows(self, method: str) -> FloatArray:
        """Return questions that fit a method, (n, k): levels for quantiles, else points where a row has its mass."""
        levels = np.broadcast_to(LEVELS, (self.n, LEVELS.size))
        if method in ("ppf", "isf"):
            return levels
        if self.law.shape:
            return np.random.default_rng(0).normal(size=(*levels.shape, *self.law.shape))
        found = self.quantiles(levels)
        return np.broadcast_to(np.linspace(-2, 2, LEVELS.size), levels.shape) if found is None else found

    @property
    def cdf(self) -> Callable[[FloatArray], FloatArray] | None:
        """The distribution function, from what the law has."""
        if self.has("cdf"):
            return lambda x: self("cdf", x)
        return (lambda x: np.asarray(1 - self("sf", x))) if self.has("sf") else None

    def quantiles(self, levels: FloatArray) -> FloatArray | None:
        """Return quantiles, from what the law has."""
        if self.has("ppf"):
            return self("ppf", levels)
        if self.has("isf"):
            return self("isf", 1 - levels)
        cdf = self.cdf
        return None if cdf is None else _bisected(lambda x: cdf(x) >= levels, levels.shape)


def first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return where something is wrong first."""
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape))


def place(bad: NDArray[np.bool_], x: FloatArray, name: str = "x") -> str:
    """Name the first row and point where something is wrong."""
    at = first(bad)
    return f"row {at[0]} at {name} = {x[at]:.6g}" if x.shape == bad.shape else f"row {at[0]}"


def _answers(ask: Callable[[], Any]) -> bool:
    try:
        with np.errstate(all="ignore"):
            ask()
    except NotApplicableError:
        return False
    except Exception:  # what is wrong is said where the method is checked
        return True
    return True


def _bisected(reached: Callable[[FloatArray], NDArray[np.bool_]], shape: tuple[int, ...]) -> FloatArray:
    """Return about the smallest x from -1e290 to 1e290 that reaches something, by halves of sinh's argument."""
    low, high = np.full(shape, -668.0), np.full(shape, 668.0)
    for _ in range(70):
        middle = (low + high) / 2
        there = reached(np.sinh(middle))
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return np.asarray(np.sinh(high))
