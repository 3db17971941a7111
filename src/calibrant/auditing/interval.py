"""`interval`, the confidence interval of a metric that has a valid one, and `per_row`, the score of each row."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import IntervalMethod, Labels, Outcomes
from calibrant.core.calls import check_options
from calibrant.core.catalogue import Entry, entries, find, public
from calibrant.core.limits import Limits, Side
from calibrant.core.mean_interval import (
    MEANS_WITH_INTERVAL,
    effective_rows,
    exact_limits,
    has_equal_weights,
    interval_of,
    mean_interval,
    refuse_unseen,
    score_limits,
    share_method,
)
from calibrant.core.moments import Moments
from calibrant.core.results import ConfidenceInterval
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.kinds import AnyRows
from calibrant.inputs.options import check_choice, check_level
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.kernel_errors.blocks import Blocks
from calibrant.kernel_errors.skce import SkceOptions, check_made_with
from calibrant.kernel_errors.skce_test import skce_test
from calibrant.points.discrepancy import SERVED as SERVED_POINTS
from calibrant.points.discrepancy import interval_of_points, serves
from calibrant.regions.slabs import worst_slab_coverage, worst_slabs
from calibrant.scores.skill import skill_interval
from calibrant.scores.skill_rows import SkillOptions, SkillRows

EXACT = "exact (Clopper-Pearson)"
SLAB = "worst_slab_coverage"
METHODS = {
    "coverage": (None, "clopper-pearson", "wilson"),
    SLAB: (None, "clopper-pearson"),
    "skill": (None, "t"),
    **dict.fromkeys(MEANS_WITH_INTERVAL, (None, "t")),
}
"""The metrics that have an interval, and its methods."""

Prediction = ArrayLike | Intervals | Sets | Quantiles | Distribution
Method = Literal["clopper-pearson", "wilson", "t", "block"]


@public
def interval(
    metric: Callable[..., Any] | str,
    y: Outcomes,
    prediction: Prediction | None = None,
    *,
    level: float = 0.95,
    side: Side = "both",
    method: Method | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> ConfidenceInterval:
    r"""Confidence interval of a metric, for metrics that have a valid one.

    =================================  ================================================================================
    metric                             interval
    =================================  ================================================================================
    `coverage`                         ``"clopper-pearson"``, exact; or ``"wilson"`` for m effective rows (below)
    `worst_slab_coverage`              ``"clopper-pearson"`` on the evaluation rows of the slab
    `crps`, `energy_score`             ``"t"``: Student's interval of a mean, from 100 rows on
    `interval_score`                   ``"t"``, from 100 rows outside the interval on
    `weighted_interval_score`          ``"t"``, from 100 rows outside the widest interval on
    `quantile_score`                   ``"t"``, from 100 rows above and 100 not above the quantile on
    `brier_score`, `log_score`         ``"t"``, from 100 rows in which something else was likelier than what happened,
                                       and 100 others, on; for distributions from 100 rows on
    means of row scores of a user      as `coverage` if scores are 0 or 1 and the `range` is (0, 1), else ``"t"``
    `skill`                            ``"t"``: Student's interval with the influence of each row, if 20 outcomes differ
                                       from the most frequent one; it contains 0 where a few rows decide
    `skce`                             squares of limits of its root: it + z √top above, it - √own - z √top below
    `skce` with ``blocksize=``         ``"block"``: a lower bound, max(0, mean - t s) over blocks; the upper end is inf
    `mmd`, `kernel_distance`           ``"block"``: Student's interval of the mean over blocks, from 100 blocks on
    `cutoff_error`, `kuiper_test`,     estimate + z s above, and below the estimate less a quantile of the noise of
    `kolmogorov_smirnov_test`          the cumulative differences; of tests it is the interval of their estimate
    `ece` with ``norm="l1"``           estimate + z s above, and below the estimate less a quantile of the noise of
                                       the bins; also for the notions "classwise" and "top-label"
    `ece` with ``norm="l2"``           from the debiased square (``debias=True``), by a gamma approximation
    `mce`, `ece` with ``norm="max"``   exact limits of the frequencies in bins
    `mmce`                             estimate + z s above, estimate - (1 + z) s below
    `smooth_ece`, `smce`               estimate + z s above, estimate - (mean size of smoothed noise + z s) below
    =================================  ================================================================================

    Other metrics are refused, with the reason and with what to use instead. Student's interval of a user's own mean
    covers if no score that is large and rare decides it. Other custom metrics provide limits through `Entry.limits`.

    Parameters
    ----------
    metric
        The metric or its name.
    y, prediction, weights, classes, pos_label
        As for the metric; or the summary that `summarize` makes for it, if that is enough.
    level
        Confidence level.
    side
        ``"both"``; or ``"lower"`` or ``"upper"`` for one limit alone, which is then closer to the estimate.
    method
        As in the table; by default the first, or ``"wilson"`` if weights are unequal.
    **options
        Options of the metric.

    Returns
    -------
    ConfidenceInterval
        `low`, `high`, `estimate`, `level`, `method`, `n`; the first three are arrays if the metric is an array, and
        each interval on its own has confidence `level`.

    Examples
    --------
    Three of four outcomes covered; the lower limit solves P(K >= 3) = 0.025:

    >>> from calibrant import Intervals, coverage
    >>> found = interval(coverage, [0.0, 1.0, 2.0, 9.0], Intervals([-1.0] * 4, [3.0] * 4, 0.8))
    >>> round(found.low, 4), round(found.high, 4), found.estimate
    (0.1941, 0.9937, 0.75)
    """
    level = check_level(level)
    given = {"weights": weights, "classes": classes}
    is_slab = metric is worst_slab_coverage or (isinstance(metric, str) and metric == SLAB)
    if side != "both" and (is_slab or serves(metric) or find(metric).limits is None):
        raise NotApplicableError(
            f"side={side!r} is for calibration errors that bring their own limits; leave it at 'both' here"
        )
    if is_slab:
        check_choice("method", method, *METHODS[SLAB])
        if pos_label is not None:
            raise InputError("pos_label= is for labels of probabilities; leave it out")
        return _of_slab(y, prediction, level, **given, **options)
    if name := serves(metric):
        check_choice("method", method, None, "block")
        if any(value is not None for value in (weights, classes, pos_label)):
            raise InputError(f"weights and labels belong to predictions; {name} compares two sets of points")
        return interval_of_points(name, cast(Any, y), cast(Any, prediction), level, options)
    entry = find(metric)
    if entry.name == "skce" and (isinstance(y, Blocks) or options.get("blocksize") is not None):
        check_choice("method", method, None, "block")
        check_choice("side", side, "both", "lower")
        completed = entry.parse(options)
        summary = _summary(entry, y, prediction, completed, **given, pos_label=pos_label)
        return _of_blocks(summary, level, completed)
    if entry.limits is not None:
        if method is not None:
            raise InputError(f"the limits of {entry.name} have one method; leave method out")
        found, n = limits_of(entry, y, prediction, options, **given, pos_label=pos_label)
        low, high = found.at(level, side)
        return ConfidenceInterval(low, high, found.estimate, level, found.method, n)
    is_mean = entry.row_scores is not None and entry.outcome
    if entry.name not in METHODS and not is_mean:
        raise no_interval(entry)
    completed = entry.parse(options)
    if is_mean and not isinstance(y, Summary):
        return interval_of_mean(
            entry, entry.read(y, prediction, **given, pos_label=pos_label), completed, level, method
        )
    check_choice("method", method, *METHODS.get(entry.name, (None,)))
    summary = _summary(entry, y, prediction, completed, **given, pos_label=pos_label)
    if isinstance(summary, SkillRows):
        return skill_interval(summary, cast(SkillOptions, completed), level)
    if not isinstance(summary, Moments):
        raise SummaryError(f"interval of {entry.name} reads Moments; got {type(summary).__name__}")
    return _of_coverage(entry, summary, completed, level, method)


def interval_of_mean(
    entry: Entry[Any, Any], rows: AnyRows, options: Any, level: float, method: Method | None = None
) -> ConfidenceInterval:
    """Return the interval of a mean of row scores: of a share if these are 0 and 1, else Student's."""
    is_share = entry.name == "coverage"
    if entry.name not in METHODS:
        assert entry.row_scores is not None
        scores = entry.row_scores(rows.part(slice(None)), options)
        is_share = entry.range == (0.0, 1.0) and bool(((scores == 0) | (scores == 1)).all())
        if not is_share and bool((scores == scores[:1]).all()):
            raise NotApplicableError(f"every row has the same score, so the spread of {entry.name} is not known")
    check_choice("method", method, *METHODS["coverage" if is_share else "crps"])
    if not is_share:
        return mean_interval(entry, rows, options, level)
    return _of_coverage(entry, cast(Moments, entry.summarise(rows, options)), options, level, method)


def limits_of(entry: Entry[Any, Any], y: Any, prediction: Any, options: Any, **given: Any) -> tuple[Limits, int]:
    if entry.limits is None:
        raise NotApplicableError(
            f"expected a metric that brings its own limits: {', '.join(own_limits())}; got {entry.name}"
        )
    completed = entry.parse(options)
    summary = _summary(entry, y, prediction, completed, **given)
    return entry.limits(summary, completed), summary.n


def _summary(entry: Entry[Any, Any], y: Any, prediction: Any, options: Any, **given: Any) -> Summary:
    """Return the given summary, or the summary of the rows; refuse one that does not show whether limits are valid."""
    if isinstance(y, Summary):
        if prediction is not None or any(value is not None for value in given.values()):
            raise InputError("prediction, weights and labels cannot be given with a summary, which replaces the rows")
        entry.check_summary(y)
        refuse_unseen(entry)
        return y
    return entry.summarise(entry.read(y, prediction, **given), options)


def _of_coverage(
    entry: Entry[Any, Any], summary: Moments, options: Any, level: float, method: str | None
) -> ConfidenceInterval:
    estimate = entry.finish(summary, options)
    p, n = summary.mean, summary.n
    chosen = share_method(cast(IntervalMethod | None, method), equal=has_equal_weights(summary))
    if chosen == "clopper-pearson":
        low, high = exact_limits(np.rint(p * n), np.full(p.shape, float(n)), level)
    else:
        spread = summary.spread2 + summary.w2 * (summary.mean2 - p) ** 2
        w, w2 = np.full(p.shape, summary.w), np.full(p.shape, summary.w2)
        low, high = score_limits(p, effective_rows(p, spread, w, w2), level)
    return interval_of(low, high, estimate, level, EXACT if chosen == "clopper-pearson" else "score (Wilson)", n)


def _of_blocks(summary: Summary, level: float, options: SkceOptions) -> ConfidenceInterval:
    from scipy.special import stdtrit

    if not isinstance(summary, Blocks):
        raise SummaryError("blocksize= needs sums of blocks; make them with summarize('skce', ..., blocksize=2)")
    check_made_with(summary, options.kernel, options.unbiased, options.blocksize)
    if not options.unbiased:
        raise InputError("the lower bound of skce is that of the unbiased estimator; leave unbiased at True")
    found = skce_test(summary, method="block")
    t = float(stdtrit(found.details["blocks"] - 1, level))
    low = max(0.0, found.estimate - t * found.details["standard_error"])
    return ConfidenceInterval(low, np.inf, found.estimate, level, "lower bound from blocks, Student's t", found.n)


def _of_slab(y: Any, prediction: Any, level: float, **options: Any) -> ConfidenceInterval:
    """Return the exact limits for the coverage of the slab, from rows that were not used to find it."""
    own = list(inspect.signature(worst_slab_coverage).parameters.values())[2:]
    check_options(worst_slab_coverage, [each.name for each in own], options)
    if "features" not in options:
        raise InputError(f"{SLAB} needs features=")
    completed = {each.name: each.default for each in own} | options
    if completed["search"] is None:
        raise NotApplicableError(
            "no valid interval is known for the coverage of a slab on the rows that were used to find it, which is "
            "biased low; give search= a share such as 0.25"
        )
    slabs = worst_slabs(y, prediction, **completed)
    k, n = (np.array([getattr(slab, name) for slab in slabs]) for name in ("hits", "rows"))
    low, high = exact_limits(k.astype(np.float64), n.astype(np.float64), level)
    words = f"{EXACT}, evaluation rows of the slab"
    if prediction.single:
        return ConfidenceInterval(float(low[0]), float(high[0]), float(k[0] / n[0]), level, words, int(n[0]))
    return ConfidenceInterval(low, high, k / n, level, words, n)


A_TEST = "a test has a p-value in place of an interval. Instead, take the interval of {}"
OF_GROUPS = (
    "it is chosen from several groups or averages their distances, so it is biased away from the level. Instead, "
    "coverage_curve with groups= has limits of the coverage of each group; simultaneous=True makes them joint"
)
ALONE = "it does not depend on outcomes, so its value for these predictions is exact. Instead, use the value itself"
REFUSALS = {
    "contraction": "it is a ratio whose denominator, the spread of all outcomes, is estimated too. Instead, compare "
    "predictions by crps, which has an interval",
    "sharpness": ALONE,
    "width": ALONE,
    "coverage_gap": OF_GROUPS,
    "size_stratified_coverage": OF_GROUPS,
    "coverage_hsic": "near independence it has no normal distribution, and no limits are known that cover. Instead, "
    "regions.coverage_hsic_test says whether a value is more than chance",
    "coverage_width_criterion": "its penalty jumps where coverage falls below the level. Instead, take the interval of "
    "coverage, and width",
    "decompose": "its parts are fitted to the same rows and biased, miscalibration upwards. Instead, take the interval "
    "of the mean score, and that of cutoff_error for calibration",
    "direction": "its parts are sums of absolute gaps of one sign, which are biased upwards. Instead, take the "
    "interval of cutoff_error or ece",
    "ucme": "it depends on the test locations, and a calibrated model has a value above 0 of unknown size. Instead, "
    "take the interval of skce, or test with kernel_errors.cme_test",
    "skce_test": A_TEST.format("skce"),
    "cme_test": A_TEST.format("skce"),
}
"""Why a metric has no interval, and what to do instead."""
SIZES = {"binary": "cutoff_error or ece", "intervals": "coverage", "samples": "crps, or test with equivalence_test"}
"""What measures the size of the error of a kind of prediction, and has an interval."""


def no_interval(entry: Entry[Any, Any]) -> NotApplicableError:
    size = next((SIZES[kind] for kind in entry.predictions if kind in SIZES), "")
    served = ", ".join((*METHODS, *SERVED_POINTS, *own_limits()))
    why = f"it brings no limits. Instead, give its Entry limits=, or take one of {served}"
    if entry.kind == "test" and size:
        why = A_TEST.format(size)
    elif entry.kind == "curve" and size:
        why = f"a curve has many values, with bands of its own. Instead, read these, or take the interval of {size}"
    return NotApplicableError(f"no valid interval is known for {entry.name}: {REFUSALS.get(entry.name, why)}")


def own_limits() -> list[str]:
    return sorted(name for name, entry in entries().items() if entry.limits)


@public
def per_row(
    metric: Callable[..., Any] | str,
    y: ArrayLike | Prediction | None,
    prediction: Prediction | None = None,
    *,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> FloatArray:
    """Return the score of each row, for a metric that is the mean of such scores.

    Parameters
    ----------
    metric
        A metric that is a mean, such as `coverage`, `interval_score`, `crps` or `brier_score`, or its name.
    y, prediction, classes, pos_label
        As for the metric. For a metric that uses no outcome pass the prediction alone, or None for y.
    **options
        Options of the metric. Weights are not among them: they belong to the mean, ``(w * scores).sum() / w.sum()``.

    Returns
    -------
    ndarray
        Scores in the order of the rows, (n,); (n, L) if the metric is an array.

    Examples
    --------
    >>> from calibrant import brier_score
    >>> per_row(brier_score, [0, 1], [0.5, 0.75]).tolist()
    [0.25, 0.0625]
    """
    entry = find(metric)
    if entry.row_scores is None:
        raise NotApplicableError(f"{entry.name} is not a mean of per-row scores, so it has no per-row values")
    if isinstance(y, Summary):
        raise InputError("a summary does not contain the rows; pass y and prediction")
    if not entry.outcome and prediction is None:
        y, prediction = None, y
    if "weights" in options:
        raise InputError("per_row takes no weights: they belong to the mean, not to the score of a row")
    rows = entry.read(y, prediction, classes=classes, pos_label=pos_label)
    scores = np.array(entry.row_scores(rows.part(slice(None)), entry.parse(options)), dtype=np.float64)
    return scores[:, 0] if scores.ndim == 2 and getattr(rows.prediction, "single", False) else scores
