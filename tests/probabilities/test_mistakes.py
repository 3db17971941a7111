"""Likely mistakes that an audit asks about: labels of classes, dependent rows; others are in tests of the verdict."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.core.evidence import note
from calibrant.inputs.probabilities import Classes
from calibrant.probabilities.mistakes import questions_on_classes, questions_on_dependence

RNG = np.random.default_rng(10)


def test_labels_of_classes():
    """Class vectors that predict() gave: one class has the probability 1 in every row."""
    y, P = RNG.integers(0, 3, 200), np.eye(3)[RNG.integers(0, 3, 200)]
    (question,) = questions_on_classes(Classes(y, P, np.ones(200)), ("a", "b", "c"))
    assert question == note("class labels?", n=200)
    P[0] = [0.9, 0.1, 0.0]
    assert questions_on_classes(Classes(y, P, np.ones(200)), ("a", "b", "c")) == []


@pytest.mark.parametrize(
    ("scores", "options", "asked"),
    [
        (np.repeat(RNG.random(125), 4), {}, True),  # each of 125 customers four times, in random order
        (np.repeat(RNG.random(125), 4), {"clusters": np.repeat(np.arange(125), 4)}, False),
        (RNG.random(500), {}, False),
        (RNG.random(500).round(1), {}, False),
    ],
)
def test_scores_that_repeat_anywhere_are_pointed_out(scores, options, asked):
    order = RNG.permutation(500)
    options = {name: labels[order] for name, labels in options.items()}
    p = scores[order]
    found = cb.audit((RNG.random(500) < p).astype(int), p, resamples=19, **options).findings.caveats
    assert any(caveat.endswith("name the clusters.") for caveat in found) == asked


def test_blocks_of_a_score():
    (question,) = questions_on_dependence(np.repeat(RNG.random(50), 4))
    assert question == note("clusters?", share=150 / 199)


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
