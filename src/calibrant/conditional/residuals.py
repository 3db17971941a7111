"""What each kind of prediction gives: residual columns, their variance, a redraw, and the prediction as coordinates.

This is the one table of kinds: the search for regions, the trend, limits and parts know columns only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.ranking.counting import cells, legendre, pit_bounds, shrinkage
from calibrant.ranking.effects import SHIFT, SPREAD
from calibrant.ranking.summary import Ranks

MAX_CLASSES = 10  # that have a column of their own
CENTRAL = (0.5, 0.9)  # levels of the intervals whose coverage stands for parts of distributions and draws
SPREAD_LEVELS = (0.1, 0.5, 0.9)  # of the quantiles that a distribution is searched by
FUNCTIONS = ("shift", "spread")


class Column(NamedTuple):
    """What a column of residuals is about."""

    quantity: str  # "frequency", "right class", "class frequency", "coverage", "share_below", "shift" or "spread"
    level: float | None = None
    name: str = ""  # of the class
    coordinate: str = ""
    things: str = "intervals"  # what covers

    @property
    def text(self) -> str:
        """The column in words."""
        level = "" if self.level is None else f"{100 * self.level:.4g} %"
        words = {
            "frequency": "events",
            "right class": "most probable class",
            "class frequency": f"class {self.name}",
            "coverage": f"outcomes covered at {level}",
            "share_below": f"outcomes at or below the {level} quantile",
        }.get(self.quantity, self.quantity)
        return f"{words} of {self.coordinate}" if self.coordinate else words


Law: TypeAlias = Callable[[np.random.Generator, NDArray[np.intp], int], FloatArray]
"""Draws residuals (n, sets, m) of calibrated predictions of some rows, given by their numbers."""


def below(stated: FloatArray) -> Law:
    """Draw whether one uniform number a row is below what each column states: events, and hits of nested levels."""

    def draw(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
        chance = stated[rows, None]
        return np.asarray((rng.random((rows.size, sets, 1)) < chance) - chance)

    return draw


def after_calibration(levels: FloatArray, N: int) -> Law:
    """Draw hits of nested levels, in each redraw with the coverage that a calibration set of N rows gives.

    For a level it is the k-th smallest of N uniform numbers, k = ⌈(N + 1) level⌉.
    """
    k = np.minimum(np.ceil((N + 1) * levels - 1e-9), N + 1)
    order = np.argsort(k)

    def draw(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
        gaps = rng.standard_gamma(np.diff(k[order], prepend=0, append=N + 1), (sets, levels.size + 1)).cumsum(axis=1)
        chances = (gaps[:, :-1] / gaps[:, -1:])[:, np.argsort(order)]
        return np.asarray((rng.random((rows.size, sets, 1)) <= chances) - levels)

    return draw


def one_class(P: FloatArray, shown: NDArray[np.intp]) -> Law:
    """Draw one class a row from its vector, for all columns."""

    def draw(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
        steps = np.cumsum(P[rows], axis=1)[:, None]
        y = (steps <= rng.random((rows.size, sets, 1)) * steps[:, :, -1:]).sum(axis=2)
        return class_residuals(P[rows], np.minimum(y, P.shape[1] - 1), shown)

    return draw


def class_residuals(P: FloatArray, y: NDArray[Any], shown: NDArray[np.intp]) -> FloatArray:
    """Return the residuals (n, sets, m) of outcomes (n, sets): of the most probable class, then of those shown."""
    hits = np.concatenate([(y == P.argmax(axis=1)[:, None])[:, :, None], y[:, :, None] == shown], axis=2)
    return np.asarray(hits - _stated_classes(P, shown)[:, None])


def _stated_classes(P: FloatArray, shown: NDArray[np.intp]) -> FloatArray:
    return np.concatenate([P.max(axis=1, keepdims=True), P[:, shown]], axis=1)


def uniform_pit(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
    """Draw fresh uniform numbers, the same for every coordinate."""
    return components(rng.random((rows.size, sets)))


def uniform_ranks(phi: FloatArray) -> Law:
    """Draw fresh ranks, the same for every coordinate."""
    return lambda rng, rows, sets: np.asarray(phi.T[rng.integers(phi.shape[1], size=(rows.size, sets))])


def reordered(F: FloatArray) -> Law:
    """Draw the rows themselves in a random order, all columns together."""

    def draw(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
        return np.asarray(standardised(F[rows])[rng.permuted(np.tile(np.arange(rows.size), (sets, 1)), axis=1).T])

    return draw


def flipped(F: FloatArray, clusters: NDArray[np.intp]) -> Law:
    """Draw ±F, one sign for all rows of a cluster."""

    def draw(rng: np.random.Generator, rows: NDArray[np.intp], sets: int) -> FloatArray:
        signs = rng.choice([-1.0, 1.0], (int(clusters.max()) + 1, sets))
        return np.asarray(signs[clusters[rows]][:, :, None] * F[rows, None])

    return draw


class RankColumns(NamedTuple):
    """The ranks of the outcomes, 0 to M, or the cells of values of distribution functions."""

    rank: NDArray[np.int64]  # (n, C)
    M: int
    cells: bool = False

    def central(self, rows: NDArray[np.bool_]) -> tuple[float, float] | None:
        """Return the level of the central intervals of about 90 %, and the share that they cover; None for one draw."""
        found = central_hits(self.rank[rows, 0], self.M)
        return None if found is None else (found[0][-1], float(found[1][:, -1].mean()))


def central_hits(rank: NDArray[Any], M: int) -> tuple[list[float], NDArray[np.bool_]] | None:
    """Return the levels of central intervals of about 50 and 90 %, and whether ranks (...,) are in them, (..., L).

    >>> central_hits(np.array([0, 5]), 9)
    ([0.6, 0.8], array([[False, False],
           [ True,  True]]))
    """
    m = M + 1
    possible = np.arange(m - 2, 0, -2)
    if not possible.size:
        return None
    sizes = sorted({int(possible[np.abs(possible / m - level).argmin()]) for level in CENTRAL})
    ends = [((m - j) // 2, (m - j) // 2 + j) for j in sizes]
    return [j / m for j in sizes], np.stack([(low <= rank) & (rank < high) for low, high in ends], axis=-1)


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residual columns of the rows, with what is stated: F = outcome - stated has variance v if calibrated."""

    columns: tuple[Column, ...]
    F: FloatArray  # (n, m)
    v: FloatArray  # (n, m)
    stated: FloatArray  # (n, m); 0 for components of ranks
    law: Law
    searched: dict[str, FloatArray] = field(default_factory=dict)  # numbers (n,) of the prediction, by their names
    of_parts: Residuals | None = None  # what parts are bounded by, where it is other columns
    names: tuple[str, ...] = ("",)  # of the coordinates of vectors
    ranks: RankColumns | None = None  # of draws and distributions
    raw: FloatArray | None = None  # F before it was standardised, if its rows are permuted
    said: tuple[str, ...] = ()  # for `method`
    rows: NDArray[np.intp] | None = None  # which rows of the law these are; None: all

    def draw(self, rng: np.random.Generator, sets: int) -> FloatArray:
        """Return redrawn residuals (n, sets, m)."""
        return self.law(rng, np.arange(self.n) if self.rows is None else self.rows, sets)

    @property
    def n(self) -> int:
        return len(self.F)

    @property
    def C(self) -> int:
        """Number of coordinates of vectors: each has K columns, and a test of its own."""
        return len(self.names)

    @property
    def K(self) -> int:
        return len(self.columns) // self.C

    @property
    def contrast(self) -> bool:
        """Whether F is standardised and its rows are permuted."""
        return self.raw is not None

    @property
    def is_alone(self) -> bool:
        """Whether a redraw is of one coordinate, and serves each of several alone."""
        return self.C > 1 and not self.contrast

    @property
    def drawn(self) -> int:
        """Number of columns of a redraw."""
        return self.K if self.is_alone else len(self.columns)

    @property
    def is_share(self) -> bool:
        """Whether residuals are those of events, rather than components of ranks."""
        return self.columns[0].quantity not in FUNCTIONS

    def take(self, rows: NDArray[Any]) -> Residuals:
        """Return some of the rows, to be redrawn or searched; parts are those of all rows."""
        return replace(
            self,
            F=standardised(self.F[rows]) if self.contrast else self.F[rows],
            v=self.v[rows],
            stated=self.stated[rows],
            rows=np.arange(self.n)[rows] if self.rows is None else self.rows[rows],
            searched={},
            of_parts=None,
            ranks=None if self.ranks is None else self.ranks._replace(rank=self.ranks.rank[rows]),
            raw=None if self.raw is None else self.raw[rows],
        )

    def coordinate(self, c: int) -> Residuals:
        """Return the columns of one coordinate, to be searched."""
        if self.C == 1:
            return self
        own = slice(c * self.K, (c + 1) * self.K)
        kept = {name: getattr(self, name)[:, own] for name in ("F", "v", "stated")}
        ranks = None if self.ranks is None else self.ranks._replace(rank=self.ranks.rank[:, [c]])
        raw = None if self.raw is None else self.raw[:, own]
        return replace(self, columns=self.columns[own], names=self.names[c : c + 1], ranks=ranks, raw=raw, **kept)

    @property
    def units(self) -> FloatArray:
        """What a mean of each column is multiplied by, (m,): 1 for shares.

        Of components of ranks it becomes the shift of the outcomes in predictive standard deviations, and the log of
        the factor that the spread needs, to first order.
        """
        if self.ranks is None:
            return np.ones(len(self.columns))
        rho = np.ones(2) if self.ranks.cells else shrinkage(self.ranks.M)
        of_function = {"shift": SHIFT / rho[0], "spread": SPREAD / rho[min(1, rho.size - 1)]}
        return np.array([of_function[column.quantity] for column in self.columns])


def components(u: FloatArray) -> FloatArray:
    """Return φ_1 and φ_2 of numbers between 0 and 1, (..., 2).

    >>> components(np.array([0.0, 0.5])).round(3).tolist()
    [[-1.732, 2.236], [0.0, -1.118]]
    """
    return np.stack([math.sqrt(3) * (2 * u - 1), math.sqrt(5) * (6 * u * u - 6 * u + 1)], axis=-1)


def standardised(F: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; constant ones are 0."""
    centred = F - F.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def _of_stated(columns: tuple[Column, ...], hits: Any, stated: FloatArray, searched: Any = None) -> Residuals:
    stated = np.broadcast_to(stated, hits.shape).astype(np.float64)
    return Residuals(columns, hits - stated, stated * (1 - stated), stated, below(stated), searched or {})


def of_events(rows: Any) -> Residuals:
    p = np.asarray(rows.p, np.float64)
    y = np.asarray(rows.y, np.float64)
    return _of_stated((Column("frequency"),), y[:, None], p[:, None], {"prediction": p})


def of_classes(rows: Any, class_names: tuple[str, ...] = ()) -> Residuals:
    P = np.asarray(rows.prediction, np.float64)
    K = P.shape[1]
    variance = (rows.w[:, None] * P * (1 - P)).sum(axis=0)
    shown = np.sort(np.argsort(-variance, kind="stable")[:MAX_CLASSES])
    names = class_names or tuple(map(str, range(K)))
    columns = (Column("right class"), *(Column("class frequency", name=names[k]) for k in shown.tolist()))
    F, stated = class_residuals(P, np.asarray(rows.y)[:, None], shown)[:, 0], _stated_classes(P, shown)
    said = (f"{MAX_CLASSES} of {K} classes",) if K > MAX_CLASSES else ()
    law, searched = one_class(P, shown), {"prediction": P.max(axis=1)}
    return Residuals(columns, F, stated * (1 - stated), stated, law, searched, said=said)


def _of_levels(quantity: str, rows: Any, searched: dict[str, FloatArray], things: str = "intervals") -> Residuals:
    levels = np.asarray(rows.prediction.levels, np.float64)
    columns = tuple(Column(quantity, level, things=things) for level in levels.tolist())
    finite = {name: np.nan_to_num(values, nan=0.0) for name, values in searched.items()}
    return _of_stated(columns, rows.covered, levels, finite)


def of_intervals(rows: IntervalRows) -> Residuals:
    widest = int(np.argmax(rows.prediction.levels))
    lower, upper = rows.prediction.lower[:, widest], rows.prediction.upper[:, widest]
    with np.errstate(over="ignore", invalid="ignore"):
        return _of_levels("coverage", rows, {"centre": lower / 2 + upper / 2, "width": upper - lower})


def of_sets(rows: SetRows) -> Residuals:
    levels = rows.prediction.levels
    if levels is None:
        raise NotApplicableError("coverage is compared with the level of the sets; pass Sets(mask, level=...)")
    return _of_levels("coverage", rows, {"size": rows.sizes[:, int(np.argmax(levels))]}, "sets")


def of_quantiles(rows: Any) -> Residuals:
    middle = int(np.abs(np.asarray(rows.prediction.levels) - 0.5).argmin())
    return _of_levels("share_below", rows, {"prediction": rows.prediction.values[:, middle]})


OF_ROWS: dict[str, Callable[..., Residuals]] = {
    "binary": of_events,
    "classes": of_classes,
    "intervals": of_intervals,
    "sets": of_sets,
    "quantiles": of_quantiles,
}
"""How rows of a kind become residuals; distributions and values of distribution functions need chance too."""


def of_distributions(rows: Any, rng: np.random.Generator) -> Residuals:
    """Return components of u = F(y-) + V (F(y) - F(y-)), V uniform."""
    low, high = pit_bounds(rows)
    u = np.where(high > low, low + rng.random(low.shape) * (high - low), high).reshape(rows.n, -1)
    C = u.shape[1]
    names = ("",) if C == 1 else tuple(rows.names or map(str, range(C)))
    searched = _median_and_spread(rows.distribution) if rows.kind == "distributions" and C == 1 else {}
    central = list(CENTRAL), np.abs(2 * u - 1)[:, :, None] <= CENTRAL
    counted = cells(u, False)
    ranks = RankColumns(counted.rank, counted.M, cells=True)
    return _of_components(components(u), uniform_pit, names, ranks, central, searched)


def _median_and_spread(distribution: Any) -> dict[str, FloatArray]:
    try:
        q = np.asarray(distribution.quantiles(list(SPREAD_LEVELS)).values)
    except NotApplicableError:  # a distribution of the user without quantiles
        return {}
    with np.errstate(over="ignore", invalid="ignore"):
        return {"median": np.nan_to_num(q[:, 1], nan=0.0), "spread": np.nan_to_num(q[:, 2] - q[:, 0], nan=0.0)}


def of_ranks(counted: Ranks, rank: NDArray[np.int64]) -> Residuals:
    phi = legendre(counted.M)[: len(FUNCTIONS)]
    F, central = np.moveaxis(phi[:, rank], 0, -1), central_hits(rank, counted.M)
    names = counted.names if counted.C > 1 else ("",)
    return _of_components(F, uniform_ranks(phi), names, RankColumns(rank, counted.M, counted.cells), central)


def _of_components(
    F: FloatArray,
    law: Law,
    names: tuple[str, ...],
    ranks: RankColumns,
    central: tuple[list[float], NDArray[np.bool_]] | None,
    searched: dict[str, FloatArray] | None = None,
) -> Residuals:
    """Return components F (n, C, K) of ranks; parts are bounded by the coverage of central intervals."""
    n, _, K = F.shape
    columns = tuple(Column(function, coordinate=name) for name in names for function in FUNCTIONS[:K])
    of_parts = None
    if central is not None:
        levels, hits = central
        covered = tuple(Column("coverage", level, coordinate=name) for name in names for level in levels)
        of_parts = _of_stated(covered, hits.reshape(n, -1), np.tile(levels, len(names)))
    F = F.reshape(n, -1)
    return Residuals(columns, F, np.ones_like(F), np.zeros_like(F), law, searched or {}, of_parts, names, ranks)


def permuted(found: Residuals, w: FloatArray) -> Residuals:
    """Return standardised components, whose rows are permuted: what is wrong alike in all rows is no deviation."""
    if found.is_share:
        raise NotApplicableError(
            'null="alike" is for draws and distributions; recalibrate on other rows first, and compare the result'
        )
    if not (w == w[0]).all():
        raise InputError('permuted ranks need equal weights; leave weights out, or pass null="calibrated"')
    return replace(found, F=standardised(found.F), law=reordered(found.F), raw=found.F)
