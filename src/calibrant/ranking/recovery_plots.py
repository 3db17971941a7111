"""Pictures of estimates against truths, and of z-scores against contraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.core import palette
from calibrant.core.pictures import Mark, Picture
from calibrant.core.plot_style import dress, label_of, legend, name_of, style_of, table

MAX_ROWS_DRAWN = 1000  # of each coordinate, at even distances
MARKS = 12  # rows whose values are shown
USUAL_Z = 2.0  # of about 95 % of calibrated normal predictions


def _drawn(values: Any) -> Any:
    return values[:: -(-len(values) // MAX_ROWS_DRAWN)]


def draw_recovery(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    truth, estimate, low, high = (_drawn(np.ravel(columns[name])) for name in ("truth", "estimate", "low", "high"))
    ends = [float(pick([truth.min(), truth.max(), estimate.min(), estimate.max()])) for pick in (np.min, np.max)]
    known = np.isfinite(low) & np.isfinite(high)
    gap = np.full(known.sum(), np.nan)
    x, y = (np.column_stack(parts).ravel() for parts in ((truth[known],) * 2 + (gap,), (low[known], high[known], gap)))
    label = f"central {100 * details['level']:g} % interval"
    ax.plot(x, y, color=palette.EDGE, linewidth=0.7, alpha=0.45, zorder=2, label=label)
    ax.plot(ends, ends, color=palette.REFERENCE, linewidth=1.2, linestyle="--", zorder=2.5, label="estimate = truth")
    style = {"linestyle": "none", "marker": "o", "markersize": 3.0, "markeredgewidth": 0}
    ax.plot(truth, estimate, color=palette.OBSERVED, zorder=3, label=label_of(details, 0), **style)
    ax.set(xlabel="truth", ylabel=f"estimate ({details['statistic']})")
    dress(ax)
    legend(ax, "upper left")


def marks_recovery(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return the rows whose truths divide the sorted truths evenly."""
    truth, estimate, low, high = (np.ravel(columns[name]) for name in ("truth", "estimate", "low", "high"))
    return [
        Mark(
            float(truth[i]),
            float(estimate[i]),
            f"{name_of(details, 0)}: truth {truth[i]:.4g}, estimate {estimate[i]:.4g}\n"
            f"{100 * details['level']:g} % interval {low[i]:.4g} to {high[i]:.4g}",
        )
        for i in _evenly(truth)
    ]


def _evenly(values: Any) -> list[int]:
    order = np.argsort(values, kind="stable")
    return sorted(set(order[np.linspace(0, len(order) - 1, min(MARKS, len(order))).round().astype(int)].tolist()))


def describe_recovery(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    r, share = (np.atleast_1d(details[name]) for name in ("correlation", "coverage"))
    listed = "; ".join(
        f"{name_of(details, c)}: correlation {r[c]:.2f}, {share[c]:.1%} covered" for c in range(len(details["names"]))
    )
    rows = len(columns["truth"])
    return (
        f"Predictive {details['statistic']} against the truth of {rows:,} rows, with central "
        f"{100 * details['level']:g} % intervals. {listed}."
    )


RECOVERY = Picture(
    draw_recovery, marks_recovery, describe_recovery, thinned=("truth", "estimate"), scattered=True, multiples=True
)


def draw_z_score_contraction(ax: Any, columns: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    contraction, z = (_drawn(table(columns[name])) for name in ("contraction", "z"))
    ax.axhline(0, color=palette.REFERENCE, linewidth=1.2, zorder=2.5)
    for sign, label in ((1, "z = ± 2"), (-1, None)):
        ax.axhline(sign * USUAL_Z, color=palette.REFERENCE, linewidth=0.9, linestyle="--", zorder=2.5, label=label)
    for c in range(z.shape[1]):
        style = {"linestyle": "none", "marker": "o", "markersize": 3.0, "markeredgewidth": 0, "alpha": 0.6}
        ax.plot(contraction[:, c], z[:, c], color=style_of(c)[0], zorder=3, label=label_of(details, c), **style)
    reach = 1.08 * max(USUAL_Z, float(np.abs(z).max()))
    left = min(0.0, float(contraction.min()))
    ax.set(xlim=(left - 0.03 * (1 - left), 1 + 0.03 * (1 - left)), ylim=(-reach, reach))
    ax.set(xlabel="contraction", ylabel="z-score (positive: too high)")
    dress(ax)
    legend(ax, "upper left")


def marks_z_score_contraction(columns: Mapping[str, Any], details: Mapping[str, Any]) -> list[Mark]:
    """Return for each coordinate rows that divide the sorted contractions evenly."""
    contraction, z = (table(columns[name]) for name in ("contraction", "z"))
    return [
        Mark(x, y, f"{name_of(details, c)}: contraction {x:.3f}, z {y:+.2f}")
        for c in range(z.shape[1])
        for x, y in zip(*(values[_evenly(contraction[:, c]), c].tolist() for values in (contraction, z)), strict=True)
    ]


def describe_z_score_contraction(columns: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    z, mean = table(columns["z"]), np.atleast_1d(details["mean_contraction"])
    beyond = (np.abs(z) > USUAL_Z).mean(axis=0)
    listed = "; ".join(
        f"{name_of(details, c)}: contraction {mean[c]:.2f}, |z| above 2 in {beyond[c]:.1%}" for c in range(z.shape[1])
    )
    return f"z-score against contraction of {len(z):,} rows. {listed}."


Z_SCORE_CONTRACTION = Picture(
    draw_z_score_contraction,
    marks_z_score_contraction,
    describe_z_score_contraction,
    thinned=("contraction", "z"),
    scattered=True,
    multiples=True,
)
