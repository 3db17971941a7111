"""Parameters of laws at the boundary, seen through the normal law."""

import numpy as np
import pytest

from calibrant.inputs.laws import Laplace, Normal

ONES = [1.0, 1.0, 1.0]


class TestRead:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", ">f8", "longdouble", "object"])
    def test_every_type_becomes_float64(self, dtype):
        law = Normal(np.array([0, 1, 2], dtype), np.array([1, 2, 3], dtype))
        assert law.mean.dtype == law.std.dtype == np.dtype("float64")
        assert law.mean.tolist() == [0.0, 1.0, 2.0]
        assert law.std.tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize("one", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
    def test_a_number_stands_for_all_rows(self, one):
        assert Normal([0, 1, 2], one).std.tolist() == [2.0, 2.0, 2.0]
        assert Normal(one, [1, 2, 3]).mean.tolist() == [2.0, 2.0, 2.0]

    def test_numbers_alone_are_one_row(self):
        law = Normal(3, 2)
        assert law.n == 1
        assert law.mean.tolist() == [3.0]

    def test_columns_of_frames(self, require):
        for library in ("pandas", "polars"):
            frame = require(library).DataFrame({"m": [0.0, 1.0], "s": [1.0, 2.0]})
            law = Normal(frame["m"], frame["s"])
            assert law.mean.tolist() == [0.0, 1.0]
            assert law.std.tolist() == [1.0, 2.0]

    def test_is_a_copy_that_nobody_writes_to(self):
        given = np.array([0.0, 1.0])
        law = Normal(given, 1.0)
        given[0] = 9.0
        assert law.mean.tolist() == [0.0, 1.0]
        for array in (law.mean, law.std, law.take([0]).mean, law.take(slice(1)).std):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5.0

    def test_cannot_be_set(self):
        with pytest.raises(AttributeError):
            Normal(0, 1).mean = np.zeros(1)


REFUSED = {
    "missing": (([0, np.nan, 2], 1), ["mean must be finite", "row 1 is nan", "Drop or repair"]),
    "None": (([0, None, 2], 1), ["mean must be finite", "row 1 is nan"]),
    "infinite": (([0, 1, -np.inf], 1), ["mean must be finite", "row 2 is -inf"]),
    "one infinite": ((0, np.inf), ["std must be finite", "got inf"]),
    "no spread": ((ONES, [1, 0, 1]), ["std must be positive", "row 1 is 0.0", "give its true value"]),
    "negative": ((ONES, [1, 1, -2]), ["std must be positive", "row 2 is -2.0"]),
    "no spread in one number": ((ONES, 0), ["std must be positive", "row 0 is 0.0"]),
    "lengths": ((ONES, [1, 2]), ["mean and std", "same number of rows", "3 of mean and 2 of std", "single number"]),
    "a list of one": ((ONES, [1]), ["3 of mean and 1 of std", "not in a list"]),
    "a column": (([[0], [1]], 1), ["mean must be one number per row", "(2, 1)", "mean[:, 0]"]),
    "a table": (([[0, 1], [1, 2]], 1), ["mean must be one number per row", "(2, 2)", "MvNormal"]),
    "empty": (([], []), ["mean is empty", "shape (0,)"]),
    "text": ((["a", "b"], 1), ["mean must be real numbers", "row 0 is 'a' (str)"]),
    "one text": (([0, 1, "x"], 1), ["mean must be real numbers", "row 2 is 'x'"]),
    "a word": (("mean", 1), ["mean must be an array", "'mean'"]),
    "array of text": ((np.array(["1", "2"]), 1), ["mean must be real numbers", "<U1", "'1'", "astype(float)"]),
    "complex": (([0, 1j], 1), ["mean must be real numbers", "complex128", "0j"]),
    "one complex": ((1j, 1), ["mean must be an array", "1j"]),
    "bool": (([True, False], 1), ["mean must be real numbers", "bool", "True"]),
    "one bool": ((0, True), ["std must be numbers", "True (bool)"]),
    "one numpy bool": ((0, np.True_), ["std must be numbers", "True"]),
    "dates": ((np.array(["2020-01-01"], "M8[D]"), 1), ["mean must be real numbers", "datetime64"]),
    "too large": (([10**400, 1], 1), ["mean must be numbers that float64 can hold", "too large"]),
    "missing argument": ((None, 1), ["mean is missing", "None"]),
    "ragged": (([[1, 2], [3]], 1), ["mean is not a regular array"]),
    "masked": ((np.ma.array([1.0, 2.0], mask=[0, 1]), 1), ["mean has a masked value at row 1"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    given, words = REFUSED[name]
    message = refusal(Normal, *given)
    assert all(word in message for word in words), message


def test_each_law_names_its_own_parameters(refusal):
    assert "scale must be positive; row 0 is 0.0" in refusal(Laplace, 1, 0)
    assert "loc must be finite; got nan" in refusal(Laplace, np.nan, 1)


def test_beyond_float64_is_infinite(refusal):
    huge = np.array([np.longdouble("1e400")]) if np.finfo(np.longdouble).max > 1e308 else np.array([np.inf])
    assert "mean must be finite; row 0 is inf" in refusal(Normal, huge, 1)
