"""Do the tests of binary probabilities hold their level, what do they detect, and do consistency bands hold?

    python -m benchmarks.validity.probabilities [--quick] [--state FILE] [--processes 2]

A run that was stopped goes on where it stopped. `--quick` makes few repeats to see that everything runs; nothing of it
is kept. Limits of errors have a script of their own, `limits`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.designs import SCORES, TRUTHS, WORDS, information

from calibrant import (
    calibration_test,
    consistency_test,
    kolmogorov_smirnov_test,
    kuiper_test,
    reliability_curve,
    spiegelhalter_test,
)
from calibrant.core.null import ENOUGH

LEVEL = 0.05
TOLERANCE = 2.6  # standard errors at the nominal level: a sound procedure is marked FAIL in one of 200 cells
AGAIN = 4
ROWS = (100, 500, 5000)
TESTS = {test.__name__: test for test in (spiegelhalter_test, kolmogorov_smirnov_test, kuiper_test, calibration_test)}
REDRAWS = 999
JOINT_REDRAWS = CONSISTENCY_REDRAWS = 199
BAND_ROWS, BAND_BINS, BAND_LEVEL = 500, 10, 0.95

TESTS_OF_ROWS, CONSISTENCY, BAND = "tests", "consistency_test", "reliability_curve"


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first, so that no process is left alone with them at the end."""
    divisor = 100 if quick else 1
    cells = []
    for truth in TRUTHS:
        repeats = 300 if truth == "calibrated" else 100  # fewer than of the tests: each repeat is 199 metrics
        cells += [Cell(CONSISTENCY, design, n, truth, repeats // divisor) for design in SCORES for n in ROWS]
    for truth in TRUTHS:
        for design in SCORES:
            for n in ROWS:
                repeats = 4000 if information(design, n) >= ENOUGH else 1000
                cells.append(Cell(TESTS_OF_ROWS, design, n, truth, repeats // divisor))
    cells += [Cell(BAND, design, BAND_ROWS, "calibrated", 2000 // divisor) for design in SCORES]
    return cells


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    one_repeat = {TESTS_OF_ROWS: tests_of_rows, CONSISTENCY: consistency, BAND: band}[cell.procedure]
    rng, total = cell.rng(), Counter()
    for _ in range(cell.repeats):
        p = SCORES[cell.design](rng, cell.n)
        total.update(one_repeat(TRUTHS[cell.truth].outcomes(rng, p), p, rng))
    return dict(total)


# The tests get the simulation's own generator: with the default rng=0 every repeat would share its redraws, and the
# measured rate would be that of one set of redraws instead of the procedure's.


def tests_of_rows(y: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> Counts:
    redraws = dict.fromkeys(TESTS, REDRAWS) | {"calibration_test": JOINT_REDRAWS}
    results = {name: test(y, p, resamples=redraws[name], rng=rng) for name, test in TESTS.items()}
    counts = {name: int(result.pvalue <= LEVEL) for name, result in results.items()}
    return {**counts, "redrawn": int("redraws" in results["kuiper_test"].method)}


def consistency(y: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> Counts:
    result = consistency_test(y, p, metric="ece", resamples=CONSISTENCY_REDRAWS, rng=rng)
    return {CONSISTENCY: int(result.pvalue <= LEVEL)}


def band(y: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> Counts:
    pointwise, together = (
        reliability_curve(y, p, bins=BAND_BINS, level=BAND_LEVEL, simultaneous=simultaneous, rng=rng)
        for simultaneous in (False, True)
    )
    outside = bins_outside(pointwise)
    return {
        "bins": int(np.count_nonzero(pointwise.count)),
        "bins_outside": outside,
        "curves_outside_pointwise": int(outside > 0),
        "curves_outside": int(bins_outside(together) > 0),
    }


def bins_outside(curve: object) -> int:
    return int(np.count_nonzero(curve.outside))


def shown_rate(count: int, repeats: int) -> str:
    rate = count / repeats
    return f"{rate:.3f} ± {math.sqrt(rate * (1 - rate) / repeats):.3f}"


def holds(count: int, repeats: int) -> bool:
    """Tell whether a rate is within Monte Carlo error of the nominal level, or below it."""
    return count / repeats <= LEVEL + TOLERANCE * math.sqrt(LEVEL * (1 - LEVEL) / repeats)


def shown_null(counts: Counts, repeats: int) -> str:
    share = counts["redrawn"] / repeats
    return {0.0: "limit distribution", 1.0: "redraws"}.get(share, f"redraws in {share:.1%}")


def show_rates(report: Report, found: Mapping[Cell, Counts], truth: str) -> None:
    """Add the table of rejections under one truth, marked where it is the calibrated one."""
    level = truth == "calibrated"
    report.section("Level: share of rejections, calibrated" if level else f"Power: share of rejections, {truth}")
    cells = {(cell.procedure, cell.design, cell.n): cell for cell in found if cell.truth == truth}
    rows = []
    for design in SCORES:
        for n in ROWS:
            tests, consistent = cells[TESTS_OF_ROWS, design, n], cells[CONSISTENCY, design, n]
            row = [design, str(n), shown_null(found[tests], tests.repeats), str(tests.repeats)]
            row += [_entry(found[tests][name], tests.repeats, marked=level) for name in TESTS]
            row += [str(consistent.repeats)]
            row += [_entry(found[consistent][CONSISTENCY], consistent.repeats, marked=level)]
            rows.append(row)
    names = [name.removesuffix("_test") for name in TESTS]
    report.table(["scores", "n", "null", "repeats", *names, "repeats", "consistency, ece"], rows)


def _entry(count: int, repeats: int, *, marked: bool) -> str:
    mark = " " + ("PASS" if holds(count, repeats) else "FAIL") if marked else ""
    return shown_rate(count, repeats) + mark


def show_bands(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section(
        f"Consistency band of reliability_curve, level {BAND_LEVEL:g}, {BAND_BINS} bins, n = {BAND_ROWS}, calibrated"
    )
    rows = []
    for cell, counts in found.items():
        if cell.procedure == BAND:
            bins, curves = counts["bins"], cell.repeats
            rows.append(
                [
                    cell.design,
                    str(curves),
                    f"{bins / curves:.1f}",
                    _entry(counts["bins_outside"], bins, marked=True),
                    _entry(counts["curves_outside"], curves, marked=True),
                    shown_rate(counts["curves_outside_pointwise"], curves),
                ]
            )
    header = ["scores", "curves", "bins filled", "bins outside", "curves outside, simultaneous", "the same, pointwise"]
    report.table(header, rows)


def levels(cell: Cell, counts: Counts) -> dict[str, tuple[int, int]]:
    """Return what of a cell is judged: how often a calibrated model was refused, of how many times."""
    if cell.truth != "calibrated":
        return {}
    if cell.procedure == BAND:
        return {
            "bins outside": (counts["bins_outside"], counts["bins"]),
            "curves outside": (counts["curves_outside"], cell.repeats),
        }
    names = TESTS if cell.procedure == TESTS_OF_ROWS else [CONSISTENCY]
    return {name: (counts[name], cell.repeats) for name in names}


def failing(found: Mapping[Cell, Counts]) -> list[tuple[Cell, str]]:
    """Return the cells, and what of them, whose level is not held."""
    return [
        (cell, name)
        for cell, counts in found.items()
        for name, (count, trials) in levels(cell, counts).items()
        if not holds(count, trials)
    ]


def longer(cell: Cell) -> Cell:
    """Return the cell with more repeats, which are new ones: the stream of a cell depends on their number."""
    return replace(cell, repeats=AGAIN * cell.repeats)


def show_again(report: Report, found: Mapping[Cell, Counts], again: Mapping[Cell, Counts]) -> None:
    doubtful = failing(found)
    marked = sum(len(levels(cell, counts)) for cell, counts in found.items())
    report.section(f"Levels marked FAIL ({len(doubtful)} of {marked}), measured again with {AGAIN} times the repeats")
    rows = []
    for cell, name in doubtful:
        count, trials = levels(longer(cell), again[longer(cell)])[name]
        first = shown_rate(*levels(cell, found[cell])[name])
        mark = report.mark(holds(count, trials))
        rows.append([f"{name}, {cell.design}", str(cell.n), first, str(trials), shown_rate(count, trials), mark])
    report.table(["", "n", "first", "trials", "again", ""], rows)


def show_setting(report: Report) -> None:
    report.say()
    for design, words in WORDS.items():
        report.say(f"{design + ':':<11}{words}")
    report.say('Truth expit(slope logit p + shift). Tests at 5 % with null="auto":')
    report.say(f"the limit distribution where Σp(1-p) >= {ENOUGH:g}, else {REDRAWS} redraws;")
    report.say(f"calibration_test with {JOINT_REDRAWS} redraws;")
    report.say(f"consistency_test with {CONSISTENCY_REDRAWS} redraws, fewer repeats because each is so many metrics.")
    report.say("Each rate has its Monte Carlo standard error.")
    report.say(
        f"PASS: at most the nominal level plus {TOLERANCE:g} standard errors at that level. Among so many rates one"
    )
    report.say(f"may fail by chance: what fails is measured again with {AGAIN} times the repeats, and that decides.")


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time, and return the report."""
    found = run(measure, cells, state, processes=processes)
    doubtful = list(dict.fromkeys(longer(cell) for cell, _ in failing(found)))
    again = run(measure, doubtful, state, processes=processes)
    report = Report("Validity on binary probabilities", packages=["numpy", "scipy"])
    show_setting(report)
    for truth in TRUTHS:
        show_rates(report, found, truth)
    show_bands(report, found)
    if again:
        show_again(report, found, again)
    report.say()
    report.say(f"{report.failures} levels not held")
    return report


if __name__ == "__main__":
    raise SystemExit(command("probabilities", "Level and power on binary probabilities.", plan, simulate))
