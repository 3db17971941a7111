"""Tests of calibration by the squared kernel calibration error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.core.catalogue import Shown
from calibrant.core.decorators import calibration_test
from calibrant.core.null import NOISE, TIE, monte_carlo_words, resampled_pvalue
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.options import check_choice, check_count, check_positive, generator
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows, Judged
from calibrant.kernel_errors.blocks import Blocks, outcome_variance
from calibrant.kernel_errors.fitted import AnyKernel, Chance
from calibrant.kernel_errors.skce import check_distance, check_full_block, check_made_with, check_options, skce
from calibrant.kernel_errors.skce import summarise as summarise_error
from calibrant.kernel_errors.skce_null import biased_pvalue, bootstrapped, largest_h, resampled, unbiased_pvalue
from calibrant.kernels.composed import coverage_kernel, distribution_kernel, probability_kernel
from calibrant.kernels.coverage_rows import KernelRows
from calibrant.kernels.kept import Kept, KeptCoverage, KeptDistributions
from calibrant.kernels.kernel import JointKernel

METHODS = ("resample", "bootstrap", "block", "bound")
FEWEST_BLOCKS = 10
BLOCK_VARIANCE, BOOTSTRAP_VARIANCE = 8.0, 20.0
BOOTSTRAP_ROWS = 64  # of laws: with 16 the level at 0.05 is 0.068, with 64 it is 0.056
ROUNDING = 1e-12
LEVEL = 0.95  # of the lower confidence bound that a block test reports
LARGEST_BLOCK, PAIRS = 50, 10_000_000  # of the blocks of an audit: rows, and rows times block size
MOST_BINARY, MOST_CLASSES = 100_000, 4_000  # rows up to which an audit redraws outcomes


def summarise(
    rows: KernelRows | Judged, *, method: str | None, blocksize: Any, unbiased: bool, **options: Any
) -> Summary:
    """Return the blocks for a block test, else what `skce` reads."""
    chosen = _method(method, rows.n if isinstance(rows, DistributionRows) else None, isinstance(rows, Judged))
    _check(chosen, blocksize, unbiased)
    if chosen == "block" and blocksize is None:
        blocksize = 2
    return summarise_error(rows, blocksize=blocksize, unbiased=unbiased, **options)


def _by_size(rows: KernelRows) -> Mapping[str, Any]:
    """Return the options of an audit: redraws as long as they are quick, then blocks of shuffled rows.

    Larger blocks see more; they shrink with the number of rows so that the time stays about the same.
    """
    most = MOST_BINARY if isinstance(rows, Binary) else MOST_CLASSES
    return {} if rows.n <= most else in_blocks(rows.n)


def in_blocks(n: int) -> dict[str, Any]:
    """Return the options of a block test of n rows in an audit."""
    return {"method": "block", "shuffle": True, "blocksize": max(2, min(LARGEST_BLOCK, PAIRS // n, n // FEWEST_BLOCKS))}


@calibration_test(
    reads=(Ordered, Kept, KeptDistributions, KeptCoverage, Blocks),
    summarise=summarise,
    predictions=("binary", "classes", "distributions", "samples", "intervals", "sets", "quantiles"),
    audit={"": Shown("squared kernel calibration error (SKCE)")},
    audit_options=_by_size,
)
def skce_test(
    summary: Summary,
    *,
    kernel: AnyKernel = None,
    method: str | None = None,
    unbiased: bool = True,
    blocksize: int | Callable[[int], int] | None = None,
    shuffle: bool = False,
    resamples: int = 999,
    bound: float | None = None,
    draws: int | None = None,
    rng: Any = 0,
) -> TestResult:
    r"""Test calibration of the whole prediction by the squared kernel calibration error.

    Large values of `skce` speak against calibration. Its law under calibration is found in one of four ways:

    ``"resample"``
        Outcomes are redrawn from the predictions, which stay fixed; :math:`T = n \cdot \mathrm{SKCE}` (unbiased) is
        recomputed, and :math:`p = (1 + \#\{T^*_b \ge T\})/(B + 1)`. Exact at any n; the default for probabilities, and
        for laws below 64 rows.
    ``"bootstrap"``
        The bootstrap of degenerate U-statistics (Arcones and Giné 1992); with multinomial counts C, the matrix H of h,
        its diagonal d, row means r and mean b,
        :math:`T^*_b = [C H C - C d - 2(n-1) C r + n(n-1) b]/n`. The default for laws from 64 rows on.
    ``"block"``
        The mean over blocks of rows divided by its standard error is standard normal. O(n) for small blocks.
    ``"bound"``
        A distribution-free bound of the p-value: never too small, and seldom small.

    Parameters
    ----------
    y, prediction, kernel, draws, weights, classes, pos_label
        As in `skce`.
    method
        One of the four above; None for the default.
    unbiased
        With ``"bound"``: which estimator is bounded. The other methods use the unbiased one.
    blocksize
        Rows of a block, or a function of n: for ``"block"`` (default 2) and ``"bound"`` (default: no blocks).
    shuffle
        With blocks: permute the rows first, as rows sorted by score or outcome must be.
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
        `statistic` is T, the z-value of the blocks, or the bounded estimate. `estimate` is the unbiased `skce` (T/n,
        the mean over blocks) or the bounded estimate; with weights h is taken as w w' h / mean(w)², which differs a
        little from the ratio that `skce` returns. `n` counts the rows used. `details` has `resamples` (redraws,
        bootstrap), `bound`, or `blocks`, `blocksize`, `standard_error` and `lower_bound`, which the true error exceeds
        with a confidence of 95 %; and, but for laws and bounds, `variance`: the outcome variance expected under
        calibration, Σp(1-p) for one probability per row, in units of the largest squared weight.

    Notes
    -----
    The limit laws need outcomes that vary, not only rows: with scores of 0.01 and 100 rows the bootstrap and the
    blocks reject calibrated predictions 4 times in 10. They are refused if the variance is below 20 (bootstrap) or 8
    (block), with fewer than 64 rows of laws, or with fewer than 10 blocks; ``"resample"`` always answers. Rows must be
    independent given the predictions. CalibrationTests.jl 0.6.3 reports a bootstrap p-value of #/B, which can be 0, and
    lowers the p-value of its bound for negative estimates.

    Examples
    --------
    >>> y, p = [0] * 10, [0.9] * 5 + [0.8] * 5
    >>> skce_test(y, p).pvalue
    0.001
    """
    check_options(kernel=kernel, unbiased=unbiased, shuffle=shuffle, draws=draws)
    if isinstance(summary, Blocks):
        method = method or "block"
        check_made_with(summary, kernel=kernel, unbiased=unbiased, blocksize=blocksize)
    n = summary.n if isinstance(summary, KeptDistributions) else None
    method = _method(method, n, isinstance(summary, KeptCoverage))
    if not isinstance(summary, Blocks):
        _check(method, blocksize, unbiased)
        if blocksize is not None:
            check_made_with(summary, kernel=kernel, unbiased=unbiased, blocksize=blocksize)
    check_distance(summary, kernel)
    if bound is not None and method != "bound":
        raise InputError(f'bound= belongs to method="bound"; got method={method!r}')
    B = check_count("resamples", resamples)
    chance = Chance(draws, generator(rng))
    if method == "block":
        return _block_test(summary)
    if method == "bound":
        return _bound_test(summary, kernel, unbiased, bound, chance)
    if isinstance(summary, Blocks):
        raise SummaryError(f'method={method!r} needs the rows; this summary holds sums of blocks, for method="block"')
    if summary.n < 2:
        raise NotApplicableError(f"skce_test needs at least 2 rows; got {summary.n}")
    return _replicated(summary, kernel, method, B, chance)


def _replicated(summary: Summary, kernel: AnyKernel, method: str, B: int, chance: Chance) -> TestResult:
    n, (w, variance) = summary.n, _variance(summary)
    if method == "resample":
        if isinstance(summary, KeptCoverage):
            raise NotApplicableError(
                "intervals, sets and quantiles do not say how outcomes are drawn, so that they cannot be redrawn; "
                'use method="bootstrap"'
            )
        pairs, extreme = resampled(summary, kernel, B, chance)
        T = pairs / ((n - 1) * w * w)
    else:
        _check_bootstrap(summary, variance)
        T, extreme = bootstrapped(summary, kernel, B, chance)
    how = monte_carlo_words(B) if method == "resample" else f"{B} bootstrap replicates"
    details: dict[str, Any] = {"resamples": B}
    if not isinstance(summary, KeptDistributions):
        details["variance"] = variance
    return TestResult(
        statistic=float(T),
        pvalue=resampled_pvalue(extreme, B),
        estimate=float(T / n),
        method=f"kernel test of calibration (SKCE); {how}",
        n=n,
        details=details,
    )


def _variance(summary: Summary) -> tuple[float, float]:
    """Return the mean weight, and the outcome variance expected under calibration in units of the largest weight."""
    if isinstance(summary, Ordered):
        p, w, rows, _ = summary.pool
        return summary.total_weight / summary.n, float((w * w * rows * p * (1 - p)).sum()) / summary.weight_max**2
    kept = _kept_rows(summary)
    weights = np.asarray(kept.w)
    return float(weights.mean()), float((weights**2 * outcome_variance(kept)).sum() / weights.max() ** 2)


def _check_bootstrap(summary: Summary, variance: float) -> None:
    if isinstance(summary, KeptDistributions):
        if summary.n < BOOTSTRAP_ROWS:
            raise NotApplicableError(
                f'method="bootstrap" holds its level from {BOOTSTRAP_ROWS} rows on; got {summary.n}. '
                'Use method="resample"'
            )
    elif variance < BOOTSTRAP_VARIANCE:
        raise _too_rare("bootstrap", BOOTSTRAP_VARIANCE, variance, isinstance(summary, KeptCoverage))


def _block_test(summary: Summary) -> TestResult:
    if not isinstance(summary, Blocks):
        raise SummaryError(
            'method="block" reads a summary of blocks; '
            'make it with summarize("skce_test", y, prediction, method="block")'
        )
    if not summary.unbiased:
        raise InputError('method="block" uses the unbiased estimator; leave unbiased at True')
    s, m = summary.blocks, summary.m
    check_full_block(summary)
    if s < FEWEST_BLOCKS:
        raise _too_few_blocks(s, m, summary.n, _is_coverage(summary))
    variance = summary.variance / summary.heaviest**2
    if not summary.kind.startswith("law ") and variance < BLOCK_VARIANCE:
        raise _too_rare("block", BLOCK_VARIANCE, variance, _is_coverage(summary))
    mean_weight = summary.weight / summary.used
    unit = m * (m - 1) * mean_weight**2
    mean, se = summary.mean / unit, summary.standard_error / unit
    if abs(mean) <= NOISE * TIE:  # nothing but rounding
        mean = 0.0
    if se <= max(ROUNDING * abs(mean), NOISE * TIE):  # blocks that differ by rounding only
        se = 0.0
    if se == 0 and mean > 0:
        raise NotApplicableError(
            f"all {s} blocks have the same value, {mean:g}, so that it has no standard error; "
            f"use {_instead(_is_coverage(summary))}"
        )
    from scipy.special import ndtr, ndtri

    z = mean / se if se > 0 else 0.0
    details = {
        "blocks": s,
        "blocksize": m,
        "standard_error": se,
        "lower_bound": max(0.0, mean - float(ndtri(LEVEL)) * se),
        "variance": variance,
    }
    if summary.kind.startswith("law "):
        del details["variance"]
    return TestResult(
        statistic=z,
        pvalue=float(ndtr(-z)) if se > 0 else 1.0,
        estimate=mean,
        method=f"kernel test of calibration (SKCE); {s:,} blocks of {m} rows, normal limit",
        n=summary.used,
        details=details,
    )


def _bound_test(summary: Summary, kernel: AnyKernel, unbiased: bool, bound: Any, chance: Chance) -> TestResult:
    if not _has_equal_weights(summary):
        raise InputError('method="bound" has no form with weights; leave weights out or use method="resample"')
    blocks = isinstance(summary, Blocks)
    if blocks and not unbiased:
        raise InputError("the bound of the biased estimator is for all pairs; leave blocksize out")
    Bd = _largest(summary, kernel) if bound is None else check_positive("bound", bound, "which |h| never exceeds")
    t = skce(summary, kernel=kernel, unbiased=unbiased, draws=chance.draws, rng=chance.rng)
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


def _largest(summary: Summary, kernel: AnyKernel) -> float:
    if isinstance(summary, Blocks):
        return largest_h(summary.kernel)
    if isinstance(kernel, JointKernel):
        return largest_h(kernel)
    if isinstance(summary, KeptDistributions):
        return largest_h(distribution_kernel(kernel, summary.rows.distribution))
    if isinstance(summary, KeptCoverage):
        return largest_h(coverage_kernel(kernel))
    return largest_h(probability_kernel(kernel, summary.K if isinstance(summary, Kept) else 1))


def _has_equal_weights(summary: Summary) -> bool:
    if isinstance(summary, Ordered):
        return summary.has_equal_weights
    if isinstance(summary, Blocks):
        return bool(np.isclose(summary.weight, summary.heaviest * summary.used, rtol=1e-12))
    w = _kept_rows(summary).w
    return is_unit(w) or bool(w.min() == w.max())


def _kept_rows(summary: Summary) -> KernelRows:
    assert isinstance(summary, (Kept, KeptDistributions, KeptCoverage))  # what else is read has been dealt with
    return summary.rows


def _method(method: Any, rows_of_distributions: int | None, judged: bool) -> str:
    """Return the method, by default redraws where they are exact and quick, else the bootstrap."""
    check_choice("method", method, None, *METHODS)
    if method is not None:
        return str(method)
    many_distributions = rows_of_distributions is not None and rows_of_distributions >= BOOTSTRAP_ROWS
    return "bootstrap" if judged or many_distributions else "resample"


def _check(method: str, blocksize: Any, unbiased: bool) -> None:
    if blocksize is not None and method not in ("block", "bound"):
        raise InputError(f'blocksize belongs to method="block" and "bound"; got method={method!r}')
    if unbiased is False and method != "bound":
        raise InputError(f"method={method!r} uses the unbiased estimator; leave unbiased at True")


def _is_coverage(summary: Blocks) -> bool:
    return summary.kind.startswith("coverage ")


def _instead(coverage: bool) -> str:
    """Return what always answers: hits of intervals, sets and quantiles cannot be redrawn."""
    return 'method="bound"' if coverage else 'method="resample"'


def _too_few_blocks(s: int, m: int, n: int, coverage: bool) -> NotApplicableError:
    return NotApplicableError(
        f'method="block" needs at least {FEWEST_BLOCKS} blocks; {n} rows make {s} of {m} rows. '
        f"Use smaller blocks or {_instead(coverage)}"
    )


def _too_rare(method: str, limit: float, variance: float, coverage: bool) -> NotApplicableError:
    return NotApplicableError(
        f"method={method!r} holds its level if the outcome variance expected under calibration is at least {limit:g}; "
        f"it is {variance:.3g}. Use {_instead(coverage)}"
    )
