"""Do tests, intervals and distances of two sets of points keep their word, and which test sees which difference?

    python -m benchmarks.validity.two_sample [--quick] [--state FILE] [--processes 2]

A run that was stopped goes on where it stopped. `--quick` makes few repeats to see that everything runs; nothing of it
is kept. Tests of diversity, several classifiers and projections are in `benchmarks.validity.points`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.runner import Report
from benchmarks.validity import point_designs as designs
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.point_designs import DESIGNS, DIFFERENT, SAME, FloatArray, Rng
from benchmarks.validity.samples import NORMAL_QUANTILE, Rate

from calibrant import interval
from calibrant.auditing.compare_points import compare
from calibrant.points.balls import density_coverage
from calibrant.points.blocks import PointBlocks
from calibrant.points.classifier_test import c2st
from calibrant.points.discrepancy import MIN_BLOCKS, kernel_distance, mmd
from calibrant.points.discrepancy_test import mmd_test
from calibrant.points.frechet import expected_frechet, frechet_distance
from calibrant.points.moments import PointMoments

LEVEL, SMALL = 0.05, 0.01
AGAIN = 4
RESAMPLES = 99
VERDICT_RESAMPLES = 399  # the fewest that the verdict takes

TESTS, HALVES, REFITS, POWER, MEANS, INTERVALS, NEIGHBOURS, FRECHET, VERDICT = (
    "tests",
    "c2st of many",
    "c2st with folds",
    "power",
    "means of mmd",
    "intervals",
    "density and coverage",
    "frechet_distance",
    "verdict",
)
BLOCK_LEAST = 100  # points of a set that fill ten blocks of ten
TEST_ROWS, POWER_ROWS, VERDICT_ROWS = 100, 150, 100
HALVES_ROWS = 400  # so many held-out points that the distribution of the rank sum is an approximation
REFIT_DESIGNS = ("Gaussian, d = 2", "integers, d = 2")
MEAN_ROWS, MEAN_SETS = (20, 100), 200
INTERVAL_BLOCK = 50
INTERVAL_ROWS = tuple(INTERVAL_BLOCK * blocks for blocks in (MIN_BLOCKS, 2 * MIN_BLOCKS))
INTERVAL_DESIGNS = {SAME: (0.0, 1.0), "mean +0.5, sd x1.2": (0.5, 1.2)}  # mean and deviation of the generated points
NEIGHBOUR_DESIGNS = ("Gaussian, d = 2", "Gaussian, d = 10", "Student's t2, d = 2", "Gaussian, d = 2, m = 5n")
NEVER = 2e-4  # of a share: where hardly ever a point is missed, the spread of few repeats is no standard error
FRECHET_DESIGNS = {"d = 2": (2, 200), "d = 10": (10, 200), "d = 50": (50, 500)}  # coordinates, points
FRECHET_ERROR = 0.05  # of the expected value, which is a leading term
VERDICT_DESIGNS = ("Gaussian, d = 2", "Gaussian, d = 10", "integers, d = 2", "Gaussian, d = 2, m = 5n")


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first, so that no process is left alone with them at the end."""
    cells = [Cell(VERDICT, design, _rows(design, VERDICT_ROWS), SAME, 500) for design in VERDICT_DESIGNS]
    cells += [Cell(TESTS, design, _rows(design, TEST_ROWS), SAME, 2000) for design in DESIGNS]
    cells += [Cell(POWER, f"d = {d}", POWER_ROWS, truth, 400) for truth in DIFFERENT for d in (2, 10)]
    cells += [Cell(HALVES, design, HALVES_ROWS, SAME, 2000) for design in REFIT_DESIGNS]
    cells += [Cell(REFITS, design, 40, SAME, 1000) for design in REFIT_DESIGNS]
    cells += [
        Cell(INTERVALS, f"d = {d}", n, truth, 400)
        for n in reversed(INTERVAL_ROWS)
        for truth in INTERVAL_DESIGNS
        for d in (2, 10)
    ]
    cells += [Cell(NEIGHBOURS, design, _rows(design, 200), SAME, 1000) for design in NEIGHBOUR_DESIGNS]
    cells += [Cell(FRECHET, name, n, SAME, 1000) for name, (_, n) in FRECHET_DESIGNS.items()]
    cells += [Cell(MEANS, design, n, SAME, MEAN_SETS) for design in DESIGNS for n in MEAN_ROWS]
    if quick:
        cells = [replace(cell, repeats=max(2, cell.repeats // 200)) for cell in cells]
    return cells


def _rows(design: str, n: int) -> int:
    """Return fewer points of the first set where the second has many more."""
    return n // 2 if DESIGNS[design].ratio > 1 else n


def measure(cell: Cell) -> Counts:
    """Simulate one cell; the tests get the simulation's own generator, so that no two repeats share their chance."""
    rng, total = cell.rng(), Counter[str]()
    for _ in range(cell.repeats):
        total.update(PROCEDURES[cell.procedure](cell, rng))
    return dict(total)


def rejections(y: FloatArray, points: FloatArray, rng: Rng) -> Counts:
    """Tell which tests reject."""
    options = {"resamples": RESAMPLES, "rng": rng}
    found = {
        "permutation": mmd_test(y, points, **options),
        "fuse": mmd_test(y, points, aggregate="fuse", **options),
        "max": mmd_test(y, points, aggregate="max", **options),
        "pairs": mmd_test(PointBlocks.of(y, points, estimator="linear"), method="block"),
        "c2st": c2st(y, points, classifier="neighbours", rng=rng),
    }
    if min(len(y), len(points)) >= BLOCK_LEAST:
        found["block"] = mmd_test(y, points, method="block")
    return {name: int(result.pvalue <= LEVEL) for name, result in found.items()}


def tests(cell: Cell, rng: Rng) -> Counts:
    return rejections(*designs.one_distribution(rng, cell.design, cell.n), rng)


def halves(cell: Cell, rng: Rng) -> Counts:
    found = c2st(*designs.one_distribution(rng, cell.design, cell.n), classifier="neighbours", rng=rng)
    return {"c2st": int(found.pvalue <= LEVEL), "c2st, 1 %": int(found.pvalue <= SMALL)}


def refits(cell: Cell, rng: Rng) -> Counts:
    y, points = designs.one_distribution(rng, cell.design, cell.n)
    found = c2st(y, points, classifier="neighbours", folds=2, resamples=19, rng=rng)
    return {"folds": int(found.pvalue <= LEVEL)}


def power(cell: Cell, rng: Rng) -> Counts:
    return rejections(*designs.two_distributions(rng, cell.truth, cell.n, _coordinates(cell)), rng)


def _coordinates(cell: Cell) -> int:
    return int(cell.design.rpartition(" ")[2])


def sums(**values: float) -> Counts:
    """Return values to be added up, and their squares."""
    return {**values, **{f"{name}²": value * value for name, value in values.items()}}


def means(cell: Cell, rng: Rng) -> Counts:
    y, points = designs.one_distribution(rng, cell.design, cell.n)
    found = {estimator: mmd(y, points, estimator=estimator) for estimator in ("unbiased", "biased", "linear")}
    return sums(**found)


def intervals(cell: Cell, rng: Rng) -> Counts:
    """Tell which intervals miss the true value."""
    d, (mu, s) = _coordinates(cell), INTERVAL_DESIGNS[cell.truth]
    y, points = rng.standard_normal((cell.n, d)), s * rng.standard_normal((cell.n, d))
    points[:, 0] += mu
    sigma = math.sqrt(2 * d)
    kernel = {"kernel": "gaussian", "bandwidth": sigma}
    given = {
        "mmd, block": interval(mmd, y, points, estimator="block", blocksize=INTERVAL_BLOCK, **kernel),
        "mmd, linear": interval(mmd, y, points, estimator="linear", **kernel),
        "kernel_distance": interval(kernel_distance, y, points, blocksize=INTERVAL_BLOCK),
    }
    true = {name: designs.gaussian_mmd(d, mu, s, sigma) for name in given}
    true["kernel_distance"] = designs.polynomial_mmd(d, mu, s)
    return {name: int(not found.low <= true[name] <= found.high) for name, found in given.items()}


def neighbours(cell: Cell, rng: Rng) -> Counts:
    found = density_coverage(*designs.one_distribution(rng, cell.design, cell.n))
    return sums(density=found.density - 1, coverage=found.coverage - found.expected_coverage)


def frechet(cell: Cell, rng: Rng) -> Counts:
    d = _coordinates(cell)
    y, points = rng.standard_normal((cell.n, d)), rng.standard_normal((cell.n, d))
    floor = expected_frechet(PointMoments.of(y), PointMoments.of(points))
    return sums(ratio=frechet_distance(y, points) / floor)


def verdict(cell: Cell, rng: Rng) -> Counts:
    """Tell whether a comparison of sets of one distribution says that they differ."""
    found = compare(*designs.one_distribution(rng, cell.design, cell.n), resamples=VERDICT_RESAMPLES, rng=rng).verdict
    return {"different": int(found.status in ("different", "copies"))}


PROCEDURES: dict[str, Callable[[Cell, Rng], Counts]] = {
    TESTS: tests,
    HALVES: halves,
    REFITS: refits,
    POWER: power,
    MEANS: means,
    INTERVALS: intervals,
    NEIGHBOURS: neighbours,
    FRECHET: frechet,
    VERDICT: verdict,
}
JUDGED = {
    TESTS: ("permutation", "fuse", "max", "block", "pairs", "c2st"),
    HALVES: ("c2st", "c2st, 1 %"),
    REFITS: ("folds",),
    INTERVALS: ("mmd, block", "mmd, linear", "kernel_distance"),
    VERDICT: ("different",),
}
"""What of a procedure is to be at most 5 %, or 1 %."""
UNBIASED = {MEANS: ("unbiased", "linear"), NEIGHBOURS: ("density", "coverage")}
"""What of a procedure is to be 0 on average."""


class Mean:
    """A mean with its standard error, which is to be `asked` within `slack` and chance, 99.9 %."""

    def __init__(self, counts: Counts, name: str, trials: int, asked: float = 0.0, slack: float = 0.0) -> None:
        self.mean = counts[name] / trials
        self.error = math.sqrt(max(counts[f"{name}²"] / trials - self.mean**2, 0.0) / (trials - 1))
        self.asked, self.slack, self.trials = asked, slack, trials

    def fails(self) -> bool:
        return abs(self.mean - self.asked) > self.slack + NORMAL_QUANTILE * self.error

    def shown(self) -> str:
        return f"{self.mean:.5f} ± {self.error:.5f} {'FAIL' if self.fails() else 'PASS'}"


def judged(cell: Cell, counts: Counts) -> dict[str, Rate | Mean]:
    """Return what of a cell is judged."""
    found: dict[str, Rate | Mean] = {
        name: Rate(int(counts[name]), cell.repeats, SMALL if name.endswith("1 %") else LEVEL)
        for name in JUDGED.get(cell.procedure, ())
        if name in counts
    }
    slack = NEVER if cell.procedure == NEIGHBOURS else 0.0
    found |= {name: Mean(counts, name, cell.repeats, slack=slack) for name in UNBIASED.get(cell.procedure, ())}
    if cell.procedure == FRECHET:
        found["ratio"] = Mean(counts, "ratio", cell.repeats, 1.0, FRECHET_ERROR)
    return found


def failing(found: Mapping[Cell, Counts]) -> list[tuple[Cell, str]]:
    """Return the cells, and what of them, that do not hold what is asked."""
    return [
        (cell, name) for cell, counts in found.items() for name, value in judged(cell, counts).items() if value.fails()
    ]


def longer(cell: Cell) -> Cell:
    """Return the cell with more repeats, which are new ones: the stream of a cell depends on their number."""
    return replace(cell, repeats=AGAIN * cell.repeats)


Found = Mapping[Cell, Counts]


def show_judged(report: Report, found: Found, procedure: str, title: str, note: str = "") -> None:
    """Show all that is judged of a procedure, one row per cell."""
    report.section(title)
    cells = [cell for cell in found if cell.procedure == procedure]
    names = list(dict.fromkeys(name for cell in cells for name in judged(cell, found[cell])))
    rows = []
    for cell in cells:
        values = judged(cell, found[cell])
        shown = [values[name].shown() if name in values else "" for name in names]
        rows.append([_words(cell), f"{cell.n:,}", *shown, f"{cell.repeats:,}"])
    report.table(["", "n", *names, "repeats"], rows)
    if note:
        report.say(note)


def _words(cell: Cell) -> str:
    return cell.design if cell.procedure != INTERVALS else f"{cell.design}, {cell.truth}"


def show_power(report: Report, found: Found) -> None:
    cells = [cell for cell in found if cell.procedure == POWER]
    report.section(f"Power at 5 %: {POWER_ROWS} points of each set, {cells[0].repeats} repeats")
    rows = []
    for cell in cells:
        rates = [f"{found[cell].get(name, 0) / cell.repeats:.2f}" for name in JUDGED[TESTS]]
        rows.append([f"{cell.truth}, {cell.design}", *rates])
    report.table(["", *JUDGED[TESTS]], rows)
    report.say(f"The missing mode is one of {designs.MODES}, on a circle of radius 4 in the first two coordinates.")


def show_means(report: Report, found: Found) -> None:
    title = f"Means of mmd over {MEAN_SETS} pairs of sets of one distribution"
    show_judged(report, found, MEANS, title)
    biased = {cell: counts["biased"] / cell.repeats for cell, counts in found.items() if cell.procedure == MEANS}
    report.say("With the diagonal kept, times n/2: " + ", ".join(f"{cell.n * b / 2:.2f}" for cell, b in biased.items()))
    report.say("(in the order above; (1/n + 1/m) (1 - E k) is expected, some 2/n times 0.4)")


def show_again(report: Report, found: Found, again: Found) -> None:
    report.section(f"Marked FAIL, measured again with {AGAIN} times the repeats")
    rows = []
    for cell, name in failing(found):
        first, second = judged(cell, found[cell])[name], judged(longer(cell), again[longer(cell)])[name]
        which = f"{name}; {cell.procedure}, {_words(cell)}, n = {cell.n:,}"
        rows.append([which, first.shown(), second.shown(), report.mark(not second.fails())])
    report.table(["", "first", "again", ""], rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time, and return the report."""
    found = run(measure, cells, state, processes=processes)
    again = run(measure, list(dict.fromkeys(longer(cell) for cell, _ in failing(found))), state, processes=processes)
    report = Report("Validity of comparisons of two sets of points", packages=["numpy", "scipy"])
    report.say()
    report.say("Rates and means have their Monte Carlo standard error. FAIL: above, low: below the binomial range of")
    report.say(
        f"99.9 % around what is asked. What fails is measured again with {AGAIN} times the repeats, and that decides."
    )
    words = f"n points of the first set, {RESAMPLES} permutations"
    show_judged(report, found, TESTS, f"Level: share of pairs from one distribution that are rejected at 5 %, {words}")
    report.say("block: default size, where both sets have 100 points; pairs: those of the linear estimator.")
    show_judged(report, found, HALVES, f"Level of c2st with {HALVES_ROWS} held-out points, at 5 % and 1 %")
    show_judged(report, found, REFITS, "Level of c2st(folds=2), 19 refits, at 5 %")
    show_power(report, found)
    show_means(report, found)
    title = f"Intervals of level 0.95: share that misses the true value, blocks of {INTERVAL_BLOCK}, or pairs"
    show_judged(report, found, INTERVALS, title)
    title = "density_coverage of sets of one distribution: mean of density - 1 and of coverage less what is expected"
    show_judged(report, found, NEIGHBOURS, title)
    title = "frechet_distance of sets of one distribution, over what is expected"
    show_judged(report, found, FRECHET, title, f"To be 1 within {FRECHET_ERROR:.0%} and chance.")
    show_judged(report, found, VERDICT, "compare: share of pairs of sets of one distribution that it calls different")
    if again:
        show_again(report, found, again)
    report.say()
    report.say(f"{report.failures} targets not met")
    return report


if __name__ == "__main__":
    raise SystemExit(command("two_sample", "Level, power, bias and coverage for two sets of points.", plan, simulate))
