"""Pictures of probabilities: reliability, isotonic and cumulative curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import BAND, diagonal, dots, dress, legend_inside, square
from calibrant.core.words import probability

LIMITS = ("interval_low", "interval_high", "consistency_low", "consistency_high")
MARKED = ("mean_predicted", "mean_observed", *LIMITS, "count")
STRIP = -0.15  # of the height: the shares of rows are drawn in a strip below the frequency 0
ZOOMED = 0.5  # if all that is drawn lies below, as for rare events, the axes end there


def draw_reliability(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    end = axis_end(*(column[name] for name in ("mean_predicted", "interval_high", "consistency_high")))
    upper = np.minimum(column["upper"], max(end, column["mean_predicted"].max()))
    width, middle = upper - column["lower"], (upper + column["lower"]) / 2
    ax.bar(
        middle,
        0.12 * end * column["weight"] / column["weight"].max(),
        bottom=STRIP * end,
        width=0.9 * width,
        color=palette.COUNTS,
        edgecolor=palette.OBSERVED,
        linewidth=0.5,
        label="share of rows (scaled)",
        zorder=1,
    )
    ax.bar(
        middle,
        column["consistency_high"] - column["consistency_low"],
        bottom=column["consistency_low"],
        width=0.9 * width,
        label=f"{level} band if calibrated",
        zorder=2,
        **BAND,
    )
    diagonal(ax, zorder=3)
    drawn = (column[name] for name in ("mean_predicted", "mean_observed", "interval_low", "interval_high"))
    dots(ax, *drawn, label=f"observed, {level} interval", zorder=4)
    square(ax, end, "predicted probability", "observed frequency", bottom=STRIP - 0.01)
    ticks = np.linspace(0, 1, 6) if end == 1 else [tick for tick in ax.get_yticks() if 0 <= tick <= end]
    ax.set(xticks=ticks, yticks=ticks)
    dress(ax)
    ax.spines["left"].set_bounds(0, end)
    legend_inside(ax, "upper left")


def axis_end(*drawn: Any) -> float:
    """Return 1, or where the axes end if all that is drawn is small, but not 0."""
    largest = max(float(np.max(values)) for values in drawn)
    return 1.0 if largest > ZOOMED or largest == 0 else 1.05 * largest


def marks_reliability(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    column = _filled(columns)
    level = f"{100 * details['level']:g} %"
    return [
        Mark(
            x,
            y,
            f"predicted {probability(x)}, observed {probability(y)}\n"
            f"{level} interval {probability(low)} to {probability(high)}\n"
            f"if calibrated {probability(band_low)} to {probability(band_high)}\n{count:,} rows",
        )
        for x, y, low, high, band_low, band_high, count in zip(*(column[name].tolist() for name in MARKED), strict=True)
    ]


def describe_reliability(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    column = _filled(columns)
    x, y = column["mean_predicted"], column["mean_observed"]
    outside = int(np.sum(column["outside"]))
    worst = int(abs(y - x).argmax())
    return (
        f"Observed frequency against predicted probability in {len(x)} bins with rows; {outside} of them lie outside "
        f"the {100 * details['level']:g} % band of calibrated predictions. "
        f"The largest gap is at predicted {probability(x[worst])}, observed {probability(y[worst])}."
    )


def _filled(columns: Mapping[str, Any]) -> dict[str, Any]:
    shown = np.asarray(columns["count"]) > 0
    return {name: np.asarray(values)[shown] for name, values in columns.items()}


RELIABILITY = Picture(
    draw_reliability, marks_reliability, describe_reliability, thinned=("lower", "mean_observed", "weight")
)


def draw_isotonic(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    end = axis_end(columns["p"], columns["fitted"])
    label = f"{100 * details['level']:g} % band if calibrated"
    ax.fill_between(columns["p"], columns["consistency_low"], columns["consistency_high"], label=label, **BAND)
    diagonal(ax)
    ax.plot(columns["p"], columns["fitted"], color=palette.OBSERVED, linewidth=2, label="isotonic fit")
    square(ax, end, "predicted probability", "recalibrated probability")
    dress(ax)
    legend_inside(ax, "upper left")


def marks_isotonic(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    names = ("p", "fitted", "consistency_low", "consistency_high")
    return [
        Mark(
            p,
            fitted,
            f"predicted {probability(p)}, recalibrated {probability(fitted)}\n"
            f"if calibrated {probability(low)} to {probability(high)}",
        )
        for p, fitted, low, high in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
    ]


def describe_isotonic(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    p, fitted = np.asarray(columns["p"]), np.asarray(columns["fitted"])
    worst = int(abs(fitted - p).argmax())
    low, high = (columns[name][worst] for name in ("consistency_low", "consistency_high"))
    return (
        f"Recalibrated against predicted probability, for predictions from {probability(p[0])} to "
        f"{probability(p[-1])}. The largest gap is at predicted {probability(p[worst])}, recalibrated "
        f"{probability(fitted[worst])}; calibrated predictions would give {probability(low)} to {probability(high)} "
        "there."
    )


ISOTONIC = Picture(
    draw_isotonic, marks_isotonic, describe_isotonic, thinned=("p", "fitted", "consistency_low", "consistency_high")
)


SCORE_TICKS = 6


def draw_cumulative(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    A, C, scale = columns["abscissa"], columns["difference"], details["scale"]
    ax.fill_between([0, 1], -2 * scale, 2 * scale, label="± 2 sd if calibrated", **BAND)
    ax.axhline(0, color=palette.REFERENCE, linewidth=1.2, linestyle="--")
    ax.plot(A, C, color=palette.OBSERVED, linewidth=1.6, label="cumulative difference")
    ax.set(xlim=(0, 1), xlabel="share of rows, by score", ylabel="cumulative observed minus predicted")
    dress(ax)
    legend_inside(ax, "best")
    _mark_scores(ax, A, columns["score"])


def marks_cumulative(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return each point of the walk but the first, which has no score."""
    A, C, score = (np.asarray(columns[name])[1:].tolist() for name in ("abscissa", "difference", "score"))
    return [
        Mark(a, c, f"{a:.1%} of rows, score up to {s:.3g}\ncumulative difference {c:.4g}")
        for a, c, s in zip(A, C, score, strict=True)
    ]


def describe_cumulative(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    C, score = np.asarray(columns["difference"]), np.asarray(columns["score"])
    low, high = int(C.argmin()), int(C.argmax())
    return (
        "Cumulative observed minus predicted, rows in the order of their score. "
        f"It is highest with {C[high]:.4g}{_at(score[high])}, lowest with {C[low]:.4g}{_at(score[low])}, "
        f"and ends at {C[-1]:.4g}; twice the scale is {2 * details['scale']:.4g}."
    )


def _at(score: float) -> str:
    return " at the start" if np.isnan(score) else f" at score {score:.3g}"


def _mark_scores(ax: Any, A: Any, score: Any) -> None:
    last = len(A) - 1
    places = sorted({min(max(1, int(np.searchsorted(A, k / (SCORE_TICKS - 1)))), last) for k in range(SCORE_TICKS)})
    top = ax.secondary_xaxis("top")
    top.set_xticks([A[k] for k in places], _written([score[k] for k in places]))
    top.set_xlabel("score", color=palette.INK, labelpad=6)
    top.spines["top"].set(color=palette.EDGE, linewidth=0.8)
    top.tick_params(color=palette.EDGE, labelcolor=palette.INK, length=3)


def _written(scores: list[float]) -> list[str]:
    """Write scores with as few decimals, from two to four, as tell them apart."""
    texts = [[f"{score:.{decimals}f}" for score in scores] for decimals in (2, 3, 4)]
    return next((each for each in texts if len(set(each)) == len(each)), texts[-1])


CUMULATIVE = Picture(draw_cumulative, marks_cumulative, describe_cumulative, thinned=("abscissa", "difference"))


QUANTILES = ("forecast", "recalibrated_low", "recalibrated_high")
MIN_OPACITY = 0.35
MAX_LABELS = 7


def draw_quantile_reliability(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    levels = list(_by_level(columns))
    ends = np.concatenate([np.asarray(columns[name], dtype=float) for name in QUANTILES])
    ends = ends[np.isfinite(ends)]
    if ends.size:
        line = [ends.min(), ends.max()]
        ax.plot(line, line, color=palette.REFERENCE, linewidth=1.2, linestyle="--", label="calibrated")
    labelled = set(np.linspace(0, len(levels) - 1, min(len(levels), MAX_LABELS)).round().astype(int).tolist())
    for k, (level, forecast, low, high) in enumerate(levels):
        alpha = 1.0 if len(levels) == 1 else MIN_OPACITY + (1 - MIN_OPACITY) * k / (len(levels) - 1)
        ax.fill_between(forecast, low, high, facecolor=(palette.OBSERVED, 0.2 * alpha), linewidth=0)
        ax.plot(
            forecast,
            (low + high) / 2,
            color=palette.OBSERVED,
            alpha=alpha,
            linewidth=1.6,
            marker="o" if forecast.size == 1 else None,
            label=f"level {level:g}" if k in labelled else None,
        )
    ax.set(xlabel="forecast quantile", ylabel="recalibrated quantile")
    dress(ax)
    legend_inside(ax, "upper left")


def marks_quantile_reliability(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    names = ("level", *QUANTILES, "count")
    return [
        Mark(q, (a + b) / 2, f"level {level:g}: forecast {q:.4g}\nrecalibrated {_range(a, b)}\n{count:,} rows")
        for level, q, a, b, count in zip(*(np.asarray(columns[name]).tolist() for name in names), strict=True)
        if np.isfinite(q)
    ]


def describe_quantile_reliability(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    level, q, low, high = (np.asarray(columns[name], dtype=float) for name in ("level", *QUANTILES))
    gap = np.where(np.isfinite(q), np.maximum(np.maximum(low - q, q - high), 0.0), -1.0)
    worst = int(gap.argmax())
    return (
        f"Recalibrated against forecast quantiles of {np.unique(level).size} levels. The largest gap is at level "
        f"{level[worst]:g}, forecast {q[worst]:.4g}, recalibrated {_range(low[worst], high[worst])}."
    )


def _by_level(columns: Mapping[str, Any]) -> Iterator[tuple[float, Any, Any, Any]]:
    levels = np.asarray(columns["level"])
    for level in np.unique(levels):
        q, low, high = (np.asarray(columns[name], dtype=float)[levels == level] for name in QUANTILES)
        shown = np.isfinite(q)
        yield float(level), q[shown], low[shown], high[shown]


def _range(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


QUANTILE_RELIABILITY = Picture(
    draw_quantile_reliability,
    marks_quantile_reliability,
    describe_quantile_reliability,
    thinned=QUANTILES,
    lines="level",
)
