"""The statistics of `conditional_test`: of the data and of redraws, their joint p-value, and trees in their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import on_threads
from calibrant.core.null import upper_counts
from calibrant.core.pvalues import holm, normal_sf
from calibrant.core.results import TestResult
from calibrant.errors import InputError, MissingExtraError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.covariates import Covariates
from calibrant.ranking.counting import legendre, shrinkage
from calibrant.ranking.covariates import orthonormal
from calibrant.ranking.effects import rank_effect, ranks_in_words, shaped
from calibrant.ranking.kept_ranks import KeptRanks
from calibrant.ranking.region_search import RegionSearch, Standardisation
from calibrant.ranking.summary import COVARIATE_POLYNOMIALS

Method: TypeAlias = Literal["joint", "score", "intervals", "boxes", "kernel", "trees"]
Null: TypeAlias = Literal["permutation", "uniform"]
STATISTICS = ("score", "intervals", "boxes", "kernel")
MIN_ROWS = 10
MIN_ROWS_SEARCHED = 60  # below which the score statistic stands alone
MAX_COVARIATES_IN_PAIRS = 25
FEATURES = 400  # random Fourier features of the kernel
MAX_ROWS_FOR_MEDIAN = 1000
NUMBERS_AT_ONCE = 1 << 22  # of a chunk of redraws: 16 MiB of float32
MAX_COLUMNS_AT_ONCE = 1024
POWER_QUANTILE = 0.84  # of the standard normal at 0.8: found four times in five
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
BLOCKS = 5
TREES, DEPTH = 40, 3
MIN_ROWS_OF_BLOCK = 20


class Asked(NamedTuple):
    """Which statistics are asked for, and how they are redrawn."""

    method: Method
    null: Null
    pairs: Sequence[tuple[Any, Any]] | None = None


class Prepared(NamedTuple):
    """Rows in an order of their own, and their covariates as they are searched."""

    rank: NDArray[np.int64]  # (n, C)
    phi: FloatArray  # (K, M + 1)
    w: FloatArray  # (n,), 1 on average
    covariates: Covariates
    dropped: tuple[str, ...]  # names of covariates that are constant
    order: NDArray[np.intp]  # which of the caller's rows these are
    cells: bool  # whether ranks are cells of distribution functions


def prepared(kept: KeptRanks) -> Prepared:
    """Sort the rows by their values, so that their order does not matter, and drop constant covariates."""
    if kept.n < MIN_ROWS:
        raise NotApplicableError(f"a relation to covariates needs at least {MIN_ROWS} rows; got {kept.n}")
    order = kept.order()
    varies = (kept.x.max(axis=0) > kept.x.min(axis=0)).tolist()
    if not any(varies):
        raise NotApplicableError("no covariate varies between rows, so ranks cannot vary with them")
    table = kept.covariates.columns([j for j, used in enumerate(varies) if used]).take(order).pooled
    dropped = tuple(name for name, used in zip(kept.names, varies, strict=True) if not used)
    phi = legendre(kept.counted[0].M)[:COVARIATE_POLYNOMIALS]
    w = kept.w[order] / kept.w.mean()
    return Prepared(kept.rank[order], phi, w, table, dropped, order, kept.counted[0].cells)


class ObservedAndRedrawn(NamedTuple):
    """The statistics of the data (S, C) and of redraws (S, B, C), or (S, B, 1) where these serve every coordinate."""

    observed: NDArray[Any]
    redrawn: NDArray[Any]

    @property
    def is_shared(self) -> bool:
        """Whether redraws are of one coordinate and serve each alone."""
        return bool(self.redrawn.shape[2] < self.observed.shape[1])

    def sets(self, c: int) -> NDArray[Any]:
        """Return the statistics of one coordinate, (S, 1 + B): the data first."""
        redrawn = self.redrawn[:, :, min(c, self.redrawn.shape[2] - 1)]
        return np.concatenate([self.observed[:, [c]].astype(redrawn.dtype), redrawn], axis=1)


class ConditionalStatistics:
    """The statistics of the data, and of redraws."""

    def __init__(
        self, data: Prepared, asked: Asked, rng: np.random.Generator, columns: tuple[str, ...] = ("",)
    ) -> None:
        self.data, self.null = data, asked.null
        n, q = data.covariates.x.shape
        self.phi = data.phi
        few = n < MIN_ROWS_SEARCHED
        names: tuple[str, ...] = STATISTICS if asked.method == "joint" else (asked.method,)
        self.names = ("score",) if few else names
        self.dtype = DOUBLE if few else SINGLE
        pairs = _pairs(asked.pairs, data.covariates)
        self.without_boxes = pairs == [] and q > MAX_COVARIATES_IN_PAIRS
        self.scan = (
            None if few else RegionSearch(data.covariates, pairs, Standardisation(self.null == "permutation", data.w))
        )
        if self.scan is not None and not self.scan.boxes:
            if asked.method == "boxes":
                raise NotApplicableError(
                    "there are no boxes: two covariates that vary, and 20 rows inside and outside of a box are needed"
                )
            self.names = tuple(name for name in self.names if name != "boxes")
        self.Q = orthonormal(data.covariates.numbers) if "score" in self.names else None
        self.V = _fourier(data.covariates.standardised, rng) if "kernel" in self.names else None
        self.F = self._columns()
        self.columns = columns if len(columns) > 1 else ()

    def _columns(self) -> FloatArray:
        """Return F (n, C, K) of the data."""
        F = np.moveaxis(self.phi[:, self.data.rank], 0, -1)
        if self.null == "uniform":
            return F
        centred = F - F.mean(axis=0)
        spread = centred.std(axis=0)
        return np.asarray(centred / np.where(spread > 0, spread, 1.0))

    def observed(self) -> FloatArray:
        """Return the statistics of the data, (S, C)."""
        return np.asarray(self.of(self.F[:, None])[:, 0])

    def of(self, F: NDArray[Any]) -> NDArray[Any]:
        """Return the statistics (S, sets, C) of F (n, sets, C, K)."""
        n, sets, C, K = F.shape
        wF = F if self.null == "permutation" else F * self.data.w.astype(F.dtype)[:, None, None, None]
        columns = np.ascontiguousarray(wF.reshape(n, -1))

        def summed(basis: FloatArray | None) -> NDArray[Any]:
            assert basis is not None
            squares = ((basis.T.astype(F.dtype) @ columns) ** 2).sum(axis=0)
            return np.asarray(squares.reshape(sets, C, K).sum(axis=2))

        def largest(of: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
            return np.asarray(of(columns).reshape(sets, C, K).max(axis=2))

        scan = self.scan
        found = {
            "score": lambda: summed(self.Q),
            "kernel": lambda: summed(self.V),
            "intervals": lambda: largest(scan.largest_over_intervals),  # type: ignore[union-attr]
            "boxes": lambda: largest(scan.largest_over_boxes),  # type: ignore[union-attr]
        }
        return np.stack([found[name]() for name in self.names])

    def redrawn(self, B: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return the statistics of B redraws: of permuted rows (S, B, C), or of new ranks for all columns (S, B, 1)."""
        n, C, K = self.F.shape
        columns = K * (C if self.null == "permutation" else 1)
        size = max(1, min(NUMBERS_AT_ONCE // n, MAX_COLUMNS_AT_ONCE) // columns)
        seeds = rng.integers(2**63, size=-(-B // size))
        F = self.F.astype(self.dtype)
        phi = self.phi.T.astype(self.dtype)

        def work(part: slice) -> NDArray[Any]:
            chance, sets = np.random.default_rng(seeds[part.start // size]), part.stop - part.start
            if self.null == "uniform":
                return self.of(phi[chance.integers(len(phi), size=(n, sets))][:, :, None])
            places = chance.permuted(np.tile(np.arange(n), (sets, 1)), axis=1)
            return self.of(F[places.T])

        return np.concatenate(list(on_threads(work, B, size=size)), axis=1)

    def visible(self, redrawn: NDArray[Any], level: float) -> float:
        """Return the bias of half of the rows, in predictive sd, that would have been found four times in five.

        The half is an interval of one covariate, or what it leaves. The clearest interval must then exceed what chance
        exceeds with a quarter of the error rate, which is enough for the smallest p-value of four statistics.
        """
        if "intervals" not in self.names:
            return math.nan
        largest = redrawn[self.names.index("intervals")].max(axis=1)
        c = float(np.quantile(largest, 1 - (1 - level) / len(self.names)))
        n, M = len(self.data.rank), self.phi.shape[1] - 1
        if self.null == "uniform":
            return visible_bias(math.sqrt(2 / n) * (c + POWER_QUANTILE), M)  # Z = μ √(n/2) of a half with mean F = μ
        z = 2 / math.sqrt(n) * (c + POWER_QUANTILE)  # Z = μ √n/2 as a contrast, over √(1 + μ²/4), the sd of all F
        return visible_bias(z / math.sqrt(1 - z * z / 4), M) if z < 2 else math.inf


def visible_bias(mean: float, M: int) -> float:
    r"""Return the bias δ, in predictive sd, at which φ_1 of ranks among M draws has this mean; inf if none is enough.

    If predictions are normal, the mean is :math:`\rho_1 \sqrt3\, (2\Phi(\delta/\sqrt2) - 1)` (`shrinkage`).

    >>> round(visible_bias(0.1, 99), 3), visible_bias(1.0, 1)
    (0.103, inf)
    """
    share = mean / (math.sqrt(3) * float(shrinkage(M)[0]))
    return math.sqrt(2) * NormalDist().inv_cdf((1 + share) / 2) if share < 1 else math.inf


def _pairs(given: Sequence[tuple[Any, Any]] | None, covariates: Covariates) -> list[tuple[int, int]] | None:
    """Return which pairs have boxes: None for all."""
    if given is None:
        return None if covariates.q <= MAX_COVARIATES_IN_PAIRS else []
    if not isinstance(given, (list, tuple)):
        raise InputError(f"pairs must be a list of pairs of covariates, such as [(0, 1)]; got {shown(given)}")
    found = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"pairs must be pairs of covariates, such as [(0, 1)]; got {shown(pair)}")
        a, b = (_place(one, covariates) for one in pair)
        if a == b:
            raise InputError(f"a pair must be two different covariates; got {shown(pair)}")
        found.append((min(a, b), max(a, b)))
    return sorted(set(found))


def _place(one: Any, covariates: Covariates) -> int:
    names = covariates.names
    name = one if isinstance(one, str) else f"x{one}"
    if name in names:
        return names.index(name)
    if isinstance(one, (int, np.integer)) and 0 <= one < covariates.q:
        return int(one)
    raise InputError(f"pairs name covariates by number or name ({', '.join(names)}); got {shown(one)}")


def _fourier(z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return centred features (n, 400) of the Gaussian kernel at half the median distance (Rahimi and Recht 2007)."""
    from scipy.spatial.distance import pdist

    some = z[rng.permutation(len(z))[:MAX_ROWS_FOR_MEDIAN]]
    distance = float(np.median(pdist(some))) / 2 or 1.0
    angle = z @ (rng.normal(size=(z.shape[1], FEATURES // 2)) / distance)
    V = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) * math.sqrt(2 / FEATURES)
    return np.asarray(V - V.mean(axis=0))


def joint_pvalues(T: ObservedAndRedrawn) -> FloatArray:
    """Return the p-value of each coordinate, adjusted for all of them: by Holm if redraws are of one coordinate."""
    S, C = T.observed.shape
    every = [T.sets(c) for c in range(C)]
    if T.is_shared:
        return holm(np.array([_smallest(each, [slice(None)])[0] for each in every]))
    return _smallest(np.concatenate(every), [slice(c * S, (c + 1) * S) for c in range(C)])


def _smallest(T: NDArray[Any], parts: list[slice]) -> FloatArray:
    """Return the p-values of the smallest p-value of some statistics, given T (statistics, 1 + B), data first.

    Sets are ordered by their smallest p-value over all statistics, and equal ones by their largest standardised value;
    the p-value of a part is the share of the sets that are at least as extreme as it is in the data.
    """
    P = upper_counts(T)
    spread = T.std(axis=1, keepdims=True, dtype=np.float64)
    z = (T - T.mean(axis=1, keepdims=True, dtype=np.float64)) / np.where(spread > 0, spread, 1.0)
    key, size = P.min(axis=0), z.max(axis=0)
    found = []
    for part in parts:
        own, extent = P[part, 0].min(), z[part, 0].max()
        extreme = (key < own) | ((key == own) & (size >= extent))
        extreme[0] = True
        found.append(np.count_nonzero(extreme) / T.shape[1])
    return np.array(found)


def tree_test(kept: KeptRanks, data: Prepared, rng: np.random.Generator) -> TestResult:
    r"""Return the test by boosted trees, fitted to all blocks before and tested on the next.

    Each :math:`\sum F \hat f / \sqrt{\sum \hat f^2}` over a block has mean 0 and variance 1 given the blocks before, if
    ranks are uniform and unrelated; the sum of four over 2 is nearly standard normal, without redraws.
    """
    n = kept.n
    if n < BLOCKS * MIN_ROWS_OF_BLOCK:
        raise NotApplicableError(f'method="trees" needs at least {BLOCKS * MIN_ROWS_OF_BLOCK} rows; got {n}')
    x, w = data.covariates.numbers, data.w
    block = rng.permutation(n) * BLOCKS // n
    seed = int(rng.integers(2**31))
    z = np.array([_statistic(data.phi[:, data.rank[:, c]], x, w, block, seed) for c in range(data.rank.shape[1])])
    p = holm(np.array([normal_sf(float(value)) for value in z]))
    ranks = kept.counted[0]
    effect = rank_effect(ranks)
    return TestResult(
        statistic=float(z.max()),
        pvalue=float(p.min()),
        estimate=(shaped(effect.shift, ranks.single), shaped(effect.spread, ranks.single)),
        method=f"ranks against covariates; boosted trees, fitted to the blocks of rows before; {ranks_in_words(ranks)}",
        n=n,
        details={"names": ranks.names, "pvalue_each": shaped(p, ranks.single)},
    )


def _statistic(F: FloatArray, x: FloatArray, w: FloatArray, block: Any, seed: int) -> float:
    """Return the sum over blocks of the standardised products of F (K, n) and their predictions."""
    try:
        from sklearn.ensemble import GradientBoostingRegressor
    except ImportError:
        raise MissingExtraError('method="trees"', extra="sklearn") from None
    total = 0.0
    for b in range(1, BLOCKS):
        past, now = block < b, block == b
        products = squares = 0.0
        for f in F:
            model = GradientBoostingRegressor(n_estimators=TREES, max_depth=DEPTH, random_state=seed)
            fitted = model.fit(x[past], f[past], sample_weight=w[past]).predict(x[now])
            products += float((w[now] * f[now] * fitted).sum())
            squares += float(((w[now] * fitted) ** 2).sum())
        total += products / math.sqrt(squares) if squares > 0 else 0.0
    return total / math.sqrt(BLOCKS - 1)
