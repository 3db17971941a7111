"""Means and spread of per-row scores: the summary of every measurement that is a mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.interval_sums import IntervalSums
from calibrant.core.summary import Summary
from calibrant.errors import SummaryError, listing
from calibrant.inputs.arrays import FloatArray, is_unit

Scores = FloatArray | NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Summary):
    """Moments of named row scores s, merged by Chan's formula, which subtracts no large numbers.

    `mean` is Σws/Σw. `mean2` and `spread2` are mean and centred second moment with weights w²: the variance of a
    weighted mean needs Σw²(s - mean)² = spread2 + Σw² (mean2 - mean)². Infinite scores count as 0 in
    all of them; `infinite` is their weight.
    """

    names: tuple[str, ...]
    rows: int
    w: float
    w2: float
    weight_max: float
    mean: FloatArray
    mean2: FloatArray
    spread2: FloatArray
    infinite: FloatArray

    @classmethod
    def of(cls, scores: Mapping[str, Scores], w: FloatArray) -> Self:
        """Return the moments of these row scores, numbers or hits, under these weights."""
        w2 = w if is_unit(w) else w * w
        parts = [_moments(s, w, w2) for s in scores.values()]
        mean, mean2, spread2, infinite = (np.array(column) for column in zip(*parts, strict=True))
        if is_unit(w):
            total, total2, heaviest = float(w.size), float(w.size), 1.0
        else:
            total, total2, heaviest = float(w.sum()), float(w2.sum()), float(w.max())
        return cls(tuple(scores), w.size, total, total2, heaviest, mean, mean2, spread2, infinite)

    @classmethod
    def of_sums(cls, names: Iterable[str], sums: Sequence[IntervalSums]) -> Self:
        """Return the moments of scores of rows of weight 1 that were summed in one pass."""
        n = sums[0].n
        mean, spread = np.array([s.mean for s in sums]), np.array([s.spread for s in sums])
        infinite = np.array([float(s.infinite) for s in sums])
        return cls(tuple(names), n, float(n), float(n), 1.0, mean, mean, spread, infinite)

    def merged(self, other: Self) -> Self:
        if self.names != other.names:
            ours, theirs = listing(self.names, most=2), listing(other.names, most=2)
            raise SummaryError(
                f"moments of {ours} do not merge with moments of {theirs}: they were made by different verbs or "
                "options. Pass the same options to all batches, also those that each batch would otherwise choose, "
                "such as locations= and a kernel with its length scale"
            )
        w, w2 = self.w + other.w, self.w2 + other.w2
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite spread of huge scores
            step2 = other.mean2 - self.mean2
            spread2 = self.spread2 + other.spread2 + step2**2 * (self.w2 * other.w2 / w2)
        return type(self)(
            self.names,
            self.rows + other.rows,
            w,
            w2,
            max(self.weight_max, other.weight_max),
            _between(self.mean, other.mean, other.w / w),
            _between(self.mean2, other.mean2, other.w2 / w2),
            spread2,
            self.infinite + other.infinite,
        )

    @property
    def n(self) -> int:
        return self.rows

    def _column(self, name: str) -> int:
        if name not in self.names:
            raise SummaryError(
                f"these moments are of {', '.join(self.names) or 'nothing'}, not {name}; "
                "measure with the verb and the options that the summary was made with"
            )
        return self.names.index(name)

    def mean_of(self, name: str) -> float:
        """Return Σws/Σw, infinite if a row is."""
        k = self._column(name)
        return float("inf") if self.infinite[k] > 0 else float(self.mean[k])

    def mean2_of(self, name: str) -> float:
        """Return Σw²s/Σw²."""
        return float(self.mean2[self._column(name)])


def _between(first: FloatArray, second: FloatArray, share: float) -> FloatArray:
    """Return first + (second - first) share; finite for finite numbers, even if their difference overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        step = second - first
        return np.where(np.isfinite(step), first + step * share, first * (1 - share) + second * share)


def _moments(s: Scores, w: FloatArray, w2: FloatArray) -> tuple[float, float, float, float]:
    """Return mean, mean2, spread2 with infinite scores set to 0, and the weight of the infinite ones."""
    if is_unit(w) and s.dtype == np.bool_:
        k, n = int(np.count_nonzero(s)), s.size
        return k / n, k / n, k * (1 - k / n) ** 2 + (n - k) * (k / n) ** 2, 0.0
    infinite = 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is looked at below
        total = float(s.sum())
        if not np.isfinite(total):  # rarely because finite scores overflow
            finite = np.isfinite(s)
            infinite, s = float(w[~finite].sum()), np.where(finite, s, 0.0)
            total = float(s.sum())
        if is_unit(w):
            mean = total / s.size if np.isfinite(total) else _mean_of_huge(s, w)
            step = s - mean
            step *= step
            return mean, mean, float(step.sum()), infinite
        mean, mean2 = (float((v * s).sum() / v.sum()) for v in (w, w2))
        mean = mean if np.isfinite(mean) else _mean_of_huge(s, w)
        mean2 = mean2 if np.isfinite(mean2) else _mean_of_huge(s, w2)
        step = s - mean2
        spread2 = float((step * step * w2).sum())
        if not np.isfinite(spread2):  # a square may be infinite and a weight vanish
            step *= w
            spread2 = float((step * step).sum())
        return mean, mean2, spread2, infinite


def _mean_of_huge(s: Scores, w: FloatArray) -> float:
    """Return the mean of finite scores whose sum is not finite; rounding must not carry it beyond all of them."""
    mean = (s * (w / w.sum())).sum()
    return float(np.clip(mean, s.min(), s.max()))
