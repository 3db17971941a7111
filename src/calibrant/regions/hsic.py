"""Dependence between the size of a prediction and whether it covers: HSIC, and its permutation test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import expm1, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.null import RedrawOptions, reaches
from calibrant.core.pool import CountArray
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import as_number, generator
from calibrant.inputs.sets import Sets
from calibrant.kernels.line_sum import line_sum
from calibrant.progress import steps
from calibrant.regions.hits import check_one_level
from calibrant.regions.sizes import SizeColumns, Sizes, sizes_of

MAX_PERMUTED_ROWS = 1 << 22  # in memory at once
MIN_ROWS_PER_SIZE = 8  # from which counts are drawn instead of rows

LineKernel = Literal["gaussian", "exponential"]


@public
def coverage_hsic(
    y: Outcomes,
    prediction: Intervals | Sets | None = None,
    *,
    scale: float | None = None,
    coverage_scale: float = 1.0,
    kernel: LineKernel = "gaussian",
    root: bool = False,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
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
        As in `coverage`, which also returns a number or one for each level: `Intervals` or `Sets`.
    scale
        The whole denominator in the kernel of widths, neither σ² nor 2σ². None: 2m², with m the median of the
        differences :math:`|x_i - x_j|` of all pairs of finite widths (of the positive ones if that is 0), which
        makes the value independent of units; m for the exponential kernel.
    coverage_scale
        The denominator in the kernel of coverage.
    kernel
        "gaussian", or "exponential" for :math:`\exp(-|x_i - x_j|/\text{scale})`.
    root
        Return the square root, as MAPIE's `hsic` does.

    Examples
    --------
    Widths 1 and 2, the first covers and the second does not: :math:`\tilde c = (1/2, -1/2)`, and the value is
    2 (1 - 1/e) (1/4 + 1/4 - 1/2 · 1/e) = (1 - 1/e)².

    >>> from calibrant import Intervals
    >>> round(coverage_hsic([0.5, 3.0], Intervals([0.0, 0.0], [1.0, 2.0], 0.9), scale=1.0), 6)
    0.399576
    """
    options = CoverageHsicOptions(scale, coverage_scale, kernel, root)
    return COVERAGE_HSIC(y, prediction, options, weights=weights, classes=classes)


@dataclass(frozen=True)
class CoverageHsicOptions:
    scale: float | None
    coverage_scale: float
    kernel: LineKernel
    root: bool

    def __post_init__(self) -> None:
        if self.scale is not None and not 0 < as_number(self.scale) < np.inf:
            raise InputError(
                f"scale must be a number above 0, or None for the median of the differences; got {shown(self.scale)}"
            )
        if not 0 < as_number(self.coverage_scale) < np.inf:
            raise InputError(f"coverage_scale must be a number above 0; got {shown(self.coverage_scale)}")


def _hsic(sizes: Sizes, options: CoverageHsicOptions) -> float | FloatArray:
    _check_rows("coverage_hsic", sizes)
    values = []
    for k in range(sizes.L):
        table = sizes.tied(k)
        W = table.weight.sum()
        e = table.hit_weight - table.weight * (table.hit_weight.sum() / W)
        Q = _quadratic_form(table, options.scale, options.kernel)(e)
        n = sizes.n
        value = _factor(options.coverage_scale) * float(Q) / W**2 * (n / (n - 1)) ** 2
        values.append(sqrt(value) if options.root else float(value))
    return sizes.per_level(values)


def _check_rows(verb: str, sizes: Sizes) -> None:
    if sizes.n < 2:
        raise NotApplicableError(f"{verb} compares rows; got one row, at least two are needed")


COVERAGE_HSIC = enter(
    Entry(
        coverage_hsic,
        CoverageHsicOptions,
        sizes_of,
        _hsic,
        reads=(Sizes,),
        predictions=("intervals", "sets"),
        range=(0.0, 2.0),
    )
)


@public
def coverage_hsic_test(
    y: Outcomes,
    prediction: Intervals | Sets | None = None,
    *,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
) -> TestResult:
    """Test whether coverage depends on the width of the interval or the size of the set, by permuting the hits.

    The statistic is `coverage_hsic` with its default kernel. Under independence every assignment of the hits to the
    rows is equally likely.

    Parameters
    ----------
    y, prediction, classes
        As in `coverage`: `Intervals` or `Sets`, with one level.
    weights
        Refused unless all are equal: permuted rows must be exchangeable.
    resamples, rng
        Number of permutations; Generator or seed.

    Returns
    -------
    TestResult
        `statistic` is HSIC, `estimate` the coverage.

    Examples
    --------
    Two narrow intervals that miss and two wide ones that cover: 2 of the 6 assignments are as extreme.

    >>> from calibrant import Intervals
    >>> found = coverage_hsic_test([2.0] * 4, Intervals([0.0] * 4, [1.0, 1.0, 4.0, 4.0], 0.9), resamples=2999)
    >>> round(found.pvalue, 1), found.estimate
    (0.3, 0.5)
    """
    return COVERAGE_HSIC_TEST(y, prediction, RedrawOptions(resamples, rng), weights=weights, classes=classes)


def _permutation_test(sizes: Sizes, options: RedrawOptions) -> TestResult:
    _check_rows("coverage_hsic_test", sizes)
    check_one_level("coverage_hsic_test", sizes.L)
    B = options.resamples
    T, replicates = hsic_permutations(sizes, 0, resamples=B, rng=options.rng)
    pvalue, estimate = permutation_pvalue(replicates, T), int(sizes.parts[0].events.sum()) / sizes.n
    words = f"dependence of coverage on size (HSIC); {B} permutations of the hits"
    details = {"level": float(sizes.levels[0])} if sizes.levels.size else {}
    return TestResult(T, pvalue, estimate, words, sizes.n, details)


COVERAGE_HSIC_TEST = enter(
    Entry(
        coverage_hsic_test,
        RedrawOptions,
        sizes_of,
        _permutation_test,
        reads=(Sizes,),
        kind="test",
        predictions=("intervals", "sets"),
    )
)


def permutation_pvalue(replicates: FloatArray, T: float) -> float:
    return (1 + int(np.count_nonzero(reaches(replicates, T)))) / (replicates.size + 1)


def hsic_permutations(sizes: Sizes, k: int, *, resamples: int, rng: Rng) -> tuple[float, FloatArray]:
    """Return HSIC at level number k, and its values after permuting which rows are covered, widths and scale kept.

    Under independence of width and coverage all of them have the same distribution. Unequal weights are refused:
    permuted rows must be exchangeable.
    """
    B, generated = resamples, generator(rng)
    if not sizes.parts[k].has_equal_weights:
        raise NotApplicableError(
            "permuted rows must be exchangeable, and rows of unequal weight are not; leave weights out"
        )
    table = sizes.tied(k)
    quadratic = _quadratic_form(table, None, "gaussian")
    n, H = sizes.n, int(table.hits.sum())
    scale = _factor(1.0) / (n - 1) ** 2

    def value(hits: NDArray[Any]) -> FloatArray:
        return np.asarray(scale * quadratic(hits - table.rows * (H / n)))

    replicates = np.empty(B)
    for start, stop in steps(B, size=max(1, MAX_PERMUTED_ROWS // n), label="permuting covered rows"):
        replicates[start:stop] = value(_permuted(table.rows, H, stop - start, generated))
    return float(value(table.hits[None, :])[0]), replicates


def _permuted(count: NDArray[np.int64], hits: int, B: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return how many rows of each size are covered if the covered ones are drawn without replacement, (B, sizes)."""
    n = int(count.sum())
    if n >= MIN_ROWS_PER_SIZE * count.size:
        return rng.multivariate_hypergeometric(count, hits, size=B, method="marginals")
    covered = rng.permuted(np.broadcast_to(np.arange(n) < hits, (B, n)), axis=1)
    return np.asarray(np.add.reduceat(covered, np.cumsum(count) - count, axis=1, dtype=np.int64))


def _quadratic_form(table: SizeColumns, scale: float | None, kernel: LineKernel) -> Callable[[NDArray[Any]], Any]:
    """Return the function e -> Σ_ij e_i e_j K_ij >= 0, e of shape (sizes,) or (B, sizes), infinite sizes last."""
    m = int(np.searchsorted(table.size, np.inf))
    x = table.size[:m]
    if scale is None:
        lengthscale = pair_median(x, table.rows[:m]) or 1.0  # with one size any scale will do
    else:
        lengthscale = sqrt(scale) / sqrt(2) if kernel == "gaussian" else float(scale)

    def value(e: NDArray[Any]) -> Any:
        if table.size.size == 1:
            return np.zeros(e.shape[:-1])
        infinite = e[..., m:].sum(axis=-1)
        return np.maximum(line_sum(x, e[..., :m], kernel, lengthscale) + infinite * infinite, 0.0)

    return value


def _factor(coverage_scale: float) -> float:
    return -2 * expm1(-1 / coverage_scale)


MAX_SORTED_PAIRS = 1 << 12  # of few rows; of many rows twice their number


def pair_median(x: FloatArray, count: CountArray) -> float | None:
    """Return the median of |x_i - x_j| over all pairs of rows; if it is 0, the median of the positive differences.

    `x` are different finite values in ascending order, `count` says how many rows have each. With an even number of
    differences it is the mean of the two in the middle; None if no two values differ.

    For one row the differences ascend with the other row, so one search per row counts those up to a value. The range
    of values that contains the middle is halved until the pairs in it are few enough to be sorted: O(n log² n).

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
    low, high = (pairs - 1) // 2, pairs // 2  # ranks of the one or two values in the middle, from 0 on
    if high < tied:  # the median is 0
        low, high = tied + (pairs - tied - 1) // 2, tied + (pairs - tied) // 2
    first, second = _at_ranks(x, count, max(low - tied, 0), high - tied)
    first = first if low >= tied else 0.0
    return first + (second - first) / 2


def _at_ranks(x: FloatArray, count: CountArray, low: int, high: int) -> tuple[float, float]:
    """Return the differences x_j - x_i > 0 of these ranks from 0 on, low <= high <= low + 1."""
    rows_before = np.append(0, np.cumsum(count))
    begin, end = np.arange(1, x.size + 1), np.full(x.size, x.size)  # for each i the j with least < x_j - x_i <= most
    least, most = float(np.nextafter(np.diff(x).min(), 0.0)), float(_difference(x[-1], x[0]))
    below = 0  # pairs with a difference of at most least
    while int((end - begin).sum()) > max(MAX_SORTED_PAIRS, 2 * x.size):
        if np.nextafter(least, np.inf) >= most:
            return most, most
        t = _halfway(least, most)
        j = _first_above(x, t)
        up_to = int((count * (rows_before[j] - rows_before[1:])).sum())
        if up_to <= low:
            begin, least, below = j, t, up_to
        elif up_to > high:
            end, most = j, t
        else:  # one rank on each side
            inside, outside = j > np.arange(1, j.size + 1), j < j.size
            return float((x[j[inside] - 1] - x[inside]).max()), float((x[j[outside]] - x[outside]).min())
    i = np.repeat(np.arange(x.size), end - begin)
    j = np.arange(i.size) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin) + begin[i]
    d = _difference(x[j], x[i])
    order = np.argsort(d)
    place = np.searchsorted(np.cumsum((count[i] * count[j])[order]), [low - below, high - below], side="right")
    return float(d[order[place[0]]]), float(d[order[place[1]]])


def _first_above(x: FloatArray, t: float) -> NDArray[np.intp]:
    """Return for each i the first j whose difference, as float64 has it, is above t."""
    with np.errstate(over="ignore"):
        j = np.searchsorted(x, x + t, side="right")
    while True:  # x_i + t is rounded, and may be a value or two off
        short = np.flatnonzero((j < x.size) & (_difference(x[np.minimum(j, x.size - 1)], x) <= t))
        far = np.flatnonzero(_difference(x[j - 1], x) > t)
        if not short.size and not far.size:
            return j
        j[short] += 1
        j[far] -= 1


def _difference(a: Any, b: Any) -> Any:
    with np.errstate(over="ignore"):
        return a - b


def _halfway(least: float, most: float) -> float:
    bits = np.array([least, most]).view(np.int64)
    return float((bits[:1] + (bits[1:] - bits[:1]) // 2).view(np.float64)[0])
