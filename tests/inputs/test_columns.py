"""Columns of tables by their names."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import CdfValues, Intervals, Normal, Quantiles, Samples, Sets
from calibrant.inputs.columns import NamedColumns, from_columns

TABLE = {"y": [0, 1, 1], "p": [0.25, 0.5, 1.0], "q": [0.75, 0.5, 0.0], "w": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]}
FRAMES = {
    "polars": pl.DataFrame(TABLE),
    "pandas": pd.DataFrame(TABLE),
    "pyarrow": pa.table(TABLE),
    "record batch": pa.RecordBatch.from_pydict(TABLE),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames(frame):
    y, p, w, groups, number, known = NamedColumns.read("y", "p", "w", ["g"], ["q", "g"]).batch(frame, 3)
    assert number == 3
    assert {name: list(np.asarray(values)) for name, values in known.items()} == {"q": TABLE["q"], "g": TABLE["g"]}
    assert [y.tolist(), p.tolist(), w.tolist()] == [TABLE["y"], TABLE["p"], TABLE["w"]]
    assert {name: list(labels) for name, labels in groups.items()} == {"g": TABLE["g"]}
    batch = NamedColumns.read("y", ["q", "p"]).batch(frame)
    assert batch.prediction.tolist() == [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]
    assert batch.weights is batch.groups is None
    intervals = NamedColumns.read("y", from_columns(Intervals, "p", upper="w", level=0.9)).batch(frame).prediction
    assert isinstance(intervals, Intervals)
    assert intervals.upper.reshape(-1).tolist() == TABLE["w"]
    distribution = NamedColumns.read("y", from_columns(Normal, "p", "w")).batch(frame).prediction
    assert distribution.std.tolist() == TABLE["w"]


def test_matrices_and_lists():
    frame = pl.DataFrame({"y": [0.5], "low": [0.1], "high": [0.9], "draws": [[0.1, 0.2, 0.3]], "in": [True]})
    assert NamedColumns.read("y", from_columns(Samples, "draws")).batch(frame).prediction.draws.shape[:2] == (1, 3)
    quantiles = NamedColumns.read("y", from_columns(Quantiles, ["low", "high"], levels=[0.1, 0.9])).batch(frame)
    assert quantiles.prediction.values.tolist() == [[0.1, 0.9]]
    assert from_columns(Sets, ["in", "in"]).of(lambda name: frame[name].to_numpy()).K == 2
    assert from_columns(CdfValues, "low").of(lambda name: frame[name].to_numpy()).n == 1


def test_names_that_a_library_would_give():
    table = pa.table({"column_0": [0], "column_1": [0.5]})
    assert NamedColumns.read("column_0", "column_1").batch(table).prediction.tolist() == [0.5]


def test_needed():
    expected = ("y", "a", "b", "c", "w", "g")
    assert NamedColumns.read("y", from_columns(Samples, ["a", "b"], log_density="c"), "w", "g").needed == expected
    assert NamedColumns.read(None, "y").needed == ("y",)
    assert NamedColumns.read("y", "y").needed == ("y",)


def test_they_travel():
    named = NamedColumns.read("y", from_columns(Intervals, "lo", "hi", level=[0.5]))
    assert pickle.loads(pickle.dumps(named)) == named


def test_refusals(refuses):
    names = {
        "number": ("y", 3, "prediction must be the name of a column, or a list of names; got 3"),
        "no names": ("y", [], ["prediction must be", "got []"]),
        "list of weights": ("y", "p", ["w"], "weights must be the name of a column; got ['w']"),
    }
    refuses(NamedColumns.read, names)
    kinds = {
        "no kind": (np.array, "x", "expected a kind of prediction"),
        "no level": (Intervals, "lo", "hi", "from_columns(Intervals, ...): missing a required argument: 'level'"),
        "number": (Intervals, 0.5, "hi", 0.9, ["lower must be the name of a column", "got 0.5"]),
    }
    refuses(from_columns, kinds)
    lists = "'P' contains lists of lengths [1, 2]; expected the same number of numbers in each row"
    tables = {
        "misspelt": ("scroe", {"score": [0.5, 1]}, "no column 'scroe'. Did you mean 'score'? Its columns are 'y', 'sc"),
        "ragged draws": (from_columns(Samples, "P"), {"P": [[1.0], [1.0, 2.0]]}, lists),
        "ragged classes": ("P", {"P": [[0.5], [0.5, 0.5]]}, lists),
        "texts": ("P", {"P": [["a"], ["b"]]}, "'P' contains lists that are not all numbers"),
    }
    for frame in (pd.DataFrame, pl.DataFrame):
        refuses(
            lambda p, columns, frame=frame: NamedColumns.read("y", p).batch(frame({"y": [1, 0], **columns})), tables
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_keep_their_precision(dtype):
    """0.6 in 32 bits lies above 0.6 in 64 bits: widened, it would be in another bin."""
    P = np.array([[0.4, 0.6], [0.7, 0.3]], dtype)
    lists = pa.array(P.tolist(), pa.list_(pa.from_numpy_dtype(dtype)))
    table = pa.table({"y": [1, 0], "P": lists})
    for frame in (table, pl.from_arrow(table), table.to_pandas()):
        found = NamedColumns.read("y", "P").batch(frame).prediction
        assert found.dtype == dtype
        assert found.tolist() == P.tolist()


class TestPieces:
    columns = NamedColumns.read("y", "p")

    def cut(self, y, p):
        pieces = [pl.DataFrame({"y": a, "p": b}) for a, b in zip(y, p, strict=True)]
        return pl.concat(pieces, rechunk=False)

    def test_chunks_are_not_copied(self):
        frame = self.cut([[0, 1], [1]], [[0.25, 0.5], [1.0]])
        found = self.columns.pieces(frame)
        assert [piece.y.tolist() for piece in found] == [[0, 1], [1]]
        assert [piece.prediction.tolist() for piece in found] == [[0.25, 0.5], [1.0]]
        for piece, chunk in zip(found, frame["p"].get_chunks(), strict=True):
            assert np.shares_memory(piece.prediction, chunk.to_numpy())

    def test_columns_that_are_cut_differently(self):
        y = pl.concat([pl.Series("y", [0]), pl.Series("y", [1, 1])], rechunk=False)
        p = pl.concat([pl.Series("p", [0.25, 0.5]), pl.Series("p", [1.0])], rechunk=False)
        assert self.columns.pieces(pl.DataFrame([y, p])) == ()

    @pytest.mark.parametrize(
        "table",
        [
            {"y": [0, None], "p": [0.5, 0.5]},
            {"y": [0, 1], "p": [0.5, None]},
            {"y": ["no", "yes"], "p": [0.5, 0.5]},
            {"y": [0, 1], "p": [0, 1]},
        ],
        ids=["no outcome", "no score", "texts", "whole numbers"],
    )
    def test_not_in_pieces(self, table):
        assert self.columns.pieces(pl.DataFrame(table)) == ()
        assert self.columns.pieces(pa.table(table)) == ()

    def test_weights_groups_and_several_columns(self):
        frame = FRAMES["polars"]
        for named in (("y", "p", "w"), ("y", "p", None, ["g"]), ("y", ["q", "p"]), (None, "p")):
            assert NamedColumns.read(*named).pieces(frame) == ()


def test_batches_of_weight_0():
    read = NamedColumns.read("y", "p", "w")
    assert not read.batch(FRAMES["pandas"]).weightless
    assert read.batch(pd.DataFrame({**TABLE, "w": 0})).weightless
    assert not read.batch(pd.DataFrame({**TABLE, "w": np.nan})).weightless
    assert not NamedColumns.read("y", "p").batch(FRAMES["pandas"]).weightless
