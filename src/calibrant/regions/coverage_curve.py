"""Observed against nominal coverage, over all rows or in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import IntervalMethod, Labels, Outcomes
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.mean_interval import effective_rows, empty_as_nan, exact_limits, score_limits, share_method
from calibrant.core.pvalues import binomial_tails, holm, two_sided
from calibrant.core.results import Curve
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import check_level
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import QuantileRows
from calibrant.inputs.sets import Sets
from calibrant.regions.hits import REGIONS, CoveredRows, HitTable, RowGroups, hits_of
from calibrant.regions.sizes import EmptySets, SizeBins, Sizes, read_size_bins


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
    groups: RowGroups | Literal["size"] | None
    bins: SizeBins
    empty: EmptySets
    level: float
    method: IntervalMethod | None
    simultaneous: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_level(self.level))
        if not self.by_size and (self.bins is not None or self.empty != "merge"):
            raise InputError('bins= and empty= are for groups="size"; leave them out')
        object.__setattr__(self, "bins", read_size_bins(self.bins))

    @property
    def by_size(self) -> bool:
        return isinstance(self.groups, str) and self.groups == "size"


def _hits_or_sizes(rows: CoveredRows, options: CoverageCurveOptions) -> HitTable | Sizes:
    if not options.by_size:
        return hits_of(rows, options)
    if isinstance(rows, QuantileRows):
        raise InputError('groups="size" needs Intervals or Sets, which have a size; call .intervals() on Quantiles')
    return Sizes.of(rows)


def _curve(summary: HitTable | Sizes, options: CoverageCurveOptions) -> Curve:
    if isinstance(summary, Sizes) != options.by_size:
        raise SummaryError('groups="size" reads a summary that was made with it, and other groups one without it')
    further: dict[str, FloatArray] = {}
    if isinstance(summary, Sizes):
        table, further = _by_size(summary, options.bins, options.empty)
    else:
        table = summary
        if table.kind == "Quantiles":
            further = {"below": table.inside / table.w}
    equal = table.has_equal_weights
    method = share_method(options.method, equal=equal)
    level, filled = options.level, max(1, int(np.count_nonzero(table.count)))
    low, high = _limits(table, method, 1 - (1 - level) / filled if options.simultaneous else level)
    tails = binomial_tails(table.hits, table.count, table.nominal)
    pvalue = empty_as_nan(two_sided(*tails), table.count if equal else np.zeros_like(table.count))
    one_type = len({type(label) for label in table.group}) == 1
    columns: dict[str, NDArray[Any]] = {
        "nominal": table.nominal,
        "group": np.array(table.group, dtype=None if one_type else object),
        "count": table.count,
        "hits": table.hits,
        "coverage": table.coverage,
        "lower": low,
        "upper": high,
        "pvalue": pvalue,
        "pvalue_holm": holm(pvalue),
        **further,
    }
    words = f"{'simultaneous ' if options.simultaneous else ''}{method} intervals; binomial p-values"
    return Curve("coverage", columns, words, summary.n, {"level": level})


COVERAGE_CURVE = enter(
    Entry(
        coverage_curve,
        CoverageCurveOptions,
        _hits_or_sizes,
        _curve,
        reads=(HitTable, Sizes),
        kind="curve",
        predictions=REGIONS,
    )
)


def _by_size(sizes: Sizes, bins: SizeBins, empty: EmptySets) -> tuple[HitTable, dict[str, FloatArray]]:
    """Count the hits of groups of sizes, level by level, those without rows included; and return their limits."""
    parts = []
    for k, rows in enumerate(sizes.parts):
        tied, groups = sizes.groups(k, bins, empty)
        pooled = np.searchsorted(tied.size, rows.score, side="right") - 1  # the pooled size that an entry belongs to
        w, count, hits = np.asarray(rows.weight), rows.count, rows.events
        columns = (count, w * count, w * w * count, hits, w * hits, w * w * hits)
        sums = [groups.sums(np.bincount(pooled, column, minlength=tied.size.size)) for column in columns]
        parts.append((groups.low, groups.high, np.full(groups.low.size, k), *sums))
    low, high, level, count, w, w2, hits, wc, w2c = (np.concatenate(column) for column in zip(*parts, strict=True))
    if sizes.K and bins is None and empty == "merge" and not any(0 in rows.score for rows in sizes.parts):
        low = np.maximum(low, 1.0)  # no set is empty
    names = tuple(f"{a:.6g}" if a == b else f"{a:.6g} to {b:.6g}" for a, b in zip(low, high, strict=True))
    levels = sizes.levels if sizes.levels.size else np.full(sizes.L, np.nan)
    first = sizes.parts[0]
    head = (sizes.kind, levels, sizes.single, sizes.n, first.total_weight, first.weight_max, True, True, names)
    level, count, hits = (np.rint(column).astype(np.int64) for column in (level, count, hits))
    table = HitTable(*head, level, count, w, w2, hits, wc, w2c, wc)  # outcomes on edges are not told apart
    return table, {"size_low": low, "size_high": high}


def _limits(table: HitTable, method: IntervalMethod, level: float) -> tuple[FloatArray, FloatArray]:
    if method == "clopper-pearson":
        return exact_limits(table.hits.astype(np.float64), table.count.astype(np.float64), level)
    share = np.nan_to_num(table.coverage)
    spread = table.w2c * (1 - share) ** 2 + (table.w2 - table.w2c) * share**2
    w, w2 = (np.where(table.count > 0, column, 1.0) for column in (table.w, table.w2))
    low, high = score_limits(share, effective_rows(share, spread, w, w2), level)
    return empty_as_nan(low, table.count), empty_as_nan(high, table.count)
