"""Every container is read by position, and nothing the caller holds is changed."""

import numpy as np
import pytest
from scipy import sparse

from calibrant import InputError, ece
from calibrant.inputs.containers import as_array

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
@pytest.mark.parametrize("values", [SCORES, OUTCOMES], ids=["scores", "outcomes"])
def test_column_is_read_by_position(require, name, values):
    library, make = COLUMNS[name]
    array = as_array(make(require(library), values), name="y")
    assert isinstance(array, np.ndarray)
    assert array.tolist() == values


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_is_read_by_position(require, name):
    library, make = MATRICES[name]
    assert as_array(make(require(library), MATRIX), name="prediction").tolist() == MATRIX


@pytest.mark.parametrize("name", COLUMNS)
def test_verb_takes_every_column(require, name):
    library, make = COLUMNS[name]
    container = require(library)
    # Bin (0, 0.5] holds 0.25 and no event; bin (0.5, 1] has mean 0.75 and one event in two: (0.25 + 2 * 0.25) / 3.
    value = ece(make(container, OUTCOMES), make(container, SCORES), weights=make(container, [1, 1, 1]), bins=2)
    assert value == 0.25


@pytest.mark.parametrize("name", MATRICES)
def test_verb_takes_every_matrix(require, name):
    library, make = MATRICES[name]
    # Confidences 0.75, 0.5, 1 of columns 1, 0, 0 (ties to the first), all right: (0.5 + |1 - 0.875| * 2) / 3.
    assert ece([1, 0, 0], make(require(library), MATRIX), bins=2) == 0.25


@pytest.mark.parametrize("name", LABELS)
def test_verb_takes_labels_of_every_container(require, name):
    library, make = LABELS[name]
    assert ece(make(require(library), ["no", "yes", "no"]), SCORES, pos_label="yes", bins=2) == 0.25


@pytest.mark.parametrize("make", [bool, np.bool_, float, np.int8], ids=lambda make: make.__name__)
def test_outcomes_may_be_booleans_floats_or_small_integers(make):
    assert ece([make(value) for value in OUTCOMES], SCORES, bins=2) == 0.25


@pytest.mark.parametrize("dtype", ["boolean", "Int8", "UInt8", "bool"])
def test_pandas_outcomes_of_every_type(require, dtype):
    pandas = require("pandas")
    assert ece(pandas.Series(OUTCOMES).astype(dtype), SCORES, bins=2) == 0.25


class TestTorch:
    def test_tensor_that_requires_grad(self, require):
        torch = require("torch")
        p = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
        assert ece(torch.tensor(OUTCOMES), p * 1.0, bins=2) == 0.25
        assert p.requires_grad

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
    def test_low_precision(self, require, dtype):
        torch = require("torch")
        array = as_array(torch.tensor(SCORES, dtype=getattr(torch, dtype)), name="prediction")
        assert array.tolist() == SCORES  # eighths are exact in every format
        assert array.dtype == ("float32" if dtype == "bfloat16" else dtype)

    def test_parameter(self, require):
        torch = require("torch")
        assert as_array(torch.nn.Parameter(torch.tensor(SCORES)), name="prediction").tolist() == SCORES

    def test_sparse_layout_is_refused(self, require, refusal):
        message = refusal(ece, OUTCOMES, require("torch").tensor(SCORES).to_sparse())
        assert message.startswith("prediction is")
        assert "to_dense()" in message

    def test_list_of_numbers_that_require_grad(self, require, refusal):
        number = require("torch").tensor(0.5, requires_grad=True)
        message = refusal(ece, OUTCOMES, [number] * 3)
        assert message.startswith("prediction is")
        assert "detach()" in message

    def test_device_is_named(self, require, refusal):
        torch = require("torch")
        message = refusal(ece, OUTCOMES, torch.zeros(3, device="meta"))
        assert "prediction is a tensor on 'meta'" in message
        assert "prediction.cpu()" in message


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

    @pytest.mark.parametrize("y", [np.array([0, 1, 0]), np.array([False, True, False])], ids=["ints", "bools"])
    @pytest.mark.parametrize("options", [{}, {"strategy": "mass"}, {"weights": np.array([1.0, 0.0, 2.0])}])
    def test_inputs_are_not_modified(self, y, options):
        p = np.array([0.9, 0.1, 0.4])
        before = y.copy(), p.copy(), options.get("weights", p).copy()
        ece(y, p, bins=2, **options)
        np.testing.assert_array_equal(y, before[0])
        np.testing.assert_array_equal(p, before[1])
        np.testing.assert_array_equal(options.get("weights", p), before[2])


REFUSED = {
    "None": (None, ["prediction is missing", "got None"]),
    "text": ("0.5", ["must be an array, a list or a column", "the str '0.5'"]),
    "dict": ({"a": 1}, ["must be an array, a list or a column", "the dict {'a': 1}"]),
    "set": ({0.5}, ["must be an array, a list or a column", "the set {0.5}"]),
    "number": (0.5, ["one value per row", "the single value 0.5 (float)"]),
    "ragged": ([[0.1, 0.9], [0.5]], ["prediction is not a regular array"]),
    "sparse": (sparse.csr_array(np.eye(2)), ["sparse csr_array", "prediction.toarray()"]),
    "masked": (np.ma.array([0.1, 0.2], mask=[False, True]), ["masked value at row 1", "drop masked rows"]),
    "masked matrix": (np.ma.array(np.eye(2), mask=np.eye(2)[::-1] > 0), ["masked value at row 0"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(refusal, name):
    values, words = REFUSED[name]
    message = refusal(as_array, values, name="prediction")
    assert all(word in message for word in words), message


def test_lazy_frame_is_refused(require, refusal):
    frame = require("polars").LazyFrame({"p": SCORES})
    assert "collect it first" in refusal(as_array, frame, name="prediction")


def test_message_names_the_argument():
    with pytest.raises(InputError, match="weights must be an array"):
        ece(OUTCOMES, SCORES, weights="heavy")
    with pytest.raises(InputError, match="y is missing"):
        ece(None, SCORES)
