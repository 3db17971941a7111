"""The benchmark of pairs of coordinates: designs, and what is counted."""

import numpy as np
import pytest
from benchmarks.validity.cells import Cell
from benchmarks.validity.pairs import DESIGNS, FALSE, NAMED, Design, is_right_alone, measure, plan


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_have_the_correlations_they_state(name):
    design, _ = DESIGNS[name]
    y, samples = design.draw(np.random.default_rng(0), 4000)
    of_outcomes = np.corrcoef((y - samples.held.mean(axis=1)).T)[0, 1]
    noise = samples.held - samples.held.mean(axis=1, keepdims=True)
    of_draws = np.corrcoef(noise.reshape(-1, design.D).T)[0, 1]
    assert of_draws == pytest.approx(design.draws, abs=0.05)
    assert of_outcomes == pytest.approx(design.outcomes, abs=0.12)


def test_wrong_pairs():
    assert Design(3, 0.5, 0.5).wrong() == set()
    assert Design(3, 0.5, 0.0).wrong() == {"0 and 1", "0 and 2", "1 and 2"}
    assert Design(3, 0.5, 0.0, only_first=True).wrong() == {"0 and 1"}
    assert not is_right_alone(Design(3, 0.5, 0.5, spread=0.9))


def test_a_cell():
    found = measure(Cell("pairs", ".8 stated as 0", 200, "wrong", 1))
    assert found[NAMED] == 1
    assert found[FALSE] == 0
    assert found["p 0.01"] == 1


def test_the_plan_covers_all_designs():
    assert {cell.design for cell in plan(quick=True)} == set(DESIGNS)
