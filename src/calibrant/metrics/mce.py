"""Maximum calibration error."""

from __future__ import annotations

from calibrant.catalogue import find, metric
from calibrant.inputs import check_choice
from calibrant.metrics import ece as ece_module
from calibrant.summaries import Grid, Ordered, PerLabel, Summary


@metric(
    reads=(Grid, Ordered, PerLabel),
    summarise=ece_module.summarise_reduced,
    predictions=("binary", "classes"),
    range=(0.0, 1.0),
    mean=True,
    on_grid=ece_module.on_grid_of_rows,
)
def mce(summary: Summary, *, bins: int | str = 15, strategy: str = "width", notion: str | None = None) -> float:
    r"""Largest gap between stated probability and observed frequency, over bins of the probability.

    .. math:: \max_b |\bar y_b - \bar p_b|

    over bins that hold rows, and over labels too for the notions ``"top-label"`` and ``"classwise"``. It is
    ``ece(norm="max")``: the maximum, not multicalibration, and not divided by anything.

    Parameters
    ----------
    y, prediction, bins, strategy, notion, weights, classes, pos_label
        As in `ece`, without the canonical notion, most of whose cells hold a single row.

    Returns
    -------
    float

    Notes
    -----
    One row in a bin of its own is enough for a large value, so that it says little about a model unless every bin
    holds many rows: prefer ``strategy="mass"``, and look at `reliability_curve` for the counts. A `Grid` has up to 100
    bins of equal width exactly.

    Examples
    --------
    Bin (0, 0.5] has mean 0.25 and no event, bin (0.5, 1] has mean 0.75 and one event in two:

    >>> mce([0, 0, 0, 1], [0.25, 0.25, 0.625, 0.875], bins=2)
    0.25
    """
    check_choice("notion", notion, None, *ece_module.REDUCTIONS)
    value = find("ece").finish(summary, bins=bins, strategy=strategy, norm="max", notion=notion)
    return float(value)
