"""Likely mistakes that an audit asks about: dependence of rows; others are in the tests of the verdict."""

import numpy as np
import pytest

from calibrant.probabilities.mistakes import questions_on_dependence

RNG = np.random.default_rng(10)


def test_blocks_of_a_score():
    (question,) = questions_on_dependence(np.repeat(RNG.random(50), 4))
    assert "75 % of the rows have the score of the row before" in question  # 150 of 199


@pytest.mark.parametrize(
    "p",
    [
        RNG.random(1000),
        RNG.integers(0, 5, 1000) / 4,
        RNG.random(1000).round(2),
        np.sort(RNG.random(1000).round(1)),
        np.concatenate([np.sort(RNG.random(500).round(1)), np.sort(RNG.random(500).round(1))]),
        np.full(1000, 0.3),
        np.full(3, 0.3),
        np.where(RNG.random(1000) < 0.9, 0.0, RNG.random(1000)),
    ],
)
def test_no_false_alarm(p):
    assert questions_on_dependence(p) == []
