"""`compare_predictions`: two or more predictions of the same rows, by the differences of their scores or errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.auditing.cutoff_differences import CutoffDifferences, Walk
from calibrant.auditing.interval import Prediction
from calibrant.auditing.paired_differences import (
    Differences,
    LimitDifferences,
    MeanDifferences,
    by_cluster,
    check_clusters,
    squared_error,
)
from calibrant.core.annotations import Labels
from calibrant.core.catalogue import Entry, find, public
from calibrant.core.mean_interval import check_unseen_losses
from calibrant.core.pvalues import holm
from calibrant.core.results import Curve, Pair
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray, is_unit, kept_mask
from calibrant.inputs.groups import read_row_labels, read_times
from calibrant.inputs.kinds import kind_of, kinds_words
from calibrant.inputs.options import check_level, check_positive
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.reliability_curve import reliability_curves
from calibrant.report.comparison import Comparison
from calibrant.report.names import displayed, report_names

MIN_SERIES_ROWS = 50
SQUARED = {"norm": "l2-squared", "debias": True, "strategy": "mass"}
METRIC_OF = {
    "intervals": "metric='interval_score'",
    "sets": "metric='coverage' or metric='width'",
    "quantiles": "metric='weighted_interval_score'",
    "samples": "metric='crps'",
    "distributions": "metric='crps'",
}
"""Metrics that compare predictions of other kinds than probabilities, as they are passed."""
Metric = Callable[..., Any] | str


@public
def compare_predictions(
    y: ArrayLike,
    predictions: Mapping[str, Prediction] | Sequence[Prediction],
    *,
    metric: Metric | Sequence[Metric] = "brier_score",
    level: float = 0.95,
    tolerance: float | None = None,
    time: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    names: Mapping[str, str] | None = None,
    **options: Any,
) -> Comparison:
    r"""Compare predictions of the same rows: which is better, and by how much.

    For a metric that is a mean of row scores, with the differences d of the scores of two models,

    .. math:: \bar d \pm t \, s, \qquad s^2 = \frac{m}{m - 1} \frac{\sum w^2 (d - \bar d)^2}{W^2}, \quad
        m = \frac{W^2}{\sum w^2},

    with Student's t of m - 1 degrees of freedom. For `ece` it is the difference of the debiased squared l2 errors, with
    its jackknife variance. For `cutoff_error` it is the difference of the estimates, with limits from joint draws of
    the noise of both models. For other errors that have limits of their own, L and U, each failing with a
    quarter of the error rate, the limits of the difference are L_a - U_b and U_a - L_b.

    Parameters
    ----------
    y, weights, classes, pos_label
        As in `ece` and `coverage`.
    predictions
        A mapping from names to predictions, or a list of predictions, which are then called "a", "b" and so on.
    metric
        A mean of row scores, such as `brier_score`, `log_score`, `crps`, `interval_score` or `coverage`; or `ece`,
        `cutoff_error` or another error that `interval` gives limits for, which compare calibration alone. A list
        compares by several metrics at once.
    level
        Confidence level of all limits together: of all pairs and all metrics.
    tolerance
        The largest difference that does not matter. If the limits are within ± tolerance, the models are called equal
        within it. For one metric.
    time
        For a series: numbers that put the rows in order. The variance then allows for dependent differences (Diebold
        and Mariano 1995). Rows of the same time may depend on each other in any way.
    clusters
        Labels of rows that may depend on each other, such as a customer with several rows; rows of different clusters
        are independent. Differences of scores are summed over each cluster, `ece` is compared by a jackknife over
        clusters, and `cutoff_error` by draws with the covariance of cluster sums. At least 20 clusters of similar size
        are needed.
    names
        Names shown in the report, such as ``{"source": "run 7"}``.
    **options
        Options of the metric, if there is one.

    Returns
    -------
    Comparison
        `values` of each model and `pairs`, one for each two of them and each metric: `difference` (first less second),
        its limits, its p-value, adjusted by Holm's method, and `skill`, 1 - first/second, with limits for scores that
        are at least 0. Print it, use `verdict`, `claims` and `plot()`, or write it with `to_html(path)` and
        `to_json(path)`. Of several metrics those that cannot be compared on these rows are in `refused`, with the
        reason.

    Examples
    --------
    Model b is closer to each of 60 outcomes, by differences of the squared error of 0.16 - 0.04 or 0.09 - 0.01:

    >>> import numpy as np
    >>> y = np.tile([0, 1], 30)
    >>> a, b = np.tile([0.4, 0.7], 30), np.tile([0.2, 0.9], 30)
    >>> found = compare_predictions(y, {"a": a, "b": b})
    >>> round(found.pairs[0].difference, 12), round(found.pairs[0].low, 4), round(found.pairs[0].high, 4)
    (0.1, 0.0948, 0.1052)
    """
    if time is not None and clusters is not None:
        raise InputError("time= and clusters= both say which rows depend on each other; leave one of them out")
    level, named, entries = check_level(level), _named(predictions), _metrics(metric, options, tolerance)
    tau = None if tolerance is None else check_positive("tolerance", tolerance, "such as 0.01")
    called = report_names(names, "{'source': 'run 7'}")
    given = {"weights": weights, "classes": classes, "pos_label": pos_label}
    couples = list(combinations(named, 2))
    rate = (1 - level) / (len(couples) * len(entries))
    found: dict[str, Differences] = {}
    pairs: list[Pair] = []
    refused: dict[str, str] = {}
    models = None
    for entry in entries:
        completed = _parse(entry, options)
        models = _read(entry, y, named, given, time, clusters)
        try:
            differences = _differences(entry, models, completed)
            pairs += _pairs(entry, differences, models, completed, couples, rate)
            found[entry.name] = differences
        except NotApplicableError as problem:
            if len(entries) == 1:
                raise
            refused[entry.name] = str(problem)
    if not found or models is None:
        raise NotApplicableError("; ".join(f"{name}: {reason}" for name, reason in refused.items()))
    adjusted = holm(np.array([pair.pvalue for pair in pairs]))
    return Comparison(
        names=tuple(named),
        values={name: tuple(map(each.value, named)) for name, each in found.items()},
        pairs=tuple(replace(pair, pvalue=float(p)) for pair, p in zip(pairs, adjusted, strict=True)),
        methods={name: each.method for name, each in found.items()},
        level=level,
        tolerance=tau,
        n=models.n,
        refused=refused,
        facts=called,
        reliability=_reliability(models, level),
    )


@dataclass(frozen=True, eq=False)
class _Models:
    """Checked rows of each model, which are alike, their weights, and which of them may depend on each other.

    `time` is the number of each row's time in ascending order, if they are a series; `clusters` that of its cluster.
    """

    rows: Mapping[str, Any]
    w: FloatArray
    time: NDArray[np.intp] | None
    clusters: NDArray[np.intp] | None

    @property
    def n(self) -> int:
        return int(self.w.size)


def _metrics(metric: Any, options: Mapping[str, Any], tolerance: Any) -> list[Entry[Any, Any]]:
    metric = metric.tolist() if isinstance(metric, np.ndarray) else metric
    several = isinstance(metric, Iterable) and not isinstance(metric, str)
    found = list({find(each).name: find(each) for each in (metric if several else [metric])}.values())
    if not found:
        raise InputError("metric must name one metric at least; got an empty list")
    if len(found) > 1 and (options or tolerance is not None):
        given = next(iter(options), "tolerance")
        raise InputError(
            f"{{{given}=}} belongs to one metric; got {len(found)} metrics. Compare by one metric at a time",
            option=given,
        )
    return found


def _parse(entry: Entry[Any, Any], options: Mapping[str, Any]) -> Any:
    if entry.name != "ece":
        return entry.parse(options)
    fixed = {"norm", "debias", "notion"} & options.keys()
    if fixed or isinstance(options.get("bins"), str):
        raise NotApplicableError(
            "ece is compared by the debiased squared l2 error of a fixed number of bins; leave "
            f"{', '.join(sorted(fixed)) or 'the rule for bins'} out"
        )
    return entry.parse({**SQUARED, **options})


def _read(entry: Entry[Any, Any], y: Any, named: Mapping[str, Any], given: Any, time: Any, clusters: Any) -> _Models:
    for prediction in named.values():
        kind = kind_of(prediction)
        if kind in METRIC_OF and kind not in (*entry.predictions, *entry.instead):
            raise InputError(
                f"{entry.name} judges {kinds_words(entry.predictions)}; got {type(prediction).__name__}. "
                f"Pass {METRIC_OF[kind]}"
            )
    rows = {name: entry.read(y, prediction, **given) for name, prediction in named.items()}
    (first, one), *others = rows.items()
    for name, other in others:
        if type(one) is not type(other) or not np.array_equal(*(_scale(each) for each in (one, other))):
            raise InputError(
                f"predictions must be of one kind, with the same classes and levels, to be compared; {first!r} and "
                f"{name!r} are not"
            )
    w = np.asarray(one.w)
    unequal = not is_unit(w) and w.min() != w.max()
    only = f"differences of {entry.name} are compared for"
    if clusters is not None and entry.row_scores is None and entry.name not in ("ece", "cutoff_error"):
        raise NotApplicableError(
            f"{only} independent rows only; leave clusters out, or compare metric='cutoff_error', metric='ece' or a "
            "score such as brier_score"
        )
    if time is not None and entry.row_scores is None:
        raise NotApplicableError(f"{only} independent rows only; leave time out")
    if time is not None and unequal:
        raise NotApplicableError("a comparison in time needs equal weights; leave weights or time out")
    if entry.name == "ece" and not isinstance(one, Binary):
        raise InputError(
            "compare_predictions(metric='ece') judges one probability per row; reduce class probabilities first"
        )
    if entry.name == "ece" and unequal:
        raise NotApplicableError(f"{only} equal weights only; leave weights out")
    moments = code = None
    keep = kept_mask(given["weights"])  # rows of weight 0 have been left out
    if clusters is not None:
        code = read_row_labels(clusters, w.size, name="clusters", keep=keep).code
        check_clusters(w, code)
    if time is not None:
        moments = read_times(time, w.size, keep=keep)
        if moments.max() + 1 < MIN_SERIES_ROWS:
            raise NotApplicableError(
                f"a comparison in time needs rows of {MIN_SERIES_ROWS} different times; got {moments.max() + 1}"
            )
    return _Models(rows, w, moments, code)


def _scale(rows: Any) -> Any:
    return getattr(rows.prediction, "levels", getattr(rows, "K", None))


def _pairs(
    entry: Entry[Any, Any],
    differences: Differences,
    models: _Models,
    options: Any,
    couples: list[tuple[str, str]],
    rate: float,
) -> list[Pair]:
    pairs = [differences.pair(entry.name, first, second, rate) for first, second in couples]
    for pair in pairs if entry.name == "log_score" else ():
        for name in (pair.first, pair.second):
            check_unseen_losses(models.rows[name], 1 - rate, (pair.high - pair.low) / 2, clip=options.clip)
    return pairs


def _differences(entry: Entry[Any, Any], models: _Models, options: Any) -> Differences:
    rows = models.rows
    if entry.name == "ece":
        terms = {name: squared_error(part, options, models.clusters) for name, part in rows.items()}
        ones, over = np.ones(next(iter(terms.values())).size), "" if models.clusters is None else " over clusters"
        words = f"jackknife{over} of the debiased squared l2 error, differences by Student's t"
        return MeanDifferences(terms, ones, None, words, "row" if models.clusters is None else "cluster")
    if entry.row_scores is not None:
        terms = {name: _row_scores(entry, part, options) for name, part in rows.items()}
        if models.clusters is not None:
            number = int(models.clusters.max()) + 1
            words = f"differences of {entry.name} summed over {number:,} clusters, Student's t"
            return MeanDifferences(*by_cluster(terms, models.w, models.clusters), None, words, "cluster")
        words = f"differences of {entry.name} row by row, Student's t"
        if models.time is not None:
            moments = int(models.time.max()) + 1
            words += ", long-run variance" + (f" of {moments:,} times" if moments < models.n else "")
        return MeanDifferences(terms, models.w, models.time, words)
    if entry.name == "cutoff_error":
        return CutoffDifferences({name: Walk.of(part.pairs(), models.clusters) for name, part in rows.items()})
    if entry.limits is not None:
        summaries = {name: entry.summarise(part, options) for name, part in rows.items()}
        return LimitDifferences({name: entry.limits(summary, options) for name, summary in summaries.items()})
    raise NotApplicableError(
        f"{entry.name} cannot be compared: it is not a mean of row scores and has no limits. Compare a proper score "
        "such as brier_score or log_score, or calibration alone with metric='ece' or metric='cutoff_error'"
    )


def _reliability(models: _Models, level: float) -> Curve | None:
    if not all(isinstance(part, (Binary, Classes)) for part in models.rows.values()):
        return None
    return reliability_curves({name: part.pairs() for name, part in models.rows.items()}, level)


def _named(predictions: Any) -> dict[str, Prediction]:
    if isinstance(predictions, Mapping):
        named = {str(name): prediction for name, prediction in predictions.items()}
    elif isinstance(predictions, (list, tuple)):
        named = {chr(ord("a") + k) if k < 26 else str(k): prediction for k, prediction in enumerate(predictions)}
    else:
        raise InputError(
            f"predictions must be a mapping from names to predictions, such as {{'a': p, 'b': q}}, or a list of them; "
            f"got {shown(predictions)} ({type(predictions).__name__})"
        )
    named = dict(zip(displayed(list(named)), named.values(), strict=True))
    if len(named) < len(predictions):
        raise InputError(f"the names of predictions must be different as texts; got {shown(list(predictions))}")
    if len(named) < 2:
        raise InputError(f"compare_predictions needs two predictions or more of the same rows; got {len(named)}")
    return named


def _row_scores(entry: Entry[Any, Any], rows: Any, options: Any) -> FloatArray:
    assert entry.row_scores is not None
    scores = np.asarray(entry.row_scores(rows.part(slice(None)), options), dtype=np.float64)
    scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
    if scores.ndim == 2:
        raise InputError(f"{entry.name} has {scores.shape[1]} levels here; compare one, such as intervals.at(0.9)")
    infinite = np.flatnonzero(~np.isfinite(scores))
    if infinite.size:
        raise NotApplicableError(
            f"{entry.name} of row {infinite[0]} is infinite, so its mean has no standard error; use clip= if the "
            "metric has it"
        )
    return scores
