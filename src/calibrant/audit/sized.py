"""Audit of what has a size and a level: intervals and sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.audit import coverage_words as words
from calibrant.audit.coverage import coverage_lines, joint_test, labels_of
from calibrant.audit.coverage_tables import (
    MOST_LEVELS,
    at_level,
    grouped,
    joint_measurement,
    level_measurements,
    line_table,
    one_level,
)
from calibrant.audit.sections import Grouped, Setting
from calibrant.inference.null import reaches
from calibrant.inputs.groups import Grouping
from calibrant.inputs.judged import IntervalRows, SetRows
from calibrant.metrics.coverage_hsic import coverage_hsic, hsic_permutations
from calibrant.metrics.size_stratified_coverage import size_stratified_coverage
from calibrant.results import Curve, Figure, Measurement, Section, Table, TestResult, Verdict
from calibrant.summaries.hit_table import HitTable
from calibrant.summaries.sizes import Sizes

PERMUTED = 20_000_000  # rows, over all permutations
FEWEST_PERMUTATIONS = 99
ONLY_LOW = " Only too low a coverage counts."

SizedRows = IntervalRows | SetRows


@dataclass(frozen=True, eq=False)
class Covered:
    """What is counted once: hits, sizes, and the coverage of all rows and by size."""

    table: HitTable
    sizes: Sizes
    curve: Curve
    by_size: Curve
    joint: TestResult | None

    @property
    def tests(self) -> int:
        """Number of tests of all levels."""
        return 1 + (self.joint is not None)


def covered(rows: SizedRows, setting: Setting, *, alternative: str) -> Covered:
    """Count hits; `alternative` says which coverage counts as wrong for rows of a size."""
    table, sizes = HitTable.of(rows), Sizes.of(rows)
    by_size = coverage_lines(sizes, setting, alternative=alternative, groups="size")
    return Covered(table, sizes, coverage_lines(table, setting), _shortened(by_size), joint_test(table, setting))


def coverage_section(found: Covered, setting: Setting, said: words.Words, further: Any, tables: Any) -> Section:
    """Return the section on the coverage of all rows."""
    things = said.things
    band = coverage_lines(found.table, setting, simultaneous=True)
    lines = line_table("levels", "Coverage of each level", found.curve, "Adjusted p-values hold for all levels (Holm).")
    figure = Figure(
        "coverage",
        "Nominal against observed coverage",
        f"On the dashed line the {things} hold what they promise; below it they are "
        f"{said.too_low.removeprefix('they are ')}, above it {said.too_high.removeprefix('they are ')}. The lines or "
        "the band around the dots hold for all levels together.",
        band,
    )
    return Section(
        "coverage",
        "Coverage",
        f"Do the {things} hold the outcome as often as their level says?",
        (
            *level_measurements(found.curve, "coverage", f"coverage of {{}} {things}"),
            *joint_measurement(found.joint),
            *further,
        ),
        (figure,) if found.table.levels.size and not np.isnan(found.table.levels).any() else (),
        (*([lines] if found.table.levels.size > MOST_LEVELS else []), *tables),
    )


def size_section(found: Covered, setting: Setting, said: words.Words, size: str) -> Section:
    """Return the section on coverage by size."""
    measurements = tuple(
        at_level(measurement, said.things, found.table.levels, k)
        for k in places_of(found)
        for measurement in _size_measurements(_one(found.sizes, k), setting, size, PERMUTED // found.sizes.L)
    )
    table = line_table(
        "sizes",
        f"Coverage by {size}",
        found.by_size,
        f"Rows with {said.things} of about one {size}; adjusted p-values hold for all lines together (Holm)."
        + (ONLY_LOW if found.sizes.K else ""),
        first=size,
    )
    shown, level = one_level(found.by_size)
    figure = Figure(
        "sizes",
        f"Coverage by {size}{level}",
        f"Each line holds rows with {said.things} of about one {size}. A level outside its line is missed by more than "
        "chance, looked at on its own.",
        shown,
    )
    several = len(set(found.by_size.group[found.by_size.count > 0].tolist())) > 1
    return Section(
        "sizes",
        f"By {size}",
        f"Is coverage the same for rows with {said.things} of small and of large {size}?",
        measurements,
        (figure,) if several else (),
        (_filled(table),),
    )


def places_of(found: Covered) -> range:
    """Return the numbers of the levels that have measurements of their own; none if there are many."""
    return range(found.sizes.L if found.sizes.L <= MOST_LEVELS else 0)


def per_level(found: Covered, columns: dict[str, Any], title: str, note: str) -> tuple[Table, ...]:
    """Return a table of what many levels have each: sizes, scores, and coverage by size in one number."""
    if places_of(found):
        return ()
    known = not np.isnan(found.table.levels).any()
    return (
        Table(
            "levels.sizes",
            title,
            {
                "nominal": tuple(found.table.levels.tolist()) if known else tuple(range(found.sizes.L)),
                **{name: tuple(np.ravel(values).tolist()) for name, values in columns.items()},
                "lowest by size": tuple(np.ravel(size_stratified_coverage(found.sizes)).tolist()),
                **({"HSIC": tuple(np.ravel(coverage_hsic(found.sizes)).tolist())} if found.sizes.n > 1 else {}),
            },
            note,
        ),
    )


def sized_groups(rows: SizedRows, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return coverage per group and level; of sets only too low a coverage counts."""
    alternative = "less" if isinstance(rows, SetRows) else "two-sided"
    curves = [
        coverage_lines(HitTable.of(rows, labels_of(grouping)), setting, alternative=alternative)
        for grouping in groupings
    ]
    table, how = grouped(curves, rows.covered.shape[1] > 1, words.INTERVALS)
    return Grouped(replace(table, note=table.note + (ONLY_LOW if alternative == "less" else "")), how)


def with_sizes(verdict: Verdict, found: Covered, setting: Setting, sentence: str, none: str) -> Verdict:
    """Let rows of one size speak, if there are several sizes."""
    filled = found.by_size.count > 0
    if len(set(found.by_size.group[filled].tolist())) < 2 or np.isnan(found.by_size.pvalue_holm[filled]).all():
        return verdict
    return words.with_sizes(verdict, found.by_size, found.curve, setting, sentence, none)


def _one(sizes: Sizes, k: int) -> Sizes:
    """Return the sizes of level number k alone."""
    one = slice(k, k + 1)
    return replace(sizes, levels=sizes.levels[one], single=True, largest=sizes.largest[one], parts=sizes.parts[one])


def _size_measurements(sizes: Sizes, setting: Setting, size: str, most: int) -> tuple[Measurement, ...]:
    """Return what sizes of one level have to say; permutations may touch `most` rows."""
    lowest = Measurement(
        "size_stratified_coverage",
        f"lowest coverage by {size}",
        float(size_stratified_coverage(sizes)),
        method="lowest coverage of the groups in the table; low by chance where groups are small",
    )
    if sizes.n < 2:
        return (lowest,)
    label = f"HSIC of {size} and coverage"
    cost = min(sizes.n, 8 * sizes.tied(0).size.size)
    B = min(setting.resamples, most // cost)
    if min(FEWEST_PERMUTATIONS, setting.resamples) > B or not sizes.parts[0].has_equal_weights:
        return lowest, Measurement("coverage_hsic", label, float(coverage_hsic(sizes)))
    value, permuted = hsic_permutations(sizes, 0, resamples=B, rng=setting.rng)
    pvalue = (1 + int(np.count_nonzero(reaches(permuted, value)))) / (B + 1)
    return lowest, Measurement("coverage_hsic", label, value, pvalue=pvalue, method=f"{B} permutations of the hits")


def _filled(table: Table) -> Table:
    """Leave out lines without rows, such as set sizes that do not occur."""
    kept = [k for k, n in enumerate(table.columns["n"]) if n]
    columns = {name: tuple(values[k] for k in kept) for name, values in table.columns.items()}
    return Table(table.name, table.title, columns, table.note)


def _shortened(curve: Curve) -> Curve:
    """Write the limits of sizes with four digits, if these tell the groups of a level apart."""
    pairs = zip(curve.size_low.tolist(), curve.size_high.tolist(), strict=True)
    whole = all(float(size).is_integer() for size in (*curve.size_low, *curve.size_high))
    digits = ".4g" if whole else "#.4g"  # with zeros at the end, as other numbers in tables
    names = [f"{low:{digits}}" if low == high else f"{low:{digits}} to {high:{digits}}" for low, high in pairs]
    if len({*zip(names, curve.nominal.tolist(), strict=True)}) < len({*zip(curve.group, curve.nominal, strict=True)}):
        return curve
    return replace(curve, columns={**curve.columns, "group": np.array(names)})
