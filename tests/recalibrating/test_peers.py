"""What other packages return on the same rows, in the versions that the file names."""

from functools import partial

import numpy as np
import pytest
import scipy.optimize
from scipy.special import logit
from tests.references.books import book

from calibrant.recalibrating.recalibrate import recalibrate

BOOK = book("recalibration_peers")
Y, P, W, GRID = (BOOK[name] for name in ("y", "p", "weights", "grid"))


PLATT = {"method": "logistic", "smoothing": "platt"}


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("sigmoid", PLATT, {"atol": 5e-8}),  # scikit-learn's solver stops within 5e-8
        ("sigmoid_weights", {**PLATT, "weights": W}, {"atol": 5e-8}),
        ("temperature_slope", {"method": "temperature"}, {"atol": 5e-8}),
        ("isotonic", {"method": "isotonic"}, {"rtol": 1e-13}),
        ("isotonic_weights", {"method": "isotonic", "weights": W}, {"rtol": 1e-13}),
        ("betacal", {"method": "beta"}, {"atol": 8e-4}),  # its solver stops early, by up to 8e-4 of a probability
        ("venn_abers", {"method": "venn-abers"}, {"rtol": 1e-13}),
        ("venn_abers_bounds", {"method": "venn-abers"}, {"rtol": 1e-13}),
        ("cir", {"method": "centred-isotonic"}, {"rtol": 1e-12}),
    ],
)
def test_values_of_peers(name, options, tolerance):
    found = recalibrate(Y, P, **options)
    m = found.parameters
    if name.startswith("sigmoid"):
        value = [m["intercept"], m["slope"]]
    elif name == "temperature_slope":
        value = m["slope"]
    else:
        value = found.bounds(GRID) if name.endswith("bounds") else found.apply(GRID)
    np.testing.assert_allclose(value, BOOK[name], **tolerance)


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
