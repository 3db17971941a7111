"""The result of explain."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from calibrant.results.explanation import Explanation

ONE = Explanation(
    sentence="Too narrow.",
    failure="too narrow",
    shift=-0.001,
    shift_low=-0.1,
    shift_high=0.1,
    spread=1.43,
    spread_low=1.38,
    spread_high=1.48,
    coverage={0.5: 0.36, 0.9: 0.76},
    smallest_shift=0.0645,
    smallest_spread=1.054,
    pvalue=1e-9,
    n=2000,
    M=99,
    level=0.95,
)


def several(C):
    numbers = {
        name: np.zeros(C) for name in ("shift", "shift_low", "shift_high", "spread", "spread_low", "spread_high")
    }
    return replace(
        ONE,
        sentence=tuple(f"Sentence {c}." for c in range(C)),
        failure=("none",) * C,
        pvalue=np.linspace(1, 0, C),
        names=tuple(f"x{c}" for c in range(C)),
        **numbers,
    )


def test_print_shows_sentence_effects_and_what_could_be_seen():
    assert str(ONE) == (
        "Too narrow.\n"
        "Shift +0.00 (-0.10 to +0.10) predictive sd, spread to be multiplied by 1.43 (1.38 to 1.48); "
        "smallest visible at 2,000 rows: shift 0.065, spread x 1.05."
    )


def test_several_columns_have_a_line_each():
    found = replace(several(2), joint="Their dependence is wrong.")
    assert str(found).splitlines() == [
        "x1: Sentence 1.",
        "x0: Sentence 0.",
        "Their dependence is wrong.",
        "Smallest visible at 2,000 rows: shift 0.065, spread x 1.05.",
    ]


def test_of_many_columns_those_of_the_smallest_pvalues_are_shown():
    lines = str(several(20)).splitlines()
    assert lines[:2] == ["x19: Sentence 19.", "x18: Sentence 18."]
    assert lines[12] == "8 further columns have larger p-values."


def test_one_draw_tells_no_spread():
    found = str(replace(ONE, spread=np.nan, smallest_spread=np.nan))
    assert "spread" not in found
    assert "nan" not in found


def test_outward_ranks_tell_neither():
    assert str(replace(ONE, smallest_shift=np.nan, smallest_spread=np.nan)) == "Too narrow."


def test_effects_beyond_measure_are_not_printed():
    found = str(replace(ONE, shift=3.6, shift_low=-np.inf, shift_high=np.inf, spread_high=np.inf))
    assert found.splitlines()[1] == "Smallest visible at 2,000 rows: shift 0.065, spread x 1.05."


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ONE.failure = "none"
    with pytest.raises(TypeError):
        ONE.coverage[0.5] = 0.5


def test_travels():
    back = pickle.loads(pickle.dumps(ONE))
    assert str(back) == str(ONE)
    assert back.coverage == ONE.coverage


def test_repr_is_short():
    assert repr(ONE) == "Explanation('too narrow', n=2000, M=99)"
