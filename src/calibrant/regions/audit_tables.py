"""Coverage in an audit: its measurements, tables and sections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.core.annotations import Alternative
from calibrant.core.findings import Figure, Grouped, Measurement, Section, Setting, Table
from calibrant.core.null import reaches
from calibrant.core.pvalues import holm
from calibrant.core.results import Curve, TestResult
from calibrant.core.words import SMALL_GROUP, percent, points, small_groups
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import Grouping
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.regions import verdict as words
from calibrant.regions.coverage_hsic import coverage_hsic, hsic_permutations
from calibrant.regions.hits import ALL, HitTable, not_nested
from calibrant.regions.sizes import Sizes, size_stratified_coverage
from calibrant.regions.verdict import (
    Line,
    Words,
    coverage_lines,
    how_off,
    joint_test,
    labels_of,
    level_words,
    lines_of,
    seen_at,
)

MAX_LEVELS_SHOWN = 9  # with their own measurements; more are in a table


def level_measurements(curve: Curve, name: str, label: str) -> tuple[Measurement, ...]:
    """Return one measurement per level, with its interval, the nominal level to compare with, and the p-value."""
    lines = lines_of(curve)
    if len(lines) > MAX_LEVELS_SHOWN:
        return ()
    found: list[Measurement] = []
    for k, line in enumerate(lines):
        known = not np.isnan(line["nominal"])
        found.append(
            Measurement(
                level_name(name, curve.nominal, k),
                label.format(level_words(line["nominal"])) if known else label.replace("{} ", ""),
                line["coverage"],
                expected=line["nominal"] if known else None,
                interval=(line["lower"], line["upper"]),
                pvalue=None if np.isnan(line["pvalue"]) else line["pvalue"],
                method=curve.method,
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


def joint_measurement(joint: TestResult | None) -> tuple[Measurement, ...]:
    """Return the line of the test of all levels together: the largest distance of a coverage from its level."""
    if joint is None:
        return ()
    return (
        Measurement(
            "multinomial_coverage_test",
            "largest gap, all levels together",
            joint.estimate,
            pvalue=joint.pvalue,
            method=joint.method,
            details={"statistic": joint.statistic, "df": joint.details["df"]},
        ),
    )


def line_table(name: str, title: str, curve: Curve, note: str, *, first: str = "group") -> Table:
    """Return the lines of a curve that have rows as a table; `first` is what its groups are called."""
    in_groups = set(curve.group.tolist()) != {ALL}
    known = not np.isnan(curve.nominal).any()
    nominal = known and (len(np.unique(curve.nominal)) > 1 or not in_groups)
    columns = _columns(curve, nominal=nominal, tested=known and "pvalue" in curve.columns)
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
        **({"pvalue": column("pvalue"), "pvalue_adjusted": column("pvalue_holm")} if tested else {}),
    }


def group_table(tables: list[Curve], several: bool, *, name: str = "groups", title: str = "Groups") -> Table:
    """Return one row per group and level, the most suspicious first, with p-values adjusted for all of them (Holm)."""
    columns = {key: np.concatenate([curve.columns[key] for curve in tables]) for key in tables[0].columns}
    columns["pvalue_holm"] = holm(columns["pvalue"])
    gap = np.abs(columns["coverage"] - columns["nominal"])
    order = np.lexsort([-gap, columns["pvalue"], columns["pvalue_holm"]])
    curve = replace(tables[0], columns={key: column[order] for key, column in columns.items()})
    noun = name.removesuffix("s")
    test = "Beta-binomial" if "calibration_size" in curve.details else "Binomial"
    small = int(np.count_nonzero(curve.count < SMALL_GROUP))
    return Table(
        name,
        title,
        {noun: tuple(curve.group.tolist()), **_columns(curve, nominal=several, tested=True)},
        f"{test} test of each {noun}{' and level' if several else ''}; p-values are adjusted for all of them "
        f"together (Holm).{small_groups(small) if noun == 'group' else ''}",
    )


def grouped(curves: list[Curve], several: bool, words: Words) -> Grouped:
    """Return the table of groups, and how each tested group is off at the level with its smallest p-value."""
    tested = [line for curve in curves for line in lines_of(curve) if not np.isnan(line["pvalue"])]
    worst: dict[str, Line] = {}
    for line in sorted(tested, key=lambda line: (line["pvalue"], -abs(line["coverage"] - line["nominal"]))):
        worst.setdefault(line["group"], line)
    return Grouped(group_table(curves, several), {group: how_off(line, words) for group, line in worst.items()})


def one_level(curve: Curve) -> tuple[Curve, str]:
    """Return the lines of the level with the smallest p-value, which a picture can show, and its name."""
    if len(np.unique(curve.nominal)) == 1:
        return curve, ""
    level = curve.nominal[np.nanargmin(curve.pvalue) if not np.isnan(curve.pvalue).all() else 0]
    kept = {name: column[curve.nominal == level] for name, column in curve.columns.items()}
    return replace(curve, columns=kept), f", level {level_words(float(level))}"


MAX_PERMUTED_ROWS = 20_000_000  # over all permutations
MIN_PERMUTATIONS = 99
ONLY_LOW = " Only too low a coverage counts."

SizedRows = IntervalRows | SetRows


@dataclass(frozen=True, eq=False)
class Covered:
    """What is counted once for all sections: hits, sizes, and the coverage of all rows and by size."""

    table: HitTable
    sizes: Sizes
    curve: Curve
    by_size: Curve
    joint: TestResult | None

    @property
    def tests(self) -> int:
        """Number of tests of all levels."""
        return 1 + (self.joint is not None)


def covered(rows: SizedRows, setting: Setting, *, alternative: Alternative) -> Covered:
    """Count hits; `alternative` says which coverage counts as wrong for rows of a size."""
    table, sizes = HitTable.of(rows), Sizes.of(rows)
    by_size = coverage_lines(sizes, setting, alternative=alternative, groups="size")
    return Covered(table, sizes, coverage_lines(table, setting), _shortened(by_size), joint_test(table, setting))


def coverage_section(found: Covered, setting: Setting, wording: words.Words, further: Any, tables: Any) -> Section:
    """Return the section on the coverage of all rows."""
    things = wording.things
    band = coverage_lines(found.table, setting, simultaneous=True)
    lines = line_table("levels", "Coverage of each level", found.curve, "P-values are adjusted for all levels (Holm).")
    figure = Figure(
        "coverage",
        "Nominal against observed coverage",
        f"On the dashed line the {things} have the stated coverage; below it {wording.too_low}, above it "
        f"{wording.too_high.removeprefix('they are ')}. The lines or the band around the dots cover all levels "
        "together.",
        band,
    )
    return Section(
        "coverage",
        "Coverage",
        f"Do the {things} cover the outcome as often as their level says?",
        (
            *level_measurements(found.curve, "coverage", f"coverage of {{}} {things}"),
            *joint_measurement(found.joint),
            *further,
        ),
        (figure,) if found.table.levels.size and not np.isnan(found.table.levels).any() else (),
        (*([lines] if found.table.levels.size > MAX_LEVELS_SHOWN else []), *tables),
    )


def size_section(found: Covered, setting: Setting, wording: words.Words, size: str) -> Section:
    """Return the section on coverage by size."""
    measurements = tuple(
        at_level(measurement, wording.things, found.table.levels, k)
        for k in places_of(found)
        for measurement in _size_measurements(_one(found.sizes, k), setting, size, MAX_PERMUTED_ROWS // found.sizes.L)
    )
    table = line_table(
        "sizes",
        f"Coverage by {size}",
        found.by_size,
        f"Rows with {wording.things} of about the same {size}; p-values are adjusted for all lines together (Holm)."
        + (ONLY_LOW if found.sizes.K else ""),
        first=size,
    )
    shown, level = one_level(found.by_size)
    figure = Figure(
        "sizes",
        f"Coverage by {size}{level}",
        f"Each line is for rows with {wording.things} of about the same {size}. A level outside its line is missed by "
        "more than chance, if this line is looked at alone.",
        shown,
    )
    several = len(set(found.by_size.group[found.by_size.count > 0].tolist())) > 1
    return Section(
        "sizes",
        f"By {size}",
        f"Is coverage the same for rows with {wording.things} of small and of large {size}?",
        measurements,
        (figure,) if several else (),
        (table,),
    )


def places_of(found: Covered) -> range:
    """Return the numbers of the levels that have measurements of their own; none if there are many."""
    return range(found.sizes.L if found.sizes.L <= MAX_LEVELS_SHOWN else 0)


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
    alternative: Alternative = "less" if isinstance(rows, SetRows) else "two-sided"
    curves = [
        coverage_lines(HitTable.of(rows, labels_of(grouping)), setting, alternative=alternative)
        for grouping in groupings
    ]
    found = grouped(curves, rows.covered.shape[1] > 1, words.INTERVALS)
    note = found.table.note + (ONLY_LOW if alternative == "less" else "")
    return found._replace(table=replace(found.table, note=note))


def _one(sizes: Sizes, k: int) -> Sizes:
    """Return the sizes of level number k alone."""
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
    pvalue = (1 + int(np.count_nonzero(reaches(permuted, value)))) / (B + 1)
    return lowest, Measurement("coverage_hsic", label, value, pvalue=pvalue, method=f"{B} permutations of the hits")


def _shortened(curve: Curve) -> Curve:
    """Write the limits of sizes with four digits, if these tell the groups of a level apart."""
    pairs = zip(curve.size_low.tolist(), curve.size_high.tolist(), strict=True)
    whole = all(float(size).is_integer() for size in (*curve.size_low, *curve.size_high))
    digits = ".4g" if whole else "#.4g"  # with zeros at the end, as other numbers in tables
    names = [f"{low:{digits}}" if low == high else f"{low:{digits}} to {high:{digits}}" for low, high in pairs]
    if len({*zip(names, curve.nominal.tolist(), strict=True)}) < len({*zip(curve.group, curve.nominal, strict=True)}):
        return curve
    return replace(curve, columns={**curve.columns, "group": np.array(names)})


def seen_caveat(curve: Curve, tests: int, setting: Setting) -> list[str]:
    """Return which shortfall such an audit detects; nothing if nothing is tested."""
    if np.isnan(curve.pvalue).all():
        return []
    seen = seen_at(curve, tests, setting)
    if seen is None:
        return ["With so few rows no shortfall of coverage is found 4 times in 5."]
    return [
        f"With this many rows coverage too low by {points(seen)} is found 4 times in 5 at the "
        f"{percent(1 - setting.level)} level, corrected for all tests; a smaller one may not be detected."
    ]


def nesting_caveat(rows: IntervalRows | SetRows) -> list[str]:
    """Say in how many rows the prediction of a lower level reaches beyond that of a higher one."""
    bad = int(np.count_nonzero(not_nested(rows)))
    if not bad:
        return []
    return [
        f"In {bad:,} of {rows.n:,} rows a prediction of a lower level reaches beyond that of a higher level. The "
        "levels are therefore not tested together. Are levels or columns exchanged?"
    ]


def conformal_caveat(things: str, setting: Setting) -> list[str]:
    """Say how the calibration set enters the coverage of split conformal prediction."""
    if setting.calibration_size is not None:
        return [
            f"Tests allow for a calibration set of {setting.calibration_size:,} scores, on which the coverage of split "
            "conformal prediction depends."
        ]
    return [
        f"If these {things} come from split conformal prediction, their coverage depends on the calibration set and "
        "these tests are too strict: pass calibration_size=, its number of scores."
    ]


def weights_caveat(n: int, w: Any) -> list[str]:
    """Say how many rows of equal weight these rows are worth."""
    effective = float(w.sum()) ** 2 / float((np.asarray(w) ** 2).sum())
    return [f"With these weights {n:,} rows count like {effective:,.0f}."] if effective < 0.9 * n else []
