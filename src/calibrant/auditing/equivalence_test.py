"""`equivalence_test`: are predictions calibrated well enough? Here a small p-value is good news."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant.auditing.interval import Prediction, limits_of
from calibrant.core.annotations import Labels, Outcomes, Rng
from calibrant.core.catalogue import Entry, find, public
from calibrant.core.mean_interval import exact_limits, has_equal_weights
from calibrant.core.moments import Moments
from calibrant.core.pvalues import binomial_tails
from calibrant.core.results import TestResult
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.kinds import KINDS, kind_of
from calibrant.inputs.options import check_share
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.cumulative import CUTOFF_ERROR
from calibrant.ranking.coverage_error import Arcs
from calibrant.ranking.summary import Ranks
from calibrant.ranking.uniformity_test import UNIFORMITY_TEST
from calibrant.regions.coverage import COVERAGE

SHOWN_RATE = 0.05  # error rate of the one-sided limits in `details`
REGIONS = ("intervals", "sets", "quantiles")
RANKED = ("samples", "distributions", "cdf")


@public
def equivalence_test(
    y: Outcomes | None,
    prediction: Prediction | None = None,
    *,
    tolerance: float,
    metric: Callable[..., Any] | str | None = None,
    relative: bool = False,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> TestResult:
    r"""Test whether predictions are calibrated within a tolerance; a small p-value shows that they are.

    The hypothesis is that the error exceeds the tolerance τ. The p-value is the smallest α for which the one-sided
    upper limit of the error at level 1 - α does not exceed τ; for `cutoff_error` and other suprema, with s of
    `interval`,

    .. math:: p = \Phi\Bigl(\frac{\text{estimate} - \tau}{s}\Bigr) .

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As for the metric; or a summary that `summarize` made for it, of probabilities or of ranks.
    tolerance
        The largest error that is acceptable. It has no default: it is a decision about the use of the predictions.
    metric
        For probabilities: `cutoff_error` (default), or another error that brings limits, such as `ece` with its
        options. Intervals, sets and quantiles are tested by the distance of `coverage` from each level, and draws and
        distributions by the largest error of the coverage of any interval between two of their quantiles.
    relative
        Whether the tolerance is a share of the mean prediction, as it should be for rare events.
    rng
        Generator or seed; needed for ties between outcomes and draws.
    **options
        Options of the metric.

    Returns
    -------
    TestResult
        `estimate` and `statistic` are the error; with several levels or coordinates all are arrays. `details` has
        `tolerance` and `high`, the upper limit of the error at the level 95 %; for coverage `low` and `high` are limits
        of the coverage.

    Examples
    --------
    400 rows with the probability 0.5 and 204 events: the error is 0.01, and s = 0.025.

    >>> import numpy as np
    >>> result = equivalence_test([1] * 204 + [0] * 196, np.full(400, 0.5), tolerance=0.06)
    >>> round(result.estimate, 6), round(result.pvalue, 5)  # Φ(-0.05/0.025)
    (0.01, 0.02275)
    """
    tau = check_share("tolerance", tolerance)
    kind = kind_of(prediction)
    given = {"weights": weights, "classes": classes, "pos_label": pos_label}
    if kind in REGIONS:
        other = None if metric is None or find(metric) is COVERAGE else metric
        _refuse(str(kind), relative=relative, metric=other, rng=rng)
        return _of_coverage(y, prediction, given, options, tau)
    if kind in RANKED or isinstance(y, Ranks):
        _refuse(kind or "samples", relative=relative, metric=metric, classes=classes, pos_label=pos_label, **options)
        return _of_ranks(y, prediction, rng, weights, tau)
    _refuse("binary", rng=rng)
    entry = CUTOFF_ERROR if metric is None else find(metric)
    if relative:
        tau *= _mean_prediction(entry, y, prediction, given)
    found, n = limits_of(entry, y, prediction, options, **given)
    words = f"{entry.name} against the tolerance {tau:.4g}; {found.method}"
    details = {"tolerance": tau, "high": found.high(SHOWN_RATE)}
    return TestResult(found.estimate, found.pvalue_of(tau), found.estimate, words, n, details)


def _refuse(kind: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(f"{name}={shown(value)} is not for {KINDS[kind].words}; leave it out")


def _mean_prediction(entry: Entry[Any, Any], y: Any, prediction: Any, given: dict[str, Any]) -> float:
    if isinstance(y, Summary):
        raise InputError("relative=True needs the mean prediction; pass y and prediction in place of the summary")
    rows = entry.read(y, prediction, **given)
    if not isinstance(rows, Binary):
        raise NotApplicableError(
            "relative=True is a share of the mean probability of one event; give an absolute tolerance for class "
            "probabilities, or reduce them first: y, p = one_vs_rest(y, P, k)"
        )
    mean = float(np.average(rows.p, weights=rows.w))
    if mean == 0:
        raise NotApplicableError("relative=True is a share of the mean prediction, which is 0 here")
    return mean


def _of_coverage(y: Any, prediction: Any, given: dict[str, Any], options: dict[str, Any], tau: float) -> TestResult:
    rows: Any = COVERAGE.read(y, prediction, **given)
    summary = cast(Moments, COVERAGE.summarise(rows, COVERAGE.parse(options)))
    n, level = summary.n, rows.prediction.levels
    if level is None:
        raise NotApplicableError("these sets have no level to compare their coverage with; pass Sets(mask, level)")
    if not has_equal_weights(summary):
        raise NotApplicableError("the test of coverage counts rows and needs equal weights; leave weights out")
    k = np.rint(summary.mean * n)
    below = np.where(level - tau > 0, binomial_tails(k, n, np.maximum(level - tau, 0.0))[1], 0.0)
    above = np.where(level + tau < 1, binomial_tails(k, n, np.minimum(level + tau, 1.0))[0], 0.0)
    low, high = exact_limits(k, np.full(k.shape, float(n)), 1 - 2 * SHOWN_RATE)
    found = (np.abs(summary.mean - level), np.maximum(below, above), low, high)
    error, pvalue, low, high = first_of_each(found) if rows.prediction.single else found
    words = f"coverage within {tau:.4g} of the level; exact binomial tails"
    return TestResult(error, pvalue, error, words, n, {"tolerance": tau, "low": low, "high": high})


def first_of_each(arrays: tuple[FloatArray, ...]) -> tuple[Any, ...]:
    return tuple(float(values[0]) for values in arrays)


def _of_ranks(y: Any, prediction: Any, rng: Any, weights: Any, tau: float) -> TestResult:
    """Test the coverage of every interval between two quantiles: all must be within the tolerance."""
    if isinstance(y, Ranks):
        for name, value in {"prediction": prediction, "weights": weights}.items():
            if value is not None:
                raise InputError(f"{name} cannot be given with a summary, which has the rows already")
        ranks = y
    else:
        rows = UNIFORMITY_TEST.read(y, prediction, weights=weights)
        ranks = cast(Ranks, UNIFORMITY_TEST.summarise(rows, UNIFORMITY_TEST.parse({"rng": rng})))
    UNIFORMITY_TEST.check_summary(ranks)
    if not ranks.has_equal_weights:
        raise NotApplicableError("the test of ranks counts rows and needs equal weights; leave weights out")
    arcs = Arcs.of(ranks)
    found = (arcs.error, arcs.pvalue(tau), arcs.upper(SHOWN_RATE))
    error, pvalue, high = first_of_each(found) if ranks.single else found
    words = f"largest error of the coverage of an interval between two quantiles, against {tau:.4g}; exact binomial"
    return TestResult(error, pvalue, error, words, ranks.n, {"tolerance": tau, "high": high, "names": ranks.names})
