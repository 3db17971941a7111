"""What a search of covariates hands over to the judge: regions, parts of the rows, the average error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from calibrant.conditional.parts import Part
from calibrant.conditional.regions import Region
from calibrant.conditional.residuals import Column
from calibrant.core.evidence import Error, Evidence, Family, Subject
from calibrant.core.results import TestResult

SHARE_NAMES = {1.0: "all rows", 1 / 2: "half", 1 / 4: "quarter", 1 / 8: "eighth", 1 / 16: "sixteenth"}
SHARES_CLAIMED = (1 / 4, 1 / 16)
LEAST_COVERAGE_ERROR = {"shift": 1 / (2 * math.sqrt(3)), "spread": 1 / (1.5 * math.sqrt(5))}
USUAL_COVERAGE_ERROR = 0.42  # per mean of φ, a little more than that of a shift or a spread of normal distributions


def covariate_family(
    found: TestResult, columns: Sequence[Column], units: Any, families: int, part: float | None
) -> Family:
    """Return the evidence of the regions that are stated; its p-value is that of the test of all of them together."""
    p = min(1.0, families * float(found.pvalue))
    regions = [
        replace(
            region_evidence(region, columns[region.column], float(units[region.column])),
            pvalue=max(p, min(1.0, families * region.pvalue)),
            at_floor=max(found.pvalue, region.pvalue) <= found.details["smallest possible"] * (1 + 1e-9),
        )
        for region in found.details["regions"]
    ]
    of = "part_coverage_error" if columns[0].quantity in LEAST_COVERAGE_ERROR else "part_error"
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
