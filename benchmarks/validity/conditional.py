"""Do limits of skill and of `conditional_map` cover, and does `conditional_test` hold its level and find what is wrong?

    python -m benchmarks.validity.conditional [--quick] [--state FILE] [--processes 2]

Levels are counted for one and several coordinates, numbers and categories, weights; power for errors of known place;
how often two places are named, and how often errors are found that are said to be visible. A run can be interrupted and
resumed. Tests have 199 redraws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.conditional_designs import (
    BOXES_ONLY,
    LEVELS,
    MAPS,
    POWERS,
    SEVERAL,
    SKILLS,
    VISIBLE,
    FloatArray,
    Rng,
    draws_with,
    halves,
)

from calibrant import Samples, conditional_map, conditional_test, explain, skill, skill_test
from calibrant.ranking.counting import legendre, shrinkage
from calibrant.ranking.effects import SHIFT, SPREAD

REDRAWS = 199
MOST_AT_5, MOST_AT_1 = 0.065, 0.016  # what is asked of levels, before the noise of the simulation
LEAST_POWER, LEAST_COVERAGE = 0.9, 0.95
PROMISED = 0.8  # "would have been found 4 times in 5"
MIN_OVERLAP = 0.5  # of a region with the true one, to be that one
NOISE = 2.6  # standard errors
PART = 25


def tested(cell: Cell) -> Counts:
    """Count rejections and what the first region names."""
    rng, counts = cell.rng(), Counter[str]()
    draw = (LEVELS if cell.procedure == "level" else POWERS)[cell.design][0]
    for _ in range(cell.repeats):
        data = draw(rng, cell.n)
        found = conditional_test(data.y, data.prediction, resamples=REDRAWS, rng=rng, **data.options)
        counts.update({"5 %": int(found.pvalue <= 0.05), "1 %": int(found.pvalue <= 0.01)})
        regions = found.details.get("regions", ())
        counts["stated"] += bool(regions)
        if regions and data.wrong:
            rows, wrong = regions[0].rows, data.wrong[0]
            counts["named"] += set(regions[0].names) == set(wrong.names)
            counts["overlap"] += max(_overlap(rows, side) for side in (wrong.rows, ~wrong.rows))
    return dict(counts)


def _overlap(rows: FloatArray, other: FloatArray) -> float:
    return float((rows & other).sum() / (rows | other).sum())


def placed(cell: Cell) -> Counts:
    """Count how often both of two places are named, and regions of rows that are right."""
    rng, counts = cell.rng(), Counter[str]()
    for _ in range(cell.repeats):
        data = SEVERAL[cell.design](rng, cell.n)
        found = conditional_test(data.y, data.prediction, resamples=REDRAWS, rng=rng, null=cell.truth, **data.options)
        regions = found.details["regions"]
        named = [
            [set(place.names) <= set(r.names) and _overlap(r.rows, place.rows) >= MIN_OVERLAP for place in data.wrong]
            for r in regions
        ]
        wrong = np.any([place.rows for place in data.wrong], axis=0)
        counts["first"] += bool(named and any(named[0]))
        counts["both"] += bool(named and np.any(named, axis=0).all())
        counts["mostly right"] += any((r.rows & wrong).sum() < r.n / 2 for r in regions)
        counts["all right"] += any(not (r.rows & wrong).any() for r in regions)
        counts["regions"] += len(regions)
    return dict(counts)


def seen(cell: Cell) -> Counts:
    """Count how often the bias of half of the rows is found that `conditional_test` calls visible."""
    rng, counts = cell.rng(), Counter[str]()
    M = int(cell.truth.removeprefix("M = "))
    for _ in range(cell.repeats):
        x, half = halves(rng, cell.design, cell.n)
        y, prediction = draws_with(rng, cell.n, M)
        options = {"covariates": x, "resamples": REDRAWS, "rng": rng}
        visible = conditional_test(y, prediction, **options).details["visible"]
        found = conditional_test(y - visible * half, prediction, **options)
        counts["visible"] += visible
        counts["found"] += found.pvalue <= 0.05
    return dict(counts)


def explained(cell: Cell) -> Counts:
    """Count how often the smallest shift and spread are found that `explain` calls visible."""
    rng, counts = cell.rng(), Counter[str]()
    M = int(cell.truth.removeprefix("M = "))
    for _ in range(cell.repeats):
        y, draws = rng.normal(size=cell.n), rng.normal(size=(cell.n, M))
        said = explain(y, Samples(draws))
        shift, factor = said.smallest_shift, said.smallest_spread
        counts.update({"shift": shift, "factor": factor})
        for name, wrong in (("shift found", y + shift), ("narrow found", y * factor), ("wide found", y / factor)):
            counts[name] += bool(explain(wrong, Samples(draws)).claims)
    return dict(counts)


def mapped(cell: Cell) -> Counts:
    """Count maps of three covariates whose limits contain all true values, by 400 times as many rows."""
    rng, counts = cell.rng(), Counter[str]()
    M, spread = MAPS[cell.design]
    truth = {s: _true_means(s, M, rng) for s in (1.0, 1 / 0.6, 0.8, 1.25)}
    for _ in range(cell.repeats):
        x = rng.normal(size=(cell.n, 3))
        s = np.broadcast_to(spread(x), cell.n)
        y, prediction = draws_with(rng, cell.n, M, spread=s)
        found = conditional_map(y, prediction, covariates=x, resamples=REDRAWS, rng=rng)
        counts["covered"] += _covers(found, x, np.array([truth[value] for value in s.tolist()]))
        counts["length"] += float(np.mean((found.high - found.low)[found.column == "shift"]))
    return dict(counts)


def _true_means(s: float, M: int, rng: Rng) -> FloatArray:
    """Return the means of shift and log spread, in user units to first order, of draws whose spread is wrong by s."""
    if s == 1.0:
        return np.zeros(2)
    from scipy.special import ndtr
    from scipy.stats import binom

    z = np.linspace(-8, 8, 4001)
    weight = np.exp(-z * z / 2)
    chances = (binom.pmf(np.arange(M + 1)[:, None], M, ndtr(s * z)) @ weight) / weight.sum()
    means = legendre(M)[:2] @ chances / shrinkage(M)[:2]
    return np.array([SHIFT * means[0], SPREAD * means[1]])


def _covers(found: Any, x: FloatArray, truth: FloatArray) -> bool:
    """Tell whether the limits of all cells contain the mean truth of their rows."""
    for k in range(len(found.rows)):
        column = x[:, int(found.covariate[k][1:])]
        left, right = found.left[k], found.right[k]
        inside = (column >= left) & (column <= right)
        true = truth[inside].mean(axis=0)[0 if found.column[k] == "shift" else 1]
        if not found.low[k] <= true <= found.high[k]:
            return False
    return True


LARGE = 40_000


def skilled(cell: Cell) -> Counts:
    """Count limits of skill that contain the true value, and false claims."""
    rng, counts = cell.rng(), Counter[str]()
    draw, known = SKILLS[cell.design]
    truth = _true_skill(draw) if known is None else known
    for _ in range(cell.repeats):
        y, prediction, options = draw(rng, cell.n)
        found = skill_test(y, prediction, **options).details
        if found["claim"] != "cannot tell" or found["guard"] >= 10:
            counts["issued"] += 1
            counts["covered"] += found["low"] <= truth <= found["high"]
        counts[found["claim"]] += 1
    return {**counts, "truth": truth * cell.repeats}


@cache
def _true_skill(draw: Callable[[Rng, int], tuple[Any, ...]]) -> float:
    rng = np.random.default_rng(1)
    values = []
    for _ in range(5):
        y, prediction, options = draw(rng, LARGE)
        values.append(float(skill(y, prediction, **options)))
    return float(np.mean(values))


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""

    def repeats(many: int) -> int:
        return 2 if quick else many

    levels = [
        Cell("level", name, n, "", repeats(many)) for name, (_, sizes) in LEVELS.items() for n, many in sizes.items()
    ]
    powers = [
        Cell("power", name, n, "", repeats(many)) for name, (_, sizes, _) in POWERS.items() for n, many in sizes.items()
    ]
    maps = [Cell("map", name, n, "", repeats(200)) for name in MAPS for n in (400, 1600)]
    skills = [Cell("skill", name, n, "", repeats(400)) for name in SKILLS for n in (50, 200)]
    several = [
        Cell("several", name, n, null, repeats(150))
        for name in SEVERAL
        for n in (800, 2000)
        for null in ("calibrated",)
    ]
    visible = [
        Cell("visible", name, n, f"M = {M}", repeats(200)) for name in VISIBLE for n in (200, 800) for M in (9, 99)
    ]
    smallest = [Cell("explain", "smallest", n, f"M = {M}", repeats(300)) for n in (100, 1000) for M in (9, 19, 99)]
    return in_parts([*powers, *several, *visible, *smallest, *skills, *levels, *maps], PART)


MEASURES = {
    "level": tested,
    "power": tested,
    "several": placed,
    "visible": seen,
    "explain": explained,
    "map": mapped,
    "skill": skilled,
}


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    return {name: float(value) for name, value in MEASURES[cell.procedure](cell).items()}


def _above(rate: float, most: float, repeats: int) -> bool:
    return rate > most + NOISE * np.sqrt(most * (1 - most) / repeats)


def _below(rate: float, least: float, repeats: int) -> bool:
    return rate < least - NOISE * np.sqrt(least * (1 - least) / repeats)


def of(found: Mapping[Cell, Counts], procedure: str) -> list[tuple[Cell, Callable[[str], float]]]:
    """Return the cells of a procedure, each with the share of its sets of which something was counted."""
    return [
        (cell, lambda name, cell=cell, counts=counts: counts.get(name, 0) / cell.repeats)
        for cell, counts in found.items()
        if cell.procedure == procedure
    ]


def show_levels(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section(f"Level of conditional_test; at most {MOST_AT_5:g} at 5 % and {MOST_AT_1:g} at 1 % is asked")
    lines = []
    for cell, share in of(found, "level"):
        rates = [share(name) for name in ("5 %", "1 %")]
        good = not any(_above(*pair, cell.repeats) for pair in zip(rates, (MOST_AT_5, MOST_AT_1), strict=True))
        stated = f"{share('stated'):.3f}"
        row = [cell.design, str(cell.n), str(cell.repeats), *(f"{r:.3f}" for r in rates), stated]
        lines.append([*row, report.mark(good)])
    report.table(["design", "n", "sets", "5 %", "1 %", "a region stated", ""], lines)


def show_powers(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section(f"Power at 5 %, and the first region; {LEAST_POWER:g} is asked where marked")
    lines = []
    for cell, share in of(found, "power"):
        rate, stated = share("5 %"), share("stated")
        each = (
            [f"{stated:.2f}", *(f"{share(name) / stated:.2f}" for name in ("named", "overlap"))] if stated else [""] * 3
        )
        asked = POWERS[cell.design][2]
        mark = report.mark(not _below(rate, LEAST_POWER, cell.repeats)) if asked else ""
        lines.append([cell.design, str(cell.n), str(cell.repeats), f"{rate:.2f}", *each, mark])
    report.table(["error", "n", "sets", "found", "region stated", "right names", "mean overlap", ""], lines)


def show_several(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("Two errors in two places: what the regions name")
    names = ("first", "both", "mostly right", "all right")
    lines = []
    for cell, share in of(found, "several"):
        promised = "all right"
        mark = report.mark(not _above(share(promised), 0.05, cell.repeats)) if promised else ""
        row = [f"{cell.design}, {cell.truth}", str(cell.n), str(cell.repeats), f"{share('regions'):.2f}"]
        lines.append([*row, *(f"{share(name):.3f}" for name in names), mark])
    head = [
        "errors, null",
        "n",
        "sets",
        "regions",
        "first is one",
        "both named",
        "one mostly right",
        "one all right",
        "",
    ]
    report.table(head, lines)
    report.say(
        f"A place is named if a region has its covariates and an overlap of {MIN_OVERLAP:g} (Jaccard). Mostly, all"
    )
    report.say("right: most, all rows of a stated region are right; the latter is promised at most 0.05.")


def show_visible(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section(f"Errors that are said to be visible, and how often they are found; {PROMISED:g} is promised")
    lines = []
    for cell, share in of(found, "visible"):
        rate = share("found")
        asked = cell.design != BOXES_ONLY
        mark = report.mark(not _below(rate, PROMISED, cell.repeats)) if asked else ""
        row = [cell.design, str(cell.n), cell.truth.removeprefix("M = "), str(cell.repeats)]
        lines.append([*row, f"{share('visible'):.2f}", f"{rate:.3f}", mark])
    report.table(["conditional_test, half of the rows", "n", "M", "sets", "bias, sd", "found", ""], lines)
    report.say()
    lines = []
    for cell, share in of(found, "explain"):
        rates = [share(f"{name} found") for name in ("shift", "narrow", "wide")]
        mark = report.mark(not any(_below(rate, PROMISED, cell.repeats) for rate in rates))
        row = [str(cell.n), cell.truth.removeprefix("M = "), str(cell.repeats), f"{share('shift'):.2f}"]
        lines.append(["explain", *row, f"{share('factor'):.2f}", *(f"{rate:.3f}" for rate in rates), mark])
    head = ["", "n", "M", "sets", "shift, sd", "factor", "shift found", "too narrow found", "too wide found", ""]
    report.table(head, lines)


def show_maps(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section(f"conditional_map: all limits contain the truth; {LEAST_COVERAGE:g} is asked")
    lines = []
    for cell, share in of(found, "map"):
        good = report.mark(not _below(share("covered"), LEAST_COVERAGE, cell.repeats))
        shares = [f"{share('covered'):.3f}", f"{share('length'):.2f}"]
        lines.append([cell.design, str(cell.n), str(cell.repeats), *shares, good])
    report.table(["design", "n", "sets", "covered", "length, sd", ""], lines)


def show_skill(report: Report, found: Mapping[Cell, Counts]) -> None:
    report.section("Limits of skill that contain the truth, where they are issued, and claims")
    lines = []
    for cell, share in of(found, "skill"):
        issued = share("issued")
        rate = share("covered") / issued if issued else 0.0
        claims = [share(name) for name in ("informative", "no better", "worse", "cannot tell")]
        good = report.mark(not _below(rate, 0.93, max(1, round(issued * cell.repeats))))
        shares = [f"{share('truth'):.3f}", f"{issued:.2f}", f"{rate:.3f}", *(f"{c:.3f}" for c in claims)]
        lines.append([cell.design, str(cell.n), str(cell.repeats), *shares, good])
    head = ["design", "n", "sets", "truth", "issued", "covered", "informative", "no better", "worse", "cannot tell", ""]
    report.table(head, lines)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = together(run(measure, cells, state, processes=processes))
    report = Report("Skill, and ranks against covariates", packages=["numpy", "scipy"])
    for show in (show_levels, show_powers, show_several, show_visible, show_maps, show_skill):
        show(report, found)
    report.say()
    report.say(f"{report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(
        command("conditional", "Level, power and coverage of skill and conditional tests.", plan, simulate)
    )
