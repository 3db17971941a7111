"""Which pairs of coordinates does an audit name, and how often wrongly?

    python -m benchmarks.validity.pairs [--quick] [--state FILE] [--processes 2]

A run can be interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from numpy.typing import NDArray

import calibrant as cb
from calibrant.ranking.rank_checks import PAIRS

PROCEDURE = "pairs"
NULL_SETS, WRONG_SETS, QUICK_SETS = 2000, 100, 2
PART = 20  # data sets that are lost when a run is interrupted
LEVELS = {0.05: 0.065, 0.01: 0.016}  # of the test, and the share of rejections up to which it passes
NOISE = 2.6  # standard errors
FOUND = 0.9
FALSE, NAMED = "false pair", "all wrong pairs"


@dataclass(frozen=True)
class Design:
    """Normal outcomes and draws of D coordinates with rank correlations that differ in some pairs or in none."""

    D: int
    outcomes: float  # correlation of the outcomes of all pairs, or of the first alone
    draws: float
    M: int = 49
    only_first: bool = False
    shift: tuple[float, ...] = (0.0,)  # of the draws of the first coordinates
    spread: float = 1.0  # of all draws
    digits: int | None = None  # to which numbers are rounded, for ties
    tails: float = math.inf  # degrees of freedom of rows, which share one scale

    def wrong(self) -> set[str]:
        """Return the names of the pairs whose dependence is wrong."""
        if self.outcomes == self.draws:
            return set()
        pairs = [(0, 1)] if self.only_first else [(a, b) for b in range(self.D) for a in range(b)]
        return {f"{a} and {b}" for a, b in pairs}

    def draw(self, rng: np.random.Generator, n: int) -> tuple[NDArray[Any], cb.Samples]:
        """Return outcomes and draws around a place that differs from row to row."""
        place = rng.normal(size=(n, self.D))
        scale = np.ones(n) if math.isinf(self.tails) else np.sqrt(self.tails / rng.chisquare(self.tails, n))
        y = place + scale[:, None] * (rng.normal(size=(n, self.D)) @ self._root(self.outcomes))
        draws = self.spread * (rng.normal(size=(n, self.M, self.D)) @ self._root(self.draws))
        draws[:, :, : len(self.shift)] += self.shift
        drawn = place[:, None] + scale[:, None, None] * draws
        if self.digits is not None:
            y, drawn = y.round(self.digits), drawn.round(self.digits)
        return y, cb.Samples(drawn)

    def _root(self, rho: float) -> NDArray[Any]:
        R = np.eye(self.D) if self.only_first else np.full((self.D, self.D), rho) + (1 - rho) * np.eye(self.D)
        R[0, 1] = R[1, 0] = rho
        return np.linalg.cholesky(R).T


DESIGNS: dict[str, tuple[Design, int]] = {
    "right, independent": (Design(3, 0.0, 0.0), 200),
    "right, .6": (Design(3, 0.6, 0.6), 200),
    "right, .9": (Design(2, 0.9, 0.9), 1000),
    "right, .6, 10 coordinates, 19 draws": (Design(10, 0.6, 0.6, M=19), 100),
    "right, .3, 30 rows, 9 draws": (Design(4, 0.3, 0.3, M=9), 30),
    "right, .6, heavy tails": (Design(3, 0.6, 0.6, tails=3.0), 200),
    "right, .6, rounded": (Design(3, 0.6, 0.6, digits=1), 200),
    "right, .8, draws x .9": (Design(3, 0.8, 0.8, spread=0.9), 400),
    "right, .8, draws x 1.15": (Design(3, 0.8, 0.8, spread=1.15), 400),
    "right, .8, draws x .5": (Design(3, 0.8, 0.8, spread=0.5), 400),
    "right, independent, all + .2 sd": (Design(3, 0.0, 0.0, shift=(0.2, 0.2, 0.2)), 400),
    "right, .6, two + .8 sd": (Design(4, 0.6, 0.6, shift=(0.8, 0.8)), 400),
    ".8 stated as 0": (Design(3, 0.8, 0.0), 200),
    ".8 stated as .6": (Design(3, 0.8, 0.6), 400),
    "0 stated as .3": (Design(3, 0.0, 0.3), 400),
    "-.5 stated as 0, one pair of 6": (Design(4, -0.5, 0.0, only_first=True), 200),
    ".5 stated as 0, one pair of 45": (Design(10, 0.5, 0.0, only_first=True), 200),
}
"""What is drawn, and the number of rows."""


def is_right_alone(design: Design) -> bool:
    """Tell whether all coordinates and their dependence are right, and the test must keep its level."""
    return not design.wrong() and design.spread == 1 and not any(design.shift)


def plan(*, quick: bool) -> list[Cell]:
    """Return the parts of all cells."""
    cells = []
    for name, (design, n) in DESIGNS.items():
        repeats = QUICK_SETS if quick else WRONG_SETS if design.wrong() else NULL_SETS
        cells.append(Cell(PROCEDURE, name, n, "wrong" if design.wrong() else "right", repeats))
    return in_parts(cells, PART)


def measure(cell: Cell) -> Counts:
    """Count the pairs that audits of the data sets of one cell name."""
    rng, total, (design, n) = cell.rng(), Counter[str](), DESIGNS[cell.design]
    wrong = design.wrong()
    for _ in range(cell.repeats):
        found = cb.audit(*design.draw(rng, n), resamples=19, rng=rng).findings
        said = {claim.subject.name for claim in found.verdict.claims if claim.subject.kind == "pair" and claim.level}
        (check,) = [m for m in found.measurements if m.name == PAIRS]
        tests = 4  # coordinates, two sorts of joint ranks, pairs
        total.update({FALSE: bool(said - wrong), NAMED: wrong <= said})
        total.update({f"p {alpha}": (check.pvalue or 0.0) <= min(1.0, tests * alpha) * (1 + 1e-9) for alpha in LEVELS})
    return dict(total)


def show(report: Report, found: Mapping[Cell, Counts]) -> None:
    """Print a line per design."""
    rows = []
    for cell, counts in found.items():
        design, _ = DESIGNS[cell.design]
        share = {name: count / cell.repeats for name, count in counts.items()}
        bounds = {alpha: most + NOISE * math.sqrt(alpha * (1 - alpha) / cell.repeats) for alpha, most in LEVELS.items()}
        right = share.get(FALSE, 0.0) <= bounds[0.05]
        if is_right_alone(design):
            right &= all(share.get(f"p {alpha}", 0.0) <= bound for alpha, bound in bounds.items())
        if design.wrong():
            right &= share.get(NAMED, 0.0) >= FOUND
        named = f"{share.get(NAMED, 0.0):.2f}" if design.wrong() else ""
        levels = [f"{share.get(f'p {alpha}', 0.0):.3f}" for alpha in LEVELS]
        line = [cell.design, f"{cell.n:,}", str(design.M), str(cell.repeats), *levels]
        rows.append([*line, f"{share.get(FALSE, 0.0):.3f}", named, report.mark(right)])
    header = ["dependence", "n", "M", "sets", "p <= .05", "p <= .01", "false pair named", "wrong pairs named", ""]
    report.table(header, rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = run(measure, cells, state, processes=processes)
    found = together(parts)
    report = Report("Pairs of coordinates that audits name", packages=["numpy", "scipy"])
    report.say()
    report.say("Normal outcomes and draws of correlated coordinates. p: of the comparison of pairs alone, not adjusted")
    report.say("for other checks. A false pair: a claim on a pair whose dependence is right, also where coordinates")
    report.say(f"are wrong. PASS: levels at most {list(LEVELS.values())} and false pairs at most .065, plus {NOISE:g}")
    report.say(f"standard errors; all pairs whose dependence is wrong named in at least {FOUND:g} of the data sets.")
    if len(parts) < len(cells):
        report.say(f"Not finished: {len(parts):,} of {len(cells):,} parts.")
    order = list(DESIGNS)
    show(report, dict(sorted(found.items(), key=lambda item: order.index(item[0].design))))
    report.say()
    report.say(f"{len(found)} designs; {report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(command("pairs", "Pairs of coordinates that audits name.", plan, simulate))
