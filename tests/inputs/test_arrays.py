"""Every container is read by position, and nothing the caller holds is changed."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from calibrant import ece
from calibrant.inputs.arrays import (
    as_array,
    is_unit,
    pair_weight,
    read_numbers,
    read_weights,
    take_weights,
    unit_weights,
)
from calibrant.inputs.parametric import Laplace, Normal

SCORES = [0.25, 0.625, 0.875]
OUTCOMES = [0, 1, 0]
MATRIX = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]

# Name -> (library, how it is made of a list of numbers). An index or a name must not matter.
COLUMNS = {
    "list": ("numpy", lambda np, values: list(values)),
    "tuple": ("numpy", lambda np, values: tuple(values)),
    "list of NumPy numbers": ("numpy", lambda np, values: list(np.asarray(values))),
    "array": ("numpy", lambda np, values: np.asarray(values)),
    "object array": ("numpy", lambda np, values: np.asarray(values, dtype=object)),
    "masked array without a mask": ("numpy", lambda np, values: np.ma.array(values)),
    "pandas Series, reversed index": ("pandas", lambda pd, values: pd.Series(values, index=[2, 1, 0])),
    "pandas Index": ("pandas", lambda pd, values: pd.Index(values)),
    "pandas nullable": ("pandas", lambda pd, values: pd.Series(values).convert_dtypes()),
    "pandas object": ("pandas", lambda pd, values: pd.Series(values, dtype=object)),
    "pandas extension array": ("pandas", lambda pd, values: pd.Series(values).convert_dtypes().array),
    "pandas on arrow": ("pandas", lambda pd, values: pd.Series(values).convert_dtypes(dtype_backend="pyarrow")),
    "pandas categorical": ("pandas", lambda pd, values: pd.Series(values, dtype="category", index=[7, 7, 7])),
    "polars Series": ("polars", lambda pl, values: pl.Series("name", values)),
    "arrow Array": ("pyarrow", lambda pa, values: pa.array(values)),
    "arrow ChunkedArray": ("pyarrow", lambda pa, values: pa.chunked_array([values[:1], values[1:]])),
    "torch": ("torch", lambda torch, values: torch.tensor(values)),
    "torch view": ("torch", lambda torch, values: torch.tensor([values, values]).T[:, 0]),
}
MATRICES = {
    "nested lists": ("numpy", lambda np, rows: rows),
    "list of arrays": ("numpy", lambda np, rows: [np.array(row) for row in rows]),
    "array": ("numpy", lambda np, rows: np.array(rows)),
    "column-major array": ("numpy", lambda np, rows: np.asfortranarray(rows)),
    "pandas DataFrame": ("pandas", lambda pd, rows: pd.DataFrame(rows, columns=["b", "a"], index=[2, 1, 0])),
    "pandas nullable": ("pandas", lambda pd, rows: pd.DataFrame(rows).astype("Float64")),
    "polars DataFrame": ("polars", lambda pl, rows: pl.DataFrame(rows, schema=["b", "a"], orient="row")),
    "arrow Table": ("pyarrow", lambda pa, rows: pa.table(dict(zip("ba", zip(*rows, strict=True), strict=True)))),
    "torch": ("torch", lambda torch, rows: torch.tensor(rows)),
}
LABELS = {
    "list": ("numpy", lambda np, labels: labels),
    "array of text": ("numpy", lambda np, labels: np.array(labels)),
    "array of objects": ("numpy", lambda np, labels: np.array(labels, dtype=object)),
    "pandas text": ("pandas", lambda pd, labels: pd.Series(labels)),
    "pandas string": ("pandas", lambda pd, labels: pd.Series(labels, dtype="string")),
    "pandas categorical": ("pandas", lambda pd, labels: pd.Series(labels, dtype="category")),
    "polars text": ("polars", lambda pl, labels: pl.Series(labels)),
    "polars Categorical": ("polars", lambda pl, labels: pl.Series(labels, dtype=pl.Categorical)),
    "polars Enum": ("polars", lambda pl, labels: pl.Series(labels, dtype=pl.Enum(["yes", "no"]))),
    "arrow Array": ("pyarrow", lambda pa, labels: pa.array(labels)),
    "arrow dictionary": ("pyarrow", lambda pa, labels: pa.array(labels).dictionary_encode()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_column_is_read_by_position(require, name):
    library, make = COLUMNS[name]
    made = partial(make, require(library))
    for values in (SCORES, OUTCOMES):
        array = as_array(made(values), name="y")
        assert isinstance(array, np.ndarray)
        assert array.tolist() == values
    # Bin (0, 0.5] contains 0.25 and no event; bin (0.5, 1] has mean 0.75 and one event in two: (0.25 + 2 * 0.25) / 3.
    assert ece(made(OUTCOMES), made(SCORES), weights=made([1, 1, 1]), bins=2) == 0.25


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_is_read_by_position(require, name):
    library, make = MATRICES[name]
    matrix = make(require(library), MATRIX)
    assert as_array(matrix, name="prediction").tolist() == MATRIX
    # Confidences 0.75, 0.5, 1 of columns 1, 0, 0 (ties to the first), all right: (0.5 + |1 - 0.875| * 2) / 3.
    assert ece([1, 0, 0], matrix, bins=2) == 0.25


@pytest.mark.parametrize("name", LABELS)
def test_verb_takes_labels_of_every_container(require, name):
    library, make = LABELS[name]
    assert ece(make(require(library), ["no", "yes", "no"]), SCORES, pos_label="yes", bins=2) == 0.25


def test_outcomes_may_be_booleans_floats_or_small_integers(require):
    for make in (bool, np.bool_, float, np.int8):
        assert ece([make(value) for value in OUTCOMES], SCORES, bins=2) == 0.25
    for dtype in ("boolean", "Int8", "UInt8", "bool"):
        assert ece(require("pandas").Series(OUTCOMES).astype(dtype), SCORES, bins=2) == 0.25


class TestTorch:
    def test_tensor_that_requires_grad(self, require):
        torch = require("torch")
        p = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
        assert ece(torch.tensor(OUTCOMES), p * 1.0, bins=2) == 0.25
        assert as_array(torch.nn.Parameter(p), name="prediction").tolist() == SCORES
        assert p.requires_grad

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
    def test_low_precision(self, require, dtype):
        torch = require("torch")
        array = as_array(torch.tensor(SCORES, dtype=getattr(torch, dtype)), name="prediction")
        assert array.tolist() == SCORES  # eighths are exact in every format
        assert array.dtype == ("float32" if dtype == "bfloat16" else dtype)

    def test_refused(self, require, refuses):
        torch = require("torch")
        cases = {
            "sparse": (torch.tensor(SCORES).to_sparse(), ["prediction is", "to_dense()"]),
            "numbers that require grad": ([torch.tensor(0.5, requires_grad=True)] * 3, ["prediction is", "detach()"]),
            "device": (torch.zeros(3, device="meta"), ["prediction is a tensor on 'meta'", "prediction.cpu()"]),
        }
        refuses(partial(ece, OUTCOMES), cases)


class TestArrays:
    @pytest.mark.parametrize("dtype", [">f8", ">f4", "<f4", "f2", "longdouble"])
    def test_byte_order_and_precision(self, dtype):
        assert ece(np.array(OUTCOMES, ">i4"), np.array(SCORES, dtype), bins=2) == 0.25

    def test_non_contiguous(self):
        y, p = np.array([[0, 9], [1, 9], [0, 9]])[:, 0], np.repeat(SCORES, 2)[::2]
        assert not y.flags.c_contiguous
        assert ece(y, p, bins=2) == 0.25
        assert ece((y == 1)[::-1], p[::-1], bins=2, weights=np.ones(6)[::-2]) == 0.25

    def test_read_only(self):
        y, p, w = np.array(OUTCOMES), np.array(SCORES), np.array([1.0, 2.0, 3.0])
        for array in (y, p, w):
            array.flags.writeable = False
        assert ece(y, p, weights=w, bins=2) == pytest.approx((1 * 0.25 + 5 * abs(2 / 5 - 3.875 / 5)) / 6)

    @pytest.mark.parametrize("dtype", [int, bool])
    @pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"weights": np.array([1.0, 0.0, 2.0])}])
    def test_inputs_are_not_modified(self, dtype, options):
        given = [np.array([0, 1, 0], dtype), np.array([0.9, 0.1, 0.4]), *options.values()]
        before = [np.copy(values) for values in given]
        ece(*given[:2], bins=2, **options)
        for values, old in zip(given, before, strict=True):
            np.testing.assert_array_equal(values, old)


REFUSED = {
    "None": (None, ["prediction is missing", "got None"]),
    "text": ("0.5", ["must be an array, a list or a column", "the str '0.5'"]),
    "dict": ({"a": 1}, ["must be an array, a list or a column", "the dict {'a': 1}"]),
    "set": ({0.5}, ["must be an array, a list or a column", "the set {0.5}"]),
    "number": (0.5, ["one value per row", "the single value 0.5 (float)"]),
    "ragged": ([[0.1, 0.9], [0.5]], ["prediction is not a regular array"]),
    "sparse": (sparse.csr_array(np.eye(2)), ["sparse csr_array", "prediction.toarray()"]),
    "masked": (np.ma.array([0.1, 0.2], mask=[0, 1]), ["prediction must not be masked; row 1", "Drop masked rows"]),
    "masked matrix": (np.ma.array(np.eye(2), mask=np.eye(2)[::-1] > 0), ["row 0, column 1 is 0.0"]),
}


def test_refused(require, refuses):
    lazy = require("polars").LazyFrame({"p": SCORES})
    refuses(partial(as_array, name="prediction"), {**REFUSED, "lazy frame": (lazy, ["collect it first"])})


def test_message_names_the_argument(refusal):
    assert "weights must be an array" in refusal(ece, OUTCOMES, SCORES, weights="heavy")
    assert "y is missing" in refusal(ece, None, SCORES)


Y, P = [0, 1, 0], [0.25, 0.625, 0.875]


def test_unit_weights():
    w = unit_weights(10**9)  # in the memory of one number
    assert (w.shape, w.strides) == ((10**9,), (0,))
    assert all(map(is_unit, (w, unit_weights(0), unit_weights(1))))
    assert all(is_unit(read_weights(weights, 3)) for weights in (None, [1, 1, 1], np.ones(3, "float32")))
    assert not is_unit(np.ones(3))
    assert not is_unit(np.broadcast_to(2.0, 3))
    rows = np.array([0, 2])
    assert is_unit(take_weights(unit_weights(3), rows))
    assert take_weights(np.array([1.0, 2.0, 3.0]), rows).tolist() == [1.0, 3.0]


def exact_pair_weight(w):
    w = [Fraction(float(x)) for x in w]
    return float(sum(w) ** 2 - sum(x * x for x in w))


class TestPairs:
    @pytest.mark.parametrize(
        "w", [[2.0, 3.0], [1.0, 2.0, 0.5, 7.0], [1e16, 1.0, 1.0], [1.0, 1e16, 1.0], [1.0, 1.0, 1e16], [1e-8, 1e8, 1e8]]
    )
    def test_against_all_pairs(self, w):
        assert pair_weight(np.array(w)) == pytest.approx(exact_pair_weight(w), rel=1e-15)
        # (Σw)² - Σw² has no digit of it left
        once = np.ones(len(w), np.int64)
        assert pair_weight(np.array(w), once) == pytest.approx(exact_pair_weight(w), rel=1e-15)

    @pytest.mark.parametrize("w", [[1e16, 1.0, 3.0], [0.5, 2.0, 1.0]])
    def test_rows_that_are_counted(self, w):
        count = np.array([1, 4, 2])
        found = pair_weight(np.array(w), count)
        assert found == pytest.approx(exact_pair_weight(np.repeat(w, count)), rel=1e-15)
        assert found == pytest.approx(pair_weight(np.repeat(w, count)), rel=1e-15)

    def test_one_row_and_weights_of_one(self):
        assert pair_weight(np.array([5.0])) == pair_weight(np.array([5.0]), np.array([1])) == 0
        assert pair_weight(np.array([5.0]), np.array([2])) == 50
        assert (pair_weight(unit_weights(10)), pair_weight(unit_weights(0))) == (90, 0)


class TestRead:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", ">f8"])
    def test_every_type_becomes_float64(self, dtype):
        w = read_weights(np.array([1, 2, 0], dtype), 3)
        assert w.dtype == np.float64
        assert w.tolist() == [1.0, 2.0, 0.0]

    def test_is_a_copy(self):
        given = np.array([1.0, 2.0, 3.0])
        read_weights(given, 3)[0] = 9
        assert given[0] == 1.0

    @pytest.mark.parametrize("factor", [1e-100, 1e-3, 7.0, 1e99])
    @pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"norm": "l2-squared", "debias": True}])
    def test_a_common_factor_changes_nothing(self, factor, options):
        w = np.array([1.0, 2.0, 3.0, 4.0])
        y, p = [0, 1, 0, 1], [0.1, 0.2, 0.6, 0.7]
        scaled = ece(y, p, weights=w * factor, bins=2, **options)
        assert scaled == pytest.approx(ece(y, p, weights=w, bins=2, **options), rel=1e-12)


REFUSED_WEIGHTS = {
    "negative": ([1, -1, 1], ["finite and at least 0", "row 1 is -1"]),
    "NaN": ([1, 1, np.nan], ["finite and at least 0", "row 2 is nan"]),
    "infinite": ([np.inf, 1, 1], ["finite and at least 0", "row 0 is inf"]),
    "all zero": ([0, 0, 0], ["not all be 0", "leave weights out"]),
    "too few": ([1, 1], ["one value per row", "expected 3 rows, got 2"]),
    "too many": ([1, 1, 1, 1], ["one value per row", "expected 3 rows, got 4"]),
    "2-D": ([[1], [1], [1]], ["one number per row", "shape (3, 1)"]),
    "0-d": (np.array(1.0), ["one number per row", "shape ()"]),
    "one number": (2.0, ["one value per row", "the single value 2.0"]),
    "huge": ([1e101, 1, 1], ["between 1e-100 and 1e+100", "got 1e+101", "divide the weights by their mean"]),
    "tiny": ([1e-101, 0, 1e-102], ["between 1e-100 and 1e+100", "got 1e-101", "divide the weights"]),
    "booleans": ([True, False, True], ["must be numbers", "bool"]),
    "text": (["1", "2", "3"], ["must be numbers", "'1'"]),
    "None": ([1, None, 1], ["weights must be", "row 1 is"]),
    "one text": ([1, 2, "x"], ["must be numbers", "row 2 is 'x'"]),
    "complex": ([1, 1j, 1], ["must be numbers", "complex128"]),
}


def test_refused_weights(refuses):
    refuses(lambda weights: ece(Y, P, weights=weights), REFUSED_WEIGHTS)


def test_missing_weights_of_frames(require, refusal):
    values, pandas, polars = [1.0, None, 2.0], require("pandas"), require("polars")
    for column in (pandas.Series(values), polars.Series(values), pandas.Series(values, dtype="Float64")):
        assert "row 1 is nan" in refusal(ece, Y, P, weights=column)


ONES = [1.0, 1.0, 1.0]


class TestReadParameters:
    @pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", ">f8", "longdouble", "object"])
    def test_every_type_becomes_float64(self, dtype):
        distribution = Normal(np.array([0, 1, 2], dtype), np.array([1, 2, 3], dtype))
        assert distribution.mean.dtype == distribution.std.dtype == np.dtype("float64")
        assert distribution.mean.tolist() == [0.0, 1.0, 2.0]
        assert distribution.std.tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize("one", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
    def test_a_number_stands_for_all_rows(self, one):
        assert Normal([0, 1, 2], one).std.tolist() == [2.0, 2.0, 2.0]
        assert Normal(one, [1, 2, 3]).mean.tolist() == [2.0, 2.0, 2.0]
        assert Normal(3, 2).mean.tolist() == [3.0]

    def test_columns_of_frames(self, require):
        for library in ("pandas", "polars"):
            frame = require(library).DataFrame({"m": [0.0, 1.0], "s": [1.0, 2.0]})
            distribution = Normal(frame["m"], frame["s"])
            assert (distribution.mean.tolist(), distribution.std.tolist()) == ([0.0, 1.0], [1.0, 2.0])

    def test_is_a_copy_that_nobody_writes_to(self):
        given = np.array([0.0, 1.0])
        distribution = Normal(given, 1.0)
        given[0] = 9.0
        assert distribution.mean.tolist() == [0.0, 1.0]
        taken = distribution.take([0]).mean, distribution.take(slice(1)).std
        assert not any(array.flags.writeable for array in (distribution.mean, distribution.std, *taken))
        with pytest.raises(AttributeError):
            distribution.mean = np.zeros(1)


HUGE = np.array([np.longdouble("1e400")]) if np.finfo(np.longdouble).max > 1e308 else np.array([np.inf])
REFUSED_PARAMETERS = {
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
    "one complex": ((1j, 1), ["mean must have one value per row", "1j"]),
    "bool": (([True, False], 1), ["mean must be real numbers", "bool", "True"]),
    "one bool": ((0, True), ["std must be numbers", "True (bool)"]),
    "a bool among objects": ((np.array([0.5, True], object), 1), ["mean must be real numbers", "row 1 is True (bool)"]),
    "one numpy bool": ((0, np.True_), ["std must be numbers", "True"]),
    "dates": ((np.array(["2020-01-01"], "M8[D]"), 1), ["mean must be real numbers", "datetime64"]),
    "too large": (([10**400, 1], 1), ["mean must be numbers that float64 can represent", "too large"]),
    "missing argument": ((None, 1), ["mean is missing", "None"]),
    "ragged": (([[1, 2], [3]], 1), ["mean is not a regular array"]),
    "masked": ((np.ma.array([1.0, 2.0], mask=[0, 1]), 1), ["mean must not be masked; row 1"]),
    "beyond float64": ((HUGE, 1), ["mean must be finite; row 0 is inf"]),
}


def test_refused_parameters(refuses, refusal):
    refuses(lambda given: Normal(*given), REFUSED_PARAMETERS)
    assert "scale must be positive; row 0 is 0.0" in refusal(Laplace, 1, 0)
    assert "loc must be finite; got nan" in refusal(Laplace, np.nan, 1)


def test_a_name_with_braces(refusal):
    assert refusal(read_numbers, [1, "x"], "y['{q}']") == "y['{q}'] must be real numbers; row 1 is 'x' (str)"
    assert refusal(as_array, [np.ma.array([1], mask=[True])], name="{q}").startswith("{q} must not be masked; row 0")
