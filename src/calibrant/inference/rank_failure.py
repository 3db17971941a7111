"""What kind of error uneven ranks show."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.normal_errors import NormalErrors, shrinkage
from calibrant.primitives.legendre import legendre

SEEN = 1.96  # standard errors, from which on the largest error is spoken of
CLEARLY = 3.0  # and from which on several are
SHARE = 0.4  # of the largest part, from which on another is spoken of too
TWO_MODES = -0.45  # what is left of the fourth component where two modes are averaged
EMPTY = 0.45  # density of ranks in the middle fifth, below which the outcome avoids it
SPIKES = 1.25  # times the share of the ends that normal errors explain
FLAT = 0.5  # of the size of all components, below which those without the ends are flat
FEWEST = 9  # draws, among which a spike differs from a slope

NONE, OTHER, UNINFORMATIVE = "none", "other", "uninformative"
NARROW, WIDE, HIGH, LOW = "too narrow", "too wide", "too high", "too low"
SKEWED, HEAVY, LIGHT = "skewed", "heavy-tailed", "light-tailed"
MODES, OUTSIDE = "two modes", "outside"
OUTWARD_HIGH = "too narrow or biased"


def failures_of(counts: NDArray[np.int64], errors: NormalErrors) -> tuple[str, ...]:
    """Return what is wrong with predictions whose ranks are known to be uneven, the largest error first.

    `errors` are the shift and spread that explain the first two components. What these leave of the third and fourth is
    skewness and tails. All four are means of orthonormal polynomials, so that their sizes compare.

    >>> from calibrant.inference.normal_errors import normal_errors
    >>> counts = np.array([400, 300, 200, 100, 50])
    >>> failures_of(counts, normal_errors(counts, 0.95))[0]
    'too high'
    """
    if _has_spikes(counts, errors):
        return (OUTSIDE,)
    if errors.rest.size == 2 and errors.rest[1] <= TWO_MODES and _middle(counts) < EMPTY:
        return (MODES,)
    sizes = _sizes(counts, errors)
    if not sizes:
        return (OTHER,)
    shape = {HEAVY, LIGHT} & set(sizes)
    if shape and sizes[min(shape)] >= SHARE * max(sizes.values()):
        first = min(shape)  # a spread that is wrong in the core alone is no matter of a factor
        return (first, *(name for name in _largest_first(sizes) if name not in (first, NARROW, WIDE)))
    return _largest_first(sizes)


def outward_failure(counts: NDArray[np.int64]) -> str:
    """Return what is wrong where high ranks mean outlying outcomes: the direction of a bias does not show."""
    n = int(counts.sum())
    Z = float(legendre(counts.size - 1)[0] @ counts) / sqrt(n)
    if abs(Z) < SEEN:
        return OTHER
    return OUTWARD_HIGH if Z > 0 else WIDE


def _sizes(counts: NDArray[np.int64], errors: NormalErrors) -> dict[str, float]:
    """Return the sizes of the errors that stand out from chance."""
    n, M = int(counts.sum()), counts.size - 1
    rest = errors.rest if errors.measurable else errors.rest[:0]
    parts = np.concatenate([errors.parts[: min(M, 2)], rest])
    names = ((LOW, HIGH), (NARROW, WIDE), (SKEWED, SKEWED), (LIGHT, HEAVY))
    seen = np.abs(parts) * shrinkage(M)[: parts.size] * sqrt(n)  # in standard errors
    chosen = seen >= CLEARLY
    if not chosen.any():
        chosen = (seen == seen.max()) & (seen >= SEEN)
    return {names[k][int(parts[k] < 0)]: abs(float(parts[k])) for k in np.flatnonzero(chosen)}


def _largest_first(sizes: dict[str, float]) -> tuple[str, ...]:
    largest = max(sizes.values())
    kept = [name for name in sizes if sizes[name] >= SHARE * largest]
    return tuple(sorted(kept, key=lambda name: -sizes[name]))


def _has_spikes(counts: NDArray[np.int64], errors: NormalErrors) -> bool:
    """Tell whether ranks 0 and M alone are too frequent: beyond what normal errors explain, and flat between them."""
    n, M = int(counts.sum()), counts.size - 1
    if M < FEWEST or not errors.measurable:
        return False
    ends = int(counts[0] + counts[-1])
    expected = n * max(errors.ends, 2 / (M + 1))
    if ends < SPIKES * expected or ends - expected < CLEARLY * sqrt(expected):
        return False
    return _squares(counts[1:-1]) <= FLAT**2 * _squares(counts)


def _squares(counts: NDArray[np.int64]) -> float:
    """Return the sum of the squared components, less what chance adds."""
    n, phi = int(counts.sum()), legendre(counts.size - 1)
    return max(0.0, float(np.sum((phi @ counts / n) ** 2)) - len(phi) / n) if n else 0.0


def _middle(counts: NDArray[np.int64]) -> float:
    """Return the share of ranks in the middle fifth over what it would be if they were uniform."""
    M = counts.size - 1
    inside = np.abs(2 * np.arange(M + 1) - M) <= (M + 1) / 5
    return float(counts[inside].sum() / counts.sum() / inside.mean())
