"""What audits of intervals, sets, quantiles and laws share: coverage line by line, with exact tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit.sections import Setting
from calibrant.audit.words import POWER
from calibrant.catalogue import find
from calibrant.curves.coverage_curve import coverage_curve
from calibrant.curves.frequency_interval import exact_limits, score_limits
from calibrant.inference.coverage_binomial import hit_pvalue
from calibrant.inference.coverage_test import coverage_test
from calibrant.inputs.groups import Grouping
from calibrant.inputs.levels import DIGITS
from calibrant.inputs.row_labels import RowLabels
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.binomial_tails import binomial_tails, two_sided
from calibrant.primitives.multiplicity import bonferroni, holm
from calibrant.results import Curve, TestResult
from calibrant.summaries import Summary
from calibrant.summaries.hit_table import HitTable

BINOMIAL = "; binomial p-values"


def coverage_lines(summary: Summary, setting: Setting, *, alternative: str = "two-sided", **options: Any) -> Curve:
    """Return the coverage curve of a summary with the p-values that an audit rests on.

    They allow for outcomes that lie on a quantile, and for the size of a conformal calibration set. With
    ``alternative="less"`` only too low a coverage counts.
    """
    entry = find(coverage_curve)
    curve: Curve = entry.finish(summary, **entry.completed({"level": setting.level, **options}))
    m = setting.calibration_size
    if np.isnan(curve.pvalue).all():
        return replace(curve, method=curve.method.removesuffix(BINOMIAL))
    if m is not None:
        pvalue = np.array([_conformal(line, alternative, m) for line in lines_of(curve)])
        curve = _relabelled(curve, m)
    elif "below" in curve.columns:
        pvalue = tied_pvalue(curve.hits, np.rint(curve.below * curve.count), curve.count, curve.nominal)
    elif alternative == "less":
        pvalue = np.where(curve.count > 0, binomial_tails(curve.hits, curve.count, curve.nominal)[0], np.nan)
    else:
        return curve
    return replace(curve, columns={**curve.columns, "pvalue": pvalue, "pvalue_holm": holm(pvalue)})


def tied_pvalue(hits: Any, inside: Any, count: Any, nominal: Any) -> FloatArray:
    """Return two-sided p-values where outcomes may lie on the edge: of P(inside) <= nominal <= P(hit).

    `inside` counts the hits that do not lie on the edge. Without outcomes on edges it is the two-sided binomial test.

    >>> float(tied_pvalue(3, 3, 4, 0.5)), float(tied_pvalue(4, 1, 4, 0.5))
    (0.625, 1.0)
    """
    return two_sided(binomial_tails(hits, count, nominal)[0], binomial_tails(inside, count, nominal)[1])


def central_lines(table: HitTable, setting: Setting) -> Curve | None:
    """Return the coverage of the central intervals between quantiles τ and 1 - τ; None if no two levels mirror.

    Hits follow from those of the quantiles: rows at most at the upper one, less the rows below the lower one.
    """
    places = _mirrored(table.levels)
    if not places:
        return None
    shape = (-1, table.levels.size)
    at, below, w, w2 = (column.reshape(shape) for column in (table.wc, table.below, table.w, table.w2))
    count = table.count.reshape(shape)
    low, high = (np.array(side) for side in zip(*places, strict=True))
    n = count[:, low].ravel()
    coverage = ((at[:, high] - below[:, low]) / w[:, low]).ravel()
    inside = np.maximum((below[:, high] - at[:, low]) / w[:, low], 0.0).ravel()
    nominal = np.tile((table.levels[high] - table.levels[low]).round(DIGITS + 2), len(at))
    hits = np.rint(coverage * n)
    if table.has_equal_weights:
        limits = exact_limits(hits, n.astype(np.float64), setting.level)
        pvalue = tied_pvalue(hits, np.rint(inside * n), n, nominal)
    else:
        limits = score_limits(coverage, (w[:, low] ** 2 / w2[:, low]).ravel(), setting.level)
        pvalue = np.full(n.size, np.nan)
    groups = np.array(table.group, dtype=object).reshape(shape)[:, low].ravel()
    return Curve(
        "coverage",
        {
            "nominal": nominal,
            "group": groups.astype(str),
            "count": n,
            "hits": hits.astype(np.int64),
            "coverage": coverage,
            "lower": limits[0],
            "upper": limits[1],
            "pvalue": pvalue,
            "pvalue_holm": holm(pvalue),
        },
        "central intervals between quantiles; binomial p-values",
        table.n,
        {"level": setting.level},
    )


def joint_test(table: HitTable, setting: Setting) -> TestResult | None:
    """Return the test of all levels together; None where it does not apply."""
    tied = table.kind == "Quantiles" and not np.array_equal(table.below, table.wc)
    if (
        table.levels.size < 2
        or np.isnan(table.levels).any()
        or tied
        or not (table.nested and table.has_equal_weights)
        or setting.calibration_size is not None
    ):
        return None
    entry = find(coverage_test)
    options = {"method": "joint", "resamples": setting.resamples, "rng": setting.rng}
    found: TestResult = entry.finish(table, **entry.completed(options))
    return found


def smallest_seen(n: int, level: float, share: float, calibration_size: int | None) -> float | None:
    """Return by how much coverage must fall short of a level to be found 4 times in 5; None if no shortfall is.

    The two-sided test at significance `share` rejects for k hits or fewer; the answer solves P(K <= k) = 0.8.
    """
    from scipy.special import betaincinv

    low, high = -1, n
    while low < high:  # the last k at which it rejects
        k = (low + high + 1) // 2
        rejects = 2 * hit_pvalue(k, n, level, "less", calibration_size) < share
        low, high = (k, high) if rejects else (low, k - 1)
    if low < 0:
        return None
    return max(level - float(betaincinv(low + 1, n - low, 1 - POWER)), 0.0)


def labels_of(grouping: Grouping) -> RowLabels:
    """Return a grouping as labels of rows."""
    return RowLabels(grouping.code, tuple(grouping.names))


def level_pvalue(curves: list[Curve], joint: TestResult | None, further: float | None = None) -> float | None:
    """Return the p-value of all levels: the smallest of Holm's, the joint and a further one, times their number."""
    found = [float(np.nanmin(curve.pvalue_holm)) for curve in curves if not np.isnan(curve.pvalue_holm).all()]
    if not found:
        return further
    beside = [None if joint is None else joint.pvalue, further]
    return bonferroni(found + [p for p in beside if p is not None])


def lines_of(curve: Curve) -> list[dict[str, Any]]:
    """Return the columns of a curve line by line."""
    values = zip(*(column.tolist() for column in curve.columns.values()), strict=True)
    return [dict(zip(curve.columns, line, strict=True)) for line in values]


def _conformal(line: Mapping[str, Any], alternative: str, m: int) -> float:
    if not line["count"]:
        return float("nan")
    return hit_pvalue(line["hits"], line["count"], line["nominal"], alternative, m)


def _relabelled(curve: Curve, m: int) -> Curve:
    """Say that p-values allow for m calibration scores, on which the coverage of conformal prediction depends."""
    method = f"{curve.method.removesuffix(BINOMIAL)}; beta-binomial p-values for {m:,} calibration scores"
    return replace(curve, method=method, details={**curve.details, "calibration_size": m})


def _mirrored(levels: FloatArray) -> list[tuple[int, int]]:
    """Return the places of levels τ < 1/2 and 1 - τ, the narrowest interval first."""
    place = {round(level, DIGITS): k for k, level in enumerate(levels.tolist())}
    pairs = [(place[t], place.get(round(1 - t, DIGITS))) for t in sorted(place, reverse=True) if t < 0.5]
    return [(low, high) for low, high in pairs if high is not None]
