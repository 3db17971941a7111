"""Coverage, width and range of outcomes, merged and read back."""

import numpy as np

from calibrant import Intervals, Summary
from calibrant.inputs.judged import read_judged
from calibrant.summaries.interval_moments import IntervalMoments

Y = np.array([0.0, 5.0, 2.0, -3.0])
INTERVALS = Intervals(np.zeros((4, 2)), [[1, 2], [1, 2], [1, 2], [1, np.inf]], [0.5, 0.9])


def of(part):
    return IntervalMoments.of(read_judged(Y[part], INTERVALS.take(part)))


def test_by_hand():
    found = of(slice(None))
    assert found.n == 4
    assert found.coverage.tolist() == [0.25, 0.5]
    assert found.width.tolist() == [1.0, np.inf]
    assert found.extremes.tolist() == [-3.0, 5.0]


def test_merging():
    merged = of(slice(0, 1)) + of(slice(1, 3)) + of(slice(3, 4))
    assert merged.coverage.tolist() == [0.25, 0.5]
    assert merged.extremes.tolist() == [-3.0, 5.0]
    assert Summary.from_bytes(merged.to_bytes()) == merged
    assert merged + IntervalMoments.zero() == IntervalMoments.zero() + merged == merged


def test_nothing():
    assert IntervalMoments.zero().n == 0
    assert Summary.from_bytes(IntervalMoments.zero().to_bytes()) == IntervalMoments.zero()
