"""Logarithmic score."""

import math

import numpy as np
import pytest

from calibrant import log_score


def test_binary_by_hand():
    assert log_score([1, 0], [0.5, 0.75]) == pytest.approx((math.log(2) + math.log(4)) / 2, rel=1e-15)


def test_classes_by_hand():
    P = [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]
    assert log_score([2, 0], P) == pytest.approx(math.log(4) / 2, rel=1e-15)


def test_weights():
    assert log_score([1, 0], [0.5, 0.75], weights=[1, 3]) == pytest.approx((math.log(2) + 3 * math.log(4)) / 4)


def test_certain_and_right_is_zero():
    assert log_score([1, 0], [1.0, 0.0]) == 0.0
    assert math.copysign(1, log_score([1], [1.0])) == 1.0
    assert log_score([0, 1], np.eye(2)) == 0.0


@pytest.mark.parametrize(
    ("y", "p"),
    [([1, 0], [0.0, 0.5]), ([0, 0], [1.0, 0.5]), ([1, 0], [[1.0, 0.0], [0.5, 0.5]])],
)
def test_an_outcome_that_was_ruled_out(y, p):
    assert log_score(y, p) == math.inf


def test_scores_near_one_keep_their_digits():
    p = 1 - 2**-50
    assert log_score([0], [p]) == pytest.approx(50 * math.log(2), rel=1e-15)
    assert log_score([1], [p]) == pytest.approx(2**-50, rel=1e-12)
    assert log_score([0], [1e-20]) == pytest.approx(1e-20, rel=1e-12)


class TestClip:
    @pytest.mark.parametrize(("y", "p"), [([1], [0.0]), ([0], [1.0]), ([1], [[1.0, 0.0]])])
    @pytest.mark.parametrize("clip", [0.01, 2**-52, 1e-20, np.float32(0.25)])
    def test_is_the_probability_of_what_was_ruled_out(self, y, p, clip):
        assert log_score(y, p, clip=clip) == pytest.approx(-math.log(clip), rel=1e-12)

    def test_also_limits_what_was_certain(self):
        assert log_score([1, 0], [1.0, 0.0], clip=0.25) == pytest.approx(-math.log(0.75))

    def test_leaves_others_alone(self):
        assert log_score([1, 0], [0.5, 0.75], clip=0.1) == log_score([1, 0], [0.5, 0.75])

    @pytest.mark.parametrize("clip", [0, 0.5, 1, -0.1, True, "auto", float("nan")])
    def test_refused(self, refusal, clip):
        message = refusal(log_score, [0, 1], [0.25, 0.5], clip=clip)
        assert message == f"clip must be None or lie strictly between 0 and 0.5; got {clip!r}"
