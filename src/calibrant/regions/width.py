"""Width of intervals and size of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.interval_sums import sums_in_one_pass, sums_of_levels
from calibrant.core.means import SEVERAL, RowScores, column_names, moments_of
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.inputs.sets import Sets
from calibrant.regions.sizes import Sizes

Statistic = Literal["mean", "median", "finite_mean", "finite_fraction", "empty_fraction", "singleton_fraction"]
OF_SETS = ("empty_fraction", "singleton_fraction")  # of size 0 and 1


@public
def width(
    prediction: Intervals | Sets | Summary, *, statistic: Statistic = "mean", weights: ArrayLike | None = None
) -> float | FloatArray:
    r"""Mean width of intervals, or mean number of labels in sets.

    .. math:: \frac{1}{W} \sum_i w_i (\text{upper}_{il} - \text{lower}_{il})
        \qquad\text{or}\qquad
        \frac{1}{W} \sum_i w_i |S_{il}|

    No outcome is needed.

    Parameters
    ----------
    prediction
        `Intervals` or `Sets`, or the summary made by `summarize`. For `Quantiles` call ``.intervals()`` first.
    statistic
        ``"mean"``, infinite as soon as one width is; ``"median"``; ``"finite_mean"``, over the finite widths alone;
        ``"finite_fraction"``, the share of finite widths. For sets also ``"empty_fraction"`` and
        ``"singleton_fraction"``, the shares of sets with no label and with one.
    weights
        Importance weights, at least 0; a common factor changes nothing.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several. The ``"finite_mean"`` of widths that
        are all infinite is NaN.

    Examples
    --------
    Widths 1, 3 and inf:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 2.0], [1.0, 3.0, float("inf")], 0.9)
    >>> width(forecast), width(forecast, statistic="median"), width(forecast, statistic="finite_mean")
    (inf, 3.0, 2.0)
    """
    return WIDTH.alone(prediction, WidthOptions(statistic), weights=weights)


@dataclass(frozen=True)
class WidthOptions:
    statistic: Statistic


def _row_scores(rows: IntervalRows | SetRows, options: WidthOptions) -> FloatArray:
    statistic = options.statistic
    if statistic in OF_SETS and not isinstance(rows, SetRows):
        raise InputError(f"statistic={statistic!r} is for Sets; got Intervals")
    if statistic in ("median", "finite_mean"):
        raise InputError(f"statistic={statistic!r} is not a mean over the rows; use statistic='mean'")
    if statistic == "mean":
        return rows.sizes
    if statistic == "finite_fraction":
        return np.isfinite(rows.sizes).astype(np.float64)
    return np.asarray(rows.sizes == OF_SETS.index(statistic), dtype=np.float64)


def _summarise(rows: IntervalRows | SetRows, options: WidthOptions) -> Moments | Sizes:
    if options.statistic == "median":
        return Sizes.of(rows)
    if isinstance(rows, IntervalRows) and sums_in_one_pass(rows.n, rows.w):
        sums = sums_of_levels(rows, "width")
        names = [f"{what}{name}" for name in column_names(rows, len(sums)) for what in ("width", "finite_fraction")]
        return Moments.of_sums(names, [column for s in sums for column in (s, s.of_finite)])
    return moments_of(rows, _columns)


def _columns(rows: IntervalRows | SetRows) -> RowScores:
    sizes = rows.sizes.T
    found: dict[str, Any] = {}
    for name, column in zip(column_names(rows, len(sizes)), sizes, strict=True):
        found[f"width{name}"] = column
        if isinstance(rows, SetRows):
            found |= {f"empty_fraction{name}": column == 0, f"singleton_fraction{name}": column == 1}
        else:
            found[f"finite_fraction{name}"] = np.isfinite(column)
    return found


def _statistic(summary: Moments | Sizes, options: WidthOptions) -> float | FloatArray:
    if isinstance(summary, Sizes) != (options.statistic == "median"):
        raise SummaryError(
            f"statistic={options.statistic!r} cannot be read from {type(summary).__name__}; make the summary with "
            f"summarize('width', None, prediction, statistic={options.statistic!r})"
        )
    if isinstance(summary, Sizes):
        return summary.per_level([summary.median(k) for k in range(summary.L)])
    names = [name.removeprefix("width") for name in summary.names if name.startswith("width[")]
    if not names:
        raise SummaryError(f"this summary has {', '.join(summary.names)}, no widths; make it with summarize('width')")
    values = [_mean(summary, name, options.statistic) for name in names]
    return np.array(values) if SEVERAL in names[0] else values[0]


def _mean(summary: Moments, name: str, statistic: Statistic) -> float:
    if statistic == "mean":
        return summary.mean_of(f"width{name}")
    if statistic in OF_SETS and "Sets" not in name:
        raise InputError(f"statistic={statistic!r} is for Sets; got Intervals")
    if "Sets" in name and statistic.startswith("finite"):  # no set is infinite
        return 1.0 if statistic == "finite_fraction" else summary.mean_of(f"width{name}")
    if statistic != "finite_mean":
        return summary.mean_of(f"{statistic}{name}")
    share = summary.mean_of(f"finite_fraction{name}")
    total = float(summary.mean[summary.names.index(f"width{name}")])  # infinite widths count as 0 in it
    return total / share if share > 0 else float("nan")


WIDTH = enter(
    Entry(
        width,
        WidthOptions,
        _summarise,
        _statistic,
        reads=(Moments, Sizes),
        predictions=("intervals", "sets"),
        outcome=False,
        range=(0.0, np.inf),
        mean=True,
        row_scores=_row_scores,
    )
)
