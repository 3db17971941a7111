"""How many rows a file has, before it is read; and files that cannot be read."""

import gzip
import json
import threading

import numpy as np
import pytest

from calibrant.errors import InputError
from calibrant.files.scan import scan
from calibrant.files.table_file import ROWS_FOR_TYPES, open_table
from calibrant.files.where import read_where

ROWS = 50_000


@pytest.fixture
def lines():
    rng = np.random.default_rng(0)
    return ("y,p\n" + "".join(f"1,{p:.4f}\n" for p in rng.random(ROWS))).encode()


def test_text_files_tell_about(tmp_path, lines):
    (tmp_path / "a.csv").write_bytes(lines)
    assert open_table(tmp_path / "a.csv").likely_rows() == pytest.approx(ROWS, rel=0.01)
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(lines)
    assert open_table(tmp_path / "a.csv.gz").likely_rows() == pytest.approx(ROWS, rel=0.2)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_others_know(tmp_path, columns, write, suffix):
    assert open_table(write(tmp_path / f"a.{suffix}", columns)).likely_rows() == 1000


def test_npz_is_read_at_once(tmp_path, columns):
    np.savez(tmp_path / "a.npz", y=columns["y"])
    assert open_table(tmp_path / "a.npz").likely_rows() == 0


def test_skipping(tmp_path, columns, write):
    table = open_table(write(tmp_path / "a.csv", columns))
    parts = [frame["p"].to_list() for frame in table.frames(["p"], None, size=300, skip=900)]
    assert [p for part in parts for p in part] == columns["p"][900:].tolist()


@pytest.mark.parametrize("cut", [3, 200, -10])
def test_a_truncated_file(three, refusal, cut, measure):
    folder = three(lambda rows: None)
    content = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(content[:cut])
    message = refusal(measure, folder)
    assert message.startswith("f/1.parquet cannot be read as Parquet: ")
    assert message.endswith("Is it complete? Write it again")


def test_a_file_damaged_inside(three, refusal, measure):
    folder = three(lambda rows: None)
    content = bytearray((folder / "1.parquet").read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    (folder / "1.parquet").write_bytes(content)
    assert refusal(measure, folder).startswith("f/1.parquet cannot be read as Parquet: ")


def test_files_that_are_empty_or_gone(three, refusal):
    folder = three(lambda rows: None)
    found = scan(folder, y="y", prediction="p")
    (folder / "1.parquet").write_bytes(b"")
    assert refusal(found.measure, "ece") == "f/1.parquet is empty (0 bytes); write the predictions to it first"
    (folder / "1.parquet").unlink()
    assert refusal(found.measure, "ece").startswith("there is no file f/1.parquet.")


@pytest.fixture
def damaged(tmp_path, columns, write, require):
    """Return a function that writes a file of ten row groups, one of which has fewer values of p than it says.

    Of such a file polars hands out the row groups before, and then a thread of its own panics.
    """
    pq = require("pyarrow.parquet")

    def written(path, group):
        rows = {name: columns[name] for name in ("y", "p", "age")}
        write(path, rows, row_group_size=100, compression="none", use_dictionary=False)
        content = bytearray(path.read_bytes())
        at = content.index(b"\xc8\x01", pq.ParquetFile(path).metadata.row_group(group).column(1).data_page_offset)
        content[at : at + 2] = b"\xd8\x01"  # the number of values in the head of the page: 108, and not 100
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize("where", [None, "age > 30"])
@pytest.mark.parametrize("group", [0, 5, 9])
def test_rows_are_not_lost(tmp_path, damaged, write, columns, refusal, small_batches, measure, group, where):
    write(tmp_path / "f" / "0.parquet", columns)
    path = damaged(tmp_path / "f" / "1.parquet", group)
    message = refusal(measure, tmp_path / "f", where=where)
    assert message.startswith(f"{path} cannot be read as Parquet: ")
    assert message.endswith("Is it complete? Write it again")
    assert refusal(lambda: list(scan(path, y="y", prediction="p", where=where).batches())) == message


@pytest.mark.parametrize("where", [None, "age > 30"])
def test_rows_are_not_lost_after_some_are_skipped(tmp_path, damaged, refusal, where):
    table = open_table(damaged(tmp_path / "1.parquet", 5))
    parsed = where and read_where(where)
    message = refusal(lambda: list(table.frames(["y", "p"], parsed, size=64, skip=200)))
    assert message == f"{table.path} cannot be read as Parquet: it is damaged inside. Is it complete? Write it again"


def test_going_on_before_damage(tmp_path, damaged, refusal, small_batches, write, columns):
    path = damaged(tmp_path / "1.parquet", 5)

    def run():
        return scan(path, y="y", prediction="p").measure("brier_score", checkpoint=tmp_path / "run")

    for _ in range(2):
        assert refusal(run).startswith(f"{path} cannot be read as Parquet: ")


LATE = 300_000
"""Rows, so many that some are handed out before the last one is read."""


def late(path, first, last):
    """Write a text file whose column g is `first`, and `last` in its last row."""
    if path.suffix == ".csv":
        path.write_text("y,p,g\n" + f"1,0.5,{first}\n" * LATE + f"1,0.5,{last}\n")
    else:
        row = {"y": 1, "p": 0.5}
        path.write_text((json.dumps({**row, "g": first}) + "\n") * LATE + json.dumps({**row, "g": last}) + "\n")
    return open_table(path)


def becomes_texts(path):
    return (
        f"column 'g' of {path} contains numbers in the first {ROWS_FOR_TYPES:,} rows and texts later; fix it, or save "
        "the file as Parquet, where a column has one type"
    )


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
@pytest.mark.parametrize(("where", "skip"), [(None, LATE - 10), ("g >= 1", 0), ("g >= 1", LATE - 10)])
def test_numbers_that_become_texts(tmp_path, refusal, suffix, where, skip):
    table = late(tmp_path / f"a.{suffix}", 1, "b")
    parsed = where and read_where(where)
    assert refusal(lambda: list(table.frames(["p", "g"], parsed, size=1000, skip=skip))) == becomes_texts(table.path)


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_never_half_numbers_and_half_texts(tmp_path, suffix):
    table, seen, said = late(tmp_path / f"a.{suffix}", 1, "b"), [], None
    try:
        seen.extend(frame["g"] for frame in table.frames(["p", "g"], None, size=1000))
    except InputError as problem:
        said = str(problem)
    texts = {str(column.dtype) for column in seen} == {"String"}  # the last row was read before any were handed out
    assert said == (None if texts else becomes_texts(table.path))
    assert sum(map(len, seen)) == LATE + 1 or not texts


def test_a_filter_on_numbers_that_become_texts(tmp_path, refusal):
    table = late(tmp_path / "a.csv", "01", "b")
    message = refusal(lambda: list(table.frames(["p"], read_where("g = 1"), size=10 * LATE)))
    assert message == becomes_texts(table.path)
    assert sum(len(frame) for frame in table.frames(["p"], None, size=1000)) == LATE + 1  # nobody asks for it


def test_texts_where_nothing_was_handed_out_yet(tmp_path):
    table = late(tmp_path / "a.csv", "01", "b")
    (frame,) = table.frames(["g"], None, size=10 * LATE)
    assert frame["g"].unique().sort().to_list() == ["01", "b"]


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_whole_numbers_that_become_fractions(tmp_path, suffix):
    table = late(tmp_path / f"a.{suffix}", 1, 2.5)
    for skip in (0, LATE - 10):
        frames = list(table.frames(["g"], read_where("g >= 1"), size=1000, skip=skip))
        assert sum(frame["g"].sum() for frame in frames) == LATE - skip + 2.5


def test_compressed_text(tmp_path, refusal, measure, require):
    pa = require("pyarrow")
    for packed in ("gz", "bz2"):
        with pa.CompressedOutputStream(tmp_path / f"a.csv.{packed}", "gzip" if packed == "gz" else packed) as file:
            file.write(b"y;p\n1;0.5\n")
    assert "it seems to be split at ';'. Add delimiter=';'" in refusal(measure, tmp_path / "a.csv.gz")
    assert refusal(measure, tmp_path / "a.csv.bz2", format="csv") == (
        f"{tmp_path / 'a.csv.bz2'} is compressed by bzip2, which is not read; unpack it, or save it as Parquet"
    )


def test_frames_that_nobody_wants_leave_no_thread(tmp_path, columns, write):
    table = open_table(write(tmp_path / "a.parquet", columns, row_group_size=10))
    frames = table.frames(["p"], None, size=10)
    assert len(next(frames)) > 0
    frames.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "calibrant-ahead"]


HEADER = "y,p,g\n"


class TestLinesWithTooManyFields:
    """Decimal commas without quotation marks shift the columns, and what is read is another number."""

    @pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
    @pytest.mark.parametrize("where", [None, "y = 1"])
    def test_are_refused_with_the_line(self, tmp_path, refusal, suffix, where):
        content = (HEADER + "1,0.5,a\n" * 40 + "1,0,9,a\n" + "0,0.5,a\n" * 40).encode()
        file = tmp_path / f"a.{suffix}"
        file.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
        message = refusal(lambda: scan(file, y="y", prediction="p", where=where).measure("brier_score"))
        assert f"a.{suffix} cannot be read as CSV: " in message
        assert "line 42 has 4 fields, and the header 3" in message

    def test_far_behind_the_first_look(self, tmp_path, refusal):
        (tmp_path / "a.csv").write_text(HEADER + "1,0.5,a\n" * 3 * ROWS_FOR_TYPES + "1,0,9,a\n" + "0,0.5,a\n")
        for options in ({}, {"where": "y = 1"}, {"groups": "g"}):
            measured = scan(tmp_path / "a.csv", y="y", prediction="p", **options)
            message = refusal(lambda measured=measured: list(measured.batches()))
            assert f"line {3 * ROWS_FOR_TYPES + 2:,} has 4 fields, and the header 3" in message

    def test_fields_with_commas_in_quotation_marks(self, tmp_path):
        (tmp_path / "a.csv").write_text(HEADER + '1,0.5,"a, b"\n0,0.5,"c\nd"\n')
        found = scan(tmp_path / "a.csv", y="y", prediction="p").measure("brier_score")
        assert found["brier_score"].value == 0.25

    def test_short_lines_lack_a_value(self, tmp_path):
        (tmp_path / "a.csv").write_text(HEADER + "1,0.5\n0,0.5,a\n")
        assert scan(tmp_path / "a.csv", y="y", prediction="p").measure("brier_score")["brier_score"].value == 0.25


def test_two_columns_of_one_name(tmp_path, refusal):
    (tmp_path / "a.csv").write_text("y,p,y\n1,0.5,0\n0,0.25,1\n")
    message = refusal(lambda: scan(tmp_path / "a.csv", y="y", prediction="p").measure("brier_score"))
    assert "two columns named 'y'; rename one" in message or "multiple columns named y" in message


def test_percentages_are_not_numbers(tmp_path, refusal):
    (tmp_path / "a.csv").write_text("y,p\n" + "1,46%\n" * 3)
    message = refusal(lambda: scan(tmp_path / "a.csv", y="y", prediction="p").measure("brier_score"))
    assert "is the text '46%'. Write percentages as numbers between 0 and 1, without the percent sign" in message


@pytest.mark.parametrize("text", ["nan", "NA", "n/a", "-"])
def test_a_text_among_numbers_is_named(tmp_path, refusal, text):
    (tmp_path / "a.csv").write_text("y,p\n" + "1,0.25\n" * 30 + f"0,{text}\n1,0.5\n")
    message = refusal(lambda: scan(tmp_path / "a.csv", y="y", prediction="p").measure("brier_score"))
    assert f"a.csv must contain numbers; row 30 (counted from 0) is the text {text!r}. Leave such cells" in message


def test_decimal_commas_are_recognised(tmp_path, refusal):
    (tmp_path / "a.csv").write_text("y;p\n1;0,25\n0;0,5\n")
    given = {"y": "y", "prediction": "p", "delimiter": ";"}
    message = refusal(lambda: scan(tmp_path / "a.csv", **given).measure("brier_score"))
    assert message.endswith("Add decimal_comma=True, or name another column")
    found = scan(tmp_path / "a.csv", **given, decimal_comma=True).measure("brier_score")
    assert found["brier_score"].value == pytest.approx((0.75**2 + 0.25) / 2)


class TestLargeWholeNumbers:
    @pytest.fixture
    def file(self, tmp_path, columns, require):
        pl = require("polars")
        ids = pl.Series([2**63 + k % 3 for k in range(1000)], dtype=pl.Int128)
        pl.DataFrame({"y": columns["y"], "p": columns["p"], "id": ids}).write_csv(tmp_path / "a.csv")
        return tmp_path / "a.csv"

    def test_as_groups(self, file):
        (batch,) = scan(file, y="y", prediction="p", groups="id").batches()
        assert set(batch.groups["id"]) == {2**63, 2**63 + 1, 2**63 + 2}

    def test_as_labels(self, file, columns):
        found = scan(file, y="id", prediction="p", pos_label=2**63 + 1).measure("brier_score")["brier_score"].value
        assert found == pytest.approx(np.mean(((np.arange(1000) % 3 == 1) - columns["p"]) ** 2), rel=1e-12)

    def test_in_memory(self, require):
        from calibrant import brier_score

        y = require("polars").Series([0, 1, 1], dtype=require("polars").Int128)
        assert brier_score(y, [0.5, 0.5, 0.5]) == 0.25


def test_decimals_of_more_than_38_digits(tmp_path, refusal, require):
    from decimal import Decimal

    pa = require("pyarrow")

    rows = {"y": [0, 1], "p": pa.array([Decimal("0.25"), Decimal("0.5")], pa.decimal256(50, 6))}
    pa.parquet.write_table(pa.table(rows), tmp_path / "a.parquet")
    message = refusal(lambda: scan(tmp_path / "a.parquet", y="y", prediction="p").measure("brier_score"))
    assert message.endswith("Save decimal numbers with at most 38 digits, or as floating point numbers")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_time_zone_that_nobody_needs(tmp_path, write, measure, columns, suffix, require):
    """Polars does not know an offset as a time zone."""
    pa = require("pyarrow")
    when = pa.array([0] * 1000, pa.timestamp("us", tz="+05:30"))
    path = write(tmp_path / f"a.{suffix}", {"y": columns["y"], "p": columns["p"], "when": when})
    assert measure(path) == measure(write(tmp_path / f"b.{suffix}", columns))


def test_a_key_that_comes_twice(tmp_path, refusal):
    (tmp_path / "a.ndjson").write_text('{"y": 1, "p": 0.5}\n{"y": 1, "p": 0.5, "y": 0}\n')
    message = refusal(lambda: scan(tmp_path / "a.ndjson", y="y", prediction="p").measure("brier_score"))
    assert message == f"line 2 of {tmp_path / 'a.ndjson'} has the key 'y' twice; write each key once"


class TestBombs:
    """Small files that unpack to more than memory are refused before they are unpacked."""

    def test_an_archive(self, tmp_path, refusal, monkeypatch):
        from calibrant.files import npz_file

        monkeypatch.setattr(npz_file, "SUSPICIOUS_BYTES", 1 << 20)
        np.savez_compressed(tmp_path / "a.npz", y=np.zeros(10**6), p=np.zeros(10**6))
        message = refusal(lambda: scan(tmp_path / "a.npz", y="y", prediction="p").measure("brier_score"))
        assert "MB and would need 0.016 GB of memory. If that is right, save it with numpy.savez" in message
        np.savez(tmp_path / "a.npz", y=np.zeros(10**6), p=np.zeros(10**6))
        assert scan(tmp_path / "a.npz", y="y", prediction="p").measure("brier_score")["brier_score"].value == 0.0

    def test_an_endless_line(self, tmp_path, refusal, monkeypatch):
        from calibrant.files import csv_file

        monkeypatch.setattr(csv_file, "MAX_LINE_BYTES", 2 << 20)
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"y,p\n1,0.5\n1," + b"0" * (4 << 20)))
        message = refusal(lambda: scan(tmp_path / "a.csv.gz", y="y", prediction="p").measure("brier_score"))
        assert "unpacks to a line of more than 2 MB" in message
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"y,p\n" + b"1,0.5\n" * (1 << 20)))
        found = scan(tmp_path / "a.csv.gz", y="y", prediction="p").measure("brier_score")
        assert found["brier_score"].value == 0.25


def test_types_and_names_with_braces(tmp_path, refusal, require):
    pl = require("polars")
    rows = {"y": [0, 1], "{p}": [{"a": 0.5}, {"a": 0.25}], "{row}": ["x{", "0.5"], "q{value}": [0.5, None]}
    pl.DataFrame(rows).write_parquet(tmp_path / "{a}.parquet")
    for name, words in (
        ("{p}", "must contain numbers; it contains values of type Struct({'a': Float64}). Name another column"),
        ("{row}", "must contain numbers; row 0 (counted from 0) is the text 'x{'. Leave such cells empty"),
        ("q{value}", "has no value in 1 of 2 rows, the first of them row 1 (counted from 0). Repair them"),
    ):
        message = refusal(lambda name=name: scan(tmp_path / "{a}.parquet", y="y", prediction=name).measure("ece"))
        assert f"column {name!r} of {tmp_path}/{{a}}.parquet {words}" in message
