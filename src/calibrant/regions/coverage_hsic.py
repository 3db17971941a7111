"""Dependence between the size of a prediction and whether it covers."""

from __future__ import annotations

from math import expm1, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.decorators import metric
from calibrant.core.kinds import AnyRows
from calibrant.core.pool import CountArray
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import as_number, check_choice, check_count, generator
from calibrant.kernels.line_sum import line_sum
from calibrant.progress import steps
from calibrant.regions.sizes import SizeColumns, Sizes

LEAST_SAMPLE, LARGEST_SAMPLE = 1 << 11, 1 << 15  # pairs looked at in one round
MARGIN = 2.5  # of the sampled quantiles, in standard deviations: a bracket that misses costs one more round
FEW = 1 << 12  # pairs that are sorted at once


def pair_median(x: FloatArray, count: CountArray) -> float | None:
    """Return the median of |x_i - x_j| over all pairs of rows; if it is 0, the median of the positive differences.

    Parameters
    ----------
    x
        Different finite values in ascending order.
    count
        How many rows have each.

    Returns
    -------
    float or None
        With an even number of differences the mean of the two in the middle; None if no two values differ.

    Notes
    -----
    Differences of one row ascend with the other one, so that those up to a value are counted by one search per row.
    The middle is bracketed between quantiles of sampled pairs, checked by counting; a few rounds leave so few pairs
    that they can be sorted. The sample decides how long it takes, never the result: O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> pair_median(np.array([1.0, 2.0, 4.0]), np.array([1, 1, 1]))  # 1, 2, 3
    2.0
    >>> pair_median(np.array([1.0, 3.0, 6.0]), np.array([6, 1, 1]))  # 15 zeros, six 2, one 3, six 5
    3.0
    """
    if x.size < 2:
        return None
    n = int(count.sum())
    tied = int((count * (count - 1) // 2).sum())
    pairs = n * (n - 1) // 2
    low, high = _middle(pairs)
    if high < tied:  # the median is 0
        low, high = (rank + tied for rank in _middle(pairs - tied))
    first, second = _Pairs(x, count).at_ranks(max(low - tied, 0), high - tied)
    first = first if low >= tied else 0.0
    return first + (second - first) / 2


def _middle(total: int) -> tuple[int, int]:
    """Return the ranks of the one or two values in the middle, from 0 on."""
    return (total - 1) // 2, total // 2


class _Pairs:
    """Pairs i < j of different values, each as often as rows make it, whose differences lie in (least, most].

    `begin` and `end` limit j for each i, and `below` pairs have a difference of at most `least`.
    """

    def __init__(self, x: FloatArray, count: CountArray) -> None:
        self.x, self.count = x, count
        self.sample = min(max(x.size, LEAST_SAMPLE), LARGEST_SAMPLE)
        self.before = np.concatenate([[0], np.cumsum(count)])  # rows
        self.begin, self.end = np.arange(1, x.size + 1), np.full(x.size, x.size)
        self.least, self.most, self.below = 0.0, _difference(x[-1], x[0]), 0

    def at_ranks(self, low: int, high: int) -> tuple[float, float]:
        """Return the differences of these ranks from 0 on, low <= high <= low + 1."""
        rng, before = np.random.default_rng(0), 0
        while (many := int((self.end - self.begin).sum())) > max(FEW, 2 * self.x.size):
            if np.nextafter(self.least, np.inf) >= self.most:
                return self.most, self.most
            quick = not before or 2 * many < before  # else many differences are equal: halve the range of values
            pivots = self.sampled(low, high, rng) if quick else (_halfway(self.least, self.most),)
            before = many
            for t in pivots:
                if self.least < t < self.most and (split := self.cut(t, low, high)):
                    return split
        d, rows = self.listed()
        place = np.searchsorted(np.cumsum(rows), [low - self.below, high - self.below], side="right")
        return float(d[place[0]]), float(d[place[1]])

    def ends(self, t: float) -> NDArray[np.intp]:
        """Return for each i the first j whose difference, as float64 has it, is above t."""
        x = self.x
        with np.errstate(over="ignore"):
            j = np.searchsorted(x, x + t, side="right")
        while True:  # x_i + t is rounded, and may be a value or two off
            short = np.flatnonzero((j < x.size) & (_difference(x[np.minimum(j, x.size - 1)], x) <= t))
            far = np.flatnonzero(_difference(x[j - 1], x) > t)
            if not short.size and not far.size:
                return j
            j[short] += 1
            j[far] -= 1

    def cut(self, t: float, low: int, high: int) -> tuple[float, float] | None:
        """Keep the side of t that holds both ranks; if each side holds one, return their differences."""
        j = self.ends(t)
        below = int((self.count * (self.before[j] - self.before[1:])).sum())
        if below <= low:
            self.begin, self.least, self.below = j, t, below
            return None
        if below > high:
            self.end, self.most = j, t
            return None
        inside, outside = j > np.arange(1, j.size + 1), j < j.size
        last, first = self.x[j[inside] - 1], self.x[j[outside]]
        return float((last - self.x[inside]).max()), float((first - self.x[outside]).min())

    def sampled(self, low: int, high: int, rng: np.random.Generator) -> tuple[float, float]:
        """Return differences of sampled pairs that stand a little below and above the ranks."""
        ends = np.cumsum(self.count * (self.before[self.end] - self.before[self.begin]))
        step = float(ends[-1]) / self.sample
        places = (np.arange(self.sample) + rng.random(self.sample)) * step
        pair = np.minimum(places.astype(np.int64), ends[-1] - 1)
        i = np.searchsorted(ends, pair, side="right")
        row = self.before[self.begin[i]] + (ends[i] - 1 - pair) // self.count[i]
        d = np.sort(_difference(self.x[np.searchsorted(self.before, row, side="right") - 1], self.x[i]))
        margin = MARGIN * self.sample**0.5 / 2
        around = (low - self.below) / step - margin, (high - self.below) / step + margin
        first, last = (float(d[min(max(int(place), 0), d.size - 1)]) for place in around)
        return float(np.nextafter(first, 0.0)), last

    def listed(self) -> tuple[FloatArray, CountArray]:
        """Return the differences in ascending order, and how many pairs of rows have each."""
        many = self.end - self.begin
        i = np.repeat(np.arange(many.size), many)
        j = np.arange(i.size) - np.repeat(np.cumsum(many) - many, many) + self.begin[i]
        d = _difference(self.x[j], self.x[i])
        order = np.argsort(d)
        return d[order], (self.count[i] * self.count[j])[order]


def _difference(a: Any, b: Any) -> Any:
    """Return a - b; beyond the range of float64 it is infinite."""
    with np.errstate(over="ignore"):
        return a - b


def _halfway(least: float, most: float) -> float:
    """Return the float64 in the middle of all between two that are at least 0."""
    bits = np.array([least, most]).view(np.int64)
    return float((bits[:1] + (bits[1:] - bits[:1]) // 2).view(np.float64)[0])


MOST_NUMBERS = 1 << 22  # of permuted rows held at once
MANY_TIES = 8  # rows per size from which counts are drawn instead of rows

Kernel = Literal["gaussian", "exponential"]


def _summarise(rows: AnyRows, **_: Any) -> Sizes:
    return Sizes.of(rows)  # type: ignore[arg-type]  # it judges intervals and sets alone


@metric(reads=(Sizes,), summarise=_summarise, predictions=("intervals", "sets"), range=(0.0, 2.0))
def coverage_hsic(
    sizes: Sizes,
    *,
    scale: float | None = None,
    coverage_scale: float = 1.0,
    kernel: Kernel = "gaussian",
    root: bool = False,
) -> float | FloatArray:
    r"""Hilbert-Schmidt independence criterion between width, or set size, and coverage.

    With the width x and the indicator c of coverage of each row, :math:`K_{ij} = \exp(-(x_i - x_j)^2/\text{scale})`,
    :math:`L_{ij} = \exp(-(c_i - c_j)^2/\text{coverage\_scale})` and :math:`H = I - 11'/n`,

    .. math:: \mathrm{HSIC} = \frac{\mathrm{tr}(KHLH)}{(n-1)^2}
       = 2 \bigl(1 - e^{-1/\text{coverage\_scale}}\bigr) \frac{\tilde c' K \tilde c}{(n-1)^2},
       \qquad \tilde c = c - \bar c,

    the second form because c has two values only.

    Parameters
    ----------
    y, prediction, weights, classes
        As in `coverage`: `Intervals` or `Sets`.
    scale
        The whole denominator in the kernel of widths, neither σ² nor 2σ². None: 2m², with m the median of the
        differences :math:`|x_i - x_j|` of all pairs of finite widths (of the positive ones if that is 0), so that the
        value does not depend on units; m for the exponential kernel.
    coverage_scale
        The denominator in the kernel of coverage.
    kernel
        "gaussian", or "exponential" for :math:`\exp(-|x_i - x_j|/\text{scale})`.
    root
        Return the square root, as MAPIE's `hsic` does.

    Returns
    -------
    float or ndarray
        A number for one level, an array in the order of the levels for several.

    Notes
    -----
    0 says that coverage does not change with the width, as far as these rows tell: exactly 0 if all rows are covered,
    none is, or all widths are equal. It is above 0 for independent ones too, of the order of 1/n: the p-value is
    ``coverage_test(..., method="hsic")``. Widths that differ by rounding are one width; infinite widths have kernel 1
    among themselves and 0 with finite ones. With weights :math:`\tilde c` is about the weighted mean, and the value
    :math:`\sum_{ij} w_i w_j \tilde c_i \tilde c_j K_{ij}/W^2 \cdot (n/(n-1))^2` times the factor above. Exact in
    O(n log n) time and O(n) memory: no n × n matrix is formed.

    References
    ----------
    Gretton, Bousquet, Smola and Schölkopf (2005), Measuring statistical dependence with Hilbert-Schmidt norms;
    Feldman, Bates and Romano (2021), Improving conditional coverage via orthogonal quantile regression.

    Examples
    --------
    Widths 1 and 2, the first covers and the second does not: :math:`\tilde c = (1/2, -1/2)`, and the value is
    2 (1 - 1/e) (1/4 + 1/4 - 1/2 · 1/e) = (1 - 1/e)².

    >>> from calibrant import Intervals
    >>> round(coverage_hsic([0.5, 3.0], Intervals([0.0, 0.0], [1.0, 2.0], 0.9), scale=1.0), 6)
    0.399576
    """
    _checked(scale, "scale", optional=True)
    _checked(coverage_scale, "coverage_scale")
    check_choice("kernel", kernel, "gaussian", "exponential")
    check_choice("root", root, False, True)
    _refuse_single_row(sizes.n)
    values = []
    for k in range(sizes.L):
        table = sizes.tied(k)
        W = table.weight.sum()
        e = table.hit_weight - table.weight * (table.hit_weight.sum() / W)
        Q = _Line.of(table, scale, kernel).sum(e)
        n = sizes.n
        value = _factor(coverage_scale) * float(Q) / W**2 * (n / (n - 1)) ** 2
        values.append(sqrt(value) if root else float(value))
    return sizes.per_level(values)


def hsic_permutations(sizes: Sizes, k: int, *, resamples: int, rng: Any) -> tuple[float, FloatArray]:
    """Return HSIC at level number k, and its values after permuting which rows are covered, widths and scale kept.

    Under independence of width and coverage all of them have one law. Unequal weights are refused: a permutation takes
    rows as alike.
    """
    B, chance = check_count("resamples", resamples), generator(rng)
    if not sizes.parts[k].has_equal_weights:
        raise NotApplicableError("permutations of rows take all rows as alike; leave out weights")
    _refuse_single_row(sizes.n)
    table = sizes.tied(k)
    line = _Line.of(table, None, "gaussian")
    n, H = sizes.n, int(table.hits.sum())
    scale = _factor(1.0) / (n - 1) ** 2

    def value(hits: NDArray[Any]) -> FloatArray:
        return np.asarray(scale * line.sum(hits - table.rows * (H / n)))

    replicates = np.empty(B)
    for start, stop in steps(B, size=max(1, MOST_NUMBERS // n), label="permuting covered rows"):
        replicates[start:stop] = value(_permuted(table.rows, H, stop - start, chance))
    return float(value(table.hits[None, :])[0]), replicates


def _permuted(count: NDArray[np.int64], hits: int, B: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return how many rows of each size are covered if the covered ones are drawn without replacement, (B, sizes)."""
    n = int(count.sum())
    if n >= MANY_TIES * count.size:
        return rng.multivariate_hypergeometric(count, hits, size=B, method="marginals")
    covered = rng.permuted(np.broadcast_to(np.arange(n) < hits, (B, n)), axis=1)
    if count.size == n:
        return covered
    return np.asarray(np.add.reduceat(covered, np.cumsum(count) - count, axis=1, dtype=np.int64))


class _Line(NamedTuple):
    """Finite sizes in ascending order on a line with a kernel; infinite ones, if any, come last."""

    x: FloatArray  # finite
    kernel: Kernel
    lengthscale: float
    constant: bool  # there is one size only

    @classmethod
    def of(cls, table: SizeColumns, scale: float | None, kernel: Kernel) -> _Line:
        """Choose the scale if none is given."""
        finite = int(np.searchsorted(table.size, np.inf))
        x = table.size[:finite]
        if scale is None:
            lengthscale = pair_median(x, table.rows[:finite]) or 1.0  # of one size any scale will do
        else:
            lengthscale = sqrt(scale) / sqrt(2) if kernel == "gaussian" else float(scale)
        return cls(x, kernel, lengthscale, table.size.size == 1)

    def sum(self, e: NDArray[Any]) -> Any:
        """Return Σ_ij e_i e_j K_ij, e of shape (sizes,) or (B, sizes): at least 0, and 0 if there is one size."""
        if self.constant:
            return np.zeros(e.shape[:-1])
        m = self.x.size
        infinite = e[..., m:].sum(axis=-1)
        Q = line_sum(self.x, e[..., :m], self.kernel, self.lengthscale) + infinite * infinite
        return np.maximum(Q, 0.0)


def _factor(coverage_scale: float) -> float:
    return -2 * expm1(-1 / coverage_scale)


def _refuse_single_row(n: int) -> None:
    if n < 2:
        raise NotApplicableError("coverage_hsic compares rows; got one row, at least two are needed")


def _checked(value: Any, name: str, *, optional: bool = False) -> None:
    if optional and value is None:
        return
    if not 0 < as_number(value) < np.inf:
        default = ", or None for the median of the differences" if optional else ""
        raise InputError(f"{name} must be a number above 0{default}; got {shown(value)}")
