"""The two statistics, the largest charged square of a region and the trend, and their p-values on shared redraws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.conditional.cells import RegionSearch, Rule
from calibrant.conditional.residuals import Residuals
from calibrant.core.annotations import Alternative
from calibrant.core.dispatch import on_threads
from calibrant.core.null import upper_counts
from calibrant.core.pvalues import holm
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.ranking.counting import shrinkage
from calibrant.ranking.covariates import independent_directions

Method: TypeAlias = Literal["joint", "scan", "trend"]
MIN_ROWS = 10
MIN_ROWS_SEARCHED = 60  # below which the trend stands alone
MIN_EXPECTED = 5.0  # Σv of all rows, below which the trend stands alone
MAX_COVARIATES_IN_PAIRS = 25
MAX_ROWS_REDRAWN = 50_000
NUMBERS_AT_ONCE = 1 << 22  # of a chunk of redraws: 32 MiB
MAX_SETS_AT_ONCE = 512
POWER_QUANTILE = 0.84  # of the standard normal at 0.8: found four times in five


class Trend:
    r"""The Rao score statistic F'WU (U'W²VU)⁻ U'WF of each column, with U of mid-ranks and categories.

    U has for each number 2t - 1 and 6t² - 6t + 1, t its mid-rank in (0, 1), and for each category but the first an
    indicator; it is centred with weights.
    """

    def __init__(self, covariates: Covariates, rule: Rule) -> None:
        U = features(covariates)
        w = rule.w[:, None]
        self.wU = w * (U - (w * U).sum(axis=0) / w.sum())  # (n, p)
        same = bool((rule.v == rule.v[:, :1]).all())  # of components of ranks
        bases = [_basis(self.wU, rule.v[:, k]) for k in range(1 if same else rule.v.shape[1])]
        self.bases = bases * (rule.v.shape[1] if same else 1)

    def of(self, F: FloatArray) -> FloatArray:
        """Return the statistic (sets, m) of F (n, sets, m)."""
        n, sets, m = F.shape
        sums = (self.wU.T @ F.reshape(n, -1)).reshape(-1, sets, m)
        squares = [((basis.T @ sums[:, :, k]) ** 2).sum(axis=0) for k, basis in enumerate(self.bases)]
        return np.stack(squares, axis=1)


def features(covariates: Covariates) -> FloatArray:
    """Return U (n, p) before it is centred.

    >>> table = Covariates(np.array([[3.0, 1.0], [5.0, 0.0]]), ((), ("a", "b")), ("x", "c"))
    >>> features(table).tolist()
    [[-0.5, -0.125, 1.0], [0.5, -0.125, 0.0]]
    """
    parts = []
    for x, labels in zip(covariates.x.T, covariates.labels, strict=True):
        if labels:
            parts += [(x == code).astype(np.float64) for code in range(1, len(labels))]
            continue
        _, place, count = np.unique(x, return_inverse=True, return_counts=True)
        t = ((np.cumsum(count) - count / 2) / x.size)[place]
        parts += [2 * t - 1, 6 * t * t - 6 * t + 1]
    return np.stack(parts, axis=1)


def _basis(wU: FloatArray, v: FloatArray) -> FloatArray:
    """Return A (p, rank) with |A'U'WF|² = F'WU (U'W²VU)⁻ U'WF."""
    gram = wU.T @ (v[:, None] * wU)
    varies = np.sqrt(np.diagonal(gram)) > 1e-12 * math.sqrt(len(wU))
    return independent_directions(gram, varies) if varies.any() else np.zeros((len(gram), 0))


class Searched(NamedTuple):
    """What is searched: residuals with their weights and the covariates, the prediction's coordinates among them."""

    residuals: Residuals
    covariates: Covariates
    w: FloatArray
    clusters: NDArray[np.intp] | None = None

    @property
    def rule(self) -> Rule:
        """How sums become Z, for each coordinate of vectors alike."""
        return Rule(self.w, self.residuals.v[:, : self.residuals.K], self.residuals.contrast)

    def take(self, rows: NDArray[Any]) -> Searched:
        clusters = None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1]
        return Searched(self.residuals.take(rows), self.covariates.take(rows), self.w[rows], clusters)


class Statistics:
    """The statistics of the data, and of redraws."""

    def __init__(
        self,
        searched: Searched,
        method: Method = "joint",
        pairs: list[tuple[int, int]] | None = None,  # that have boxes; None: all
        alternative: Alternative = "two-sided",
    ) -> None:
        covariates = searched.covariates
        self.searched, self.alternative, self.pairs = searched, alternative, pairs
        self.said: list[str] = []
        if self.pairs == [] and covariates.q > MAX_COVARIATES_IN_PAIRS:
            self.said.append(f"no boxes of more than {MAX_COVARIATES_IN_PAIRS} covariates without pairs=")
        self.scan = RegionSearch(covariates, self.pairs, searched.rule, alternative)
        self.names: tuple[Literal["scan", "trend"], ...] = ("scan", "trend") if method == "joint" else (method,)
        if alternative != "two-sided":
            self.names = ("scan",)
        why = self._why_not_searched()
        if why:
            if method == "scan":
                raise NotApplicableError(f"{why}; pass method='trend'")
            if alternative != "two-sided":
                raise NotApplicableError(f"{why}, and a trend has no side; leave alternative out")
            self.names = ("trend",)
            self.said.append(why)

    def _why_not_searched(self) -> str:
        residuals = self.searched.residuals
        expected = float(residuals.v.max(axis=1).sum())
        if residuals.n < MIN_ROWS_SEARCHED:
            return f"regions are not searched in fewer than {MIN_ROWS_SEARCHED} rows"
        if residuals.is_share and expected < MIN_EXPECTED:
            return f"{expected:.2g} events are expected: too few to search regions"
        return "rows are too few to look anywhere" if self.scan.is_empty else ""

    @cached_property
    def trend(self) -> Trend:
        return Trend(self.searched.covariates, self.searched.rule)

    def of(self, F: FloatArray) -> FloatArray:
        """Return the statistics (S, sets, C) of F (n, sets, C·K), of one coordinate after the other."""
        n, sets, _ = F.shape
        F, found = F.reshape(n, -1, self.searched.residuals.K), []
        if "scan" in self.names:
            found.append(self.scan.largest(F).max(axis=1))
        if "trend" in self.names:
            found.append(self.trend.of(F).sum(axis=1))
        return np.stack(found).reshape(len(found), sets, -1)

    def of_data_and_redraws(self, B: int, rng: np.random.Generator) -> FloatArray:
        """Return the statistics of the data and of B redraws, (S, 1 + B, C)."""
        tests, n = self, len(self.searched.w)
        if n > MAX_ROWS_REDRAWN:
            some = np.sort(rng.permutation(n)[:MAX_ROWS_REDRAWN])
            method: Method = "joint" if len(self.names) == 2 else self.names[0]
            tests = Statistics(self.searched.take(some), method, self.pairs, self.alternative)
            self.names = tests.names  # of rare events these may be fewer
            why = [each for each in tests.said if each not in self.said]
            self.said += [*why, f"redraws of {MAX_ROWS_REDRAWN:,} random rows"]
        residuals = tests.searched.residuals
        size = max(1, min(NUMBERS_AT_ONCE // (residuals.n * residuals.drawn), MAX_SETS_AT_ONCE))
        redrawn = of_redraws(residuals, tests.of, B, rng, size=size)
        observed = self.of(self.searched.residuals.F[:, None])
        return np.concatenate([observed, np.broadcast_to(redrawn, (*redrawn.shape[:2], residuals.C))], axis=1)

    def visible(self, T: FloatArray, level: float) -> float:
        """Return the error of half of the rows that would have been found four times in five; NaN if not searched.

        The half is an interval of one covariate, or what it leaves. The error is one of events or of coverage; of ranks
        a bias in predictive standard deviations.
        """
        if "scan" not in self.names:
            return math.nan
        largest = T[self.names.index("scan"), 1:].max(axis=1)
        reach = math.sqrt(float(np.quantile(largest, 1 - (1 - level) / 2))) + POWER_QUANTILE
        residuals, n = self.searched.residuals, len(self.searched.w)
        if residuals.is_share:
            return float(min(1.0, reach * math.sqrt(2 * float(residuals.v.mean(axis=0).max()) / n)))
        assert residuals.ranks is not None
        M = residuals.ranks.M
        if not residuals.contrast:
            return visible_bias(math.sqrt(2 / n) * reach, M)  # Z = μ √(n/2) of a half with mean F = μ
        z = 2 / math.sqrt(n) * reach  # Z = μ √n/2 as a contrast, over √(1 + μ²/4), the sd of all F
        return visible_bias(z / math.sqrt(1 - z * z / 4), M) if z < 2 else math.inf


def visible_bias(mean: float, M: int) -> float:
    r"""Return the bias δ, in predictive sd, at which φ_1 of ranks among M draws has this mean; inf if none is enough.

    If predictions are normal, the mean is :math:`\rho_1 \sqrt3\, (2\Phi(\delta/\sqrt2) - 1)` (`shrinkage`).

    >>> round(visible_bias(0.1, 99), 3), visible_bias(1.0, 1)
    (0.103, inf)
    """
    share = mean / (math.sqrt(3) * float(shrinkage(M)[0]))
    return math.sqrt(2) * NormalDist().inv_cdf((1 + share) / 2) if share < 1 else math.inf


def of_redraws(
    residuals: Residuals, statistic: Callable[[FloatArray], FloatArray], B: int, rng: np.random.Generator, *, size: int
) -> FloatArray:
    """Return a statistic (S, sets, ..) of B redraws (n, sets, m), `size` of them at once with a seed of their own."""
    seeds = rng.integers(2**63, size=-(-B // size))

    def work(part: slice) -> FloatArray:
        return statistic(residuals.draw(np.random.default_rng(seeds[part.start // size]), part.stop - part.start))

    return np.concatenate(list(on_threads(work, B, size=size)), axis=1)


def pairs_of(given: Sequence[tuple[Any, Any]] | None, covariates: Covariates) -> list[tuple[int, int]] | None:
    """Return which pairs have boxes: None for all."""
    if given is None:
        return None if covariates.q <= MAX_COVARIATES_IN_PAIRS else []
    is_list = isinstance(given, (list, tuple))
    if not is_list or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in given):
        raise InputError(f"pairs must be a list of pairs of covariates, such as [(0, 1)]; got {shown(given)}")
    found = {(_place(a, covariates), _place(b, covariates)) for a, b in given}
    if any(a == b for a, b in found):
        raise InputError(f"a pair must be two different covariates; got {shown(given)}")
    return sorted({(min(pair), max(pair)) for pair in found})


def _place(one: Any, covariates: Covariates) -> int:
    names = covariates.names
    name = one if isinstance(one, str) else f"x{one}"
    if name in names:
        return names.index(name)
    if isinstance(one, (int, np.integer)) and 0 <= one < covariates.q:
        return int(one)
    raise InputError(f"pairs name covariates by number or name ({', '.join(names)}); got {shown(one)}")


def joint_pvalues(T: FloatArray, *, is_alone: bool = False) -> FloatArray:
    """Return the p-value of each coordinate (C,), given T (S, 1 + B, C), the data first, adjusted for all of them.

    By Holm where redraws are of one coordinate; else by the smallest over all of them.
    """
    if is_alone:
        return holm(np.array([smallest(T[:, :, [c]])[0] for c in range(T.shape[2])]))
    return smallest(T)


def smallest(T: FloatArray) -> FloatArray:
    """Return the p-value (C,) of the smallest p-value of the statistics of a coordinate, given T (S, 1 + B, C).

    Sets are ordered by their smallest p-value over all statistics, and equal ones by their largest standardised value;
    the p-value of a coordinate is the share of the sets that are at least as extreme as it is in the data. Every step
    is symmetric in the B + 1 sets, hence exact.
    """
    P = upper_places(T)
    spread = T.std(axis=1, keepdims=True)
    z = (T - T.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    key, size = P.min(axis=(0, 2)), z.max(axis=(0, 2))
    own, extent = P[:, 0].min(axis=0)[:, None], z[:, 0].max(axis=0)[:, None]
    extreme = (key < own) | ((key == own) & (size >= extent - 1e-9))
    extreme[:, 0] = True
    return np.asarray(extreme.mean(axis=1))


def upper_places(T: FloatArray) -> NDArray[np.intp]:
    """Return how many sets have at least the value of each, (S, 1 + B, C)."""
    return np.stack([upper_counts(T[:, :, c]) for c in range(T.shape[2])], axis=2)


def critical(largest: FloatArray, level: float, copies: int = 1) -> float:
    """Return the charged square that a region must reach: the ⌈level (B + 1)⌉-th smallest of the B largest ones.

    For `copies` coordinates with redraws of one it is the quantile at their share of the error rate.
    """
    if copies > 1:
        return float(np.quantile(largest, 1 - (1 - level) / copies, method="higher"))
    return float(np.sort(largest)[critical_place(largest.size, level) - 1])


def critical_place(B: int, level: float) -> int:
    """Return ⌈level (B + 1)⌉; refuse fewer redraws than that."""
    k = math.ceil(level * (B + 1) - 1e-9)
    if k > B:
        raise InputError(f"resamples must be at least {math.ceil(level / (1 - level) - 1e-9):,} for level={level:g}")
    return k
