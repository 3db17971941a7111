"""Squared kernel calibration error."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.decorators import metric
from calibrant.core.ordered import Ordered, TwoColumns
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError, shown
from calibrant.inputs.arrays import pair_weight
from calibrant.inputs.options import MOST, check_choice, check_count, generator
from calibrant.inputs.probabilities import Classes
from calibrant.inputs.rows import DistributionRows, Judged
from calibrant.inputs.samples import Samples
from calibrant.kernel_errors.blocks import Blocks
from calibrant.kernel_errors.fitted import AnyKernel, Chance, binary_factor, form_of, resolved
from calibrant.kernel_errors.sums import kernel_sum
from calibrant.kernels.composed import check_kernel_option, probability_kernel
from calibrant.kernels.coverage_rows import CoverageRows, KernelRows
from calibrant.kernels.kept import Kept, KeptCoverage, KeptDistributions, OneColumn, kept
from calibrant.kernels.kernel import Delta, JointKernel, Kernel, Product
from calibrant.kernels.median import median_rows
from calibrant.kernels.pair_sums import pair_sum
from calibrant.kernels.row_order import canonical_order


def read_blocksize(blocksize: Any, n: int, *, unbiased: bool) -> int:
    """Return the number of rows of a block: a whole number, or what a function of n returns.

    It may exceed n: a batch of a stream can be smaller than a block.
    """
    try:
        m = blocksize(n) if callable(blocksize) else blocksize
    except TypeError as problem:
        raise InputError(f"blocksize must be a function of one number, the number of rows; {problem}") from None
    if isinstance(m, (bool, np.bool_)) or not isinstance(m, Integral):
        came = f"blocksize({n}) returned {shown(m)}" if callable(blocksize) else f"got {shown(m)}"
        raise InputError(
            f"blocksize must be a whole number or a function of n that returns one; {came}. Wrap it in int()"
        )
    m = int(m)
    least = 2 if unbiased else 1
    if m < least:
        which = "the unbiased estimator (unbiased=True)" if unbiased else "the biased estimator (unbiased=False)"
        raise InputError(f"blocksize must be at least {least} for {which}; got {shown(m)}")
    if m > MOST:
        raise InputError(f"blocksize must be at most {MOST:,}; got {shown(m)}")
    return m


BIASED_DRAWS = 4
ALONE = 1e-8  # share of Σ w w' below which rounding drowns the pairs


class Sums(NamedTuple):
    """Σ w_i w_j h_ij over pairs of different rows, and over rows with themselves."""

    pairs: float
    own: float


def summarise(
    rows: KernelRows | Judged,
    *,
    kernel: AnyKernel,
    unbiased: bool,
    blocksize: Any,
    shuffle: bool,
    draws: int | None,
    rng: Any,
    **_: Any,
) -> Summary:
    """Sort one probability per row, sum blocks, or keep the rows."""
    check_options(kernel=kernel, unbiased=unbiased, shuffle=shuffle, draws=draws)
    if isinstance(rows, Judged):
        rows = CoverageRows.of(rows)
    check_rows(rows, unbiased)
    if blocksize is not None:
        chance = Chance(draws, generator(rng))
        m = read_blocksize(blocksize, rows.n, unbiased=unbiased)
        if shuffle:
            rows = rows.take(chance.rng.permutation(rows.n))
        return Blocks.of(rows, resolved(rows, kernel, chance), m, unbiased, chance)
    if isinstance(rows, (DistributionRows, CoverageRows)) or isinstance(kernel, JointKernel):
        return kept(rows)
    if isinstance(rows, Classes):
        product = probability_kernel(kernel, rows.K)
        if rows.K > 2 or product.prediction.distance != "tv":
            return kept(rows)
        return TwoColumns.of(rows.one_vs_rest(1))  # the total variation distance of (1 - p, p) is |p - p'|
    return Ordered.of(rows)


@metric(
    reads=(Ordered, Kept, KeptDistributions, KeptCoverage, Blocks),
    summarise=summarise,
    predictions=("binary", "classes", "distributions", "samples", "intervals", "sets", "quantiles"),
    perfect=0.0,
)
def skce(
    summary: Summary,
    *,
    kernel: AnyKernel = None,
    unbiased: bool = True,
    blocksize: int | Callable[[int], int] | None = None,
    shuffle: bool = False,
    draws: int | None = None,
    rng: Any = 0,
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
        Outcomes: labels for probabilities as in `ece`, numbers (n,) or (n, D) for predictive laws; or the summary made
        by `summarize`.
    prediction
        P(y = 1) as a 1-D array, class probabilities (n, K), or a law: `Normal`, `Laplace`, `MvNormal`, `Mixture`,
        `Samples`, `ScipyDistribution`, or a subclass of `Distribution`. `Intervals`, `Sets` and `Quantiles` carry no
        distribution: judged is coverage given the prediction, h = 2 k(p, p') e e' with e = 1 - level for a hit and
        -level for a miss, in the mean over levels, and k on the bounds, the size or the value.
    kernel
        A kernel on predictions times one on targets, such as ``Exponential(0.2) * Delta()``; one on predictions alone
        is multiplied by the default on targets. Default: for probabilities ``Exponential("median", "tv") * Delta()``;
        for laws ``Exponential("median") * Gaussian("median")`` (`Laplace`: ``Exponential("median")`` on targets), on
        the 2-Wasserstein distance in one dimension and the embedding distance for mixtures and in several dimensions.
    unbiased
        Whether the pairs of a row with itself are left out. The unbiased value may be negative.
    blocksize
        None for all pairs; m for the mean over blocks of m consecutive rows, in time O(nm); a function of n, such as
        ``lambda n: max(2, int(n**0.5))``. Rows after the last full block are not used.
    shuffle
        With blocks: permute the rows first. Rows that are sorted by score or outcome must be permuted.
    draws
        Number of draws for laws and kernels without a closed form.
    rng
        A Generator or a whole number: for draws, for the permutation, and for the 4,096 rows whose distances give the
        ``"median"`` length scale of larger data.
    weights
        Importance weights: the sums of w w' h over (Σw)² - Σw² (unbiased) or (Σw)².
    classes, pos_label
        As in `ece`.

    Returns
    -------
    float

    Notes
    -----
    The size depends on the kernel: values of different kernels or length scales do not compare. Whether a value is
    more than chance is what `skce_test` says. For one probability per row the biased value is 2 · MMCE² with the same
    kernel; it is found exactly in O(n log n). For class vectors and laws the cost is O(n²) time and O(n) memory; use
    blocks beyond about 50,000 rows.

    The draws of `Samples` are split, one half for the kernel on predictions and one for the target part, because the
    same draws in both would make calibrated predictions look miscalibrated. Draws that are shared between rows (one
    parameter draw pushed through all rows) make rows dependent, and the value's chance unknown.

    CalibrationErrors.jl 0.6.4 leaves out pairs of components of mixtures; its values for mixtures differ from these.

    Examples
    --------
    Two certain and wrong predictions, 1 apart, so that their kernel is exp(-1): h = 2 · (-1) · 1 · exp(-1).

    >>> from calibrant import Exponential
    >>> skce([0, 1], [1.0, 0.0], kernel=Exponential(1.0))
    -0.73575888...

    Normal predictions that are right on average but ten times too wide:

    >>> from calibrant import Gaussian, Normal
    >>> y = [-0.1, 0.0, 0.1, -0.05, 0.05]
    >>> round(skce(y, Normal([0.0] * 5, 1.0), kernel=Exponential(1.0) * Gaussian(1.0)), 4)
    0.1587
    """
    check_options(kernel=kernel, unbiased=unbiased, shuffle=shuffle, draws=draws)
    check_made_with(summary, kernel=kernel, unbiased=unbiased, blocksize=blocksize)
    check_distance(summary, kernel)
    if isinstance(summary, Blocks):
        check_full_block(summary)
        return summary.estimate
    if unbiased and summary.n < 2:
        raise InputError("the unbiased estimator needs at least 2 rows; got 1; unbiased=False works with one row")
    sums, w, pairs = kernel_sums_of(summary, kernel, Chance(draws, generator(rng)), own=not unbiased)
    if unbiased and pairs < ALONE * w * w:
        raise NotApplicableError("one row carries all the weight, so that pairs of rows have none; use unbiased=False")
    value = sums.pairs / pairs if unbiased else (sums.pairs + sums.own) / (w * w)
    if not np.isfinite(value):
        raise InputError("the kernel gave a value that is not a finite number; check its profile and distance")
    return float(value)


def kernel_sums_of(summary: Summary, kernel: AnyKernel, chance: Chance, *, own: bool) -> tuple[Sums, float, float]:
    """Return the sums of w w' h (over rows with themselves if asked), Σw, and Σ w w' over pairs of different rows."""
    if isinstance(summary, Ordered):
        sums = line_sums(summary, *line_kernel(summary, kernel, chance))
        return sums, summary.total_weight, pair_weight(summary.weight, summary.count)
    assert isinstance(summary, (Kept, KeptDistributions, KeptCoverage))
    rows: KernelRows = summary.rows
    rows = rows.take(canonical_order(rows))  # the rows that give a median length scale do not depend on their order
    form = form_of(rows, resolved(rows, kernel, chance), chance)
    w = np.asarray(rows.w)
    diagonal = float((w * w * form.diagonal()).sum()) if own else 0.0
    return Sums(2 * pair_sum(form, rows.w), diagonal), float(w.sum()), pair_weight(w)


def line_kernel(summary: Ordered, kernel: AnyKernel, chance: Chance) -> tuple[Kernel, float]:
    """Return the kernel of one probability per row, its length scale a number, and the factor of the target part."""
    if isinstance(kernel, JointKernel):
        raise InputError("a kernel that is no product needs the rows themselves; pass y and prediction")
    product = probability_kernel(kernel, 1)
    if "median" in (product.prediction.lengthscale, product.target.lengthscale):
        few = summary.rows_at(median_rows(summary.n, chance.rng))
        found = resolved(few, product, chance)
        assert isinstance(found, Product)
        product = found
    return product.prediction, binary_factor(product.target)


def line_sums(summary: Ordered, kernel: Kernel, factor: float) -> Sums:
    """Return the sums of w w' h of sorted rows: those of pooled residuals, less each row's own."""
    p, w, rows, events = summary.pool
    total = kernel_sum(p, w * (events - rows * p), kernel)
    own = kernel.at_zero * (w * w * (events * (1 - p) ** 2 + (rows - events) * p**2)).sum()
    return Sums(float(factor * (total - own)), float(factor * own))


def check_options(*, kernel: Any, unbiased: Any, shuffle: Any, draws: Any) -> None:
    """Refuse options that are none."""
    check_kernel_option(kernel)
    check_choice("unbiased", unbiased, True, False)
    check_choice("shuffle", shuffle, False, True)
    if draws is not None:
        check_count("draws", draws, least=2)


def check_made_with(summary: Summary, *, kernel: AnyKernel, unbiased: bool, blocksize: Any) -> None:
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
    """Refuse a kernel whose distance the rows had, and what a summary holds of them has not."""
    if isinstance(kernel, JointKernel) or not isinstance(summary, (TwoColumns, OneColumn)):
        return
    prediction = kernel.prediction if isinstance(kernel, Product) else kernel
    if prediction is None or prediction.distance in (None, "tv"):
        return
    came, held = (
        ("two columns", "one probability per row")
        if isinstance(summary, TwoColumns)
        else ("one probability per row", "two columns")
    )
    raise SummaryError(
        f"this {type(summary).__name__} was made of {came} and holds {held}, whose distances agree for "
        f"distance='tv' alone; got distance={shown(prediction.distance)}. Pass the kernel to summarize as well"
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
    """Refuse fewer rows than one block has."""
    if not summary.blocks:
        raise InputError(
            f"blocksize must be at most the number of rows; got blocksize {summary.m} for {summary.n} rows"
        )


def check_rows(rows: KernelRows, unbiased: bool) -> None:
    """Refuse draws too few for a biased estimate."""
    if not unbiased and isinstance(rows, DistributionRows) and isinstance(rows.distribution, Samples):
        M = rows.distribution.draws.shape[1]
        if M < BIASED_DRAWS:
            raise InputError(f"unbiased=False needs at least {BIASED_DRAWS} draws per row; got {M}")
