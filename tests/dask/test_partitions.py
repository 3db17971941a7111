"""Refusals in words, with the partition; and columns that nobody asked for are not read."""

import re
import sys

import numpy as np
import pytest

import calibrant
from calibrant import Normal, from_columns
from calibrant.core import dispatch
from calibrant.dask import audit, measure
from calibrant.errors import MissingExtraError, NotApplicableError, SummaryError


@pytest.fixture
def y(cut):
    return cut([0, 1, 1, 0, 1, 0], 2, 4)


@pytest.fixture
def p(cut):
    return cut([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 2, 4)


def test_a_refusal_names_its_partition_and_keeps_its_class(y, p, cut, scheduler, refusal):
    bad = cut([0.1, 0.2, 0.3, 1.4, 0.5, 0.6], 2, 4)
    message = refusal(measure, "brier_score", (y, bad))
    assert message.startswith("partition 1: prediction must lie in [0, 1]; row 1 is 1.4")
    message = refusal(measure, "mmce", (y, p), error=NotApplicableError)
    assert re.match(r"partition \d: .*exact=True", message)


def test_parts_that_do_not_merge_are_named(cut, require, threads, refusal):
    da, delayed = require("dask.array"), require("dask").delayed
    blocks = [delayed(np.asarray)([0.3, 0.4], dtype=kind) for kind in ("float64", "float32")]
    p = da.concatenate([da.from_delayed(block, (2,), float) for block in blocks])
    message = refusal(measure, "mmce", (cut([0, 1, 1, 0], 2), p), error=SummaryError, exact=True)
    assert message.startswith("partitions 0 to 1: scores of type float64 and float32")


def test_no_rows_and_no_weights_are_refused_as_ever(y, p, cut, scheduler, refusal):
    nothing = cut(np.zeros(0), 0, 0)
    words = "there are no rows: each of the 3 partitions is empty"
    assert refusal(measure, "brier_score", (nothing, nothing)).startswith(words)
    assert "no row of a weight above 0" in refusal(measure, "brier_score", (y, p, cut(np.zeros(6), 3)))


def test_refused_before_anything_is_computed(y, p, cut, refuses):
    of_names = "prediction is given by the names of columns"
    no_group = ["group must be a Dask array; got ['north', 'south'", "from_array(np.asarray(group), chunks=...)"]
    no_array = "y must be a Dask array; got [0, 1] (list). Make one with dask.array.from_array"
    no_tuple = "Dask arrays are given as (y, prediction)"
    cases = {
        "list": (([0, 1], p), {}, no_array),
        "name": (("label", p), {}, "y is given by the names of columns, 'label'; pass their frame first, and"),
        "names": ((y, ["a", "b"]), {}, f"{of_names}, ['a', 'b']; pass their frame"),
        "typed names": ((y, from_columns(Normal, "m", "s")), {}, of_names),
        "in memory": ((y, Normal([0.0], 1.0)), {}, "prediction is a Normal, which is in memory; name the columns"),
        "weights": ((y, p, np.ones(6)), {}, "weights must be a Dask array"),
        "groups": ((y, p), {"groups": ["north", "south"] * 3}, no_group),
        "a name too": ((y, p), {"prediction": "p"}, no_tuple),
        "one": ((y,), {}, no_tuple),
        "four": ((y, p, p, p), {}, no_tuple),
        "lengths": ((y, cut([0.5] * 7, 3)), {}, "y and prediction must have the same number of rows; got 6 and 7"),
    }
    refuses(lambda given, options: measure("coverage_gap", given, **options), cases)


def test_blocks_of_unknown_length_must_agree_in_number_and_length(framed, threads, refusal):
    columns = {"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4]}
    longer = {"y": [0] * 5, "p": [0.5] * 5}
    first, second, third = framed(columns, 2), framed(longer, 2), framed(columns, 1, 2)
    message = refusal(measure, "brier_score", (first["y"], third["p"]))
    assert message.startswith("y has 2 chunks and prediction has 3")
    message = refusal(measure, "brier_score", (first["y"], second["p"]))
    assert message.startswith("partition 1: y has 2 rows and prediction has 3")


def test_a_column_that_is_not_there_is_named_before_anything_is_computed(framed, refuses):
    frame = framed({"label": [0, 1], "score": [0.2, 0.7]}, 1)
    cases = [
        (frame, "label", "scores", "the frame has no column 'scores'. Did you mean 'score'?"),
        (frame, 3, "score", "name of a column"),
        ([1], "label", "score", "must be a Dask DataFrame"),
        ({"a": frame["label"]}, "a", "b", "data has no column 'b'"),
    ]
    refuses(lambda data, y, prediction: measure("brier_score", data, y=y, prediction=prediction), cases)


@pytest.mark.parametrize(("rows", "compiled"), [(2, False), (3, True)])
def test_workers_decide_for_compiled_code_as_for_all_rows(framed, threads, monkeypatch, rows, compiled):
    from calibrant.dask.partitions import Partitions

    monkeypatch.setattr(dispatch, "FAST_ROWS", 9)
    monkeypatch.setattr(dispatch, "has_numba", lambda: True)
    frame = framed({"y": [0, 1, 1] * 3, "p": [0.1, 0.2, 0.3] * 3}, rows, 6)
    first, *_ = Partitions.of(frame, y="y", prediction="p").each(
        lambda batch: dispatch.takes_fast_body(len(batch.y)), "look"
    )
    assert first.compute() is compiled


def test_only_the_columns_in_use_are_read(require, threads, rng):
    pd, dd = require("pandas"), require("dask.dataframe")
    p = rng.random(400)
    table = pd.DataFrame({"a": 1, "label": (rng.random(400) < p) * 1, "q": 1 - p, "p": p, "side": "left", "w": 2.0})
    asked = []

    def read(part, columns=None):
        asked.append(columns)
        return table[columns].iloc[200 * part : 200 * (part + 1)]

    def columns_of(call):
        asked.clear()
        call(dd.from_map(read, [0, 1], meta=table.iloc[:0]))
        assert len(asked) == 2
        return sorted(asked[0])

    assert columns_of(lambda data: measure("brier_score", data, y="label", prediction="p")) == ["label", "p"]
    options = {"y": "label", "prediction": "p", "weights": "w", "groups": ["side"], "resamples": 19}
    assert columns_of(lambda data: audit(data, **options)) == ["label", "p", "side", "w"]


def test_without_dask_the_extra_is_named(monkeypatch, refusal):
    monkeypatch.setitem(sys.modules, "dask", None)
    assert "calibrant[dask]" in refusal(measure, "brier_score", ([0], [0.5]), error=MissingExtraError)


def test_what_arrays_share_is_computed_once(require, scheduler):
    da = require("dask.array")

    def load(block):
        drawn = np.random.default_rng().random(len(block))  # other numbers whenever it is called
        return np.stack([drawn, drawn], axis=1)

    x = da.zeros((400, 2), chunks=(50, 2)).map_blocks(load, dtype=float)
    y, p = (x[:, 0] > 0.5).astype(int), (x[:, 1] > 0.5).astype(float)
    assert measure("brier_score", (y, p))["brier_score"].value == 0.0


@pytest.mark.parametrize("origin", ["persisted", "repartitioned", "joined", "shuffled"])
def test_frames_of_any_origin(framed, require, scheduler, origin):
    dd, rng = require("dask.dataframe"), np.random.default_rng(2)
    table = {"y": rng.integers(0, 2, 200), "p": rng.random(200)}
    frame = framed(table, 50, 120, 180)
    made = {
        "persisted": frame.persist,
        "repartitioned": lambda: frame.repartition(npartitions=2),
        "joined": lambda: dd.concat([frame, frame]),
        "shuffled": lambda: frame.shuffle("p"),
    }[origin]()
    found = measure(["ece", "brier_score"], made, y="y", prediction="p")
    assert found["ece"].value == pytest.approx(calibrant.ece(table["y"], table["p"]), rel=1e-12)
    assert found["brier_score"].value == pytest.approx(calibrant.brier_score(table["y"], table["p"]), rel=1e-12)
