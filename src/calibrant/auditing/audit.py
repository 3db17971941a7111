"""`audit`: from outcomes and predictions to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from calibrant.auditing.kinds import AUDITED
from calibrant.core.findings import Findings, Grouped, Part, Setting, Verdict
from calibrant.core.kinds import KINDS, AnyRows, kind_of, read
from calibrant.core.words import with_parts
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FloatArray, as_array, read_weights
from calibrant.inputs.groups import Grouping, read_groups
from calibrant.inputs.labels import read_classes
from calibrant.inputs.options import check_choice, check_count, check_level, generator
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows, SetRows
from calibrant.ranking.energy_ranks import read_log_density_y
from calibrant.ranking.looks import judged_by_ranks
from calibrant.ranking.summary import covariate_columns
from calibrant.report.audit import Audit
from calibrant.report.names import report_names
from calibrant.version import __version__

Known = tuple[tuple[str, ...], FloatArray | None, NDArray[Any] | None]


def known_of_draws(rows: Any, kind: str, *, columns: Any, covariates: Any, log_density_y: Any) -> Known:
    """Return names of coordinates, covariates, and log densities of outcomes; refuse them for other predictions."""
    for name, value in (("covariates", covariates), ("log_density_y", log_density_y)):
        if value is not None and kind != "samples":
            raise InputError(f"{name}= is for Samples; leave it out for other predictions")
        if value is not None and not judged_by_ranks(rows):
            raise InputError(f"{name}= is looked at by ranks, which need equal weights; leave {name} or weights out")
    if columns is not None and not (isinstance(rows, DistributionRows) and rows.distribution.shape):
        raise InputError("columns= names the coordinates of vectors; leave it out for other predictions")
    keep = rows.keep if isinstance(rows, DistributionRows) else None
    x = None if covariates is None else covariate_columns(covariates, rows.n, keep)
    return _names(rows, columns), x, _density(rows, log_density_y)


def _names(rows: Any, columns: Any) -> tuple[str, ...]:
    if columns is None:
        return ()
    D = rows.distribution.shape[0]
    names = (columns,) if isinstance(columns, str) else tuple(str(name) for name in columns)
    if len(names) != D or len(set(names)) != D:
        raise InputError(f"columns must be {D} different names, one per coordinate; got {shown(columns)}")
    return names


def _density(rows: Any, log_density_y: Any) -> NDArray[Any] | None:
    if log_density_y is None:
        return None
    if rows.distribution.log_densities is None:
        raise InputError(
            "{log_density_y=} is compared with that of the draws; pass Samples(draws, log_density)",
            option="log_density_y",
        )
    return read_log_density_y(log_density_y, rows)


KINDS_AUDITED = tuple(kind for kind in KINDS if kind != "cdf")
INSTEAD = {"cdf": "Audit the distribution itself, or look at pit_histogram(None, CdfValues(...))"}
CONFORMAL = ("intervals", "sets")


def audit(
    y: Any,
    prediction: Any,
    *,
    groups: Any = None,
    intersections: int = 1,
    weights: Any = None,
    level: float = 0.95,
    classes: Any = None,
    pos_label: Any = None,
    calibration_size: int | None = None,
    covariates: Any = None,
    log_density_y: Any = None,
    columns: Any = None,
    resamples: int = 999,
    names: Mapping[str, str] | None = None,
    rng: Any = 0,
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
        Labels of rows, or a mapping (a data frame) from names to labels. Every group is tested, with p-values that
        hold for all groups together; groups of different columns may overlap.
    intersections
        2 also tests the groups of each pair of columns.
    level
        Confidence level of tests and bands.
    calibration_size
        For intervals and sets of split conformal prediction: the number of calibration scores. Without it their
        coverage is taken as a promise, not as one that holds on average over calibration sets; see `coverage_test`.
    covariates
        For `Samples`: numbers (n,) or (n, q) that were known of each row. Ranks must not depend on them.
    log_density_y
        For `Samples` with `log_density`: the log density of the predicted distribution at each outcome, (n,).
    columns
        For distributions of vectors: names of the coordinates.
    resamples
        Redraws of the outcomes behind the values expected if calibrated.
    names
        What the report calls things: ``outcome``, ``prediction``, ``source``.
    rng
        A Generator or a whole number.

    Returns
    -------
    Audit
        Print it, look at `table`, `verdict` and `plot()`, or write `to_html(path)` and `to_json(path)`.

    Notes
    -----
    Probabilities are "miscalibrated" when one of three tests of all rows (Kuiper, Spiegelhalter, and the expected
    calibration error against redrawn outcomes), a class, or a group rejects; p-values are corrected for the number of
    tests, classes and groups, and for these being up to three families, so that all together hold `level`. It is "no
    evidence" when none does and an average error of five percentage points would have been found 4 times in 5, else
    "cannot tell". Not rejecting is never proof of calibration.

    Intervals, sets, quantiles and distributions are judged by coverage: that of each level (Holm) and all levels
    jointly, that of rows with predictions of about one width or size, and that of groups, corrected in the same way.
    Distributions are read at nine quantiles and the central intervals between them. Tests of coverage need equal
    weights.

    Draws are judged by ranks: the exact band test of each coordinate (Holm), joint ranks of vectors (by density if it
    is known, else by mean distance; and by average rank), and with `covariates` the score test of ranks against them
    and `tarp_ranks`; their p-values are multiplied by the number of these tests. With unequal weights draws are judged
    by coverage, as distributions are.

    Examples
    --------
    >>> from calibrant import examples
    >>> churn = examples.churn()
    >>> result = audit(churn.y, churn.p, resamples=99)
    >>> result.verdict.headline
    'These predictions are not calibrated (p < 0.001).'
    >>> result.verdict.sentences[0]
    'When it says 76 %, it happens 58 % of the time (400 rows; if calibrated, 70 % to 82 %).'
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
    )
    kind = kind_of(prediction) or ("binary" if isinstance(rows, Binary) else "classes")
    if m is not None and kind not in CONFORMAL:
        raise InputError(
            f"{{calibration_size=}} is for Intervals and Sets; leave it out for {KINDS[kind].words}",
            option="calibration_size",
        )
    groupings = None if groups is None else _groupings(rows, groups, intersections, weights)
    how = AUDITED[type(rows)]
    families = how.families + (groupings is not None)
    known = known_of_draws(rows, kind, columns=columns, covariates=covariates, log_density_y=log_density_y)
    setting = Setting(level, B, generated, _class_names(rows, classes), families, m, *known)
    part = how.sections(rows, setting)
    grouped = None if groupings is None else how.groups(rows, groupings, setting)
    return audit_of(part, grouped, setting, kind=kind, n=rows.n, names=called)


def audit_of(
    part: Part, grouped: Grouped | None, setting: Setting, *, kind: str, n: int, names: Mapping[str, str]
) -> Audit:
    """Return the audit of what was found about rows and groups."""
    findings = Findings(
        kind=kind,
        n=n,
        level=setting.level,
        verdict=part.verdict if grouped is None else _with_groups(part.verdict, grouped, setting),
        sections=part.sections,
        groups=None if grouped is None else grouped.table,
        caveats=part.caveats,
        names=names,
        version=__version__,
    )
    return Audit(findings)


def _with_groups(verdict: Verdict, grouped: Grouped, setting: Setting) -> Verdict:
    """Let the groups speak; one with several lines, of several levels, by its smallest p-value."""
    smallest: dict[str, float] = {}
    columns = grouped.table.columns
    for group, p in zip(columns["group"], columns["pvalue_adjusted"], strict=True):
        if p is not None:
            smallest[group] = min(p, smallest.get(group, 1.0))
    return with_parts(verdict, "groups", smallest, grouped.how, setting) if smallest else verdict


def _class_names(rows: AnyRows, classes: Any) -> tuple[str, ...]:
    if isinstance(rows, Classes):
        return class_names(rows.K, classes)
    return class_names(rows.prediction.K, classes) if isinstance(rows, SetRows) else ()


def class_names(K: int, classes: Any) -> tuple[str, ...]:
    """Return what K classes are called, numbers if nobody said so."""
    if classes is None:
        return tuple(str(k) for k in range(K))
    return tuple(str(name) for name in read_classes(classes, expected=K, given_by=f"{K} columns"))


def _groupings(rows: AnyRows, groups: Any, intersections: int, weights: Any) -> list[Grouping]:
    """Read the labels, less those of rows of weight 0, which the rows have lost already."""
    if weights is None:
        return read_groups(groups, rows.n, intersections=intersections, keep=None)
    n = len(as_array(weights, name="weights"))
    return read_groups(groups, n, intersections=intersections, keep=read_weights(weights, n) > 0)
