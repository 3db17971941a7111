"""The audit against what was known of each row: where predictions are off, for every kind."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from calibrant.conditional.conditional_map import map_of
from calibrant.conditional.conditional_test import ConditionalOptions, Found, found_of, prepare, refuse_outcomes
from calibrant.conditional.kept import KeptCovariates
from calibrant.conditional.parts import Part
from calibrant.conditional.regions import Region
from calibrant.conditional.residuals import Column, Residuals
from calibrant.core.evidence import Error, Evidence, Family, Note, Subject, note
from calibrant.core.findings import Facts, Figure, Measurement, Section, Setting, Table
from calibrant.core.results import TestResult
from calibrant.errors import NotApplicableError
from calibrant.inputs.kinds import LEVELLED
from calibrant.ranking.draw_evidence import in_content_order
from calibrant.ranking.rank_checks import coordinate_ranks, refuse_unequal
from calibrant.regions.lines import promise

MIN_REDRAWS, MAX_REDRAWS = 199, 999
MAX_WORK = 1e8  # rows times squared covariates, above which there are few redraws
READING = (
    "Observed less predicted in cells of each covariate, clearest first. The limits are for all cells together. "
    "Shaded: the region that deviates most."
)
ABOUT_REGIONS = "Limits are adjusted for all regions that were looked at. A region was chosen after looking."
ABOUT_PARTS = (
    "No part of this share of the rows that one covariate cuts out is off by more. Nothing is said of corners of two "
    "covariates or of single rows."
)

SHARE_NAMES = {1.0: "all rows", 1 / 2: "half", 1 / 4: "quarter", 1 / 8: "eighth", 1 / 16: "sixteenth"}
SHARES_CLAIMED = (1 / 4, 1 / 16)
LEAST_COVERAGE_ERROR = {"shift": 1 / (2 * math.sqrt(3)), "spread": 1 / (1.5 * math.sqrt(5))}
USUAL_COVERAGE_ERROR = 0.42  # per mean of φ, a little more than that of a shift or a spread of normal distributions


class Where(NamedTuple):
    """What was found about covariates: evidence, None if they were not searched, what is said of it, a section."""

    family: Family | None
    notes: tuple[Note, ...]
    sections: tuple[Section, ...] = ()
    related: tuple[str, ...] = ()


def where_off(facts: Facts, setting: Setting) -> Where:
    """Search the covariates of a setting at the level that is left to one family of tests."""
    try:
        kept, options = _kept(facts, setting)
        prepared = prepare(kept, options, setting.class_names)
        found = found_of(prepared)
    except NotApplicableError as reason:
        if setting.part is not None:
            raise
        return Where(None, (note("not searched", why=str(reason)),))
    residuals = prepared.searched.residuals
    family = _family(found, residuals, setting.families, setting.part)
    functions = found.details.get("function_each", ())
    related = (functions,) if isinstance(functions, str) else tuple(functions)
    is_related = family.pvalue is not None and family.pvalue <= 1 - setting.level
    return Where(
        family,
        tuple(_notes(found, family, setting)),
        (_section(found, prepared, setting),),
        related=related if is_related and residuals.contrast else (),
    )


def _kept(facts: Facts, setting: Setting) -> tuple[KeptCovariates, ConditionalOptions]:
    rows = facts.rows
    if rows.samples is not None:
        refuse_unequal(rows, "covariates")
        rows, setting, _ = in_content_order(rows, setting)
    covariates = setting.covariates
    assert covariates is not None
    refuse_outcomes(rows, covariates)
    if rows.samples is not None:
        kept = KeptCovariates.of_ranked(coordinate_ranks(rows, setting), rows.w, covariates)
    else:
        kept = KeptCovariates.of(rows, covariates, setting.clusters)
    q = covariates.q + 1
    few = MIN_REDRAWS if rows.n * q * q > MAX_WORK else max(MIN_REDRAWS, min(setting.resamples, MAX_REDRAWS))
    level = setting.family_level
    return kept, ConditionalOptions(
        level=level,
        resamples=max(few, math.ceil(2 / (1 - level))),
        alternative=promise(rows, setting).alternative if rows.kind in LEVELLED else None,
        calibration_size=setting.calibration_size,
        rng=setting.rng,
    )


def _family(found: TestResult, residuals: Residuals, families: int, part: float | None) -> Family:
    """Return the evidence of the regions that are stated; its p-value is that of the test of all of them together."""
    p = min(1.0, families * float(found.pvalue))
    regions = [
        replace(
            region_evidence(region, residuals.columns[region.column], float(residuals.units[region.column])),
            pvalue=max(p, min(1.0, families * region.pvalue)),
            at_floor=max(found.pvalue, region.pvalue) <= found.details["smallest possible"] * (1 + 1e-9),
        )
        for region in found.details["regions"]
    ]
    of = "part_error" if residuals.is_share else "part_coverage_error"
    limits = {e.share: part_evidence(e, of, found.n) for e in found.details["parts"] if not math.isnan(e.at_most)}
    beside = [limits[share] for share in SHARES_CLAIMED if share in limits and share != part]
    average = found.details["average_error"]
    if average is not None and average.low > 0:
        size = average.estimate, average.low, math.inf
        subject = Subject("covariates", name="single rows, on average")
        beside.append(Evidence(subject, "average_error", *size, found.n, test="signs learned on other rows"))
    required = None
    if part is not None:
        larger = tuple(limits[share] for share in sorted(limits) if share > part)
        required = replace(limits.get(part) or part_evidence(Part(part, 1.0), of, found.n), explanation=larger)
    given = found.details["given"]
    searched = Subject("covariates", name="1 covariate" if given == 1 else f"{given} covariates")
    relation = Evidence(searched, "relation", math.nan, rows=found.n, test="conditional_test", pvalue=p)
    return Family("covariates", tuple(regions), given, True, True, p, tuple(beside), relation, required)


def region_evidence(region: Region, column: Column, unit: float) -> Evidence:
    """Return what is known of a region: the share that was seen where another was stated, or a shift or a spread.

    The error of draws and distributions is that of the coverage of an interval between two quantiles. It is at least
    |mean of φ_1| / 2√3 and |mean of φ_2| / 1.5√5, because the differences of a distribution function from that of
    uniform ranks lie within Kuiper's range.
    """
    name = f"class {column.name} for {region.where}" if column.quantity == "class frequency" else region.where
    if column.coordinate:
        name = f"{column.coordinate} for {region.where}"
    subject = Subject("region", name=name, level=column.level)
    quantity, test = column.quantity, "conditional_test"
    low, value, high, error = region.low, region.difference, region.high, None
    if column.quantity in LEAST_COVERAGE_ERROR:
        mean, least, most = abs(value / unit), max(0.0, low / unit, -high / unit), max(abs(low), abs(high)) / unit
        factor = LEAST_COVERAGE_ERROR[column.quantity]
        error = Error(factor * mean, factor * least, most * USUAL_COVERAGE_ERROR, most * USUAL_COVERAGE_ERROR)
    if column.quantity == "shift":
        size, expected = (-value, -high, -low), 0.0
    elif column.quantity == "spread":
        size, expected = (math.exp(value), math.exp(low), math.exp(high)), 1.0
    else:
        expected = region.predicted
        size = region.observed, max(0.0, expected + low), min(1.0, expected + high)
    return Evidence(subject, quantity, *size, region.n, expected, test, region.pvalue, error=error)


def part_evidence(part: Part, quantity: str, rows: int) -> Evidence:
    """Return that no part of this share is off by more."""
    subject = Subject("parts", name=SHARE_NAMES.get(part.share, f"share {part.share:.4g}"))
    return Evidence(subject, quantity, math.nan, 0.0, part.at_most, rows, test="limits of every part")


def _notes(found: TestResult, family: Family, setting: Setting) -> list[Note]:
    regions, given = found.details["regions"], found.details["given"]
    if regions:
        said = [note("goes along", region=each.where, also=each.also) for each in regions if each.also]
        return [*said, note("own map", only="miscalibrated", region=regions[0].where)]
    searched = "1 covariate" if given == 1 else f"{given} covariates"
    if len(found.details["covariates"]) > given:
        searched += " or the prediction"
    if not setting.rejects(family.pvalue):
        return [note("no region", searched=searched, p=family.pvalue)]
    direction = found.details["direction"]
    return [note("related", searched=searched, p=family.pvalue, direction=f": {direction}" if direction else "")]


def _section(found: TestResult, prepared: Found, setting: Setting) -> Section:
    measured = [
        Measurement(
            "conditional_test",
            "smaller p-value of regions and trends of the covariates",
            float(found.statistic),
            pvalue=min(1.0, setting.families * float(found.pvalue)),
            method=found.method,
            details={"largest": found.details["largest"], "visible": found.details["visible"]},
            decides=True,
        )
    ]
    average = found.details["average_error"]
    if average is not None:
        label = "error of rows on average, a lower limit"
        measured.append(Measurement("average_error", label, average.estimate, interval=(average.low, math.inf)))
    return Section(
        "covariates",
        "Where in what was known of each row",
        "Are predictions right wherever the covariates lie?",
        tuple(measured),
        _figures(found, prepared),
        _tables(found),
    )


def _figures(found: TestResult, prepared: Found) -> tuple[Figure, ...]:
    curve = map_of(prepared, tuple(region.without_rows() for region in found.details["regions"]))
    return () if curve is None else (Figure("conditional_map", "Predictions along the covariates", READING, curve),)


def _tables(found: TestResult) -> tuple[Table, ...]:
    regions, parts = found.details["regions"], found.details["parts"]
    tables = []
    if regions:
        shown = {
            "region": tuple(region.where for region in regions),
            "rows": tuple(region.n for region in regions),
            "column": tuple(found.details["columns"][region.column] for region in regions),
        }
        for name in ("observed", "predicted", "difference", "low", "high", "pvalue"):
            shown[name] = tuple(getattr(region, name) for region in regions)
        tables.append(Table("regions", "Regions, clearest first", shown, ABOUT_REGIONS))
    if parts:
        at_most = tuple(None if math.isnan(part.at_most) else part.at_most for part in parts)
        shown = {"share": tuple(SHARE_NAMES[part.share] for part in parts), "at_most": at_most}
        tables.append(Table("parts", "Parts of the rows", shown, ABOUT_PARTS))
    return tuple(tables)
