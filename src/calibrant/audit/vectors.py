"""Audit of predictive laws of vectors: each coordinate, and the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit import coverage_words as words
from calibrant.audit.coverage import central_lines
from calibrant.audit.coverage_caveats import weights_caveat
from calibrant.audit.coverage_tables import group_table, one_level
from calibrant.audit.scores import Found, kernel_test, score
from calibrant.audit.sections import Part, Setting
from calibrant.errors import NotApplicableError
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.row_labels import RowLabels
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.energy_score import energy_score
from calibrant.metrics.log_score import log_score
from calibrant.primitives.multiplicity import holm
from calibrant.primitives.pit_bounds import Bounds, pit_bounds
from calibrant.results import Curve, Figure, Measurement, Section
from calibrant.summaries.hit_table import HitTable

SCORED = 200_000_000  # pairs of draws times coordinates
DRAWN = 20  # coordinates
COORDINATE = words.INTERVALS._replace(
    holds="The central {level} intervals of {group} hold {share} of the outcomes ({confidence})",
    lines="coordinates and levels",
)

Counted = Callable[[Bounds, FloatArray, FloatArray, RowLabels | None], HitTable]


def audit_vectors(rows: LawRows, setting: Setting, levels: FloatArray, counted: Counted) -> Part:
    """Return what there is to say about laws of vectors.

    The central intervals of each coordinate are judged by their coverage and the whole, dependence between coordinates
    included, by the kernel test.
    """
    kernel, missing = kernel_test(rows, setting)
    scored, not_scored = _scored(rows, setting)
    curve, no_margins = _coordinates(rows, setting, levels, counted)
    whole = next((m.pvalue for m in kernel if m.pvalue is not None), None)
    section = Section(
        "laws",
        "Predictive laws of vectors",
        "Is the law as a whole right, and that of each coordinate?",
        (*_worst(curve), *scored, *kernel),
        () if curve is None else (_figure(curve),),
        () if curve is None else (group_table([curve], True, name="coordinates", title="Coordinates, worst first"),),
    )
    verdict = (
        words.kernel_verdict(whole, setting)
        if curve is None
        else words.coverage_verdict("predictive laws", [(curve, COORDINATE)], None, setting, further=whole)
    )
    caveats = (
        *weights_caveat(rows.n, rows.w),
        "How coordinates depend on each other is seen by the kernel test (skce_test) and the scores alone.",
        *missing,
        *not_scored,
        *no_margins,
    )
    return Part((section,), verdict, caveats)


def _coordinates(
    rows: LawRows, setting: Setting, levels: FloatArray, counted: Counted
) -> tuple[Curve | None, tuple[str, ...]]:
    """Return the coverage of the central intervals of every coordinate as one curve."""
    try:
        low, high = pit_bounds(rows)
    except NotApplicableError as reason:
        return None, (str(reason),)
    found = []
    for d in range(low.shape[1]):
        name = setting.columns[d] if setting.columns else f"coordinate {d}"
        label = RowLabels(np.zeros(rows.n, np.intp), (name,))
        lines = central_lines(counted((low[:, d], high[:, d]), levels, rows.w, label), setting)
        if lines is None:
            return None, ("Coordinates are not judged: one draw per row has no central interval.",)
        found.append(lines)
    columns: dict[str, Any] = {
        name: np.concatenate([curve.columns[name] for curve in found]) for name in found[0].columns
    }
    columns["pvalue_holm"] = holm(columns["pvalue"])
    return Curve("coverage", columns, found[0].method, rows.n, found[0].details), ()


def _figure(curve: Curve) -> Figure:
    """Return the picture of the first coordinates, at the level that is off most."""
    shown, level = one_level(curve)
    few = {name: column[:DRAWN] for name, column in shown.columns.items()}
    return Figure(
        "coordinates",
        f"Coverage of coordinates{level}",
        "Each line is a coordinate. A level outside its line is missed by more than chance, looked at on its own.",
        replace(shown, columns=few),
    )


def _worst(curve: Curve | None) -> tuple[Measurement, ...]:
    if curve is None:
        return ()
    gap = np.abs(curve.coverage - curve.nominal)
    known = not np.isnan(curve.pvalue_holm).all()
    return (
        Measurement(
            "coverage.largest_gap",
            "largest gap of a coordinate",
            float(gap.max()),
            pvalue=float(np.nanmin(curve.pvalue_holm)) if known else None,
            method="coverage of central intervals less their level; p-value adjusted for all (Holm)",
        ),
    )


def _scored(rows: LawRows, setting: Setting) -> Found:
    law = rows.law
    if not isinstance(law, Samples):
        return score(log_score, "log score", rows, setting)
    if law.M < 2 or rows.n * law.M * law.draws[0].size > 2 * SCORED:
        return (), ("energy_score is left out: it needs two draws, and time that grows with their square.",)
    return score(energy_score, "energy score, fair", rows, setting, fair=True)
