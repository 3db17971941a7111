"""Tests of calibration by the squared kernel calibration error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, Shown, enter, public
from calibrant.core.kept_rows import KeptRows
from calibrant.core.null import NOISE, TIE, monte_carlo_words, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.options import check_count, check_positive
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows, RegionRows
from calibrant.kernel_errors.blocks import Blocks, outcome_variance
from calibrant.kernel_errors.fitted import AnyKernel, Randomness, completed
from calibrant.kernel_errors.skce import (
    JUDGED_KINDS,
    BlockSize,
    Predictions,
    SkceOptions,
    check_distance,
    check_full_block,
    check_made_with,
    estimate,
)
from calibrant.kernel_errors.skce import summarise as summarise_error
from calibrant.kernel_errors.skce_null import biased_pvalue, bootstrapped, largest_h, resampled, unbiased_pvalue
from calibrant.kernels.composed import probability_kernel
from calibrant.kernels.kernel import JointKernel
from calibrant.kernels.kernel_rows import KernelRows

Method = Literal["resample", "bootstrap", "block", "bound"]

MIN_BLOCKS = 10
MIN_BLOCK_VARIANCE, MIN_BOOTSTRAP_VARIANCE = 8.0, 20.0  # of all outcomes, expected under calibration
MIN_BOOTSTRAP_ROWS = 64  # of distributions: with 16 the level at 0.05 is 0.068, with 64 it is 0.056
RELATIVE_ROUNDING = 1e-12
CONFIDENCE = 0.95  # of the lower confidence bound that a block test reports
MAX_AUDIT_BLOCK, MAX_AUDIT_PAIRS = 50, 10_000_000  # of the blocks of an audit: rows, and rows times block size
REDRAWN_BINARY_ROWS, REDRAWN_CLASS_ROWS = 100_000, 4_000  # up to which an audit redraws outcomes


@public
def skce_test(
    y: Outcomes,
    prediction: Predictions | None = None,
    *,
    kernel: AnyKernel = None,
    method: Method | None = None,
    unbiased: bool = True,
    blocksize: BlockSize = None,
    shuffle: bool = False,
    resamples: int = 999,
    bound: float | None = None,
    draws: int | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> TestResult:
    r"""Test calibration of the whole prediction by the squared kernel calibration error.

    Large values of `skce` are evidence against calibration.

    Parameters
    ----------
    y, prediction, kernel, draws, weights, classes, pos_label
        As in `skce`.
    method
        How the null distribution is found. ``"resample"``: outcomes are redrawn from the predictions, exact at any n;
        the default for probabilities, and for distributions below 64 rows. ``"bootstrap"``: of degenerate U-statistics,
        the default for distributions from 64 rows on. ``"block"``: Student's t of the mean over blocks, O(n) for small
        blocks. ``"bound"``: a distribution-free bound of the p-value, never too small, and seldom small.
    unbiased
        With ``"bound"``: which estimator is bounded. The other methods use the unbiased one.
    blocksize
        Rows of a block, or a function of n: for ``"block"`` (default 2) and ``"bound"`` (default: no blocks).
    shuffle
        With blocks: permute the rows first. Rows that are sorted by score or outcome must be permuted.
    resamples
        Number of redraws or bootstrap replicates, B.
    bound
        With ``"bound"``: a bound of the absolute value of h. Default: twice the largest value of the kernel, four
        times for kernels with negative values.
    rng
        A Generator or a whole number.

    Returns
    -------
    TestResult
        `statistic` is T = n `estimate`, the t-value of the blocks, or the bounded estimate.

    Examples
    --------
    >>> y, p = [0] * 10, [0.9] * 5 + [0.8] * 5
    >>> skce_test(y, p).pvalue
    0.001
    """
    options = SkceTestOptions(kernel, unbiased, blocksize, shuffle, draws, rng, method, resamples, bound)
    return SKCE_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class SkceTestOptions(SkceOptions):
    """The options of `skce_test`: those of `skce`, and how the null distribution is found."""

    method: Method | None
    resamples: int
    bound: float | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("resamples", self.resamples)
        if self.method is not None:
            _check_belongs(self.method, self.blocksize)
        if not self.unbiased and self.method != "bound":
            raise InputError(
                f'unbiased=False belongs to method="bound"; got method={self.method!r}, which uses the unbiased '
                "estimator. Leave unbiased at True"
            )
        if self.bound is not None:
            if self.method != "bound":
                raise InputError(f'bound= belongs to method="bound"; got method={self.method!r}')
            object.__setattr__(self, "bound", check_positive("bound", self.bound, "which |h| never exceeds"))


def _check_belongs(method: Method, blocksize: BlockSize) -> None:
    if blocksize is not None and method not in ("block", "bound"):
        raise InputError(f'blocksize belongs to method="block" and "bound"; got method={method!r}')


def _summarise(rows: KernelRows, options: SkceTestOptions) -> Summary:
    """Return the blocks for a block test, else what `skce` reads."""
    method = options.method or _default_method(rows)
    _check_belongs(method, options.blocksize)
    if method == "block" and options.blocksize is None:
        options = replace(options, blocksize=2)
    return summarise_error(rows, options)


def _default_method(rows: KernelRows) -> Method:
    """Return redraws where they are exact and quick, else the bootstrap."""
    many_distributions = isinstance(rows, DistributionRows) and rows.n >= MIN_BOOTSTRAP_ROWS
    return "bootstrap" if isinstance(rows, RegionRows) or many_distributions else "resample"


def _finish(summary: Ordered | KeptRows | Blocks, options: SkceTestOptions) -> TestResult:
    kernel, random = options.kernel, options.randomness
    if isinstance(summary, Blocks):
        method: Method = options.method or "block"
        check_made_with(summary, kernel, options.unbiased, options.blocksize)
    else:
        method = options.method or ("resample" if isinstance(summary, Ordered) else _default_method(summary.rows))
        _check_belongs(method, options.blocksize)
        if options.blocksize is not None:
            check_made_with(summary, kernel, options.unbiased, options.blocksize)
    check_distance(summary, kernel)
    if method == "block":
        return _block_test(summary)
    if method == "bound":
        return _bound_test(summary, options, random)
    if isinstance(summary, Blocks):
        raise SummaryError(f'method={method!r} needs the rows; this summary has sums of blocks, for method="block"')
    if summary.n < 2:
        raise NotApplicableError(f"skce_test needs at least 2 rows; got {summary.n}")
    return _replicated(summary, kernel, method, options.resamples, random)


def kernel_options(rows: KernelRows) -> Mapping[str, Any]:
    """Return the options of an audit: redraws as long as they are quick, then blocks of shuffled rows.

    Larger blocks have more power; they shrink with the number of rows to keep the time about the same.
    """
    redrawn = REDRAWN_BINARY_ROWS if isinstance(rows, Binary) else REDRAWN_CLASS_ROWS
    return {} if rows.n <= redrawn else in_blocks(rows.n)


def in_blocks(n: int) -> dict[str, Any]:
    m = max(2, min(MAX_AUDIT_BLOCK, MAX_AUDIT_PAIRS // n, n // MIN_BLOCKS))
    return {"method": "block", "shuffle": True, "blocksize": m}


SKCE_TEST = enter(
    Entry(
        skce_test,
        SkceTestOptions,
        _summarise,
        _finish,
        reads=(Ordered, KeptRows, Blocks),
        kind="test",
        predictions=JUDGED_KINDS,
        audit={"": Shown("squared kernel calibration error (SKCE)")},
    )
)


def _replicated(
    summary: Ordered | KeptRows, kernel: AnyKernel, method: Method, B: int, random: Randomness
) -> TestResult:
    n, (w, variance) = summary.n, _variance(summary)
    if method == "resample":
        if _holds(summary, RegionRows):
            raise NotApplicableError(
                "intervals, sets and quantiles do not say how outcomes are drawn, so these cannot be redrawn; "
                'use method="bootstrap"'
            )
        pairs, extreme = resampled(summary, kernel, B, random)
        T = pairs / ((n - 1) * w * w)
    else:
        if _holds(summary, DistributionRows) and n < MIN_BOOTSTRAP_ROWS:
            raise NotApplicableError(
                f'method="bootstrap" keeps its level from {MIN_BOOTSTRAP_ROWS} rows on; got {n}. Use method="resample"'
            )
        _check_variance("bootstrap", MIN_BOOTSTRAP_VARIANCE, variance, summary)
        T, extreme = bootstrapped(summary, kernel, B, random)
    how = monte_carlo_words(B) if method == "resample" else f"{B} bootstrap replicates"
    details = {"resamples": B, **({} if _holds(summary, DistributionRows) else {"variance": variance})}
    return TestResult(
        statistic=float(T),
        pvalue=resampled_pvalue(extreme, B),
        estimate=float(T / n),
        method=f"kernel test of calibration (SKCE); {how}",
        n=n,
        details=details,
    )


def _variance(summary: Ordered | KeptRows) -> tuple[float, float]:
    """Return the mean weight, and the outcome variance expected under calibration in units of the largest weight."""
    if isinstance(summary, Ordered):
        p, w, rows, _ = summary.pool
        return summary.total_weight / summary.n, float((w * w * rows * p * (1 - p)).sum()) / summary.weight_max**2
    kept = summary.rows
    weights = np.asarray(kept.w)
    return float(weights.mean()), float((weights**2 * outcome_variance(kept)).sum() / weights.max() ** 2)


def _block_test(summary: Summary) -> TestResult:
    if not isinstance(summary, Blocks):
        raise SummaryError(
            'method="block" reads a summary of blocks; '
            'make it with summarize("skce_test", y, prediction, method="block")'
        )
    s, m = summary.blocks, summary.m
    check_full_block(summary)
    if s < MIN_BLOCKS:
        raise NotApplicableError(
            f'method="block" needs at least {MIN_BLOCKS} blocks; {summary.n} rows make {s} of {m} rows. '
            f"Use smaller blocks or {_instead(summary)}"
        )
    variance = summary.variance / summary.heaviest**2
    _check_variance("block", MIN_BLOCK_VARIANCE, variance, summary)
    mean_weight = summary.weight / summary.used
    unit = m * (m - 1) * mean_weight**2
    mean, se = summary.mean / unit, summary.standard_error / unit
    if abs(mean) <= NOISE * TIE:  # nothing but rounding
        mean = 0.0
    if se <= max(RELATIVE_ROUNDING * abs(mean), NOISE * TIE):  # blocks that differ by rounding only
        se = 0.0
    if se == 0 and mean > 0:
        raise NotApplicableError(
            f"all {s} blocks have the same value, {mean:g}, so it has no standard error; use {_instead(summary)}"
        )
    from scipy.special import stdtr, stdtrit

    t = mean / se if se > 0 else 0.0
    details = {
        "blocks": s,
        "blocksize": m,
        "standard_error": se,
        "lower_bound": max(0.0, mean - float(stdtrit(s - 1, CONFIDENCE)) * se),
        **({} if _holds(summary, DistributionRows) else {"variance": variance}),
    }
    return TestResult(
        statistic=t,
        pvalue=float(stdtr(s - 1, -t)) if se > 0 else 1.0,
        estimate=mean,
        method=f"kernel test of calibration (SKCE); {s:,} blocks of {m} rows, Student's t",
        n=summary.used,
        details=details,
    )


def _bound_test(summary: Ordered | KeptRows | Blocks, options: SkceTestOptions, random: Randomness) -> TestResult:
    kernel, unbiased = options.kernel, options.unbiased
    if not _has_equal_weights(summary):
        raise InputError('method="bound" has no form with weights; leave weights out or use method="resample"')
    blocks = isinstance(summary, Blocks)
    if blocks and not unbiased:
        raise InputError("the bound of the biased estimator is for all pairs; leave blocksize out")
    Bd = options.bound or _largest(summary, kernel)
    t = estimate(summary, kernel, unbiased, random)
    n = summary.used if isinstance(summary, Blocks) else summary.n
    m = summary.m if isinstance(summary, Blocks) else n
    pvalue = unbiased_pvalue(t, n=n, m=m, bound=Bd) if unbiased else biased_pvalue(t, n=n, bound=Bd)
    return TestResult(
        statistic=t,
        pvalue=pvalue,
        estimate=t,
        method=f"kernel test of calibration (SKCE); distribution-free bound, |h| <= {Bd:g}",
        n=n,
        details={"bound": Bd},
    )


def _largest(summary: Ordered | KeptRows | Blocks, kernel: AnyKernel) -> float:
    if isinstance(summary, Blocks):
        return largest_h(summary.kernel)
    if isinstance(summary, Ordered):
        return largest_h(kernel if isinstance(kernel, JointKernel) else probability_kernel(kernel, 1))
    return largest_h(completed(summary.rows, kernel))


def _has_equal_weights(summary: Ordered | KeptRows | Blocks) -> bool:
    if isinstance(summary, Ordered):
        return summary.has_equal_weights
    if isinstance(summary, Blocks):
        return bool(np.isclose(summary.weight, summary.heaviest * summary.used, rtol=1e-12))
    w = summary.rows.w
    return is_unit(w) or bool(w.min() == w.max())


def _holds(summary: Summary, kind: type[RegionRows] | type[DistributionRows]) -> bool:
    """Tell whether a summary is of coverage (`RegionRows`) or of distributions."""
    if isinstance(summary, Blocks):
        return summary.kind.startswith("coverage " if kind is RegionRows else "distribution ")
    return isinstance(summary, KeptRows) and isinstance(summary.rows, kind)


def _instead(summary: Summary) -> str:
    """Return what always answers: hits of intervals, sets and quantiles cannot be redrawn."""
    return 'method="bound"' if _holds(summary, RegionRows) else 'method="resample"'


def _check_variance(method: str, limit: float, variance: float, summary: Summary) -> None:
    if variance < limit and not _holds(summary, DistributionRows):
        raise NotApplicableError(
            f"method={method!r} keeps its level if the outcome variance expected under calibration is at least "
            f"{limit:g}; it is {variance:.3g}. Use {_instead(summary)}"
        )
