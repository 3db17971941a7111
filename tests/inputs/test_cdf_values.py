"""Values of distribution functions: probabilities, with F(y-) at most F(y)."""

import numpy as np

from calibrant import CdfValues


def test_with_and_without_atoms():
    found = CdfValues([0.0, 0.5, 1.0])
    assert found.below.tolist() == found.at.tolist() == [0.0, 0.5, 1.0]
    assert repr(found) == "CdfValues(n=3)"
    found = CdfValues([0.2, 0.9], below=[0.0, 0.9])
    assert found.below.tolist() == [0.0, 0.9]
    assert found.take(np.array([1])).at.tolist() == [0.9]


def test_read_only_and_apart_from_what_was_given():
    at = np.array([0.5])
    found = CdfValues(at)
    at[0] = 0.1
    assert found.at[0] == found.below[0] == 0.5
    assert not found.at.flags.writeable


REFUSED = {
    "below 0": ([0.5, -0.1], None, "at must lie in [0, 1]; row 1 is -0.1. It is a probability"),
    "above 1": ([0.5, 1.1], None, "at must lie in [0, 1]; row 1 is 1.1. It is a probability"),
    "no probability below": ([0.5], [1.1], "below must lie in [0, 1]; row 0"),
    "missing": ([0.5, np.nan], None, "at must be finite; row 1 is nan"),
    "below above at": ([0.5, 0.5], [0.1, 0.6], "below must not exceed at; row 1 is 0.6"),
    "lengths": ([0.5, 0.5], [0.1], "must have the same number of rows"),
}


def test_refused(refuses):
    refuses(CdfValues, REFUSED)
