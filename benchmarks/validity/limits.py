"""Do confidence limits of calibration errors and of differences cover?

    python -m benchmarks.validity.limits [--quick] [--state FILE] [--processes 2]

Scores are drawn, outcomes are drawn from a distorted truth, and the error of these scores under that truth is known. A
run can be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.designs import SCORES, WORDS, Truth
from benchmarks.validity.group_designs import DESIGNS as GROUP_DESIGNS
from benchmarks.validity.group_designs import stated_low

from calibrant import compare_predictions
from calibrant.core.bins import bin_of
from calibrant.core.catalogue import find
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import Binary

RATE = 0.05
LEAST = 0.93  # coverage that is asked for at the nominal 0.95
ROUNDING = 1e-12
ISSUED = 0.5  # share of data sets from which on a cell is judged; below it, issued and wrong counts
ROWS = (50, 200, 1000, 5000)
REPEATS = 500
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "cutoff": ("cutoff_error", {}),
    "KS": ("kolmogorov_smirnov_test", {}),
    "l1": ("ece", {}),
    "l1 mass": ("ece", {"strategy": "mass"}),
    "l2 mass": ("ece", {"strategy": "mass", "norm": "l2", "debias": True}),
    "max mass": ("ece", {"strategy": "mass", "norm": "max"}),
    "mmce": ("mmce", {}),
}


@dataclass(frozen=True)
class Wave(Truth):
    """Too low in the middle and too high at both ends, or the reverse: errors that cancel over all rows."""

    def probability(self, p: np.ndarray) -> np.ndarray:
        """Return P(y = 1 | p)."""
        return p + 0.3 * p * (1 - p) * np.cos(4 * np.pi * p)


TRUTHS = {
    "calibrated": Truth(1.0, 0.0),
    "slope 0.9": Truth(0.9, 0.0),
    "slope 0.6": Truth(0.6, 0.0),
    "shift 0.3": Truth(1.0, 0.3),
    "wave": Wave(0.0, 0.0),
}


DESIGNS = {**SCORES, "weighted": SCORES["uniform"]}
DESIGN_WORDS = {**WORDS, "weighted": "uniform, with lognormal weights, exp(0.3 N(0, 1))"}


COMPARED = "compare_predictions"
GROUPED = "groups"
POWERS = {"uniform": 1.0, "rare": 12.0}  # of the two uniform variables whose mean is the true probability
MODELS = {
    "both calibrated": lambda q: q,
    "slope 1.4": Truth(1.4, 0.0).probability,
    "shift 0.3": Truth(1.0, 0.3).probability,
}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first."""
    repeats = REPEATS // (100 if quick else 1)
    pairs = [Cell(COMPARED, design, n, truth, repeats) for n in (1000, 200) for design in POWERS for truth in MODELS]
    groups = [Cell(GROUPED, name, 0, "known", max(2, repeats * 4 // 5)) for name in GROUP_DESIGNS]
    limits = [
        Cell("limits", design, n, truth, repeats) for n in reversed(ROWS) for design in DESIGNS for truth in TRUTHS
    ]
    return [*pairs, *groups, *limits]


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    return {COMPARED: compared, GROUPED: grouped}.get(cell.procedure, limited)(cell)


def grouped(cell: Cell) -> Counts:
    """Count the data sets in which a limit of the error of any group or class fails; lower ones if the test rejects."""
    rng, total, design = cell.rng(), Counter(), GROUP_DESIGNS[cell.design]
    for _ in range(cell.repeats):
        found, error = design.draw(rng)
        above = bool((error > found.high + ROUNDING).any())
        below = bool((error < stated_low(found) - ROUNDING).any())
        total.update({"above": int(above), "below": int(below), "wrong": int(above or below)})
        total["length"] += float(np.mean(found.high - found.estimate))
    return dict(total)


def compared(cell: Cell) -> Counts:
    """Count how often limits of a difference of two models miss the true one; the truth is (u + v)/2."""
    rng, total = cell.rng(), Counter()
    for _ in range(cell.repeats):
        u, v = rng.random((2, cell.n)) ** POWERS[cell.design]
        q = (u + v) / 2
        other = (u + 1 / (1 + POWERS[cell.design])) / 2  # the mean of q given u: calibrated, and less sharp
        a, b = MODELS[cell.truth](q), other
        y = (rng.random(cell.n) < q).astype(int)
        for metric in ("brier_score", "log_score", "ece"):
            try:
                pair = compare_predictions(y, [a, b], metric=metric).pairs[0]
            except NotApplicableError:
                continue
            true = true_difference(metric, q, a, b)
            total.update({f"{metric}: issued": 1, f"{metric}: wrong": int(not pair.low <= true <= pair.high)})
    return dict(total)


def true_difference(metric: str, q: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean difference of the scores of two models, or of their squared errors, given the scores."""
    if metric == "brier_score":
        return float(np.mean((a - q) ** 2 - (b - q) ** 2))
    if metric == "log_score":
        return float(np.mean(q * np.log(b / a) + (1 - q) * np.log((1 - b) / (1 - a))))
    errors = []
    for p in (a, b):
        rows = Ordered.of(Binary(np.zeros(p.size, np.uint8), p, np.ones(p.size)))
        number = bin_of(p, rows.edges(15, "mass"))
        gap, count = np.bincount(number, q - p), np.bincount(number)
        errors.append(float((gap[count > 0] ** 2 / count[count > 0]).sum() / p.size))
    return errors[0] - errors[1]


def limited(cell: Cell, names: Collection[str] = tuple(METRICS)) -> Counts:
    """Count for each of these metrics how often limits are issued, and how often each fails."""
    rng, total, truth = cell.rng(), Counter(), TRUTHS[cell.truth]
    for _ in range(cell.repeats):
        p = DESIGNS[cell.design](rng, cell.n)
        w = np.exp(0.3 * rng.normal(size=p.size)) if cell.design == "weighted" else np.ones(p.size)
        rows = Binary(truth.outcomes(rng, p).astype(np.uint8), p, w)
        seen = Ordered.of(rows)
        true = replace(seen, events=seen.count * truth.probability(seen.score))
        for name in names:
            total.update(judge(name, *METRICS[name], seen, true))
    return dict(total)


def judge(name: str, verb: str, options: dict[str, Any], seen: Ordered, true: Ordered) -> Counts:
    """Compare the limits with the true error."""
    entry = find(verb)
    try:
        limits: Limits = entry.limits(seen, entry.parse(options))
    except NotApplicableError:
        return {}
    if options.get("debias"):
        error = entry.finish(true, entry.parse({**options, "debias": False}))
    else:
        error = entry.limits(true, entry.parse(options)).estimate
    return {
        f"{name}: issued": 1,
        f"{name}: above": int(error > limits.high(RATE) + ROUNDING),
        f"{name}: below": int(error < limits.low(RATE) - ROUNDING),
        f"{name}: length": limits.high(RATE),
    }


def wrong(counts: Counts, name: str, side: str, repeats: int) -> float:
    """Return the share of limits that fail: of those issued, or of all data sets where most limits are refused."""
    issued = counts.get(f"{name}: issued", 0)
    return counts.get(f"{name}: {side}", 0) / (issued if issued >= ISSUED * repeats else repeats)


def allowed(repeats: int) -> float:
    """Return the share of failures up to which limits pass: 0.07, or what chance makes of 0.05 in so few repeats."""
    return max(1 - LEAST, RATE + 2.6 * math.sqrt(RATE * (1 - RATE) / repeats))


def show_wrong(report: Report, found: dict[Cell, Counts], side: str, title: str) -> None:
    report.section(f"{title}: share that fails, the largest over n and truths; at most {1 - LEAST:.2f} is asked")
    lines = []
    for design in DESIGNS:
        cells = {c: counts for c, counts in found.items() if (c.procedure, c.design) == ("limits", design)}
        worst = [max(wrong(counts, name, side, c.repeats) for c, counts in cells.items()) for name in METRICS]
        most = allowed(next(iter(cells)).repeats)
        report.failures += sum(rate > most for rate in worst)
        lines.append([design, *(f"{rate:.3f}{' FAIL' if rate > most else ''}" for rate in worst)])
    report.table(["scores", *METRICS], lines)


def show_compared(report: Report, found: dict[Cell, Counts]) -> None:
    report.section(
        f"compare_predictions: share of two-sided 95 % limits that miss the true difference; at most {1 - LEAST:.2f}"
    )
    report.say("One model knows (u + v)/2 or distorts it, the other knows u alone and is calibrated.")
    lines = []
    for cell, counts in found.items():
        if cell.procedure == COMPARED:
            line = [cell.design, str(cell.n), cell.truth]
            for metric in ("brier_score", "log_score", "ece"):
                rate = wrong(counts, metric, "wrong", cell.repeats)
                most = allowed(cell.repeats)
                report.failures += rate > most
                issued = counts.get(f"{metric}: issued", 0) / cell.repeats
                line.append(f"{rate:.3f} of {issued:.2f}{' FAIL' if rate > most else ''}")
            lines.append(line)
    report.table(["scores", "n", "first model", "brier_score", "log_score", "ece"], lines)


def show_grouped(report: Report, found: dict[Cell, Counts]) -> None:
    report.section(
        "Groups and classes: share of data sets in which two-sided 95 % limits of the cutoff error of any of them fail"
    )
    report.say("Every second group has the truth that is named. Limits are for all groups together (Bonferroni).")
    lines = []
    for cell, counts in found.items():
        if cell.procedure == GROUPED:
            rates = [counts.get(side, 0) / cell.repeats for side in ("above", "below", "wrong")]
            passed = rates[-1] <= allowed(cell.repeats)
            length = f"{counts['length'] / cell.repeats:.3f}"
            lines.append([cell.design, *(f"{rate:.3f}" for rate in rates), length, report.mark(passed)])
    report.table(["design", "above", "below", "either", "high less estimate", ""], lines)


def show_lengths(report: Report, found: dict[Cell, Counts]) -> None:
    report.section("Share of data sets for which limits are issued, and mean upper limit; uniform scores, calibrated")
    lines = []
    for cell, counts in found.items():
        if (cell.procedure, cell.design, cell.truth) == ("limits", "uniform", "calibrated"):
            issued = {name: counts.get(f"{name}: issued", 0) for name in METRICS}
            lengths = [
                f"{k / cell.repeats:.2f}, {counts[f'{name}: length'] / k:.3f}" if k else "refused"
                for name, k in issued.items()
            ]
            lines.append([str(cell.n), *lengths])
    report.table(["n", *METRICS], lines)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Limits of calibration errors", packages=["numpy", "scipy"])
    report.say()
    for design, words in DESIGN_WORDS.items():
        report.say(f"{design + ':':<11}{words}")
    report.say("Truth: expit(slope logit p + shift), slope 1, 0.9, 0.6, shift 0, 0.3; or p + 0.3 p(1 - p) cos(4πp).")
    report.say(f"One-sided limits at the level 0.95; n = {', '.join(map(str, ROWS))}; {cells[0].repeats} sets a cell.")
    report.say("Where limits are refused for more than half of the sets, the share is that of issued and wrong.")
    report.say("equivalence_test with a tolerance just below the true error passes exactly when the upper limit fails.")
    show_wrong(report, found, "above", "Upper limits")
    show_wrong(report, found, "below", "Lower limits")
    show_compared(report, found)
    show_grouped(report, found)
    show_lengths(report, found)
    report.say()
    report.say(f"{report.failures} limits do not cover")
    return report


if __name__ == "__main__":
    raise SystemExit(command("limits", "Coverage of the limits of calibration errors.", plan, simulate))
