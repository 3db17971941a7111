"""Do tests of coverage hold their level, and do intervals, bands and PITs keep their word?

    python -m benchmarks.validity.intervals [--quick] [--state FILE] [--processes 2]

Where a distribution is finite its sizes are added up instead of simulated. A run can be interrupted and resumed.
`--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity import interval_designs as designs
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.interval_designs import CALIBRATED, CALIBRATION, GROUPS, NESTED, TAUS, Data, Rng
from scipy.special import stdtrit
from scipy.stats import betabinom, binom, kstest, norm

import calibrant as cb
from calibrant import Intervals, Quantiles, coverage_curve, coverage_test
from calibrant.errors import NotApplicableError
from calibrant.regions import christoffersen_test, coverage_hsic_test, kupiec_test, multinomial_coverage_test

LEVEL = 0.05
RANGE = 0.999  # of the binomial distribution around the level
AGAIN = 4
PERMUTATIONS = 199
LEVELS = (0.5, 0.9, 0.95, 0.99)
ROWS = (20, 100, 1000)
SIZE_ROWS = (20, 50, 100, 250, 1000)
ORDER_ROWS = 10  # all 2^10 orders of hits are looked at
LIMIT_ROWS = 250
CONFORMAL_ROWS = (20, 100, 1000, 2000)
POWER_ROWS = (100, 1000)
SLAB_ROWS, DIRECTIONS = 800, 60
PIT_ROWS = 200
EXACT_ERROR = 1e-9  # rounding of a sum of probabilities

SIZES, ORDERS = "sizes", "sizes of tests of order"
QUICK, CONDITIONAL, HSIC, LIMITS, SERIES = "quick tests", "conditional", "hsic", "chi-square limits", "series"
CONFORMAL, JOINT, WILSON, SLAB, BAND, PIT = "conformal", "joint", "wilson", "slab", "band", "pit"
EXACT_DISTRIBUTION = "exact distribution"

# Simulated sizes of the chi-square distributions that the definitions of calibrant quote.
QUOTED_KUPIEC = {(20, 0.9): 0.133, (50, 0.95): 0.089, (250, 0.99): 0.095}
QUOTED_INDEPENDENCE = {(250, 0.9): 0.084, (250, 0.95): 0.019}
QUOTED_CONFORMAL = {(2000, 0.9): 0.65}
QUOTED_T = {50: 0.74, 100: 0.83, 1000: 0.93}  # unguarded coverage of interval_score at level 0.95
QUOTED_SLAB = {"split": 0.90, "in-sample": 0.76}

DESIGNS: dict[str, designs.Draw] = {
    **{f"level {level:g}": designs.intervals(level) for level in LEVELS},
    **{f"sets, level {level:g}": designs.sets(level) for level in LEVELS},
    **{f"conformal, level {level:g}": designs.split_conformal(level) for level in LEVELS},
    "nested intervals": designs.nested,
    "quantiles": designs.quantiles,
    "Poisson quantiles": designs.counts,
    "normal": designs.normal,
    "9 draws": designs.samples(9),
    "20 draws": designs.samples(20),
    "9 Poisson draws": designs.tied_samples(9),
    "features": designs.featured,
    **{
        f"{kind}, level {level:g}": designs.weighted(kind, level)
        for kind in (designs.LOGNORMAL, designs.WITH_HITS, designs.WITH_CHANCE)
        for level in LEVELS
    },
    "N(0, 1)": lambda rng, n, truth: Data(rng.normal(size=n), None),
}
WEIGHTED = (designs.LOGNORMAL, designs.WITH_HITS, designs.WITH_CHANCE)
SINGLE = ("level 0.9", "sets, level 0.9", "conformal, level 0.9")
BANDS = ("nested intervals", "quantiles")
PITS = ("normal", "9 draws", "9 Poisson draws", "quantiles")
T_CASES: dict[str, tuple[int, ...]] = {  # rows; with fewer the verb refuses
    "crps, normal": (100, 1000),
    "crps, 20 draws": (100, 1000),
    "interval_score, level 0.5": (250, 1000),
    "interval_score, level 0.9": (1000, 2000),
    "interval_score, level 0.95": (50, 100, 1000, 2000, 4000),
    "quantile_score, τ = 0.5": (250, 1000),
    "quantile_score, τ = 0.95": (2000, 4000),
    "weighted_interval_score": (1000, 2000),
}
POWER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (designs.LOW, "level 0.9", (QUICK, CONDITIONAL)),
    (designs.CLUSTERS, "level 0.9", (QUICK, CONDITIONAL)),
    (designs.ONE_GROUP, "level 0.9", (QUICK,)),
    (designs.WIDE, "level 0.9", (QUICK, HSIC)),
    (designs.NARROW, "nested intervals", (JOINT,)),
    (designs.NARROW, "quantiles", (JOINT,)),
)


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first, so that no process is left alone with them at the end."""
    names = [f"level {level:g}" for level in LEVELS]
    few = {20: 4000, 100: 2000, 1000: 300}
    cells = [Cell(CONDITIONAL, design, n, CALIBRATED, few[n]) for n in reversed(ROWS) for design in names]
    cells += [Cell(HSIC, design, n, CALIBRATED, 2000 if n < 1000 else 500) for n in reversed(ROWS) for design in names]
    cells += [Cell(HSIC, "sets, level 0.9", n, CALIBRATED, 1000) for n in ROWS]
    cells += [Cell(SERIES, design, 100, CALIBRATED, 1000) for design in ("level 0.5", "level 0.9")]
    cells += [Cell(SIZES, design, n, EXACT_DISTRIBUTION, 1) for n in reversed(SIZE_ROWS) for design in names]
    cells += [Cell(ORDERS, design, ORDER_ROWS, EXACT_DISTRIBUTION, 1) for design in names]
    for truth, design, procedures in POWER:
        cells += [
            Cell(p, design, n, truth, 100 if p in (CONDITIONAL, HSIC) and n == 1000 else 1000)
            for p in procedures
            for n in POWER_ROWS
        ]
    cells += [Cell(SLAB, "features", SLAB_ROWS, CALIBRATED, 1000)]
    cells += [Cell(QUICK, design, n, CALIBRATED, 4000) for design in (*names, "sets, level 0.9") for n in ROWS]
    cells += [Cell(LIMITS, design, LIMIT_ROWS, CALIBRATED, 4000) for design in names]
    cells += [Cell(CONFORMAL, f"conformal, {design}", n, CALIBRATED, 4000) for design in names for n in CONFORMAL_ROWS]
    cells += [Cell(JOINT, design, n, CALIBRATED, 4000) for design in BANDS for n in ROWS]
    cells += [
        Cell(WILSON, f"{kind}, {level}", n, CALIBRATED, 4000) for kind in WEIGHTED for level in names for n in ROWS
    ]
    cells += [Cell(case, "N(0, 1)", n, CALIBRATED, 4000) for case, rows in T_CASES.items() for n in rows]
    cells += [Cell(BAND, design, n, CALIBRATED, 2000) for design in BANDS for n in ROWS]
    cells += [Cell(PIT, design, PIT_ROWS, CALIBRATED, 4000) for design in PITS]
    if quick:
        cells = [replace(c, repeats=max(2, c.repeats // 400)) for c in cells if (c.procedure, c.n) != (SIZES, 1000)]
    return cells


def measure(cell: Cell) -> Counts:
    """Simulate one cell, or add up what is finite."""
    if cell.truth == EXACT_DISTRIBUTION:
        level = float(cell.design.removeprefix("level "))
        return (sizes if cell.procedure == SIZES else sizes_of_order)(cell.n, level)
    rng, total = cell.rng(), Counter()
    for _ in range(cell.repeats):
        data = DESIGNS[cell.design](rng, cell.n, cell.truth)
        try:
            total.update(PROCEDURES[cell.procedure](data, rng))
        except NotApplicableError:
            total["refused"] += 1
    return dict(total)


# Sizes that are added up.


def rows_with(hits: np.ndarray, level: float) -> tuple[np.ndarray, Intervals]:
    n = hits.size
    return np.where(hits, 0.0, 2.0), Intervals(np.full(n, -1.0), np.ones(n), level)


def sizes(n: int, level: float) -> Counts:
    """Return probabilities of rejection, and of intervals that miss the level, over all numbers of hits."""
    tests: dict[str, Callable[..., Any]] = {
        "binomial": partial(coverage_test),
        "less": partial(coverage_test, alternative="less"),
        "greater": partial(coverage_test, alternative="greater"),
        "kupiec": kupiec_test,
        "kupiec, chi-square": partial(kupiec_test, null="asymptotic"),
        "conformal": partial(coverage_test, calibration_size=CALIBRATION),
    }
    k, j = np.arange(n + 1), math.ceil(round((CALIBRATION + 1) * level, 10))
    distribution = {"conformal": betabinom(n, j, CALIBRATION + 1 - j).pmf(k)}
    plain = binom.pmf(k, n, level)
    missed = dict.fromkeys([*tests, "clopper-pearson", "wilson"], 0.0)
    for hits in k.tolist():
        rows = rows_with(k[1:] <= hits, level)
        for name, test in tests.items():
            missed[name] += float(distribution.get(name, plain)[hits]) * (test(*rows).pvalue <= LEVEL)
        for name in ("clopper-pearson", "wilson"):
            found = cb.interval("coverage", *rows, level=1 - LEVEL, method=name)
            missed[name] += float(plain[hits]) * (not found.low <= level <= found.high)
    return missed


def sizes_of_order(n: int, level: float) -> Counts:
    """Return probabilities of rejection over all orders of hits and misses."""
    missed = {"independence": 0.0, "conditional": 0.0}
    for order in product((True, False), repeat=n):
        hits = np.array(order)
        chance = level ** int(hits.sum()) * (1 - level) ** int((~hits).sum())
        for name in missed:
            missed[name] += chance * (christoffersen_test(*rows_with(hits, level), method=name).pvalue <= LEVEL)
    return missed


# The tests get the simulation's own generator: with the default rng=0 every repeat would share its redraws, and the
# measured rate would be that of one set of redraws instead of the procedure's.


def rejected(y: Any, prediction: Any, test: Callable[..., Any] = coverage_test, **options: Any) -> int:
    return int(test(y, prediction, **options).pvalue <= LEVEL)


def quick_tests(data: Data, rng: Rng) -> Counts:
    y, prediction, further = data
    return {
        "binomial": rejected(y, prediction),
        "less": rejected(y, prediction, alternative="less"),
        "kupiec": rejected(y, prediction, kupiec_test),
        "independence": rejected(y, prediction, christoffersen_test, method="independence"),
        "groups": rejected(y, prediction, groups=further["groups"]),
    }


def conditional(data: Data, rng: Rng) -> Counts:
    return {CONDITIONAL: rejected(data.y, data.prediction, christoffersen_test)}


def hsic(data: Data, rng: Rng) -> Counts:
    return {HSIC: rejected(data.y, data.prediction, coverage_hsic_test, resamples=PERMUTATIONS, rng=rng)}


def limits(data: Data, rng: Rng) -> Counts:
    y, prediction, _ = data
    methods = ("independence", "conditional")
    return {"kupiec": rejected(y, prediction, kupiec_test, null="asymptotic")} | {
        name: rejected(y, prediction, christoffersen_test, method=name, null="asymptotic") for name in methods
    }


def series(data: Data, rng: Rng) -> Counts:
    """Five series, each in its own order, mixed."""
    label = rng.integers(GROUPS, size=len(data.y))
    options = {"series": label, "resamples": PERMUTATIONS, "rng": rng}
    return {
        name: rejected(data.y, data.prediction, christoffersen_test, method=name, **options)
        for name in ("independence", "conditional")
    }


def conformal(data: Data, rng: Rng) -> Counts:
    y, prediction, further = data
    return {
        "beta-binomial": rejected(y, prediction, calibration_size=CALIBRATION),
        "groups": rejected(y, prediction, calibration_size=CALIBRATION, groups=further["groups"]),
        "plain binomial": rejected(y, prediction),
    }


def joint(data: Data, rng: Rng) -> Counts:
    return {
        JOINT: rejected(data.y, data.prediction, multinomial_coverage_test, resamples=PERMUTATIONS, rng=rng),
        "joint, chi-square": rejected(data.y, data.prediction, multinomial_coverage_test, null="asymptotic"),
    }


def wilson(data: Data, rng: Rng) -> Counts:
    found = cb.interval("coverage", data.y, data.prediction, level=1 - LEVEL, weights=data.further["weights"])
    return {WILSON: int(not found.low <= data.further["true"] <= found.high)}


def t_interval(case: str, data: Data, rng: Rng) -> Counts:
    """Count the intervals that miss the true mean score, those of the verb and those without its guard."""
    verb, prediction, true = of_case(case, len(data.y), rng)
    counts = {"unguarded": 0}
    if verb == "interval_score":
        scores = cb.per_row(verb, data.y, prediction)
        half = stdtrit(scores.size - 1, 1 - LEVEL / 2) * scores.std(ddof=1) / math.sqrt(scores.size)
        counts["unguarded"] = int(abs(scores.mean() - true) > half)
    try:
        found = cb.interval(verb, data.y, prediction, level=1 - LEVEL)
    except NotApplicableError:
        return {**counts, "refused": 1}
    return {**counts, case: int(not found.low <= true <= found.high)}


def of_case(case: str, n: int, rng: Rng) -> tuple[str, Any, float]:
    """Return the verb, the true distribution of standard normal outcomes in its form, and the true mean score."""
    verb, _, rest = case.partition(", ")
    number = float(rest.split()[-1]) if verb in ("interval_score", "quantile_score") else 0.0
    if verb == "crps":
        if rest == "normal":
            return verb, cb.Normal(np.zeros(n), 1.0), designs.mean_crps()
        return verb, cb.Samples(rng.normal(size=(n, 20))), designs.mean_crps(20)
    if verb == "interval_score":
        z = np.full(n, norm.isf((1 - number) / 2))
        return verb, Intervals(-z, z, number), designs.mean_interval_score(number)
    taus = (number,) if verb == "quantile_score" else TAUS
    true = float(np.mean(designs.mean_quantile_scores(taus)))
    quantiles = Quantiles(np.tile(norm.ppf(taus), (n, 1)), taus)
    return verb, quantiles, true if verb == "quantile_score" else 2 * true


def slab(data: Data, rng: Rng) -> Counts:
    options = {"features": data.further["features"], "directions": DIRECTIONS, "rng": rng}
    found = cb.interval("worst_slab_coverage", data.y, data.prediction, level=1 - LEVEL, **options)
    within = cb.regions.worst_slab_coverage(data.y, data.prediction, search=None, **options)
    values = {"split": found.estimate, "in-sample": within}
    squared = {f"{name}, squared": value * value for name, value in values.items()}
    return {SLAB: int(not found.low <= 0.9 <= found.high), **values, **squared}


def band(data: Data, rng: Rng) -> Counts:
    """Count the curves with a level outside its limits, by all levels, and by groups and levels."""
    options = {"level": 1 - LEVEL, "simultaneous": True}
    counts = {}
    for name, further in (("levels", {}), ("groups", {"groups": rng.integers(GROUPS, size=len(data.y))})):
        curve = coverage_curve(data.y, data.prediction, **options, **further)
        outside = (curve.nominal < curve.lower) | (curve.nominal > curve.upper)
        counts[f"{name}, simultaneous"] = int(outside.any())
        counts[f"{name}, Holm"] = int(curve.pvalue_holm.min() <= LEVEL)
        curve = coverage_curve(data.y, data.prediction, level=1 - LEVEL, **further)
        counts[f"{name}, pointwise"] = int(((curve.nominal < curve.lower) | (curve.nominal > curve.upper)).any())
    return counts


def pit(data: Data, rng: Rng) -> Counts:
    u = cb.pit(data.y, data.prediction, rng=rng)
    counts = {PIT: int(kstest(u, "uniform").pvalue <= LEVEL), "naive": 0, "mean": float(u.mean())}
    if isinstance(data.prediction, cb.Samples):
        below = (data.prediction.draws <= data.y[:, None]).mean(axis=1)
        counts["naive"] = int(kstest(below, "uniform").pvalue <= LEVEL)
    return counts


PROCEDURES: dict[str, Callable[[Data, Rng], Counts]] = {
    QUICK: quick_tests,
    CONDITIONAL: conditional,
    HSIC: hsic,
    LIMITS: limits,
    SERIES: series,
    CONFORMAL: conformal,
    JOINT: joint,
    WILSON: wilson,
    SLAB: slab,
    BAND: band,
    PIT: pit,
    **{case: partial(t_interval, case) for case in T_CASES},
}

# What of a procedure is to be at most 5 % where predictions are calibrated; the rest is shown beside it.
JUDGED: dict[str, tuple[str, ...]] = {
    QUICK: ("binomial", "less", "kupiec", "independence", "groups"),
    CONDITIONAL: (CONDITIONAL,),
    HSIC: (HSIC,),
    SERIES: ("independence", "conditional"),
    CONFORMAL: ("beta-binomial", "groups"),
    JOINT: (JOINT,),
    WILSON: (WILSON,),
    SLAB: (SLAB,),
    BAND: tuple(f"{name}, {how}" for name in ("levels", "groups") for how in ("simultaneous", "Holm")),
    PIT: (PIT,),
    **{case: (case,) for case in T_CASES},
}


def levels(cell: Cell, counts: Counts) -> dict[str, tuple[int, int]]:
    """Return what of a cell is judged: how often a true hypothesis was rejected, of how many times."""
    trials = cell.repeats - int(counts.get("refused", 0))
    if cell.truth != CALIBRATED or not trials:
        return {}
    return {name: (int(counts.get(name, 0)), trials) for name in JUDGED.get(cell.procedure, ())}


def verdict(count: int, trials: int) -> str:
    """Return PASS, low (a test that rejects too seldom is no error), or FAIL."""
    low, high = binom.interval(RANGE, trials, LEVEL)
    return "FAIL" if count > high else "low" if count < low else "PASS"


def failing(found: Mapping[Cell, Counts]) -> list[tuple[Cell, str]]:
    """Return the cells, and what of them, whose level is not held."""
    return [
        (cell, name)
        for cell, counts in found.items()
        for name, judged in levels(cell, counts).items()
        if verdict(*judged) == "FAIL"
    ]


def longer(cell: Cell) -> Cell:
    """Return the cell with more repeats, which are new ones: the stream of a cell depends on their number."""
    return replace(cell, repeats=AGAIN * cell.repeats)


class Found:
    """Counts of cells by what was simulated."""

    def __init__(self, found: Mapping[Cell, Counts]) -> None:
        self.cells = {
            (cell.procedure, cell.design, cell.n, cell.truth): (cell, counts) for cell, counts in found.items()
        }

    def counts(self, procedure: str, design: str, n: int, truth: str = CALIBRATED) -> Counts | None:
        """Return the counts of a cell, None if there is none."""
        return self.cells.get((procedure, design, n, truth), (None, None))[1]

    def trials(self, procedure: str, design: str, n: int, truth: str = CALIBRATED) -> int:
        """Return how often calibrant answered."""
        cell, counts = self.cells[procedure, design, n, truth]
        return cell.repeats - int(counts.get("refused", 0))

    def rate(self, procedure: str, design: str, n: int, name: str, truth: str = CALIBRATED) -> tuple[int, int] | None:
        """Return how often something was seen, of how many answers; None if the cell does not exist."""
        counts = self.counts(procedure, design, n, truth)
        return None if counts is None else (int(counts.get(name, 0)), self.trials(procedure, design, n, truth))


def shown_rate(found: tuple[int, int] | None, *, judged: bool = False, covered: bool = False) -> str:
    """Return a share with its standard error, of the others if `covered`, marked if it is `judged`."""
    if found is None:
        return ""
    count, trials = found
    if not trials:
        return "refused"
    rate = 1 - count / trials if covered else count / trials
    mark = f" {verdict(count, trials)}" if judged else ""
    return f"{rate:.4f} ± {math.sqrt(rate * (1 - rate) / trials):.4f}{mark}"


def show_sizes(report: Report, found: Found) -> None:
    report.section("Level, added up over all numbers of hits: P(p <= 0.05) where the level holds")
    header = ["n", "binomial", "less", "greater", "kupiec", "chi-square", "quoted", f"conformal, m = {CALIBRATION}"]
    names = ["binomial", "less", "greater", "kupiec", "kupiec, chi-square", "conformal"]
    rows, worst = [], dict.fromkeys(names, 0.0)
    for level, n in product(LEVELS, SIZE_ROWS):
        counts = found.counts(SIZES, f"level {level:g}", n, EXACT_DISTRIBUTION)
        if counts is None:
            continue
        row = [f"{counts[name]:.4f}" for name in names]
        quoted = QUOTED_KUPIEC.get((n, level))
        row.insert(5, "" if quoted is None else f"{quoted:.3f}")
        rows.append([f"level {level:g}", str(n), *row])
        worst = {name: max(worst[name], counts[name]) for name in names}
    report.table(["", *header], rows)
    for name in names:
        if name != "kupiec, chi-square":
            report.target(f"{name}: never above 0.05", f"{worst[name]:.6f}", worst[name] <= LEVEL + EXACT_ERROR)


def show_orders(report: Report, found: Found) -> None:
    report.section(f"The same of tests of order, added up over all 2^{ORDER_ROWS} orders, n = {ORDER_ROWS}")
    rows = []
    for level in LEVELS:
        counts = found.counts(ORDERS, f"level {level:g}", ORDER_ROWS, EXACT_DISTRIBUTION)
        marks = [
            f"{counts[name]:.6f} {report.mark(counts[name] <= LEVEL + EXACT_ERROR)}"
            for name in ("independence", "conditional")
        ]
        rows.append([f"level {level:g}", *marks])
    report.table(["", "independence", "conditional"], rows)


def show_levels(report: Report, found: Found) -> None:
    report.section("Level: share of rejections at 5 %, rows covered independently of width, order and group")
    names = (*JUDGED[QUICK], CONDITIONAL, HSIC)
    rows = []
    for design, n in product([*(f"level {level:g}" for level in LEVELS), "sets, level 0.9"], ROWS):
        rates = [found.rate(name if name in (CONDITIONAL, HSIC) else QUICK, design, n, name) for name in names]
        trials = "/".join(f"{rate[1]:,}" if rate else "-" for rate in rates[-3:])
        rows.append([design, str(n), *(shown_rate(rate, judged=True) for rate in rates), trials])
    report.table(["", "n", *names, "repeats"], rows)
    report.say()
    rows = [
        [design, "100", *(shown_rate(found.rate(SERIES, design, 100, name), judged=True) for name in JUDGED[SERIES])]
        for design in ("level 0.5", "level 0.9")
    ]
    report.table([f"{GROUPS} series, mixed", "n", *JUDGED[SERIES]], rows)
    report.say()
    rows = []
    for level in LEVELS:
        quoted = QUOTED_INDEPENDENCE.get((LIMIT_ROWS, level))
        rates = [
            shown_rate(found.rate(LIMITS, f"level {level:g}", LIMIT_ROWS, name))
            for name in ("kupiec", "independence", "conditional")
        ]
        rates.insert(2, "" if quoted is None else f"{quoted:.3f}")
        rows.append([f"level {level:g}", str(LIMIT_ROWS), *rates])
    report.table(['null="asymptotic": no target', "n", "kupiec", "independence", "quoted", "conditional"], rows)


def show_conformal(report: Report, found: Found) -> None:
    report.section(f"Level on split-conformal predictors, {CALIBRATION} calibration scores drawn anew each time")
    rows = []
    for level, n in product(LEVELS, CONFORMAL_ROWS):
        rates = [
            found.rate(CONFORMAL, f"conformal, level {level:g}", n, name)
            for name in ("beta-binomial", "groups", "plain binomial")
        ]
        quoted = QUOTED_CONFORMAL.get((n, level))
        shown = [shown_rate(rates[0], judged=True), shown_rate(rates[1], judged=True), shown_rate(rates[2])]
        rows.append([f"level {level:g}", str(n), *shown, "" if quoted is None else f"{quoted:.2f}"])
    header = ["", "n", f"calibration_size={CALIBRATION}", f"the same, {GROUPS} groups", "plain binomial", "quoted"]
    report.table(header, rows)


def show_joint(report: Report, found: Found) -> None:
    report.section("Level of method='joint': χ² where all expected counts are at least 5, else simulated counts")
    rows = []
    for design, n in product(BANDS, ROWS):
        rate, limit = (found.rate(JOINT, design, n, name) for name in (JOINT, "joint, chi-square"))
        rows.append([design, str(n), shown_rate(rate, judged=True), shown_rate(limit)])
    report.table(["", "n", "joint", "always χ²"], rows)
    report.say(f"nested intervals: levels {NESTED}; quantiles: {TAUS}.")


def show_power(report: Report, found: Found) -> None:
    report.section("Power: share of rejections at 5 %, nominal level 0.9")
    names = (*JUDGED[QUICK], CONDITIONAL, HSIC, JOINT)
    rows = []
    for truth, design, procedures in POWER:
        for n in POWER_ROWS:
            row = [f"{truth}, {design}" if design in BANDS else truth, str(n)]
            for name in names:
                procedure = name if name in (CONDITIONAL, HSIC, JOINT) else QUICK
                rate = found.rate(procedure, design, n, name, truth) if procedure in procedures else None
                row.append("" if rate is None else f"{rate[0] / rate[1]:.3f}")
            rows.append(row)
    report.table(["", "n", *names], rows)
    report.say(
        f"In clusters: a miss follows a miss with probability {designs.STAY:g}. One group: coverage 0.70, others"
    )
    report.say(f"0.95. Narrow: {0.9 - designs.HALVES:.2f} below the median width, {0.9 + designs.HALVES:.2f} above it.")
    report.say(f"Too narrow: outcomes spread {designs.NARROWER:g} times as far as the distributions say.")


def show_coverage(report: Report, found: Found) -> None:
    report.section("Coverage of the 95 % intervals of coverage")
    rows, least = [], 1.0
    for level, n in product(LEVELS, SIZE_ROWS):
        counts = found.counts(SIZES, f"level {level:g}", n, EXACT_DISTRIBUTION)
        if counts is None:
            continue
        least = min(least, 1 - counts["clopper-pearson"])
        rows.append([f"level {level:g}", str(n), f"{1 - counts['clopper-pearson']:.4f}", f"{1 - counts['wilson']:.4f}"])
    report.table(["no weights, added up", "n", "Clopper-Pearson", "Wilson"], rows)
    holds = least >= 1 - LEVEL - EXACT_ERROR
    report.target("Clopper-Pearson: never below 0.95", f"{least:.6f}", holds)
    report.say()
    rows = []
    for level, n in product(LEVELS, ROWS):
        rates = [found.rate(WILSON, f"{kind}, level {level:g}", n, WILSON) for kind in WEIGHTED]
        rows.append([f"level {level:g}", str(n), *(shown_rate(rate, judged=True, covered=True) for rate in rates)])
    report.table(["Wilson, weighted", "n", *WEIGHTED], rows)
    report.say(
        "Quoted: 0.951 to 0.973. Weights go with coverage: w = exp(x), x from N(0, 1), and the chance of a hit is"
    )
    report.say("expit(logit(level) + x); covered is to be E[wc]/E[w].")


def show_t(report: Report, found: Found) -> None:
    report.section("Coverage of the 95 % t intervals of mean scores, N(0, 1) outcomes under their own distribution")
    rows = []
    for case, at in T_CASES.items():
        for n in at:
            cell, counts = found.cells[case, "N(0, 1)", n, CALIBRATED]
            unguarded, quoted = "", ""
            if case.startswith("interval_score"):
                unguarded = shown_rate((int(counts["unguarded"]), cell.repeats), covered=True)
                quoted = f"{QUOTED_T[n]:.2f}" if case.endswith("0.95") and n in QUOTED_T else ""
            rate = found.rate(case, "N(0, 1)", n, case)
            answered = f"{rate[1] / cell.repeats:.3f}"
            rows.append([case, str(n), answered, shown_rate(rate, judged=True, covered=True), unguarded, quoted])
    report.table(["", "n", "answered", "coverage", "without the guard", "quoted"], rows)
    report.say("Answered: share of repeats in which calibrant gives an interval; coverage is that of these.")


def show_slab(report: Report, found: Found) -> None:
    report.section(
        f"Worst-slab coverage, true coverage 0.9 everywhere, n = {SLAB_ROWS}, {designs.FEATURES} features, "
        f"{DIRECTIONS} directions"
    )
    cell, counts = found.cells[SLAB, "features", SLAB_ROWS, CALIBRATED]
    rows = []
    for name in ("split", "in-sample"):
        mean = counts[name] / cell.repeats
        deviation = math.sqrt(max(0.0, counts[f"{name}, squared"] / cell.repeats - mean * mean))
        rows.append([name, f"{mean:.4f} ± {deviation / math.sqrt(cell.repeats):.4f}", f"{QUOTED_SLAB[name]:.2f}"])
    report.table(["", "mean", "quoted"], rows)
    rate = found.rate(SLAB, "features", SLAB_ROWS, SLAB)
    report.say(
        f"Coverage of its 95 % interval: {shown_rate(rate, judged=True, covered=True)}, {cell.repeats:,} repeats"
    )


def show_bands(report: Report, found: Found) -> None:
    report.section("coverage_curve: share of curves in which a true level lies outside, nominal 0.05")
    names = [f"{name}, {how}" for name in ("levels", "groups") for how in ("simultaneous", "Holm", "pointwise")]
    rows = []
    for design, n in product(BANDS, ROWS):
        rates = [(name, found.rate(BAND, design, n, name)) for name in names]
        rows.append([design, str(n), *(shown_rate(rate, judged=name in JUDGED[BAND]) for name, rate in rates)])
    report.table(["", "n", *names], rows)


def show_pit(report: Report, found: Found) -> None:
    report.section(f"pit: share of Kolmogorov-Smirnov tests of uniformity that reject, n = {PIT_ROWS}, nominal 0.05")
    rows = []
    for design in PITS:
        cell, counts = found.cells[PIT, design, PIT_ROWS, CALIBRATED]
        naive = shown_rate((int(counts["naive"]), cell.repeats)) if "draws" in design else ""
        rate = found.rate(PIT, design, PIT_ROWS, PIT)
        rows.append([design, shown_rate(rate, judged=True), f"{counts['mean'] / cell.repeats:.4f}", naive])
    report.table(["", "rejections", "mean", "share of draws <= y"], rows)


def show_again(report: Report, found: Mapping[Cell, Counts], again: Mapping[Cell, Counts]) -> None:
    doubtful = failing(found)
    marked = sum(len(levels(cell, counts)) for cell, counts in found.items())
    report.section(f"Levels marked FAIL ({len(doubtful)} of {marked}), measured again with {AGAIN} times the repeats")
    rows = []
    for cell, name in doubtful:
        second = levels(longer(cell), again[longer(cell)])[name]
        mark = report.mark(verdict(*second) != "FAIL")
        first = shown_rate(levels(cell, found[cell])[name])
        rows.append([f"{name}, {cell.design}", str(cell.n), first, str(second[1]), shown_rate(second), mark])
    report.table(["rate of errors", "n", "first", "trials", "again", ""], rows)


def show_setting(report: Report) -> None:
    report.say()
    report.say(
        "level c:   intervals of lognormal width, covered with probability c whatever the width, order and group"
    )
    report.say(f"sets:      random sets of 1 to {designs.LABELS - 1} of {designs.LABELS} labels, likewise")
    report.say("nested intervals, quantiles, normal: of N(m, s²), m normal and s lognormal, outcomes drawn from them")
    report.say("draws:     Samples of such distributions; Poisson: of Poisson distributions with rates from 1 to 6")
    report.say(f"{PERMUTATIONS} permutations or redraws where a null distribution is simulated.")
    report.say("Quoted: what the definitions and the documentation of calibrant say.")
    report.say("Each rate has its Monte Carlo standard error. FAIL: above, low: below the binomial range of 99.9 %")
    report.say(f"around 5 % of errors; what fails is measured again with {AGAIN} times the repeats, and that decides.")


SHOWN = (
    show_sizes,
    show_orders,
    show_levels,
    show_conformal,
    show_joint,
    show_power,
    show_coverage,
    show_t,
    show_slab,
    show_bands,
    show_pit,
)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time, and return the report."""
    found = run(measure, cells, state, processes=processes)
    doubtful = list(dict.fromkeys(longer(cell) for cell, _ in failing(found)))
    again = run(measure, doubtful, state, processes=processes)
    report = Report("Validity of intervals, sets, quantiles and distributions", packages=["numpy", "scipy"])
    show_setting(report)
    by_name = Found(found)
    for show in SHOWN:
        show(report, by_name)
    if again:
        show_again(report, found, again)
    report.say()
    report.say(f"{report.failures} levels not held")
    return report


if __name__ == "__main__":
    raise SystemExit(
        command(
            "intervals", "Level, power and coverage on intervals, sets, quantiles and distributions.", plan, simulate
        )
    )
