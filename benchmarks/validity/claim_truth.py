"""What is true of simulated predictions: the value of the quantity that a claim is about.

A simulation knows the probability of every outcome, so it knows the error, coverage or frequency that an audit states
with limits. Subjects of claims are texts; this module reads them. A subject or quantity that it does not know is an
error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from calibrant.core.claims import ALL_ROWS, Claim

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"
PARTS = {
    ALL_ROWS: re.compile(ALL_ROWS),
    "group": re.compile(r"group (.+)"),
    "class": re.compile(r"class (.+)"),
    "scores": re.compile(rf"scores {NUMBER} to {NUMBER}"),
    "score": re.compile(rf"scores {NUMBER}"),
    "level": re.compile(rf"{NUMBER} % (?:intervals|sets|quantiles?)"),
    "coordinate": re.compile(r"coordinate (.+)"),
}


class UnknownClaimError(LookupError):
    """A claim about something whose true value this benchmark does not know: teach it, or the claim is not counted."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"the true value is not known of: {claim}")


def subject_parts(claim: Claim) -> dict[str, tuple[str, ...]]:
    """Return what a subject names, such as {"group": ("B",), "level": ("90",)} for "90 % intervals, group B".

    >>> subject_parts(Claim("limits", "scores 0.6 to 0.8, group B", "frequency", 0.7))
    {'scores': ('0.6', '0.8'), 'group': ('B',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for part in claim.subject.split(", "):
        matches = {name: match for name, pattern in PARTS.items() if (match := pattern.fullmatch(part))}
        if len(matches) != 1:
            raise UnknownClaimError(claim)
        ((name, match),) = matches.items()
        found[name] = match.groups()
    return found


class Known(Protocol):
    """What is known of one simulated data set."""

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""


# Probabilities


class Chances(NamedTuple):
    """Scores p, the true probabilities q of the events, weights."""

    p: FloatArray
    q: FloatArray
    w: FloatArray

    def at(self, rows: Mask) -> Chances:
        """Return those of some rows."""
        return Chances(self.p[rows], self.q[rows], self.w[rows])


def cutoff_error(rows: Chances) -> float:
    """Return the range of the cumulative sums of w(q - p)/W in the order of the scores, ties pooled, from 0 on.

    >>> one = np.ones(4)
    >>> round(cutoff_error(Chances(np.array([0.2, 0.2, 0.4, 0.8]), np.array([0.3, 0.2, 0.2, 0.8]), one)), 6)
    0.05
    """
    _, place = np.unique(rows.p, return_inverse=True)
    walk = np.cumsum(np.bincount(place, rows.w * (rows.q - rows.p))) / rows.w.sum()
    return float(max(walk.max(), 0.0) - min(walk.min(), 0.0))


def bias(rows: Chances) -> float:
    """Return the weighted mean of q - p."""
    return float(np.average(rows.q - rows.p, weights=rows.w))


def frequency(rows: Chances) -> float:
    """Return the weighted mean of q."""
    return float(np.average(rows.q, weights=rows.w))


OF_CHANCES: dict[str, Callable[[Chances], float]] = {
    "cutoff_error": cutoff_error,
    "bias": bias,
    "frequency": frequency,
}


def in_group(claim: Claim, label: str, groups: Mapping[str, NDArray[Any]]) -> Mask:
    """Return the rows of a group, named "B" or "region = B"."""
    column, _, name = label.rpartition(" = ")
    found = [labels.astype(str) == name for key, labels in groups.items() if column in ("", key)]
    if len(found) != 1 or not found[0].any():
        raise UnknownClaimError(claim)
    return found[0]


@dataclass(frozen=True)
class BinaryTruth:
    """One probability per row."""

    rows: Chances
    groups: Mapping[str, NDArray[Any]]

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        if claim.quantity not in OF_CHANCES:
            raise UnknownClaimError(claim)
        rows = self._named(claim)
        if not rows.any():
            raise UnknownClaimError(claim)
        return OF_CHANCES[claim.quantity](self.rows.at(rows))

    def _named(self, claim: Claim) -> Mask:
        p = self.rows.p
        rows = np.ones(p.size, dtype=bool)
        for name, given in subject_parts(claim).items():
            if name == "group":
                rows &= in_group(claim, given[0], self.groups)
            elif name == "scores":
                rows &= (p > float(given[0])) & (p <= float(given[1]))
            elif name == "score":
                rows &= p == float(given[0])
            elif name != ALL_ROWS:
                raise UnknownClaimError(claim)
        return rows


@dataclass(frozen=True)
class ClassTruth:
    """Class probabilities P and the true ones Q, (n, K). Without a class, a claim is about the predicted label."""

    P: FloatArray
    Q: FloatArray
    groups: Mapping[str, NDArray[Any]]

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        parts = subject_parts(claim)
        label = parts.pop("class", None)
        columns = self.P.argmax(axis=1) if label is None else np.full(len(self.P), int(label[0]))
        p, q = (np.take_along_axis(of, columns[:, None], axis=1)[:, 0] for of in (self.P, self.Q))
        rest = [part for part in claim.subject.split(", ") if not part.startswith("class ")]
        other = Claim(claim.kind, ", ".join(rest) or ALL_ROWS, claim.quantity, claim.estimate)
        return BinaryTruth(Chances(p, q, np.ones(p.size)), self.groups).value(other)


# Intervals, sets, quantiles


@dataclass(frozen=True)
class RegionTruth:
    """The probability of each row's outcome to lie in its region, (n, L), for L levels."""

    chance: FloatArray
    levels: tuple[float, ...]
    groups: Mapping[str, NDArray[Any]]

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        if claim.quantity != "coverage":
            raise UnknownClaimError(claim)
        rows, column = np.ones(len(self.chance), dtype=bool), 0 if len(self.levels) == 1 else -1
        for name, given in subject_parts(claim).items():
            if name == "group":
                rows &= in_group(claim, given[0], self.groups)
            elif name == "level":
                column = self._column(claim, float(given[0]) / 100)
            elif name != ALL_ROWS:
                raise UnknownClaimError(claim)
        if column < 0:
            raise UnknownClaimError(claim)
        return float(self.chance[rows, column].mean())

    def _column(self, claim: Claim, level: float) -> int:
        near = [k for k, one in enumerate(self.levels) if math.isclose(one, level, abs_tol=1e-9)]
        if not near:
            raise UnknownClaimError(claim)
        return near[0]


# Distributions and draws: y is N(m + shift s, s²) and the prediction N(m, (spread s)²), in one coordinate or all


GRID = 20_001


@cache
def pit_distance(shift: float, spread: float) -> float:
    """Return the largest distance between the distribution of F(Y) and the uniform one.

    >>> pit_distance(0.0, 1.0)
    0.0
    >>> round(pit_distance(0.2, 1.0), 4), round(float(2 * ndtr(0.1) - 1), 4)
    (0.0797, 0.0797)
    """
    if (shift, spread) == (0.0, 1.0):
        return 0.0
    u = np.linspace(0, 1, GRID)[1:-1]
    return float(np.abs(ndtr(spread * ndtri(u) - shift) - u).max())


@cache
def rank_distance(M: int, shift: float, spread: float) -> float:
    """Return the largest distance between the distribution of the rank among M draws and the uniform one.

    >>> rank_distance(19, 0.0, 1.0)
    0.0
    """
    if (shift, spread) == (0.0, 1.0):
        return 0.0
    y = shift + ndtri((np.arange(GRID) + 0.5) / GRID)
    at = binom.pmf(np.arange(M + 1)[:, None], M, ndtr(y / spread)).mean(axis=1)
    return float(np.abs(np.cumsum(at) - np.arange(1, M + 2) / (M + 1)).max())


@dataclass(frozen=True)
class DistributionTruth:
    """Normal distributions, or M draws of them; `wrong` coordinates have the shift and the spread, the others none."""

    shift: float
    spread: float
    draws: int | None = None
    wrong: frozenset[str] | None = None  # names of coordinates; None: all

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        parts = subject_parts(claim)
        coordinate = parts.pop("coordinate", (None,))[0]
        right = self.wrong is not None and coordinate is not None and coordinate not in self.wrong
        shift, spread = (0.0, 1.0) if right else (self.shift, self.spread)
        if claim.quantity == "pit_distance":
            return pit_distance(shift, spread)
        if claim.quantity == "rank_distance" and self.draws is not None:
            return rank_distance(self.draws, shift, spread)
        raise UnknownClaimError(claim)
