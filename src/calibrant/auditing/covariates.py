"""The audit against what was known of each row: where predictions are off, for every kind."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from calibrant.conditional.conditional_map import map_of
from calibrant.conditional.conditional_test import ConditionalOptions, Found, found_of, prepare, refuse_outcomes
from calibrant.conditional.evidence import SHARE_NAMES, covariate_family
from calibrant.conditional.kept import KeptCovariates
from calibrant.core.evidence import Family, Note, note
from calibrant.core.findings import Facts, Figure, Measurement, Section, Setting, Table
from calibrant.core.results import TestResult
from calibrant.errors import NotApplicableError
from calibrant.inputs.kinds import LEVELLED
from calibrant.ranking.draw_evidence import in_content_order
from calibrant.ranking.kept_ranks import KeptRanks
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
    family = covariate_family(found, residuals.columns, residuals.units, setting.families, setting.part)
    functions = found.details.get("function_each", ())
    related = (functions,) if isinstance(functions, str) else tuple(functions)
    is_related = family.pvalue is not None and family.pvalue <= 1 - setting.level
    return Where(
        family,
        tuple(_notes(found, family, setting)),
        (_section(found, prepared, setting),),
        related=related if is_related and residuals.contrast else (),
    )


def _kept(facts: Facts, setting: Setting) -> tuple[Any, ConditionalOptions]:
    rows = facts.rows
    if rows.samples is not None:
        refuse_unequal(rows, "covariates")
        rows, setting, _ = in_content_order(rows, setting)
    covariates = setting.covariates
    assert covariates is not None
    refuse_outcomes(rows, covariates)
    if rows.samples is not None:
        kept: Any = KeptRanks.of_ranked(coordinate_ranks(rows, setting), rows.w, covariates)
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
