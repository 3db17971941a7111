"""Filters by pyarrow keep the rows that polars keeps."""

import datetime as dt

import pytest

from calibrant.errors import InputError, MissingExtraError
from calibrant.files import arrow_file
from calibrant.files.table_file import open_table
from calibrant.files.where import read_where

FILTERS = [
    "whole > 1",
    "whole < 2.5",
    "whole != 1",
    "whole in (1, 3, 7.5)",
    "small < 1000",
    "small > -1",
    "small in (4, 1000, -1)",
    "real <= 1",
    "real > 0.5",
    "real >= 3",
    "real != 2",
    "real is null",
    "nan is null",
    "nan is not null",
    "nan > 1",
    "nothing = 3",
    "nothing is null",
    "void > 3",
    "real is not null",
    "text is null",
    "single = 0.1",
    "single in (0.1, 0.4)",
    "truth = TRUE",
    "truth = 0",
    "text = a",
    "text in ('a', 65)",
    "kind = a",
    "kind = nowhere",
    "price >= 2.5",
    "day >= 2024-01-03",
    "moment < '2024-01-02 12:00'",
    "moment < 2024-01-02T00:00+01:00",
    "'*' > 3",
    "'^r.*$' = 2",
    "whole > 1 and kind = a",
    "region = north",
    "region = south",
]


@pytest.fixture
def table(tmp_path, require):
    pl = require("polars")
    require("pyarrow")
    frame = pl.DataFrame(
        {
            "row": [0, 1, 2, 3],
            "whole": [1, 2, 3, None],
            "small": pl.Series([1, 2, 3, 4], dtype=pl.UInt8),
            "real": [0.1, float("nan"), None, 2.0],
            "nan": [0.1, float("nan"), 3.0, 2.0],
            "void": pl.Series([None] * 4, dtype=pl.Null),
            "single": pl.Series([0.1, 0.2, 0.3, 0.4], dtype=pl.Float32),
            "truth": [True, False, None, True],
            "text": ["a", "b'c", "65", None],
            "kind": pl.Series(["a", "b", "a", None], dtype=pl.Categorical),
            "price": pl.Series([1, 2, 3, 4], dtype=pl.Decimal(10, 2)),
            "day": [dt.date(2024, 1, d) for d in (1, 2, 3, 4)],
            "moment": pl.Series([dt.datetime(2024, 1, d) for d in (1, 2, 3, 4)]).dt.replace_time_zone("Europe/Berlin"),
            "*": [1, 2, 3, 4],
            "^r.*$": [1, 2, 3, 4],
        }
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    return open_table(tmp_path / "rows.parquet")


@pytest.mark.parametrize("text", FILTERS)
def test_the_same_rows(table, text):
    where, region = read_where(text), {"region": "north", "nothing": None}
    by_polars = table.read(["row", "price", "kind"], where, region)
    by_arrow = [
        each
        for part in arrow_file.tables(table, by_polars.columns, where, constants=region)
        for each in part.to_pylist()
    ]
    assert by_arrow == by_polars.to_dicts()


@pytest.mark.parametrize("text", ["whole = x", "truth = maybe", "day = tomorrow", "moment = 3"])
def test_values_that_are_none(table, text):
    messages = []
    for use in (table.read, lambda *arguments: list(arrow_file.tables(table, *arguments))):
        with pytest.raises(InputError) as caught:
            use(["row"], read_where(text))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_skipping(table):
    rows = [row for part in arrow_file.tables(table, ["row"], None, skip=3) for row in part.to_pylist()]
    assert rows == [{"row": 3}]
    assert table.rows() == 4


@pytest.mark.parametrize("suffix", ["csv", "arrow"])
@pytest.mark.parametrize(
    "text", ["real > 1", "real is null", "real is not null", "text = NA", "text is null", "text >= b"]
)
def test_the_same_rows_of_other_formats(tmp_path, require, suffix, text):
    pl = require("polars")
    require("pyarrow")
    frame = pl.DataFrame(
        {"row": range(5), "real": [0.5, None, float("nan"), 2.5, 1.5], "text": ["a", "NA", "", None, "c"]}
    )
    path = tmp_path / f"rows.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_ipc(path)
    table, where = open_table(path), read_where(text)
    by_arrow = [row for part in arrow_file.tables(table, ["row", "text"], where) for row in part.to_pylist()]
    assert by_arrow == table.read(["row", "text"], where).to_dicts()


def test_categories_of_polars(tmp_path, require):
    pl = require("polars")
    require("pyarrow")
    pl.DataFrame({"row": [0], "kind": pl.Series(["a"], dtype=pl.Categorical)}).write_ipc(tmp_path / "rows.arrow")
    table = open_table(tmp_path / "rows.arrow")
    assert len(list(arrow_file.tables(table, ["row"], None))) == 1
    for columns, where in ((["kind"], None), (["row"], read_where("kind = a"))):
        with pytest.raises(MissingExtraError, match=r"rows\.arrow"):
            list(arrow_file.tables(table, columns, where))
