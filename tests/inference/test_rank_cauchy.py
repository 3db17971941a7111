"""The Cauchy rules, against arviz-stats and by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.inference.rank_cauchy import cauchy, piet, prit

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("dependent/")
]


@pytest.mark.parametrize("rule", [prit, piet], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value, rule):
    """The values were computed at mid-ranks, which are no valid argument: they check the formula alone."""
    with np.load(REFERENCES / "samples.npz") as arrays:
        rank = arrays[value["inputs"][0]]
    found = [rule((column + 0.5) / 100)[1] for column in rank.T]
    np.testing.assert_allclose(found, value["value"][rule.__name__], rtol=value["rtol"])


def test_one_value():
    assert piet(np.array([0.1]))[1] == pytest.approx(0.2)
    assert prit(np.array([0.1]))[1] == pytest.approx(0.2)  # P(B >= 1) = 0.1


def test_equal_pvalues_stay_what_they_are():
    assert cauchy(np.full(7, 0.03), small_only=True)[1] == pytest.approx(0.03)


def test_large_pvalues_are_left_out_and_still_counted():
    T = 1 / np.tan(0.1 * np.pi)
    assert cauchy(np.array([0.1, 0.9]), small_only=True)[0] == pytest.approx(T / 2)
    assert cauchy(np.array([0.1, 0.9]), small_only=False)[0] == pytest.approx(0, abs=1e-12)


def test_a_small_pvalue_keeps_its_digits():
    assert cauchy(np.array([1e-200, 0.5]), small_only=True)[1] == pytest.approx(2e-200)
    assert 0 <= cauchy(np.array([0.0, 0.5]), small_only=True)[1] < 1e-300


@pytest.mark.parametrize("rule", [prit, piet], ids=lambda rule: rule.__name__)
def test_order_and_reflection_change_nothing(rule):
    u = np.random.default_rng(0).random(30)
    assert rule(u[::-1])[1] == pytest.approx(rule(u)[1])
    if rule is not prit:  # its distribution function is right-continuous
        assert rule(1 - u)[1] == pytest.approx(rule(u)[1])


@pytest.mark.parametrize(("rule", "most"), [(prit, 0.03), (piet, 0.025)])
def test_a_small_level_is_nearly_kept(rule, most):
    rng = np.random.default_rng(1)
    assert np.mean([rule(u)[1] <= 0.01 for u in rng.random((1000, 100))]) < most
