"""A small version of `benchmarks/validity/claims.py`: false pages of audits, with fixed seeds.

So few pages show gross errors only. A cell of 8 pages passes with 2 false ones, a quarter, and one of 40 with 5, an
eighth; all cells together pass with 21 of 253, 8.3 %. That at most 5 % are false is measured by the benchmark.
"""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from benchmarks.validity.cells import Cell, Counts
from benchmarks.validity.claim_designs import DESIGNS
from benchmarks.validity.claim_truth import NORMAL, QUANTILES
from benchmarks.validity.claims import FALSE_PAGES, FAULTS, PAGES, PROCEDURE, SILENT, TOLERANCE, measure, most, page
from scipy import stats

from calibrant import audit
from calibrant.core.findings import Setting

pytestmark = pytest.mark.usefixtures("no_power")
CELLS = {  # rows, pages, and false pages up to which the cell passes
    "uniform, calibrated": (100, 40, 5),
    "uniform, shift .3": (300, 15, 2),
    "92 % zeros, wave": (300, 15, 2),
    "4 groups, one group": (200, 15, 2),
    "3 classes, one class": (200, 8, 2),
    "three levels, too narrow": (200, 10, 2),
    "split conformal, m = 100": (500, 40, 5),
    "quartiles of counts": (200, 40, 5),
    "sets of likely labels": (200, 40, 5),
    "19 draws, D = 1, spread 1.3": (200, 30, 4),
}


@cache
def measured(design: str) -> Counts:
    n, pages, _ = CELLS[design]
    return measure(Cell(PROCEDURE, design, n, "", pages))


@pytest.mark.parametrize("design", CELLS)
def test_few_pages_have_a_false_claim(design: str) -> None:
    _, pages, passing = CELLS[design]
    assert passing == math.floor(most(pages) * pages)
    assert measured(design)[PAGES] == pages
    assert measured(design)[SILENT] == 0
    assert measured(design)[FALSE_PAGES] <= passing


def test_few_pages_of_all_cells_have_a_false_claim() -> None:
    """If 5 % of the pages were false, more than 21 of 253 would be with the probability 0.9 %; if 12 %, with 96 %."""
    pages = sum(number for _, number, _ in CELLS.values())
    assert (pages, math.floor(most(pages) * pages)) == (253, 21)
    assert stats.binom.sf(21, pages, [0.05, 0.12]) == pytest.approx([0.009, 0.962], abs=0.002)
    assert sum(measured(design)[FALSE_PAGES] for design in CELLS) <= 21


@pytest.mark.parametrize("errors", sorted(set(QUANTILES) - {NORMAL}))
def test_draws_of_the_right_mean_and_spread_have_no_shift_and_no_factor(errors: str) -> None:
    """Outcomes of another shape have ranks that a wrong spread makes too; 4 pages, of which 1 may be false."""
    found = measure(Cell(PROCEDURE, f"19 draws, {errors} outcomes", 1000, "", 4))
    assert not [name for name in found if name.startswith("which") and ("shift" in name or "spread" in name)]
    assert found[FALSE_PAGES] <= 1


@pytest.mark.parametrize("design", ["Poisson, means × 0.8", "Poisson, means × 1.2"])
def test_counts_with_wrong_means_are_miscalibrated(design: str) -> None:
    found = measure(Cell(PROCEDURE, design, 800, "", 3))
    assert (found["status miscalibrated"], found[FALSE_PAGES] <= 1) == (3, True)


@pytest.mark.parametrize("families", [3, 1])
def test_the_bound_is_exceeded_if_families_are_ignored(families: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most probable class, each of 3 classes and 4 groups: 3 families, each with an error rate of 20 % if ignored.

    Then 1 - 0.8³ = 49 % of the pages may accuse calibrated predictions. At the level 0.8 few pages tell that from 20 %.
    """
    monkeypatch.setattr("calibrant.auditing.job.replace", partial(_with_families, families))
    rng, pages, rate = np.random.default_rng(0), 40, 0.2
    accusing = 0
    for _ in range(pages):
        data = DESIGNS["3 classes, 4 groups, calibrated"].draw(rng, 60)
        verdict = audit(data.y, data.prediction, level=1 - rate, resamples=99, rng=rng, **data.options).verdict
        accusing += any(claim.kind in FAULTS for claim in verdict.claims)
    bound = pages * (rate + TOLERANCE * math.sqrt(rate * (1 - rate) / pages))  # 14.6
    assert (accusing > bound) == (families == 1)


def _with_families(number: int, of: object, **changes: object) -> object:
    """Change a part of an audit; its setting is told this number of families."""
    if isinstance(of, Setting):
        assert changes["families"] == 3
        changes["families"] = number
    return replace(of, **changes)  # type: ignore[type-var]


def test_the_bound_is_exceeded_by_audits_that_are_not_told_what_they_need() -> None:
    """Split conformal predictors vary with their calibration set; without its size many are called miscalibrated."""
    rng, design, pages = np.random.default_rng(0), DESIGNS["split conformal, m = 100"], 40
    false = 0
    for _ in range(pages):
        data = design.draw(rng, 2000)
        verdict = audit(data.y, data.prediction, resamples=99).verdict
        false += page(verdict.status, verdict.claims, data, design)[FALSE_PAGES]
    assert false > 2 * most(pages) * pages
