"""Width of intervals and size of sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import metric, moments_of
from calibrant.catalogue.means import SEVERAL, RowScores, column_names
from calibrant.errors import InputError, SummaryError
from calibrant.inputs import check_choice
from calibrant.inputs.judged import AS_INTERVALS, IntervalRows, SetRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.interval_sums import sums_in_one_pass, sums_of_levels
from calibrant.summaries import Moments
from calibrant.summaries.size_weights import SizeWeights

OF_INTERVALS = ("mean", "median", "finite_mean", "finite_fraction")
OF_SETS = ("empty_fraction", "singleton_fraction")  # of size 0 and 1
STATISTICS = (*OF_INTERVALS, *OF_SETS)


def row_scores(rows: IntervalRows | SetRows, *, statistic: str = "mean") -> FloatArray:
    """Return the scores (n, L) whose mean the statistic is."""
    _check(rows, statistic)
    if statistic in ("median", "finite_mean"):
        raise InputError(f"statistic={statistic!r} is no mean over the rows; use statistic='mean'")
    if statistic == "mean":
        return rows.sizes
    if statistic == "finite_fraction":
        return np.isfinite(rows.sizes).astype(np.float64)
    return np.asarray(rows.sizes == OF_SETS.index(statistic), dtype=np.float64)


def summarise(rows: IntervalRows | SetRows, *, statistic: str) -> Moments | SizeWeights:
    """Return all that means and shares need, or the sorted sizes for the median."""
    _check(rows, statistic)
    if statistic == "median":
        sizes = rows.sizes.T
        names = column_names(rows, len(sizes))
        return SizeWeights.of({f"width{name}": column for name, column in zip(names, sizes, strict=True)}, rows.w)
    if isinstance(rows, IntervalRows) and sums_in_one_pass(rows.n, rows.w):
        return _in_one_pass(rows)
    return moments_of(rows, _columns)


@metric(
    reads=(Moments, SizeWeights),
    summarise=summarise,
    predictions=("intervals", "sets"),
    outcome=False,
    range=(0.0, np.inf),
    mean=True,
    row_scores=row_scores,
    instead=AS_INTERVALS,
)
def width(summary: Moments | SizeWeights, *, statistic: str = "mean") -> float | FloatArray:
    r"""Mean width of intervals, or mean number of labels in sets.

    .. math:: \frac{1}{W} \sum_i w_i (\text{upper}_{il} - \text{lower}_{il})
        \qquad\text{or}\qquad
        \frac{1}{W} \sum_i w_i |S_{il}|

    No outcome enters it.

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

    Notes
    -----
    Of two predictions with the right coverage the narrower says more. Without the coverage a width means nothing: read
    it next to `coverage`, or use `interval_score`. A ``"finite_mean"`` without the ``"finite_fraction"`` hides rows for
    which nothing was predicted. The median needs all different widths in memory, the others a few numbers.

    Examples
    --------
    Widths 1, 3 and inf:

    >>> from calibrant import Intervals
    >>> forecast = Intervals([0.0, 0.0, 2.0], [1.0, 3.0, float("inf")], 0.9)
    >>> width(forecast), width(forecast, statistic="median"), width(forecast, statistic="finite_mean")
    (inf, 3.0, 2.0)
    """
    check_choice("statistic", statistic, *STATISTICS)
    names = [name.removeprefix("width") for name in summary.names if name.startswith("width[")]
    if not names:
        raise SummaryError(f"this summary holds {', '.join(summary.names)}, no widths; make it with summarize('width')")
    values = [_value(summary, name, statistic) for name in names]
    return np.array(values) if SEVERAL in names[0] else values[0]


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


def _in_one_pass(rows: IntervalRows) -> Moments:
    sums = sums_of_levels(rows, "width")
    names = [f"{what}{name}" for name in column_names(rows, len(sums)) for what in ("width", "finite_fraction")]
    return Moments.of_sums(names, [column for s in sums for column in (s, s.of_finite)])


def _value(summary: Moments | SizeWeights, name: str, statistic: str) -> float:
    if isinstance(summary, SizeWeights) != (statistic == "median"):
        raise SummaryError(
            f"statistic={statistic!r} cannot be read from {type(summary).__name__}; make the summary with "
            f"summarize('width', None, prediction, statistic={statistic!r})"
        )
    if isinstance(summary, SizeWeights):
        return summary.median_of(f"width{name}")
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


def _check(rows: IntervalRows | SetRows, statistic: str) -> None:
    check_choice("statistic", statistic, *STATISTICS)
    if statistic in OF_SETS and not isinstance(rows, SetRows):
        raise InputError(f"statistic={statistic!r} is for Sets; got Intervals")
