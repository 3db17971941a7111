"""Do limits of skill and of `conditional_map` cover, and does `conditional_test` hold its level and find what is wrong?

    python -m benchmarks.validity.conditional [--quick] [--state FILE] [--processes 2]

Levels are counted for one and several coordinates, numbers and categories, weights; power for errors of known place.
A run can be interrupted and resumed. Tests have 199 redraws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together

from calibrant import Normal, Samples, conditional_map, conditional_test, skill, skill_test
from calibrant.ranking.counting import legendre, shrinkage
from calibrant.ranking.effects import SHIFT, SPREAD

Rng = np.random.Generator
FloatArray = np.ndarray[Any, Any]
REDRAWS = 199
MOST_AT_5, MOST_AT_1 = 0.065, 0.016  # what is asked of levels, before the noise of the simulation
LEAST_POWER, LEAST_COVERAGE = 0.9, 0.95
NOISE = 2.6  # standard errors
PART = 25


class Drawn(NamedTuple):
    """Outcomes, their predictions, and what was known of them."""

    y: FloatArray
    prediction: Any
    options: Mapping[str, Any]
    wrong: Any = None  # mask of the rows with an error, or (covariates that matter)
    names: tuple[str, ...] = ()  # of the covariates that matter


def _draws(rng: Rng, n: int, M: int = 99, *, bias: Any = 0.0, spread: Any = 1.0, D: int = 0) -> tuple[Any, Any]:
    """Return outcomes and draws that are too high by `bias` predictive sd, of a spread that is `spread` too small."""
    shape = (n, D) if D else (n,)
    column = (n, 1) if D else (n,)
    y = np.reshape(np.broadcast_to(spread, n), column) * rng.normal(size=shape)
    y = y - np.reshape(np.broadcast_to(bias, n), column)
    return y, Samples(rng.normal(size=(n, M, D) if D else (n, M)))


def _plain(q: int, **error: Any) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, n: int) -> Drawn:
        return Drawn(*_draws(rng, n, **error), {"covariates": rng.normal(size=(n, q))})

    return draw


def _mixed(rng: Rng, n: int) -> Drawn:
    x = {
        "binary": rng.random(n) < 0.3,
        "four": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05]),
        "cauchy": rng.standard_cauchy(n),
        "whole": rng.poisson(2, n),
    }
    return Drawn(*_draws(rng, n, M=9), {"covariates": x})


def _weighted(rng: Rng, n: int) -> Drawn:
    x = rng.normal(size=(n, 3))
    return Drawn(*_draws(rng, n), {"covariates": x, "weights": np.exp(0.8 * x[:, 0]), "null": "uniform"})


def _uniform(q: int, D: int = 0) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, n: int) -> Drawn:
        return Drawn(*_draws(rng, n, D=D), {"covariates": rng.normal(size=(n, q)), "null": "uniform"})

    return draw


LEVELS: dict[str, tuple[Callable[[Rng, int], Drawn], dict[int, int]]] = {
    "calibrated, q = 3": (_plain(3), {800: 500, 100: 400}),
    "all x .7, q = 3": (_plain(3, spread=1 / 0.7), {800: 400}),
    "all + .4 sd, q = 3": (_plain(3, bias=0.4), {800: 400}),
    "q = 10": (_plain(10), {300: 400}),
    "D = 5, q = 3": (_plain(3, D=5), {200: 400}),
    "numbers and categories, M = 9": (_mixed, {100: 400, 400: 400}),
    "uniform null, q = 3": (_uniform(3), {300: 400}),
    "uniform null, D = 5, q = 3": (_uniform(3, 5), {300: 400}),
    "uniform null, weights": (_weighted, {300: 400}),
}


def _by(name: str, q: int) -> Callable[[Rng, int], Drawn]:
    def draw(rng: Rng, n: int) -> Drawn:
        x = rng.normal(size=(n, q))
        inside, names = _inside(name, x)
        given = {"covariates": x}
        if name.startswith("spread"):
            return Drawn(*_draws(rng, n, spread=np.where(inside, 0.8, 1.25)), given, inside, names)
        size = 0.3 if ".3" in name else 0.5
        bias = np.where(inside, 1.0, 0.0) if "5 %" in name else np.where(inside, size, -size)
        return Drawn(*_draws(rng, n, bias=bias), given, inside, names)

    return draw


def _inside(name: str, x: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    if "|x2|" in name:
        return np.abs(x[:, 1]) > 0.6745, ("x1",)
    if "x1 x2" in name:
        return x[:, 0] * x[:, 1] > 0, ("x0", "x1")
    if "tail" in name:
        return x[:, 0] > 1.645, ("x0",)
    return x[:, 0] > 0, ("x0",)


def _category(rng: Rng, n: int) -> Drawn:
    city = rng.choice(["Rome", "Oslo", "Lima", "Bonn", "Kyiv"], n)
    x = {"age": rng.normal(size=n), "city": city, "sex": rng.random(n) < 0.5}
    wrong = city == "Oslo"
    return Drawn(*_draws(rng, n, bias=np.where(wrong, 0.5, 0.0)), {"covariates": x}, wrong, ("city",))


POWERS: dict[str, tuple[Callable[[Rng, int], Drawn], dict[int, int], bool]] = {
    **{f"bias +-.5 sd by |x2|, q = {q}": (_by("|x2|", q), {800: 60 if q < 20 else 40}, True) for q in (2, 10, 20)},
    "bias +-.3 sd by |x2|, q = 3": (_by("|x2| .3", 3), {800: 60}, False),
    "spread x .8, x 1.25 by x1, q = 3": (_by("spread", 3), {800: 60}, False),
    "bias +-.5 sd by sign of x1 x2, q = 3": (_by("x1 x2", 3), {800: 60}, False),
    "+ 1 sd in the 5 % tail of x1, q = 3": (_by("tail 5 %", 3), {800: 60}, False),
    "+ .5 sd in one of 5 categories": (_category, {800: 60}, False),
}
"""Designs, numbers of data sets, and whether a power of 0.9 is asked."""


def tested(cell: Cell) -> Counts:
    """Count rejections and what the first region names."""
    rng, counts = cell.rng(), Counter[str]()
    draw = (LEVELS if cell.procedure == "level" else POWERS)[cell.design][0]
    for _ in range(cell.repeats):
        data = draw(rng, cell.n)
        found = conditional_test(data.y, data.prediction, resamples=REDRAWS, rng=rng, **data.options)
        counts.update({"5 %": int(found.pvalue <= 0.05), "1 %": int(found.pvalue <= 0.01)})
        regions = found.details["regions"]
        counts["stated"] += bool(regions)
        if regions and data.wrong is not None:
            rows, wrong = regions[0].rows, data.wrong
            sides = [(rows & side).sum() / (rows | side).sum() for side in (wrong, ~wrong)]
            counts["named"] += set(regions[0].names) == set(data.names)
            counts["overlap"] += float(max(sides))
    return dict(counts)


def _of_spread(x: FloatArray) -> FloatArray:
    return np.where(x[:, 0] > 0, 0.8, 1.25)


MAPS: dict[str, tuple[int, Callable[[FloatArray], Any]]] = {
    **{f"calibrated, M = {M}": (M, lambda x: 1.0) for M in (7, 49)},
    "all x .6": (49, lambda x: 1 / 0.6),
    "spread by x": (49, _of_spread),
}


def mapped(cell: Cell) -> Counts:
    """Count maps of three covariates whose limits contain all true values, by 400 times as many rows."""
    rng, counts = cell.rng(), Counter[str]()
    M, spread = MAPS[cell.design]
    truth = {s: _true_means(s, M, rng) for s in (1.0, 1 / 0.6, 0.8, 1.25)}
    for _ in range(cell.repeats):
        x = rng.normal(size=(cell.n, 3))
        s = np.broadcast_to(spread(x), cell.n)
        y, prediction = _draws(rng, cell.n, M, spread=s)
        found = conditional_map(y, prediction, covariates=x, resamples=REDRAWS, rng=rng)
        counts["covered"] += _covers(found, x, np.array([truth[value] for value in s.tolist()]))
        counts["length"] += float(np.mean(found.shift_high - found.shift_low))
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
    return np.array([-SHIFT * means[0], SPREAD * means[1]])


def _covers(found: Any, x: FloatArray, truth: FloatArray) -> bool:
    """Tell whether the limits of all cells contain the mean truth of their rows."""
    for k in range(len(found.rows)):
        column = x[:, int(found.covariate[k][1:])]
        left, right = found.left[k], found.right[k]
        inside = (column >= left) & (column <= right)
        shift, spread = truth[inside].mean(axis=0)
        if not found.shift_low[k] <= shift <= found.shift_high[k]:
            return False
        if not np.log(found.spread_low[k]) <= spread <= np.log(found.spread_high[k]):
            return False
    return True


def _skill_log(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    y = rng.normal(x, 1.0)
    return y, Normal(x, 1.1), {"score": "log", "climatology": Normal(np.zeros(n), np.sqrt(2))}


def _skill_log_heavy(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    y = x + rng.standard_t(5, size=n)
    return y, Normal(x, 1.2), {"score": "log", "climatology": Normal(np.zeros(n), 1.6)}


def _skill_energy(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=(n, 3))
    y = x + rng.normal(size=(n, 3))
    return y, Samples(x[:, None] + rng.normal(size=(n, 20, 3))), {"score": "energy"}


def _skill_energy_none(rng: Rng, n: int) -> tuple[Any, ...]:
    y = rng.normal(size=(n, 3))
    return y, Samples(rng.normal(size=(n, 20, 3))), {"score": "energy"}


def _skill_seed(rng: Rng, n: int) -> tuple[Any, ...]:
    x = rng.normal(size=n)
    return rng.normal(x, 1.0), Samples(x[:, None] + rng.normal(size=(n, 49))), {}


def _skill_none(rng: Rng, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), Samples(rng.normal(size=(n, 49))), {}


def _skill_constant(rng: Rng, n: int) -> tuple[Any, ...]:
    return rng.normal(size=n), Normal(np.zeros(n), 1.0), {}


SKILLS: dict[str, tuple[Callable[[Rng, int], tuple[Any, ...]], float | None]] = {
    "crps, draws": (_skill_seed, None),
    "crps, climatology drawn": (_skill_none, 0.0),
    "crps, constant marginal": (_skill_constant, 0.0),
    "energy, D = 3": (_skill_energy, None),
    "energy, climatology drawn": (_skill_energy_none, 0.0),
    "log, normal": (_skill_log, None),
    "log, outcomes t5": (_skill_log_heavy, None),
}
"""How data are drawn, and their true skill where it is known without a simulation."""
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
    return in_parts([*powers, *skills, *levels, *maps], PART)


MEASURES = {"level": tested, "power": tested, "map": mapped, "skill": skilled}


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    return {name: float(value) for name, value in MEASURES[cell.procedure](cell).items()}


def _above(rate: float, most: float, repeats: int) -> bool:
    return rate > most + NOISE * np.sqrt(most * (1 - most) / repeats)


def _below(rate: float, least: float, repeats: int) -> bool:
    return rate < least - NOISE * np.sqrt(least * (1 - least) / repeats)


def show(report: Report, found: Mapping[Cell, Counts]) -> None:
    """Show the tables."""
    of = {name: [(c, k) for c, k in found.items() if c.procedure == name] for name in MEASURES}
    report.section(f"Level of conditional_test; at most {MOST_AT_5:g} at 5 % and {MOST_AT_1:g} at 1 % is asked")
    lines = []
    for cell, counts in of["level"]:
        rates = [counts.get(name, 0) / cell.repeats for name in ("5 %", "1 %")]
        good = not any(_above(*pair, cell.repeats) for pair in zip(rates, (MOST_AT_5, MOST_AT_1), strict=True))
        stated = f"{counts.get('stated', 0) / cell.repeats:.3f}"
        lines.append(
            [cell.design, str(cell.n), str(cell.repeats), *(f"{r:.3f}" for r in rates), stated, report.mark(good)]
        )
    report.table(["design", "n", "sets", "5 %", "1 %", "a region stated", ""], lines)
    report.section(f"Power at 5 %, and the first region; {LEAST_POWER:g} is asked where marked")
    lines = []
    for cell, counts in of["power"]:
        rate, stated = counts.get("5 %", 0) / cell.repeats, counts.get("stated", 0)
        named, overlap = (f"{counts.get(name, 0) / stated:.2f}" if stated else "" for name in ("named", "overlap"))
        asked = POWERS[cell.design][2]
        mark = report.mark(not _below(rate, LEAST_POWER, cell.repeats)) if asked else ""
        row = [
            cell.design,
            str(cell.n),
            str(cell.repeats),
            f"{rate:.2f}",
            f"{stated / cell.repeats:.2f}",
            named,
            overlap,
        ]
        lines.append([*row, mark])
    report.table(["error", "n", "sets", "found", "region stated", "right names", "mean overlap", ""], lines)
    report.section(f"conditional_map: all limits contain the truth; {LEAST_COVERAGE:g} is asked")
    lines = []
    for cell, counts in of["map"]:
        rate = counts.get("covered", 0) / cell.repeats
        good = report.mark(not _below(rate, LEAST_COVERAGE, cell.repeats))
        lines.append(
            [cell.design, str(cell.n), str(cell.repeats), f"{rate:.3f}", f"{counts['length'] / cell.repeats:.2f}", good]
        )
    report.table(["design", "n", "sets", "covered", "length, sd", ""], lines)
    report.section("Limits of skill that contain the truth, where they are issued, and claims")
    lines = []
    for cell, counts in of["skill"]:
        issued = counts.get("issued", 0)
        rate = counts.get("covered", 0) / max(1, issued)
        claims = [counts.get(name, 0) / cell.repeats for name in ("informative", "no better", "worse", "cannot tell")]
        good = report.mark(not _below(rate, 0.93, int(max(1, issued))))
        truth = f"{counts['truth'] / cell.repeats:.3f}"
        shares = [f"{issued / cell.repeats:.2f}", f"{rate:.3f}", *(f"{c:.3f}" for c in claims)]
        lines.append([cell.design, str(cell.n), str(cell.repeats), truth, *shares, good])
    head = ["design", "n", "sets", "truth", "issued", "covered", "informative", "no better", "worse", "cannot tell", ""]
    report.table(head, lines)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = together(run(measure, cells, state, processes=processes))
    report = Report("Skill, and ranks against covariates", packages=["numpy", "scipy"])
    show(report, found)
    report.say()
    report.say(f"{report.failures} targets missed")
    return report


if __name__ == "__main__":
    raise SystemExit(
        command("conditional", "Level, power and coverage of skill and conditional tests.", plan, simulate)
    )
