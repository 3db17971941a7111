"""A small version of the benchmark of tests of ranks, without other packages."""

import numpy as np
import pytest
from benchmarks.validity import ranks_power
from benchmarks.validity.cells import Cell
from benchmarks.validity.ranks_power import CALIBRATED, ERRORS, RANKS, drawn, exceeds, measure, plan, sbc_bins

import calibrant as cb


@pytest.fixture(autouse=True)
def without_peers(monkeypatch):
    monkeypatch.setattr(ranks_power, "find_spec", lambda name: None)


def test_bins_of_simulation_based_calibration():
    assert [sbc_bins(200, 20), sbc_bins(200, 100), sbc_bins(1000, 20), sbc_bins(1000, 100)] == [10, 10, 20, 50]


@pytest.mark.parametrize("error", list(ERRORS)[1:])
def test_the_errors_are_found_in_many_rows(error):
    y, draws, _ = drawn(np.random.default_rng(1), error, 5000, 99)
    assert cb.uniformity_test(y, cb.Samples(draws)).pvalue < 0.001


def test_an_unknown_error_is_refused():
    with pytest.raises(ValueError, match="unknown error 'none'"):
        drawn(np.random.default_rng(0), "none", 10, 9)


def test_counts_of_a_cell():
    repeats = 40
    counts = measure(Cell(RANKS, CALIBRATED, 200, "M = 19", repeats))
    assert set(counts) == set(ranks_power.TESTS)
    assert not any(exceeds(count / repeats, repeats) for count in counts.values())


@pytest.mark.parametrize(("procedure", "error"), [("joint", ranks_power.UNCORRELATED), ("place", "bias by |x2|")])
def test_errors_that_need_vectors_or_covariates_are_found(procedure, error):
    counts = measure(Cell(procedure, error, 400, "M = 19", 2))
    assert max(counts.values()) == 2


def test_without_other_packages_only_ours_are_planned():
    assert {cell.procedure for cell in plan(quick=False)} == {"ranks", "joint", "place"}
