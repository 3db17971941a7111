"""Squared kernel calibration error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.bins import width_edges
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.kept_rows import KeptRows
from calibrant.core.limits import Limits, Noise
from calibrant.core.ordered import Ordered, TwoColumns
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import pair_weight
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import RegionRows
from calibrant.inputs.samples import Samples
from calibrant.inputs.sets import Sets
from calibrant.kernel_errors.blocks import Blocks, outcome_variance
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, binary_factor, form_of, resolved
from calibrant.kernel_errors.norm_limits import NormNoise
from calibrant.kernel_errors.sums import kernel_sum
from calibrant.kernels.composed import check_kernel_option, probability_kernel
from calibrant.kernels.kernel import Delta, JointKernel, Kernel, Product
from calibrant.kernels.kernel_rows import CoverageRows, KernelRows, canonical_order
from calibrant.kernels.median import median_rows
from calibrant.kernels.pair_sums import pair_sum

JUDGED_KINDS = ("binary", "classes", "distributions", "samples", "intervals", "sets", "quantiles")
BIASED_DRAWS = 4  # draws per row that the biased estimate needs at least
MIN_PAIR_SHARE = 1e-8  # of (Σw)²: pairs of less weight drown in rounding

Predictions = ArrayLike | Distribution | Intervals | Sets | Quantiles
BlockSize = int | Callable[[int], int] | None


@public
def skce(
    y: Outcomes,
    prediction: Predictions | None = None,
    *,
    kernel: AnyKernel = None,
    unbiased: bool = True,
    blocksize: BlockSize = None,
    shuffle: bool = False,
    draws: int | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Squared kernel calibration error: miscalibration of the whole prediction, without bins.

    For a kernel k on pairs (prediction, outcome), with Z drawn from p and Z' from p', independently,

    .. math::

        h\bigl((p, y), (p', y')\bigr) = k\bigl((p,y),(p',y')\bigr) - E\,k\bigl((p,Z),(p',y')\bigr)
        - E\,k\bigl((p,y),(p',Z')\bigr) + E\,k\bigl((p,Z),(p',Z')\bigr)

    has mean 0 over pairs of rows for every kernel if the predictions are calibrated, and a positive mean if they are
    not and the kernel is characteristic (Widmann, Lindsten and Zachariah 2019, 2021). The estimate is the mean of h:

    .. math::

        \text{unbiased} = \frac{2}{n(n-1)} \sum_{i<j} h_{ij}, \qquad \text{biased} = \frac{1}{n^2} \sum_{i,j} h_{ij} .

    Parameters
    ----------
    y
        Outcomes: labels for probabilities as in `ece`, numbers (n,) or (n, D) for predictive distributions; or the
        summary made by `summarize`.
    prediction
        P(y = 1) as a 1-D array, class probabilities (n, K), or a predictive distribution: `Normal`, `Laplace`,
        `MvNormal`, `Mixture`, `Samples`, `ScipyDistribution`, or a subclass of `Distribution`. `Intervals`, `Sets` and
        `Quantiles` carry no distribution. They are judged by their coverage given the prediction: h = 2 k(p, p') e e'
        with e = 1 - level for a hit and -level for a miss, averaged over levels, and k on the bounds, the size or the
        value.
    kernel
        A kernel on predictions times one on targets, such as ``Exponential(0.2) * Delta()``; one on predictions alone
        is multiplied by the default on targets. Default: for probabilities ``Exponential("median", "tv") * Delta()``;
        for distributions ``Exponential("median") * Gaussian("median")`` (`Laplace`: ``Exponential("median")`` on
        targets), with the 2-Wasserstein distance in one dimension, and the embedding distance for mixtures and in
        several dimensions.
    unbiased
        Whether the pairs of a row with itself are left out. The unbiased value may be negative.
    blocksize
        None for all pairs; m for the mean over blocks of m consecutive rows, in time O(nm); a function of n, such as
        ``lambda n: max(2, int(n**0.5))``. Rows after the last full block are not used.
    shuffle
        With blocks: permute the rows first. Rows that are sorted by score or outcome must be permuted.
    draws
        Number of draws for distributions and kernels without a closed form.
    rng
        A Generator or a whole number: for draws, for the permutation, and for the 4,096 rows whose distances give the
        ``"median"`` length scale of larger data.
    weights
        Importance weights: the sums of w w' h over (Σw)² - Σw² (unbiased) or (Σw)².
    classes, pos_label
        As in `ece`.

    Examples
    --------
    Two certain and wrong predictions, 1 apart: their kernel is exp(-1), and h = 2 · (-1) · 1 · exp(-1).

    >>> from calibrant.kernels import Exponential
    >>> skce([0, 1], [1.0, 0.0], kernel=Exponential(1.0))
    -0.7357588823428847

    Normal predictions that are right on average but ten times too wide:

    >>> from calibrant import Normal
    >>> from calibrant.kernels import Gaussian
    >>> y = [-0.1, 0.0, 0.1, -0.05, 0.05]
    >>> round(skce(y, Normal([0.0] * 5, 1.0), kernel=Exponential(1.0) * Gaussian(1.0)), 4)
    0.1587
    """
    options = SkceOptions(kernel, unbiased, blocksize, shuffle, draws, rng)
    return SKCE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class SkceOptions:
    kernel: AnyKernel
    unbiased: bool
    blocksize: BlockSize
    shuffle: bool
    draws: int | None
    rng: Rng

    def __post_init__(self) -> None:
        check_kernel_option(self.kernel)
        if self.draws is not None:
            check_count("draws", self.draws, least=2)
        if self.blocksize is not None and not callable(self.blocksize):
            read_blocksize(self.blocksize, 0, unbiased=self.unbiased)
        generator(self.rng)

    @property
    def randomness(self) -> Randomness:
        return Randomness(self.draws, generator(self.rng))


def summarise(rows: KernelRows, options: SkceOptions) -> Summary:
    """Sort one probability per row, sum blocks, or keep the rows."""
    if isinstance(rows, RegionRows):
        CoverageRows.of(rows)  # refuses infinite bounds
    elif not options.unbiased and isinstance(rows.prediction, Samples) and rows.prediction.M < BIASED_DRAWS:
        raise InputError(f"unbiased=False needs at least {BIASED_DRAWS} draws per row; got {rows.prediction.M}")
    if options.blocksize is not None:
        random = options.randomness
        m = read_blocksize(options.blocksize, rows.n, unbiased=options.unbiased)
        if options.shuffle:
            rows = rows.take(random.rng.permutation(rows.n))
        return Blocks.of(rows, resolved(rows, options.kernel, random), m, options.unbiased, random)
    if isinstance(rows, Binary) and not isinstance(options.kernel, JointKernel):
        return Ordered.of(rows)
    if isinstance(rows, Classes) and not isinstance(options.kernel, JointKernel):
        product = probability_kernel(options.kernel, rows.K)
        if rows.K == 2 and product.prediction.distance == "tv":
            return TwoColumns.of(rows.one_vs_rest(1))  # the total variation distance of (1 - p, p) is |p - p'|
    return KeptRows.of(rows)


def read_blocksize(blocksize: Any, n: int, *, unbiased: bool) -> int:
    """Return the number of rows of a block, which may exceed n: a batch of a stream can be smaller than a block."""
    try:
        m = blocksize(n) if callable(blocksize) else blocksize
    except TypeError as problem:
        raise InputError(
            "blocksize must be a whole number or a function of the number of rows, such as lambda n: n // 100; "
            f"{shown(blocksize)} of {n} rows failed: {problem}"
        ) from problem
    return check_count("blocksize", m, least=2 if unbiased else 1)


def _finish(summary: Ordered | KeptRows | Blocks, options: SkceOptions) -> float:
    check_made_with(summary, options.kernel, options.unbiased, options.blocksize)
    check_distance(summary, options.kernel)
    return estimate(summary, options.kernel, options.unbiased, options.randomness)


def estimate(summary: Ordered | KeptRows | Blocks, kernel: AnyKernel, unbiased: bool, random: Randomness) -> float:
    """Return the mean of h over all pairs of rows, or over the pairs within blocks."""
    if isinstance(summary, Blocks):
        check_full_block(summary)
        return summary.estimate
    if unbiased and summary.n < 2:
        raise InputError("the unbiased estimator needs at least 2 rows; got 1; unbiased=False works with one row")
    if isinstance(summary, Ordered):
        sums = line_sums(summary, *line_kernel(summary, kernel, random))
        w, pairs = summary.total_weight, pair_weight(summary.weight, summary.count)
    else:
        rows = summary.rows
        rows = rows.take(canonical_order(rows))  # the rows that give a median length scale do not depend on their order
        form, v = form_of(rows, resolved(rows, kernel, random), random), np.asarray(rows.w)
        sums = Sums(2 * pair_sum(form, rows.w), 0.0 if unbiased else float((v * v * form.diagonal()).sum()))
        w, pairs = float(v.sum()), pair_weight(v)
    if unbiased and pairs < MIN_PAIR_SHARE * w * w:
        raise NotApplicableError("one row carries all the weight, so pairs of rows have none; use unbiased=False")
    value = sums.pairs / pairs if unbiased else (sums.pairs + sums.own) / (w * w)
    if not np.isfinite(value):
        raise InputError("the kernel gave a value that is not a finite number; check its profile and distance")
    return float(value)


def _limits(summary: Ordered | KeptRows | Blocks, options: SkceOptions) -> Limits:
    """Return limits of the squared length of the mean feature of these predictions, a row with itself included."""
    check_made_with(summary, options.kernel, options.unbiased, options.blocksize)
    check_distance(summary, options.kernel)
    if isinstance(summary, Blocks):
        raise NotApplicableError(
            "blocks of rows give a lower bound alone, with interval(skce, ...); leave blocksize out"
        )
    biased = estimate(summary, options.kernel, False, options.randomness)
    found = estimate(summary, options.kernel, True, options.randomness) if options.unbiased else biased
    noise = _line_noise(summary, options) if isinstance(summary, Ordered) else _noise(summary, options)
    noise.check()
    return noise.limits(found, biased)


def _line_noise(summary: Ordered, options: SkceOptions) -> NormNoise:
    """Return the noise of one probability per row: as for `mmce`, one direction may vary as much as all together."""
    table = Noise.of_table(summary.bins(width_edges(1)), summary.weight_max)
    kernel, factor = line_kernel(summary, options.kernel, options.randomness)
    own = factor * kernel.at_zero * table.variance
    return NormNoise(own, own, table.information)


def _noise(summary: KeptRows, options: SkceOptions) -> NormNoise:
    rows = summary.rows
    if rows.kind == "samples" or (rows.kind == "distributions" and options.draws is not None):
        raise NotApplicableError(
            "limits of skce do not allow for the randomness of draws. Instead, interval with blocksize=2 or more gives "
            "a lower bound"
        )
    rows = rows.take(canonical_order(rows))
    form = form_of(rows, resolved(rows, options.kernel, options.randomness), options.randomness)
    w = np.asarray(rows.w, dtype=np.float64)
    information = float((w * w * outcome_variance(rows)).sum()) / float(w.max()) ** 2
    return NormNoise.of_form(form, w, information)


SKCE = enter(
    Entry(
        skce,
        SkceOptions,
        summarise,
        _finish,
        limits=_limits,
        reads=(Ordered, KeptRows, Blocks),
        predictions=JUDGED_KINDS,
    )
)


class Sums(NamedTuple):
    """Σ w_i w_j h_ij over pairs of different rows, and over rows with themselves, if these count."""

    pairs: float
    own: float


def line_kernel(summary: Ordered, kernel: AnyKernel, random: Randomness) -> tuple[Kernel, float]:
    """Return the kernel of one probability per row, its length scale a number, and the factor of the target part."""
    if isinstance(kernel, JointKernel):
        raise InputError("a kernel that is not a product needs the rows themselves; pass y and prediction")
    product = probability_kernel(kernel, 1)
    if "median" in (product.prediction.lengthscale, product.target.lengthscale):
        few = summary.rows_at(median_rows(summary.n, random.rng))
        found = resolved(few, product, random)
        assert isinstance(found, Product)
        product = found
    return product.prediction, binary_factor(product.target)


def line_sums(summary: Ordered, kernel: Kernel, factor: float) -> Sums:
    """Return the sums of w w' h of sorted rows: those of pooled residuals, less each row's own."""
    p, w, rows, events = summary.pool
    total = kernel_sum(p, w * (events - rows * p), kernel)
    own = kernel.at_zero * (w * w * (events * (1 - p) ** 2 + (rows - events) * p**2)).sum()
    return Sums(float(factor * (total - own)), float(factor * own))


def check_made_with(summary: Summary, kernel: AnyKernel, unbiased: bool, blocksize: BlockSize) -> None:
    """Refuse options that contradict those a summary was made with."""
    if not isinstance(summary, Blocks):
        if blocksize is not None:
            raise SummaryError(
                f"this {type(summary).__name__} was made without blocks; got blocksize={blocksize!r}. "
                "Pass blocksize to summarize as well"
            )
        return
    if summary.unbiased != unbiased:
        raise SummaryError(f"these blocks were summed with unbiased={summary.unbiased}; got unbiased={unbiased}")
    if blocksize is not None and (m := read_blocksize(blocksize, summary.n, unbiased=unbiased)) != summary.m:
        raise SummaryError(f"these blocks have {summary.m} rows; got blocksize={m}")
    if kernel is not None and not _matches(kernel, summary.kernel):
        raise SummaryError(f"these blocks were summed with {summary.kernel!r}; got kernel={kernel!r}")


def check_distance(summary: Summary, kernel: AnyKernel) -> None:
    """Refuse a kernel whose distance of two columns differs from the distance of the one that a summary has."""
    if isinstance(kernel, JointKernel) or not isinstance(summary, TwoColumns):
        return
    prediction = kernel.prediction if isinstance(kernel, Product) else kernel
    if prediction is None or prediction.distance in (None, "tv"):
        return
    raise SummaryError(
        f"this {type(summary).__name__} was made of two columns and has one probability per row, whose distances "
        f"agree for distance='tv' alone; got distance={shown(prediction.distance)}. Pass the kernel to summarize as "
        "well"
    )


def _matches(given: Kernel | Product | JointKernel, made: Product | JointKernel) -> bool:
    """Tell whether a kernel can be the one that was resolved: what it leaves open may be anything."""
    if isinstance(given, JointKernel) or isinstance(made, JointKernel):
        return given == made
    if isinstance(given, Kernel):
        return _resolves_to(given, made.prediction)
    return _resolves_to(given.prediction, made.prediction) and _resolves_to(given.target, made.target)


def _resolves_to(given: Kernel, made: Kernel) -> bool:
    if isinstance(given, Delta) or isinstance(made, Delta):
        return type(given) is type(made)
    completed = given
    if given.lengthscale == "median":
        completed = completed.with_lengthscale(made.length)
    if given.distance is None and isinstance(made.distance, str):
        completed = completed.with_distance(made.distance)
    return completed == made


def check_full_block(summary: Blocks) -> None:
    if not summary.blocks:
        raise InputError(
            f"blocksize must be at most the number of rows; got blocksize {summary.m} for {summary.n} rows"
        )
