"""Audit of predictive laws and of draws from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.audit import coverage_words as words
from calibrant.audit.coverage import labels_of
from calibrant.audit.coverage_tables import grouped, joint_measurement, level_measurements
from calibrant.audit.quantile_figures import coverage_figure, pit_figure, spread_places
from calibrant.audit.quantiles import Levels, few_levels, level_tables
from calibrant.audit.sample_groups import sample_groups
from calibrant.audit.sample_looks import judged_by_ranks
from calibrant.audit.samples import audit_samples
from calibrant.audit.scores import Found, kernel_test, of_rows, score
from calibrant.audit.sections import Grouped, Part, Setting, audits
from calibrant.audit.vectors import audit_vectors
from calibrant.audit.words import gain
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.groups import Grouping
from calibrant.inputs.judged import QuantileRows
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.row_labels import RowLabels
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.crps import crps
from calibrant.metrics.decompose import decompose
from calibrant.metrics.log_score import log_score
from calibrant.metrics.sharpness import sharpness
from calibrant.primitives.pit_bounds import Bounds, pit_bounds
from calibrant.results import CrpsDecomposition, Measurement, Section
from calibrant.summaries.hit_table import HitTable

LEVELS = np.array([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975])  # central 95, 90, 80 and 50 %
DECOMPOSED = 4_000_000  # rows, over all levels at which a law is read
MOST_READ, FEWEST_READ = 99, 9
LITTLE = 0.01  # of the uncertainty


def law_groups(rows: LawRows, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return the ranks of draws per group, or coverage per group, of five quantiles."""
    if judged_by_ranks(rows):
        return sample_groups(rows, groupings, setting)
    if rows.law.shape:
        raise InputError(
            f"groups= are for outcomes that are numbers; these are vectors of {rows.law.shape[0]} coordinates. Audit "
            "one coordinate, such as Samples(draws[:, :, 0]) or Normal(mean[:, 0], std[:, 0])"
        )
    bounds, levels = pit_bounds(rows), levels_of(rows.law)
    few = spread_places(levels)
    tables = [law_table(bounds, levels, rows.w, labels_of(grouping)) for grouping in groupings]
    return grouped([few_levels(table, few, setting) for table in tables], few.size > 1, words.QUANTILES)


@audits(LawRows, groups=law_groups)
def audit_laws(rows: LawRows, setting: Setting) -> Part:
    """Return what there is to say about laws: coverage of central intervals and quantiles, scores, sharpness.

    Draws of equal weight have ranks, and are judged by them.
    """
    if judged_by_ranks(rows):
        return audit_samples(rows, setting)
    if rows.law.shape:
        return audit_vectors(rows, setting, levels_of(rows.law), law_table)
    kernel, missing = kernel_test(rows, setting)
    scored, not_scored = _scored(rows, setting)
    parts = _decomposed(rows)
    try:
        levels = Levels.of(law_table(pit_bounds(rows), levels_of(rows.law), rows.w), setting)
    except NotApplicableError as reason:
        return _without_cdf((*scored, *kernel), (str(reason), *missing, *not_scored), setting)
    advice = "" if parts is None else gain(max(parts.mcb, 0.0), parts.score, "CRPS")
    section = Section(
        "laws",
        "Predictive laws",
        "Do outcomes fall where the laws say, as often as they say?",
        (
            *_central_measurements(levels),
            *joint_measurement(levels.joint),
            *scored,
            *_split(parts),
            *kernel,
        ),
        (coverage_figure(levels.table, setting), *pit_figure(rows)),
        tuple(level_tables(levels, always=True)[1 if levels.central is not None else 0 :]),
    )
    verdict = words.coverage_verdict("predictive laws", levels.judged, levels.joint, setting, advice=advice)
    caveats = (*levels.caveats(setting, rows), *_caveats(rows, parts), *missing, *not_scored)
    return Part((section,), verdict, caveats)


def levels_of(law: Law) -> FloatArray:
    """Return the levels at which a law is read; those of M draws are multiples of 1/(M + 1), so that they are exact.

    >>> levels_of(Samples([[1.0, 2.0, 3.0]])).tolist()
    [0.25, 0.5, 0.75]
    """
    if not isinstance(law, Samples):
        return LEVELS
    N = law.M + 1
    low = np.unique(np.clip(np.rint(LEVELS[LEVELS < 0.5] * N), 1, max(1, (N - 1) // 2)))
    k = np.unique([*low[2 * low < N], *([N // 2] if N % 2 == 0 else []), *(N - low[2 * low < N])])
    return np.asarray(k / N, dtype=np.float64)


def law_table(bounds: Bounds, levels: FloatArray, w: FloatArray, labels: RowLabels | None = None) -> HitTable:
    """Count outcomes up to and below each quantile, from the values F(y-) and F(y) of the predicted law.

    The outcome does not exceed the quantile τ exactly if F(y-) < τ, and lies below it or fills it up if F(y) <= τ: if
    the law is right, the first has at least probability τ and the second at most.
    """
    low, high = bounds

    def counted(u: FloatArray, edges: FloatArray) -> HitTable:
        cells = Quantiles(np.broadcast_to(edges, (u.size, edges.size)), levels)
        return HitTable.of(QuantileRows(u, cells, w), labels)

    return replace(counted(low, np.nextafter(levels, 0)), below=counted(high, levels).wc)


def _central_measurements(levels: Levels) -> tuple[Measurement, ...]:
    if levels.central is None:
        return level_measurements(levels.curve, "coverage", "outcomes up to {} quantile")
    return level_measurements(levels.central, "coverage", "coverage of {} intervals")


def _scored(rows: LawRows, setting: Setting) -> Found:
    law = rows.law
    draws = isinstance(law, Samples)
    several = isinstance(law, Samples) and law.M > 1
    found = [
        score(crps, "CRPS, fair" if several else "CRPS", rows, setting, **({"fair": True} if several else {})),
        ((), ()) if draws else score(log_score, "log score", rows, setting),
        ((), ()) if draws and not several else _sharp(rows),
    ]
    return tuple(m for part, _ in found for m in part), tuple(text for _, part in found for text in part)


def _sharp(rows: LawRows) -> Found:
    try:
        value = sharpness(rows.law, weights=rows.w)
    except NotApplicableError as reason:
        return (), (f"sharpness does not apply: {reason}.",)
    return (Measurement("sharpness", "mean standard deviation", float(np.ravel(value)[0])),), ()


def _decomposed(rows: LawRows) -> CrpsDecomposition | None:
    """Split the CRPS where that is quick: a law is read at fewer levels of many rows."""
    options: dict[str, Any] = {}
    if isinstance(rows.law, Samples):
        if rows.n * rows.law.M > DECOMPOSED:
            return None
    else:
        number = min(MOST_READ, DECOMPOSED // rows.n)
        if number < FEWEST_READ:
            return None
        options["levels"] = (np.arange(number) + 0.5) / number
    try:
        parts: CrpsDecomposition = of_rows(decompose, rows, **options)
    except NotApplicableError:
        return None
    return parts


def _split(parts: CrpsDecomposition | None) -> tuple[Measurement, ...]:
    if parts is None:
        return ()
    return (
        Measurement("decompose.mcb", "miscalibration part of CRPS", parts.mcb),
        Measurement("decompose.dsc", "discrimination part of CRPS", parts.dsc),
    )


def _caveats(rows: LawRows, parts: CrpsDecomposition | None) -> list[str]:
    found = []
    if isinstance(rows.law, Samples):
        found.append(
            f"{rows.law.M:,} draws per row are judged at levels that are multiples of 1/{rows.law.M + 1:,}. Draws that "
            "rows share make rows dependent, which no test here allows for."
        )
    if parts is not None and parts.dsc < LITTLE * parts.unc:
        found.append("The laws hardly differ in what they say: one law for all rows would score about as well.")
    if parts is None:
        found.append("The CRPS is not split: it has no closed form here, or there are too many rows.")
    return found


def _without_cdf(measurements: tuple[Measurement, ...], missing: tuple[str, ...], setting: Setting) -> Part:
    """Judge a law that has no distribution function by the kernel test alone."""
    section = Section("laws", "Predictive laws", "Are the laws right as a whole?", measurements)
    p = next((m.pvalue for m in measurements if m.name == "skce_test"), None)
    return Part((section,), words.kernel_verdict(p, setting), missing)
