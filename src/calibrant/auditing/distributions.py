"""The audit of predictive distributions: of numbers and of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from calibrant.auditing.measurements import Collected, kernel_test, of_rows, sampled, score, score_parts
from calibrant.auditing.regions import (
    COVERAGES,
    HITS,
    Levels,
    coverage_case,
    coverage_figure,
    pit_figure,
    quantile_groups,
    quantile_table,
)
from calibrant.auditing.samples import MAX_SPLIT, RANKS, audit_samples, count_ranks, scored_vectors
from calibrant.auditing.skill import audited_skill
from calibrant.core.evidence import Case, Family, Note, note
from calibrant.core.findings import Facts, Figure, Grouped, Kind, KindFindings, Measurement, Section, Setting
from calibrant.core.moments import Moments
from calibrant.core.results import CrpsDecomposition, Curve
from calibrant.core.several import Several
from calibrant.core.summary import Summary
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.groups import Grouping, RowLabels
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.rows import DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import Bounds, pit_bounds
from calibrant.ranking.draw_evidence import content_order
from calibrant.ranking.mean_error import TEST, check_rows, mean_error, standardised_errors
from calibrant.ranking.rank_checks import group_ranks, judged_by_ranks, sample_groups
from calibrant.ranking.spread import sharpness
from calibrant.ranking.summary import Ranks
from calibrant.regions import audit_tables as tables
from calibrant.regions.evidence import Beside, Judged, Plan, kernel_whole, weights_caveat
from calibrant.regions.hits import HitTable
from calibrant.regions.lines import Lines, Rule, central_table, filled, level_lines
from calibrant.scores.brier_and_log import log_score
from calibrant.scores.crps import crps
from calibrant.scores.decompose import decompose

ERRORS, RANDOMISED = "errors", "randomised PIT"
LEVELS = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])  # central 95, 90, 80 and 50 %
MAX_COORDINATES_DRAWN = 20
MAX_DECOMPOSED_LEVELS, MIN_DECOMPOSED_LEVELS = 99, 9
HALVED = 2  # coordinates and the kernel test, whose p-value is resampled and cannot be small, share the error rate


def audit_vectors(facts: Facts, setting: Setting) -> KindFindings:
    """Audit distributions of vectors.

    The central intervals of each coordinate are tested by their coverage, and the whole distribution, including
    dependence between coordinates, by the kernel test.
    """
    rows: DistributionRows = facts.rows
    kernel, missing = kernel_test(rows, setting)
    scored, not_scored = scored_vectors(rows, setting)
    whole = next((m.pvalue for m in kernel if m.pvalue is not None), None)
    lines, no_margins = _coordinates(facts, setting, beside=whole is not None)
    times = setting.families * (1 if lines is None else HALVED)
    used = [m if m.pvalue is None else replace(m, pvalue=min(1.0, times * m.pvalue), decides=True) for m in kernel]
    name, title = "distributions", "Predictive distributions of vectors"
    question = "Is the distribution as a whole right, and that of each coordinate?"
    caveats: tuple[Note | str, ...] = (
        *sampled(facts, COVERAGES),
        *weights_caveat(rows.n, rows.w),
        "Only the kernel test (skce_test) and the scores see how coordinates depend on each other.",
        *missing,
        *not_scored,
        *no_margins,
    )
    if lines is None:
        return KindFindings((Section(name, title, question, (*scored, *used)),), _kernel_case(whole, setting), caveats)
    known = bool(lines.tested.any())
    worst = Measurement(
        "coverage.largest_gap",
        "largest gap of a coordinate",
        float(np.abs(lines.curve.coverage - lines.curve.nominal).max()),
        pvalue=float(np.nanmin(lines.curve.pvalue_adjusted)) if known else None,
        method="coverage of central intervals less their level; p-value adjusted for all",
        decides=known,
    )
    table = tables.group_table([lines.curve], True, setting, name="coordinates", title="Coordinates, worst first")
    section = Section(name, title, question, (worst, *scored, *used), (_figure(lines.curve),), (table,))
    plan = Plan(np.unique(lines.curve.nominal), Rule(), lines.family_rate, copies=rows.distribution.shape[0])
    beside = None if whole is None else Beside("skce_test", whole, HALVED, bounded=False)
    judged = Judged(lines, "central intervals", part="coordinate")
    return KindFindings((section,), coverage_case([judged], beside, plan, setting, remedies=()), caveats)


def _kernel_case(p: float | None, setting: Setting) -> Case:
    """Return the case on distributions without a distribution function, which only the kernel test can judge."""
    if p is None:
        return Case(None, notes=(note("no test"),))
    return Case(kernel_whole(p, setting), notes=(note("kernel only"),))


def _coordinates(facts: Facts, setting: Setting, *, beside: bool) -> tuple[Lines | None, tuple[str, ...]]:
    try:
        counted: Several = facts.of_all(HITS, coordinate_hits)
    except NotApplicableError as reason:
        return None, (str(reason),)
    central = []
    for d, hits in enumerate(cast(tuple[HitTable, ...], counted.parts)):
        name = setting.columns[d] if setting.columns else f"coordinate {d}"
        table = central_table(replace(hits, group=(name,) * len(hits.group)))
        if table is None:
            return None, ("Coordinates are not tested: one draw per row has no central interval.",)
        central.append(table)
    tests = sum(map(filled, central)) * (HALVED if beside else 1)
    found = [level_lines(table, setting, Rule(), tests=tests) for table in central]
    columns: dict[str, Any] = {
        name: np.concatenate([lines.curve.columns[name] for lines in found]) for name in found[0].curve.columns
    }
    curve = replace(found[0].curve, columns=columns)
    return replace(found[0], curve=curve, inside=np.concatenate([lines.inside for lines in found])), ()


def _figure(curve: Curve) -> Figure:
    shown, level = tables.one_level(curve)
    few = {name: column[:MAX_COORDINATES_DRAWN] for name, column in shown.columns.items()}
    return Figure(
        "coordinates",
        f"Coverage of coordinates{level}",
        "Each line is a coordinate. A level outside its line is missed by more than chance: the lines cover all "
        "coordinates and levels together.",
        replace(shown, columns=few),
    )


def count_distributions(rows: DistributionRows, setting: Setting, exact: bool) -> dict[str, Summary]:
    found = count_ranks(rows, setting) if rows.samples is not None else {}
    try:
        if rows.distribution.shape:
            return {**found, HITS: coordinate_hits(rows)}
        if rows.samples is None:
            found |= {ERRORS: standardised_errors(rows)}
        return {**found, HITS: level_hits(rows, setting)}
    except NotApplicableError:  # without a distribution function; it is said on the page
        return found


def count_groups_of_distributions(rows: DistributionRows, grouping: Grouping, setting: Setting) -> Several:
    """Count the ranks of draws in each group, and the outcomes up to each quantile of distributions of numbers."""
    found: dict[str, Summary] = {}
    if rows.samples is not None:
        found[RANKS] = group_ranks(rows, grouping, setting)
    if not rows.distribution.shape:
        found[HITS] = level_hits(rows, setting, tables.labels_of(grouping))
    return Several.of(found)


def distribution_groups(rows: DistributionRows, groups: Sequence[Several], setting: Setting) -> Grouped:
    if judged_by_ranks(rows):
        return sample_groups([cast(Ranks, group[RANKS]) for group in groups], setting)
    if rows.distribution.shape:
        raise InputError(
            f"groups= are for outcomes that are numbers; these are vectors of {rows.distribution.shape[0]} "
            "coordinates. Audit one coordinate, such as Samples(draws[:, :, 0]) or Normal(mean[:, 0], std[:, 0])"
        )
    return quantile_groups(rows, [cast(HitTable, group[HITS]) for group in groups], setting)


def level_hits(rows: DistributionRows, setting: Setting, labels: RowLabels | None = None) -> HitTable:
    """Count outcomes up to each quantile; of distributions with atoms values that are drawn evenly over the atoms.

    Without that the level may lie anywhere between two shares, and errors smaller than the atoms are not seen.
    """
    low, high = pit_bounds(rows)
    if rows.samples is None and (high > low).any():
        low = high = randomised(rows.y, low, high, setting.rng)
    return distribution_table((low, high), levels_of(rows.distribution), rows.w, labels)


def randomised(y: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return values drawn evenly from low to high; row order plays no part.

    >>> low, high = np.array([0.2, 0.6]), np.array([0.6, 0.6])
    >>> values = randomised(np.array([1.0, 2.0]), low, high, np.random.default_rng(0))
    >>> bool(0.2 < values[0] < 0.6), float(values[1])
    (True, 0.6)
    """
    order, u = content_order(y, low, high), np.empty(y.size)
    u[order] = rng.random(y.size)
    return np.asarray(low + u * (high - low))


def coordinate_hits(rows: DistributionRows) -> Several:
    (low, high), levels = pit_bounds(rows), levels_of(rows.distribution)
    code = np.zeros(rows.n, np.intp)
    return Several.of(
        {
            str(d): distribution_table((low[:, d], high[:, d]), levels, rows.w, RowLabels(code, (str(d),)))
            for d in range(low.shape[1])
        }
    )


def audit_distributions(facts: Facts, setting: Setting) -> KindFindings:
    """Audit distributions: coverage of central intervals and quantiles, scores, sharpness.

    Draws with equal weights are tested by their ranks.
    """
    rows: DistributionRows = facts.rows
    if judged_by_ranks(rows):
        return audit_samples(facts, setting)
    if rows.distribution.shape:
        return audit_vectors(facts, setting)
    kernel, missing = kernel_test(rows, setting)
    scored, not_scored = _scored(rows, setting)
    informative = audited_skill(facts, setting)
    parts = _decomposed(rows)
    try:
        table: HitTable = facts.of_all(HITS, lambda all_rows: level_hits(all_rows, setting))
        errors, not_tested = _errors_of_mean(facts, table)
        levels = Levels.of(table, setting, further=errors is not None)
    except NotApplicableError as reason:
        left_out = (str(reason), *missing, *not_scored, *informative.missing)
        found = _without_cdf((*scored, *informative.measurements, *kernel), left_out, setting)
        return informative.added_to(found)
    shown, label = (levels.lines, "outcomes up to {} quantile")
    if levels.central is not None:
        shown, label = levels.central, "coverage of {} intervals"
    of_mean, mean_lines = _mean_tested(errors, levels, setting)
    section = Section(
        "distributions",
        "Predictive distributions",
        "Do outcomes fall where predicted, as often as predicted?",
        (
            *_randomised(rows, tables.level_measurements(shown, "coverage", label)),
            *tables.joint_measurement(levels.joint, levels.tests, setting),
            *mean_lines,
            *scored,
            *informative.measurements,
            *(() if parts is None else score_parts("{} part of CRPS", parts)),
            *tables.described(kernel, setting, exact=True),
        ),
        (*coverage_figure(levels.lines), *pit_figure(rows, setting.level)),
        (quantile_table(levels),),
    )
    left_out = (*missing, *not_scored, *not_tested, *informative.missing)
    keep = (*sampled(facts, COVERAGES), *levels.caveats(setting, rows))
    caveats: tuple[Note | str, ...] = (*keep, *_caveats(rows, parts), *left_out)
    case = levels.case(setting)
    case = replace(case, families=(*case.families, *of_mean))
    return informative.added_to(KindFindings((section,), case, caveats))


def _errors_of_mean(facts: Facts, table: HitTable) -> tuple[Moments | None, tuple[str, ...]]:
    """Return the errors of the mean of distributions, or why it is not tested."""
    if facts.rows.samples is not None or not table.has_equal_weights:
        return None, ()
    errors: Moments = facts.of_all(ERRORS, standardised_errors)
    try:
        check_rows(errors)
    except NotApplicableError as reason:
        return None, (f"The mean is not tested: {reason}.",)
    return errors, ()


def _mean_tested(
    errors: Moments | None, levels: Levels, setting: Setting
) -> tuple[tuple[Family, ...], tuple[Measurement, ...]]:
    if errors is None:
        return (), ()
    found = mean_error(errors, levels.lines.rate)
    p = min(1.0, levels.tests * setting.families * found.pvalue)
    label, limits = "mean error, in predictive sd (positive: too high)", (found.low, found.high)
    method = f"{TEST}, adjusted for all tests"
    line = Measurement("shift", label, found.estimate, 0.0, interval=limits, pvalue=p, method=method, decides=True)
    return (found.family(p),), (line,)


def _randomised(rows: DistributionRows, lines: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
    if rows.samples is not None or not rows.distribution.is_discrete:
        return lines
    return tuple(replace(line, method=f"{RANDOMISED}; {line.method}") for line in lines)


def levels_of(distribution: Distribution) -> FloatArray:
    """Return the levels at which a distribution is tested; those of M draws are multiples of 1/(M + 1), to be exact."""
    if not isinstance(distribution, Samples):
        return LEVELS
    N = distribution.M + 1
    low = np.unique(np.clip(np.rint(LEVELS[LEVELS < 0.5] * N), 1, max(1, (N - 1) // 2)))
    k = np.unique([*low[2 * low < N], *([N // 2] if N % 2 == 0 else []), *(N - low[2 * low < N])])
    return np.asarray(k / N, dtype=np.float64)


def distribution_table(bounds: Bounds, levels: FloatArray, w: FloatArray, labels: RowLabels | None = None) -> HitTable:
    """Count outcomes up to and below each quantile, from the values F(y-) and F(y) of the predictive distribution.

    The outcome is at most the quantile τ if and only if F(y-) < τ. If the distribution is right, this has probability
    at least τ, and F(y) <= τ has probability at most τ.
    """
    low, high = bounds

    def counted(u: FloatArray, edges: FloatArray) -> HitTable:
        cells = Quantiles(np.broadcast_to(edges, (u.size, edges.size)), levels)
        return HitTable.of(QuantileRows(u, cells, w), labels)

    return replace(counted(low, np.nextafter(levels, 0)), inside=counted(high, levels).wc)


def _scored(rows: DistributionRows, setting: Setting) -> Collected:
    several = rows.samples is not None and rows.samples.M > 1
    label, options = ("CRPS, fair", {"fair": True}) if several else ("CRPS", {})
    found, missing = score(crps, label, rows, setting, **options)
    if rows.samples is None:
        more, left_out = score(log_score, "log score", rows, setting)
        found, missing = (*found, *more), (*missing, *left_out)
    if rows.samples is None or several:
        try:
            value = float(np.ravel(sharpness(rows.distribution, weights=rows.w))[0])
        except NotApplicableError as reason:
            return found, (*missing, f"sharpness does not apply: {reason}.")
        found = (*found, Measurement("sharpness", "mean standard deviation", value))
    return found, missing


def _decomposed(rows: DistributionRows) -> CrpsDecomposition | None:
    """Split the CRPS if that is quick; with many rows a distribution is evaluated at fewer levels."""
    options: dict[str, Any] = {}
    if rows.samples is not None:
        if rows.n * rows.samples.M > MAX_SPLIT:
            return None
    else:
        number = min(MAX_DECOMPOSED_LEVELS, MAX_SPLIT // rows.n)
        if number < MIN_DECOMPOSED_LEVELS:
            return None
        options["levels"] = (np.arange(number) + 0.5) / number
    try:
        parts: CrpsDecomposition = of_rows(decompose, rows, **options)
    except NotApplicableError:
        return None
    return parts


def _caveats(rows: DistributionRows, parts: CrpsDecomposition | None) -> list[str]:
    found = []
    if rows.samples is not None:
        found.append(
            f"{rows.samples.M:,} draws per row are tested at levels that are multiples of "
            f"1/{rows.samples.M + 1:,}. Draws that rows share make rows dependent; no test here accounts for this."
        )
    elif rows.distribution.is_discrete:
        found.append(
            f"{RANDOMISED}: where the distribution function jumps at the outcome, its value is drawn evenly over the "
            "jump, and counted in place of the outcome. Another rng gives other coverages."
        )
    if parts is None:
        found.append("The CRPS is not split: it has no closed form here, or there are too many rows.")
    return found


def _without_cdf(measurements: tuple[Measurement, ...], missing: tuple[str, ...], setting: Setting) -> KindFindings:
    used = tuple(replace(m, decides=m.name == "skce_test" and m.pvalue is not None) for m in measurements)
    section = Section("distributions", "Predictive distributions", "Are the distributions right as a whole?", used)
    p = next((m.pvalue for m in measurements if m.name == "skce_test"), None)
    return KindFindings((section,), _kernel_case(p, setting), missing)


def places_of_rows(rows: DistributionRows) -> FloatArray | None:
    """Return the middle of [F(y-), F(y)], its mean over the coordinates of a vector: 1/2 on average if F is right."""
    try:
        low, high = pit_bounds(rows)
    except NotApplicableError:  # without a distribution function
        return None
    return np.asarray((low / 2 + high / 2).reshape(rows.n, -1).mean(axis=1))


DISTRIBUTIONS = Kind(
    audit_distributions, distribution_groups, count_distributions, count_groups_of_distributions, places_of_rows
)
