"""Audit of prediction sets."""

from __future__ import annotations

import numpy as np

from calibrant.audit import coverage_words as words
from calibrant.audit import sized
from calibrant.audit.coverage import coverage_lines
from calibrant.audit.coverage_caveats import conformal_caveat, nesting_caveat, seen_caveat, weights_caveat
from calibrant.audit.coverage_tables import at_level, line_table
from calibrant.audit.scores import kernel_test, of_rows
from calibrant.audit.sections import Part, Setting, audits
from calibrant.audit.words import percent
from calibrant.inputs.judged import SetRows
from calibrant.inputs.row_labels import RowLabels
from calibrant.metrics.width import width
from calibrant.results import Measurement, Section, Verdict
from calibrant.summaries.hit_table import HitTable

NO_SIZE = "No size of sets holds less than its level by more than chance."
STATISTICS = {
    "mean": ("width", "mean set size"),
    "empty_fraction": ("width.empty_fraction", "share of empty sets"),
    "singleton_fraction": ("width.singleton_fraction", "share of single labels"),
}


@audits(SetRows, groups=sized.sized_groups, families=2)
def audit_sets(rows: SetRows, setting: Setting) -> Part:
    """Return what there is to say about sets: their coverage, by size, and by the label that happened.

    By size and in groups only too low a coverage counts: a set of labels cannot hold its level exactly, and small sets
    of easy rows hold more. By label coverage is shown but not judged: sets that are right for every row hold rare
    labels less often.
    """
    found = sized.covered(rows, setting, alternative="less")
    known = rows.prediction.levels is not None
    sizes = {name: np.ravel(of_rows(width, rows, statistic=name)) for name in STATISTICS}
    further = [
        at_level(Measurement(*STATISTICS[name], float(values[k])), "sets", found.table.levels, k)
        for name, values in sizes.items()
        for k in sized.places_of(found)
    ]
    tables = sized.per_level(
        found, {STATISTICS[name][1]: values for name, values in sizes.items()}, "Size of the sets of each level", ""
    )
    kernel, missing = kernel_test(rows, setting) if known else ((), ())
    said = words.SETS
    verdict = (
        words.coverage_verdict("sets", [(found.curve, said)], found.joint, setting, advice=said.advice)
        if known
        else _without_level(found)
    )
    verdict = sized.with_sizes(verdict, found, setting, "Sets of size {size} hold {share}", NO_SIZE)
    sections = (
        sized.coverage_section(found, setting, said, (*further, *kernel), tables),
        sized.size_section(found, setting, said, "size"),
        _by_label(rows, setting),
    )
    caveats = (
        *nesting_caveat(rows),
        *weights_caveat(rows.n, rows.w),
        *seen_caveat(found.curve, found.tests, setting),
        *(conformal_caveat("sets", setting) if known else []),
        *missing,
    )
    return Part(sections, verdict, caveats)


def _without_level(found: sized.Covered) -> Verdict:
    return Verdict(
        "cannot tell",
        "These sets have no nominal level to compare their coverage with.",
        (
            f"They hold {percent(float(found.curve.coverage[0]))} of the outcomes. Pass Sets(mask, level) to say how "
            "many they are to hold.",
        ),
    )


def _by_label(rows: SetRows, setting: Setting) -> Section:
    occurring, code = np.unique(rows.y, return_inverse=True)
    names = tuple(setting.class_names[k] for k in occurring.tolist())
    curve = coverage_lines(HitTable.of(rows, RowLabels(code.astype(np.intp), names)), setting)
    order = np.lexsort([curve.nominal, curve.coverage])
    columns = {name: column[order] for name, column in curve.columns.items() if not name.startswith("pvalue")}
    table = line_table(
        "labels",
        "Coverage by the label that happened",
        type(curve)(curve.kind, columns, curve.method, curve.n, curve.details),
        "Shown, not judged: sets that are right for every row hold rare labels less often than others.",
        first="label",
    )
    return Section("labels", "By label", "Which labels do the sets miss?", (), (), (table,))
