"""Binned calibration errors: the expected and the largest one, and which way predictions are off."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.binned import BinOptions, Bins, LabelBins, Strategy, bin_table, on_grid, summarise_bins
from calibrant.core.bins import BinTable
from calibrant.core.catalogue import Entry, Shown, enter, public
from calibrant.core.grid import Grid
from calibrant.core.kept_rows import KeptRows
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.core.results import Direction
from calibrant.core.several import PerLabel
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_bins, check_choice
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.canonical import (
    Distance,
    MedianVariance,
    SimplexCells,
    canonical_error,
    check_canonical,
    summarise_canonical,
)
from calibrant.probabilities.limits import (
    debiased_square,
    heaviest_weight,
    l1_limits,
    l2_limits,
    max_limits,
    mean_l1_limits,
)

Norm: TypeAlias = Literal["l1", "l2", "l2-squared", "max"]
Reduction: TypeAlias = Literal["confidence", "top-label", "classwise"]
"""Notions that judge one probability per row."""

Average: TypeAlias = Literal["macro", "weighted", "sum"]

AVERAGES = {"top-label": ("macro", "weighted"), "classwise": ("macro", "sum")}


@public
def ece(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    bins: Bins | MedianVariance = 15,
    strategy: Strategy = "width",
    norm: Norm = "l1",
    debias: bool = False,
    notion: Reduction | Literal["canonical"] | None = None,
    average: Average | None = None,
    distance: Distance = "tv",
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
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

    Bins are right-closed, (a, b], with edges k/m; 0 belongs to the first. Edges are compared in the precision of the
    scores, so 0.3 falls into the same bin in float16, float32 and float64.

    Parameters
    ----------
    y
        Outcomes: 0 and 1 (or `pos_label`) for a 1-D prediction, column numbers (or `classes`) for (n, K); or the
        summary made by `summarize`.
    prediction
        P(y = 1) as a 1-D array, or class probabilities of shape (n, K).
    bins
        Number of bins; ``"auto"`` for ⌊2n^(1/3) + 1/2⌋ mass bins, or one per score if there are at most as many
        scores (with unequal weights n is W²/Σw²), those of the headline of `audit`; ``"cube-root"`` for ⌈n^(1/3)⌉ mass
        bins; ``"sweep"`` for the most mass bins whose observed frequencies still rise with the prediction (Roelofs et
        al. 2022); ``MedianVariance(minsize, maxbins)`` with the canonical notion.
    strategy
        ``"width"`` for bins of equal width, ``"mass"`` for bins of equal weight. Tied scores always share a bin.
    norm
        ``"l1"``, ``"l2"`` (the root), ``"l2-squared"`` (its square), ``"max"``.
    debias
        With an l2 norm: the mean of :math:`r_i r_j`, r = y - p, over pairs of rows in a bin, which has no upward bias.
        The root is taken of the value clipped at 0; ``"l2-squared"`` is not clipped and may be negative. Bins with
        one row are left out.
    notion
        For (n, K). ``"confidence"`` (default): is the most probable class right as often as stated? Two columns are
        judged so too, with a warning if no notion is given, as the error of the event is another: pass ``P[:, 1]``.
        ``"top-label"``: the same within the rows of each predicted label. ``"classwise"``: each class against the
        rest. ``"canonical"``: the whole vector; one probability p per row is then the vector (1 - p, p).
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

    Examples
    --------
    Bin (0, 0.5] contains 0.1 and 0.4, mean 0.25, and no event; bin (0.5, 1] contains 0.6 and 0.9, mean 0.75, and two:

    >>> ece([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=2)
    0.25

    Class probabilities: the first row is right with confidence 0.5, the second wrong with 0.75.

    >>> ece([0, 1], [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]], bins=2)
    0.625

    The whole vectors, in one cell: mean prediction (5, 2, 1)/8, class frequencies (4, 4, 0)/8.

    >>> ece([0, 1], [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]], bins=1, notion="canonical")
    0.25
    """
    options = EceOptions(bins, strategy, norm, debias, notion, average, distance)
    return ECE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class EceOptions:
    bins: Bins | MedianVariance
    strategy: Strategy
    norm: Norm
    debias: bool
    notion: Reduction | Literal["canonical"] | None
    average: Average | None
    distance: Distance

    def __post_init__(self) -> None:
        if self.notion == "canonical":
            others = {"strategy": self.strategy, "norm": self.norm, "debias": self.debias, "average": self.average}
            check_canonical(self.bins, self.distance, **others)
            return
        if isinstance(self.bins, MedianVariance) or cast(object, self.bins) is MedianVariance:
            raise InputError(f"bins={shown(self.bins)} cuts whole probability vectors; it needs notion='canonical'")
        if not (isinstance(self.distance, str) and self.distance == "tv"):
            given = shown(self.distance)
            raise InputError(f"distance={given} is for notion='canonical'; for other notions choose norm=")
        check_bins(self.bins)
        if self.debias and self.norm not in ("l2", "l2-squared"):
            raise InputError(f'debias=True is defined for norm="l2" and "l2-squared"; got norm={self.norm!r}')
        if self.average is None:
            return
        if self.notion not in AVERAGES:
            raise InputError(
                f"average={shown(self.average)} is for notion='top-label' or 'classwise'; leave it out here"
            )
        check_choice("average", self.average, *AVERAGES[self.notion])
        if self.norm == "max":
            raise InputError('norm="max" takes the maximum over labels; leave average out')


TWO_COLUMNS = (
    "of two columns the error of the most probable class was measured, which is not that of the probability of the "
    "event: for the event pass its column, P[:, 1]; if the most probable class is meant add notion='confidence'"
)


def _summarise(rows: Binary | Classes, options: EceOptions) -> Summary:
    if options.notion == "canonical":
        return summarise_canonical(rows, cast(int | MedianVariance, options.bins))
    return _reduced(rows, cast(Bins, options.bins), options.strategy, options.notion)


def _reduced(rows: Binary | Classes, bins: Bins, strategy: Strategy, notion: str | None) -> Summary:
    if isinstance(rows, Binary):
        if notion is not None:
            raise InputError(
                f"notion={notion!r} is for class probabilities of shape (n, K); leave it out for a 1-D prediction"
            )
        return summarise_bins(rows, bins=bins, strategy=strategy)
    if notion is None and rows.K == 2:
        warnings.warn(TWO_COLUMNS, stacklevel=1)  # of this line, so that it is shown once
    if notion in (None, "confidence"):
        return summarise_bins(rows.top_label(), bins=bins, strategy=strategy)
    if on_grid(bins=bins, strategy=strategy):
        return LabelBins.of(rows, str(notion), int(bins))
    return PerLabel.of(rows, str(notion), Ordered.of)


def _error(summary: Summary, options: EceOptions) -> float:
    if options.notion == "canonical":
        return canonical_error(summary, cast(int | MedianVariance, options.bins), options.distance)
    if isinstance(summary, (SimplexCells, KeptRows)):
        raise SummaryError(f"a {type(summary).__name__} is for notion='canonical'; got notion={options.notion!r}")
    if isinstance(summary, (LabelBins, PerLabel)):
        return _averaged(_tables(summary, options), options)
    if options.notion not in (None, "confidence"):
        raise InputError(f"notion={options.notion!r} needs class probabilities of shape (n, K)")
    return error_of(bin_table(summary, bins=options.bins, strategy=options.strategy), options.norm, options.debias)


def _tables(summary: LabelBins | PerLabel, options: EceOptions) -> Iterable[BinTable]:
    if options.notion != summary.notion:
        raise SummaryError(f"this summary was made for notion={summary.notion!r}; got notion={options.notion!r}")
    if isinstance(summary, PerLabel):
        return (bin_table(part, bins=options.bins, strategy=options.strategy) for part in summary.parts if part.n)
    if (options.bins, options.strategy) != (summary.bins, "width"):
        raise SummaryError(
            f"this summary has {summary.bins} width bins of each label; got bins={options.bins!r} and "
            f"strategy={options.strategy!r}. Make it with the bins= and strategy= you measure with"
        )
    return summary.tables()


def _averaged(tables: Iterable[BinTable], options: EceOptions) -> float:
    errors, weights = np.array([(error_of(table, options.norm, options.debias), table.w.sum()) for table in tables]).T
    if options.norm == "max":
        return float(errors.max())
    if options.average == "sum":
        return float(errors.sum())
    return float(np.average(errors, weights=weights) if options.average == "weighted" else errors.mean())


def error_of(table: BinTable, norm: str, debias: bool) -> float:
    if debias:
        theta = debiased_square(table)
        return theta if norm == "l2-squared" else float(np.sqrt(max(theta, 0.0)))
    gap, share = np.abs(table.gap), table.share
    if norm == "max":
        return float(gap.max())
    if norm == "l1":
        return float(np.dot(share, gap))
    square = float(np.dot(share, gap * gap))
    return square if norm == "l2-squared" else float(np.sqrt(square))


def _limits(summary: Summary, options: EceOptions) -> Limits:
    if options.notion == "canonical" or options.bins == "sweep":
        what = "the canonical notion" if options.notion == "canonical" else "bins='sweep', which depend on the outcomes"
        raise NotApplicableError(f"no valid limits are known for {what}; choose a notion and bins of the scores alone")
    estimate = _error(summary, options)
    if isinstance(summary, (LabelBins, PerLabel)):
        return _limits_of_labels(list(_tables(summary, options)), options, estimate)
    table = bin_table(summary, bins=options.bins, strategy=options.strategy)
    heaviest = cast(Grid | Ordered, summary).weight_max
    if options.norm == "max":
        return max_limits([table], estimate)
    if options.norm == "l1":
        return l1_limits(table, estimate, heaviest)
    if not options.debias:
        raise NotApplicableError(
            f"limits of norm={options.norm!r} are those of the debiased estimate, because the plain one is biased "
            "upwards; add debias=True"
        )
    found = l2_limits(table, heaviest)
    if options.norm == "l2":
        return found
    return Limits(estimate, lambda rate: found.low(rate) ** 2, lambda rate: found.high(rate) ** 2, found.method)


def _limits_of_labels(tables: list[BinTable], options: EceOptions, estimate: float) -> Limits:
    if options.norm == "max":
        return max_limits(tables, estimate)
    if options.norm != "l1":
        raise NotApplicableError(f"no valid limits are known for a mean of {options.norm} errors; choose norm='l1'")
    weight = np.array([table.w.sum() for table in tables])
    share = np.full(weight.size, 1.0 if options.average == "sum" else 1 / weight.size)
    if options.average == "weighted":
        share = weight / weight.sum()
    overlap = options.notion == "classwise"
    return mean_l1_limits(tables, share, estimate, heaviest_weight(tables), overlap=overlap)


ECE = enter(
    Entry(
        ece,
        EceOptions,
        _summarise,
        _error,
        limits=_limits,
        reads=(Grid, Ordered, LabelBins, PerLabel, SimplexCells, KeptRows),
        predictions=("binary", "classes"),
        range=(0.0, 1.0),
        mean=True,
        on_grid=lambda options: options.notion is None and on_grid(bins=options.bins, strategy=options.strategy),
        audit={"": Shown("expected calibration error, 15 bins", grows=True)},
    )
)


@public
def mce(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    bins: Bins = 15,
    strategy: Strategy = "width",
    notion: Reduction | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Largest gap between stated probability and observed frequency, over bins of the probability.

    .. math:: \max_b |\bar y_b - \bar p_b|

    over bins that contain rows, and over labels too for the notions ``"top-label"`` and ``"classwise"``. It is
    ``ece(norm="max")``: the maximum, not multicalibration, and not divided by anything.

    Parameters
    ----------
    y, prediction, bins, strategy, notion, weights, classes, pos_label
        As in `ece`, without the canonical notion: most of its cells contain a single row.

    Examples
    --------
    Bin (0, 0.5] has mean 0.25 and no event, bin (0.5, 1] has mean 0.75 and one event in two:

    >>> mce([0, 0, 0, 1], [0.25, 0.25, 0.625, 0.875], bins=2)
    0.25
    """
    options = MceOptions(bins, strategy, notion)
    return MCE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class MceOptions(BinOptions):
    notion: Reduction | None

    @property
    def as_ece(self) -> EceOptions:
        return EceOptions(self.bins, self.strategy, "max", False, self.notion, None, "tv")


MCE = enter(
    Entry(
        mce,
        MceOptions,
        lambda rows, options: _reduced(rows, options.bins, options.strategy, options.notion),
        lambda summary, options: _error(summary, options.as_ece),
        reads=(Grid, Ordered, LabelBins, PerLabel),
        predictions=("binary", "classes"),
        range=(0.0, 1.0),
        mean=True,
        limits=lambda summary, options: _limits(summary, options.as_ece),
        on_grid=lambda options: ECE.on_grid(options.as_ece),
    )
)


@public
def direction(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    bins: Bins = 15,
    strategy: Strategy = "width",
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> Direction:
    r"""Split the l1 calibration error into predictions that are too high and too low.

    .. math:: \mathrm{over} = \sum_b f_b \max(\bar p_b - \bar y_b, 0), \quad
              \mathrm{under} = \sum_b f_b \max(\bar y_b - \bar p_b, 0), \quad
              \mathrm{bias} = \frac{1}{W}\sum_i w_i (y_i - p_i)

    over + under is `ece`, under - over is the bias.

    Parameters
    ----------
    y, prediction, bins, strategy, weights, classes, pos_label
        As in `ece`; one probability per row.

    Returns
    -------
    Direction
        `over`, `under`, `bias`, and the edges of the bin that adds most to each (`over_bin`, `under_bin`).

    Examples
    --------
    Below one half the forecasts (mean 0.25) are too high, above (mean 0.75) too low:

    >>> found = direction([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    >>> found.over, found.under, found.bias
    (0.125, 0.125, 0.0)
    >>> found.over_bin, found.under_bin
    ((0.0, 0.5), (0.5, 1.0))
    """
    options = BinOptions(bins, strategy)
    return DIRECTION(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


def _split(summary: Grid | Ordered, options: BinOptions) -> Direction:
    table = bin_table(summary, bins=options.bins, strategy=options.strategy)
    part = table.share * table.gap
    over, under = np.maximum(-part, 0), np.maximum(part, 0)
    bias = float((table.wy.sum() - table.wp.sum()) / table.w.sum())

    def largest(part: FloatArray) -> tuple[float, float] | None:
        b = int(np.argmax(part))
        return (float(table.lower[b]), float(table.upper[b])) if part[b] > 0 else None

    return Direction(float(over.sum()), float(under.sum()), bias, largest(over), largest(under))


DIRECTION = enter(
    Entry(
        direction,
        BinOptions,
        lambda rows, options: summarise_bins(rows, bins=options.bins, strategy=options.strategy),
        _split,
        reads=(Grid, Ordered),
        range=(-1.0, 1.0),
        mean=True,
        on_grid=lambda options: on_grid(bins=options.bins, strategy=options.strategy),
        audit={
            "over": Shown("error from predictions that are too high", grows=True),
            "under": Shown("error from predictions that are too low", grows=True),
            "bias": Shown("mean of observed minus predicted"),
        },
    )
)
