"""Do kernel tests hold their level, and what do published designs give when they are run again?

    python -m benchmarks.validity.kernel [--quick] [--state FILE] [--processes 2]

P19 is Widmann, Lindsten and Zachariah, NeurIPS 2019; P21 the same authors, ICLR 2021. A run that was stopped goes on
where it stopped. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.kernel_designs import (
    CALIBRATED,
    DESIGNS,
    DRAWS,
    P19,
    P21,
    P21_KERNEL,
    SAME_DISTRIBUTION,
    WORDS,
    Data,
    true_error,
    unsplit_error,
)
from scipy.stats import binom
from scipy.stats import f as f_distribution

from calibrant import consistency_test, ece, skce, skce_test
from calibrant.errors import InputError, NotApplicableError
from calibrant.kernel_errors import cme_test

LEVEL = 0.05
RANGE = 0.999  # of the binomial distribution around the level
NORMAL_QUANTILE = 3.29  # the same two-sided range of a normal distribution
AGAIN = 4
BOOTSTRAPS, REDRAWS, FEW_REDRAWS = 999, 199, 99
LOWER_LEVEL = 0.95  # of the lower bound of a block test
P19_ROWS, DRAWS_ROWS = 250, 60
P19_MODELS = (CALIBRATED, "M2", "M3")
P21_ROWS = (4, 16, 64, 256, 1024)
SHIFTED = "first coordinate N(0.1, 0.1²)"

BOUNDS = ("bound, biased", "bound, unbiased", "bound, blocks of 2")
BLOCK, ROOT, BOOTSTRAP, RESAMPLE, RESAMPLE_FEW = "blocks of 2", "blocks of √n", "bootstrap", "resample", "resample, few"
CME, CME_FEW, CME_LIMIT, CONSISTENCY = "cme", "cme, few", "cme, F limit", "consistency, canonical ece"
QUICK_TESTS, SPLIT, COVERAGE = "bounds and blocks", "split draws", "lower bound"
BLOCKSIZES, LOCATIONS = (2, 10), 10

# Published: type I error on the calibrated model, type II errors on the others.
P19_ERRORS: dict[str, tuple[float, float, float]] = {
    BOUNDS[0]: (0.0, 0.3706, 1.0),
    BOUNDS[1]: (0.0, 1.0, 1.0),
    BOUNDS[2]: (0.0, 1.0, 1.0),
    BOOTSTRAP: (0.0347, 0.0, 0.0),
    BLOCK: (0.0455, 0.0, 0.8141),
}
P19_MEANS: dict[str, tuple[float | None, ...]] = {
    "ece": (0.4395, 0.6633, 0.8918),
    "skce, unbiased": (-8.6e-6, 0.0966, 0.0152),
    "skce, biased": (0.0018, None, None),
}
P19_TRUE_ECE = (0.0, 0.45, 0.7106)
P19_REPEATS = 10_000  # of the published errors
P21_ERRORS: dict[tuple[str, int], tuple[tuple[float, float], ...]] = {
    (BLOCK, 1): ((0.128, 0.648), (0.050, 0.122), (0.054, 0), (0.054, 0), (0.060, 0)),
    (ROOT, 1): ((0.134, 0.654), (0.038, 0.046), (0.030, 0), (0.020, 0), (0.020, 0)),
    (BOOTSTRAP, 1): ((0.142, 0.272), (0.058, 0), (0.040, 0), (0.060, 0), (0.056, 0)),
    (BOOTSTRAP, 10): ((0.004, 0.712), (0.000, 0.002), (0.010, 0), (0.042, 0), (0.044, 0)),
    (CME, 1): ((0.530, 0.478), (0.882, 0), (0.356, 0), (0.118, 0), (0.068, 0)),
}
P21_REPEATS = 500

# Design and rows; then repeats of resample, bootstrap, blocks of 2 and cme.
LEVELS: tuple[tuple[str, int, tuple[int, int, int, int]], ...] = (
    ("uniform", 50, (4000, 200, 4000, 1000)),
    ("uniform", 125, (2000, 2000, 4000, 500)),
    ("uniform", 500, (2000, 1000, 4000, 500)),
    ("rare", 100, (4000, 200, 200, 500)),
    ("rare", 900, (1000, 0, 2000, 0)),
    ("rare", 2200, (300, 500, 0, 0)),
    ("rare", 5000, (200, 300, 300, 100)),
    ("tied", 500, (2000, 1000, 2000, 500)),
    ("weighted", 500, (2000, 1000, 4000, 500)),
    ("lognormal", 500, (2000, 100, 100, 500)),
    ("3 classes", 250, (2000, 2000, 4000, 500)),
    ("30 classes", 250, (500, 1000, 4000, 300)),
)
DISTRIBUTION_LEVELS: tuple[tuple[str, int, tuple[int, int, int, int]], ...] = (
    ("normal", 16, (0, 4000, 0, 0)),
    ("normal", 50, (300, 4000, 4000, 500)),
    ("Laplace", 16, (0, 4000, 0, 0)),
    ("Laplace", 50, (200, 4000, 4000, 500)),
    ("mixture", 50, (100, 2000, 2000, 500)),
    ("plane", 50, (80, 2000, 2000, 500)),
    ("8 draws", 16, (0, 2000, 0, 0)),
    ("8 draws", 60, (200, 4000, 4000, 300)),
    ("20 draws", 60, (150, 4000, 4000, 150)),
)
LIMITS = (("uniform", 1024), ("uniform", 10_000), ("3 classes", 1024), ("normal", 1024))
COVERAGES = (("slope 0.7", 200), ("slope 0.7", 2000), ("slope 0.7", 20_000), ("M2", 250), ("M2", 2000))


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells, the long ones first, so that no process is left alone with them at the end."""
    cells = []
    for D, procedures in ((1, (BOOTSTRAP, CME, BLOCK, ROOT, CME_LIMIT, RESAMPLE_FEW)), (10, (BOOTSTRAP, BLOCK, ROOT))):
        for procedure in procedures:
            for n in reversed(P21_ROWS):
                for truth in (CALIBRATED, SHIFTED):
                    repeats = _p21_repeats(procedure, D, n, truth)
                    if repeats:
                        cells.append(Cell(procedure, P21.format(D), n, truth, repeats))
    for truth, few in zip(P19_MODELS, (1, 10, 10), strict=True):
        cells.append(Cell(QUICK_TESTS, P19, P19_ROWS, truth, P19_REPEATS))
        cells += [
            Cell(procedure, P19, P19_ROWS, truth, repeats // few)
            for procedure, repeats in ((BOOTSTRAP, P19_REPEATS), (RESAMPLE, 4000), (CONSISTENCY, 1000))
        ]
    for group, procedures in (
        (DISTRIBUTION_LEVELS, (RESAMPLE_FEW, BOOTSTRAP, BLOCK, CME_FEW)),
        (LEVELS, (RESAMPLE, BOOTSTRAP, BLOCK, CME)),
    ):
        for design, n, counts in group:
            cells += [
                Cell(procedure, design, n, CALIBRATED, repeats)
                for procedure, repeats in zip(procedures, counts, strict=True)
                if repeats
            ]
    cells += [Cell(CME_LIMIT, design, n, CALIBRATED, 1000 if n <= 1024 else 300) for design, n in LIMITS]
    cells += [Cell(SPLIT, SAME_DISTRIBUTION.format(M), DRAWS_ROWS, CALIBRATED, 3000) for M in DRAWS]
    cells += [Cell(f"{COVERAGE}, {design}", design, n, design, 2000) for design, n in COVERAGES]
    if quick:
        cells = [replace(cell, repeats=max(2, cell.repeats // 200)) for cell in cells]
    return cells


def _p21_repeats(procedure: str, D: int, n: int, truth: str) -> int:
    if procedure == CME_LIMIT and n < 1024:
        return 0
    if procedure == RESAMPLE_FEW:
        return 0 if n > 64 else 200 if truth == CALIBRATED else 100
    if procedure == BOOTSTRAP and n == 1024:
        return (P21_REPEATS if D == 1 else 100) if truth == CALIBRATED else 20
    if procedure in (CME, BOOTSTRAP) and truth == SHIFTED and n >= 64:
        return 100
    quick = procedure in (BLOCK, ROOT) or (procedure == BOOTSTRAP and n <= 64)
    return 4000 if quick and truth == CALIBRATED else P21_REPEATS


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    rng, total = cell.rng(), Counter()
    for _ in range(cell.repeats):
        data = DESIGNS[cell.design](rng, cell.n, cell.truth)
        try:
            total.update(PROCEDURES[cell.procedure](data, rng))
        except (InputError, NotApplicableError):
            total["refused"] += 1
    return dict(total)


# The tests get the simulation's own generator: with the default rng=0 every repeat would share its redraws, and the
# measured rate would be that of one set of redraws instead of the procedure's.


def rejects(procedure: str, test: Callable[..., Any], **options: Any) -> Callable[[Data, np.random.Generator], Counts]:
    def once(data: Data, rng: np.random.Generator) -> Counts:
        result = test(data.y, data.prediction, rng=rng, **data.options, **options)
        return {procedure: int(result.pvalue <= LEVEL)}

    return once


def limit_distribution(data: Data, rng: np.random.Generator) -> Counts:
    """Judge the statistic of cme_test by Hotelling's F distribution, which calibrant does not offer: this is why."""
    found = cme_test(data.y, data.prediction, rng=rng, locations=LOCATIONS, resamples=1, **data.options)
    n, r = found.n, found.details["rank"]
    return {CME_LIMIT: int(f_distribution.sf((n - r) / (r * (n - 1)) * found.statistic, r, n - r) <= LEVEL)}


def quick_tests(data: Data, rng: np.random.Generator) -> Counts:
    y, P, _ = data
    biased, unbiased = (skce_test(y, P, method="bound", unbiased=unbiased, rng=rng) for unbiased in (False, True))
    blocks = skce_test(y, P, method="bound", blocksize=2, rng=rng)
    results = dict(zip(BOUNDS, (biased, unbiased, blocks), strict=True))
    results[BLOCK] = skce_test(y, P, method="block", rng=rng)
    values = {
        "ece": ece(y, P, notion="canonical", bins=10),
        "skce, biased": biased.estimate,
        "skce, unbiased": unbiased.estimate,
    }
    return {**{name: int(result.pvalue <= LEVEL) for name, result in results.items()}, **_moments(values)}


def split_draws(data: Data, rng: np.random.Generator) -> Counts:
    kernels = {"ours, median": None, "ours, fixed": P21_KERNEL}
    values = {name: skce(data.y, data.prediction, kernel=kernel) for name, kernel in kernels.items()}
    return _moments({**values, "unsplit, median": unsplit_error(data)})


def lower_bounds(design: str, data: Data, rng: np.random.Generator) -> Counts:
    """Count the lower bounds that lie above the true error."""
    results = {m: skce_test(data.y, data.prediction, method="block", blocksize=m, **data.options) for m in BLOCKSIZES}
    return {str(m): int(result.details["lower_bound"] > true_error(design)) for m, result in results.items()}


def _moments(values: Mapping[str, float]) -> Counts:
    return {**values, **{f"{name}, squared": value * value for name, value in values.items()}}


PROCEDURES: dict[str, Callable[[Data, np.random.Generator], Counts]] = {
    BLOCK: rejects(BLOCK, skce_test, method="block"),
    ROOT: rejects(ROOT, skce_test, method="block", blocksize=lambda n: max(2, int(n**0.5))),
    BOOTSTRAP: rejects(BOOTSTRAP, skce_test, method="bootstrap", resamples=BOOTSTRAPS),
    RESAMPLE: rejects(RESAMPLE, skce_test, method="resample", resamples=REDRAWS),
    RESAMPLE_FEW: rejects(RESAMPLE_FEW, skce_test, method="resample", resamples=FEW_REDRAWS),
    CME: rejects(CME, cme_test, locations=LOCATIONS, resamples=REDRAWS),
    CME_FEW: rejects(CME_FEW, cme_test, locations=LOCATIONS, resamples=FEW_REDRAWS),
    CME_LIMIT: limit_distribution,
    CONSISTENCY: rejects(CONSISTENCY, consistency_test, metric="ece", notion="canonical", bins=10, resamples=REDRAWS),
    QUICK_TESTS: quick_tests,
    SPLIT: split_draws,
    **{f"{COVERAGE}, {design}": partial(lower_bounds, design) for design in ("slope 0.7", "M2")},
}


def levels(cell: Cell, counts: Counts) -> dict[str, tuple[int, int]]:
    """Return what of a cell is judged: how often a true hypothesis was rejected, of how many times."""
    trials = cell.repeats - int(counts.get("refused", 0))
    if cell.procedure.startswith(COVERAGE):
        return {str(m): (int(counts[str(m)]), trials) for m in BLOCKSIZES}
    if cell.truth != CALIBRATED or cell.procedure in (SPLIT, CME_LIMIT) or not trials:
        return {}
    names = (*BOUNDS, BLOCK) if cell.procedure == QUICK_TESTS else (cell.procedure,)
    return {name: (int(counts[name]), trials) for name in names}


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


Rate = tuple[int, int] | None  # rejections and trials


class Found:
    """Counts of cells by what was simulated."""

    def __init__(self, found: Mapping[Cell, Counts]) -> None:
        self.cells = {
            (cell.procedure, cell.design, cell.n, cell.truth): (cell, counts) for cell, counts in found.items()
        }

    def rate(self, procedure: str, design: str, n: int, truth: str, name: str | None = None) -> Rate:
        """Return rejections and trials; None if the cell does not exist, (0, 0) if every call was refused."""
        if (procedure, design, n, truth) not in self.cells:
            return None
        cell, counts = self.cells[procedure, design, n, truth]
        trials = cell.repeats - int(counts.get("refused", 0))
        return int(counts.get(name or procedure, 0)), trials

    def mean(self, procedure: str, design: str, n: int, truth: str, name: str) -> tuple[float, float, float]:
        """Return the mean of a value, its standard error and its standard deviation."""
        cell, counts = self.cells[procedure, design, n, truth]
        mean = counts[name] / cell.repeats
        deviation = math.sqrt(max(0.0, counts[f"{name}, squared"] / cell.repeats - mean * mean))
        return mean, deviation / math.sqrt(cell.repeats), deviation


def shown_rate(found: Rate, *, missed: bool = False) -> str:
    """Return a share of rejections (of what was not rejected, if `missed`) with its standard error."""
    if found is None:
        return ""
    count, trials = found
    if not trials:
        return "refused"
    rate = 1 - count / trials if missed else count / trials
    return f"{rate:.4f} ± {math.sqrt(rate * (1 - rate) / trials):.4f}"


def shown_published(found: Rate, published: float | None, repeats: int, *, missed: bool = False) -> str:
    """Return the published share, marked where it is farther from ours than chance allows; 0 repeats: not compared."""
    if published is None:
        return ""
    if found is None or not found[1] or not repeats:
        return f"{published:.4f}"
    count, trials = found
    rate = 1 - count / trials if missed else count / trials
    both = (rate * trials + published * repeats) / (trials + repeats)
    error = math.sqrt(both * (1 - both) * (1 / trials + 1 / repeats))
    return f"{published:.4f}" + (" off" if abs(rate - published) > NORMAL_QUANTILE * error else "")


def judged(found: Rate) -> str:
    return verdict(*found) if found and found[1] else ""


def shown_trials(found: Rate) -> str:
    return "" if found is None else f"{found[1]:,}"


def show_p19(report: Report, found: Found) -> None:
    report.section("P19: n = 250, 10 classes, Dirichlet(0.1), kernel exp(-TV/median) x delta")
    report.say("Type I error on M1, type II errors on M2 and M3, ours beside the published")
    rows = []
    for name in (CONSISTENCY, *BOUNDS, BOOTSTRAP, BLOCK, RESAMPLE):
        procedure = QUICK_TESTS if name in (*BOUNDS, BLOCK) else name
        row, trials = [name], []
        for truth, published in zip(P19_MODELS, P19_ERRORS.get(name, (None, None, None)), strict=True):
            rate, missed = found.rate(procedure, P19, P19_ROWS, truth, name), truth != CALIBRATED
            trials.append(shown_trials(rate))
            mark = "" if missed else " " + judged(rate)
            row += [
                shown_rate(rate, missed=missed) + mark,
                shown_published(rate, published, P19_REPEATS, missed=missed),
            ]
        rows.append([*row, "/".join(trials)])
    report.table(["", "M1", "published", "M2", "published", "M3", "published", "repeats"], rows)
    report.say()
    rows = []
    for name, published in P19_MEANS.items():
        for truth, model, value, true in zip(P19_MODELS, ("M1", "M2", "M3"), published, P19_TRUE_ECE, strict=True):
            mean, error, _ = found.mean(QUICK_TESTS, P19, P19_ROWS, truth, name)
            off, digits = "", "" if value is None else f"{value:.7g}"
            if value is not None:
                rounding = 0.5 * 10.0 ** -len(f"{value:.7f}".rstrip("0").split(".")[1])
                off = " off" if abs(mean - value) > NORMAL_QUANTILE * math.sqrt(2) * error + rounding else ""
            rows.append(
                [f"{name}, {model}", f"{mean:.7f} ± {error:.7f}", digits + off, f"{true:g}" if name == "ece" else ""]
            )
    report.table(["mean", "ours", "published", "true value"], rows)


def show_p21(report: Report, found: Found) -> None:
    report.section("P21: N(c 1, 0.1² I), c uniform, kernel exp(-W₂) exp(-|y-y'|²/2)")
    report.say("Type I error, and type II error if the first coordinate of the target is from N(0.1, 0.1²)")
    rows = []
    tests = [(BLOCK, 1), (ROOT, 1), (BOOTSTRAP, 1), (RESAMPLE_FEW, 1), (CME, 1), (CME_LIMIT, 1)]
    for name, D in [*tests, (BOOTSTRAP, 10), (BLOCK, 10), (ROOT, 10)]:
        for n, published in zip(P21_ROWS, P21_ERRORS.get((name, D), ((None, None),) * 5), strict=True):
            first, second = (found.rate(name, P21.format(D), n, truth) for truth in (CALIBRATED, SHIFTED))
            if first is None:
                continue
            compare = P21_REPEATS if name != CME else 0
            rows.append(
                [
                    f"{name}, D = {D}",
                    str(n),
                    f"{shown_rate(first)} {judged(first)}".strip(),
                    shown_published(first, published[0], compare),
                    shown_rate(second, missed=True),
                    shown_published(second, published[1], compare, missed=True),
                    f"{shown_trials(first)}/{shown_trials(second)}",
                ]
            )
    report.table(["", "n", "type I", "published", "type II", "published", "repeats"], rows)
    report.say("Published CME is against chi-square; ours redraws outcomes, so that they are not compared.")


def show_levels(report: Report, found: Found) -> None:
    report.section("Level: share of rejections at 5 %, calibrated, default kernels")
    rows = []
    for group, procedures in (
        (LEVELS, (RESAMPLE, BOOTSTRAP, BLOCK, CME)),
        (DISTRIBUTION_LEVELS, (RESAMPLE_FEW, BOOTSTRAP, BLOCK, CME_FEW)),
    ):
        for design, n, _ in group:
            rates = [found.rate(procedure, design, n, CALIBRATED) for procedure in procedures]
            row = [f"{shown_rate(rate)} {judged(rate)}".strip() for rate in rates]
            rows.append([design, str(n), *row, "/".join(shown_trials(rate) or "-" for rate in rates)])
    report.table(["predictions", "n", "resample", "bootstrap", "blocks of 2", "cme", "repeats"], rows)


def show_limits(report: Report, found: Found) -> None:
    report.section(f"cme_test at {LOCATIONS} locations judged by an F distribution, which is not offered")
    report.say("Share of rejections of calibrated predictions at 5 %.")
    rows = []
    for design, n in ((P21.format(1), 1024), *LIMITS):
        rate = found.rate(CME_LIMIT, design, n, CALIBRATED)
        rows.append([design, str(n), shown_rate(rate), shown_trials(rate)])
    report.table(["predictions", "n", "level", "repeats"], rows)


def show_draws(report: Report, found: Found) -> None:
    report.section(f"Samples: mean of the unbiased SKCE in its standard deviations, calibrated, n = {DRAWS_ROWS}")
    report.say("All rows have the same distribution N(0, 1). Unsplit: the same draws in both kernels.")
    rows = []
    for M in DRAWS:
        key = SPLIT, SAME_DISTRIBUTION.format(M), DRAWS_ROWS, CALIBRATED
        repeats = found.cells[key][0].repeats
        ratios = []
        for name in ("ours, median", "ours, fixed", "unsplit, median"):
            mean, _, deviation = found.mean(*key, name)
            ratio, error = mean / deviation, 1 / math.sqrt(repeats)
            mark = "" if name.startswith("unsplit") else " " + report.mark(abs(ratio) <= NORMAL_QUANTILE * error)
            ratios.append(f"{ratio:.3f} ± {error:.3f}{mark}")
        rows.append([str(M), f"{repeats:,}", *ratios])
    report.table(["draws", "repeats", "ours, median", "ours, lengths of 1", "unsplit, median"], rows)


def show_coverage(report: Report, found: Found) -> None:
    report.section(f"Lower bound of the block test, level {LOWER_LEVEL:g}: share above the true error (at most 0.05)")
    rows = []
    for design, n in COVERAGES:
        rates = [found.rate(f"{COVERAGE}, {design}", design, n, design, str(m)) for m in BLOCKSIZES]
        row = [f"{shown_rate(rate)} {judged(rate)}" for rate in rates]
        rows.append([design, str(n), f"{true_error(design):.6f}", *row, shown_trials(rates[0])])
    report.table(["", "n", "true SKCE", *(f"blocks of {m}" for m in BLOCKSIZES), "repeats"], rows)
    report.say("slope 0.7: uniform scores, truth of that slope on the logit scale, exp(-|p-p'|/0.2);")
    report.say("M2: that of P19 with exp(-TV/0.5).")


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
    report.table(["", "n", "first", "trials", "again", ""], rows)


def show_setting(report: Report) -> None:
    report.say()
    for design, words in WORDS.items():
        report.say(f"{design + ':':<12}{words}")
    report.say(
        f"{BOOTSTRAPS} bootstrap replicates; outcomes redrawn {REDRAWS} times by resample, cme, consistency_test,"
    )
    report.say(f"{FEW_REDRAWS} times by resample and by cme in the table of levels; cme draws {LOCATIONS} locations.")
    report.say("Refused: calibrant does not answer there; repeats count the answers.")
    report.say("Each rate has its Monte Carlo standard error. FAIL: above, low: below the binomial range of 99.9 %")
    report.say("around 5 %; what fails is measured again with 4 times the repeats, and that decides.")
    report.say("off: farther from the published value than chance in both allows, 99.9 %.")


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time, and return the report."""
    found = run(measure, cells, state, processes=processes)
    doubtful = list(dict.fromkeys(longer(cell) for cell, _ in failing(found)))
    again = run(measure, doubtful, state, processes=processes)
    report = Report("Validity of kernel tests", packages=["numpy", "scipy"])
    show_setting(report)
    by_name = Found(found)
    for show in (show_p19, show_p21, show_levels, show_limits, show_draws, show_coverage):
        show(report, by_name)
    if again:
        show_again(report, found, again)
    report.say()
    report.say(f"{report.failures} levels not held")
    return report


if __name__ == "__main__":
    raise SystemExit(command("kernel", "Level and power of kernel tests.", plan, simulate))
