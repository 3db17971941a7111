"""What does the test behind the verdict detect, beside the best other test, and is `power` true?

    python -m benchmarks.validity.power [--quick] [--state FILE] [--processes 2]

Every competitor holds its level on these scores (`levels`). For each alternative the power of `calibration_test` should
be within 10 points of the best of them, although nobody knows beforehand which one that is. `power` states the smallest
error that is found 4 times in 5; outcomes with this error are drawn, and the share that is found is counted. A run can
be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.claim_designs import TRUTHS
from benchmarks.validity.designs import HARD_SCORES, SCORES
from numpy.typing import NDArray

from calibrant import calibration_test, consistency_test, kolmogorov_smirnov_test, power, skce_test

FloatArray = NDArray[np.float64]
LEVEL, TARGET = 0.05, 0.8
REDRAWS, FEW_REDRAWS = 199, 99
PART = 100
LOST = 0.10  # power that may be lost to the best other test
OFF = 0.05  # of the stated power
FAST, ECE, SENTENCE = "tests", "ece", "power sentence"
VERDICT = "calibration_test"

SIZES = {"uniform": 1000, "rare": 1000, "confident": 1000, "tied": 1000, "bimodal": 500, "92 % zeros": 5000}
"""Numbers of rows with which most alternatives are found sometimes and not always."""

ALTERNATIVES = {
    **{name: TRUTHS[name] for name in ("slope .8", "slope 1.3", "shift .3", "wave", "one region")},
    "fast wave": lambda p: p + 0.4 * p * (1 - p) * np.cos(6 * np.pi * p),
}
COMPETITORS = ("kuiper", "spiegelhalter", "cox", "smooth", "kolmogorov_smirnov", "skce")
PLANNED = (
    ("uniform", 300),
    ("uniform", 2000),
    ("rare", 1000),
    ("rare events", 3000),
    ("fence", 500),
    ("confident", 1000),
    ("92 % zeros", 3000),
    ("three scores", 500),
)


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    few = 100 if quick else 1
    cells = [Cell(SENTENCE, design, n, "calibrated", max(2, 2000 // few)) for design, n in PLANNED]
    for design, n in SIZES.items():
        for truth in ALTERNATIVES:
            cells.append(Cell(FAST, design, n, truth, 1000 // few))
            cells.append(Cell(ECE, design, n, truth, max(2, 200 // few)))
    return cells


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    rng, total = cell.rng(), Counter()
    scores = {**SCORES, **HARD_SCORES}[cell.design]
    if cell.procedure == SENTENCE:
        return sentence(scores(np.random.default_rng(7), cell.n), cell, rng)
    for _ in range(cell.repeats):
        p = scores(rng, cell.n)
        y = (rng.random(p.size) < ALTERNATIVES[cell.truth](p)).astype(np.int64)
        total.update(tests(y, p, rng) if cell.procedure == FAST else ece_test(y, p, rng))
    return dict(total)


def tests(y: NDArray[np.int64], p: FloatArray, rng: np.random.Generator) -> Counts:
    """Count rejections of the joint test, of each test that is part of it, and of two others."""
    joint = calibration_test(y, p, resamples=REDRAWS, rng=rng)
    found = {VERDICT: joint.pvalue, **{name: joint.details[name] for name in COMPETITORS[:4]}}
    found["kolmogorov_smirnov"] = kolmogorov_smirnov_test(y, p, resamples=REDRAWS, rng=rng).pvalue
    found["skce"] = skce_test(y, p, method="resample", resamples=REDRAWS, rng=rng).pvalue
    return {name: int(pvalue <= LEVEL + 1e-12) for name, pvalue in found.items()}


def ece_test(y: NDArray[np.int64], p: FloatArray, rng: np.random.Generator) -> Counts:
    """Count rejections of the expected calibration error against redrawn outcomes."""
    return {ECE: int(consistency_test(y, p, metric="ece", resamples=FEW_REDRAWS, rng=rng).pvalue <= LEVEL + 1e-12)}


def sentence(p: FloatArray, cell: Cell, rng: np.random.Generator) -> Counts:
    """Draw outcomes with the error that `power` says is found 4 times in 5, in both directions, and count."""
    stated = power(p, target=TARGET)
    counts: Counter[str] = Counter({"error": stated.error * cell.repeats})
    for side in (1, -1):
        q = moved(p, stated.error, side)
        if q is None:
            continue
        for _ in range(cell.repeats):
            y = (rng.random(p.size) < q).astype(np.int64)
            counts[f"found {side:+d}"] += int(calibration_test(y, p, resamples=999, rng=rng).pvalue <= LEVEL + 1e-12)
            counts[f"tried {side:+d}"] += 1
    return dict(counts)


def moved(p: FloatArray, error: float, side: int) -> FloatArray | None:
    """Return p + c or p - c, cut off at 0 and 1, whose mean is off by the error; None if there is no room."""
    low, high = 0.0, 1.0
    for _ in range(60):
        c = (low + high) / 2
        low, high = (c, high) if abs(np.mean(np.clip(p + side * c, 0, 1) - p)) < error else (low, c)
    return np.clip(p + side * high, 0, 1) if high < 1 else None


def show_power(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("Power at 5 %: calibration_test beside each other test")
    by_name = {(cell.procedure, cell.design, cell.truth): (cell, counts) for cell, counts in found.items()}
    rows = []
    for design, n in SIZES.items():
        for truth in ALTERNATIVES:
            if not {(FAST, design, truth), (ECE, design, truth)} <= by_name.keys():
                continue  # of a run that is not finished
            (fast, counts), (slow, of_ece) = by_name[FAST, design, truth], by_name[ECE, design, truth]
            rates = {name: counts.get(name, 0) / fast.repeats for name in COMPETITORS}
            rates[ECE] = of_ece.get(ECE, 0) / slow.repeats
            ours, best = counts.get(VERDICT, 0) / fast.repeats, max(rates.values())
            error = math.sqrt(best * (1 - best) / (slow.repeats if rates[ECE] == best else fast.repeats))
            mark = report.mark(ours >= best - LOST - 2 * error)
            rows.append([design, f"{n:,}", truth, f"{ours:.2f}", *(f"{rate:.2f}" for rate in rates.values()), mark])
    report.table(["scores", "n", "truth", "ours", *COMPETITORS, ECE, ""], rows)
    report.say(f"PASS: at most {LOST:.2f} below the best other test, and two standard errors of that.")
    report.say("kuiper, spiegelhalter, cox and smooth alone, on the redraws of calibration_test.")


def show_sentence(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("power: the smallest constant error found 4 times in 5, and how often it was found")
    rows = []
    for cell, counts in found.items():
        if cell.procedure == SENTENCE:
            shares = [
                counts[f"found {side}"] / counts[f"tried {side}"] if counts.get(f"tried {side}") else math.nan
                for side in ("+1", "-1")
            ]
            harder = np.nanmin(shares)
            sides = ["no room" if math.isnan(share) else f"{share:.3f}" for share in shares]
            mark = report.mark(abs(harder - TARGET) <= OFF)
            rows.append([cell.design, f"{cell.n:,}", f"{counts['error'] / cell.repeats:.4f}", *sides, mark])
    report.table(["scores", "n", "error", "p + c", "p - c", ""], rows)
    report.say(f"PASS: the direction that is harder to find is found {TARGET:.2f} ± {OFF:.2f} of the time.")


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = in_parts(cells, PART)
    finished = run(measure, parts, state, processes=processes)
    found = together(finished)
    report = Report("Power of the verdict's test", packages=["numpy", "scipy"])
    report.say()
    report.say("Truths: expit(slope logit p + shift); wave: p + 0.06 cos(2πp); fast wave: p + 0.4 p(1-p) cos(6πp);")
    report.say(f"one region: 0.12 more between 0.6 and 0.8. {REDRAWS} redraws, {FEW_REDRAWS} of the ece.")
    if len(finished) < len(parts):
        report.say(f"Not finished: {len(finished):,} of {len(parts):,} parts of {PART} data sets.")
    show_power(report, found)
    show_sentence(report, found)
    report.say()
    report.say(f"{report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(command("power", "Power of the verdict's test.", plan, simulate))
