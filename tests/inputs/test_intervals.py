"""Intervals: levels and columns, crossed and infinite bounds, parts of them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Intervals
from calibrant.inputs.intervals import read_bounds

inf = np.inf
PAIRS = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=9)


class TestMade:
    def test_levels(self):
        found = Intervals([0, 1], [2, 5], 0.9)
        assert (found.n, found.single, found.levels.tolist()) == (2, True, [0.9])
        assert found.lower.shape == found.upper.shape == (2, 1)
        assert repr(found) == "Intervals(n=2, level=0.9)"
        found = Intervals([[0, 1]], [[3, 2]], [0.9, 0.5])  # which keep their order
        assert repr(found) == "Intervals(n=1, level=[0.9, 0.5])"
        lists = Intervals([[0.0]], [[1.0]], [0.9]), Intervals([0.0], [1.0], [0.9])
        assert not any(each.single for each in (found, *lists))

    def test_legal_bounds(self):
        found = Intervals([-inf, 1.0, -inf, 2.0], [inf, 1.0, 0.0, inf], 0.9)
        assert found.lower[:, 0].tolist() == [-inf, 1.0, -inf, 2.0]

    def test_read_only_and_apart_from_what_was_given(self):
        lower, upper = np.zeros(3), np.ones(3)
        found = Intervals(lower, upper, 0.9)
        lower[:] = upper[:] = 7.0
        assert found.lower.max() == 0.0
        assert not any(array.flags.writeable for array in (found.lower, found.upper, found.levels))
        with pytest.raises(AttributeError):
            found.lower = upper

    @pytest.mark.parametrize("dtype", ["float16", "float32"])
    def test_precision_is_that_of_the_coarser_bound(self, dtype):
        found = Intervals(np.zeros(2, dtype), np.ones(2), 0.9)
        assert found.eps == np.finfo(dtype).eps
        assert found.at(0.9).eps == found.take(slice(0, 1)).eps == found.eps


@given(PAIRS)
def test_swap_exchanges_crossed_bounds(pairs):
    a, b = np.array(pairs).T
    found = Intervals(a, b, 0.9, crossed="swap")
    assert found.lower[:, 0].tolist() == np.minimum(a, b).tolist()
    assert found.upper[:, 0].tolist() == np.maximum(a, b).tolist()
    assert not found.lower.flags.writeable


class TestParts:
    FOUND = Intervals([[0, 1], [2, 3], [4, 5]], [[9, 8], [7, 6], [6, 5]], [0.9, 0.5])

    def test_at(self):
        one = self.FOUND.at(0.5)
        assert (one.single, one.lower[:, 0].tolist()) == (True, [1, 3, 5])
        assert Intervals([0], [1], 0.1).at(1 - 0.9).n == 1

    def test_at_a_level_that_is_not_there(self, refusal):
        assert refusal(self.FOUND.at, 0.8) == "there is no level 0.8; there are 0.9, 0.5"

    def test_take(self):
        assert self.FOUND.take(np.array([2, 0])).upper.tolist() == [[6, 5], [9, 8]]
        assert self.FOUND.take(np.array([True, False, False])).n == 1

    def test_a_slice_shares_memory(self):
        part = self.FOUND.take(slice(1, 3))
        assert part.lower.tolist() == [[2, 3], [4, 5]]
        assert np.shares_memory(part.lower, self.FOUND.lower)

    def test_columns_stay_contiguous(self):
        for part in (self.FOUND.take(slice(1, 3)), self.FOUND.take(np.array([0, 2]))):
            assert part.lower[:, 1].flags.c_contiguous


REFUSED = {
    "lengths": ([0, 1], [1, 2, 3], 0.9, "lower and upper must have the same shape; got (2, 1) and (3, 1)"),
    "too few levels": ([[0, 1]], [[1, 2]], [0.9], "2 numbers, one per column"),
    "a level for columns": ([[0.0]], [[1.0]], 0.9, "need a list of levels"),
    "lower infinite": ([0.0, inf], [1.0, inf], 0.9, "lower must be -inf or finite; row 1 is inf. An interval cannot"),
    "upper infinite": ([-inf], [-inf], 0.9, "upper must be inf or finite; row 0 is -inf. An interval cannot have this"),
    "swapped infinite": ([inf], [0.0], 0.9, "swap", "row 0 is inf"),  # swap does not repair it
    "lower missing": ([0, np.nan], [1, 1], 0.9, "lower must not be missing; row 1"),
    "upper missing": ([0, 0], [None, 1], 0.9, "upper must not be missing; row 0"),
    "percent": ([0], [1], 90, "Divide percentages by 100"),
    "alpha": ([0], [1], 0, "never alpha"),
    "crossed": (
        *([0, 3], [1, 2], 0.9),
        "lower must not exceed upper; row 1 has lower 3.0 and upper 2.0. Pass crossed='swap' to exchange such bounds",
    ),
    "crossed in a column": ([[0, 0], [0, 3]], [[1, 1], [1, 2]], [0.5, 0.9], "row 1, column 1 has"),
    "other choice": ([0], [1], 0.9, "sort", "crossed must be one of 'raise', 'swap'"),
}


def test_refused(refuses):
    refuses(Intervals, REFUSED)


EPS = np.finfo(np.float64).eps


class TestRead:
    def test_columns(self):
        columns, flat, eps = read_bounds([1, 2, 3], "lower")
        assert (columns.tolist(), flat, eps) == ([[1.0], [2.0], [3.0]], True, EPS)
        columns, flat, _ = read_bounds(np.arange(6.0).reshape(3, 2), "lower")
        assert (columns.flags.f_contiguous, flat) == (True, False)
        assert read_bounds([-np.inf, np.inf], "lower")[0].tolist() == [[-np.inf], [np.inf]]

    def test_precision_is_remembered(self):
        for dtype in ("float16", "float32", "float64"):
            columns, _, eps = read_bounds(np.array([0.1, 0.2], dtype), "lower")
            assert (columns.dtype, eps) == (np.float64, np.finfo(dtype).eps)
            assert columns[0, 0] == float(np.array(0.1, dtype))
        assert read_bounds(np.array([0.1], np.longdouble), "lower")[2] == EPS

    def test_columns_of_frames(self, require):
        pd, pl = require("pandas"), require("polars")
        for made in (pd.Series([1, 2], index=[7, 7]), pl.Series([1, 2]), pd.array([1, 2], dtype="Int64")):
            assert read_bounds(made, "lower")[0].tolist() == [[1.0], [2.0]]
        for made in (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pl.DataFrame({"a": [1, 2], "b": [3, 4]})):
            assert read_bounds(made, "lower")[0].tolist() == [[1.0, 3.0], [2.0, 4.0]]


GAP = np.zeros((4, 3))
GAP[3, 1] = GAP[3, 2] = np.nan
SHAPE = "lower must have shape (n,), or (n, L) with one column per level; got shape"
REFUSED_BOUNDS = [
    *((values, "lower", SHAPE) for values in (np.zeros((2, 2, 2)), 3.0, np.array(1.0))),
    *((v, "upper", "there are no rows: upper is empty (shape") for v in ([], np.zeros((0, 2)), np.zeros((3, 0)))),
    ([0.0, 1.0, np.nan], "upper", "upper must not be missing; row 2 is nan (missing). Drop or repair such rows"),
    (GAP, "upper", "row 3, column 1 is nan"),
    ([0.0, None], "upper", "row 1 is nan"),
    *((values, "upper", "upper must be real numbers") for values in (["a", "b"], [True, False], [1 + 2j])),
]


def test_refused_bounds(refuses):
    refuses(read_bounds, REFUSED_BOUNDS)


BOUNDS, PAIR = np.stack([np.zeros((5, 3)), np.ones((5, 3))], axis=1), ([0, 1], [1, 2])
CALLS = [
    ((BOUNDS, [0.5, 0.8, 0.9]), {}, "Intervals(bounds[:, 0], bounds[:, 1], levels)"),
    ((BOUNDS[:, :, :1], 0.9), {}, "Intervals(bounds[:, 0, 0], bounds[:, 1, 0], level)"),
    ((BOUNDS[:, :, :1],), {"level": 0.9}, "Intervals needs upper. Pass bounds of shape (n, 2, L)"),
    (([(0, 1), (1, 2), (2, 4)], 0.9), {}, "Intervals(*numpy.transpose(bounds), level)"),
    (([[0], [1, 2]], 0.9), {}, "Call it as Intervals(lower, upper, level)"),
    (PAIR, {}, "Intervals needs level. Call it as Intervals(lower, upper, level)"),
    (PAIR, {"alpha": 0.1}, "no argument alpha. Pass nominal coverage instead: level=0.9 for alpha"),
    (PAIR, {"alpha": [0.5, 0.1]}, "level=[0.5, 0.9] for alpha=[0.5, 0.1]"),
    (PAIR, {"alpha": 10}, "level= is 1 - alpha"),
    (PAIR, {"levels": 0.9}, "Did you mean level=?"),
    ((*PAIR, (0.05, 0.95)), {}, "the quantiles 0.05 and 0.95 has level=0.9"),
    ((*PAIR, (0.5, 0.95)), {}, "level must be one number, such as 0.9, for bounds with 1 column"),
    ((BOUNDS, BOUNDS, [0.5, 0.8, 0.9]), {}, "got shape (5, 2, 3). Pass bounds of shape"),
]


def test_calls_people_try_are_shown_the_one_that_works(require, refuses):
    frame = require("pandas").DataFrame({"lo-90": [0.0, 1.0], "hi-90": [1.0, 2.0]})
    of_frame = ((frame, 0.9), {}, "Intervals(frame['lo-90'], frame['hi-90'], level)")
    refuses(lambda args, given: Intervals(*args, **given), [*CALLS, of_frame])
    assert Intervals(BOUNDS[:, 0], BOUNDS[:, 1], [0.5, 0.8, 0.9]).levels.size == 3
    assert Intervals(BOUNDS[:, 0, 0], BOUNDS[:, 1, 0], 0.9).single
    assert Intervals(*np.transpose([(0, 1), (1, 2), (2, 4)]), 0.9).n == 3


def test_copies():
    found = Intervals([0.0], [1.0], 0.9)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(copy.deepcopy(found)) == repr(found)
