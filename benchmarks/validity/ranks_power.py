"""Which errors of draws do tests of ranks find? Those of calibrant beside sbi, arviz and the chi-square test of SBC.

    python -m benchmarks.validity.ranks_power [--quick] [--state FILE] [--processes 2]

All tests see the same draws. Other packages are measured if they are installed: `pip install sbi arviz`, and a
matplotlib before 3.11, without which arviz cannot be imported. A run can be interrupted and resumed. `--quick` makes
few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from numpy.typing import NDArray

import calibrant as cb
from calibrant.summaries import Ranks

Rng = np.random.Generator
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LEVEL = 0.05
NOISE = 2.6  # standard errors by which a level may exceed 5 %
SIZES = tuple((n, M) for n in (200, 1000) for M in (19, 99))
ROWS_PER_BIN = 20  # of a histogram of ranks, Talts et al. (2018), section 4.2
RANKS, JOINT, PLACE, CLASSIFIER = "ranks", "joint", "place", "classifier"
REPEATS = {RANKS: 2000, JOINT: 500, PLACE: 500, CLASSIFIER: 40}
PART = {RANKS: 500, JOINT: 100, PLACE: 100}
REDRAWS = 199
CALIBRATED = "calibrated"

# Errors: outcomes (n,), draws (n, M) and covariates (n, 2). The draws are standard normal if nothing else is said.

Drawn = tuple[FloatArray, FloatArray, FloatArray]


def _gamma(rng: Rng, shape: tuple[int, int]) -> FloatArray:
    return (rng.gamma(10, size=shape) - 10) / math.sqrt(10)


def drawn(rng: Rng, error: str, n: int, M: int) -> Drawn:
    """Return outcomes, draws and covariates with one error."""
    y, draws, x = rng.standard_normal(n), rng.standard_normal((n, M)), rng.standard_normal((n, 2))
    if error == "shift 0.15 sd":
        draws += 0.15
    elif error == "too wide, sd x 1.15":
        draws *= 1.15
    elif error == "too narrow, sd x 0.87":
        draws *= 0.87
    elif error == "skewed draws":
        draws = _gamma(rng, draws.shape)
    elif error == "one tail":
        y = np.where(y > 1, 1 + 1.8 * (y - 1), y)
    elif error == "missed mode":
        y = np.where(rng.random(n) < 0.03, y + 4, y)
    elif error == "bias by |x2|":
        y += np.where(np.abs(x[:, 1]) > 0.6745, 0.5, -0.5)
    elif error != CALIBRATED:
        raise ValueError(f"unknown error {error!r}")
    return y, draws, x


ERRORS = {
    CALIBRATED: "outcomes and draws N(0, 1)",
    "shift 0.15 sd": "draws + 0.15",
    "too wide, sd x 1.15": "draws x 1.15",
    "too narrow, sd x 0.87": "draws x 0.87",
    "skewed draws": "standardised Gamma(10) draws",
    "one tail": "distances of outcomes beyond 1 are 1.8 times as long",
    "missed mode": "3 % of the outcomes + 4",
    "bias by |x2|": "outcomes + 0.5 for half of the rows, |x2| > 0.67, and - 0.5 for the others",
}
CORRELATION = 0.6
UNCORRELATED = f"correlation {CORRELATION:g} stated as 0"

# Tests of ranks 0 to M of one quantity: whether they reject at 5 %.

RankTest = Callable[[IntArray, int, Rng], bool]


def _ours(test: Callable[..., Any], **options: Any) -> RankTest:
    return lambda ranks, M, rng: bool(test(Ranks.of(ranks, M), **options).pvalue <= LEVEL)


def _anderson_darling(ranks: IntArray, M: int, rng: Rng) -> bool:
    return bool(cb.ranking.rank_edf_test(Ranks.of(ranks, M), method="ad", rng=rng).pvalue <= LEVEL)


def sbc_bins(n: int, m: int) -> int:
    """Return the largest number of equal bins of m ranks that leaves 20 rows a bin.

    >>> sbc_bins(200, 100), sbc_bins(1000, 100), sbc_bins(1000, 20)
    (10, 50, 20)
    """
    return max(k for k in range(1, m + 1) if m % k == 0 and n >= ROWS_PER_BIN * k)


def sbc_chi_square(ranks: IntArray, M: int, rng: Rng) -> bool:
    """Pearson's test of the histogram that papers on simulation-based calibration recommend."""
    from scipy.stats import chisquare

    bins = sbc_bins(len(ranks), M + 1)
    return bool(chisquare(np.bincount(ranks * bins // (M + 1), minlength=bins)).pvalue <= LEVEL)


def sbi_ks(ranks: IntArray, M: int, rng: Rng) -> bool:
    """Return the decision by `ks_pvals` of sbi's check_sbc."""
    return bool(sbi_ks_pvalues(ranks[:, None], M)[0] <= LEVEL)


def sbi_ks_pvalues(ranks: IntArray, M: int) -> FloatArray:
    import torch
    from sbi.diagnostics.sbc import check_uniformity_frequentist

    return np.asarray(check_uniformity_frequentist(torch.as_tensor(ranks, dtype=torch.float32), M))


@cache
def _arviz_pit_band(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the points and the 95 % band that plot_ecdf_pit draws; its simulation has a fixed seed."""
    from arviz_stats.ecdf_utils import ecdf_pit

    points, _, lower, upper = ecdf_pit(np.linspace(0, 1, n), 0.95, 1000)
    return points, lower - points, upper - points


def arviz_pit(ranks: IntArray, M: int, rng: Rng) -> bool:
    """Return whether the curve of plot_ecdf_pit leaves its band, as both are drawn from the ranks of a SBC."""
    from arviz_stats.base import array_stats

    t, v = array_stats.ecdf(ranks, pit=True)
    points, lower, upper = _arviz_pit_band(len(ranks))
    drawn_with_band = (t >= points[0]) & (t <= points[-1])
    outside = (v < np.interp(t, points, lower)) | (v > np.interp(t, points, upper))
    return bool((outside & drawn_with_band).any())


@cache
def _arviz_band(n: int, M: int) -> tuple[FloatArray, FloatArray]:
    from arviz.stats.ecdf_utils import ecdf_confidence_band

    return ecdf_confidence_band(n, np.arange(M), np.arange(1, M + 1) / (M + 1), prob=0.95, method="optimized")


def arviz_ecdf(ranks: IntArray, M: int, rng: Rng) -> bool:
    """Return whether the curve of plot_ecdf leaves its band, if it is told that ranks are whole numbers 0 to M."""
    from arviz.stats.ecdf_utils import compute_ecdf

    lower, upper = _arviz_band(len(ranks), M)
    curve = compute_ecdf(np.sort(ranks), np.arange(M))
    return bool(((curve < lower) | (curve > upper)).any())


TESTS: dict[str, RankTest] = {
    "uniformity_test": _ours(cb.uniformity_test),
    "rank_smooth_test": _ours(cb.ranking.rank_smooth_test),
    "rank_chi2_test": _ours(cb.ranking.rank_chi2_test),
    "rank_edf_test, ad": _anderson_darling,
    "chi-square of SBC": sbc_chi_square,
}
PEERS: dict[str, tuple[str, RankTest]] = {
    "sbi, check_sbc, KS": ("sbi", sbi_ks),
    "arviz, plot_ecdf_pit": ("arviz_stats", arviz_pit),
    "arviz, plot_ecdf, whole": ("arviz", arviz_ecdf),
}


def available_tests() -> dict[str, RankTest]:
    """Return the tests that can be made here."""
    return {**TESTS, **{name: test for name, (package, test) in PEERS.items() if find_spec(package)}}


# What is measured.


def of_ranks(cell: Cell, rng: Rng) -> Counts:
    """One quantity: ranks of outcomes among their draws."""
    M = draws_of(cell)
    y, draws, _ = drawn(rng, cell.design, cell.n, M)
    ranks = (draws < y[:, None]).sum(axis=1)
    return {name: int(test(ranks, M, rng)) for name, test in available_tests().items()}


def of_vectors(cell: Cell, rng: Rng) -> Counts:
    """Two coordinates that go together, with draws that say so or not."""
    M, rho = draws_of(cell), CORRELATION
    root = np.linalg.cholesky(np.array([[1, rho], [rho, 1]]))
    place = rng.standard_normal((cell.n, 2))
    y, draws = rng.standard_normal((cell.n, 2)) @ root.T, rng.standard_normal((cell.n, M, 2))
    if cell.design == CALIBRATED:
        draws = draws @ root.T
    y, draws = y + place, draws + place[:, None]
    samples = cb.Samples(draws)
    of_tarp = cb.ranking.tarp_ranks(y, samples, covariates=place, rng=rng)
    of_distance = cb.ranking.joint_ranks(y, samples, rng=rng)
    pvalues = {
        "uniformity_test, each": float(np.min(cb.uniformity_test(y, samples).pvalue)),
        "uniformity_test, joint_ranks": cb.uniformity_test(Ranks.of(of_distance, M)).pvalue,
        "uniformity_test, tarp_ranks": cb.uniformity_test(Ranks.of(of_tarp, M)).pvalue,
        "uniformity_test, products": float(np.min(cb.uniformity_test(y, samples, quantity="product").pvalue)),
    }
    found: Counts = {name: int(p <= LEVEL) for name, p in pvalues.items()}
    found["explain, dependence"] = int(any(c.quantity == "dependence" for c in cb.explain(y, samples).claims))
    if find_spec("sbi"):
        each = sbi_ks_pvalues((draws < y[:, None]).sum(axis=1), M)
        found["sbi, check_sbc, KS, each"] = int(2 * each.min() <= LEVEL)  # Bonferroni; sbi does not adjust
        found["sbi, check_tarp, KS"] = int(_sbi_tarp(y, draws) <= LEVEL)
    return found


def _sbi_tarp(y: FloatArray, draws: FloatArray) -> float:
    import torch
    from sbi.diagnostics.tarp import _run_tarp, check_tarp, get_tarp_references

    truth, samples = torch.as_tensor(y), torch.as_tensor(np.swapaxes(draws, 0, 1).copy())
    return float(check_tarp(*_run_tarp(samples, truth, get_tarp_references(truth)))[1])


def of_covariates(cell: Cell, rng: Rng) -> Counts:
    """Two covariates, of which the second decides the sign of the bias."""
    y, draws, x = drawn(rng, cell.design, cell.n, draws_of(cell))
    found = cb.conditional_test(y, cb.Samples(draws), covariates=x, resamples=REDRAWS, rng=rng)
    return {"conditional_test": int(found.pvalue <= LEVEL)}


def of_classifier(cell: Cell, rng: Rng) -> Counts:
    """Accuracy of sbi's classifier of ranks against uniform numbers: one number, no p-value."""
    import torch
    from sbi.diagnostics.sbc import check_uniformity_c2st

    torch.manual_seed(int(rng.integers(2**31)))
    y, draws, _ = drawn(rng, cell.design, cell.n, draws_of(cell))
    ranks = (draws < y[:, None]).sum(axis=1, keepdims=True)
    accuracy = check_uniformity_c2st(torch.as_tensor(ranks, dtype=torch.float32), draws_of(cell))
    return {"accuracy": float(accuracy[0])}


MEASURES = {RANKS: of_ranks, JOINT: of_vectors, PLACE: of_covariates, CLASSIFIER: of_classifier}


def draws_of(cell: Cell) -> int:
    return int(cell.truth.removeprefix("M = "))


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    rng = cell.rng()
    every = [MEASURES[cell.procedure](cell, rng) for _ in range(cell.repeats)]
    if cell.procedure == CLASSIFIER:  # every value is kept: what is unusual is known when all are there
        return {str(k): counts["accuracy"] for k, counts in enumerate(every)}
    total = Counter[str]()
    for counts in every:
        total.update(counts)
    return dict(total)


def plan(*, quick: bool) -> list[Cell]:
    """Return the parts of all cells; the number of draws is the truth of a cell."""

    def cells(procedure: str, errors: Any, sizes: Any = SIZES) -> list[Cell]:
        repeats = 2 if quick else REPEATS[procedure]
        return [Cell(procedure, error, n, f"M = {M}", repeats) for error in errors for n, M in sizes]

    whole = cells(CLASSIFIER, ERRORS, ((200, 99),)) if find_spec("sbi") else []
    return [
        *in_parts(cells(RANKS, ERRORS), PART[RANKS]),
        *in_parts(cells(JOINT, (CALIBRATED, UNCORRELATED)), PART[JOINT]),
        *in_parts(cells(PLACE, (CALIBRATED, "bias by |x2|")), PART[PLACE]),
        *whole,
    ]


Found = Mapping[Cell, Counts]


def rates(found: Found, procedure: str, error: str, size: tuple[int, int]) -> dict[str, float]:
    """Return the share of sets that each test rejects; nothing if the cell is not measured."""
    for cell, counts in found.items():
        if (cell.procedure, cell.design, cell.n, draws_of(cell)) == (procedure, error, *size):
            return {name: count / cell.repeats for name, count in counts.items()}
    return {}


def exceeds(rate: float, repeats: int) -> bool:
    """Return whether so many calibrated sets are rejected by more than chance.

    >>> exceeds(0.060, 2000), exceeds(0.065, 2000)
    (False, True)
    """
    return rate > LEVEL + NOISE * math.sqrt(LEVEL * (1 - LEVEL) / repeats)


def show_table(report: Report, found: Found, procedure: str, title: str) -> None:
    """Print the shares of rejected sets for each size, a column per test; those whose level is too high are marked."""
    errors = list(dict.fromkeys(cell.design for cell in found if cell.procedure == procedure))
    for size in SIZES:
        level = rates(found, procedure, CALIBRATED, size)
        if not level:
            continue
        report.section(f"{title}, n = {size[0]:,}, M = {size[1]}")
        marks = {name: "*" if exceeds(rate, REPEATS[procedure]) else "" for name, rate in level.items()}
        rows = []
        for error in errors:
            at = rates(found, procedure, error, size)
            rows.append([error, *(f"{at[name]:.3f}{marks[name]}" if name in at else "" for name in level)])
        report.table(["", *level], rows)
        for name in level:
            if not name.startswith(("sbi", "arviz", "chi-square")):
                report.mark(not marks[name])  # other packages have no target here


def show_classifier(report: Report, found: Found) -> None:
    cells = {cell.design: sorted(counts.values()) for cell, counts in found.items() if cell.procedure == CLASSIFIER}
    if CALIBRATED not in cells:
        return
    usual = cells[CALIBRATED]
    limit = float(np.quantile(usual, 1 - LEVEL, method="higher"))
    report.section(f"sbi, c2st_ranks, n = 200, M = 99, {len(usual)} sets: accuracies, said to be 0.5 if calibrated")
    rows = [
        [error, f"{np.mean(values):.3f}", f"{np.mean(np.array(values) > limit):.3f}"] for error, values in cells.items()
    ]
    report.table(["", "mean accuracy", f"above {limit:.3f}"], rows)
    report.say("The last column is the power of a test whose critical value is the 95 % point of the calibrated sets.")


def table(found: Found) -> str:
    """Return the shares of rejected sets for the page of the documentation."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["of", "error", "n", "M", "test", "rejected", "holds level"])
    for cell in found:
        if cell.procedure in (RANKS, JOINT, PLACE):
            size = (cell.n, draws_of(cell))
            level = rates(found, cell.procedure, CALIBRATED, size)
            for name, rate in rates(found, cell.procedure, cell.design, size).items():
                holds = name in level and not exceeds(level[name], REPEATS[cell.procedure])
                lines.writerow([cell.procedure, cell.design, *size, name, f"{rate:.3f}", holds])
    return file.getvalue()


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    parts = run(measure, cells, state, processes=processes)
    singles = {cell: counts for cell, counts in parts.items() if cell.procedure == CLASSIFIER}
    found = together({cell: counts for cell, counts in parts.items() if cell not in singles}) | singles
    packages = [name for name in ("sbi", "torch", "arviz", "arviz-stats") if find_spec(name.replace("-", "_"))]
    report = Report("Tests of ranks on constructed errors: power at 5 %", packages=["numpy", "scipy", *packages])
    report.say()
    report.say("The same draws for all tests. *: more than 5 % of the calibrated sets are rejected, beyond chance, so")
    report.say("the other numbers of that column are not powers of a test at 5 %. Errors:")
    for name, words in ERRORS.items():
        report.say(f"{name + ':':<24}{words}")
    if len(parts) < len(cells):
        report.say(f"Not finished: {len(parts):,} of {len(cells):,} parts.")
    ordered = {cell: found[cell] for cell in sorted(found, key=lambda cell: [*ERRORS, UNCORRELATED].index(cell.design))}
    show_table(report, ordered, RANKS, f"One quantity, {REPEATS[RANKS]:,} sets")
    report.say()
    report.say(f"chi-square of SBC: bins of at least {ROWS_PER_BIN} rows that divide the ranks evenly. The band of")
    report.say("uniformity_test is that of Säilynoja et al. (2022) with an exact level. plot_ecdf of arviz finds it by")
    report.say("optimisation if it is told that ranks are whole numbers; plot_ecdf_pit takes ranks for PITs r/M.")
    show_table(report, ordered, JOINT, f"Two coordinates, {REPEATS[JOINT]} sets")
    show_table(report, ordered, PLACE, f"Ranks against two covariates, {REPEATS[PLACE]} sets")
    show_classifier(report, ordered)
    report.say()
    report.say(f"{report.failures} targets missed")
    report.attach("validity_ranks_power.csv", table(ordered))
    return report


if __name__ == "__main__":
    raise SystemExit(command("ranks_power", "Power of tests of ranks.", plan, simulate))
