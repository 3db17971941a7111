"""A small version of `benchmarks/validity/recalibration.py`: true gains by hand, and few misses with fixed seeds."""

import numpy as np
import pytest
from benchmarks.validity.cells import Cell
from benchmarks.validity.claim_truth import BinaryTruth, Chances, ClassTruth, UnknownClaimError, map_value
from benchmarks.validity.recalibration import METHODS, design_of, fails, measure, names_of, plan, wrong
from benchmarks.validity.recalibration_designs import Events, Numbers, Vectors
from scipy.stats import binom

from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibration import Recalibration

LOG = FitOptions(score="log")


def test_the_true_gain_of_a_map_of_one_score():
    """All rows say 0.8 and 0.6 happen; the map says 0.6: the gain is the divergence of 0.8 from 0.6."""
    design = Events(lambda rng, n: np.full(n, 0.8), lambda p: np.full(p.size, 0.6))
    slope = np.log(1.5) / np.log(4)
    found = Recalibration("binary", "temperature", {"slope": slope, "temperature": 1 / slope}, 10)
    expected = 0.6 * np.log(0.6 / 0.8) + 0.4 * np.log(0.4 / 0.2)
    assert design.gain(found, LOG) == pytest.approx(expected, rel=1e-12)
    assert design.gain(Recalibration("binary", "identity", {}, 10), LOG) == 0


def test_the_true_gain_of_class_vectors_is_largest_at_the_truth():
    design = Vectors(3, slope=0.5)

    def gain(slope):
        return design.gain(Recalibration("classes", "temperature", {"slope": slope, "temperature": 1 / slope}, 9), LOG)

    assert gain(0.5) > max(gain(0.45), gain(0.55), 0.0)
    assert gain(1.0) == pytest.approx(0.0, abs=1e-12)


def test_the_true_gain_of_normal_predictions():
    """Spread 1/2 of outcomes of spread 1, doubled: -1/2 ln 2π s² - 1/(2s²) rises from ln 2 - 2 to -1/2."""
    design = Numbers("normal", factor=0.5)
    found = Recalibration("distributions", "location-scale", {"shift": 0.0, "scale": 2.0}, 10)
    assert design.gain(found, LOG) == pytest.approx(1.5 - np.log(2), abs=0.02)


def test_values_of_claims_on_a_map():
    p, q = np.full(400, 0.8), np.full(400, 0.6)
    y = (np.arange(400) % 5 < 3).astype(int)
    p[:200], q[:200], y[:200] = 0.2, 0.4, (np.arange(200) % 5 < 2)
    true = 0.6 * np.log(0.6 / 0.8) + 0.4 * np.log(0.4 / 0.2)
    claim = Claim("gain", ALL_ROWS, "recalibration_gain", 0.1)
    assert map_value(claim, y, BinaryTruth(Chances(p, q, np.ones(400)), {}), {}) == pytest.approx(true, rel=1e-6)
    known = ClassTruth(np.stack([1 - p, p], axis=1), np.stack([1 - q, q], axis=1), {})
    error = Claim("limits", ALL_ROWS, "calibration_error", 0.1)
    assert map_value(error, y, known, {}) == pytest.approx(true, rel=1e-12)
    with pytest.raises(UnknownClaimError):
        map_value(claim, y, None, {})


@pytest.mark.parametrize("truth", ["calibrated", "slope 0.6"])
def test_few_limits_miss(truth):
    cell = Cell("time", "uniform", 400, truth, 60)
    counts = measure(cell)
    for name in names_of(cell):
        share, of = wrong(counts, name, cell.repeats)
        assert share * of <= binom.ppf(0.999, of, 0.07)
    assert not (truth == "calibrated" and counts.get("temperature, log: helps", 0) > 5)


def test_a_cell_with_many_misses_fails():
    cell = Cell("quantiles", "quantiles", 500, "calibrated", 100)
    assert fails(cell, {"shift, quantile: issued": 100, "shift, quantile: below": 9}) == ["shift, quantile"]
    assert fails(cell, {"shift, quantile: issued": 100, "shift, quantile: helps": 6}) == ["shift, quantile"]
    assert names_of(Cell("quantiles", "quantiles | shift, quantile", 500, "calibrated", 9)) == ["shift, quantile"]
    assert not fails(cell, {"shift, quantile: issued": 100, "shift, quantile: above": 6})


def test_every_cell_has_a_design_and_methods():
    cells = plan(quick=True)
    assert {cell.procedure for cell in cells} == set(METHODS)
    for cell in cells:
        drawn = design_of(cell.procedure, cell.design, cell.truth).draw(np.random.default_rng(0), 20)
        assert len(drawn.y) == 20
