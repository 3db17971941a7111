"""`conditional_test`: whether predictions of any kind are right wherever the covariates lie, and where not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.conditional.cells import MIN_REGION_ROWS
from calibrant.conditional.kept import KeptCovariates
from calibrant.conditional.parts import average_error, parts
from calibrant.conditional.regions import Limits, Region, found_regions
from calibrant.conditional.residuals import (
    FUNCTIONS,
    OF_ROWS,
    Residuals,
    after_calibration,
    flipped,
    of_classes,
    of_distributions,
    of_ranks,
    permuted,
)
from calibrant.conditional.statistics import (
    MIN_ROWS,
    Method,
    Searched,
    Statistics,
    critical_place,
    features,
    joint_pvalues,
    pairs_of,
    upper_places,
)
from calibrant.core.annotations import Alternative, Labels, Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.results import TestResult
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.covariates import Covariates, read_covariate_table
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.groups import is_outcome, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.kinds import KINDS
from calibrant.inputs.options import check_choice, check_count, check_level, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.ranking.quantities import RankedBy, ranked_by, uses_covariates
from calibrant.ranking.summary import Ranks

Null: TypeAlias = Literal["calibrated", "alike"]
Predictions: TypeAlias = ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues
JUDGED = tuple(KINDS)
ONE_SIDED = ("frequency", "coverage", "share_below")  # columns with an alternative, and with clusters
OF_SHARES = "events, intervals, sets and quantiles"  # whose columns these are
CONFORMAL = ("intervals", "sets")  # kinds with a calibration size
MIN_CLUSTERS = 40
MAX_WORDS_OF_DIRECTION = 5


@public
def conditional_test(
    y: Outcomes | None,
    prediction: Predictions | None = None,
    *,
    covariates: Any = None,
    method: Method = "joint",
    null: Null | None = None,
    alternative: Alternative | None = None,
    search_prediction: bool | None = None,
    level: float = 0.95,
    resamples: int = 999,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    clusters: ArrayLike | None = None,
    calibration_size: int | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    quantity: Quantities | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng = 0,
) -> TestResult:
    r"""Test whether predictions are right wherever the covariates lie, and say where they are not.

    Columns F are differences between what happened and what was stated, with variance v if predictions are calibrated:
    y - p of an event; of classes whether the most probable one happened, and each class; whether intervals, sets and
    quantiles contain the outcome, less their level; of distributions and draws :math:`\varphi_1` (shift) and
    :math:`\varphi_2` (spread), orthonormal polynomials of the rank. Of a region R

    .. math:: Z_R = \frac{\sum_R wF}{\sqrt{\sum_R w^2 v}} .

    =========  =====================================================================================================
    ``scan``   the largest charged square: Z² of all rows, of intervals of 16 cells of each covariate and of what they
               leave, and Z² - 6 of boxes of 8 × 8 cells of two covariates
    ``trend``  F'WU (U'W²VU)⁻ U'WF, the score statistic with U linear and quadratic in the ranks of each covariate
    =========  =====================================================================================================

    ``"joint"`` takes the smaller p-value of the two on shared redraws, and the p-value of that: exact, because all
    steps treat the data and the redraws alike. A region needs 20 rows and expected events, or non-events, of about 5.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`, `coverage` or `uniformity_test`; or a summary, such as ``KeptCovariates.of_ranks(ranks, M, x)``.
    covariates
        What was known of each row when the prediction was made: numbers (n,) or (n, q), texts, booleans, a data frame,
        or a mapping from names to columns; at most 200, and at most 16 categories of each, of which the rarest are
        pooled. What is known only after the outcome makes any prediction look wrong. Not needed with a summary.
    method
        ``"joint"``, ``"scan"`` or ``"trend"``.
    null
        ``"calibrated"`` redraws outcomes from the predictions: right given the covariates. ``"alike"`` permutes the
        rows of draws, whose default it is, and of distributions: off elsewhere than on average.
    alternative
        Of events, coverage and quantiles: ``"less"`` if only too few outcomes are an error, the default of sets and
        with `calibration_size`; ``"greater"``; or ``"two-sided"``. A trend has no side.
    search_prediction
        Whether the prediction is searched like a covariate: a probability, the centre and the width of intervals, the
        size of sets. By default it is, but for draws.
    level
        Confidence level of the regions that are stated, of their limits, and of those of parts.
    resamples
        Number of redraws.
    pairs
        The pairs of covariates, by number or name, whose boxes are searched; all by default, none above 25 covariates.
    clusters
        Labels of rows that may depend on each other, at least 40, of events, intervals, sets and quantiles: each redraw
        changes the sign of whole clusters, which is not exact.
    calibration_size
        For intervals and sets of split conformal prediction: the number of calibration scores.
    quantity, log_likelihood, log_density_y, draws
        For `Samples`, as in `ranks`. The x of ``f(z, x)`` is `covariates`.
    rng
        Generator or seed of the redraws, of ties between outcome and draws, and of the choice of draws.

    Returns
    -------
    TestResult
        `pvalue`, `statistic` the smaller p-value of the two, and `estimate` the mean of each column. `details` has
        `columns` in words, the p-values of `trend` and `scan` (not adjusted), `largest` (charged square), `critical`
        (that of a region that is stated), up to three `regions` (see `conditional.regions.Region`), `parts` (for shares
        1 to 1/16 of the rows, at most how much any such part that one covariate cuts out is off), `average_error`
        (`estimate` and lower limit `low` of how much rows are off on average, where it is known), `visible` (the error
        of half of the rows that would have been found 4 times in 5), `direction` (if the trend is clearer),
        `smallest possible`, and for each coordinate of vectors `pvalue_each`.

    Examples
    --------
    Events happen more often than stated where x is beyond 1:

    >>> import numpy as np
    >>> x = np.linspace(-2, 2, 400)
    >>> y = np.arange(400) % 10 < np.where(x > 1, 8, 5)
    >>> found = conditional_test(y, np.full(400, 0.5), covariates=x, resamples=99)
    >>> found.pvalue, found.details["regions"][0].text[:71]
    (0.01, 'for x0 > 1 (100 rows) events happen 80 % of the time where 50 % are pre')
    """
    by = (quantity, log_likelihood, log_density_y, draws)
    given = (method, null, alternative, pairs, clusters, calibration_size, *by)
    options = ConditionalOptions(covariates, search_prediction, level, resamples, rng, *given)
    return CONDITIONAL_TEST(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class SearchOptions:
    """The options of every search of covariates."""

    covariates: Any = None
    search_prediction: bool | None = None
    level: float = 0.95
    resamples: int = 999
    rng: Rng = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_level(self.level))
        object.__setattr__(self, "resamples", check_count("resamples", self.resamples))
        critical_place(self.resamples, self.level)
        generator(self.rng)


@dataclass(frozen=True)
class ConditionalOptions(SearchOptions):
    method: Method = "joint"
    null: Null | None = None
    alternative: Alternative | None = None
    pairs: Sequence[tuple[Any, Any]] | None = None
    clusters: Any = None
    calibration_size: int | None = None
    quantity: Quantities | None = None
    log_likelihood: Quantity | None = None
    log_density_y: ArrayLike | None = None
    draws: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("alternative", self.alternative, None, "two-sided", "less", "greater")
        if self.calibration_size is not None:
            object.__setattr__(self, "calibration_size", check_count("calibration_size", self.calibration_size))
        self.ranked_by  # noqa: B018  # refuses options that do not go together

    @property
    def ranked_by(self) -> RankedBy:
        """Which ranks are taken of draws."""
        x = self.covariates if self.quantity is not None and uses_covariates(self.quantity) else None
        return RankedBy(self.quantity, x, self.log_likelihood, self.log_density_y, self.draws, self.rng)


def keep_covariates(rows: Any, options: ConditionalOptions, verb: str = "conditional_test") -> KeptCovariates:
    """Keep the rows, or the ranks of draws, with the covariates of each."""
    x = options.covariates
    if x is None:
        what = "{verb} needs {covariates=}, what the predictions were made from"
        raise InputError(what, verb=verb, option="covariates")
    if not isinstance(x, Covariates):
        x = read_covariate_table(x, rows.n, rows.keep)
    refuse_outcomes(rows, x)
    if rows.samples is not None:
        _only_for(OF_SHARES, "clusters", options.clusters)
        return KeptCovariates.of_ranked(ranked_by(rows, options.ranked_by), rows.w, x)
    for name in ("quantity", "log_likelihood", "log_density_y", "draws"):
        _only_for("draws", name, getattr(options, name))
    clusters = options.clusters
    if clusters is not None:
        clusters = read_row_labels(clusters, rows.n, name="clusters", keep=rows.keep).code
    return KeptCovariates.of(rows, x, clusters)


def _only_for(predictions: str, option: str, value: Any) -> None:
    if value is not None:
        raise InputError(f"{{{option}=}} is for {predictions}; leave it out", option=option)


def refuse_outcomes(rows: Any, x: Covariates) -> None:
    """Refuse a covariate that is the outcome, or its values under other names; warn of one in the same order."""
    y = np.asarray(rows.y)
    if y.ndim != 1 or y.size < MIN_REGION_ROWS or (y == y[0]).all():
        return
    order = np.unique(y, return_inverse=True)[1]
    for name, labels, column in zip(x.names, x.labels, x.x.T, strict=True):
        _, code = np.unique(column, return_inverse=True)
        if is_outcome(code, y) or np.array_equal(column, y):
            raise InputError(f"covariates ({name}) is the outcome: it was not known before. Leave it out")
        if not labels and np.array_equal(code, order):
            message = f"covariates ({name}) has the rank correlation 1 with the outcome: was it known before?"
            warnings.warn(message, stacklevel=4)


class Found(NamedTuple):
    """What is searched, and how."""

    searched: Searched  # with the null hypothesis of the test
    calibrated: Searched  # with that of calibrated predictions
    order: NDArray[np.intp]  # which of the caller's rows these are
    alternative: Alternative
    options: ConditionalOptions
    given: int  # number of covariates, before those that do not vary were left out
    said: tuple[str, ...]


def prepare(kept: KeptCovariates, options: ConditionalOptions, class_names: tuple[str, ...] = ()) -> Found:
    """Return the rows in the order of their values, as residuals, with the covariates that vary.

    Columns are called by these names of classes.
    """
    if kept.n < MIN_ROWS:
        raise NotApplicableError(f"a search of covariates needs at least {MIN_ROWS} rows; got {kept.n}")
    order = kept.order()
    (rows,), w = kept.kept, kept.w[order]
    if isinstance(rows, Ranks):
        kind, residuals = "draws", of_ranks(rows, kept.rank[order])
    else:
        kind, residuals = rows.kind, _of_kind(rows.rows.take(order), options, class_names)
    w = np.asarray(w / w.mean())
    alternative = _checked_alternative(kind, residuals, options)
    is_alike = options.null == "alike" or (options.null is None and kind == "draws")
    contrasts = permuted(residuals, w) if is_alike else None
    if (residuals.v <= 0).all():
        raise NotApplicableError("every prediction is certain: 0, 1 or a level of 0 or 1. No error can be searched for")
    clusters = _checked_clusters(kept.clusters[order], residuals) if kept.clusters.size else None
    if clusters is not None:
        residuals = replace(residuals, law=flipped(residuals.F, clusters))
    table, said = _searched_covariates(kept, order, residuals, options)
    calibrated = Searched(residuals, table, w, clusters)
    searched = calibrated if contrasts is None else calibrated._replace(residuals=contrasts)
    return Found(searched, calibrated, order, alternative, options, len(kept.names), (*said, *residuals.said))


def _of_kind(rows: Any, options: ConditionalOptions, class_names: tuple[str, ...]) -> Residuals:
    if rows.kind == "classes":
        return of_classes(rows, class_names)
    if rows.kind not in OF_ROWS:
        return of_distributions(rows, generator(options.rng))
    found, N = OF_ROWS[rows.kind](rows), options.calibration_size
    if N is None or rows.kind not in CONFORMAL:
        return found
    said = f"coverage promised on average only, after {N:,} calibration scores"
    return replace(found, law=after_calibration(found.stated[0], N), said=(said,))


def _checked_alternative(kind: str, residuals: Residuals, options: ConditionalOptions) -> Alternative:
    given, is_trend = options.alternative, options.method == "trend"
    if kind not in CONFORMAL:
        _only_for("intervals and sets", "calibration_size", options.calibration_size)
    if given is None:
        is_promise = kind == "sets" or options.calibration_size is not None
        return "less" if is_promise and not is_trend else "two-sided"
    if given != "two-sided" and residuals.columns[0].quantity not in ONE_SIDED:
        _only_for(OF_SHARES, "alternative", given)
    if given != "two-sided" and is_trend:
        raise InputError('a trend has no side: leave {alternative=} out, or pass method="scan"', option="alternative")
    return given


def _checked_clusters(clusters: NDArray[Any], residuals: Residuals) -> NDArray[np.intp]:
    if residuals.columns[0].quantity not in ONE_SIDED:
        _only_for(OF_SHARES, "clusters", clusters)
    found, code = np.unique(clusters, return_inverse=True)
    if found.size < MIN_CLUSTERS:
        raise NotApplicableError(f"signs of clusters need at least {MIN_CLUSTERS} clusters; got {found.size}")
    return np.asarray(code)


def _searched_covariates(
    kept: KeptCovariates, order: NDArray[np.intp], residuals: Residuals, options: ConditionalOptions
) -> tuple[Covariates, list[str]]:
    """Return the covariates that vary, and the prediction among them if that is searched."""
    varies = (kept.x.max(axis=0) > kept.x.min(axis=0)).tolist()
    if not any(varies):
        raise NotApplicableError("no covariate varies between rows, so predictions cannot be off in some of them")
    table = kept.covariates.columns([j for j, used in enumerate(varies) if used]).take(order).pooled
    dropped = [name for name, used in zip(kept.names, varies, strict=True) if not used]
    said = [f"constant covariates left out: {', '.join(dropped)}"] if dropped else []
    if options.search_prediction is not False:
        for name, values in residuals.searched.items():
            if values.max() > values.min():
                table = _with_column(table, name, values)
    return table, said


def _with_column(table: Covariates, name: str, values: FloatArray) -> Covariates:
    while name in table.names:
        name = f"predicted {name}"
    return Covariates(np.column_stack([table.x, values]), (*table.labels, ()), (*table.names, name))


def found_of(found: Found) -> TestResult:
    """Return the result of the test."""
    searched, options, rng = found.searched, found.options, generator(found.options.rng)
    residuals, B, level = searched.residuals, options.resamples, options.level
    pairs = pairs_of(options.pairs, searched.covariates)
    tests = Statistics(searched, options.method, pairs, found.alternative)
    T = tests.of_data_and_redraws(B, rng)
    p = joint_pvalues(T, is_alone=residuals.is_alone)
    each = upper_places(T)[:, 0] / (B + 1)  # (S, C)
    regions, details = _where(found, tests, T, p)
    average = average_error(searched, level, rng) if found.alternative == "two-sided" else None
    mean = np.average(residuals.F if residuals.raw is None else residuals.raw, axis=0, weights=searched.w)
    return TestResult(
        statistic=float(each.min()),
        pvalue=float(p.min()),
        estimate=float(mean[0]) if mean.size == 1 else mean,
        method=_words(found, tests),
        n=residuals.n,
        details={
            "columns": tuple(column.text for column in residuals.columns),
            "names": residuals.names,
            "covariates": searched.covariates.names,
            "given": found.given,
            **{name: float(values.min()) for name, values in zip(tests.names, each, strict=True)},
            **details,
            "regions": tuple(region.reordered(found.order) for region in regions),
            "parts": parts(searched, level, found.alternative),
            "average_error": average,
            "visible": tests.visible(T, level),
            "direction": _direction(searched, tests, p, each, level),
            "smallest possible": 1 / (B + 1),
            **_of_coordinates(searched, tests, p, level),
        },
    )


def _where(found: Found, tests: Statistics, T: FloatArray, p: FloatArray) -> tuple[tuple[Region, ...], dict[str, Any]]:
    """Return the regions that are stated, and the largest charged square with that which a region must reach."""
    level = found.options.level
    if "scan" not in tests.names:
        return (), {"largest": math.nan, "critical": math.nan}
    squares = T[tests.names.index("scan")]
    limits = Limits.of(squares[1:].max(axis=1), level, len(p) if found.searched.residuals.is_alone else 1)
    related = np.flatnonzero(p <= 1 - level).tolist() if len(p) > 1 else [0]
    regions = found_regions(found.searched, tests.scan, related, limits)
    return regions, {"largest": float(squares[0].max()), "critical": limits.critical}


def _of_coordinates(searched: Searched, tests: Statistics, p: FloatArray, level: float) -> dict[str, Any]:
    """Return the p-value of each coordinate, and what of its ranks changes most: "shift", "spread" or nothing."""
    residuals = searched.residuals
    if residuals.is_share:
        return {}
    most = tests.scan.largest(residuals.F.reshape(residuals.n, -1, residuals.K)).argmax(axis=1)  # (C,)
    functions = [FUNCTIONS[k] if each <= 1 - level else "" for k, each in zip(most.tolist(), p, strict=True)]
    if residuals.C == 1:
        return {"pvalue_each": float(p[0]), "function_each": functions[0]}
    return {"pvalue_each": p, "function_each": tuple(functions)}


def _direction(searched: Searched, tests: Statistics, p: FloatArray, each: FloatArray, level: float) -> str:
    """Say along which ranks of covariates predictions change most, if the trend has the smaller p-value."""
    smallest, table = dict(zip(tests.names, each.min(axis=1), strict=True)), searched.covariates
    numbers = [j for j in range(table.q) if not table.labels[j]]
    if p.min() > 1 - level or smallest.get("trend", 1.0) >= smallest.get("scan", math.inf) or not numbers:
        return ""
    F = searched.residuals.F
    column = int(tests.trend.of(F[:, None])[0].argmax())
    t = features(table.columns(numbers))[:, ::2]
    slope = np.linalg.lstsq((t - t.mean(axis=0)) / t.std(axis=0), F[:, column], rcond=None)[0]
    terms = [j for j in np.argsort(-np.abs(slope)) if abs(slope[j]) >= np.abs(slope).max() / 2]
    said = " ".join(f"{'+' if slope[j] > 0 else '-'} {table.names[numbers[j]]}" for j in terms[:MAX_WORDS_OF_DIRECTION])
    return f"along {said.removeprefix('+ ')}"


def _words(found: Found, tests: Statistics) -> str:
    residuals, clusters = found.searched.residuals, found.searched.clusters
    redraws, question = "redraws of calibrated predictions", "right given the covariates"
    if clusters is not None:
        redraws = f"changes of the signs of {clusters.max() + 1:,} clusters, not exact"
    elif residuals.contrast:
        redraws, question = "permutations of the rows", "off elsewhere than on average"
    statistic = "smaller p-value of scan and trend" if len(tests.names) > 1 else tests.names[0]
    said = [f"{statistic} on {found.options.resamples:,} {redraws} ({question})", *tests.said, *found.said]
    if found.alternative != "two-sided":
        said.append(f"alternative {found.alternative}")
    if residuals.C > 1:
        said.append(f"{residuals.C} coordinates, {'Holm' if residuals.is_alone else 'smallest over all'}")
    return "; ".join(said)


CONDITIONAL_TEST = enter(
    Entry(
        conditional_test,
        ConditionalOptions,
        keep_covariates,
        lambda kept, options: found_of(prepare(kept, options)),
        reads=(KeptCovariates,),
        kind="test",
        predictions=JUDGED,
        unequal=True,
    )
)
