"""Does every public test hold its level, at 5 % and at 1 %, on designs that are built to break tests?

    python -m benchmarks.validity.levels [--quick] [--state FILE] [--processes 2]

Predictions are calibrated and every test should reject as often as its level says, or less. Tests of other packages are
measured on the same designs if they are installed: `pip install calzone-tool calibration-belt vartests`. A run can be
interrupted and resumed. `--quick` makes few repeats to see that everything runs; nothing of it is kept.
"""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity.cells import Cell, Counts, command, in_parts, run, together
from benchmarks.validity.designs import HARD_WORDS, WORDS
from benchmarks.validity.level_designs import (
    BINARY,
    BINARY_PAIRS,
    CLASSES,
    CLUSTERS,
    CONFORMAL,
    CRPS_PAIRS,
    DRAWS,
    INTERVALS,
    MEAN_PAIRS,
    NESTED,
    PAGE_ROWS,
    PAGES,
    POINTS,
    Data,
    clustered,
)

import calibrant as cb
from calibrant import points, ranking, regions
from calibrant.errors import NotApplicableError

RATES = {"5 %": 0.05, "1 %": 0.01}
MAX_RATES = {"5 %": 0.065, "1 %": 0.016}  # what is asked
AGAIN = 4
PART = 500
REDRAWS, FEW_REDRAWS = 199, 99
CALIBRATED, PEER, WARNED = "calibrated", "peer", "dependent rows"
Rng = np.random.Generator


class Test(NamedTuple):
    """A test, the designs and numbers of rows that it is measured on, and how many data sets."""

    pvalue: Callable[[Data, Rng], float]
    designs: Iterable[str]
    rows: tuple[int, ...] | Mapping[str, int]  # the same for all designs, or one number for each
    repeats: int = 2000
    truth: str = CALIBRATED  # PEER: of another package, WARNED: rows depend on each other; neither is judged


def of(test: Callable[..., Any], **options: Any) -> Callable[[Data, Rng], float]:
    """Return the p-value of a verb as a function of data and a generator; of several columns the smallest."""

    def pvalue(data: Data, rng: Rng) -> float:
        return float(np.min(test(*data.given, rng=rng, **data.options, **options).pvalue))

    return pvalue


def without_rng(test: Callable[..., Any], **options: Any) -> Callable[[Data, Rng], float]:
    """Return the same for a verb without chance."""
    return lambda data, rng: float(np.min(test(*data.given, **data.options, **options).pvalue))


def top_label(data: Data, rng: Rng) -> float:
    """Test the probability of the predicted label."""
    return float(cb.calibration_test(*cb.top_label(*data.given), resamples=REDRAWS, rng=rng).pvalue)


def band(data: Data, rng: Rng) -> float:
    """Read simultaneous bands of a reliability curve as a test: 0.01 or 0.05 if the curve leaves that of 99 or 95 %."""
    for rate in sorted(RATES.values()):
        options = {"bins": 10, "simultaneous": True, "level": 1 - rate, "rng": rng}
        if cb.reliability_curve(*data.given, **data.options, **options).outside.any():
            return rate
    return 1.0


def verdict(data: Data, rng: Rng) -> float:
    """Read the verdict of an audit as a test: the level of the strictest page that says "miscalibrated".

    A page at 1 % accuses less often than one at 5 %, so it is made only where that accuses.
    """
    seed = int(rng.integers(2**32))
    found = 1.0
    for rate in sorted(RATES.values(), reverse=True):
        page = cb.audit(*data.given, level=1 - rate, resamples=REDRAWS, rng=seed, **data.options)
        if page.verdict.status != "miscalibrated":
            break
        found = rate
    return found


def difference(metric: str) -> Callable[[Data, Rng], float]:
    """Return the p-value of two models that are equally good."""
    return lambda data, rng: cb.compare_predictions(*data.given, metric=metric, **data.options).pairs[0].pvalue


# Tests of other packages


def hosmer_lemeshow(df: int | None, data: Data, rng: Rng) -> float:
    """Hosmer and Lemeshow's test by calzone, ten bins with as many rows each; 8 degrees of freedom by default."""
    from calzone.metrics import hosmer_lemeshow_test
    from calzone.utils import reliability_diagram

    y, p = data.given
    bins = reliability_diagram(y, np.column_stack([1 - p, p]), num_bins=10, class_to_plot=1, is_equal_freq=True)
    return float(hosmer_lemeshow_test(bins[0], bins[1], bins[3], df=df)[1])


def calzone_spiegelhalter(data: Data, rng: Rng) -> float:
    from calzone.metrics import spiegelhalter_z_test

    y, p = data.given
    return float(spiegelhalter_z_test(y, np.column_stack([1 - p, p]))[1])


def calibration_belt(data: Data, rng: Rng) -> float:
    from calibration import CalibrationBelt

    y, p = data.given
    return float(CalibrationBelt(y, np.clip(p, 1e-12, 1 - 1e-12)).test()[1])


def vartests_kupiec(data: Data, rng: Rng) -> float:
    from vartests import kupiec_test

    y, given = data.given
    missed = (y < given.lower[:, 0]) | (y > given.upper[:, 0])
    return float(kupiec_test(missed.astype(int), float(given.levels[0]))["p-value"])


SMALL, BOTH, ONE = (100,), (100, 1000), (500,)
SCORES = tuple(BINARY)
UNWEIGHTED = tuple(name for name in BINARY if name != "lognormal weights")
SOME_SCORES = ("uniform", "rare events", "fence", "92 % zeros", "three scores", "lognormal weights")
THREE = ("uniform", "fence", "lognormal weights")
LEVELS = ("90 % intervals", "99 % intervals")
SIMPLE = ("uniform", "rare events", "fence", "tied", "confident")

TESTS: dict[str, Test] = {
    "calibration_test": Test(of(cb.calibration_test, resamples=REDRAWS), SCORES, BOTH),
    "kuiper_test": Test(of(cb.kuiper_test, resamples=REDRAWS), SCORES, BOTH),
    "kolmogorov_smirnov_test": Test(of(cb.kolmogorov_smirnov_test, resamples=REDRAWS), SCORES, BOTH),
    "spiegelhalter_test": Test(of(cb.spiegelhalter_test, resamples=REDRAWS), SCORES, BOTH),
    "reliability_curve, simultaneous band": Test(band, SOME_SCORES, ONE),
    "consistency_test, ece": Test(
        of(cb.consistency_test, metric="ece", resamples=FEW_REDRAWS),
        ("uniform", "fence", "lognormal weights"),
        SMALL,
    ),
    "skce_test, redrawn": Test(of(cb.skce_test, method="resample", resamples=REDRAWS), SOME_SCORES, SMALL),
    "skce_test, blocks": Test(of(cb.skce_test, method="block"), ("uniform", "fence", "three scores"), ONE),
    "cme_test": Test(of(cb.kernel_errors.cme_test, resamples=REDRAWS), THREE, SMALL),
    "calibration_test, top label": Test(top_label, tuple(CLASSES), ONE),
    "skce_test, classes": Test(of(cb.skce_test, method="resample", resamples=REDRAWS), tuple(CLASSES), SMALL),
    "cme_test, classes": Test(of(cb.kernel_errors.cme_test, resamples=REDRAWS), ("3 classes",), SMALL),
    "coverage_test": Test(without_rng(cb.coverage_test), (*INTERVALS, *CONFORMAL), BOTH),
    "kupiec_test": Test(without_rng(regions.kupiec_test), tuple(INTERVALS), BOTH),
    "christoffersen_test": Test(without_rng(regions.christoffersen_test), tuple(INTERVALS), SMALL),
    "multinomial_coverage_test": Test(of(regions.multinomial_coverage_test, resamples=REDRAWS), NESTED, BOTH),
    "coverage_hsic_test": Test(of(regions.coverage_hsic_test, resamples=REDRAWS), tuple(INTERVALS), SMALL),
    "uniformity_test": Test(of(cb.uniformity_test), tuple(DRAWS), (50, 500)),
    "rank_smooth_test": Test(of(ranking.rank_smooth_test, resamples=REDRAWS), tuple(DRAWS), (50, 500)),
    "rank_chi2_test": Test(of(ranking.rank_chi2_test, resamples=REDRAWS), tuple(DRAWS), (50, 500)),
    **{
        f"rank_edf_test, {method}": Test(of(ranking.rank_edf_test, method=method), tuple(DRAWS), (50, 500))
        for method in ("ks", "cvm", "ad")
    },
    "rank_cauchy_test": Test(of(ranking.rank_cauchy_test), tuple(DRAWS), (500,)),
    "rank_score_test": Test(lambda data, rng: against_covariates(ranking.rank_score_test, data, rng), DRAWS, (50, 500)),
    "conditional_test": Test(
        lambda data, rng: against_covariates(cb.conditional_test, data, rng, resamples=REDRAWS),
        ("9 draws", "9 draws of counts"),
        (50,),
    ),
    "rank_exchange_test": Test(of(ranking.rank_exchange_test, resamples=REDRAWS), ("9 draws of 5",), (50,)),
    "mmd_test": Test(of(points.mmd_test, resamples=REDRAWS), tuple(POINTS), SMALL),
    "mmd_test, fuse": Test(
        of(points.mmd_test, aggregate="fuse", resamples=REDRAWS), ("Gaussian, d = 2", "counts"), SMALL
    ),
    "mmd_test, blocks": Test(of(points.mmd_test, method="block"), ("Gaussian, d = 2", "Student's t2"), SMALL),
    "c2st": Test(of(points.c2st), ("Gaussian, d = 2", "Student's t2", "counts"), SMALL),
    "compare_predictions, brier_score": Test(difference("brier_score"), tuple(MEAN_PAIRS), ONE),
    "compare_predictions, log_score": Test(difference("log_score"), tuple(MEAN_PAIRS), (1000,)),
    "compare_predictions, ece": Test(difference("ece"), tuple(BINARY_PAIRS), (1000,)),
    "compare_predictions, cutoff_error": Test(difference("cutoff_error"), tuple(BINARY_PAIRS), ONE),
    "compare_predictions, crps": Test(difference("crps"), tuple(CRPS_PAIRS), ONE),
    "audit, verdict": Test(verdict, tuple(PAGES), PAGE_ROWS),
}

DEPENDENT = {
    f"{name}, clusters of 10 not named": TESTS[name]._replace(designs=(CLUSTERS,), rows=ONE, truth=WARNED)
    for name in ("calibration_test", "kuiper_test", "spiegelhalter_test")
}

PEERS: dict[str, tuple[str, Test]] = {
    "calzone, spiegelhalter_z_test": ("calzone", Test(calzone_spiegelhalter, UNWEIGHTED, BOTH, truth=PEER)),
    "calzone, hosmer_lemeshow_test": ("calzone", Test(partial(hosmer_lemeshow, None), SIMPLE, BOTH, truth=PEER)),
    "calzone, hosmer_lemeshow_test, df = 10": (
        "calzone",
        Test(partial(hosmer_lemeshow, 10), SIMPLE, BOTH, truth=PEER),
    ),
    "calibration-belt": ("calibration", Test(calibration_belt, ("uniform", "confident"), (1000,), 500, truth=PEER)),
    "vartests, kupiec_test": (
        "vartests",
        Test(vartests_kupiec, LEVELS, BOTH, truth=PEER),
    ),
}

DESIGNS = {
    **BINARY,
    CLUSTERS: clustered,
    **CLASSES,
    **INTERVALS,
    **CONFORMAL,
    **NESTED,
    **DRAWS,
    **POINTS,
    **MEAN_PAIRS,
    **CRPS_PAIRS,
    **PAGES,
}


def against_covariates(test: Callable[..., Any], data: Data, rng: Rng, **options: Any) -> float:
    """Test ranks against two covariates, one of them with heavy tails."""
    n = len(data.given[0])
    x = np.column_stack([rng.normal(size=n), rng.lognormal(size=n)])
    return float(np.min(test(*data.given, covariates=x, rng=rng, **data.options, **options).pvalue))


def measured() -> dict[str, Test]:
    """Return all tests, those of other packages if they are installed."""
    return {**TESTS, **DEPENDENT, **{name: test for name, (package, test) in PEERS.items() if find_spec(package)}}


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    return [
        Cell(name, design, n, test.truth, max(2, test.repeats // 1000) if quick else test.repeats)
        for name, test in measured().items()
        for design in test.designs
        for n in (test.rows if isinstance(test.rows, tuple) else (test.rows[design],))
    ]


def measure(cell: Cell) -> Counts:
    """Count the rejections at each level."""
    rng, total, test = cell.rng(), Counter(dict.fromkeys(RATES, 0)), measured()[cell.procedure]
    for _ in range(cell.repeats):
        data = DESIGNS[cell.design](rng, cell.n)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of other packages; calibrant's tests make none
                p = test.pvalue(data, rng)
        except NotApplicableError:
            total["refused"] += 1
            continue
        total.update({name: int(p <= rate + 1e-12) for name, rate in RATES.items()})
        total["not a number"] += int(math.isnan(p))
    return dict(total)


def share(cell: Cell, counts: Counts, name: str) -> float:
    """Return the share of rejections among the answers; NaN without any."""
    answers = cell.repeats - counts.get("refused", 0)
    return counts[name] / answers if answers else math.nan


def holds(cell: Cell, counts: Counts) -> bool:
    """Tell whether both rates are at most what is asked; a test that always refuses makes no error."""
    return not any(share(cell, counts, name) > most for name, most in MAX_RATES.items())


def longer(cell: Cell) -> Cell:
    """Return the cell with more repeats, which are new ones: the stream of a cell depends on their number."""
    return replace(cell, repeats=AGAIN * cell.repeats)


def shown(cell: Cell, counts: Counts, name: str) -> str:
    """Return a rate with its standard error."""
    rate, answers = share(cell, counts, name), cell.repeats - counts.get("refused", 0)
    return "refused" if math.isnan(rate) else f"{rate:.4f} ± {math.sqrt(rate * (1 - rate) / answers):.4f}"


def show_cells(report: Report, found: Mapping[Cell, Counts], truth: str, title: str) -> None:
    report.section(title)
    rows = []
    for cell, counts in found.items():
        if cell.truth == truth:
            mark = report.mark(holds(cell, counts)) if truth == CALIBRATED else ""
            answers = f"{cell.repeats - int(counts.get('refused', 0)):,}"
            rates = [shown(cell, counts, name) for name in RATES]
            rows.append([cell.procedure, cell.design, f"{cell.n:,}", answers, *rates, mark])
    report.table(["test", "design", "n", "answers", *(f"at {name}" for name in RATES), ""], rows)


def table(found: Mapping[Cell, Counts]) -> str:
    """Return all rates as comma-separated values, for the page of the documentation."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["test", "design", "n", "truth", "answers", *RATES])
    for cell, counts in found.items():
        answers = cell.repeats - int(counts.get("refused", 0))
        rates = [f"{share(cell, counts, name):.4f}" for name in RATES]
        lines.writerow([cell.procedure, cell.design, cell.n, cell.truth, answers, *rates])
    return file.getvalue()


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells, those that fail a second time with more repeats, and return the report."""
    parts = in_parts(cells, PART)
    finished = run(measure, parts, state, processes=processes)
    found = together(finished)
    doubtful = [cell for cell, counts in found.items() if cell.truth == CALIBRATED and not holds(cell, counts)]
    again = together(run(measure, in_parts([longer(cell) for cell in doubtful], PART), state, processes=processes))
    decided = {}
    for cell, counts in found.items():
        last = longer(cell) if longer(cell) in again else cell
        decided[last] = again.get(last, counts)
    report = Report("Levels of every test", packages=["numpy", "scipy"])
    report.say()
    for design, words in {**WORDS, **HARD_WORDS}.items():
        report.say(f"{design + ':':<14}{words}")
    report.say(f"Calibrated predictions; {REDRAWS} redraws where a test redraws. Rates have their standard error.")
    report.say(
        f"PASS: at most {MAX_RATES['5 %']:g} at 5 % and {MAX_RATES['1 %']:g} at 1 %. What exceeded that was "
        "measured again"
    )
    report.say(f"with {AGAIN} times the repeats, which is what is shown ({len(doubtful)} of {len(cells)} cells).")
    if len(finished) < len(parts):
        report.say(f"Not finished: {len(finished):,} of {len(parts):,} parts of {PART} data sets.")
    show_cells(report, decided, CALIBRATED, "calibrant")
    show_cells(report, decided, WARNED, "Rows that depend on each other, if the test is not told (an audit warns)")
    show_cells(report, decided, PEER, "Other packages")
    report.say()
    report.say(f"{len(decided)} cells; {report.failures} levels not held")
    report.attach("validity_levels.csv", table(decided))
    return report


if __name__ == "__main__":
    raise SystemExit(command("levels", "Level of every test.", plan, simulate))
