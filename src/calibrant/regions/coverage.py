"""Coverage of intervals, sets and quantiles, its gap over groups, and coverage with width in one criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.catalogue import Entry, NoOptions, enter, public
from calibrant.core.interval_sums import IntervalSums, hits_of_quantiles, sums_in_one_pass, sums_of_levels
from calibrant.core.means import enter_mean, moments_of
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import RowLabels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import DIGITS, as_number
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import IntervalRows, QuantileRows, SetRows
from calibrant.inputs.sets import Sets
from calibrant.regions.hits import REGIONS, CoveredRows, HitTable, RowGroups, hits_of


@public
def coverage(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> float | FloatArray:
    r"""Share of outcomes that lie in the predicted interval or set, or at most at the predicted quantile.

    .. math:: \hat c_l = \frac{1}{W} \sum_i w_i\, 1\{\text{lower}_{il} \le y_i \le \text{upper}_{il}\},

    for sets :math:`1\{y_i \in S_{il}\}`, for quantiles :math:`1\{y_i \le q_{il}\}`. Both bounds are part of the
    interval.

    Parameters
    ----------
    y
        Outcomes: numbers for `Intervals` and `Quantiles`, labels (column numbers, or `classes`) for `Sets`; or the
        summary made by `summarize`.
    prediction
        `Intervals`, `Sets` or `Quantiles`.
    weights
        Importance weights, at least 0; a common factor changes nothing.
    classes
        With `Sets`: the labels in the order of the columns.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Examples
    --------
    Two of three outcomes lie inside, the first on a bound:

    >>> from calibrant import Intervals
    >>> round(coverage([1.0, 2.0, 9.0], Intervals([1.0, 0.0, 3.0], [2.0, 3.0, 4.0], 0.9)), 4)
    0.6667
    """
    return COVERAGE(y, prediction, NoOptions(), weights=weights, classes=classes)


def _hit_sums(rows: CoveredRows, options: NoOptions) -> list[IntervalSums] | None:
    if isinstance(rows, SetRows):
        return None
    found = hits_of_quantiles(rows) if isinstance(rows, QuantileRows) else sums_of_levels(rows, "hits")
    return [sums.of_hits for sums in found]


COVERAGE = enter_mean(
    coverage,
    NoOptions,
    lambda rows, options: rows.covered,
    sums=_hit_sums,
    predictions=REGIONS,
    range=(0.0, 1.0),
    perfect=1.0,
)


@public
def coverage_gap(
    y: Outcomes,
    prediction: Intervals | Sets | Quantiles | None = None,
    *,
    groups: RowGroups | None = None,
    average: Literal["macro", "weighted", "max"] = "macro",
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> float | FloatArray:
    r"""Average distance between coverage and its level, over groups of rows.

    .. math:: \sum_g a_g\, |\hat c_g - level|, \qquad \hat c_g = \frac{\sum_{i \in g} w_i c_i}{\sum_{i \in g} w_i},

    where :math:`c_i` is 1 if row i is covered, and :math:`a_g` is one over the number of groups ("macro") or the share
    of the group in the weight of all rows ("weighted"). "max" is the largest distance. A fraction, not percent.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`, which also returns a number or one for each level.
    groups
        One label per row. For `Sets` the default is the true class.
    average
        "macro", "weighted" or "max".

    Examples
    --------
    Both rows of group a are covered and one of group b's: gaps 0.25 and 0.25.

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 1.0, 4.0], [1.0, 2.0, 2.0, 5.0], 0.75)
    >>> coverage_gap([0.0, 1.0, 2.0, 3.0], forecast, groups=["a", "a", "b", "b"])
    0.25
    """
    return COVERAGE_GAP(y, prediction, CoverageGapOptions(groups, average), weights=weights, classes=classes)


@dataclass(frozen=True, eq=False)
class CoverageGapOptions:
    groups: RowGroups | None
    average: Literal["macro", "weighted", "max"]


def _hits_by_group(rows: CoveredRows, options: CoverageGapOptions) -> HitTable:
    if rows.prediction.levels is None:
        raise NotApplicableError("these sets have no level to compare coverage with; pass Sets(mask, level)")
    if options.groups is not None:
        return hits_of(rows, options)
    if not isinstance(rows, SetRows):
        raise InputError("coverage_gap compares groups of rows; pass groups=, one label per row")
    classes, code = np.unique(rows.y, return_inverse=True)
    return HitTable.of(rows, RowLabels(code.astype(np.intp), tuple(classes.tolist())))


def _average_gap(table: HitTable, options: CoverageGapOptions) -> float | FloatArray:
    gap = np.abs(table.coverage - table.nominal)
    values = []
    for k in range(table.levels.size):
        here = (table.level == k) & (table.count > 0)
        share = table.w[here] / table.w[here].sum() if options.average == "weighted" else 1 / np.count_nonzero(here)
        values.append(float(gap[here].max() if options.average == "max" else (share * gap[here]).sum()))
    return values[0] if table.single else np.array(values)


COVERAGE_GAP = enter(
    Entry(
        coverage_gap,
        CoverageGapOptions,
        _hits_by_group,
        _average_gap,
        reads=(HitTable,),
        predictions=REGIONS,
        range=(0.0, 1.0),
        mean=True,
    )
)

Variant = Literal["jensen", "khosravi"]
ETA: dict[str, float] = {"jensen": 30.0, "khosravi": 50.0}


@public
def coverage_width_criterion(
    y: Outcomes,
    prediction: Intervals | None = None,
    *,
    variant: Variant = "jensen",
    eta: float | None = None,
    normalizer: float | None = None,
    weights: ArrayLike | None = None,
) -> float | FloatArray:
    r"""Coverage and relative width of intervals in one number.

    With the coverage :math:`\hat c`, the nominal level c and r = mean width / normalizer,

    .. math::

        \begin{aligned}
        \text{jensen} &= (1 - r)\, e^{-\eta (\hat c - c)^2} && \text{higher is better} \\
        \text{khosravi} &= r\, \bigl(1 + 1\{\hat c < c\}\, e^{-\eta (\hat c - c)}\bigr) && \text{lower is better}
        \end{aligned}

    (Jensen, Bianchi and Anfinsen 2022; Khosravi, Nahavandi and Creighton 2010).

    Parameters
    ----------
    y, prediction, weights
        As in `coverage`: `Intervals`.
    variant
        ``"jensen"`` or ``"khosravi"``.
    eta
        The cost of wrong coverage, at least 0; default 30 for ``"jensen"``, 50 for ``"khosravi"``.
    normalizer
        What widths are divided by, in the unit of the outcome; default the range of the outcomes.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. An infinite width gives -inf
        (jensen) or inf (khosravi).

    Examples
    --------
    One of two outcomes is covered, as stated; the mean width 1 is a quarter of the range of y:

    >>> from calibrant import Intervals
    >>> coverage_width_criterion([0.0, 4.0], Intervals([0.0, 0.0], [1.0, 1.0], 0.5))
    0.75
    """
    return COVERAGE_WIDTH_CRITERION(y, prediction, CriterionOptions(variant, eta, normalizer), weights=weights)


@dataclass(frozen=True)
class CriterionOptions:
    variant: Variant
    eta: float | None
    normalizer: float | None

    def __post_init__(self) -> None:
        if self.eta is not None and not 0 <= as_number(self.eta) < np.inf:
            raise InputError(f"eta must be a finite number of at least 0; got {shown(self.eta)}")
        if self.normalizer is not None and not 0 < as_number(self.normalizer) < np.inf:
            raise InputError(f"normalizer must be a finite number above 0; got {shown(self.normalizer)}")


def _criterion(summary: IntervalMoments, options: CriterionOptions) -> float | FloatArray:
    eta = ETA[options.variant] if options.eta is None else float(options.eta)
    low, high = summary.extremes.tolist()
    unit = high - low if options.normalizer is None else float(options.normalizer)
    if not 0 < unit < np.inf:
        raise InputError(
            f"the range of y, by which widths are divided, is {shown(unit)} (from {shown(low)} to {shown(high)}). "
            "Pass normalizer=, in the unit of y"
        )
    c, level = summary.means("coverage"), summary.levels
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite r times a vanishing power is settled below
        r = summary.means("width") / unit
        if options.variant == "jensen":
            values = np.where(np.isinf(r), -np.inf, (1 - r) * np.exp(-eta * (c - level) ** 2))
        else:
            short = c.round(DIGITS) < level.round(DIGITS)
            factor = 1 + np.where(short, np.exp(-eta * (c - level)), 0.0)
            values = np.where(r == 0, 0.0, r * factor)
    return float(values[0]) if summary.single else values


@dataclass(frozen=True, eq=False, repr=False)
class IntervalMoments(Summary):
    """Moments of coverage and width at each level, smallest and largest outcome."""

    levels: FloatArray  # (L,)
    single: bool
    moments: tuple[Moments, ...]  # one, in a tuple because nested summaries are stored as one
    extremes: FloatArray  # (2,)

    @classmethod
    def of(cls, rows: IntervalRows) -> Self:
        levels = rows.prediction.levels
        names = [f"{what} {level:.10g}" for what in ("coverage", "width") for level in levels]
        if sums_in_one_pass(rows.n, rows.w):
            sums = sums_of_levels(rows, "width", "hits")
            moments = Moments.of_sums(names, [*(s.of_hits for s in sums), *sums])
        else:
            moments = moments_of(rows, lambda part: dict(zip(names, [*part.covered.T, *part.sizes.T], strict=True)))
        return cls(levels, rows.prediction.single, (moments,), np.array([rows.y.min(), rows.y.max()]))

    def merged(self, other: Self) -> Self:
        low, high = np.minimum(self.extremes, other.extremes)[0], np.maximum(self.extremes, other.extremes)[1]
        moments = self.moments[0] + other.moments[0]
        return type(self)(self.levels, self.single and other.single, (moments,), np.array([low, high]))

    @property
    def n(self) -> int:
        return self.moments[0].n if self.moments else 0

    def means(self, what: str) -> FloatArray:
        """Return the mean "coverage" or "width" at each level; a mean width is infinite if one width is."""
        moments = self.moments[0]
        return np.array([moments.mean_of(name) for name in moments.names if name.startswith(what)])


COVERAGE_WIDTH_CRITERION = enter(
    Entry(
        coverage_width_criterion,
        CriterionOptions,
        lambda rows, options: IntervalMoments.of(rows),
        _criterion,
        reads=(IntervalMoments,),
        predictions=("intervals",),
        mean=True,
    )
)
