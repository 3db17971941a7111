"""What all figures have in common: axes, grid and legend."""

from __future__ import annotations

from typing import Any

from calibrant.plots import palette

WIDEST = 24  # letters of a label in a legend of two columns


def dress(ax: Any) -> None:
    """Draw quiet axes: no box, a light grid behind the data, labels in ink."""
    for side, spine in ax.spines.items():
        spine.set(visible=side in {"left", "bottom"}, color=palette.EDGE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.grid(True, color=palette.GRID, linewidth=0.7)
    ax.tick_params(color=palette.EDGE, labelcolor=palette.INK, length=3)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_color(palette.INK)
        axis.set_major_formatter("{x:g}")


def legend_inside(ax: Any, loc: str) -> None:
    """Put the legend where it does not reach over the edge of axes that are the caller's."""
    ax.legend(loc=loc, fontsize="small", frameon=False, labelcolor=palette.INK)


def shortened(label: str, most: int = WIDEST) -> str:
    """Return a label that two columns of a legend have room for; what follows the last comma stays.

    >>> shortened("the reproduction number, p < 0.001")
    'the reproduc…, p < 0.001'
    """
    if len(label) <= most:
        return label
    name, comma, end = label.rpartition(", ")
    if not name or len(end) > most // 2:
        return label[: most - 1] + "…"
    return name[: most - 1 - len(comma + end)] + "…" + comma + end


def legend_below(ax: Any) -> None:
    """Move the legend under the axes, where it covers nothing. For figures that hold these axes alone."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = ax.get_legend_handles_labels()
    size = ax.xaxis.label.get_size()
    room = ScaledTranslation(0, -(2.4 * size + 14) / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        handles,
        [shortened(label) for label in labels],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + room,
        ncols=2,
        borderaxespad=0,
        columnspacing=1.3,
        handlelength=1.5,
        fontsize=0.92 * size,
        frameon=False,
        labelcolor=palette.INK,
    )
