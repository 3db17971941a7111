"""How many calibration rows does a map need? The true change of the score on new rows, by method and number of rows.

    python -m benchmarks.validity.recalibration_rows [--quick] [--state FILE] [--processes 2]

A run can be interrupted and resumed. The truth is known, so the score on new rows is an integral over the scores, which
20,000 of them stand for; the outcomes of new rows are not drawn.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.designs import Truth
from scipy.special import expit

from calibrant import recalibrate
from calibrant.errors import InputError, NotApplicableError

ROWS = (50, 100, 200, 500, 1000, 2000, 5000)
METHODS = ("temperature", "logistic", "beta", "isotonic", "venn-abers", "auto")
TRUTHS = {
    "calibrated": Truth(1.0, 0.0),
    "slope 0.9": Truth(0.9, 0.0),
    "slope 0.6": Truth(0.6, 0.0),
    "shift 0.5": Truth(1.0, 0.5),
}
SETS = 150
NEW = expit(2 * np.sqrt(3) / np.pi * np.log(np.arange(0.5, 20000) / (20000 - np.arange(0.5, 20000))))
"""The scores of new rows: logits have a logistic distribution with standard deviation 2."""


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    sets = 4 if quick else SETS
    return [Cell(method, "logits", n, truth, sets) for n in ROWS for truth in TRUTHS for method in METHODS]


def measure(cell: Cell) -> Counts:
    """Add up the true change of the Brier score on new rows, and count maps that make it worse."""
    rng, truth, total = cell.rng(), TRUTHS[cell.truth], Counter[str]()
    q = truth.probability(NEW)
    before = _brier(q, NEW)
    for _ in range(cell.repeats):
        p = rng.choice(NEW, cell.n)
        y = rng.random(cell.n) < truth.probability(p)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = recalibrate(y.astype(int), p, method=cell.procedure)
        except (InputError, NotApplicableError):  # one outcome only, or separated
            total["refused"] += 1
            continue
        change = before - _brier(q, found.apply(NEW))
        total.update({"fitted": 1, "gain": change, "worse": int(change < 0)})
    return dict(total)


def _brier(q: np.ndarray[Any, Any], p: np.ndarray[Any, Any]) -> float:
    """Return the expected Brier score of predictions p of events of probability q."""
    return float((q * (1 - p) ** 2 + (1 - q) * p**2).mean())


def best(truth: Truth) -> float:
    """Return what the best of all maps gains."""
    q = truth.probability(NEW)
    return _brier(q, NEW) - _brier(q, q)


def show(report: Report, found: dict[Cell, Counts], name: str, truth: Truth) -> None:
    """Print the table of one truth."""
    report.section(f"{name}: the best of all maps would gain {1000 * best(truth):.2f}")
    of = {(cell.procedure, cell.n): counts for cell, counts in found.items() if cell.truth == name}
    report.table(["rows", *METHODS], [[f"{n:,}", *(_words(of.get((m, n), {})) for m in METHODS)] for n in ROWS])


def _words(counts: Counts) -> str:
    fitted, refused = counts.get("fitted", 0), counts.get("refused", 0)
    if not fitted:
        return ""
    mark = f" {refused:.0f} refused" if refused else ""
    return f"{1000 * counts['gain'] / fitted:+.2f} ({counts['worse'] / fitted:.2f}){mark}"


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Calibration rows that a map needs", packages=["numpy", "scipy"])
    report.say()
    report.say(
        "Scores: logits with a logistic distribution of standard deviation 2. Truth: expit(slope logit p + shift)."
    )
    report.say(
        f"Mean gain in the Brier score of new rows, in thousandths, of {cells[0].repeats} sets; above 0 is better."
    )
    report.say("In brackets the share of maps that make it worse. auto compares cross-fitted log scores.")
    for name, truth in TRUTHS.items():
        show(report, found, name, truth)
    return report


if __name__ == "__main__":
    raise SystemExit(command("recalibration_rows", "Rows that recalibration needs.", plan, simulate))
