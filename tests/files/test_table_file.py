"""How many rows a file has, before it is read; and files that cannot be read."""

import bz2
import gzip
import json
import re
import threading

import numpy as np
import pytest

from calibrant.errors import InputError
from calibrant.files.scan import scan
from calibrant.files.table_file import ROWS_FOR_TYPES, open_table
from calibrant.files.where import read_where

ROWS = 50_000


def test_how_many_rows_a_file_tells_of(tmp_path, columns, write):
    """Text tells about; an archive is read as a whole anyway."""
    text = ("y,p\n" + "".join(f"1,{p:.4f}\n" for p in np.random.default_rng(0).random(ROWS))).encode()
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    np.savez(tmp_path / "a.npz", y=columns["y"])
    for suffix in ("parquet", "arrow"):
        write(tmp_path / f"a.{suffix}", columns)
    exact = {"parquet": (1000, 0), "arrow": (1000, 0), "npz": (0, 0)}
    for suffix, (rows, rel) in {"csv": (ROWS, 0.01), "csv.gz": (ROWS, 0.2), **exact}.items():
        assert open_table(tmp_path / f"a.{suffix}").likely_rows() == pytest.approx(rows, rel=rel)


def test_decoding_on_another_thread(tmp_path, columns, write):
    """Frames come in order, and a reader that stops leaves no thread."""

    def running():
        return [thread for thread in threading.enumerate() if thread.name == "calibrant-decoding"]

    table = open_table(write(tmp_path / "a.parquet", columns, row_group_size=10))
    assert [p for frame in table.frames(["p"], None, size=10) for p in frame["p"]] == columns["p"].tolist()
    frames = table.frames(["p"], None, size=10)
    assert next(frames)["p"].to_list() == columns["p"][:10].tolist()
    assert running()
    frames.close()
    assert not running()


def test_skipping(tmp_path, columns, write):
    table = open_table(write(tmp_path / "a.csv", columns))
    parts = [frame["p"].to_list() for frame in table.frames(["p"], None, size=300, skip=900)]
    assert [p for part in parts for p in part] == columns["p"][900:].tolist()


def test_a_damaged_file(three, refusal, measure):
    folder = three(lambda rows: None)
    whole = (folder / "1.parquet").read_bytes()
    half = len(whole) // 2
    for content in (whole[:3], whole[:200], whole[:-10], whole[:4] + bytes(half) + whole[half + 4 :]):
        (folder / "1.parquet").write_bytes(content)
        message = refusal(measure, folder)
        assert message.startswith("f/1.parquet cannot be read as Parquet: ")
        assert message.endswith("Is it complete? Write it again")


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

    table, parsed = open_table(path), where and read_where(where)  # after some rows are skipped, too
    skipped = refusal(lambda: list(table.frames(["y", "p"], parsed, size=64, skip=100 * (group > 0))))
    assert skipped == f"{path} cannot be read as Parquet: it is damaged inside. Is it complete? Write it again"


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


@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_whole_numbers_that_become_fractions(tmp_path, suffix):
    table = late(tmp_path / f"a.{suffix}", 1, 2.5)
    for skip in (0, LATE - 10):
        frames = list(table.frames(["g"], read_where("g >= 1"), size=1000, skip=skip))
        assert sum(frame["g"].sum() for frame in frames) == LATE - skip + 2.5


HEADER = b"y,p,g\n"
LONG = 3 * ROWS_FOR_TYPES
TOO_LONG = HEADER + b"1,0.5,a\n" * 40 + b"1,0,9,a\n" + b"0,0.5,a\n" * 40
LATE_LONG = HEADER + b"1,0.5,a\n" * LONG + b"1,0,9,a\n" + b"0,0.5,a\n"
FIELDS, LATE_FIELDS = (f"line {line:,} has 4 fields, and the header 3" for line in (42, LONG + 2))
LATE_TEXT = "a.csv must contain numbers; row 30 .counted from 0. is the text '{}'. Leave such cells"


def late_text(text):
    return b"y,p\n" + b"1,0.25\n" * 30 + f"0,{text}\n1,0.5\n".encode()


MEANT = {
    "a.csv": [
        (b"y,p,y\n1,0.5,0\n0,0.25,1\n", {}, r"two columns named 'y'; rename one|multiple columns named y"),
        (b"y,p\n" + b"1,46%\n" * 3, {}, "is the text '46%'. Write percentages as numbers between 0 and 1, without the"),
        *((late_text(text), {}, LATE_TEXT.format(text)) for text in ("nan", "NA", "n/a", "-")),
        (b"y;p\n1;0,25\n0;0,5\n", {"delimiter": ";"}, "Add decimal_comma=True, or name another column$"),
        # Decimal commas without quotation marks shift the columns, and what is read is another number.
        *((TOO_LONG, {"where": where}, f"a.csv cannot be read as CSV: .*{FIELDS}") for where in (None, "y = 1")),
        *((LATE_LONG, options, LATE_FIELDS) for options in ({}, {"where": "y = 1"}, {"groups": "g"})),
    ],
    "a.csv.gz": [
        (gzip.compress(b"y;p\n1;0.5\n", mtime=0), {}, "it seems to be split at ';'. Add delimiter=';'"),
        (gzip.compress(TOO_LONG, mtime=0), {}, FIELDS),
    ],
    "a.csv.bz2": [(bz2.compress(b"y;p\n1;0.5\n"), {"format": "csv"}, "is compressed by bzip2, which is not read; unp")],
}


@pytest.mark.parametrize(
    ("name", "content", "options", "words"), [(name, *case) for name in MEANT for case in MEANT[name]]
)
def test_texts_that_are_not_what_was_meant(tmp_path, refusal, name, content, options, words):
    (tmp_path / name).write_bytes(content)
    found = scan(tmp_path / name, y="y", prediction="p", **options)
    assert re.search(words, refusal(lambda: list(found.batches())))


@pytest.mark.parametrize(
    ("content", "options", "score"),
    [
        (HEADER + b'1,0.5,"a, b"\n0,0.5,"c\nd"\n', {}, 0.25),
        (HEADER + b"1,0.5\n0,0.5,a\n", {}, 0.25),  # a short line lacks a value
        (b"y;p\n1;0,25\n0;0,5\n", {"delimiter": ";", "decimal_comma": True}, (0.75**2 + 0.25) / 2),
    ],
)
def test_texts_that_are_read(tmp_path, measure, content, options, score):
    (tmp_path / "a.csv").write_bytes(content)
    assert measure(tmp_path / "a.csv", **options)["brier_score"].value == pytest.approx(score)


def test_large_whole_numbers_as_groups_and_as_labels(tmp_path, columns, require):
    pl, file = require("polars"), tmp_path / "a.csv"
    ids = pl.Series([2**63 + k % 3 for k in range(1000)], dtype=pl.Int128)
    pl.DataFrame({"y": columns["y"], "p": columns["p"], "id": ids}).write_csv(file)
    (batch,) = scan(file, y="y", prediction="p", groups="id").batches()
    assert set(batch.groups["id"]) == {2**63, 2**63 + 1, 2**63 + 2}
    found = scan(file, y="id", prediction="p", pos_label=2**63 + 1).measure("brier_score")["brier_score"].value
    assert found == pytest.approx(np.mean(((np.arange(1000) % 3 == 1) - columns["p"]) ** 2), rel=1e-12)


def test_decimals_of_more_than_38_digits(tmp_path, refusal, measure, require):
    from decimal import Decimal

    pa = require("pyarrow")

    rows = {"y": [0, 1], "p": pa.array([Decimal("0.25"), Decimal("0.5")], pa.decimal256(50, 6))}
    pa.parquet.write_table(pa.table(rows), tmp_path / "a.parquet")
    message = refusal(measure, tmp_path / "a.parquet")
    assert message.endswith("Save decimal numbers with at most 38 digits, or as floating point numbers")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_time_zone_that_nobody_needs(tmp_path, write, measure, columns, suffix, require):
    """Polars does not know an offset as a time zone."""
    pa = require("pyarrow")
    when = pa.array([0] * 1000, pa.timestamp("us", tz="+05:30"))
    path = write(tmp_path / f"a.{suffix}", {"y": columns["y"], "p": columns["p"], "when": when})
    assert measure(path) == measure(write(tmp_path / f"b.{suffix}", columns))


def test_an_archive_that_unpacks_to_more_than_memory(tmp_path, refusal, measure, monkeypatch):
    from calibrant.files import npz_file

    monkeypatch.setattr(npz_file, "SUSPICIOUS_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "a.npz", y=np.zeros(10**6), p=np.zeros(10**6))
    message = refusal(measure, tmp_path / "a.npz")
    assert "MB and would need 0.016 GB of memory. If that is right, save it with numpy.savez" in message
    np.savez(tmp_path / "a.npz", y=np.zeros(10**6), p=np.zeros(10**6))
    assert measure(tmp_path / "a.npz")["brier_score"].value == 0.0


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
