"""Maximum mean calibration error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import mmce, top_label
from calibrant.errors import NotApplicableError

RNG = np.random.default_rng(0)
n = 40
P = RNG.integers(0, 17, n) / 16
Y = (RNG.random(n) < P**0.7).astype(int)
W = RNG.uniform(0.5, 3, n)


def defined(y, p, bandwidth=0.2, w=None):
    w = np.ones(len(p)) if w is None else w
    e = w * (y - p)
    K = np.exp(-np.abs(np.subtract.outer(p, p)) / bandwidth)
    return math.sqrt(e @ K @ e) / w.sum()


def balanced(y, p, bandwidth=0.2, w=None):
    w = np.ones(len(p)) if w is None else w
    a = w * np.where(y == 1, (1 - p) / (w * y).sum(), -p / (w * (1 - y)).sum())
    K = np.exp(-np.abs(np.subtract.outer(p, p)) / bandwidth)
    return math.sqrt(a @ K @ a)


@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 1, 100])
@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
def test_definition(w, bandwidth):
    assert mmce(Y, P, bandwidth=bandwidth, weights=w) == pytest.approx(defined(Y, P, bandwidth, w), rel=1e-12)
    found = mmce(Y, P, bandwidth=bandwidth, weights=w, balanced=True)
    assert found == pytest.approx(balanced(Y, P, bandwidth, w), rel=1e-12)


def test_by_hand():
    # residuals 0.5 at 0.5 and -1 at 1: (0.25 + 1 - exp(-2.5)) / 4
    assert mmce([1, 0], [0.5, 1.0]) == pytest.approx(math.sqrt(1.25 - math.exp(-2.5)) / 2)
    # a right one at 0.9 and a wrong one at 0.9: 0.1 - 0.9
    assert mmce([1, 0], [0.9, 0.9], balanced=True) == pytest.approx(0.8)
    # one event in ten at 0.1, which netcal scores 0.8
    assert mmce([1] + [0] * 9, [0.1] * 10) == pytest.approx(0, abs=1e-8)


def test_classes_are_judged_by_the_most_probable():
    P3 = RNG.dirichlet(np.ones(3), n)
    y = RNG.integers(0, 3, n)
    assert mmce(y, P3) == pytest.approx(mmce(*top_label(y, P3)), rel=1e-12)
    # a tie goes to the first class
    assert mmce([1], [[0.5, 0.5]]) == 0.5
    assert mmce([0], [[0.5, 0.5]]) == 0.5
    assert mmce([1], [[0.375, 0.375, 0.25]]) == pytest.approx(0.375)
    assert mmce([0], [[0.375, 0.375, 0.25]]) == pytest.approx(0.625)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 16)), min_size=1, max_size=30))
def test_between_0_and_1(rows):
    y, p = (np.array(column) for column in zip(*rows, strict=True))
    assert 0 <= mmce(y, p / 16) <= 1
    assert mmce(y, p / 16, bandwidth=1e6) == pytest.approx(abs((y - p / 16).mean()), abs=1e-5)


@pytest.mark.parametrize("y", [[1, 1], [0, 0]])
def test_balanced_needs_both(y, refusal):
    message = refusal(mmce, y, [0.5, 0.25], balanced=True, error=NotApplicableError)
    assert "the weight of right and of wrong rows; got" in message
    assert "2 and 0" in message or "0 and 2" in message


@pytest.mark.parametrize("bandwidth", [0, -1, np.nan, np.inf, "0.2", None, True])
def test_bandwidth(bandwidth, refusal):
    assert "bandwidth must be a number above 0" in refusal(mmce, Y, P, bandwidth=bandwidth)
