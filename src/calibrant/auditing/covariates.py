"""The audit against what was known of each row: where predictions are off, for every kind."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.conditional.conditional_map import map_of
from calibrant.conditional.conditional_test import ConditionalOptions, found_of, prepare, refuse_outcomes
from calibrant.conditional.evidence import SHARE_NAMES, covariate_family
from calibrant.conditional.kept import KeptCovariates
from calibrant.core.evidence import Family, Note, note
from calibrant.core.findings import Facts, Figure, Measurement, Section, Setting, Table
from calibrant.core.results import Curve, TestResult
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
READING_PARTS = "At most how far any part of the rows of this share is off, whichever one covariate cuts out."


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
        found = found_of(kept, options, setting.class_names)
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
        (_section(found, kept, options, setting),),
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
    searched = _searched(found)
    if found.details["regions"]:
        said = [note("goes along", region=each.where, also=each.also) for each in found.details["regions"] if each.also]
        said.append(note("own map", only="miscalibrated", region=found.details["regions"][0].where))
    elif setting.rejects(family.pvalue):
        direction = found.details["direction"]
        said = [note("related", searched=searched, p=family.pvalue, direction=f": {direction}" if direction else "")]
    else:
        said = [note("no region", searched=searched, p=family.pvalue)]
    return said


def _searched(found: TestResult) -> str:
    names = found.details["covariates"]
    q = found.details["given"]
    covariates = f"{q} covariate{'s' if q > 1 else ''}"
    return f"{covariates} or the prediction" if len(names) > q else covariates


def _section(found: TestResult, kept: Any, options: ConditionalOptions, setting: Setting) -> Section:
    adjusted = min(1.0, setting.families * float(found.pvalue))
    test = Measurement(
        "conditional_test",
        "smaller p-value of regions and trends of the covariates",
        float(found.statistic),
        pvalue=adjusted,
        method=found.method,
        details={"largest": found.details["largest"], "visible": found.details["visible"]},
        decides=True,
    )
    average = found.details["average_error"]
    measured = [test]
    if average is not None:
        label = "error of rows on average, a lower limit"
        measured.append(Measurement("average_error", label, average.estimate, interval=(average.low, math.inf)))
    return Section(
        "covariates",
        "Where in what was known of each row",
        "Are predictions right wherever the covariates lie?",
        tuple(measured),
        _figures(found, kept, options, setting),
        _tables(found),
    )


def _figures(found: TestResult, kept: Any, options: ConditionalOptions, setting: Setting) -> tuple[Figure, ...]:
    regions = tuple(region.without_rows() for region in found.details["regions"])
    figures = []
    curve = map_of(kept, replace(options, resamples=max(MIN_REDRAWS, options.resamples)), regions, setting.class_names)
    if curve is not None:
        figures.append(Figure("conditional_map", "Predictions along the covariates", READING, curve))
    known = [part for part in found.details["parts"] if not math.isnan(part.at_most)]
    if len(known) > 1:
        columns = {
            "share": np.array([part.share for part in known]),
            "at_most": np.array([part.at_most for part in known]),
        }
        parts = Curve(
            "parts", columns, "upper limits, each of all parts of its share", found.n, {"level": options.level}
        )
        figures.append(Figure("parts", "Parts of the rows", READING_PARTS, parts))
    return tuple(figures)


def _tables(found: TestResult) -> tuple[Table, ...]:
    regions, parts = found.details["regions"], found.details["parts"]
    tables = []
    if regions:
        shown = {
            "region": tuple(region.where for region in regions),
            "rows": tuple(region.n for region in regions),
            "column": tuple(found.details["columns"][region.column] for region in regions),
            **{
                name: tuple(getattr(region, name) for region in regions)
                for name in ("observed", "predicted", "difference", "low", "high", "pvalue")
            },
        }
        note_ = "Limits are adjusted for all regions that were looked at. A region was chosen after looking."
        tables.append(Table("regions", "Regions, clearest first", shown, note_))
    if parts:
        shown = {
            "share": tuple(SHARE_NAMES[part.share] for part in parts),
            "at_most": tuple(None if math.isnan(part.at_most) else part.at_most for part in parts),
        }
        note_ = (
            "No part of this share of the rows that one covariate cuts out is off by more. Nothing is said of corners "
            "of two covariates or of single rows."
        )
        tables.append(Table("parts", "Parts of the rows", shown, note_))
    return tuple(tables)
