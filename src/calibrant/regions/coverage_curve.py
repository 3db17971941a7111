"""Observed against nominal coverage, over all rows or in groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.mean_interval import effective_rows, empty_as_nan, exact_limits, score_limits
from calibrant.core.pvalues import binomial_tails, holm, two_sided
from calibrant.core.results import Curve
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Label, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import check_choice, check_level
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import QuantileRows
from calibrant.inputs.sets import Sets
from calibrant.regions.hits import CoveredRows, HitTable, RowGroups
from calibrant.regions.sizes import EmptySets, SizeBins, SizeGroups, Sizes, read_size_bins, size_groups

IntervalMethod = Literal["clopper-pearson", "wilson"]


@public
def coverage_curve(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    groups: RowGroups | Literal["size"] | None = None,
    bins: SizeBins = None,
    empty: EmptySets = "merge",
    level: float = 0.95,
    method: IntervalMethod | None = None,
    simultaneous: bool = False,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> Curve:
    r"""Observed coverage against its nominal level, with intervals and p-values, over all rows or in groups.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`.
    groups
        Labels of rows, for one line per group and level; ``"size"`` for groups of rows whose intervals or sets have
        about the same size, as in `size_stratified_coverage`. None: all rows.
    bins, empty
        With ``groups="size"``: how sizes are grouped, as in `size_stratified_coverage`.
    level
        Confidence of the intervals; the nominal level of the predictions is their own.
    method
        ``"clopper-pearson"`` (exact; the default without weights) or ``"wilson"`` (by the effective number of rows; the
        default with unequal weights).
    simultaneous
        Make all intervals cover together with probability `level`: each has confidence 1 - (1 - level)/m for the m
        lines that have rows (Bonferroni).

    Returns
    -------
    Curve
        One line per level, or per group and level: `nominal`, `group` ("all" without groups), `count` (rows), `hits`,
        `coverage`, `lower` and `upper` (for the coverage), `pvalue` (two-sided binomial, as in `coverage_test`) and
        `pvalue_holm` (adjusted for all lines together). For quantiles also `below`, the share of y < q; for groups of
        sizes `size_low` and `size_high`, both included.

    Notes
    -----
    A level lies outside its 95 % Clopper-Pearson interval exactly when its p-value is below 0.05. P-values are NaN
    without a nominal level, and with unequal weights, for which the test has no valid form. For discrete outcomes
    quantiles are calibrated if ``below <= nominal <= coverage``; the p-value of `coverage` alone may then be small for
    a correct forecast, and `coverage_test` allows for it. With many groups some coverage is low by chance: read
    `pvalue_holm`.

    Examples
    --------
    Three of four outcomes inside, where 4 of 5 are expected; the lower limit solves P(K >= 3) = 0.025:

    >>> from calibrant import Intervals
    >>> curve = coverage_curve([0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.8))
    >>> curve.coverage.tolist(), curve.nominal.tolist()
    ([0.75], [0.8])
    >>> curve.lower.round(3).tolist(), curve.upper.round(3).tolist()
    ([0.194], [0.994])

    In groups:

    >>> halves = coverage_curve([0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.8), groups=list("aabb"))
    >>> halves.group.tolist(), halves.hits.tolist(), halves.count.tolist()
    (['a', 'b'], [2, 1], [2, 2])
    """
    options = CoverageCurveOptions(groups, bins, empty, level, method, simultaneous)
    return COVERAGE_CURVE(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True, eq=False)
class CoverageCurveOptions:
    """The options of `coverage_curve`."""

    groups: RowGroups | Literal["size"] | None
    bins: SizeBins
    empty: EmptySets
    level: float
    method: IntervalMethod | None
    simultaneous: bool

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, "merge", "own")
        object.__setattr__(self, "level", check_level(self.level))
        check_choice("simultaneous", self.simultaneous, False, True)
        check_choice("method", self.method, None, "clopper-pearson", "wilson")
        if not self.by_size and (self.bins is not None or self.empty != "merge"):
            raise InputError('bins= and empty= are for groups="size"; leave them out')
        object.__setattr__(self, "bins", read_size_bins(self.bins))

    @property
    def by_size(self) -> bool:
        """Whether rows are grouped by their size."""
        return isinstance(self.groups, str) and self.groups == "size"


def _hits_or_sizes(rows: CoveredRows, options: CoverageCurveOptions) -> HitTable | Sizes:
    """Count hits by group and level, or sort the rows by size."""
    if not options.by_size:
        labels = None if options.groups is None else read_row_labels(options.groups, rows.n, keep=rows.keep)
        return HitTable.of(rows, labels)
    if isinstance(rows, QuantileRows):
        raise InputError('groups="size" needs Intervals or Sets, which have a size; call .intervals() on Quantiles')
    return Sizes.of(rows)


def _curve(summary: HitTable | Sizes, options: CoverageCurveOptions) -> Curve:
    if isinstance(summary, Sizes) != options.by_size:
        raise SummaryError('groups="size" reads a summary that was made with it, and other groups one without it')
    lines = of_sizes(summary, options.bins, options.empty) if isinstance(summary, Sizes) else of_table(summary)
    if options.method == "clopper-pearson" and not lines.equal:
        raise InputError('method="clopper-pearson" counts rows and needs equal weights; use method="wilson"')
    method = options.method or ("clopper-pearson" if lines.equal else "wilson")
    level, filled = options.level, max(1, int(np.count_nonzero(lines.count)))
    low, high = _limits(lines, method, 1 - (1 - level) / filled if options.simultaneous else level)
    pvalue = _pvalues(lines)
    columns: dict[str, NDArray[Any]] = {
        "nominal": lines.nominal,
        "group": lines.group,
        "count": lines.count,
        "hits": lines.hits,
        "coverage": lines.coverage,
        "lower": low,
        "upper": high,
        "pvalue": pvalue,
        "pvalue_holm": holm(pvalue),
        **lines.further,
    }
    return Curve(
        kind="coverage",
        columns=columns,
        method=f"{'simultaneous ' if options.simultaneous else ''}{method} intervals; binomial p-values",
        n=summary.n,
        details={"level": level},
    )


COVERAGE_CURVE = enter(
    Entry(
        coverage_curve,
        CoverageCurveOptions,
        _hits_or_sizes,
        _curve,
        reads=(HitTable, Sizes),
        kind="curve",
        predictions=("intervals", "sets", "quantiles"),
    )
)


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


def of_sizes(sizes: Sizes, bins: SizeBins, empty: EmptySets) -> Lines:
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


def _of_level(sizes: Sizes, k: int, bins: SizeBins, empty: EmptySets) -> dict[str, NDArray[Any]]:
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


def _limits(lines: Lines, method: IntervalMethod, level: float) -> tuple[FloatArray, FloatArray]:
    if method == "clopper-pearson":
        return exact_limits(lines.hits.astype(np.float64), lines.count.astype(np.float64), level)
    filled = lines.count > 0
    share = np.nan_to_num(lines.coverage)
    spread = lines.w2c * (1 - share) ** 2 + (lines.w2 - lines.w2c) * share**2
    w, w2 = np.where(filled, lines.w, 1.0), np.where(filled, lines.w2, 1.0)
    low, high = score_limits(share, effective_rows(share, spread, w, w2), level)
    return empty_as_nan(low, lines.count), empty_as_nan(high, lines.count)


def _pvalues(lines: Lines) -> FloatArray:
    """Return the two-sided binomial p-value of each line, NaN without rows, without a level, with unequal weights."""
    tested = lines.count if lines.equal else np.zeros_like(lines.count)
    return empty_as_nan(two_sided(*binomial_tails(lines.hits, lines.count, lines.nominal)), tested)
