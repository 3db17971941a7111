"""The examples of draws are what the script makes."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def script():
    """Return what the script defines; its own folder is on the path only while it is read."""
    if not SCRIPTS.exists():
        pytest.skip("the scripts are not part of this copy")
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield runpy.run_path(str(SCRIPTS / "make_examples.py"))
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def epidemics(script):
    return sys.modules["example_data.posterior"]


@pytest.fixture(scope="module")
def weather(script):
    return sys.modules["example_data.ensemble"]


@pytest.mark.parametrize("name", ["posterior", "ensemble", "generated"])
def test_committed_files_are_reproduced(script, name, require):
    require("sklearn")  # has the data that one of them is made of
    assert script["differences"](name, script["MAKERS"][name]()) == []


def test_differences_are_found(script):
    with np.load(SCRIPTS.parent / "src/calibrant/examples/ensemble.npz") as held:
        arrays = dict(held)
    arrays["draws"] = arrays["draws"] + np.float32(1e-3)
    assert script["differences"]("ensemble", arrays) == ["ensemble.npz: draws differs"]


def test_slope_of_the_gaussian_loss(epidemics):
    """The derivative by each output is that of finite differences."""
    rng = np.random.default_rng(1)
    z, outputs = rng.normal(size=(4, 3)), rng.normal(size=(4, 9))

    def loss(outputs):
        return -epidemics.gaussian(outputs).log_density(z[:, None])[:, 0]

    found = epidemics.gaussian_loss(z)(outputs)
    for k in range(9):
        step = np.zeros(9)
        step[k] = 1e-6
        expected = (loss(outputs + step) - loss(outputs - step)) / 2e-6
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-6, atol=1e-7)


def test_draws_follow_their_density(epidemics):
    """The mean log density of Gaussian draws is minus their entropy."""
    distribution = epidemics.gaussian(np.array([[0.5, -1.0, 2.0, 0.3, -0.2, 0.1, 0.7, -0.4, 0.2]]))
    drawn = distribution.draw(200_000, np.random.default_rng(2))
    entropy = 1.5 * (1 + np.log(2 * np.pi)) - (0.3 - 0.2 + 0.1)
    assert abs(distribution.log_density(drawn).mean() + entropy) < 0.01
    np.testing.assert_allclose(drawn.mean(axis=1), distribution.mean, atol=0.02)


def test_jacobian_of_the_natural_scale(epidemics):
    z = np.random.default_rng(3).normal(size=(5, 3))
    step = 1e-6
    slopes = (epidemics.natural(z + step) - epidemics.natural(z - step)) / (2 * step)
    np.testing.assert_allclose(epidemics.log_jacobian(z), np.log(slopes).sum(axis=1), rtol=1e-6)


def test_weather_obeys_the_model(weather):
    """At rest, all places at the forcing, nothing changes; a step is accurate to the fourth order."""
    rest = np.full((1, 40), weather.FORCING)
    np.testing.assert_array_equal(weather.tendency(rest, weather.FORCING), np.zeros((1, 40)))
    x = np.random.default_rng(4).normal(2.0, 3.0, (1, 40))
    before, after = np.roll(x, 1), np.roll(x, -1)
    np.testing.assert_allclose(weather.tendency(x, 8.0), (after - np.roll(x, 2)) * before - x + 8.0)
    fine = x
    for _ in range(50):
        fine = fine + weather.STEP / 50 * weather.tendency(fine + weather.STEP / 100 * weather.tendency(fine, 8.0), 8.0)
    np.testing.assert_allclose(weather.stepped(x, 8.0), fine, atol=2e-3)
