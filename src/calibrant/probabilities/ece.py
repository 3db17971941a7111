"""Expected calibration error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.core.binned import bin_table, on_grid, summarise_bins
from calibrant.core.bins import BinTable
from calibrant.core.catalogue import Shown, find
from calibrant.core.decorators import metric
from calibrant.core.grid import Grid
from calibrant.core.kept_rows import KeptRows
from calibrant.core.ordered import Ordered
from calibrant.core.several import PerLabel
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins, check_choice
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.canonical import MedianVariance, canonical_error, check_canonical, summarise_canonical
from calibrant.probabilities.simplex_cells import SimplexCells

ROUNDING = 2.0**-26
NORMS = ("l1", "l2", "l2-squared", "max")
REDUCTIONS = ("confidence", "top-label", "classwise")
"""Notions that judge one probability per row."""

NOTIONS = (*REDUCTIONS, "canonical")
AVERAGES = {"top-label": ("macro", "weighted"), "classwise": ("macro", "sum")}


def summarise(rows: Binary | Classes, *, bins: Any, strategy: str, notion: str | None, **others: Any) -> Summary:
    """Summarise the whole vectors for the canonical notion, and one probability per row for the others."""
    check_choice("notion", notion, None, *NOTIONS)
    if notion == "canonical":
        check_canonical(bins, strategy=strategy, **others)
        return summarise_canonical(rows, bins)
    _refuse_canonical_options(bins, others["distance"])
    return summarise_reduced(rows, bins=bins, strategy=strategy, notion=notion)


def summarise_reduced(rows: Binary | Classes, *, bins: Any, strategy: str, notion: str | None) -> Summary:
    """Reduce class vectors as the notion says, and summarise each binary problem."""
    check_bins(bins, strategy)
    check_choice("notion", notion, None, *REDUCTIONS)

    def binned(part: Binary) -> Summary:
        return summarise_bins(part, bins=bins, strategy=strategy)

    if isinstance(rows, Binary):
        if notion is not None:
            raise InputError(
                f"notion={notion!r} is for class probabilities of shape (n, K); leave it out for a 1-D prediction"
            )
        return binned(rows)
    if notion in (None, "confidence"):
        return binned(rows.top_label())
    return PerLabel.of(rows, str(notion), binned)


def on_grid_of_rows(options: Mapping[str, Any]) -> bool:
    """Tell whether a `Grid` of one probability per row has these bins, which then are exact."""
    return options["notion"] is None and on_grid(**options)


@metric(
    reads=(Grid, Ordered, PerLabel, SimplexCells, KeptRows),
    summarise=summarise,
    predictions=("binary", "classes"),
    range=(0.0, 1.0),
    mean=True,
    on_grid=on_grid_of_rows,
    audit={"": Shown("expected calibration error, 15 bins", grows=True)},
)
def ece(
    summary: Summary,
    *,
    bins: int | str | MedianVariance = 15,
    strategy: str = "width",
    norm: str = "l1",
    debias: bool = False,
    notion: str | None = None,
    average: str | None = None,
    distance: str | Callable[[FloatArray, FloatArray], float] = "tv",
) -> float:
    r"""Average gap between stated probability and observed frequency, over bins of the probability.

    With the share :math:`f_b` of the weight, the mean prediction :math:`\bar p_b` and the observed frequency
    :math:`\bar y_b` of bin b,

    .. math::

        \begin{aligned}
        \mathrm{l1} &= \sum_b f_b |\bar y_b - \bar p_b| \\
        \mathrm{l2} &= \Bigl(\sum_b f_b (\bar y_b - \bar p_b)^2\Bigr)^{1/2} \\
        \mathrm{max} &= \max_b |\bar y_b - \bar p_b| .
        \end{aligned}

    Bins are right-closed, (a, b], with edges k/m; 0 belongs to the first. An edge is compared in the precision of
    the scores, so that 0.3 falls into the same bin in float16, float32 and float64.

    Parameters
    ----------
    y
        Outcomes: 0 and 1 (or `pos_label`) for a 1-D prediction, column numbers (or `classes`) for (n, K); or the
        summary made by `summarize`.
    prediction
        P(y = 1) as a 1-D array, or class probabilities of shape (n, K).
    bins
        Number of bins; ``"cube-root"`` for ⌈n^(1/3)⌉ mass bins; ``"sweep"`` for the most mass bins whose observed
        frequencies still rise with the prediction (Roelofs et al. 2022); ``MedianVariance(minsize, maxbins)`` with
        the canonical notion.
    strategy
        ``"width"`` for bins of equal width, ``"mass"`` for bins of equal weight. Tied scores always share a bin.
    norm
        ``"l1"``, ``"l2"`` (the root), ``"l2-squared"`` (its square), ``"max"``.
    debias
        With an l2 norm: the mean of :math:`r_i r_j`, r = y - p, over pairs of rows in a bin, which has no upward bias.
        The root is taken of the value clipped at 0; ``"l2-squared"`` is not clipped and may be negative. Bins with
        one row are left out.
    notion
        For (n, K). ``"confidence"`` (default): is the most probable class right as often as stated?
        ``"top-label"``: the same within the rows of each predicted label. ``"classwise"``: each class against the
        rest. ``"canonical"``: the whole vector, of which one probability p per row is the case (1 - p, p).
    average
        Over labels: ``"macro"`` (default) the plain mean; ``"weighted"`` (top-label) by rows, as Gupta and Ramdas
        (2021); ``"sum"`` (classwise).
    distance
        For the canonical notion, between the mean prediction and the class frequencies of a cell: ``"tv"`` (half the
        sum of absolute differences), ``"euclidean"``, ``"squared-euclidean"``, or a function of these two vectors of
        length K that returns a number of at least 0.
    weights
        Importance weights, at least 0; a common factor changes nothing.
    classes
        The labels in the order of the columns; with two labels and a 1-D prediction the second is the event.
    pos_label
        The label of y that marks the event, for a 1-D prediction.

    Returns
    -------
    float

    Notes
    -----
    A calibrated model has an ECE above 0, because frequencies of finite samples scatter: with 500 uniform scores and
    15 bins about 0.054. Compare with `consistency_test` before reading a value as miscalibration, and never compare
    values with different bins or different n. A value of 0 does not mean calibrated: errors within a bin cancel.
    Up to 100 bins of equal width are read from a `Grid`, which has a fixed size, exactly.

    ``notion="canonical"`` is :math:`\sum_c f_c \, d(\bar p_c, \bar e_c)`, with the mean prediction and the class
    frequencies of cell c, vectors of length K. A cell is a product of K width bins, of which at most n hold rows, or
    a bin of `MedianVariance`, which follows the data; these are cut by rows, so that weights enter the means but
    not the cuts. It lies in [0, 1] for ``"tv"``, and reaches √2 and 2 for ``"euclidean"`` and its square. With two
    classes the cells are those of the second column, and with ``"tv"`` the value is that of the 1-D prediction.
    Its upward bias is large, as most cells hold few rows: a calibrated model with K = 10 classes, n = 250
    rows and 10 bins has about 0.44 (Widmann, Lindsten and Zachariah 2019). Read it as a description; as a test it
    serves through `consistency_test` only.

    Examples
    --------
    Bin (0, 0.5] holds 0.1 and 0.4, mean 0.25, and no event; bin (0.5, 1] holds 0.6 and 0.9, mean 0.75, and two:

    >>> ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=2)
    0.25

    Class probabilities: the first row is right with confidence 0.5, the second wrong with 0.75.

    >>> ece([0, 1], [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]], bins=2)
    0.625

    The whole vectors, in one cell: mean prediction (5, 2, 1)/8, class frequencies (4, 4, 0)/8.

    >>> ece([0, 1], [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]], bins=1, notion="canonical")
    0.25
    """
    check_choice("notion", notion, None, *NOTIONS)
    if notion == "canonical":
        check_canonical(bins, distance, strategy=strategy, norm=norm, debias=debias, average=average)
        return canonical_error(summary, bins, distance)  # type: ignore[arg-type]  # bins has been checked
    _refuse_canonical_options(bins, distance)
    _check(bins, strategy, norm, debias, average, notion)
    if isinstance(summary, (SimplexCells, KeptRows)):
        raise SummaryError(f"a {type(summary).__name__} is for notion='canonical'; got notion={notion!r}")
    if not isinstance(summary, PerLabel):
        if notion not in (None, "confidence") or average is not None:
            raise InputError(
                f"notion={notion!r} with average={average!r} needs class probabilities of shape (n, K) "
                "and notion='top-label' or 'classwise'"
            )
        return error_of(bin_table(summary, bins=bins, strategy=strategy), norm, debias)
    if notion != summary.notion:
        raise SummaryError(f"this summary was made for notion={summary.notion!r}; got notion={notion!r}")
    parts = [part for part in summary.parts if part.n]
    tables = [bin_table(part, bins=bins, strategy=strategy) for part in parts]
    errors = np.array([error_of(table, norm, debias) for table in tables])
    return _averaged(errors, tables, norm, average)


def error_of(table: BinTable, norm: str, debias: bool) -> float:
    """Return the error of one table of bins."""
    if debias:
        theta = _debiased(table)
        return theta if norm == "l2-squared" else float(np.sqrt(max(theta, 0.0)))
    gap, share = np.abs(table.gap), table.share
    if norm == "max":
        return float(gap.max())
    if norm == "l1":
        return float(np.dot(share, gap))
    square = float(np.dot(share, gap * gap))
    return square if norm == "l2-squared" else float(np.sqrt(square))


def _debiased(table: BinTable) -> float:
    """Return Σ_b f_b [(Σwr)² - Σ(wr)²] / [(Σw)² - Σw²] over bins of two rows and more."""
    # A row that outweighs all others of its bin makes no pair that rounding would leave.
    kept = (table.count >= 2) & (table.w**2 - table.w2 > ROUNDING * table.w**2)
    if not kept.any():
        raise InputError(
            f"debias=True needs a bin with two rows or more; all {table.count.size} bins have fewer. Use fewer bins"
        )
    w, w2, wr, w2r2 = (column[kept] for column in (table.w, table.w2, table.wy - table.wp, table.w2r2))
    pairs: FloatArray = (wr * wr - w2r2) / (w * w - w2)
    return float(np.dot(w, pairs) / w.sum())


def _averaged(errors: FloatArray, tables: list[BinTable], norm: str, average: str | None) -> float:
    if norm == "max":
        return float(errors.max())
    if average == "sum":
        return float(errors.sum())
    if average == "weighted":
        return float(np.average(errors, weights=[table.w.sum() for table in tables]))
    return float(errors.mean())


def _check(bins: Any, strategy: Any, norm: Any, debias: Any, average: Any, notion: Any) -> None:
    check_bins(bins, strategy)
    check_choice("norm", norm, *NORMS)
    check_choice("debias", debias, False, True)
    if debias and norm not in ("l2", "l2-squared"):
        raise InputError(f'debias=True is defined for norm="l2" and "l2-squared"; got norm={norm!r}')
    if average is not None:
        if notion not in AVERAGES:
            raise InputError(f"average={average!r} is for notion='top-label' or 'classwise'; leave it out here")
        check_choice("average", average, *AVERAGES[notion])
        if norm == "max":
            raise InputError('norm="max" takes the maximum over labels; leave average out')


def _refuse_canonical_options(bins: Any, distance: Any) -> None:
    if bins is MedianVariance or isinstance(bins, MedianVariance):
        raise InputError(f"bins={shown(bins)} cuts whole probability vectors; it needs notion='canonical'")
    if not (isinstance(distance, str) and distance == "tv"):
        raise InputError(f"distance={shown(distance)} is for notion='canonical'; for other notions choose norm=")


@metric(
    reads=(Grid, Ordered, PerLabel),
    summarise=summarise_reduced,
    predictions=("binary", "classes"),
    range=(0.0, 1.0),
    mean=True,
    on_grid=on_grid_of_rows,
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
    check_choice("notion", notion, None, *REDUCTIONS)
    value = find("ece").finish(
        summary, find("ece").parse({"bins": bins, "strategy": strategy, "norm": "max", "notion": notion})
    )
    return float(value)
