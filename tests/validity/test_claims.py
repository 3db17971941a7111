"""A small version of `benchmarks/validity/claims.py`: false pages of audits, with fixed seeds."""

import numpy as np
import pytest
from benchmarks.validity.cells import Cell
from benchmarks.validity.claim_designs import DESIGNS
from benchmarks.validity.claims import FALSE_PAGES, PAGES, PROCEDURE, SILENT, measure, most, page

from calibrant import audit

CELLS = {  # rows and pages
    "uniform, calibrated": (100, 20),
    "uniform, shift .3": (300, 15),
    "92 % zeros, wave": (300, 15),
    "4 groups, one group": (200, 15),
    "3 classes, one class": (200, 8),
    "three levels, too narrow": (200, 10),
    "split conformal, m = 100": (500, 40),
    "quartiles of counts": (200, 40),
    "sets of likely labels": (200, 40),
    "19 draws, D = 1, spread 1.3": (200, 30),
}


@pytest.mark.parametrize("design", CELLS)
def test_few_pages_have_a_false_claim(design: str) -> None:
    n, pages = CELLS[design]
    counts = measure(Cell(PROCEDURE, design, n, "", pages))
    assert counts[PAGES] == pages
    assert counts[SILENT] == 0
    assert counts[FALSE_PAGES] <= most(pages) * pages


def test_the_bound_is_exceeded_by_audits_that_are_not_told_what_they_need() -> None:
    """Split conformal predictors vary with their calibration set; without its size many are called miscalibrated."""
    rng, design, pages = np.random.default_rng(0), DESIGNS["split conformal, m = 100"], 40
    false = 0
    for _ in range(pages):
        data = design.draw(rng, 2000)
        verdict = audit(data.y, data.prediction, resamples=99).verdict
        false += page(verdict.status, verdict.claims, data, design)[FALSE_PAGES]
    assert false > 2 * most(pages) * pages
