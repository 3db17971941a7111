"""Width of intervals and size of sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.core.decorators import metric
from calibrant.core.interval_sums import sums_in_one_pass, sums_of_levels
from calibrant.core.means import SEVERAL, RowScores, column_names, moments_of
from calibrant.core.moments import Moments
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.options import check_choice
from calibrant.inputs.rows import AS_INTERVALS, IntervalRows, SetRows

ROUNDING = 1e-12  # of the total weight: sums of weights that differ by less are equal


@dataclass(frozen=True, eq=False, repr=False)
class SizeWeights(Summary):
    """One entry per different size of each named column, ascending within the column: the size and its Σw.

    It grows with the number of different sizes: widths of conformal intervals may all be equal, those of a
    regression all different.
    """

    COUNTS: ClassVar[tuple[str, ...]] = ("rows",)
    POSITIVE: ClassVar[tuple[str, ...]] = ("weight", "ends")
    names: tuple[str, ...]
    rows: int
    size: FloatArray  # the columns one after another
    weight: FloatArray
    ends: NDArray[np.int64]  # where each column ends

    def __post_init__(self) -> None:
        super().__post_init__()
        entries = int(self.ends[-1]) if self.ends.size else 0
        if len(self.names) != self.ends.size or not self.size.shape == self.weight.shape == (entries,):
            raise SummaryError("the columns of SizeWeights must end where their entries do")

    @classmethod
    def of(cls, columns: Mapping[str, FloatArray], w: FloatArray) -> Self:
        """Sort and pool the sizes of these rows, column by column."""
        return cls._joined(tuple(columns), w.size, [_pooled(sizes, w) for sizes in columns.values()])

    @classmethod
    def zero(cls) -> Self:
        """Return the sizes of no rows, of no names."""
        return cls._joined((), 0, [])

    def merged(self, other: Self) -> Self:
        """Merge column by column."""
        if not self.rows or not other.rows:
            return other if not self.rows else self
        if self.names != other.names:
            raise SummaryError(f"sizes of {self.names} do not merge with sizes of {other.names}")
        pairs = zip(self.columns, other.columns, strict=True)
        pooled = [_pooled(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])) for a, b in pairs]
        return self._joined(self.names, self.rows + other.rows, pooled)

    @property
    def grows(self) -> bool:
        """Whether it takes more room the more rows it is of."""
        return True

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows

    @property
    def columns(self) -> list[tuple[FloatArray, FloatArray]]:
        """SizeWeights and weights of each column."""
        cuts = self.ends[:-1]
        return list(zip(np.split(self.size, cuts), np.split(self.weight, cuts), strict=True)) if self.names else []

    def median_of(self, name: str) -> float:
        """Return the size with half of the weight on either side, the mean of two where the weights split evenly."""
        if name not in self.names:
            raise SummaryError(f"these sizes are of {', '.join(self.names) or 'nothing'}, not of {name}")
        size, weight = self.columns[self.names.index(name)]
        below = np.cumsum(weight)
        half, slack = below[-1] / 2, ROUNDING * below[-1]
        low = size[np.searchsorted(below, half - slack, side="left")]
        high = size[np.searchsorted(below, half + slack, side="right")]
        return float(low / 2 + high / 2)  # one or both may be infinite, and their sum may be too large

    @classmethod
    def _joined(cls, names: tuple[str, ...], rows: int, columns: list[tuple[FloatArray, FloatArray]]) -> Self:
        size, weight = ([column[side] for column in columns] for side in (0, 1))
        ends = np.cumsum([len(column) for column in size], dtype=np.int64)
        return cls(names, rows, np.concatenate([np.zeros(0), *size]), np.concatenate([np.zeros(0), *weight]), ends)


def _pooled(sizes: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different sizes, ascending, and the weight of each."""
    if is_unit(w):
        ordered = np.sort(sizes)
        starts = _starts(ordered)
        return ordered[starts], np.diff(np.append(starts, ordered.size)).astype(np.float64)
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    starts = _starts(ordered)
    return ordered[starts], np.add.reduceat(w[order], starts)


def _starts(ordered: FloatArray) -> NDArray[np.intp]:
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


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
