"""Scores of distributions whose squares are out of the range of float64."""

import numpy as np
import pytest

from calibrant import Laplace, Normal, Samples, energy_score, sharpness

MAX = float(np.finfo(float).max)


@pytest.mark.parametrize("unit", [1e-200, 5e-324 * 64, 1e-5, 1.0, 1e200])
def test_sharpness_has_the_unit_of_the_distribution(unit):
    assert sharpness(Normal([0.0, 0.0], [unit, 3 * unit])) == pytest.approx(2 * unit, rel=1e-12, abs=0)
    assert sharpness(Laplace([0.0], [unit])) == pytest.approx(np.sqrt(2) * unit, rel=1e-2, abs=0)
    draws = unit * np.array([[0.0, 3.0, 6.0], [1.0, 1.0, 1.0]])
    assert sharpness(Samples(draws)) == pytest.approx(1.5 * unit, rel=1e-12, abs=0)
    vectors = sharpness(Samples(np.stack([draws, draws / 2], axis=2)))
    assert vectors == pytest.approx([1.5 * unit, 0.75 * unit], rel=1e-2, abs=0)


def test_sharpness_of_draws_about_a_huge_mean():
    assert sharpness(Samples([[MAX, MAX, MAX]])) == 0.0
    assert sharpness(Samples([[MAX, -MAX]])) == np.inf


@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-600, 1.0, 2.0**600, 2.0**1015])
def test_energy_score_has_the_unit_of_the_draws(unit, beta):
    draws, y = np.array([[[3.0, 4.0], [0.0, 0.0], [1.0, 7.0]]]), np.array([[0.0, 1.0]])
    expected = energy_score(y, Samples(draws), beta=beta)
    found = energy_score(unit * y, Samples(unit * draws), beta=beta)
    assert found == pytest.approx(expected * unit**beta, rel=1e-12, abs=0)


def test_energy_score_sees_small_steps_of_one_coordinate():
    draws = np.array([[[1.0, 2e-200], [1.0, 4e-200]]])
    assert energy_score([[1.0, 0.0]], Samples(draws)) == pytest.approx(2.5e-200, rel=1e-12, abs=0)
