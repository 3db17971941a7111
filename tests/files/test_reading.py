"""A file that lacks a column or a value is named, and so is the row."""

import multiprocessing

import numpy as np
import pytest

from calibrant.errors import InputError
from calibrant.files.scan import scan
from calibrant.files.table_file import TableFile


def test_columns_that_one_file_lacks(three, refuses, measure):
    folder = three(lambda rows: [rows.pop(name) for name in ("p", "age")])
    cases = [
        ({}, "f/1.parquet has no column 'p'. Its columns are 'y', 'w', 'segment'"),
        ({"prediction": "score"}, "f/0.parquet has no column 'score'."),
        ({"prediction": "a", "where": "age > 3"}, "f/1.parquet (where=) has no column 'age'."),
        ({"where": "age >"}, "where='age >' is not a filter: "),
        ({"where": "age=x"}, "'x' (where=) is not a value of column 'age', which contains num"),
    ]
    refuses(lambda options: measure(folder, **options), cases)


def test_types_are_compared_before_rows_are_read(three, refusal, measure, monkeypatch):
    folder = three(lambda rows: rows.update(p=rows["p"].astype(np.float32)))
    monkeypatch.setattr(TableFile, "frames", None)
    words = "column 'p' of f/1.parquet contains numbers of 32 bits, but of 64 bits in f/0.parquet: "
    assert refusal(measure, folder).startswith(words)


def test_nan(three, refusal, measure):
    def change(rows):
        rows["p"][70] = np.nan

    folder = three(change)
    rows = "column 'p' of f/1.parquet has no value in 1 of the 64 rows from row 64 on, the first of them row 70"
    assert refusal(measure, folder).startswith(f"{rows} (counted from 0). Repair them, or leave them out with where=")
    where = refusal(lambda: list(scan(folder, y="y", prediction="p", where="age > 0").batches()))
    assert "the first of them row 70 (counted from 0 among the rows that where= keeps). Repair them" in where


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("column", ["y", "p", "w", "segment"])
def test_missing(three, refusal, suffix, column, measure):
    def change(rows):
        rows[column] = [None if k == 70 else value for k, value in enumerate(rows[column].tolist())]

    folder = three(change, suffix)
    if column == "segment":
        assert list(scan(folder, y="y", prediction="p", groups="segment").batches())
        return
    message = refusal(measure, folder, weights="w")
    assert message.startswith(f"column '{column}' of f/1.{suffix} has no value in 1 of ")
    assert message.endswith(
        f"the first of them row 70 (counted from 0). Repair them, or leave them out with where='{column} is not null'"
    )


def _measured_in_a_child(path, queue):
    try:
        queue.put(scan(path, y="y", prediction="p").measure("brier_score"))
    except InputError as problem:
        queue.put(str(problem))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_is_refused_and_does_not_hang(parts):
    """The threads of polars stay with the parent."""
    scan(parts, y="y", prediction="p").measure("brier_score")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_measured_in_a_child, args=(parts, queue))
    child.start()
    try:
        assert 'multiprocessing.get_context("spawn")' in queue.get(timeout=30)
    finally:
        child.kill()
        child.join()
