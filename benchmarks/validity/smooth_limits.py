"""Do confidence limits of `smooth_ece` and `smce` cover?

    python -m benchmarks.validity.smooth_limits [--quick] [--state FILE] [--processes 2]

The designs, truths and targets are those of `limits`. What fails in more than 0.07 of the sets is measured again with 8
times the repeats, and that decides. A run can be interrupted and resumed. `--quick` makes few repeats to see that
everything runs; nothing of it is kept.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.limits import AGAIN, DESIGNS, LEAST, SIDES, TRUTHS, allowed, limited, wrong

METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "smooth_ece": ("smooth_ece", {}),
    "smooth_ece, sigma 0.05": ("smooth_ece", {"sigma": 0.05}),
    "smce": ("smce", {}),
}
REPEATS = {50: 120, 200: 120, 1000: 120, 5000: 60}
PART = 30


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    sets = {n: 2 if quick else repeats for n, repeats in REPEATS.items()}
    return [Cell("smooth", design, n, truth, sets[n]) for n in REPEATS for design in DESIGNS for truth in TRUTHS]


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    return limited(cell, METRICS)


def worst(cell: Cell, counts: Counts) -> float:
    """Return the largest share of limits that fail."""
    return max(wrong(counts, name, side, cell.repeats) for name in METRICS for side in SIDES)


def show(report: Report, found: dict[Cell, Counts]) -> None:
    for side, words in SIDES.items():
        report.section(f"{words}: share that fails, the largest over n and truths; at most {1 - LEAST:.2f}")
        lines = []
        for design in DESIGNS:
            cells = {cell: counts for cell, counts in found.items() if cell.design == design}
            line = [design]
            for name in METRICS:
                shares = [(wrong(c, name, side, cell.repeats), allowed(cell.repeats)) for cell, c in cells.items()]
                rate, most = max(shares, key=lambda share: share[0] - share[1])
                report.failures += rate > most
                line.append(f"{rate:.3f}{' FAIL' if rate > most else ''}")
            lines.append(line)
        report.table(["scores", *METRICS], lines)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, doubtful ones again, and return the report."""
    parts = in_parts(cells, PART)
    found = together(run(measure, parts, state, processes=processes))
    doubtful = [replace(cell, repeats=AGAIN * cell.repeats) for cell in found if worst(cell, found[cell]) > 1 - LEAST]
    again = together(
        run(measure, [replace(p, part=p.part + 100) for p in in_parts(doubtful, PART)], state, processes=processes)
    )
    decided = {(cell.design, cell.n, cell.truth) for cell in again}
    found = {cell: counts for cell, counts in found.items() if (cell.design, cell.n, cell.truth) not in decided} | again
    report = Report("Limits of smooth calibration errors", packages=["numpy", "scipy"])
    report.say()
    sets = ", ".join(f"{repeats} (n = {n:,})" for n, repeats in REPEATS.items())
    report.say(
        f"Data sets: {sets}; {AGAIN} times as many in {len(again)} cells that failed more often than 0.07 at first."
    )
    show(report, found)
    report.say()
    report.say(f"{report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(command("smooth_limits", "Limits of smooth calibration errors.", plan, simulate))
