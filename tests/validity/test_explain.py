"""A small version of the benchmark of words: few data sets of each constructed error."""

import pytest
from benchmarks.validity.cells import Cell
from benchmarks.validity.explain import BAD, SAID, measure, plan
from benchmarks.validity.explain_designs import ERRORS

REPEATS = 3


@pytest.mark.parametrize("name", sorted(set(ERRORS) - {"none"}))
def test_words(name):
    counts = measure(Cell("explain", name, 1000, "M = 99", REPEATS))
    assert counts[SAID] == REPEATS
    assert counts[BAD] <= 1


def test_calibrated_draws_are_seldom_accused():
    counts = measure(Cell("explain", "none", 200, "M = 19", 20))
    assert counts[SAID] >= 16


def test_every_error_is_planned_at_every_size():
    cells = plan(quick=False)
    assert {cell.design for cell in cells} == set(ERRORS)
    assert sum(cell.repeats for cell in cells) == 100 * 3 * len(ERRORS)
