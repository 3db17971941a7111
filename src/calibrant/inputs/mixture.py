"""Mixtures of distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, Rng, locked, read_array, refuse_not_finite, refuse_where
from calibrant.inputs.distribution import Checked, Distribution, Selection, beside, described, rows_of
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.samples import Samples

SUM_TOLERANCE = 1e-6
STORED_COMPONENTS: dict[str, Any] = {kind.__name__: kind for kind in (Normal, Laplace, MvNormal, Samples)}
"""The distributions that `columns` can store, by their names."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Mixture(Checked, Distribution):
    """A weighted mixture of distributions per row.

    Parameters
    ----------
    components : sequence of Distribution
        Distributions of the same n rows and the same kind of outcome. A mixture is replaced by its own components.
    weights : array_like of shape (C,) for all rows, or (n, C)
        Probability of each component; must sum to 1 within 1e-6.

    Examples
    --------
    Two bumps, the left one three times as likely: a quarter of the mass lies right of the gap.

    >>> from calibrant import Normal
    >>> distribution = Mixture([Normal([-50.0, 0.0], 1.0), Normal([50.0, 0.0], 1.0)], [0.75, 0.25])
    >>> distribution.sf(0.0)
    array([0.25, 0.5 ])
    >>> distribution.ppf([0.375, 0.5])
    array([-50.,   0.])
    """

    components: tuple[Distribution, ...]
    weights: FloatArray  # (n, C)

    def __init__(self, components: Iterable[Distribution], weights: ArrayLike) -> None:
        distributions = _read_components(components)
        self._hold(**_spread(distributions, _read_weights(weights, distributions[0].n, len(distributions))))

    @property
    def n(self) -> int:
        return len(self.weights)

    @property
    def words(self) -> str:
        return f"Mixture of {', '.join(sorted({component.words for component in self.components}))}"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.components[0].shape

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Mixture:
        """Return the mixture whose `columns` these are."""
        described = kind[1]
        edges = np.cumsum([len(described), *(width for _, width in described)])
        bounds = zip(described, edges[:-1], edges[1:], strict=True)
        parts = [STORED_COMPONENTS[part[0]].of_columns(part, columns[:, a:b]) for (part, _), a, b in bounds]
        return cls(parts, columns[:, : len(described)])

    def columns(self) -> tuple[list[Any], FloatArray]:
        """Return the kinds of the components, and their weights and columns beside each other."""
        parts = [component.columns() for component in self.components]
        described = [[kind, columns.shape[1]] for kind, columns in parts]
        return ["Mixture", described], np.column_stack([self.weights, *(columns for _, columns in parts)])

    def __repr__(self) -> str:
        return described(self, f", {len(self.components)} components")

    def take(self, rows: Selection) -> Mixture:
        components = tuple(distribution.take(rows) for distribution in self.components)
        return self._with(components=components, weights=rows_of(self.weights, rows))

    def cdf(self, x: ArrayLike) -> FloatArray:
        return self._summed("cdf", x)

    def sf(self, x: ArrayLike) -> FloatArray:
        return self._summed("sf", x)

    def ppf(self, q: ArrayLike) -> FloatArray:
        levels, low, high = self._bracket("ppf", q)
        found = first_double(low, high, lambda x: self.cdf(x) >= levels)
        return np.where(levels == 0, low, np.where(levels == 1, high, found))

    def isf(self, q: ArrayLike) -> FloatArray:
        levels, low, high = self._bracket("isf", q)
        found = first_double(low, high, lambda x: self.sf(x) <= levels)
        return np.where(levels == 1, low, np.where(levels == 0, high, found))

    def log_density(self, x: ArrayLike) -> FloatArray:
        points = self._points(x)
        total = np.array(-np.inf)
        for distribution, weight in zip(self.components, self.weights.T, strict=True):
            part = distribution.log_density(points)
            with np.errstate(divide="ignore", invalid="ignore"):
                weighted = np.where(beside(weight, part) > 0, beside(np.log(weight), part) + part, -np.inf)
            total = np.logaddexp(total, weighted)
        return total

    def sample(self, size: int, rng: Rng) -> FloatArray:
        source = generator(rng)
        u = source.random((self.n, check_count("size", size)))
        ends = np.cumsum(self.weights, axis=1)
        ends /= ends[:, -1:]  # so that a last component of weight 0 is never drawn
        draws = np.array(self.components[0].sample(size, source), dtype=np.float64)
        for c, distribution in enumerate(self.components[1:]):
            later = u >= ends[:, c, None]  # (n, size): drawn from component c + 1 or a later one
            draws[later] = distribution.sample(size, source)[later]
        return draws

    def means(self) -> FloatArray:
        return self._weighted([component.means() for component in self.components])

    def variances(self) -> FloatArray:
        """Return the mean of the variances and the variance of the means.

        >>> from calibrant import Normal
        >>> Mixture([Normal([-1.0], 2.0), Normal([1.0], 2.0)], [0.5, 0.5]).variances()
        array([5.])
        """
        centre = self.means()
        return self._weighted([part.variances() + (part.means() - centre) ** 2 for part in self.components])

    def covariances(self) -> FloatArray:
        if not self.shape:
            return super().covariances()
        centre = self.means()
        gaps = [part.means() - centre for part in self.components]
        return self._weighted(
            [c.covariances() + g[:, :, None] * g[:, None, :] for c, g in zip(self.components, gaps, strict=True)]
        )

    def cdf_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(Y < y) and P(Y <= y); weights may add up to 1 and a rounding."""
        low, high = zip(*(component.cdf_bounds(y) for component in self.components), strict=True)
        return np.minimum(self._weighted(low), 1.0), np.minimum(self._weighted(high), 1.0)

    def as_mixture(self) -> tuple[tuple[Distribution, ...], FloatArray]:
        return self.components, self.weights

    def _weighted(self, parts: Sequence[FloatArray]) -> FloatArray:
        """Return what the components have, (n, ...) each, summed with their weights."""
        total = np.zeros(parts[0].shape)
        for part, weight in zip(parts, self.weights.T, strict=True):
            total += weight.reshape(-1, *[1] * (part.ndim - 1)) * part
        return total

    def _summed(self, method: str, x: ArrayLike) -> FloatArray:
        self._refuse_vectors(method)
        points = self._points(x)
        weighted = (
            beside(weight, points) * getattr(distribution, method)(points)
            for distribution, weight in zip(self.components, self.weights.T, strict=True)
        )
        return reduce(np.add, weighted)

    def _bracket(self, method: str, q: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        self._refuse_vectors(method)
        levels = self._levels(q)
        low, high = np.array(np.inf), np.array(-np.inf)
        for distribution, weight in zip(self.components, self.weights.T, strict=True):
            x, present = getattr(distribution, method)(levels), beside(weight, levels) > 0
            low = np.where(present, np.minimum(low, x), low)
            high = np.where(present, np.maximum(high, x), high)
        return levels, low, high


def first_double(low: FloatArray, high: FloatArray, reached: Callable[[FloatArray], NDArray[np.bool_]]) -> FloatArray:
    """Return the smallest double in [low, high] at which the monotone condition `reached` is true.

    The bisection runs over the doubles in order, not over their values: 64 steps suffice wherever the root lies.
    """
    a, b = _order_number(low), _order_number(high)
    while (a < b).any():
        middle = (a >> 1) + (b >> 1) + (a & b & 1)  # no overflow
        there = reached(_double(middle))
        b = np.where(there, middle, b)
        a = np.where(there, a, np.minimum(middle + 1, b))
    return _double(b)


def _order_number(x: FloatArray) -> NDArray[np.int64]:
    size = np.abs(x).view(np.int64)
    return np.where(x < 0, -size, size)


def _double(number: NDArray[np.int64]) -> FloatArray:
    size = np.abs(number).view(np.float64)
    return np.where(number < 0, -size, size)


def _read_components(components: Any) -> tuple[Distribution, ...]:
    if isinstance(components, Distribution) or not isinstance(components, Iterable):
        raise InputError(
            f"components must be a list of distributions, such as [Normal(0, 1), Normal(3, 1)]; got {shown(components)}"
        )
    distributions = tuple(components)
    if not distributions:
        raise InputError("components is empty; at least one distribution is needed")
    for c, distribution in enumerate(distributions):
        if not isinstance(distribution, Distribution):
            which = f"component {c} is {shown(distribution)} ({type(distribution).__name__})"
            raise InputError(f"components must be distributions, such as Normal(mean, std); {which}")
        first = distributions[0]
        for what, expected, found in (
            ("rows", first.n, distribution.n),
            ("coordinates", first.shape, distribution.shape),
        ):
            if found != expected:
                both = f"component 0 has {expected} and component {c} has {found}"
                raise InputError(f"components must have the same number of {what}; {both}")
    return distributions


def _read_weights(weights: Any, n: int, C: int) -> FloatArray:
    array = read_array(weights, "weights")
    if array.shape not in ((C,), (n, C)):
        raise InputError(
            f"weights must have shape (C,) = ({C},) for all rows or (n, C) = ({n}, {C}); got shape {array.shape}"
        )
    axes = ("row", "component")[-array.ndim :]
    refuse_not_finite(array, "weights", axes=axes)
    remedy = "Leave out components that do not occur"
    refuse_where(~(array >= 0), array, "weights must be at least 0", remedy, axes=axes)
    sums = array.sum(axis=-1)
    expected = f"the sum of weights must be 1 within {SUM_TOLERANCE:g}"
    refuse_where(np.abs(sums - 1) > SUM_TOLERANCE, sums, expected, "Divide the weights by it")
    return np.broadcast_to(array, (n, C))


def _spread(distributions: tuple[Distribution, ...], weights: FloatArray) -> dict[str, Any]:
    flat: list[Distribution] = []
    columns: list[FloatArray] = []
    for distribution, weight in zip(distributions, weights.T, strict=True):
        inner, shares = distribution.as_mixture()
        flat += inner
        columns += list(weight * shares.T)
    return {"components": tuple(flat), "weights": locked(np.stack(columns, axis=1))}
