"""Coverage in an audit: its measurements, tables and sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.core.evidence import SMALL_GROUP, PartKind, SubjectKind
from calibrant.core.findings import Figure, Grouped, Measurement, Section, Setting, Table
from calibrant.core.plots import groups_figure
from calibrant.core.results import Curve, TestResult
from calibrant.core.words import level_words, small_groups
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping, RowLabels
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.regions.coverage_test import has_ties, multinomial_coverage_test
from calibrant.regions.evidence import COVERAGE, Beside, Judged, Plan, group_family
from calibrant.regions.hits import ALL, HitTable
from calibrant.regions.hsic import coverage_hsic, hsic_permutations, permutation_pvalue
from calibrant.regions.lines import (
    Lines,
    Rule,
    filled,
    filled_sizes,
    level_lines,
    lines_of,
    position_labels,
    position_lines,
    promise,
    size_lines,
)
from calibrant.regions.sizes import Sizes, size_stratified_coverage

MAX_LEVELS_SHOWN = 9  # with their own measurements; more are in a table
NOT_USED = "not part of the verdict"
JOINT = "multinomial_coverage_test"


def level_measurements(lines: Lines, name: str, label: str) -> tuple[Measurement, ...]:
    """Return one measurement per level, with its limits, the nominal level to compare with, and the p-value."""
    curve = lines.curve
    if curve.nominal.size > MAX_LEVELS_SHOWN:
        return ()
    found: list[Measurement] = []
    for k, line in enumerate(lines_of(curve)):
        known, tested = not np.isnan(line["nominal"]), not np.isnan(line["pvalue_adjusted"])
        found.append(
            Measurement(
                level_name(name, curve.nominal, k),
                label.format(level_words(line["nominal"])) if known else label.replace("{} ", ""),
                line["coverage"],
                expected=line["nominal"] if known else None,
                at_least=known and lines.rule.counts_low and not lines.exact,
                interval=(line["lower"], line["upper"]),
                pvalue=line["pvalue_adjusted"] if tested else None,
                method=f"{curve.method}, adjusted for all levels and families" if tested else curve.method,
                details={"pvalue_unadjusted": line["pvalue"]} if tested else {},
                decides=tested,
            )
        )
    return tuple(found)


def level_name(name: str, levels: FloatArray, k: int) -> str:
    """Return the name of a measurement at level number k: its own if there is one level, else with the level.

    >>> level_name("width", np.array([0.9]), 0), level_name("width", np.array([0.5, 0.9]), 1)
    ('width', 'width.0.9')
    """
    if levels.size == 1:
        return name
    return f"{name}.{k}" if np.isnan(levels[k]) else f"{name}.{levels[k]:.10g}"


def at_level(measurement: Measurement, things: str, levels: FloatArray, k: int) -> Measurement:
    """Return a measurement of level number k; of several levels its name and label say which."""
    if levels.size == 1:
        return measurement
    which = f"{things} {k}" if np.isnan(levels[k]) else f"{level_words(float(levels[k]))} {things}"
    return replace(measurement, name=level_name(measurement.name, levels, k), label=f"{which}: {measurement.label}")


def joint_test(table: HitTable, setting: Setting, rule: Rule) -> TestResult | None:
    if (
        table.levels.size < 2
        or np.isnan(table.levels).any()
        or has_ties(table)
        or not (table.nested and table.has_equal_weights)
        or setting.calibration_size is not None
        or rule.alternative != "two-sided"
    ):
        return None
    return multinomial_coverage_test(table, resamples=setting.resamples, rng=setting.rng)


def joint_measurement(joint: TestResult | None, tests: int, setting: Setting) -> tuple[Measurement, ...]:
    """Return the line of the test of all levels together: the largest distance of a coverage from its level."""
    if joint is None:
        return ()
    details = {"statistic": joint.statistic, "df": joint.details["df"], "pvalue_unadjusted": joint.pvalue}
    line = Measurement(JOINT, "largest gap, all levels together", joint.estimate, details=details, decides=True)
    pvalue = min(1.0, setting.families * tests * joint.pvalue)
    return (replace(line, pvalue=pvalue, method=f"{joint.method}, adjusted for all levels and families"),)


KERNEL_TEST, SIZE_TEST = "skce_test", "coverage_hsic"


def described(
    measurements: Sequence[Measurement], setting: Setting, *, exact: bool, ties: bool = False
) -> tuple[Measurement, ...]:
    """Mark measurements that the verdict does not use.

    The kernel test asks whether coverage equals its level, whatever the prediction, and that of sizes whether it is the
    same for all. Their p-values would contradict a verdict for which more coverage is right too (not `exact`), as with
    outcomes on bounds (`ties`), or for which the calibration set decides.
    """
    found = []
    for line in measurements:
        of_kernel, why = line.name.startswith(KERNEL_TEST), ""
        if setting.calibration_size is not None and of_kernel:
            why = "no p-value: this test cannot allow for the calibration set"
        elif (of_kernel and not exact) or (line.name.startswith(SIZE_TEST) and ties):
            why = "no p-value: more coverage than the level is right here, and this test would reject it"
        if line.pvalue is None or line.decides:
            found.append(line)
        elif why:
            found.append(replace(line, pvalue=None, method=f"{line.method}; {why}", details={}))
        else:
            found.append(replace(line, method=f"{line.method}; {NOT_USED}"))
    return tuple(found)


def line_table(name: str, title: str, curve: Curve, note: str, *, first: str = "group") -> Table:
    in_groups = set(curve.group.tolist()) != {ALL}
    known = not np.isnan(curve.nominal).any()
    nominal = known and (len(np.unique(curve.nominal)) > 1 or not in_groups)
    columns = _columns(curve, nominal=nominal, tested=known and "pvalue_adjusted" in curve.columns)
    groups = {first: tuple(map(str, curve.group[curve.count > 0].tolist()))} if in_groups else {}
    return Table(name, title, {**groups, **columns}, note)


def _columns(curve: Curve, *, nominal: bool, tested: bool) -> dict[str, tuple[Any, ...]]:
    def column(name: str) -> tuple[Any, ...]:
        values = curve.columns[name][curve.count > 0].tolist()
        return tuple(None if isinstance(value, float) and np.isnan(value) else value for value in values)

    return {
        **({"nominal": column("nominal")} if nominal else {}),
        "n": column("count"),
        "coverage": column("coverage"),
        "interval": tuple(zip(column("lower"), column("upper"), strict=True)),
        **({"pvalue_adjusted": column("pvalue_adjusted")} if tested else {}),
    }


def worst_curve_first(curves: list[Curve]) -> Curve:
    columns: dict[str, Any] = {
        key: np.concatenate([curve.columns[key] for curve in curves]) for key in curves[0].columns
    }
    gap = np.abs(columns["coverage"] - columns["nominal"])
    order = np.lexsort([-gap, columns["pvalue"]])
    return replace(curves[0], columns={key: column[order] for key, column in columns.items()})


def group_table(
    curves: list[Curve], several: bool, setting: Setting, *, name: str = "groups", title: str = "Groups"
) -> Table:
    curve, noun = worst_curve_first(curves), name.removesuffix("s")
    test = "Beta-binomial" if "calibration_size" in curve.details else "Binomial"
    small = int(np.count_nonzero(curve.count < SMALL_GROUP))
    families = f" and for {setting.families} families of tests" if setting.families > 1 else ""
    note = (
        f"{test} test of each {noun}{' and level' if several else ''}; p-values and limits allow for all of them "
        f"together{families}.{small_groups(small) if noun == 'group' else ''}"
    )
    columns = _columns(curve, nominal=several, tested=True)
    return Table(name, title, {noun: tuple(curve.group[curve.count > 0].tolist()), **columns}, note)


def grouped(tables: Sequence[HitTable], setting: Setting, rule: Rule, *, quantity: str, several: bool) -> Grouped:
    tests = sum(filled(table) for table in tables)
    curves = [level_lines(table, setting, rule, tests=tests).curve for table in tables]
    table = group_table(curves, several, setting)
    table = replace(table, note=table.note + only_one_side(rule))
    figure = groups_figure(table, level=setting.level, nominal=float(curves[0].nominal[0]))
    return Grouped(table, group_family(curves, quantity, setting), (figure,))


def only_one_side(rule: Rule) -> str:
    if rule.alternative == "two-sided":
        return ""
    return f" Only too {'low' if rule.counts_low else 'high'} a coverage counts."


def one_level(curve: Curve) -> tuple[Curve, str]:
    """Return the lines of the level with the smallest p-value, which a picture can show, and its name."""
    if len(np.unique(curve.nominal)) == 1:
        return curve, ""
    level = curve.nominal[np.nanargmin(curve.pvalue) if not np.isnan(curve.pvalue).all() else 0]
    kept = {name: column[curve.nominal == level] for name, column in curve.columns.items()}
    return replace(curve, columns=kept), f", level {level_words(float(level))}"


MAX_PERMUTED_ROWS = 20_000_000  # over all permutations
MIN_PERMUTATIONS = 99

SizedRows = IntervalRows | SetRows


@dataclass(frozen=True, eq=False)
class Covered:
    """What is counted once for all sections: hits and sizes, and judged lines of all rows, by size and by place."""

    table: HitTable
    sizes: Sizes
    lines: Lines
    by_size: Lines
    by_place: Lines | None
    joint: TestResult | None

    @property
    def tests(self) -> int:
        return filled(self.table) + (self.joint is not None)

    @property
    def beside(self) -> Beside | None:
        return None if self.joint is None else Beside(JOINT, self.joint.pvalue, self.tests, bounded=True)

    def parts(self, kind: SubjectKind, size: PartKind) -> list[Judged]:
        found = []
        if filled_sizes(self.sizes):
            found.append(Judged(self.by_size, kind, part=size))
        if self.by_place is not None:
            found.append(Judged(self.by_place, kind, part="place"))
        return found

    def plan(self, setting: Setting) -> Plan:
        levels = np.sort(self.table.levels)
        return Plan(levels, self.lines.rule, self.lines.family_rate, calibration_size=setting.calibration_size)


def covered(rows: Any, table: HitTable, setting: Setting) -> Covered:
    rule, sizes = promise(rows, setting), Sizes.of(rows)
    joint = joint_test(table, setting, rule)
    labels = position_labels(rows) if rows.kind == "intervals" else None
    places = 0 if labels is None else table.levels.size * sum(name != "" for name in labels.values)
    tests = filled_sizes(sizes) + places
    return Covered(
        table,
        sizes,
        level_lines(table, setting, rule, tests=filled(table) + (joint is not None)),
        size_lines(rows, sizes, setting, rule, tests=tests),
        None if labels is None else position_lines(rows, labels, setting, rule, tests=tests),
        joint,
    )


def coverage_section(found: Covered, setting: Setting, kind: SubjectKind, further: Any, tables: Any) -> Section:
    things, levels = kind, found.table.levels
    note = "P-values and limits allow for all levels and families."
    lines = line_table("levels", "Coverage of each level", found.lines.curve, note)
    figure = Figure(
        "coverage",
        "Nominal against observed coverage",
        f"On the dashed line the {things} have the stated coverage; below it they cover too little, above it more than "
        "stated. The band around the dots covers all levels together.",
        found.lines.curve,
    )
    return Section(
        "coverage",
        "Coverage",
        f"Do the {things} cover the outcome as often as their level says?",
        (
            *level_measurements(found.lines, "coverage", f"coverage of {{}} {things}"),
            *joint_measurement(found.joint, found.tests, setting),
            *further,
        ),
        (figure,) if levels.size > 1 and not np.isnan(levels).any() else (),
        (*([lines] if levels.size > MAX_LEVELS_SHOWN else []), *tables),
    )


def size_section(found: Covered, setting: Setting, kind: SubjectKind, size: str) -> Section:
    measurements = tuple(
        at_level(measurement, kind, found.table.levels, k)
        for k in places_of(found)
        for measurement in _size_measurements(_one(found.sizes, k), setting, size, MAX_PERMUTED_ROWS // found.sizes.L)
    )
    shown = [("sizes", size, f"of about the same {size}", found.by_size)] if filled_sizes(found.sizes) else []
    if found.by_place is not None:
        shown.append(("places", "place", "at about the same place", found.by_place))
    tables, figures = [], []
    for name, noun, of, lines in shown:
        title, rows = f"Coverage by {noun}", f"for rows with {kind} {of}"
        allowed = "p-values and limits allow for all lines of this section and all families."
        note = f"Rows with {kind} {of}; {allowed}{only_one_side(lines.rule)}"
        tables.append(line_table(name, title, lines.curve, note, first=noun))
        curve, level = one_level(lines.curve)
        if np.count_nonzero(curve.count) > 1:  # a single dot needs no picture
            reading = (
                f"Each line is {rows}. A level outside its line is missed by more than chance: the lines cover all "
                "parts together."
            )
            figures.append(Figure(name, title + level, reading, curve))
    title, question = f"By {size}", f"Is coverage the same for rows with {kind} of small and of large {size}"
    if found.by_place is not None:
        title, question = f"{title} and place", f"{question}, and wherever they lie"
    ties = not found.lines.exact and has_ties(found.table)
    marked = described(measurements, setting, exact=found.lines.exact, ties=ties)
    return Section("sizes", title, f"{question}?", marked, tuple(figures), tuple(tables))


def places_of(found: Covered) -> range:
    return range(found.sizes.L if found.sizes.L <= MAX_LEVELS_SHOWN else 0)


def per_level(found: Covered, columns: dict[str, Any], title: str, note: str) -> tuple[Table, ...]:
    """Return a table of what many levels have each: sizes, scores, and coverage by size in one number."""
    if places_of(found):
        return ()
    known, sizes = not np.isnan(found.table.levels).any(), found.sizes
    shown = {"nominal": found.table.levels if known else range(sizes.L), **columns}
    shown["lowest by size"] = size_stratified_coverage(sizes)
    if sizes.n > 1:
        shown["HSIC"] = coverage_hsic(sizes)
    return (Table("levels.sizes", title, {k: tuple(np.ravel(v).tolist()) for k, v in shown.items()}, note),)


def sized_groups(rows: SizedRows, tables: Sequence[HitTable], setting: Setting) -> Grouped:
    return grouped(tables, setting, promise(rows, setting), quantity=COVERAGE, several=rows.covered.shape[1] > 1)


def labels_of(grouping: Grouping) -> RowLabels:
    return RowLabels(grouping.code, tuple(grouping.names))


def _one(sizes: Sizes, k: int) -> Sizes:
    one = slice(k, k + 1)
    return replace(sizes, levels=sizes.levels[one], single=True, largest=sizes.largest[one], parts=sizes.parts[one])


def _size_measurements(sizes: Sizes, setting: Setting, size: str, most: int) -> tuple[Measurement, ...]:
    """Return the measurements of the sizes of one level; permutations may use `most` rows in all."""
    lowest = Measurement(
        "size_stratified_coverage",
        f"lowest coverage by {size}",
        float(size_stratified_coverage(sizes)),
        method="lowest coverage of the groups in the table; low by chance if groups are small",
    )
    if sizes.n < 2:
        return (lowest,)
    label = f"HSIC of {size} and coverage"
    cost = min(sizes.n, 8 * sizes.tied(0).size.size)
    B = min(setting.resamples, most // cost)
    if min(MIN_PERMUTATIONS, setting.resamples) > B or not sizes.parts[0].has_equal_weights:
        return lowest, Measurement("coverage_hsic", label, float(coverage_hsic(sizes)))
    value, permuted = hsic_permutations(sizes, 0, resamples=B, rng=setting.rng)
    pvalue = permutation_pvalue(permuted, value)
    return lowest, Measurement("coverage_hsic", label, value, pvalue=pvalue, method=f"{B} permutations of the hits")
