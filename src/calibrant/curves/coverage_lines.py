"""The lines of a coverage table: of groups with labels, and of groups of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.row_labels import Label
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.size_groups import SizeGroups, size_groups
from calibrant.summaries.hit_table import HitTable
from calibrant.summaries.sizes import Sizes


@dataclass(frozen=True, eq=False)
class Lines:
    """One line per group and level: rows, hits c, and the sums of w, w², wc, w²c; `further` columns of the result."""

    nominal: FloatArray
    group: NDArray[Any]
    count: NDArray[np.int64]
    w: FloatArray
    w2: FloatArray
    hits: NDArray[np.int64]
    wc: FloatArray
    w2c: FloatArray
    equal: bool  # whether all rows have one weight
    further: Mapping[str, FloatArray]

    @property
    def coverage(self) -> FloatArray:
        """Σwc/Σw, NaN without rows."""
        return np.asarray(np.divide(self.wc, self.w, out=np.full(self.w.shape, np.nan), where=self.w > 0))


def of_table(table: HitTable) -> Lines:
    """Return the lines of all rows, or of labelled groups."""
    return Lines(
        table.nominal,
        label_array(table.group),
        table.count,
        table.w,
        table.w2,
        table.hits,
        table.wc,
        table.w2c,
        table.has_equal_weights,
        {"below": table.below / table.w} if table.kind == "Quantiles" else {},
    )


def of_sizes(sizes: Sizes, bins: Any, empty: str) -> Lines:
    """Return the lines of groups of sizes, level by level, those without rows included."""
    parts = [_of_level(sizes, k, bins, empty) for k in range(sizes.L)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    low, high = columns.pop("low"), columns.pop("high")
    return Lines(
        group=np.array([_range(a, b) for a, b in zip(low, high, strict=True)]),
        equal=sizes.parts[0].has_equal_weights,
        further={"size_low": low, "size_high": high},
        **columns,
    )


def _of_level(sizes: Sizes, k: int, bins: Any, empty: str) -> dict[str, NDArray[Any]]:
    rows, table = sizes.parts[k], sizes.tied(k)
    groups: SizeGroups = size_groups(table.size, table.weight, K=sizes.K, bins=bins, empty=empty)
    tie = np.searchsorted(table.size, rows.score, side="right") - 1  # which of the pooled sizes an entry belongs to

    def total(column: NDArray[Any]) -> FloatArray:
        return np.asarray(groups.sums(np.bincount(tie, column, minlength=table.size.size)))

    counts = {
        name: np.rint(total(column)).astype(np.int64)
        for name, column in {"count": rows.count, "hits": rows.events}.items()
    }
    w = np.asarray(rows.weight)
    return {
        **counts,
        "w": total(w * rows.count),
        "w2": total(w * w * rows.count),
        "wc": total(w * rows.events),
        "w2c": total(w * w * rows.events),
        "nominal": np.full(groups.low.size, sizes.levels[k] if sizes.levels.size else np.nan),
        "low": groups.low,
        "high": groups.high,
    }


def label_array(labels: tuple[Label, ...]) -> NDArray[Any]:
    """Return labels as an array: of one type if they have one, else of objects."""
    kinds = {type(label) for label in labels}
    return np.array(labels, dtype=None if len(kinds) == 1 else object)


def _range(low: float, high: float) -> str:
    """Return the limits of a group of sizes, both included, in words."""
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
