"""What does the test behind the verdict detect, beside the best other test, and is `power` true?

    python -m benchmarks.validity.power [--quick] [--state FILE] [--processes 2]

Every competitor holds its level on these scores (`levels`). For each alternative the power of `calibration_test`,
averaged over the designs of scores, should be within 10 points of the best of them, although nobody knows beforehand
which one that is. Each design is shown too. For confident scores no test is within 10 points of the best one for every
alternative: what no test can reach is shown by one that knows the alternatives (`Oracle`). `power` states the smallest
error that is found 4 times in 5; outcomes with this error are drawn, and the share that is found is counted. A run can
be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.claim_designs import TRUTHS
from benchmarks.validity.designs import HARD_SCORES, SCORES
from numpy.typing import NDArray

from calibrant import power
from calibrant.core.bins import GRID_ORDER
from calibrant.core.null import MAX_ENTRIES_REDRAWN, redraw_events
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.inputs.probabilities import Binary
from calibrant.kernels.line_sum import line_sum
from calibrant.probabilities.calibration_test import FourStatistics, smallest_of_four

FloatArray = NDArray[np.float64]
LEVEL, TARGET = 0.05, 0.8
REDRAWS = 999
PART = 200  # data sets, with the same scores
KERNEL_ROWS = 1000  # whose median distance is the length scale of the kernel
LOST = 0.10  # power that may be lost to the best other test
OFF = 0.05  # of the stated power
TESTS, SENTENCE = "tests", "power sentence"
VERDICT = "calibration_test"

SIZES = {"uniform": 1000, "rare": 1000, "confident": 1000, "tied": 1000, "bimodal": 500, "92 % zeros": 5000}
"""Numbers of rows with which most alternatives are found sometimes and not always."""

ALTERNATIVES = {
    **{name: TRUTHS[name] for name in ("slope .8", "slope 1.3", "shift .3", "wave", "one region")},
    "fast wave": lambda p: p + 0.4 * p * (1 - p) * np.cos(6 * np.pi * p),
}
ONE_SIDED = ("shift .3", "wave", "one region", "fast wave")  # alternatives without one of the other sign
ORACLE_SETS, ORACLE_ROUNDS, ORACLE_RATE = 4000, 200, 1.5
TINY = 1e-12
ITS_PARTS = ("kuiper", "spiegelhalter", "cox", "smooth")
OTHERS = ("kolmogorov_smirnov", "skce", "ece")
BINS = 15  # of the expected calibration error
FAMILIES = {"one family": 1, "two families": 2}  # of tests; an audit with groups or classes has two
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
    cells = [Cell(SENTENCE, design, n, families, max(2, 2000 // few)) for families in FAMILIES for design, n in PLANNED]
    return cells + [
        Cell(TESTS, design, n, truth, max(2, 1000 // few)) for design, n in SIZES.items() for truth in ALTERNATIVES
    ]


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    rng, scores = cell.rng(), {**SCORES, **HARD_SCORES}[cell.design]
    if cell.procedure == SENTENCE:
        return sentence(np.sort(scores(np.random.default_rng(7), cell.n)), cell, rng)
    return tests(np.sort(scores(rng, cell.n)), cell, rng)


def tests(p: FloatArray, cell: Cell, rng: np.random.Generator) -> Counts:
    """Count rejections of the joint test, of each test that is part of it, and of others."""
    y = rng.random((cell.repeats, p.size)) < ALTERNATIVES[cell.truth](p)
    other = Others(p, rng)
    null = other.statistics(rng.random((REDRAWS, p.size)) < p)
    found = {name: pvalues(values, null[name]) for name, values in other.statistics(y).items()}
    joint = Joint(p, rng).results(y)
    found[VERDICT] = np.array([result.pvalue for result in joint])
    found |= {name: np.array([result.details[name] for result in joint]) for name in ITS_PARTS}
    return {name: int((values <= LEVEL + 1e-12).sum()) for name, values in found.items()}


class Joint:
    """`calibration_test` of many data sets with the same sorted scores, against the same redraws."""

    def __init__(self, p: FloatArray, rng: np.random.Generator) -> None:
        rows = Ordered.of(Binary(np.zeros(p.size, np.uint8), p, np.ones(p.size)))
        rows = rows.at_most(MAX_ENTRIES_REDRAWN, width_bins=GRID_ORDER)
        self.p, self.starts, self.tests = p, np.cumsum(rows.count) - rows.count, FourStatistics(rows.pool)
        redrawn = [self.tests.of(events) for events in redraw_events(rows.pool, REDRAWS, rng)]
        self.null = np.concatenate(redrawn, axis=1)

    def results(self, y: NDArray[np.bool_]) -> list[TestResult]:
        """Return the result for each row of outcomes (replicates, rows)."""
        data = self.tests.of(np.add.reduceat(y.astype(np.int64), self.starts, axis=1))
        impossible = y[:, self.p == 0].any(axis=1) | (~y[:, self.p == 1]).any(axis=1)
        found = [
            smallest_of_four(np.column_stack([column, self.null]), n=self.p.size, estimate=0.0, how="")
            for column in data.T
        ]
        return [replace(result, pvalue=0.0) if seen else result for result, seen in zip(found, impossible, strict=True)]


class Others:
    """Statistics of tests that are no part of `calibration_test`, for outcomes (replicates, rows) of sorted scores.

    They are those of `kolmogorov_smirnov_test`, `skce_test` and `consistency_test` of the expected calibration error.
    """

    def __init__(self, p: FloatArray, rng: np.random.Generator) -> None:
        self.p, self.ends = p, np.append(p[1:] > p[:-1], True)
        some = rng.choice(p, min(p.size, KERNEL_ROWS), replace=False)
        distances = np.abs(some[:, None] - some)[np.triu_indices(some.size, 1)]
        self.lengthscale = float(np.median(distances) or distances.mean())
        self.bins = np.eye(BINS)[np.maximum(np.ceil(BINS * p).astype(int) - 1, 0)]

    def statistics(self, y: NDArray[np.bool_]) -> dict[str, FloatArray]:
        r = y - self.p
        kernel = line_sum(self.p, r, "exponential", self.lengthscale) - (r**2).sum(axis=1)
        farthest = np.abs(np.cumsum(r, axis=1)[:, self.ends]).max(axis=1)
        return dict(zip(OTHERS, (farthest, kernel, np.abs(r @ self.bins).sum(axis=1)), strict=True))


def pvalues(statistics: FloatArray, null: FloatArray) -> FloatArray:
    """Return (1 + #{T* >= T})/(B + 1); float32 is compared, because what differs by rounding is equal."""
    ascending = np.sort(null.astype(np.float32))
    below = np.searchsorted(ascending, statistics.astype(np.float32), side="left")
    return (1 + null.size - below) / (1 + null.size)


def sentence(p: FloatArray, cell: Cell, rng: np.random.Generator) -> Counts:
    """Draw outcomes with the error that `power` says is found 4 times in 5, in both directions, and count."""
    level = LEVEL / FAMILIES[cell.truth]
    stated, joint = power(p, level=1 - level, target=TARGET), Joint(p, rng)
    counts: Counts = {"error": stated.error * cell.repeats}
    for side in (1, -1):
        q = moved(p, stated.error, side)
        if q is not None:
            results = joint.results(rng.random((cell.repeats, p.size)) < q)
            counts[f"found {side:+d}"] = sum(result.pvalue <= level + 1e-12 for result in results)
            counts[f"tried {side:+d}"] = cell.repeats
    return counts


def moved(p: FloatArray, error: float, side: int) -> FloatArray | None:
    """Return p + c or p - c, cut off at 0 and 1, whose mean is off by the error; None if there is no room."""
    low, high = 0.0, 1.0
    for _ in range(60):
        c = (low + high) / 2
        low, high = (c, high) if abs(np.mean(np.clip(p + side * c, 0, 1) - p)) < error else (low, c)
    return np.clip(p + side * high, 0, 1) if high < 1 else None


def rates(cell: Cell, counts: Counts) -> dict[str, float]:
    """Return the power of each other test."""
    return {name: counts[name] / cell.repeats for name in (*ITS_PARTS, *OTHERS)}


def show_power(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("Power at 5 %: calibration_test beside each other test, averaged over the designs of scores")
    cells = {
        cell: (counts[VERDICT] / cell.repeats, rates(cell, counts)) for cell, counts in found.items() if is_test(cell)
    }
    rows = []
    for truth in ALTERNATIVES:
        designs = [powers for cell, powers in cells.items() if cell.truth == truth]
        ours = float(np.mean([mine for mine, _ in designs]))
        others = {name: float(np.mean([theirs[name] for _, theirs in designs])) for name in (*ITS_PARTS, *OTHERS)}
        lost = max(others.values()) - ours
        rows.append([truth, *(f"{rate:.3f}" for rate in (ours, *others.values(), lost)), report.mark(lost <= LOST)])
    report.table(["truth", "ours", *ITS_PARTS, *OTHERS, "lost", ""], rows)
    report.say(f"PASS: at most {LOST:.2f} below the best other test of that alternative.")
    report.say("kuiper, spiegelhalter, cox and smooth alone, on the redraws of calibration_test.")

    report.section("The same for each design of scores")
    rows = []
    for cell, (ours, others) in cells.items():
        best = max(others.values())
        error = math.sqrt(best * (1 - best) / cell.repeats)
        mark = "" if ours >= best - LOST - 2 * error else f"more than {LOST:.2f}"
        shown = (f"{rate:.2f}" for rate in (ours, *others.values(), best - ours))
        rows.append([cell.design, f"{cell.n:,}", cell.truth, *shown, mark])
    report.table(["scores", "n", "truth", "ours", *ITS_PARTS, *OTHERS, "lost", ""], rows)
    marked = sum(bool(row[-1]) for row in rows)
    report.say(
        f"Marked: more than {LOST:.2f} and two standard errors below the best other test, {marked} of {len(rows)}."
    )


def is_test(cell: Cell) -> bool:
    """Tell whether a cell compares tests."""
    return cell.procedure == TESTS


def table(found: Mapping[Cell, Counts]) -> str:
    """Return the power of the verdict's test and of the best other one, for the page of the documentation."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["scores", "n", "truth", "ours", "best", "which"])
    for cell, counts in found.items():
        if is_test(cell):
            others = rates(cell, counts)
            which = max(others, key=others.__getitem__)
            ours = f"{counts[VERDICT] / cell.repeats:.3f}"
            lines.writerow([cell.design, cell.n, cell.truth, ours, f"{others[which]:.3f}", which])
    return file.getvalue()


class Oracle:
    """The most powerful test against alternatives that it knows: which they are, how large, and how likely each is.

    It rejects for large Σ w_i L_i, where L_i is the likelihood ratio of alternative i (Neyman and Pearson). No test of
    the same level has a larger Σ w_i power_i. So for any weights w, Σ w_i (power_i - target_i) bounds the smallest
    margin that any test has over the targets of all alternatives. Errors of the other sign are alternatives too, with
    the same targets: a test does not know the sign. Alternatives with impossible outcomes are found anyway, and left
    out.
    """

    def __init__(self, p: FloatArray, targets: Mapping[str, float], rng: np.random.Generator) -> None:
        truths = {name: ALTERNATIVES[name](p) for name in targets}
        truths |= {f"{name}, reversed": 2 * p - truths[name] for name in ONE_SIDED if name in targets}
        certain = p * (1 - p) < TINY
        clear = {name: q[~certain] for name, q in truths.items() if np.allclose(q[certain], p[certain])}
        self.names = list(clear)
        self.targets = np.array([targets[name.removesuffix(", reversed")] for name in self.names])
        p, q = p[~certain], np.clip(list(clear.values()), TINY, 1 - TINY)
        of_event, of_none = np.log(q / p), np.log((1 - q) / (1 - p))
        drawn = [rng.random((ORACLE_SETS, p.size)) < each for each in (p, *q)]
        self.null, *self.data = (y @ (of_event - of_none).T + of_none.sum(axis=1) for y in drawn)

    def powers(self, weights: FloatArray) -> FloatArray:
        """Return the power against each alternative at 5 %."""
        critical = np.quantile(np.exp(self.null) @ weights, 1 - LEVEL)
        return np.array([(np.exp(ratios) @ weights > critical).mean() for ratios in self.data])

    def best(self) -> tuple[float, FloatArray]:
        """Return the smallest bound on the margin over all targets that was found, and the powers of its test."""
        weights = np.full(len(self.names), 1 / len(self.names))
        found = []
        for _ in range(ORACLE_ROUNDS):
            powers = self.powers(weights)
            margin = powers - self.targets
            found.append((float(weights @ margin), powers))
            weights = weights * np.exp(-ORACLE_RATE * margin)
            weights /= weights.sum()
        return min(found, key=lambda each: each[0])


def show_oracle(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("The most powerful test that knows these alternatives, their sizes and both signs, beside ours")
    lines, margins = [], []
    for design, n in SIZES.items():
        cells = {
            cell.truth: (cell, counts)
            for cell, counts in found.items()
            if (cell.procedure, cell.design) == (TESTS, design)
        }
        best = {truth: max(rates(cell, counts).values()) for truth, (cell, counts) in cells.items()}
        rng = np.random.default_rng(7)
        p = np.sort({**SCORES, **HARD_SCORES}[design](rng, n))
        oracle = Oracle(p, {truth: rate - LOST for truth, rate in best.items()}, rng)
        margin, powers = oracle.best()
        margins.append([design, f"{margin:+.3f}"])
        for name, power_of in zip(oracle.names, powers, strict=True):
            if name in cells:
                cell, counts = cells[name]
                shown = (best[name], counts[VERDICT] / cell.repeats, power_of)
                lines.append([design, name, *(f"{rate:.2f}" for rate in shown)])
    report.table(["scores", "truth", "best other", "ours", "knows all"], lines)
    report.table(["scores", f"no test exceeds all of (best other - {LOST:.2f}) by more than"], margins)
    report.say("A margin near 0: only a test that knows the alternatives and their sizes could reach all targets.")
    report.say(f"{ORACLE_SETS} data sets each; standard errors up to {0.5 / math.sqrt(ORACLE_SETS):.3f}.")


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
            error = f"{counts['error'] / cell.repeats:.4f}"
            rows.append([cell.design, f"{cell.n:,}", cell.truth, error, *sides, mark])
    report.table(["scores", "n", "families", "error", "p + c", "p - c", ""], rows)
    report.say("The standard error of a share of 0.8 is 0.009.")
    report.say(f"PASS: the direction that is harder to find is found {TARGET:.2f} ± {OFF:.2f} of the time.")


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = in_parts(cells, PART)
    finished = run(measure, parts, state, processes=processes)
    found = together(finished)
    report = Report("Power of the verdict's test", packages=["numpy", "scipy"])
    report.say()
    report.say("Truths: expit(slope logit p + shift); wave: p + 0.06 cos(2πp); fast wave: p + 0.4 p(1-p) cos(6πp);")
    report.say(f"one region: 0.12 more between 0.6 and 0.8. {REDRAWS} redraws, the same for {PART} data sets.")
    if len(finished) < len(parts):
        report.say(f"Not finished: {len(finished):,} of {len(parts):,} parts of {PART} data sets.")
    show_power(report, found)
    if len(finished) == len(parts):
        show_oracle(report, found)
    show_sentence(report, found)
    report.say()
    report.say(f"{report.failures} targets missed")
    report.attach("validity_power.csv", table(found))
    return report


if __name__ == "__main__":
    raise SystemExit(command("power", "Power of the verdict's test.", plan, simulate))
