"""The Cauchy rule, against arviz-stats and by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.inference.rank_cauchy import cauchy, piet

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("dependent/")
]


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    """The values were computed at mid-ranks, which are no valid argument: they check the formula alone."""
    with np.load(REFERENCES / "samples.npz") as arrays:
        rank = arrays[value["inputs"][0]]
    found = [piet((column + 0.5) / 100)[1] for column in rank.T]
    np.testing.assert_allclose(found, value["value"]["piet"], rtol=value["rtol"])


def test_one_value():
    assert piet(np.array([0.1]))[1] == pytest.approx(0.2)


def test_equal_pvalues_stay_what_they_are():
    assert cauchy(np.full(7, 0.03))[1] == pytest.approx(0.03)


def test_opposite_pvalues_cancel():
    assert cauchy(np.array([0.1, 0.9]))[0] == pytest.approx(0, abs=1e-12)


def test_a_small_pvalue_keeps_its_digits():
    assert cauchy(np.array([1e-200, 0.5]))[1] == pytest.approx(2e-200)
    assert 0 <= cauchy(np.array([0.0, 0.5]))[1] < 1e-300


def test_order_and_reflection_change_nothing():
    u = np.random.default_rng(0).random(30)
    assert piet(u[::-1])[1] == pytest.approx(piet(u)[1])
    assert piet(1 - u)[1] == pytest.approx(piet(u)[1])


def test_a_small_level_is_nearly_kept():
    rng = np.random.default_rng(1)
    assert np.mean([piet(u)[1] <= 0.01 for u in rng.random((1000, 100))]) < 0.025
