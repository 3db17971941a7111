"""What other packages return on the same rows, in the versions that the file names."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from scipy.special import logit

from calibrant.recalibrating.recalibrate import recalibrate

BOOK = json.loads((Path(__file__).parents[1] / "references" / "recalibration_peers.json").read_text())
Y, P, W, GRID = (BOOK[name] for name in ("y", "p", "weights", "grid"))


@pytest.mark.parametrize(("name", "weights"), [("sigmoid", None), ("sigmoid_weights", W)])
def test_platt_smoothing_is_scikit_learns_sigmoid_on_the_logit(name, weights):
    """Its solver stops within 5e-8."""
    found = recalibrate(Y, P, method="logistic", smoothing="platt", weights=weights).parameters
    np.testing.assert_allclose([found["intercept"], found["slope"]], BOOK[name], atol=5e-8)


def test_temperature_is_scikit_learns():
    """Its solver stops within 5e-8."""
    found = recalibrate(Y, P, method="temperature")
    assert found.parameters["slope"] == pytest.approx(BOOK["temperature_slope"], abs=5e-8)


@pytest.mark.parametrize(("name", "weights"), [("isotonic", None), ("isotonic_weights", W)])
def test_isotonic_is_scikit_learns(name, weights):
    np.testing.assert_allclose(
        recalibrate(Y, P, method="isotonic", weights=weights).apply(GRID), BOOK[name], rtol=1e-13
    )


def test_beta_is_betacals():
    """Its solver stops early, by up to 8e-4 of a probability."""
    np.testing.assert_allclose(recalibrate(Y, P, method="beta").apply(GRID), BOOK["betacal"], atol=8e-4)


def test_venn_abers():
    found = recalibrate(Y, P, method="venn-abers")
    np.testing.assert_allclose(found.apply(GRID), BOOK["venn_abers"], rtol=1e-13)
    np.testing.assert_allclose(found.bounds(GRID), BOOK["venn_abers_bounds"], rtol=1e-13)


def test_centred_isotonic_is_cir_models():
    np.testing.assert_allclose(recalibrate(Y, P, method="centred-isotonic").apply(GRID), BOOK["cir"], rtol=1e-12)


@pytest.mark.parametrize("weights", [None, np.array(W)])
def test_scikit_learns_sigmoid_solved_to_the_end_is_platt_smoothing(require, monkeypatch, weights):
    """It stops at a gradient of 1e-6. Where the gradient of its own objective is 0, its parameters are ours."""
    calibration = require("sklearn.calibration")
    stops = {}

    def solved(objective, start, **options):
        stopped = scipy.optimize.minimize(objective, start, **options)
        stops["gradient"] = np.abs(objective(stopped.x)[1]).max()
        return scipy.optimize.root(lambda x: objective(x)[1], stopped.x, options={"xtol": 1e-14})

    monkeypatch.setattr(calibration, "minimize", solved)
    peer = calibration._SigmoidCalibration().fit(logit(P), np.array(Y), weights)
    found = recalibrate(Y, P, method="logistic", smoothing="platt", weights=weights)
    np.testing.assert_allclose(
        [found.parameters["intercept"], found.parameters["slope"]], [-peer.b_, -peer.a_], rtol=0, atol=1e-11
    )
    total = len(Y) if weights is None else sum(weights)
    assert found.gradient < 1e-12 < stops["gradient"] / total


def test_scikit_learns_temperature_solved_to_the_end(require, monkeypatch):
    """It compares values, which near the minimum differ by rounding alone; the derivative vanishes at our slope."""
    calibration = require("sklearn.calibration")

    def solved(objective, **options):
        found = scipy.optimize.minimize_scalar(objective, **options)
        found.x = scipy.optimize.brentq(partial(slope_of, objective), found.x - 1e-3, found.x + 1e-3, xtol=1e-14)
        return found

    monkeypatch.setattr(calibration, "minimize_scalar", solved)
    peer = calibration._TemperatureScaling().fit(np.log(np.stack([1 - np.array(P), P], axis=1)), np.array(Y))
    found = recalibrate(Y, P, method="temperature")
    assert found.parameters["slope"] == pytest.approx(peer.beta_, rel=1e-10)


def slope_of(objective, x, h=0.01):
    """Return the derivative by central differences, exact for polynomials of degree 6."""
    return sum(c * (objective(x + k * h) - objective(x - k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)
