"""Do the limits of the gain of recalibration cover?

    python -m benchmarks.validity.recalibration [--quick] [--state FILE] [--processes 2]

Rows are drawn, a map is fitted on all of them, and its gain on new rows is known. That is what the limits of
`recalibration_gain` are about. Counted are limits that are issued, that miss it, and claims that the map helps. What
fails is measured again with 4 times the sets, and that decides. A run can be interrupted and resumed. `--quick` makes
few sets to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.designs import HARD_SCORES, SCORES
from benchmarks.validity.recalibration_designs import NUMBERS, OWN_PAIRS, VECTORS, Numbers, Vectors, events

from calibrant.errors import CalibrantError
from calibrant.recalibrating.cross_fitting import read_dealing
from calibrant.recalibrating.fitting import check_method, read_calibration
from calibrant.recalibrating.gain import GainAndMap, Plan, measured_gain
from calibrant.recalibrating.method import FitOptions

LEVEL, LEAST = 0.95, 0.93
MAX_CLAIMS = 0.05  # share of calibrated data sets in which a gain is claimed
ISSUED = 0.5  # share of sets from which on coverage is judged; below it, issued and wrong counts
SETS, AGAIN, PART = 100, 4, 50
ROUNDING = 1e-12
ONLY = " | "  # between the design of a cell and the methods that are measured again
DEPENDENCE = ("clusters in time", "clusters", "time", "weights")  # how a procedure ends whose rows are not alike
Methods = tuple[tuple[str, str], ...]
BINARY: Methods = (
    ("temperature", "log"),
    ("logistic", "log"),
    ("beta", "log"),
    ("venn-abers", "log"),
    ("isotonic", "brier"),
    ("logistic", "brier"),
)
METHODS: dict[str, Methods] = {
    "one probability per row": BINARY,
    "own designs": BINARY,
    "clusters": BINARY,
    "time": (("temperature", "log"), ("logistic", "log"), ("logistic", "brier")),
    "clusters in time": (("temperature", "log"), ("logistic", "log"), ("logistic", "brier")),
    "weights": (("temperature", "log"), ("logistic", "log"), ("isotonic", "brier")),
    "auto": (("auto", "log"), ("auto", "brier")),
    "auto, time": (("auto", "log"),),
    "auto, clusters": (("auto", "log"),),
    "classes": (("temperature", "log"), ("temperature", "brier"), ("vector", "log"), ("matrix", "log")),
    "auto, classes": (("auto", "log"),),
    "intervals": (("shift", "interval"), ("scale", "interval"), ("auto", "interval")),
    "quantiles": (("shift", "quantile"), ("auto", "quantile")),
    "normal": (("location-scale", "log"), ("location-scale", "crps"), ("auto", "log")),
    "samples": (("location-scale", "crps"), ("auto", "crps")),
}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells in parts, the first parts of all cells first; those of rows in time are quick and have more."""
    cells: list[Cell] = []

    def add(procedure: str, designs: Any, rows: Any, truths: Any, sets: int = SETS) -> None:
        cells.extend(Cell(procedure, d, n, t, 2 if quick else sets) for n in rows for d in designs for t in truths)

    both = ("calibrated", "slope 0.6")
    add("time", ("uniform", "bimodal"), (500, 2000), both, 4 * SETS)
    add("clusters in time", ("uniform", "bimodal"), (1000, 3000), both, 4 * SETS)
    in_time, cells = in_parts(cells, PART), []
    add("clusters", ("uniform", "bimodal"), (1000, 3000), both)
    add("weights", ("uniform", "rare"), (500, 2000), both)
    for scores, truth in OWN_PAIRS:
        add("own designs", (scores,), (800,), (truth,))
    add("auto, time", ("uniform",), (1000,), both)
    add("auto, clusters", ("uniform",), (1000,), both)
    add("classes", ("3 classes",), (200, 1000), VECTORS)
    add("one probability per row", (*SCORES, *HARD_SCORES), (500,), both)
    add("auto, classes", ("3 classes",), (500,), ("calibrated", "slope 0.56", "one class"))
    add("one probability per row", (*SCORES, *HARD_SCORES), (100, 3000), both)
    add("one probability per row", ("uniform",), (500,), ("slope 0.9", "shift 0.7", "wave"))
    add("classes", ("10 classes",), (1000,), ("calibrated", "slope 0.56"))
    add("auto", ("uniform", "bimodal"), (300, 1000), both)
    some = ("calibrated", "too narrow", "shifted", "2 % outliers")
    for kind in ("intervals", "quantiles", "normal"):
        add(kind, (kind,), (100, 500, 2000), some)
        add(kind, (kind,), (500,), ("too wide", "t, 5 df"))
    add("samples", ("samples",), (100, 500), some)
    return [*in_time, *in_parts(cells, PART)]


@cache
def design_of(procedure: str, design: str, truth: str) -> Any:
    """Return what is drawn in a cell."""
    if "classes" in design:
        return Vectors(int(design.split(maxsplit=1)[0]), **VECTORS[truth])
    if procedure in ("intervals", "quantiles", "normal", "samples"):
        return Numbers(procedure, **NUMBERS[truth])
    dependence = next((word for word in DEPENDENCE if procedure.endswith(word)), "")
    return events(design, truth, dependence)


def measure(cell: Cell) -> Counts:
    """Count for each method how often limits are issued, miss the true gain, and claim a gain."""
    rng, total = cell.rng(), Counter()
    design = design_of(cell.procedure, cell.design.partition(ONLY)[0], cell.truth)
    for _ in range(cell.repeats):
        drawn = design.draw(rng, cell.n)
        for method, score in methods_of(cell):
            try:
                found, options = measured(drawn, method, score, design.clip)
            except CalibrantError:
                total[f"{method}, {score}: refused"] += 1
                continue
            gain = found.gain
            if not math.isfinite(gain.low):
                continue
            true = design.gain(found.fitted_map, options)
            total.update(
                {
                    f"{method}, {score}: issued": 1,
                    f"{method}, {score}: below": int(true < gain.low - ROUNDING),
                    f"{method}, {score}: above": int(true > gain.high + ROUNDING),
                    f"{method}, {score}: helps": int(gain.low > 0),
                    f"{method}, {score}: false": int(gain.low > 0 and true <= 0),
                    f"{method}, {score}: width": gain.high - gain.low,
                }
            )
    return dict(total)


def measured(drawn: Any, method: str, score: str, clip: float | None) -> tuple[GainAndMap, FitOptions]:
    """Return the gain and the map that was fitted on all rows."""
    given = dict(drawn.options)
    data = read_calibration(drawn.y, drawn.prediction, weights=given.get("weights"))
    options = check_method(data, method, FitOptions(score, clip=clip))
    given.pop("weights", None)
    dealing = read_dealing(data.n, 5, **given, keep=data.keep)
    repeats = 4 if dealing.is_random else 1
    with warnings.catch_warnings(action="ignore"):
        found = measured_gain(data, options, Plan(method, dealing, repeats, LEVEL, np.random.default_rng(0)))
    return found, options


def methods_of(cell: Cell) -> Methods:
    """Return the methods of a cell with their scores; a cell that is measured again names the ones that failed."""
    chosen = cell.design.partition(ONLY)[2]
    every = METHODS[cell.procedure]
    return tuple(pair for pair in every if ", ".join(pair) in chosen.split("; ")) if chosen else every


def names_of(cell: Cell) -> list[str]:
    """Return the methods and scores of a cell in words."""
    return [", ".join(pair) for pair in methods_of(cell)]


def wrong(counts: Counts, name: str, sets: int) -> tuple[float, int]:
    """Return the share of limits that miss, and of how many: of those issued, or of all sets where few are."""
    issued = int(counts.get(f"{name}: issued", 0))
    of = issued if issued >= ISSUED * sets else sets
    missed = counts.get(f"{name}: below", 0) + counts.get(f"{name}: above", 0)
    return missed / of, of


def allowed(sets: int) -> float:
    """Return the share of misses up to which limits pass: 0.07, or what chance makes of 0.05 in so few sets."""
    return max(1 - LEAST, 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / sets))


def claims(counts: Counts, name: str, sets: int) -> float:
    """Return the share of sets in which a gain is claimed."""
    return counts.get(f"{name}: helps", 0) / sets


def fails(cell: Cell, counts: Counts) -> list[str]:
    """Return the methods whose limits miss more often than asked for, or that claim a gain where there is none."""
    calibrated = cell.truth == "calibrated"
    return [
        name
        for name in names_of(cell)
        if wrong(counts, name, cell.repeats)[0] > 1 - LEAST
        or (calibrated and claims(counts, name, cell.repeats) > MAX_CLAIMS)
    ]


Found = dict[Cell, Counts]


def show(report: Report, found: Found, procedure: str) -> None:
    """Show the misses of each method in each cell of a procedure."""
    cells = {cell: counts for cell, counts in found.items() if cell.procedure == procedure}
    if not cells:
        return
    report.section(f"{procedure}: misses of issued limits (of all sets, marked *, where under half are issued), issued")
    names = [f"{method}, {score}" for method, score in METHODS[procedure]]
    lines = []
    for cell, counts in sorted(cells.items(), key=lambda item: (item[0].design, item[0].truth, item[0].n)):
        line = [cell.design, str(cell.n), cell.truth, str(cell.repeats)]
        for name in names:
            share, of = wrong(counts, name, cell.repeats)
            issued = counts.get(f"{name}: issued", 0)
            said = claims(counts, name, cell.repeats)
            failed = share > allowed(of) or (cell.truth == "calibrated" and said > MAX_CLAIMS)
            report.failures += failed
            mark = "" if issued >= ISSUED * cell.repeats else "*"
            line.append(f"{share:.3f}{mark} {issued / cell.repeats:.2f}{' FAIL' if failed else ''}")
        lines.append(line)
    report.table(["design", "n", "truth", "sets", *names], lines)


def table(found: Found) -> str:
    """Return for each procedure and method the extremes over cells as comma-separated values, for the documentation."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["predictions", "method", "cells", "issued cells", "pooled", "coverage", "wrong", "claims", "sets"])
    for procedure, methods in METHODS.items():
        cells = {cell: counts for cell, counts in found.items() if cell.procedure == procedure}
        for method, score in methods if cells else ():
            name = f"{method}, {score}"
            shares = [(wrong(counts, name, c.repeats)[0], _judged(c, counts, name)) for c, counts in cells.items()]
            judged = [share for share, enough in shares if enough]
            others = [share for share, enough in shares if not enough]
            said = [claims(counts, name, cell.repeats) for cell, counts in cells.items() if cell.truth == "calibrated"]
            coverage = f"{1 - max(judged):.3f}" if judged else ""
            pooled = _pooled([(c, counts) for c, counts in cells.items() if _judged(c, counts, name)], name)
            row = [procedure, name, len(cells), len(judged), pooled, coverage, f"{max(others, default=0.0):.3f}"]
            lines.writerow([*row, f"{max(said, default=0.0):.3f}", sum(cell.repeats for cell in cells)])
    return file.getvalue()


def _pooled(cells: list[tuple[Cell, Counts]], name: str) -> str:
    """Return the coverage over all limits that are issued in some cells."""
    issued = sum(counts.get(f"{name}: issued", 0) for _, counts in cells)
    missed = sum(counts.get(f"{name}: {side}", 0) for _, counts in cells for side in ("below", "above"))
    return f"{1 - missed / issued:.3f}" if issued else ""


def _judged(cell: Cell, counts: Counts, name: str) -> bool:
    return counts.get(f"{name}: issued", 0) >= ISSUED * cell.repeats


def again_counted(cell: Cell, counts: Counts, again: tuple[Cell, Counts] | None) -> Counts:
    """Return the counts of a cell, those of methods that were measured again scaled to its number of sets."""
    if again is None:
        return counts
    longer, more = again
    names = names_of(longer)
    kept = {name: value for name, value in counts.items() if name.partition(":")[0] not in names}
    return kept | {name: value * cell.repeats / longer.repeats for name, value in more.items()}


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time with more sets, and return the report."""
    first = together(run(measure, cells, state, processes=processes))
    failed = {cell: fails(cell, counts) for cell, counts in first.items()}
    longer = {
        cell: replace(cell, design=f"{cell.design}{ONLY}{'; '.join(names)}", repeats=AGAIN * cell.repeats)
        for cell, names in failed.items()
        if names
    }
    again = together(run(measure, in_parts(list(longer.values()), PART), state, processes=processes))
    measured_again = {(one.procedure, one.design, one.n, one.truth): (one, counts) for one, counts in again.items()}
    found: Found = {}
    for cell, counts in first.items():
        one = longer.get(cell, cell)
        found[cell] = again_counted(cell, counts, measured_again.get((one.procedure, one.design, one.n, one.truth)))
    report = Report("Limits of the gain of recalibration", packages=["numpy", "scipy"])
    report.say()
    report.say("The limits are those of the gain on new rows of the map that is fitted on all rows, at the level 0.95.")
    report.say(f"Coverage of at least {LEAST} is asked for where limits are issued for half of the sets, issued and")
    report.say(
        f"wrong at most {1 - LEAST:.2f} elsewhere, and a gain claimed in at most {MAX_CLAIMS} of calibrated sets."
    )
    report.say(
        f"What missed that was measured again with up to {AGAIN} times the sets, which is shown: {len(again)} cells."
    )
    finished = sum(cell.repeats for cell in first)
    report.say(f"{finished:,} of {sum(cell.repeats for cell in cells):,} sets in {len(first)} cells are finished.")
    for procedure in METHODS:
        show(report, found, procedure)
    false = sum(value for counts in found.values() for name, value in counts.items() if name.endswith(": false"))
    helps = sum(value for counts in found.values() for name, value in counts.items() if name.endswith(": helps"))
    report.say()
    report.say(f"Claims that a map helps: {round(helps):,}; of these {round(false):,} where it does not.")
    report.say(f"{report.failures} limits do not cover")
    report.attach("validity_recalibration.csv", table(found))
    return report


if __name__ == "__main__":
    raise SystemExit(command("recalibration", "Coverage of the limits of the gain of recalibration.", plan, simulate))
