"""Values of distribution functions: probabilities, with F(y-) at most F(y)."""

import numpy as np
import pytest

from calibrant import CdfValues


class TestMade:
    def test_without_atoms(self):
        found = CdfValues([0.0, 0.5, 1.0])
        assert found.n == 3
        assert found.below.tolist() == found.at.tolist() == [0.0, 0.5, 1.0]
        assert repr(found) == "CdfValues(n=3)"

    def test_with_atoms(self):
        found = CdfValues([0.2, 0.9], below=[0.0, 0.9])
        assert found.below.tolist() == [0.0, 0.9]
        assert found.take(np.array([1])).at.tolist() == [0.9]

    def test_read_only_and_apart_from_what_was_given(self):
        at = np.array([0.5])
        found = CdfValues(at)
        at[0] = 0.1
        assert found.at[0] == found.below[0] == 0.5
        assert not found.at.flags.writeable


class TestRefused:
    @pytest.mark.parametrize("value", [-0.1, 1.1])
    def test_no_probability(self, value, refusal):
        message = refusal(CdfValues, [0.5, value])
        assert message == f"at must lie in [0, 1]; row 1 is {value}. It is a probability"
        assert "below must lie in [0, 1]; row 0" in refusal(CdfValues, [0.5], below=[value])

    def test_missing(self, refusal):
        assert "at must be finite; row 1 is nan" in refusal(CdfValues, [0.5, np.nan])

    def test_below_above_at(self, refusal):
        message = refusal(CdfValues, [0.5, 0.5], below=[0.1, 0.6])
        assert message.startswith("below must not exceed at; row 1 is 0.6")

    def test_lengths(self, refusal):
        assert "must have the same number of rows" in refusal(CdfValues, [0.5, 0.5], below=[0.1])
