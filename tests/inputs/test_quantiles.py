"""Quantiles: increasing levels, crossed rows, and the intervals they make."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Quantiles

inf = np.inf
TABLE = st.lists(st.lists(st.floats(-9, 9), min_size=3, max_size=3), min_size=1, max_size=8)


class TestMade:
    def test_levels(self):
        found = Quantiles([[1, 2, 4], [0, 3, 6]], [0.1, 0.5, 0.9])
        assert (found.n, found.single) == (2, False)
        assert repr(found) == "Quantiles(n=2, levels=[0.1, 0.5, 0.9])"
        assert found.at(0.5).values.tolist() == [[2], [3]]
        assert found.at(0.5).single
        assert Quantiles([1, 2], 0.5).single
        assert not Quantiles([[1], [2]], [0.5]).single
        assert Quantiles([[-inf, 1, 1, inf]], [0.1, 0.4, 0.6, 0.9]).n == 1  # ties and infinite values are legal

    def test_read_only_and_apart_from_what_was_given(self):
        values = np.array([[1.0, 2.0]])
        found = Quantiles(values, [0.1, 0.9])
        values[:] = 0
        assert found.values.tolist() == [[1, 2]]
        assert not found.values.flags.writeable

    def test_frames(self, require):
        pd, pl = require("pandas"), require("polars")
        columns = {"q10": [0, 1], "q90": [2, 3]}
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
            assert Quantiles(frame, [0.1, 0.9]).values.tolist() == [[0, 2], [1, 3]]

    def test_take(self):
        found = Quantiles([[1, 2], [3, 4], [5, 6]], [0.1, 0.9])
        assert found.take(np.array([2, 0])).values.tolist() == [[5, 6], [1, 2]]
        assert np.shares_memory(found.take(slice(0, 2)).values, found.values)


@given(TABLE)
def test_crossed_rows_are_sorted(table):
    found = Quantiles(table, [0.1, 0.5, 0.9], crossed="sort")
    assert found.values.tolist() == np.sort(np.array(table), axis=1).tolist()
    assert not found.values.flags.writeable


class TestIntervals:
    def test_levels_are_paired_with_their_mirror(self):
        found = Quantiles([[0, 1, 2, 3, 4, 9]], [0.025, 1 - 0.9, 0.5, 0.7, 0.9, 0.975]).intervals()
        assert found.levels.tolist() == [0.95, 0.8]
        assert found.lower.tolist() == [[0, 1]]
        assert found.upper.tolist() == [[9, 4]]
        assert not found.single

    def test_precision_goes_along(self):
        found = Quantiles(np.array([[0, 1]], np.float32), [0.1, 0.9])
        assert found.intervals().eps == found.at(0.1).eps == np.finfo(np.float32).eps

    def test_none(self, refusal):
        message = refusal(Quantiles([[0, 1]], [0.1, 0.5]).intervals)
        assert message == "no two levels mirror each other, such as 0.1 and 0.9; got [0.1, 0.5]"
        assert "row 0 is -inf" in refusal(Quantiles([[-inf, -inf]], [0.1, 0.9]).intervals)


def test_refused(refuses):
    shapes = ([[0, 1]], [0.5]), ([0, 1], [0.1, 0.9]), ([[0], [1]], 0.5)
    cases = [(values, levels, ["one column per level; got", str(np.shape(values))]) for values, levels in shapes]
    cases += [
        ([[0, 1]], [0.9, 0.1], "levels must increase from left to right; got [0.9, 0.1]"),
        ([[0, 1]], [10, 90], "levels must lie strictly between 0 and 1; got 10.0"),
        ([[0, 1], [0, np.nan]], [0.1, 0.9], "values must not be missing; row 1, column 1 is nan"),
        ([[0, 1]], [0.1, 0.9], "swap", "crossed must be one of 'raise', 'sort'"),
        ([[0, 1, 2], [0, 2, 1.5]], [0.1, 0.5, 0.9], "row 1 has 2.0 and then 1.5. Pass crossed='sort' to sort such"),
    ]
    refuses(Quantiles, cases)


def test_calls_people_try_are_shown_the_one_that_works(refuses):
    cases = [
        ({}, "Quantiles needs levels. Call it as Quantiles(values, levels)"),
        ({"alpha": [0.1, 0.9]}, "Pass the probabilities of the quantiles as levels="),
        ({"quantiles": [0.1, 0.9]}, "Pass the probabilities of the quantiles as levels="),
        ({"level": [0.1, 0.9]}, "Did you mean levels=?"),
    ]
    refuses(lambda given: Quantiles([[1.0, 2.0]], **given), cases)
