"""Coverage in an audit: its measurements and its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit.coverage import lines_of
from calibrant.audit.coverage_words import Line, Words, how_off, level_words
from calibrant.audit.groups import SMALL_GROUP, small_groups
from calibrant.audit.sections import Grouped
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.multiplicity import holm
from calibrant.results import Curve, Measurement, Table, TestResult
from calibrant.summaries.hit_table import ALL

MOST_LEVELS = 9  # that have measurements of their own; more are in a table


def level_measurements(curve: Curve, name: str, label: str) -> tuple[Measurement, ...]:
    """Return one measurement per level, with its interval, the nominal level to compare with, and the p-value."""
    lines = lines_of(curve)
    if len(lines) > MOST_LEVELS:
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
            "coverage_test.joint",
            "largest gap, all levels together",
            joint.estimate,
            pvalue=joint.pvalue,
            method=joint.method,
            details={"statistic": joint.statistic, "df": joint.details["df"]},
        ),
    )


def line_table(name: str, title: str, curve: Curve, note: str, *, first: str = "group") -> Table:
    """Return the lines of a curve as a table; `first` is what its groups are called."""
    return Table(name, title, _columns(curve, first), note)


def group_table(tables: list[Curve], several: bool, *, name: str = "groups", title: str = "Groups") -> Table:
    """Return one row per group and level, the most suspicious first, with p-values adjusted for all of them (Holm)."""
    keys = tables[0].columns.keys()
    columns = {key: np.concatenate([np.asarray(curve.columns[key], object) for curve in tables]) for key in keys}
    pvalue = columns["pvalue"].astype(np.float64)
    columns["pvalue_holm"] = holm(pvalue)
    gap = -np.abs((columns["coverage"] - columns["nominal"]).astype(np.float64))
    order = np.lexsort([gap, pvalue, columns["pvalue_holm"].astype(np.float64)])
    count = columns["count"].astype(np.int64)

    def column(of: str) -> tuple[Any, ...]:
        return tuple(_plain(value) for value in columns[of][order].tolist())

    small = int(np.count_nonzero(count < SMALL_GROUP))
    noun = name.removesuffix("s")
    test = "Beta-binomial" if "calibration_size" in tables[0].details else "Binomial"
    return Table(
        name,
        title,
        {
            noun: column("group"),
            **({"nominal": column("nominal")} if several else {}),
            "n": column("count"),
            "coverage": column("coverage"),
            "interval": tuple(zip(column("lower"), column("upper"), strict=True)),
            "pvalue": column("pvalue"),
            "pvalue_adjusted": column("pvalue_holm"),
        },
        f"{test} test of each {noun}{' and level' if several else ''}; adjusted p-values hold for all of them "
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


def _columns(curve: Curve, name: str) -> dict[str, tuple[Any, ...]]:
    first = {} if set(curve.group.tolist()) == {ALL} else {name: tuple(map(str, curve.group.tolist()))}
    several = len(np.unique(curve.nominal)) > 1
    known = not np.isnan(curve.nominal).any()
    return {
        **first,
        **({"nominal": tuple(curve.nominal.tolist())} if known and (several or not first) else {}),
        "n": tuple(curve.count.tolist()),
        "coverage": tuple(map(_plain, curve.coverage.tolist())),
        "interval": tuple(zip(map(_plain, curve.lower.tolist()), map(_plain, curve.upper.tolist()), strict=True)),
        **(
            {
                "pvalue": tuple(map(_plain, curve.pvalue.tolist())),
                "pvalue_adjusted": tuple(map(_plain, curve.pvalue_holm.tolist())),
            }
            if known and "pvalue" in curve.columns
            else {}
        ),
    }


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
