"""Pictures of ranks and PITs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import (
    BAND,
    departures,
    draw_lines,
    dress,
    label_of,
    legend,
    legend_inside,
    name_of,
    table,
    worst_first,
)
from calibrant.core.words import pvalue_words
from calibrant.errors import refuse_choice
from calibrant.ranking import recovery_plots

PIT = "probability integral transform"
MAX_DOTS = 25  # points or levels that are drawn as dots
REGIONS = {"central": "central intervals", "hpd": "regions of highest density"}
BAND_ENDS = ("band_low", "band_high")
RECOVERY = recovery_plots.RECOVERY
Z_SCORE_CONTRACTION = recovery_plots.Z_SCORE_CONTRACTION


def draw_rank_histogram(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    left, right = _edges(columns, details)
    expected = np.asarray(columns["expected"])
    heights = table(columns["counts"]) / expected[:, None]
    C = heights.shape[1]
    if C == 1:
        _draw_bars(ax, left, right, heights[:, 0], label_of(details, 0))
    x = _draw_band(ax, left, right, columns["lower"] / expected, columns["upper"] / expected, details)
    if C > 1:
        draw_lines(ax, x, np.repeat(heights, 2, axis=0), details)
    xlabel = PIT if details["cells"] else "rank of the outcome among its draws"
    ax.set(xlim=(left[0], right[-1]), xlabel=xlabel, ylabel="rows over expected rows")
    ax.set_ylim(bottom=0, auto=True)  # axes that share it may need more room
    dress(ax)
    legend(ax, "best")


def _draw_bars(ax: Any, left: Any, right: Any, heights: Any, label: str) -> None:
    style = {"color": palette.COUNTS, "edgecolor": palette.OBSERVED, "linewidth": 0.8}
    ax.bar(left, heights, width=right - left, align="edge", label=label, **style)


def _draw_band(ax: Any, left: Any, right: Any, lower: Any, upper: Any, details: Mapping[str, Any]) -> Any:
    """Draw the band of the bars and the line at 1, and return both ends of every bar."""
    x = np.column_stack([left, right]).ravel()
    label = f"{100 * details['level']:g} % band, joint"
    ax.fill_between(x, np.repeat(lower, 2), np.repeat(upper, 2), zorder=2, label=label, **BAND)
    ax.axhline(1, color=palette.REFERENCE, linewidth=1.2, linestyle="--", zorder=2.5, label="calibrated")
    return x


def marks_rank_histogram(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    left, right = _edges(columns, details)
    counts, expected = table(columns["counts"]), np.asarray(columns["expected"])
    farthest = abs(counts - expected[:, None]).argmax(axis=1)
    return [
        Mark(
            float(left[k] + right[k]) / 2,
            float(counts[k, c] / expected[k]),
            f"{_bin(columns, details, k)}\n{name_of(details, c)} {counts[k, c]:,} rows, expected {expected[k]:.4g}\n"
            f"joint band {columns['lower'][k]:,} to {columns['upper'][k]:,}",
        )
        for k, c in enumerate(farthest.tolist())
    ]


def describe_rank_histogram(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    counts = table(columns["counts"])
    heights = counts / table(columns["expected"])
    outside = (counts < table(columns["lower"])) | (counts > table(columns["upper"]))
    worst = int(worst_first(details)[0])
    most, least = int(heights[:, worst].argmax()), int(heights[:, worst].argmin())
    band = f"the {100 * details['level']:g} % band, joint over all bars"
    of_columns = "" if counts.shape[1] == 1 else f" of {counts.shape[1]:,} columns"
    of_worst = "" if counts.shape[1] == 1 else f"of the worst, {name_of(details, worst)}, "
    return (
        f"Histogram of ranks of {details['n']:,} rows in {len(counts)} bins. {int(outside.sum()):,} of "
        f"{outside.size:,} bars{of_columns} lie outside {band}. The highest bar {of_worst}has "
        f"{heights[most, worst]:.2f} times its expected rows ({_bin(columns, details, most)}), the lowest "
        f"{heights[least, worst]:.2f} times ({_bin(columns, details, least)}); "
        f"chi-square {pvalue_words(np.atleast_1d(details['pvalue'])[worst])}."
    )


def _edges(columns: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return where bars begin and end: half a rank around ranks, shares of cells."""
    first, last, m = np.asarray(columns["first"]), np.asarray(columns["last"]), details["M"] + 1
    return (first / m, (last + 1) / m) if details["cells"] else (first - 0.5, last + 0.5)


def _bin(columns: Mapping[str, Any], details: Mapping[str, Any], k: int) -> str:
    first, last, m = int(columns["first"][k]), int(columns["last"][k]), details["M"] + 1
    if details["cells"]:
        return f"{first / m:.4g} to {(last + 1) / m:.4g}"
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


RANK_HISTOGRAM = Picture(
    draw_rank_histogram, marks_rank_histogram, describe_rank_histogram, thinned=("first", "counts"), multiples=True
)


def draw_ecdf_difference(
    ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any], *, scale: str | None = None
) -> None:
    if scale not in (None, "sqrt_n"):
        raise refuse_choice("scale", scale, (None, "sqrt_n"))
    factor = 1.0 if scale is None else np.sqrt(details["n"])
    t, sd, lower, upper = (factor ** (name != "t") * columns[name] for name in ("t", "sd", "lower", "upper"))
    v = factor * table(columns["v"])
    ax.axhline(0, color=palette.REFERENCE, linewidth=1.2, zorder=2.5, label="calibrated")
    for sign, label in ((1, "± 1 sd, pointwise"), (-1, None)):
        ax.plot(t, sign * sd, color=palette.REFERENCE, linewidth=0.9, linestyle="--", zorder=2.5, label=label)
    ax.fill_between(t, lower, upper, label=f"{100 * details['level']:g} % band, joint", **BAND)
    draw_lines(ax, t, v, details, marker="o" if t.size <= MAX_DOTS else None)
    xlabel = f"{PIT} t" if details["cells"] else "rank over number of ranks, t"
    ax.set(xlim=(0, 1), xlabel=xlabel, ylabel="share below t, minus t" + ("" if scale is None else ", times √n"))
    dress(ax)
    legend(ax, "best")


def marks_ecdf_difference(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    t, lower, upper = (np.asarray(columns[name]) for name in ("t", "lower", "upper"))
    v = table(columns["v"])
    farthest = abs(v).argmax(axis=1)
    return [
        Mark(
            float(t[k]),
            float(v[k, c]),
            f"{name_of(details, c)} {v[k, c]:+.4f} at t = {t[k]:.4g}\njoint band {lower[k]:+.4f} to {upper[k]:+.4f}",
        )
        for k, c in enumerate(farthest.tolist())
        if 0 < t[k] < 1
    ]


def describe_ecdf_difference(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    t, v = np.asarray(columns["t"]), table(columns["v"])
    leaves = ((v < table(columns["lower"])) | (v > table(columns["upper"]))).any(axis=0)
    worst = int(worst_first(details)[0])
    where = int(abs(t - np.atleast_1d(details["where"])[worst]).argmin())
    band = f"the {100 * details['level']:g} % band, joint over all points"
    return (
        f"Share of ranks below t minus t, from {details['n']:,} rows. {departures(leaves, band, details)} at "
        f"t = {t[where]:.3g}, by {v[where, worst]:+.3f}; {pvalue_words(np.atleast_1d(details['pvalue'])[worst])}."
    )


ECDF_DIFFERENCE = Picture(
    draw_ecdf_difference,
    marks_ecdf_difference,
    describe_ecdf_difference,
    thinned=("t", "v", "lower", "upper"),
    options=("scale",),
    multiples=True,
)


def draw_expected_coverage(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    confidence = f"{100 * details['confidence']:g} %"
    ax.plot([0, 1], [0, 1], color=palette.REFERENCE, linewidth=1.2, linestyle="--", zorder=2.5, label="calibrated")
    edges = level if level.size > 1 else level + np.array([-0.02, 0.02])  # one level has a band too
    wide = [np.broadcast_to(column[name], edges.shape) for name in ("lower", "upper")]
    ax.fill_between(edges, *wide, label=f"{confidence} band, joint", **BAND)
    draw_lines(ax, level, coverage, details, marker="o" if level.size <= MAX_DOTS else None)
    if coverage.shape[1] == 1:
        _draw_intervals(ax, column, f"{confidence} interval, pointwise")
    ax.set(
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="nominal coverage", ylabel="observed coverage", aspect="equal"
    )
    dress(ax)
    legend(ax, "upper left")


def marks_expected_coverage(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    farthest = abs(coverage - level[:, None]).argmax(axis=1)
    return [
        Mark(
            float(level[k]),
            float(coverage[k, c]),
            f"nominal {level[k]:.4g}, {name_of(details, c)} {coverage[k, c]:.3f}\n"
            f"pointwise {column['low'][k, c]:.3f} to {column['high'][k, c]:.3f}\n"
            f"joint band {column['lower'][k]:.3f} to {column['upper'][k]:.3f}",
        )
        for k, c in enumerate(farthest.tolist())
    ]


def describe_expected_coverage(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    column = _sorted(columns)
    level, coverage = column["level"], column["coverage"]
    leaves = ((coverage < column["lower"][:, None]) | (coverage > column["upper"][:, None])).any(axis=0)
    worst = int(worst_first(details)[0])
    where = int(abs(level - np.atleast_1d(details["where"])[worst]).argmin())
    band = f"the {100 * details['confidence']:g} % band, joint over all levels"
    side = "below" if coverage[where, worst] < level[where] else "above"
    return (
        f"Observed against nominal coverage of {REGIONS[details['region']]}, from {details['n']:,} rows. "
        f"{departures(leaves, band, details)} at nominal {level[where]:.3g}, observed {coverage[where, worst]:.3f}, "
        f"{side} the diagonal; {pvalue_words(np.atleast_1d(details['pvalue'])[worst])}. "
        "Below the diagonal is over-confident, above it under-confident."
    )


def _draw_intervals(ax: Any, column: Mapping[str, Any], label: str) -> None:
    level, coverage, low, high = column["level"], *(column[name][:, 0] for name in ("coverage", "low", "high"))
    if level.size <= MAX_DOTS:
        reach = np.stack([coverage - low, high - coverage])
        ax.errorbar(
            level, coverage, yerr=reach, fmt="none", color=palette.OBSERVED, elinewidth=1, capsize=2.5, label=label
        )
        return
    for edge, entry in ((low, label), (high, None)):
        ax.plot(level, edge, color=palette.OBSERVED, linewidth=0.8, linestyle=":", label=entry)


def _sorted(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns by ascending level, those of curves as (T, C)."""
    order = np.argsort(columns["level"], kind="stable")
    found = {name: np.asarray(values)[order] for name, values in columns.items()}
    return found | {name: table(found[name]) for name in ("coverage", "low", "high")}


EXPECTED_COVERAGE = Picture(
    draw_expected_coverage,
    marks_expected_coverage,
    describe_expected_coverage,
    thinned=("level", "coverage", "lower", "upper"),
    multiples=True,
)


def draw_pit_histogram(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    lower, upper = np.asarray(columns["lower"]), np.asarray(columns["upper"])
    _draw_bars(ax, lower, upper, columns["density"], "rows")
    low, high = (columns[name] / columns["expected"] for name in BAND_ENDS)
    _draw_band(ax, lower, upper, low, high, details)
    ax.set(xlim=(0, 1), xlabel=PIT, ylabel="share of rows over expected share")
    ax.set_ylim(bottom=0, auto=True)  # axes that share it may need more room
    dress(ax)
    legend_inside(ax, "best")


def marks_pit_histogram(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    names = ("lower", "upper", "share", "expected", "density")
    return [
        Mark((a + b) / 2, height, f"{a:.3g} to {b:.3g}\n{share:.1%} of rows, expected {expected:.1%}")
        for a, b, share, expected, height in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    ]


def describe_pit_histogram(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    names = ("lower", "upper", "share", *BAND_ENDS)
    lower, upper, share, low, high = (np.asarray(columns[name]) for name in names)
    most, least = int(share.argmax()), int(share.argmin())
    outside = int(((share < low) | (share > high)).sum())
    return (
        f"Histogram of the probability integral transform in {share.size} bins, each expected to contain "
        f"{columns['expected'][0]:.1%} of the rows. {outside:,} of {share.size:,} bars lie outside the "
        f"{100 * details['level']:g} % band, joint over all bars. The fullest, from {lower[most]:.3g} to "
        f"{upper[most]:.3g}, contains {share[most]:.1%}, the emptiest, from {lower[least]:.3g} to "
        f"{upper[least]:.3g}, {share[least]:.1%}; the first contains {share[0]:.1%} and the last {share[-1]:.1%}."
    )


PIT_HISTOGRAM = Picture(draw_pit_histogram, marks_pit_histogram, describe_pit_histogram, thinned=("lower", "density"))
