"""Levels that are typed, or that names tell without doubt."""

import pytest

from calibrant.cli.levels import level_in, levels_in, read_levels


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        (["q05", "q50", "q95"], [0.05, 0.5, 0.95]),
        (["q95", "q05"], [0.95, 0.05]),
        (["p025", "p50", "p975"], [0.025, 0.5, 0.975]),
        (["q0.1", "q0.7"], [0.1, 0.7]),
        (["q.25", "q.5"], [0.25, 0.5]),
        (["2.5%", "97.5%"], [0.025, 0.975]),
        (["demand 5%", "demand 50%"], [0.05, 0.5]),
        (["0.05", "0.95"], [0.05, 0.95]),
        (["model2_q05", "model2_q95"], [0.05, 0.95]),
        ([f"p{k:02}" for k in range(1, 100)], [k / 100 for k in range(1, 100)]),
    ],
)
def test_names_that_tell(names, levels):
    assert levels_in(names) == pytest.approx(levels, abs=1e-15)


@pytest.mark.parametrize(
    "names",
    [
        ["q5", "q95"],  # 0.05 or 0.5
        ["m01", "m02", "m03"],  # members of an ensemble
        ["q10", "q50"],  # no 90: these may be anything
        ["q01", "q05", "q09"],  # 0.1, 0.5 and 0.9 without their points
        ["low", "mid", "high"],
        ["q05", "q50", "top"],
        ["q05", "r05"],
        ["p05_h24", "p95_h24"],
        ["q1.05", "q1.95"],
        ["q0.0", "q1.0"],
        ["q00", "q100"],
        ["150%", "50%"],
    ],
)
def test_names_that_could_mean_something_else(names):
    assert levels_in(names) is None


@pytest.mark.parametrize(("name", "level"), [("lower90", 0.9), ("q0.5", 0.5), ("5%", 0.05), ("q5", None), ("", None)])
def test_level_in(name, level):
    assert level_in(name) == level


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.1,half", "'half' (--levels) is not a number; write them like --levels 0.05,0.5,0.95"),
        ("0.1,,0.9", "'' (--levels) is not a number"),
        ("5,50", "5 does not lie between 0 and 1; did you mean 0.05? (--levels)"),
        ("0,1", "0 does not lie between 0 and 1 (--levels)"),
    ],
)
def test_texts_that_are_no_levels(refusal, text, sentence):
    assert refusal(read_levels, text).startswith(sentence)
