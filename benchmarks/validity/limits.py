"""Do confidence limits of calibration errors and of differences cover?

    python -m benchmarks.validity.limits [--quick] [--state FILE] [--processes 2]

Scores are drawn, outcomes are drawn from a distorted truth, and the error of these scores under that truth is known.
What fails in more than 0.07 of the sets is measured again with 8 times the repeats, and that decides. A run can be
interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.claim_designs import classes
from benchmarks.validity.designs import HARD_SCORES, HARD_WORDS, SCORES, WORDS, Truth
from benchmarks.validity.group_designs import DESIGNS as GROUP_DESIGNS
from benchmarks.validity.group_designs import stated_low

from calibrant import compare_predictions
from calibrant.auditing.interval import limits_of
from calibrant.core.bins import bin_of, width_edges
from calibrant.core.catalogue import find
from calibrant.core.limits import Limits
from calibrant.core.ordered import Ordered
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.kernels.kernel import Exponential

RATE = 0.05
LEAST = 0.93  # coverage that is asked for at the nominal 0.95
ROUNDING = 1e-12
ISSUED = 0.5  # share of data sets from which on a cell is judged; below it, issued and wrong counts
REPEATS = {50: 480, 200: 480, 1000: 240, 5000: 120}  # data sets for each number of rows
PART = 120  # data sets, after which an interrupted run goes on
GROUP_REPEATS, MANY_GROUP_REPEATS = 60, 16  # with up to 10 groups or classes, and with more
AGAIN = 8
BINS = 15
METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "cutoff": ("cutoff_error", {}),
    "KS": ("kolmogorov_smirnov_test", {}),
    "l1": ("ece", {}),
    "l1 mass": ("ece", {"strategy": "mass"}),
    "l2": ("ece", {"norm": "l2", "debias": True}),
    "l2 mass": ("ece", {"strategy": "mass", "norm": "l2", "debias": True}),
    "mce": ("mce", {}),
    "max mass": ("ece", {"strategy": "mass", "norm": "max"}),
    "mmce": ("mmce", {}),
    "skce": ("skce", {"kernel": Exponential(0.2)}),
}
PLAIN = {"debias": False, "unbiased": False}  # options with which the true error is what limits are about
SIDES = {"above": "Upper limits", "below": "Lower limits", "missed": "Two-sided limits"}


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


WEIGHTED = {"weighted": 0.3, "lognormal weights": 1.0}  # standard deviation of the logarithm
DESIGNS = {**SCORES, **HARD_SCORES, **dict.fromkeys(WEIGHTED, SCORES["uniform"])}
DESIGN_WORDS = {
    **WORDS,
    **HARD_WORDS,
    **{name: f"uniform, with weights exp({sigma:g} N(0, 1))" for name, sigma in WEIGHTED.items()},
}

OF_CLASSES = "classes"
CLASS_ROWS = {3: (200, 1000), 10: (200, 1000), 300: (1000,)}
CLASS_TRUTHS = ("calibrated", "one class", "overconfident")
NOTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "confidence": ("ece", {"notion": "confidence"}),
    "classwise": ("ece", {"notion": "classwise"}),
    "top-label": ("ece", {"notion": "top-label"}),
    "top-label, weighted": ("ece", {"notion": "top-label", "average": "weighted"}),
    "classwise mce": ("mce", {"notion": "classwise"}),
}


COMPARED = "compare_predictions"
GROUPED = "groups"
COMPARED_METRICS = ("brier_score", "log_score", "ece")
POWERS = {"uniform": 1.0, "rare": 12.0}  # of the two uniform variables whose mean is the true probability
MODELS = {
    "both calibrated": lambda q: q,
    "slope 1.4": Truth(1.4, 0.0).probability,
    "shift 0.3": Truth(1.0, 0.3).probability,
}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, those with few rows first."""
    sets = {n: 2 if quick else repeats for n, repeats in REPEATS.items()}
    pairs = [Cell(COMPARED, design, n, truth, sets[n]) for n in (1000, 200) for design in POWERS for truth in MODELS]
    several = [
        Cell(OF_CLASSES, f"{K} classes", n, truth, sets[n])
        for K, rows in CLASS_ROWS.items()
        for n in rows
        for truth in CLASS_TRUTHS
    ]
    limits = [Cell("limits", design, n, truth, sets[n]) for n in REPEATS for design in DESIGNS for truth in TRUTHS]
    groups = [Cell(GROUPED, name, 0, "known", 2 if quick else _group_repeats(name)) for name in GROUP_DESIGNS]
    return [*several, *limits, *pairs, *groups]


def _group_repeats(design: str) -> int:
    return MANY_GROUP_REPEATS if int(design.split(maxsplit=1)[0]) > 10 else GROUP_REPEATS


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    procedures = {COMPARED: compared, OF_CLASSES: of_classes, GROUPED: grouped, "limits": limited}
    return procedures[cell.procedure](cell)


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
        for metric in COMPARED_METRICS:
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


def limited(cell: Cell, metrics: Mapping[str, tuple[str, dict[str, Any]]] = METRICS) -> Counts:
    """Count for each metric how often limits are issued, and how often each fails."""
    rng, total, truth = cell.rng(), Counter(), TRUTHS[cell.truth]
    for _ in range(cell.repeats):
        p = DESIGNS[cell.design](rng, cell.n)
        w = np.exp(WEIGHTED.get(cell.design, 0.0) * rng.normal(size=p.size))
        seen = Ordered.of(Binary(truth.outcomes(rng, p).astype(np.uint8), p, w))
        true = replace(seen, events=seen.count * truth.probability(seen.score))
        for name, (verb, options) in metrics.items():
            entry = find(verb)
            try:
                found = entry.limits(seen, entry.parse(options))
            except NotApplicableError:
                continue
            plain = {**options, **{option: value for option, value in PLAIN.items() if option in entry.defaults}}
            total.update(judged(name, found, _value(entry.finish(true, entry.parse(plain)))))
    return dict(total)


def _value(found: Any) -> float:
    """Return the number; of a test its estimate."""
    return float(getattr(found, "estimate", found))


def of_classes(cell: Cell) -> Counts:
    """Count the same for notions of class probabilities."""
    rng, total = cell.rng(), Counter()
    draw = classes(int(cell.design.split(maxsplit=1)[0]), cell.truth)
    for _ in range(cell.repeats):
        data = draw(rng, cell.n)
        for name, (verb, options) in NOTIONS.items():
            try:
                found, _ = limits_of(find(verb), data.y, data.prediction, options)
            except NotApplicableError:
                continue
            total.update(judged(name, found, class_error(verb, data.known.P, data.known.Q, **options)))
    return dict(total)


def class_error(verb: str, P: np.ndarray, Q: np.ndarray, notion: str, average: str = "macro") -> float:
    """Return the error of class probabilities P in width bins if Q are the true ones."""
    top = P.argmax(axis=1)
    if notion == "confidence":
        parts = [(P.max(axis=1), Q[np.arange(len(P)), top])]
    elif notion == "classwise":
        parts = list(zip(P.T, Q.T, strict=True))
    else:
        parts = [(P[top == k, k], Q[top == k, k]) for k in np.unique(top)]
    errors = []
    for p, q in parts:
        number = bin_of(p, width_edges(BINS))
        gap, count = np.abs(np.bincount(number, q - p)), np.bincount(number)
        errors.append((gap[count > 0] / count[count > 0]).max() if verb == "mce" else gap.sum() / p.size)
    if verb == "mce":
        return float(max(errors))
    return float(np.average(errors, weights=[p.size for p, _ in parts] if average == "weighted" else None))


def judged(name: str, limits: Limits, error: float) -> Counts:
    """Compare limits, of one side and of both, with the true error."""
    low, high = limits.at(1 - RATE, "both")
    return {
        f"{name}: issued": 1,
        f"{name}: above": int(error > limits.high(RATE) + ROUNDING),
        f"{name}: below": int(error < limits.low(RATE) - ROUNDING),
        f"{name}: missed": int(error > high + ROUNDING or error < low - ROUNDING),
        f"{name}: length": limits.high(RATE),
    }


def wrong(counts: Counts, name: str, side: str, repeats: int) -> float:
    """Return the share of limits that fail: of those issued, or of all data sets where most limits are refused."""
    issued = counts.get(f"{name}: issued", 0)
    return counts.get(f"{name}: {side}", 0) / (issued if issued >= ISSUED * repeats else repeats)


def allowed(repeats: int) -> float:
    """Return the share of failures up to which limits pass: 0.07, or what chance makes of 0.05 in so few repeats."""
    return max(1 - LEAST, RATE + 2.6 * math.sqrt(RATE * (1 - RATE) / repeats))


Found = dict[Cell, Counts]


def rates(cell: Cell, counts: Counts) -> dict[tuple[str, str], float]:
    """Return the share of failures of each metric and side."""
    if cell.procedure == COMPARED:
        return {(name, "wrong"): wrong(counts, name, "wrong", cell.repeats) for name in COMPARED_METRICS}
    names = NOTIONS if cell.procedure == OF_CLASSES else METRICS
    return {(name, side): wrong(counts, name, side, cell.repeats) for name in names for side in SIDES}


def is_doubtful(cell: Cell, counts: Counts) -> bool:
    """Tell whether one of the limits fails more often than is allowed, by chance or not."""
    return max(rates(cell, counts).values()) > 1 - LEAST


def show_wrong(report: Report, found: Found, procedure: str, side: str) -> None:
    names = list(NOTIONS if procedure == OF_CLASSES else METRICS)
    about = "class probabilities" if procedure == OF_CLASSES else "one probability per row"
    report.section(f"{SIDES[side]}, {about}: share that fails, the largest over n and truths; at most {1 - LEAST:.2f}")
    lines = []
    for design in dict.fromkeys(cell.design for cell in found if cell.procedure == procedure):
        cells = {c: counts for c, counts in found.items() if (c.procedure, c.design) == (procedure, design)}
        line = [design]
        for name in names:
            shares = [(rates(c, counts)[name, side], allowed(c.repeats)) for c, counts in cells.items()]
            rate, most = max(shares, key=lambda share: share[0] - share[1])
            failed = rate > most
            report.failures += failed
            line.append(f"{rate:.3f}{' FAIL' if failed else ''}")
        lines.append(line)
    report.table(["scores", *names], lines)


def show_compared(report: Report, found: dict[Cell, Counts]) -> None:
    report.section(
        f"compare_predictions: share of two-sided 95 % limits that miss the true difference; at most {1 - LEAST:.2f}"
    )
    report.say("One model knows (u + v)/2 or distorts it, the other knows u alone and is calibrated.")
    lines = []
    for cell, counts in found.items():
        if cell.procedure == COMPARED:
            line = [cell.design, str(cell.n), cell.truth]
            for metric in COMPARED_METRICS:
                rate = wrong(counts, metric, "wrong", cell.repeats)
                most = allowed(cell.repeats)
                report.failures += rate > most
                issued = counts.get(f"{metric}: issued", 0) / cell.repeats
                line.append(f"{rate:.3f} of {issued:.2f}{' FAIL' if rate > most else ''}")
            lines.append(line)
    report.table(["scores", "n", "first model", *COMPARED_METRICS], lines)


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


def table(found: Found) -> str:
    """Return the share of failures of each metric in all cells together, for the documentation.

    `failing` is the number of cells in which a share is too large by more than chance.
    """
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["predictions", "metric", "cells", "issued", *SIDES, "failing"])
    for procedure, names, about in (
        ("limits", METRICS, "one probability per row"),
        (OF_CLASSES, NOTIONS, "class probabilities"),
    ):
        cells = {cell: counts for cell, counts in found.items() if cell.procedure == procedure}
        for name in names if cells else ():
            issued = [counts.get(f"{name}: issued", 0) for counts in cells.values()]
            shares = [
                sum(counts.get(f"{name}: {side}", 0) for counts in cells.values()) / sum(issued) for side in SIDES
            ]
            failing = sum(
                max(rates(cell, counts)[name, side] for side in SIDES) > allowed(cell.repeats)
                for cell, counts in cells.items()
            )
            some = sum(k > 0 for k in issued)
            lines.writerow([about, name, len(cells), some, *(f"{share:.4f}" for share in shares), failing])
    return file.getvalue()


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, doubtful ones a second time with more repeats, and return the report."""
    parts = in_parts(cells, PART)
    finished = run(measure, parts, state, processes=processes)
    first = together(finished)
    longer = {cell: replace(cell, repeats=AGAIN * cell.repeats) for cell in first if is_doubtful(cell, first[cell])}
    again = together(run(measure, in_parts(list(longer.values()), PART), state, processes=processes))
    found: Found = {}
    for cell, counts in first.items():
        last = longer.get(cell, cell)
        found |= {last: again[last]} if last in again else {cell: counts}
    report = Report("Limits of calibration errors", packages=["numpy", "scipy"])
    report.say()
    for design, words in DESIGN_WORDS.items():
        report.say(f"{design + ':':<19}{words}")
    report.say("Truth: expit(slope logit p + shift), slope 1, 0.9, 0.6, shift 0, 0.3; or p + 0.3 p(1 - p) cos(4πp).")
    report.say("Of classes: calibrated; class 0 happens half as often, class 1 instead; 0.8 P + 0.2/K.")
    sets = ", ".join(f"{repeats} with n = {n}" for n, repeats in REPEATS.items())
    report.say(f"Limits at the level 0.95. Data sets a cell: {sets};")
    report.say(f"{GROUP_REPEATS} with up to 10 groups, {MANY_GROUP_REPEATS} with more. FAIL: more than 0.07, and more")
    report.say("than 0.05 by 2.6 standard errors.")
    report.say(f"Above 0.07 was measured again with {AGAIN} times as many, which is shown: {len(longer)} cells.")
    report.say("Where limits are refused for more than half of the sets, the share is that of issued and wrong.")
    report.say("equivalence_test with a tolerance just below the true error passes exactly when the upper limit fails.")
    if len(finished) < len(parts):
        report.say(
            f"Not finished: {len(finished):,} of {len(parts):,} parts, in {len(first):,} of {len(cells):,} cells."
        )
    for procedure in ("limits", OF_CLASSES):
        for side in SIDES:
            show_wrong(report, found, procedure, side)
    show_compared(report, found)
    show_grouped(report, found)
    show_lengths(report, found)
    report.say()
    report.say(f"{report.failures} limits do not cover")
    report.attach("validity_limits.csv", table(found))
    return report


if __name__ == "__main__":
    raise SystemExit(command("limits", "Coverage of the limits of calibration errors.", plan, simulate))
