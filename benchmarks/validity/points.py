"""Do the tests of diversity, classifiers, projections and repetitions keep their level, and what do they find?

    python -m benchmarks.validity.points [--quick] [--state FILE] [--processes 2]

A run that was stopped goes on where it stopped. `--quick` makes few repeats to see that everything runs; nothing of it
is kept. Tests by kernels, halves and folds of one classifier are in `benchmarks.validity.two_sample`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity import point_designs as designs
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.point_designs import CLASSIFIED, DESIGNS, SAME, VARIED, Rng
from benchmarks.validity.samples import Rate

from calibrant.auditing.compare_points import compare
from calibrant.points.classifier_test import c2st
from calibrant.points.classifiers import BEST
from calibrant.points.coordinates import coordinate_differences
from calibrant.points.diversity import diversity_test
from calibrant.points.diversity_section import COLLAPSED
from calibrant.points.inputs import PointSets, Repeats, copies, repeats_pvalue
from calibrant.points.sliced import sliced_wasserstein_test

LEVEL, SMALL = 0.05, 0.01
RESAMPLES = 199
VERDICT_RESAMPLES = 399  # the fewest that the verdict takes
FAMILY_LEVEL = 0.99  # of the limits in a verdict of one set, at level 0.95
NEW_TESTS, CLASSIFIERS, VARIETY, REPEATS, LIMITS, VERDICT = (
    "level",
    "classifiers",
    "variety",
    "repetitions",
    "limits",
    "verdict",
)
LATTICES = ("integers, d = 2", "coarse lattice, d = 4", "an atom of 5 %, d = 2")
LIMIT_DESIGNS = ("normal", "Student's t5", "exponential")
LIMIT_SHIFT, LIMIT_SCALE = 0.5, 1.3


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, those of the levels first."""
    cells = [Cell(NEW_TESTS, design, 50 if DESIGNS[design].ratio > 1 else 100, SAME, 500) for design in DESIGNS]
    cells += [Cell(REPEATS, design, 100, SAME, 2000) for design in LATTICES]
    cells += [Cell(LIMITS, design, 100, SAME, 500) for design in LIMIT_DESIGNS]
    cells += [
        Cell(CLASSIFIERS, name, n, SAME, 300 if n == 200 and "same" in name else 60) for name, n in CLASSIFIED.items()
    ]
    cells += [Cell(VARIETY, f"d = {d}", 300, truth, 40) for d in (2, 10) for truth in VARIED]
    cells += [Cell(VERDICT, design, 100, SAME, 120) for design in ("Gaussian, d = 2", "integers, d = 2")]
    if quick:
        cells = [replace(cell, repeats=2) for cell in cells]
    return cells


def measure(cell: Cell) -> Counts:
    """Simulate one cell; the tests get the simulation's own generator, so that no two repeats share their chance."""
    rng, total = cell.rng(), Counter[str]()
    for _ in range(cell.repeats):
        total.update(PROCEDURES[cell.procedure](cell, rng))
    return dict(total)


def rejected(pvalues: Mapping[str, float]) -> Counts:
    """Return which p-values reject at both levels."""
    at = {name: int(p <= LEVEL) for name, p in pvalues.items()}
    return at | {f"{name}, 1 %": int(p <= SMALL) for name, p in pvalues.items()}


def new_tests(cell: Cell, rng: Rng) -> Counts:
    y, points = designs.one_distribution(rng, cell.design, cell.n)
    options = {"resamples": RESAMPLES, "rng": rng}
    return rejected(
        {
            "c2st": c2st(y, points, **options).pvalue,
            "diversity_test": diversity_test(y, points, **options).pvalue,
            "sliced_wasserstein_test": sliced_wasserstein_test(y, points, directions=50, **options).pvalue,
        }
    )


def repetitions(cell: Cell, rng: Rng) -> Counts:
    """Repetitions and copies of sets of one distribution with ties, equal and unequal in size."""
    found = {}
    for words, m in (("", cell.n), (", m = 3n", 3 * cell.n)):
        y, points = (designs.lattice(rng, cell.design, size) for size in (cell.n, m))
        found[f"repetitions{words}"] = repeats_pvalue(Repeats.of(points), [Repeats.of(y)])
        found[f"copies{words}"] = copies(PointSets(y, points)).pvalue
    return rejected(found)


def limits(cell: Cell, rng: Rng) -> Counts:
    """Tell whether joint limits of shift and spread miss the true values in any of three coordinates."""
    y, points = (designs.standard(rng, cell.design, (cell.n, 3)) for _ in range(2))
    points = LIMIT_SCALE * points + LIMIT_SHIFT
    found = coordinate_differences(PointSets(y, points), 0.95, VERDICT_RESAMPLES, rng, family_level=FAMILY_LEVEL)
    shift = np.abs(found.location - LIMIT_SHIFT) > found.location_error
    spread = np.abs(np.log(found.spread / LIMIT_SCALE)) > found.spread_error
    return {"location, 1 %": int(shift.any()), "spread, 1 %": int(spread.any())}


def classifiers(cell: Cell, rng: Rng) -> Counts:
    found = c2st(*designs.classified(rng, cell.design, cell.n), rng=rng)
    pvalues = {**found.details["pvalue_unadjusted"], "best": found.pvalue}
    return rejected(pvalues)


def variety(cell: Cell, rng: Rng) -> Counts:
    d = int(cell.design.rpartition(" ")[2])
    found = diversity_test(*designs.varied(rng, cell.truth, cell.n, d), resamples=RESAMPLES, rng=rng)
    reject = found.pvalue <= LEVEL
    return {
        "rejected": int(reject),
        "collapse": int(reject and found.details["finest_ratio"] < COLLAPSED),
        "smallest": float(found.estimate),
        "finest": float(found.details["finest_ratio"]),
    }


def verdict(cell: Cell, rng: Rng) -> Counts:
    """Tell whether a comparison of sets of one distribution says that they differ."""
    y, points = designs.one_distribution(rng, cell.design, cell.n)
    found = compare(y, points, resamples=VERDICT_RESAMPLES, rng=rng).verdict
    without = compare(None, {"a": y, "b": points}, resamples=VERDICT_RESAMPLES, rng=rng).verdict
    differ = found.status in ("different", "copies")
    return {"different": int(differ), "without truth: any claim": int(bool(without.claims))}


PROCEDURES: dict[str, Callable[[Cell, Rng], Counts]] = {
    NEW_TESTS: new_tests,
    REPEATS: repetitions,
    LIMITS: limits,
    CLASSIFIERS: classifiers,
    VARIETY: variety,
    VERDICT: verdict,
}
Found = Mapping[Cell, Counts]


def level_rate(name: str, counts: Counts, repeats: int) -> Rate:
    """Return how often something happens that is to happen in at most 5 %, or 1 %, of the repeats."""
    return Rate(int(counts.get(name, 0)), repeats, SMALL if name.endswith("1 %") else LEVEL)


def show_levels(report: Report, found: Found, procedure: str, title: str, note: str = "") -> None:
    """Show rates that are to be at most their level, one row per cell."""
    cells = [cell for cell in found if cell.procedure == procedure]
    if not cells:
        return
    report.section(title)
    names = list(dict.fromkeys(name for cell in cells for name in found[cell]))
    rows = []
    for cell in cells:
        rates = [level_rate(name, found[cell], cell.repeats) for name in names]
        for rate in rates:
            report.mark(not rate.fails())
        rows.append([cell.design, f"{cell.n:,}", *(rate.shown() for rate in rates), f"{cell.repeats:,}"])
    report.table(["", "n", *names, "repeats"], rows)
    if note:
        report.say(note)


def show_classifiers(report: Report, found: Found) -> None:
    cells = [cell for cell in found if cell.procedure == CLASSIFIERS]
    if not cells:
        return
    report.section("c2st: rejected at 5 %; p-values of single classifiers are unadjusted")
    names = (*BEST, "best")
    rows = [
        [
            cell.design,
            f"{cell.n:,}",
            *(f"{found[cell].get(name, 0) / cell.repeats:.2f}" for name in names),
            str(cell.repeats),
        ]
        for cell in cells
    ]
    report.table(["", "n", *names, "repeats"], rows)


def show_variety(report: Report, found: Found) -> None:
    cells = [cell for cell in found if cell.procedure == VARIETY]
    if not cells:
        return
    report.section("diversity_test against a normal distribution, 300 points of each set, at 5 %")
    rows = []
    for cell in cells:
        mean = {
            name: found[cell].get(name, 0) / cell.repeats for name in ("rejected", "collapse", "smallest", "finest")
        }
        rows.append([f"{cell.truth}, {cell.design}", *(f"{value:.2f}" for value in mean.values()), str(cell.repeats)])
    report.table(["", "rejected", "called a collapse", "smallest ratio", "finest ratio", "repeats"], rows)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report(
        "Validity of tests of sets of points: diversity, classifiers, projections", packages=["numpy", "scipy"]
    )
    report.say()
    report.say(
        "Rates have their Monte Carlo standard error. FAIL: above, low: below the binomial range of 99.9 % around"
    )
    report.say("what is asked.")
    if len(found) < len(cells):
        report.say(f"{len(cells) - len(found)} of {len(cells)} cells are not measured yet.")
    title = f"Level: sets of one distribution that are rejected, {RESAMPLES} permutations"
    show_levels(report, found, NEW_TESTS, title, "c2st: the best of four classifiers; sliced: 50 directions.")
    title = "Level of counted repetitions and copies of sets of one distribution with ties"
    show_levels(report, found, REPEATS, title)
    title = (
        f"Limits of shift ({LIMIT_SHIFT}) and spread ({LIMIT_SCALE}) of three coordinates: missed, level {FAMILY_LEVEL}"
    )
    show_levels(report, found, LIMITS, title)
    show_classifiers(report, found)
    show_variety(report, found)
    show_levels(report, found, VERDICT, "compare: sets of one distribution that it says something about")
    report.say()
    report.say(f"{report.failures} targets not met")
    return report


if __name__ == "__main__":
    raise SystemExit(command("points", "Level and power of tests of sets of points.", plan, simulate))
