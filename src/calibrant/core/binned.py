"""From rows to a summary that has the wanted bins, and from that summary to their table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from calibrant.core.bins import (
    COLUMNS,
    GRID_ORDER,
    BinTable,
    IndexArray,
    bin_of,
    edges_at,
    mass_ends,
    rounded,
    similar_bins,
    similar_ends,
    width_edges,
)
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered, sums_by_key
from calibrant.core.summary import Summary, one_precision
from calibrant.errors import SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins
from calibrant.inputs.probabilities import Binary, Classes

Bins: TypeAlias = int | Literal["auto", "cube-root", "sweep"]
Strategy: TypeAlias = Literal["width", "mass"]

ROUNDING = 1e-12  # frequencies this close are equal
MAX_ROWS_ALONE = 2_000  # with more, a grid is quicker


@dataclass(frozen=True)
class BinOptions:
    """The options of verbs that group rows into bins."""

    bins: Bins
    strategy: Strategy

    def __post_init__(self) -> None:
        check_bins(self.bins)


def summarise_bins(rows: Binary, *, bins: Any, strategy: str) -> Grid | Ordered:
    """Return the smallest summary that has these bins exactly."""
    return Grid.of(rows) if on_grid(bins=bins, strategy=strategy) else Ordered.of(rows)


def on_grid(*, bins: Any, strategy: str, **_: Any) -> bool:
    """Tell whether a `Grid` has these bins exactly: up to 100 of equal width."""
    return strategy == "width" and isinstance(bins, Integral) and int(bins) <= GRID_ORDER


def bin_table(summary: Summary, *, bins: Any, strategy: str) -> BinTable:
    if isinstance(summary, Grid):
        if strategy != "width" or isinstance(bins, str):
            raise SummaryError(
                "a Grid has width bins only; make the summary with the bins= and strategy= you measure with, "
                "or pass exact=True where data come in batches"
            )
        return summary.bins(bins)
    if not isinstance(summary, Ordered):
        raise SummaryError(f"bins need a Grid or an Ordered; got {type(summary).__name__}")
    m, strategy = _resolved(summary, bins, strategy)
    return summary.bins(summary.edges(m, strategy))


def _resolved(ordered: Ordered, bins: Any, strategy: str) -> tuple[int, str]:
    if bins == "auto":
        return similar_bins(ordered.effective), "similar"
    if bins == "cube-root":
        root = round(ordered.n ** (1 / 3))
        return (root if root**3 >= ordered.n else root + 1), "mass"
    if bins == "sweep":
        return _sweep(ordered), "mass"
    return int(bins), strategy


def similar_table(summary: Grid | Ordered, m: int | None = None) -> BinTable:
    """Return the sums over at most m ranges of similar scores, by default as many as `similar_bins` says.

    Those of a grid are made of its cells: they cannot be cut, and are taken for scores.
    """
    if isinstance(summary, Ordered):
        return summary.similar(m or similar_bins(summary.effective))
    filled = summary.sums[0] > 0
    cells = BinTable(np.append(0.0, summary.cells().upper[filled]), summary.sums[:, filled])
    ends = similar_ends(np.cumsum(cells.w), m or similar_bins(summary.effective))
    return BinTable(edges_at(cells.upper, ends), np.add.reduceat(cells.sums, np.append(0, ends[:-1] + 1), axis=1))


def _sweep(ordered: Ordered) -> int:
    """Return the largest m for which 2, 3, .., m mass bins all have non-decreasing observed means."""
    w, e = ordered.weight_by_score, ordered.event_weight_by_score
    if (np.diff(e / w) >= -ROUNDING).all():
        return ordered.n  # the scores themselves are in order, so every pooling of neighbours is
    w, e = np.cumsum(w), np.cumsum(e)
    for m in range(2, ordered.n + 1):
        ends = mass_ends(w, m)
        means = np.diff(e[ends], prepend=0) / np.diff(w[ends], prepend=0)
        if (np.diff(means) < -ROUNDING).any():
            return m - 1
    return ordered.n


@dataclass(frozen=True, eq=False, repr=False)
class LabelBins(Summary):
    """Sums over width bins for each label: what the notions "classwise" and "top-label" need of class probabilities.

    The bins of a label are those of its binary problem: class k against the rest over all rows, or the rows that
    predict k. Memory is the same for any number of rows: 88 bytes per bin and label.
    """

    notion: str
    sums: FloatArray  # (11, labels, bins), rows named by COLUMNS
    dtype: str

    @classmethod
    def of(cls, rows: Classes, notion: str, m: int) -> Self:
        """Return m bins for each label of these rows."""
        if notion == "top-label":
            sums = _sums_by_label(rows.top_label(), rows.P.argmax(axis=1), rows.K, m)
            return cls(notion, sums, rows.P.dtype.name)
        sums = np.empty((len(COLUMNS), rows.K, m))
        for k in range(rows.K):
            part = rows.one_vs_rest(k)
            few = rows.n <= MAX_ROWS_ALONE
            sums[:, k] = _sums_by_label(part, np.zeros(rows.n, int), 1, m)[:, 0] if few else Grid.of(part).bins(m).sums
        return cls(notion, sums, rows.P.dtype.name)

    @classmethod
    def zero(cls) -> Self:
        return cls("", np.zeros((len(COLUMNS), 0, 0)), "")

    def merged(self, other: Self) -> Self:
        if self.notion != other.notion or self.sums.shape != other.sums.shape:
            raise SummaryError(
                f"a {self.notion} summary of {self.labels} labels and {self.bins} bins does not merge with "
                f"a {other.notion} summary of {other.labels} labels and {other.bins} bins"
            )
        return type(self)(self.notion, self.sums + other.sums, one_precision(self.dtype, other.dtype))

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int(self.sums.shape[1])

    @property
    def bins(self) -> int:
        """Number of bins of each label."""
        return int(self.sums.shape[2])

    @property
    def n(self) -> int:
        count = self.sums[0]
        return int(count[:1].sum() if self.notion == "classwise" else count.sum())

    def tables(self) -> Iterator[BinTable]:
        """Yield the table of each label that has rows."""
        edges = width_edges(self.bins)
        for k in np.flatnonzero(self.sums[0].any(axis=1)):
            yield BinTable(edges, self.sums[:, k])


def _sums_by_label(rows: Binary, label: IndexArray, labels: int, m: int) -> FloatArray:
    """Return the sums (11, labels, m) over the bins of each label, given the label of each row."""
    bins = bin_of(rows.p.astype(np.float64, copy=False), rounded(width_edges(m), rows.p.dtype.name))
    return sums_by_key(rows, label * m + bins, labels * m).reshape(len(COLUMNS), labels, m)
