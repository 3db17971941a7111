"""Audit of draws: ranks of outcomes, coordinate by coordinate and together, beside how sharp the draws are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from calibrant.auditing.measurements import Collected, of_rows, sampled, score, score_parts
from calibrant.auditing.skill import audited_skill
from calibrant.core.evidence import Case, Note, note
from calibrant.core.findings import Facts, Figure, KindFindings, Measurement, Section, Setting, Table
from calibrant.core.mean_interval import exact_limits
from calibrant.core.results import Curve
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.named import read_coordinate_names
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import equal_rows
from calibrant.ranking.curves import ecdf_difference, rank_histogram
from calibrant.ranking.density_ranks import read_log_density_y
from calibrant.ranking.draw_evidence import RankedDraws, in_content_order, row_numbers
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS, refuse_one_row
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.ranking.pair_dependence import PairDependence
from calibrant.ranking.quantities import DENSITY, RankedBy, quantities_by_name, uses_covariates
from calibrant.ranking.rank_checks import (
    RankCheck,
    conditional_checks,
    coordinate_ranks,
    joint_checks,
    marginal_check,
    pair_checks,
    quantity_checks,
    ranks_of_checks,
    refuse_unequal,
)
from calibrant.ranking.rank_claims import (
    Checks,
    DrawError,
    RankedColumn,
    WrongPairs,
    check_claims,
    column_claims,
    draw_error,
    draw_notes,
    draws_whole,
    found_columns,
    subject_of,
)
from calibrant.ranking.spread import contraction, sharpness
from calibrant.ranking.summary import Ranks
from calibrant.ranking.truth_recovery import recovery_of, z_score_contraction_of
from calibrant.ranking.uniformity_test import uniformity_test
from calibrant.scores.brier_and_log import log_score
from calibrant.scores.crps import crps
from calibrant.scores.decompose import decompose
from calibrant.scores.energy_score import energy_score

MAX_PAIRS_SCORED = 400_000_000  # pairs of draws times coordinates, for the energy score
MAX_SPLIT = 4_000_000  # draws, or levels of distributions, for the parts of the CRPS
SPREAD = {
    "sharpness": "root mean predictive variance",
    "contraction": "contraction: 1 less the mean predictive variance over that of all outcomes",
}


class DrawOptions(NamedTuple):
    """The options of `audit` for draws and for vectors, as the user gave them."""

    columns: Any
    covariates: Any
    log_density_y: Any
    quantity: Any
    log_likelihood: Any
    draws: Any

    def read(self, rows: DistributionRows, setting: Setting) -> tuple[DistributionRows, Setting]:
        for name, value in self._asdict().items():
            if value is not None and name != "columns":
                refuse_unequal(rows, name)
        shape, names = rows.distribution.shape, rows.names or ()
        if self.columns is not None:
            if not shape:
                raise InputError("columns= names the coordinates of vectors; leave it out for other predictions")
            names = read_coordinate_names(self.columns, shape[0], "columns")
        samples = rows.samples
        if self.log_density_y is not None and (samples is None or samples.log_densities is None):
            raise InputError(
                "{log_density_y=} is compared with the log densities of the draws; pass Samples(draws, log_density)",
                option="log_density_y",
            )
        quantity = self._ranked_by()
        rows, rng = equal_rows(rows, setting.rng, self.draws)
        covariates, density = self.covariates, self.log_density_y
        return rows, replace(
            setting,
            rng=rng,
            columns=names,
            covariates=None if covariates is None else read_covariate_table(covariates, rows.n, rows.keep),
            log_density_y=None if density is None else read_log_density_y(density, rows),
            quantity=quantity,
        )

    def _ranked_by(self) -> RankedBy | None:
        """Return which quantities are ranked; covariates and densities have uses of their own beside that."""
        quantity = self.quantity
        if quantity is None and self.log_likelihood is None:
            return None
        is_density = quantity is not None and DENSITY in map(str, quantities_by_name(quantity).values())
        x = self.covariates if quantity is not None and uses_covariates(quantity) else None
        return RankedBy(quantity, x, self.log_likelihood, self.log_density_y if is_density else None, None, None)


def coordinate_scores(rows: DistributionRows, distribution: Samples) -> dict[str, FloatArray]:
    if not distribution.finite or distribution.M < 2:
        return {}
    weights = None if is_unit(rows.w) else rows.w
    asked: dict[str, Callable[[], Any]] = {
        "crps": lambda: of_rows(crps, rows, fair=True),
        "sharpness": lambda: sharpness(distribution, statistic="rms", weights=weights),
        "contraction": lambda: of_rows(contraction, rows),
    }
    found = {}
    for name, ask in asked.items():
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of draws whose squares are beyond float64
                value = np.atleast_1d(np.asarray(ask(), dtype=np.float64))
            if name == "contraction" or np.isfinite(value).all():
                found[name] = value
        except NotApplicableError:  # one row, or outcomes that are all alike
            continue
    return found


def score_measurements(
    rows: DistributionRows, distribution: Samples, each: Mapping[str, FloatArray], setting: Setting
) -> Collected:
    if not each:
        why = "one draw per row has no spread" if distribution.finite else "some draws are infinite"
        return (), (f"Scores and sharpness are left out: {why}.",)
    if distribution.shape and distribution.shape[0] > 1:
        return scored_vectors(rows, setting)
    found, missing = score(crps, "CRPS, fair", rows, setting, fair=True)
    others = [Measurement(name, SPREAD[name], float(each[name][0])) for name in SPREAD if name in each]
    few = not distribution.shape and rows.n * distribution.M <= MAX_SPLIT
    return (*found, *others, *(score_parts("{} part of CRPS", of_rows(decompose, rows)) if few else ())), missing


def scored_vectors(rows: DistributionRows, setting: Setting) -> Collected:
    distribution = rows.samples
    if distribution is None:
        return score(log_score, "log score", rows, setting)
    if distribution.M < 2 or rows.n * distribution.held[0].size * distribution.M > MAX_PAIRS_SCORED:
        return (), ("energy_score is left out: it needs two draws, and its time grows with their square.",)
    return score(energy_score, "energy score, fair", rows, setting, fair=True)


def coordinate_table(checks: Checks, columns: Sequence[RankedColumn], each: Mapping[str, FloatArray]) -> Table:
    ranks = checks.ranks
    beside = f" and {checks.tests} checks" if checks.tests > 1 else ""
    order = np.argsort(np.atleast_1d(uniformity_test(ranks).details["pvalue_each"]), kind="stable")

    shown = {
        "coordinate": ranks.names,
        "failure": [found.failure for found in columns],
        "pvalue_adjusted": [found.pvalue for found in columns],
        "shift": [found.errors.shift for found in columns],
        "spread": [found.errors.spread for found in columns],
        **{f"coverage_{level:.3g}": [found.coverage[level] for found in columns] for level in columns[0].coverage},
        **each,
    }
    return Table(
        "coordinates",
        "Coordinates, worst first",
        {name: tuple(np.asarray(values)[order].tolist()) for name, values in shown.items()},
        f"p-values of the curve of ranks, exact, adjusted for all coordinates (Holm){beside}. Predictions are too high "
        "by shift predictive standard deviations, and their spread needs the factor spread.",
    )


CENTRAL_LEVELS = np.array([0.5, 0.8, 0.9, 0.95])  # levels of intervals that are shown, or the nearest that draws have
MAX_COORDINATES_MEASURED = 9  # more are shown in the table only
MAX_PAIRS_SHOWN = 20
MAX_ROWS_LOOKED_AT = 1000  # for sorted draws
MAX_ROWS_RECOVERED = 400  # drawn in pictures that have a dot per row
RECOVERY_LEVEL = 0.9
READING = (
    "How much more often than it should the outcome falls below each share of its draws. Inside the shaded band, which "
    "is for all lines together: no departure beyond chance. Up, then down: too narrow. Down, then up: too wide. All "
    "above zero: predictions too high; all below: too low."
)


LIMITED = {
    True: "; profile-likelihood limits, for all of the verdict together",
    False: "; no limits: outcomes are not normal around these draws, or too few to tell",
}


RANKS = "ranks"
RANKS_COUNTED = "Ranks of each coordinate and of groups count"


def count_ranks(rows: DistributionRows, setting: Setting) -> dict[str, Summary]:
    rows, *_ = in_content_order(rows, setting)
    return {RANKS: Ranks.of_ranked(coordinate_ranks(rows, setting), rows.w)}


def audit_samples(facts: Facts, setting: Setting) -> KindFindings:
    rows: DistributionRows = facts.rows
    quantities, numbers = quantity_checks(rows, setting), row_numbers(rows)
    rows = replace(rows, keep=None)  # what else is given by row has lost the dropped rows already
    informative = audited_skill(replace(facts, rows=rows), setting)
    rows, setting, order = in_content_order(rows, setting)
    distribution = cast(Samples, rows.distribution)
    ranked = coordinate_ranks(rows, setting)
    ranks: Ranks = facts.of_all(RANKS, lambda all_rows: Ranks.of_ranked(ranked, rows.w))
    refuse_one_row("audit", ranks)
    draws = RankedDraws.of(rows, ranked.rank, numbers[order])
    joint, not_joint = joint_checks(rows, setting)
    joint += quantities
    conditional, not_conditional = conditional_checks(rows, setting)
    pairs, not_paired = pair_checks(draws, setting)
    joint += pairs
    checks = Checks(marginal_check(ranks), joint, conditional, setting, rows.n, setting.related)
    each = {**coordinate_scores(rows, distribution), **informative.values}
    adjusted = np.minimum(1.0, checks.tests * np.array(checks.marginal.pvalues))
    seen = draws if facts.complete else None  # numbers of rows are known
    columns = found_columns(ranks, adjusted, checks.rates, draws=seen, related=setting.related)
    scores, not_scored = score_measurements(rows, distribution, each, setting)
    error = draw_error(checks)
    sections = (
        _ranks_section(checks, columns, each, error),
        *_whole_section([*joint, *conditional], checks),
        Section(
            "sharpness",
            "Sharpness and scores",
            "Calibrated is not the same as useful: how narrow are the draws, and how close to the outcomes?",
            (*informative.measurements, *scores),
            _recovery_figures(replace(rows, names=setting.columns or rows.names)),
        ),
    )
    missing = (*not_joint, *not_paired, *not_conditional, *not_scored, *informative.missing)
    caveats: tuple[Note | str, ...] = (*sampled(facts, RANKS_COUNTED), *_caveats(rows, distribution, ranks), *missing)
    if ranks.n < MIN_ROWS_IN_WORDS:
        case = Case(None, notes=(note("too few rows", n=ranks.n, least=MIN_ROWS_IN_WORDS),))
        return KindFindings(sections, case, caveats)
    wrong = WrongPairs.of(checks, [column.passes for column in columns])
    case = Case(draws_whole(error, columns, checks, wrong), notes=draw_notes(columns, checks))
    of_columns = (claim for c, column in enumerate(columns) for claim in column_claims(column, subject_of(ranks, c)))
    further = (*of_columns, *check_claims(checks, wrong))
    return informative.added_to(KindFindings(sections, case, caveats, further))


def _ranks_section(
    checks: Checks, columns: Sequence[RankedColumn], each: Mapping[str, FloatArray], error: DrawError
) -> Section:
    ranks, setting = checks.ranks, checks.setting
    title = "Ranks against uniform ranks"
    figures = [
        _rank_curve("ecdf_difference", title, READING, ranks, np.array(checks.marginal.pvalues), checks),
        Figure(
            "rank_histogram",
            "Histogram of ranks",
            "Counts over expected counts. Flat: calibrated. A U: too narrow. A dome: too wide. A slope: predictions "
            "too low (rising) or too high (falling). The strip is for all bars together. P-values are those of "
            "chi-square tests, which the verdict does not use.",
            rank_histogram(ranks, level=setting.level, rng=setting.rng),
        ),
    ]
    central: tuple[Measurement, ...] = ()
    if ranks.M > 1:
        curve = expected_coverage(ranks, region="central", confidence=setting.level)
        reading = (
            "The share of outcomes inside the central interval of each level. Below the dashed line: over-confident. "
            "Errors that cancel stay hidden here. P-values are those of the coverage of these intervals alone, which "
            "the verdict does not use."
        )
        figures.append(Figure("expected_coverage", "Coverage of central intervals", reading, curve))
        central = _central(curve, checks.rates.limits) if ranks.C == 1 else ()
    return Section(
        "ranks",
        "Ranks of outcomes among their draws",
        "Is the outcome one more draw? Then every rank is equally likely.",
        (_size(error), checks.marginal.measurement(checks.tests), *_effects(ranks, columns), *central),
        tuple(figures),
        () if ranks.single else (coordinate_table(checks, columns, each),),
    )


def _rank_curve(name: str, title: str, reading: str, ranks: Ranks, pvalues: FloatArray, checks: Checks) -> Figure:
    curve = ecdf_difference(ranks, level=checks.setting.level)
    found = np.minimum(1.0, checks.tests * pvalues)
    single = np.ndim(curve.details["pvalue"]) == 0
    curve = replace(curve, details={**curve.details, "pvalue": float(found[0]) if single else found})
    return Figure(name, title, reading + " P-values are adjusted, as in the tables." * (checks.tests > 1), curve)


def _size(error: DrawError) -> Measurement:
    """Return the size of the error, on which the outcome within a tolerance rests."""
    method = "largest error over all intervals (Kuiper's range of the ranks); exact upper limit"
    of = f"{'by' if error.joint else 'of'} {error.name}, " if error.name else ""
    label = f"largest error of coverage, {of}of any interval between two quantiles"
    return Measurement(
        "coverage_error", label, error.estimate, interval=(error.low, error.high), method=method, decides=True
    )


def _recovery_figures(rows: DistributionRows) -> tuple[Figure, ...]:
    """Return estimates against outcomes, and z-scores against contraction, of some rows at even distances."""
    step = -(-rows.n // MAX_ROWS_RECOVERED)
    few = rows if step == 1 else rows.take(np.arange(0, rows.n, step))
    shown = "" if step == 1 else f" {few.n:,} of {rows.n:,} rows are shown."
    try:
        curves = recovery_of(few, "median", RECOVERY_LEVEL), z_score_contraction_of(few)
    except (InputError, NotApplicableError):  # draws that are infinite or have no spread, outcomes that are all alike
        return ()
    return (
        Figure(
            "recovery",
            "Estimates against outcomes",
            "The median of the draws of each row with its central interval. Near the dashed line: much is known of the "
            "outcome. Flatter than the line is no error: where little is known, estimates shrink towards the mean. "
            f"A description, not a test.{shown}",
            curves[0],
        ),
        Figure(
            "z_score_contraction",
            "Errors against contraction",
            "The error of the mean of each row in predictive standard deviations (z), against how much narrower its "
            "draws are than all outcomes. At the right: much is known. Far beyond the dashed lines there: "
            "over-confident. "
            f"A description, not a test.{shown}",
            curves[1],
        ),
    )


def _effects(ranks: Ranks, columns: Sequence[RankedColumn]) -> tuple[Measurement, ...]:
    if ranks.C > MAX_COORDINATES_MEASURED:
        return ()
    found = []
    for name, column in zip(ranks.names, columns, strict=True):
        errors, method = column.errors, "most likely normal predictions" + LIMITED[column.normal]
        key, of = ("", "") if ranks.single else (f".{name}", f" of {name}")
        label = f"shift{of}, in predictive sd (positive: too high)"
        limits = (errors.shift_low, errors.shift_high) if column.normal else None
        found.append(Measurement(f"explain.shift{key}", label, errors.shift, 0.0, interval=limits, method=method))
        if ranks.M > 1:
            label = f"factor the spread{of} needs"
            limits = (errors.spread_low, errors.spread_high) if column.normal else None
            found.append(Measurement(f"explain.spread{key}", label, errors.spread, 1.0, interval=limits, method=method))
    return tuple(found)


def _central(curve: Curve, rate: float) -> tuple[Measurement, ...]:
    """Return the coverage of central intervals of about 50, 80, 90 and 95 % of one coordinate.

    Limits have the error rate of those in the verdict.
    """
    level, coverage = (np.ravel(curve.columns[name]) for name in ("level", "coverage"))
    gaps = np.abs(level[:, None] - CENTRAL_LEVELS).round(9)  # of two levels that are equally near the higher is taken
    places = np.array(sorted({len(gaps) - 1 - int(gap[::-1].argmin()) for gap in gaps.T}))
    n = np.full(places.size, float(curve.n))
    low, high = exact_limits(np.rint(coverage[places] * curve.n), n, 1 - rate)
    return tuple(
        Measurement(
            f"coverage.{level[k]:.4g}",
            f"coverage of {100 * level[k]:.4g} % intervals",
            float(coverage[k]),
            expected=float(level[k]),
            interval=(float(low[i]), float(high[i])),
            method="Clopper-Pearson, for all limits of the verdict together",
        )
        for i, k in enumerate(places.tolist())
    )


def _whole_section(shown: list[RankCheck], checks: Checks) -> tuple[Section, ...]:
    if not shown:
        return ()
    ranks = ranks_of_checks(shown)
    figures: tuple[Figure, ...] = ()
    if ranks is not None:
        outward = " By density and by mean distance a curve below zero means improbable outcomes: too narrow."
        reading = READING + (outward if any(check.ranks and check.ranks.outward for check in shown) else "")
        title = f"Ranks by {ranks.names[0]}" if ranks.C == 1 else "Ranks of the whole"
        pvalues = np.array([check.pvalue for check in shown if check.ranks is not None])
        figures = (_rank_curve("joint_ranks", title, reading, ranks, pvalues, checks),)
    tables: tuple[Table, ...] = ()
    for check in shown:
        tables += (pair_table(check.pairs, checks),) if check.pairs is not None else ()
    titles = ("The whole", "What was known of each row")
    questions = ("Do coordinates belong together as they do in the draws?", "Was what is known of a row used?")
    asked = sorted({check.conditional for check in shown})
    title, question = ". ".join(titles[k] for k in asked), " ".join(questions[k] for k in asked)
    measurements = tuple(check.measurement(checks.tests) for check in shown)
    return (Section("joint", title, question, measurements, figures, tables),)


def pair_table(found: PairDependence, checks: Checks) -> Table:
    order, names = found.order[:MAX_PAIRS_SHOWN], checks.ranks.names
    adjusted = np.minimum(1.0, checks.tests * found.pvalue[order])
    P = found.pvalue.size
    left = f" The table has the {order.size} clearest of {P:,} pairs." * (order.size < P)
    columns = {
        "pair": tuple(found.name(k, names) for k in order.tolist()),
        "correlation_outcomes": tuple(found.outcomes[order].tolist()),
        "correlation_draws": tuple(found.members[order].tolist()),
        "pvalue_adjusted": tuple(adjusted.tolist()),
    }
    return Table(
        "pairs",
        "Pairs of coordinates, clearest first",
        columns,
        "Correlations of ranks among the members of each row, outcome and draws: of the outcomes, and of all members. "
        f"p-values by exchanging outcomes with draws, adjusted for all pairs and {checks.tests} checks. Correlations "
        f"of a coordinate that is off alone do not tell its dependence.{left}",
    )


def _caveats(rows: DistributionRows, distribution: Samples, ranks: Ranks) -> list[str]:
    draws = "1 draw" if distribution.M == 1 else f"{distribution.M:,} draws"
    found = [  # one row was refused
        f"{ranks.n:,} rows of {draws} each are tested. Rows that were dropped because a simulation failed are a "
        "selection, and draws that rows share make rows dependent: no test here allows for either."
    ]
    if distribution.thinned:
        found.append(distribution.thinned)
    tied = int(ranks.tied.sum())
    if tied:
        found.append(
            f"In {tied:,} of {ranks.n * ranks.C:,} ranks the outcome equals draws, and chance decided: "
            "another rng gives other p-values."
        )
    few = distribution.held[:MAX_ROWS_LOOKED_AT]
    if distribution.M > 2 and bool((few[:, 1:] >= few[:, :-1]).all()):
        found.append("The draws of every row are sorted: whether they depend on those before them cannot be told.")
    return found
