"""`audit`: everything that applies to outcomes and predictions, with a verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from calibrant.auditing.job import AuditJob, check_part, refuse_options_of_other_kinds
from calibrant.core.annotations import Alternative, Labels, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.core.findings import Facts
from calibrant.errors import InputError
from calibrant.inputs.arrays import kept_mask
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.groups import is_outcome, read_groups, read_row_labels
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.sets import Sets
from calibrant.report.audit import Audit


@public
def audit(
    y: ArrayLike,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution,
    *,
    groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
    intersections: Literal[1, 2] = 1,
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
    part: float | None = None,
    metrics: Sequence[Callable[..., Any] | str] | None = None,
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
        The largest error that is acceptable: of probabilities the root mean square difference between stated and true
        probability over ranges of similar scores; of intervals, sets, quantiles and distributions the distance of the
        coverage from its level; of draws the error of the coverage of any interval between two quantiles. Without it
        the verdict names the smallest of 0.01, 0.02 and 0.05 that the limits support.
    relative
        Whether the tolerance is a share, for probabilities of rare events: 1 is the error that the same predictions
        have if no event ever happens.
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
        What was known of each row when the prediction was made, as in `conditional_test`: numbers (n,) or (n, q),
        texts, or a data frame. Says where predictions are off, and by how much any part of the rows can be off. Without
        them the verdict is one on averages. Also the x of quantities ``f(z, x)`` of `Samples`.
    part
        With `covariates`: a share of the rows, 1/2 to 1/16; "within" then means that no such part of the rows that one
        covariate cuts out is off by more than the tolerance either.
    metrics
        Further metrics to be shown, as verbs or their names, such as a metric of your own (``enter_mean``), with
        confidence limits where these are known.
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
        Names for the report: ``outcome``, ``prediction``, ``source``; and ``title``, its heading.
    rng
        A Generator or a seed.

    Returns
    -------
    Audit
        Print it, use `table`, `verdict` and `plot()`, or write files with `to_html(path)` and `to_json(path)`.

    Examples
    --------
    >>> from calibrant import examples
    >>> churn = examples.churn()
    >>> result = audit(churn.y, churn.p, resamples=99)
    >>> result.verdict.headline
    'Miscalibrated: probabilities are off by 8.5 points (root mean square, 95 % limits 6.9 to 10.2; p < 0.001)'
    >>> result.verdict.lines[0].text
    'over-confident: too low up to 0.29, too high above 0.66'
    """
    _refuse_dask(y=y, prediction=prediction)
    job = AuditJob(
        level=level,
        tolerance=tolerance,
        relative=relative,
        resamples=resamples,
        classes=classes,
        names=names,
        alternative=alternative,
        calibration_size=calibration_size,
    )
    generated = generator(rng)
    rows = job.read(y, prediction, weights, {"classes": classes, "pos_label": pos_label}, unequal=True)
    keep = kept_mask(weights)
    n = rows.n if keep is None else keep.size
    groupings = [] if groups is None else read_groups(groups, n, intersections=intersections, keep=keep)
    for grouping in groupings:
        if is_outcome(grouping.code, rows.y):
            words = "groups are the outcomes ({first} and others), among which every prediction is off; leave them out"
            raise InputError(words, option="groups", first=grouping.names[0])
    share = check_part(part, covariates)
    of_draws = {
        "columns": columns,
        "log_density_y": log_density_y,
        "quantity": quantity,
        "log_likelihood": log_likelihood,
        "draws": draws,
    }
    refuse_options_of_other_kinds(rows.kind, {"clusters": clusters, **of_draws})
    setting = job.setting(generated)
    if clusters is not None:
        setting = replace(setting, clusters=read_row_labels(clusters, rows.n, name="clusters", keep=keep).code)
    if isinstance(rows, DistributionRows):
        from calibrant.auditing.samples import DrawOptions

        known = covariates if rows.samples is not None else None
        rows, setting = DrawOptions(**of_draws, covariates=known).read(rows, setting)
    if covariates is not None:
        found = setting.covariates or read_covariate_table(covariates, rows.n, keep)
        setting = replace(setting, covariates=found, part=share)
    return job.audit_of(Facts(rows, rows.n), groupings, setting, metrics)


def _refuse_dask(**given: Any) -> None:
    """Refuse Dask collections, which would be loaded slowly and in silence."""
    for name, values in given.items():
        if hasattr(values, "__dask_graph__") and values.__dask_graph__() is not None:  # xarray has the method always
            raise InputError(
                f"{name} is a Dask {type(values).__name__}, which is not in memory. Audit it where it is with "
                f"calibrant.dask.audit((y, prediction)), or load it first with {name}.compute()"
            )
