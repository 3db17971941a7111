"""What other packages return on the same rows, in the versions that the file names."""

import json
from pathlib import Path

import numpy as np
import pytest

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
