"""`audit`: everything that applies to outcomes and predictions, with a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.auditing.distributions import audit_distributions, distribution_groups
from calibrant.auditing.probabilities import audit_binary, audit_classes, binary_groups
from calibrant.auditing.regions import audit_intervals, audit_quantiles, audit_sets, quantile_groups
from calibrant.core.annotations import Alternative, Labels, Rng
from calibrant.core.catalogue import public
from calibrant.core.evidence import note
from calibrant.core.findings import Findings, Grouped, Kind, KindFindings, Setting
from calibrant.core.kinds import KINDS, AnyRows, kind_of, read
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray, kept_mask
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.groups import Grouping, read_groups, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.labels import read_classes
from calibrant.inputs.named import read_coordinate_names
from calibrant.inputs.options import check_choice, check_count, check_level, check_share, generator
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import DistributionRows, IntervalRows, QuantileRows, SetRows
from calibrant.inputs.sets import Sets
from calibrant.judging.notes import as_text
from calibrant.judging.voice import verdict_of
from calibrant.ranking.counting import equal_rows
from calibrant.ranking.density_ranks import read_log_density_y
from calibrant.ranking.quantities import Quantities, Quantity, RankedBy, quantities_by_name, uses_covariates
from calibrant.ranking.rank_checks import judged_by_ranks
from calibrant.regions.audit_tables import sized_groups
from calibrant.report.audit import Audit
from calibrant.report.names import report_names
from calibrant.version import __version__

AUDITED: dict[type, Kind] = {
    Binary: Kind(audit_binary, binary_groups),
    Classes: Kind(audit_classes, binary_groups, families=("the most probable class", "each class")),
    IntervalRows: Kind(audit_intervals, sized_groups, families=("all rows", "rows of similar width or place")),
    SetRows: Kind(audit_sets, sized_groups, families=("all rows", "rows of similar size")),
    QuantileRows: Kind(audit_quantiles, quantile_groups),
    DistributionRows: Kind(audit_distributions, distribution_groups),
}
"""How each kind of rows is audited."""

KINDS_AUDITED = tuple(kind for kind in KINDS if kind != "cdf")
INSTEAD = {"cdf": "Audit the distribution itself, or use pit_histogram(None, CdfValues(...))"}
CONFORMAL = ("intervals", "sets")
SMALLEST_TOLERANCE = 1e-6


@public
def audit(
    y: ArrayLike,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution,
    *,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    intersections: int = 1,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    classes: Labels | None = None,
    pos_label: Any = None,
    tolerance: float | None = None,
    relative: bool = False,
    alternative: Alternative | None = None,
    clusters: ArrayLike | None = None,
    calibration_size: int | None = None,
    covariates: Any = None,
    log_density_y: ArrayLike | None = None,
    quantity: Quantities | None = None,
    log_likelihood: Quantity | None = None,
    draws: int | None = None,
    columns: Sequence[str] | None = None,
    resamples: int = 999,
    names: Mapping[str, str] | None = None,
    rng: Rng = 0,
) -> Audit:
    """Measure everything that applies, and say in words whether the predictions can be trusted.

    Parameters
    ----------
    y, weights, classes, pos_label
        As in `ece` and `coverage`.
    prediction
        One probability per row, class probabilities (n, K), `Intervals`, `Sets`, `Quantiles`, `Samples` or a
        distribution.
    groups
        Labels of rows, a mapping from names to labels, or a data frame. Every group is tested, with p-values that are
        adjusted for all groups together; groups of different columns may overlap. A column of more than 20 groups that
        all have fewer than 10 rows is refused: put numbers into ranges first.
    intersections
        With 2, the groups of each pair of columns are tested too.
    level
        Confidence level of tests and bands, at least 0.5.
    tolerance
        The largest error that is acceptable: of probabilities the `cutoff_error`; of intervals, sets, quantiles and
        distributions the distance of the coverage from its level; of draws the error of the coverage of any interval
        between two quantiles. Without it the verdict names the smallest of 0.01, 0.02 and 0.05 that the limits support.
    relative
        Whether the tolerance is a share of the mean prediction, for probabilities of rare events.
    alternative
        For intervals and sets, which errors of coverage count: ``"two-sided"``, ``"less"`` if they promise at least
        their level, as conformal methods do, or ``"greater"``. By default "less" for sets, for intervals with
        `calibration_size`, and for intervals with 1 % of the outcomes or more on their bounds.
    clusters
        For probabilities of one event: labels of rows that may depend on each other, such as a customer with several
        rows. Rows of different clusters are independent.
    calibration_size
        For intervals and sets of split conformal prediction: the number of calibration scores. Their coverage is then
        tested as one that is guaranteed on average over calibration sets only; see `coverage_test`.
    covariates
        For `Samples`: what was known of each row, as in `conditional_test`: numbers (n,) or (n, q), texts, or a data
        frame. Ranks must not depend on them. Also the x of quantities ``f(z, x)``.
    log_density_y
        For `Samples` with `log_density`: the log density of the predicted distribution at each outcome, (n,).
    quantity, log_likelihood, draws
        For `Samples`: further quantities that are ranked and tested, and among how many draws, as in `ranks`. Rows with
        unequal numbers of draws keep as many random ones as the shortest has.
    columns
        For distributions of vectors: names of the coordinates, if those of `y` or `prediction` are not wanted.
    resamples
        Number of redraws of the outcomes, for tests of all rows and values expected if calibrated; groups and classes
        have 999.
    names
        Names for the report: ``outcome``, ``prediction``, ``source``.
    rng
        A Generator or a seed.

    Returns
    -------
    Audit
        Print it, use `table`, `verdict` and `plot()`, or write files with `to_html(path)` and `to_json(path)`.

    Notes
    -----
    The verdict is made of claims (`verdict.claims`), each with an estimate, limits and the rows it is about; all of
    them together are true with probability `level`. Measurements that the verdict does not use describe the rows.

    Its status is one of three. With a tolerance: "miscalibrated" if calibration is rejected and the lower limit of the
    error exceeds the tolerance, "within" if the upper limit does not, else "cannot tell". Without one: "within" if the
    upper limit is at most 0.05 and calibration is not rejected, or at most 0.01, which is negligible even if it is
    detectable; `verdict.tolerance` is the smallest of 0.01, 0.02 and 0.05 that the limits support, and `verdict.at`
    lists what the status would be with each of them. Where events are
    rarer than 1 in 10 these are shares of the mean prediction, 10, 20 and 50 %.

    Probabilities are tested by `calibration_test`, and the size is their `cutoff_error`. Classes and groups are tested
    too. P-values of the verdict are multiplied by the number of such families, so the probability of a false alarm is
    at most 1 - `level` over all of them.

    Intervals, sets, quantiles and distributions are tested by their coverage: at each level (Bonferroni) and at all
    levels jointly, for rows with predictions of similar width or size or at similar places, and for groups, corrected
    in the same way. Distributions are evaluated at nine quantiles and the central intervals between them. Tests of
    coverage need equal weights.

    Draws are tested by ranks: the exact band test of each coordinate (Holm), joint ranks of vectors (by density if it
    is known, else by mean distance; and by average rank), rank correlations of pairs of coordinates (by exchanging
    outcomes with draws), and with `covariates` `conditional_test` and `tarp_ranks`; their p-values are multiplied by
    the number of these tests. With unequal weights draws are tested by coverage, like other distributions.

    Examples
    --------
    >>> from calibrant import examples
    >>> churn = examples.churn()
    >>> result = audit(churn.y, churn.p, resamples=99)
    >>> result.verdict.headline
    'Probabilities are off by 4.2 percentage points (95 % limits: 2.4 to 5.5): not calibrated (p < 0.001).'
    >>> result.verdict.sentences[2]
    'Predictions are too extreme (over-confident): too low up to 0.29 and too high above 0.66.'
    """
    level, generated = check_level(level), generator(rng)
    B = check_count("resamples", resamples, least=19)
    check_choice("intersections", intersections, 1, 2)
    called = report_names(names, "{'outcome': 'left'}")
    m = None if calibration_size is None else check_count("calibration_size", calibration_size)
    rows = read(
        "audit",
        KINDS_AUDITED,
        y,
        prediction,
        weights=weights,
        classes=classes,
        pos_label=pos_label,
        instead=INSTEAD,
        unequal=True,
    )
    kind = kind_of(prediction) or ("binary" if isinstance(rows, Binary) else "classes")
    if m is not None and kind not in CONFORMAL:
        raise InputError(
            f"{{calibration_size=}} is for Intervals and Sets; leave it out for {KINDS[kind].words}",
            option="calibration_size",
        )
    groupings = None if groups is None else _groupings(rows, groups, intersections, weights)
    how = AUDITED[type(rows)]
    families = (*how.families, *(() if groupings is None else ("groups",)))
    mean = float(np.average(rows.p, weights=rows.w)) if isinstance(rows, Binary) else None
    tau = error_tolerated(check_tolerance(tolerance, relative), relative, mean)
    if alternative is not None and kind not in CONFORMAL:
        raise InputError(
            f"{{alternative=}} is for Intervals and Sets; leave it out for {KINDS[kind].words}", option="alternative"
        )
    given = {"covariates": covariates, "log_density_y": log_density_y, "quantity": quantity, "draws": draws}
    _check_of_draws(rows, kind, columns=columns, **given)
    by = _ranked_by(quantity, covariates, log_likelihood, log_density_y)
    if isinstance(rows, DistributionRows):
        rows, generated = equal_rows(rows, generated, draws)
    keep = rows.keep if isinstance(rows, DistributionRows) else None
    setting = Setting(
        level,
        B,
        generated,
        class_names=_class_names(rows, classes),
        families=len(families),
        tolerance=tau,
        relative=relative,
        alternative=alternative,
        clusters=None if clusters is None else _clusters(rows, clusters, weights),
        calibration_size=m,
        columns=_names(rows, columns),
        covariates=None if covariates is None else read_covariate_table(covariates, rows.n, keep),
        log_density_y=_density(rows, log_density_y),
        quantity=by,
    )
    found = how.sections(rows, setting)
    grouped = None if groupings is None else how.groups(rows, groupings, setting)
    return audit_of(found, grouped, setting, families, kind=kind, n=rows.n, names=called)


def check_tolerance(tolerance: Any, relative: Any) -> float | None:
    """Return the tolerance as it was given."""
    if tolerance is None and relative:
        raise InputError("{relative=} says what {tolerance=} is a share of; pass a tolerance too", option="relative")
    if tolerance is None:
        return None
    found = check_share("tolerance", tolerance)
    if found < SMALLEST_TOLERANCE:
        raise InputError(
            f"{{tolerance=}} must be at least {SMALLEST_TOLERANCE:g}; got {found:g}. No number of rows shows less",
            option="tolerance",
        )
    return found


def error_tolerated(tolerance: float | None, relative: bool, mean: float | None) -> float | None:
    """Return the largest error that is accepted; `mean` is the mean prediction of one event, None for other kinds."""
    if tolerance is None or not relative:
        return tolerance
    if mean is None:
        raise InputError("{relative=} is for probabilities of one event; leave it out here", option="relative")
    if tolerance * mean < SMALLEST_TOLERANCE**2:
        raise InputError(
            f"{{relative=}} is a share of the mean prediction, which is {mean:g}; leave it out", option="relative"
        )
    return tolerance * mean


def _clusters(rows: AnyRows, clusters: Any, weights: Any) -> NDArray[np.intp]:
    """Read which rows may depend on each other; those of weight 0 were already dropped from `rows`."""
    if not isinstance(rows, Binary):
        raise InputError("{clusters=} is for probabilities of one event; leave it out", option="clusters")
    return read_row_labels(clusters, rows.n, name="clusters", keep=kept_mask(weights)).code


def _ranked_by(quantity: Any, covariates: Any, log_likelihood: Any, log_density_y: Any) -> RankedBy | None:
    """Return which quantities are ranked; covariates and densities have uses of their own beside that."""
    if quantity is None and log_likelihood is None:
        return None
    named = [] if quantity is None else [f for f in quantities_by_name(quantity).values() if isinstance(f, str)]
    x = covariates if quantity is not None and uses_covariates(quantity) else None
    return RankedBy(quantity, x, log_likelihood, log_density_y if "log_density" in named else None, None, None)


def _check_of_draws(rows: AnyRows, kind: str, *, columns: Any, **given: Any) -> None:
    """Refuse options of ranks for predictions without ranks, and names of coordinates for numbers."""
    for name, value in given.items():
        if value is None:
            continue
        if kind != "samples" or not isinstance(rows, DistributionRows):
            raise InputError(f"{name}= is for Samples; leave it out for other predictions")
        if not judged_by_ranks(rows):
            raise InputError(f"{name}= is used with ranks, which need equal weights; leave {name} or weights out")
    if columns is not None and not (isinstance(rows, DistributionRows) and rows.distribution.shape):
        raise InputError("columns= names the coordinates of vectors; leave it out for other predictions")


def _names(rows: Any, columns: Any) -> tuple[str, ...]:
    if columns is None:
        return (rows.names or ()) if isinstance(rows, DistributionRows) else ()
    return read_coordinate_names(columns, rows.distribution.shape[0], "columns")


def _density(rows: Any, log_density_y: Any) -> FloatArray | None:
    if log_density_y is None:
        return None
    if rows.distribution.log_densities is None:
        raise InputError(
            "{log_density_y=} is compared with the log densities of the draws; pass Samples(draws, log_density)",
            option="log_density_y",
        )
    return read_log_density_y(log_density_y, rows)


def audit_of(
    found: KindFindings,
    grouped: Grouped | None,
    setting: Setting,
    families: Sequence[str],
    *,
    kind: str,
    n: int,
    names: Mapping[str, str],
) -> Audit:
    """Return the audit, given what was found about rows and groups, and the families of tests behind the verdict."""
    case = found.case if grouped is None else replace(found.case, families=(*found.case.families, grouped.family))
    shared = [note("families", number=len(families), names=families)] if len(families) > 1 else []
    findings = Findings(
        kind=kind,
        n=n,
        level=setting.level,
        verdict=verdict_of(case, setting, further=found.further),
        sections=found.sections,
        groups=None if grouped is None else grouped.table,
        group_figures=() if grouped is None else grouped.figures,
        caveats=tuple(as_text(each) for each in (*found.caveats, *shared)),
        names=names,
        version=__version__,
    )
    return Audit(findings)


def _class_names(rows: AnyRows, classes: Any) -> tuple[str, ...]:
    if isinstance(rows, Classes):
        return class_names(rows.K, classes)
    return class_names(rows.prediction.K, classes) if isinstance(rows, SetRows) else ()


def class_names(K: int, classes: Any) -> tuple[str, ...]:
    """Return the names of K classes, by default their numbers."""
    if classes is None:
        return tuple(str(k) for k in range(K))
    return tuple(str(name) for name in read_classes(classes, expected=K, given_by=f"{K} columns"))


def _groupings(rows: AnyRows, groups: Any, intersections: int, weights: Any) -> list[Grouping]:
    """Read the groups of rows with positive weight; the others were already dropped from `rows`."""
    keep = kept_mask(weights)
    return read_groups(groups, rows.n if keep is None else keep.size, intersections=intersections, keep=keep)
