"""What is true of simulated predictions: the value of the quantity that a claim is about.

A simulation knows the probability of every outcome, so it knows the error, coverage or frequency that an audit states
with limits. A subject or quantity that it does not know is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom, gamma
from scipy.stats import t as student

from calibrant.auditing.recalibration import METHOD, OPTIONS, calibration_sample
from calibrant.core.bins import bin_of
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Subject
from calibrant.core.ordered import Ordered
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.clusters import Clusters, size_of_clusters
from calibrant.probabilities.size import size_of
from calibrant.recalibrating.cross_fitting import scores_after, scores_before
from calibrant.recalibrating.fitting import fit

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]


class UnknownClaimError(LookupError):
    """A claim about something whose true value this benchmark does not know: teach it, or the claim is not counted."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"the true value is not known of: {claim}")


class Known(Protocol):
    """What is known of one simulated data set."""

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""

    def calibrated(self, claim: Claim) -> float:
        """Return the value that the quantity would have if the predictions were calibrated."""


# Probabilities


class Chances(NamedTuple):
    """Scores p, the true probabilities q of the events, weights, and numbers of clusters if rows depend on others."""

    p: FloatArray
    q: FloatArray
    w: FloatArray
    code: NDArray[np.intp] | None = None

    def at(self, rows: Mask) -> Chances:
        """Return those of some rows."""
        return Chances(self.p[rows], self.q[rows], self.w[rows], None if self.code is None else self.code[rows])


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


def mean_error(rows: Chances) -> float:
    """Return the size of the mean of q - p."""
    return abs(bias(rows))


def rms_error(rows: Chances) -> float:
    """Return the root mean square of the means of q - p over the ranges of similar scores that an audit compares."""
    scores = Binary(np.zeros(rows.p.size, np.uint8), rows.p, rows.w)
    if rows.code is None:
        size = size_of(Ordered.of(scores))
    else:
        size = size_of_clusters(scores, rows.code, Clusters.of(scores, rows.code))
    assert size is not None, "an audit has no limits of this error"
    place = bin_of(rows.p, size.table.edges)
    weight, gap = np.bincount(place, rows.w), np.bincount(place, rows.w * (rows.q - rows.p))
    filled = weight > 0
    return float(np.sqrt((gap[filled] ** 2 / weight[filled]).sum() / weight.sum()))


OF_CHANCES: dict[str, Callable[[Chances], float]] = {
    "rms_error": rms_error,
    "mean_error": mean_error,
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

    def calibrated(self, claim: Claim) -> float:
        """Return the mean score for a frequency, else 0."""
        rows = self.rows.at(self._named(claim))
        return frequency(rows._replace(q=rows.p)) if claim.quantity == "frequency" else 0.0

    def _named(self, claim: Claim) -> Mask:
        match claim.subject:
            case Subject("all rows"):
                return np.ones(self.rows.p.size, dtype=bool)
            case Subject("group", name=name):
                return in_group(claim, name, self.groups)
            case Subject("scores", low=float(low), high=float(high)):
                return self._between(claim, low, high)
            case _:
                raise UnknownClaimError(claim)

    def _between(self, claim: Claim, low: float, high: float) -> Mask:
        """Return the scores in (low, high]; the first range has the scores of 0 too, unless they have a claim alone."""
        p = self.rows.p
        if high == 0:
            return p == 0
        first = p <= high
        return first if low == 0 and np.count_nonzero(first) == claim.rows else (p > low) & (p <= high)


@dataclass(frozen=True)
class ClassTruth:
    """Class probabilities P and the true ones Q, (n, K); scores without a class are those of the most probable one."""

    P: FloatArray
    Q: FloatArray
    groups: Mapping[str, NDArray[Any]]

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        known, other = self._reduced(claim)
        return known.value(other)

    def calibrated(self, claim: Claim) -> float:
        """Return the mean score for a frequency, else 0."""
        known, other = self._reduced(claim)
        return known.calibrated(other)

    def _reduced(self, claim: Claim) -> tuple[BinaryTruth, Claim]:
        """Return what is known of one class against the others, and the claim without the class."""
        kind = claim.subject.kind
        if kind not in ("class", "most probable class", "scores", "group"):
            raise UnknownClaimError(claim)
        columns = self.P.argmax(axis=1)
        if kind == "class":
            columns = np.full(len(self.P), int(claim.subject.name))
        p, q = (np.take_along_axis(of, columns[:, None], axis=1)[:, 0] for of in (self.P, self.Q))
        subject = claim.subject if kind in ("scores", "group") else ALL_ROWS
        return BinaryTruth(Chances(p, q, np.ones(p.size)), self.groups), replace(claim, subject=subject)


# Recalibration


def map_value(claim: Claim, y: NDArray[Any], known: Any, options: Mapping[str, Any]) -> float:
    """Return the true gain of the map of an audit on new rows with these scores, or the true calibration error.

    The gain is that of the map that was fitted on all rows; what it gains depends on the outcomes that were drawn. That
    of maps of groups is the gain over the common map.
    """
    if not isinstance(known, (BinaryTruth, ClassTruth)):
        raise UnknownClaimError(claim)
    if isinstance(known, ClassTruth):
        P, Q, w = known.P, known.Q, np.ones(len(known.P))
        rows: Any = Classes(np.asarray(y, np.intp), P, w)
    else:
        p, q, w, _ = known.rows
        P, Q = np.stack([1 - p, p], axis=1), np.stack([1 - q, q], axis=1)
        rows = Binary(np.asarray(y, np.uint8), p, w)
    if claim.quantity == "calibration_error":
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.average(np.where(Q > 0, Q * np.log(Q / P), 0.0).sum(axis=1), weights=w))
    grouping = None
    if claim.subject.kind == "covariates":
        labels = known.groups[claim.subject.name.removeprefix("maps by ")]
        names, code = np.unique(labels.astype(str), return_inverse=True)
        grouping = Grouping(code, names.tolist())
    data, _ = calibration_sample(rows, options.get("clusters"), grouping)
    found = fit(data, METHOD[data.kind], OPTIONS)
    total = np.zeros(len(P))
    for k in range(P.shape[1]):
        possible = np.flatnonzero(Q[:, k] > 0)
        one = replace(data, rows=replace(rows.take(possible), y=np.full(possible.size, k, rows.y.dtype)))
        one = one if grouping is None else replace(one, group=grouping.code[possible])
        before = scores_before(one, OPTIONS) if found.common is None else scores_after(found.common, one, OPTIONS)
        after = scores_after(found, one, OPTIONS)
        gained = np.subtract(before, after, out=np.zeros(possible.size), where=before != after)  # both may be infinite
        total[possible] += Q[possible, k] * gained
    return float(np.average(total, weights=w))


# Skill of normal predictions


def normal_score(shift: Any, spread: float, sd: float = 1.0) -> Any:
    """Return the mean CRPS of N(0, spread²) for outcomes N(shift, sd²): E|D| - spread/√π, D ~ N(shift, sd² + spread²).

    >>> round(normal_score(0.0, 1.0), 6)  # 1/√π
    0.56419
    """
    return mean_distance(shift, np.hypot(sd, spread)) - spread / np.sqrt(np.pi)


def mean_distance(shift: Any, sd: Any) -> Any:
    """Return E|D| of D ~ N(shift, sd²)."""
    z = shift / sd
    return shift * (2 * ndtr(z) - 1) + 2 * sd * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)


# Intervals, sets, quantiles


@dataclass(frozen=True)
class Line:
    """A level, and the probabilities of outcomes to lie in their regions, edges included and not."""

    level: float
    hit: FloatArray
    inside: FloatArray

    def error(self, rows: Mask, *, less: bool) -> float:
        """Return how far coverage is from its level; a level between both shares is right, more is if `less`."""
        short, over = self.level - float(self.hit[rows].mean()), float(self.inside[rows].mean()) - self.level
        return max(short, 0.0) if less else max(short, over, 0.0)


PARTS = ("width", "size", "place")
COVERAGE_ERRORS = ("coverage_error", "coverage_shortfall", "coverage_excess")
TIED = 1e-6  # relative distance of sizes or places that are taken as equal


@dataclass(frozen=True)
class RegionTruth:
    """What is covered: of intervals, sets or quantiles at some levels, and of central intervals between quantiles.

    `less`: at least the level is promised. `sizes` and `places` are those by which a claim may name rows.
    """

    lines: Mapping[str, tuple[Line, ...]]  # by "intervals", "sets", "quantile" or "central intervals"
    less: bool = False
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    sizes: FloatArray | None = None  # (n, L)
    places: FloatArray | None = None  # (n,)
    skill: float | None = None  # of distributions, and by how many predictive sd they are too high on average
    shift: float | None = None

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        if claim.quantity == "skill" and self.skill is not None:
            return self.skill
        if claim.quantity == "shift" and self.shift is not None:
            return self.shift
        every = [line for lines in self.lines.values() for line in lines]
        rows = np.ones(every[0].hit.size, dtype=bool)
        if claim.subject.kind == "group":
            rows = in_group(claim, claim.subject.name, self.groups)
        if claim.quantity in COVERAGE_ERRORS and claim.subject.kind in ("all rows", "group"):
            return max(line.error(rows, less=self.less) for line in every)
        line, rows = self._line(claim, rows)
        if claim.quantity in COVERAGE_ERRORS:
            return line.error(rows, less=self.less)
        if claim.quantity in ("coverage", "share_below"):
            return float(line.hit[rows].mean())
        raise UnknownClaimError(claim)

    def calibrated(self, claim: Claim) -> float:
        """Return the level for a coverage, else 0."""
        if claim.quantity in (*COVERAGE_ERRORS, "skill", "shift"):
            return 0.0
        line, _ = self._line(claim, np.ones(0, dtype=bool))
        return line.level

    def _line(self, claim: Claim, rows: Mask) -> tuple[Line, Mask]:
        """Return the line that a subject names, or else the only one, or else the one with the expected level."""
        subject = claim.subject
        if subject.level is not None:
            return self._named(claim, subject.level, rows)
        first = next(iter(self.lines.values()))  # quantiles come before the central intervals between them
        near = first if len(first) == 1 else [line for line in first if abs(line.level - claim.expected) < 1e-9]
        if len(near) != 1 or subject.kind not in ("all rows", "group"):
            raise UnknownClaimError(claim)
        return near[0], rows

    def _named(self, claim: Claim, level: float, rows: Mask) -> tuple[Line, Mask]:
        lines = self.lines.get(claim.subject.kind, ())
        near = [k for k, line in enumerate(lines) if abs(line.level - level) < 1e-9]
        if len(near) != 1 or claim.subject.part not in (None, *PARTS):
            raise UnknownClaimError(claim)
        if claim.subject.part is not None and rows.size:
            rows = rows & self._part(claim, near[0])
        return lines[near[0]], rows

    def _part(self, claim: Claim, k: int) -> Mask:
        """Return the rows of about some sizes, or at some places."""
        known = self.places if claim.subject.part == "place" else self.sizes
        low, high = claim.subject.low, claim.subject.high
        if known is None or low is None or high is None:
            raise UnknownClaimError(claim)
        values = known if known.ndim == 1 else known[:, k]
        rows = (values >= low - TIED * abs(low)) & (values <= high + TIED * abs(high))
        if abs(int(rows.sum()) - claim.rows) > max(5, rows.size // 50):
            raise UnknownClaimError(claim)
        return rows


# Draws: y is m + shift + an error of mean 0 and variance 1, and the draws are N(m, spread²), in one coordinate


GRID = 20_001
NORMAL, ZEROS = "normal", 0.4  # share of outcomes that are alike
QUANTILES: dict[str, Callable[[FloatArray], FloatArray]] = {
    NORMAL: ndtri,
    "exponential": lambda u: -np.log1p(-u),
    "gamma": lambda u: gamma.ppf(u, 2),
    "Gumbel": lambda u: -np.log(-np.log(u)),
    "lognormal": lambda u: np.exp(0.5 * ndtri(u)),
    "Student's t": lambda u: student.ppf(u, 3),
    "zero-inflated": lambda u: np.where(u < ZEROS, 0.0, gamma.ppf((u - ZEROS) / (1 - ZEROS), 2, loc=1)),
}
"""Quantile functions of errors, before these are given the mean 0 and the variance 1."""


@cache
def error_grid(errors: str) -> tuple[FloatArray, float, float]:
    """Return the quantiles of standardised errors on an even grid, and the mean and standard deviation before."""
    values = QUANTILES[errors]((np.arange(GRID) + 0.5) / GRID)
    mean, sd = (0.0, 1.0) if errors == NORMAL else (float(values.mean()), float(values.std()))
    if errors == "Student's t":
        mean, sd = 0.0, float(np.sqrt(3))  # the grid leaves out much of the variance
    return (values - mean) / sd, mean, sd


def drawn_errors(errors: str, u: FloatArray) -> FloatArray:
    """Return standardised errors, given numbers that are uniform on [0, 1]."""
    _, mean, sd = error_grid(errors)
    return (QUANTILES[errors](u) - mean) / sd


@cache
def draws_skill(errors: str, shift: float, spread: float) -> float:
    """Return the skill of draws from N(m, spread²) with m from N(0, 1): the score of outcomes is E|Y - Y'|/2."""
    few = error_grid(errors)[0][GRID // 4000 :: GRID // 2000]
    score = float(normal_score(shift + error_grid(errors)[0], spread, sd=0.0).mean())
    return 1 - score / float(mean_distance(few[:, None] - few, np.sqrt(2)).mean() / 2)


@cache
def rank_chances(M: int, shift: float, spread: float, errors: str = NORMAL) -> FloatArray:
    """Return the distribution of the rank of the outcome among M draws."""
    y = shift + error_grid(errors)[0]
    return binom.pmf(np.arange(M + 1)[:, None], M, ndtr(y / spread)).mean(axis=1)


@cache
def interval_error(M: int, shift: float, spread: float, errors: str = NORMAL) -> float:
    """Return the largest error of the coverage of an interval between two of M draws.

    >>> interval_error(19, 0.0, 1.0)
    0.0
    """
    right = (shift, spread, errors) == (0.0, 1.0, NORMAL)
    return 0.0 if right else rank_range(rank_chances(M, shift, spread, errors))


def rank_range(chances: FloatArray) -> float:
    """Return max(F - t) - min(F - t) of ranks with these probabilities.

    Of the ranks 0 to 3 the middle ones have 0.8 in place of 0.5:

    >>> round(rank_range(np.array([0.1, 0.4, 0.4, 0.1])), 6)
    0.3
    """
    gap = np.cumsum(chances) - np.arange(1, chances.size + 1) / chances.size
    return float(max(gap.max(), 0.0) - min(gap.min(), 0.0))


def central_coverage(level: float, M: int, shift: float, spread: float, errors: str = NORMAL) -> float:
    """Return the coverage of the central interval of M draws with this nominal level.

    >>> round(central_coverage(0.9, 19, 0.0, 1.0), 6)
    0.9
    """
    left_out = round((1 - level) * (M + 1) / 2)
    return float(rank_chances(M, shift, spread, errors)[left_out : M + 1 - left_out].sum())


@dataclass(frozen=True)
class DrawsTruth:
    """M draws of D coordinates of which the last has this shift and spread; `joint` is the error of joint ranks."""

    shift: float
    spread: float
    M: int
    D: int = 1
    joint: float = 0.0
    errors: str = NORMAL  # of outcomes of one coordinate, a key of QUANTILES

    def calibrated(self, claim: Claim) -> float:
        """Return the nominal level of a coverage, which depends on the number of draws, 1 for a spread, else 0."""
        if claim.quantity == "outside":
            return 2 / (self.M + 1)
        return claim.expected if claim.quantity == "coverage" else float(claim.quantity == "spread")

    def value(self, claim: Claim) -> float:
        """Return the true value of the claim's quantity."""
        subject, wrong = claim.subject, (self.shift, self.spread)
        if subject.kind == "whole":
            return self.joint
        if subject.kind == "pair":  # coordinates are independent, outcomes and draws
            return 0.0
        if claim.quantity in COVERAGE_ERRORS:
            return max(interval_error(self.M, *wrong, self.errors), self.joint)
        if subject.kind != ("all rows" if self.D == 1 else "coordinate"):
            raise UnknownClaimError(claim)
        shift, spread = wrong if self.D == 1 or int(subject.name) == self.D - 1 else (0.0, 1.0)
        if claim.quantity == "coverage":
            return central_coverage(claim.expected, self.M, shift, spread, self.errors)
        if claim.quantity == "outside":
            return float(rank_chances(self.M, shift, spread, self.errors)[[0, -1]].sum())
        if claim.quantity == "skill" and self.errors != NORMAL:
            return draws_skill(self.errors, shift, spread)
        if claim.quantity == "skill":  # outcomes are N(shift, 2) on the whole
            return 1 - normal_score(shift, spread) / np.sqrt(2 / np.pi)
        if claim.quantity in ("shift", "spread"):  # in predictive standard deviations; the factor that is needed
            return -shift / spread if claim.quantity == "shift" else 1 / spread
        raise UnknownClaimError(claim)
