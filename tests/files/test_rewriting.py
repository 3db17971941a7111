"""Copies of files with further columns: nothing else changes, and the copy is whole or not there."""

import datetime as dt
import io
import os
import re
import subprocess
import sys
import textwrap
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from calibrant.errors import MissingExtraError
from calibrant.files.csv_file import USUAL, Dialect
from calibrant.files.rewriting import Change, rewrite
from calibrant.files.table_file import open_table
from calibrant.writing import temporary_file

ENDINGS = (".parquet", ".arrow", ".ndjson", ".csv")


def doubled(frame):
    return {"twice": 2.0 * frame["x"].cast(pl.Float64)}


DOUBLED = Change(("x",), {"twice": pl.Float64()}, doubled)


def write(frame, path):
    writers = {".parquet": frame.write_parquet, ".arrow": frame.write_ipc, ".ndjson": frame.write_ndjson}
    writers.get(path.suffix, frame.write_csv)(path)
    return path


def copied(source, target, change=DOUBLED, dialect=USUAL):
    return rewrite(open_table(source, dialect=dialect), change, target, dialect)


class TestOneWriter:
    """Two copies to one target would mix; what a process leaves that was ended is removed."""

    def test_what_a_killed_process_left_is_removed(self, tmp_path):
        source, target = write(pl.DataFrame({"x": [1.0, 2.0]}), tmp_path / "in.parquet"), tmp_path / "out.parquet"
        with temporary_file(target) as left:
            left.with_name(left.name.replace(".tmp", "0.tmp")).touch()  # as of a process that did not come to its end
        assert len(list(tmp_path.glob(".*"))) == 1
        copied(source, target)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]

    def test_a_second_copy_is_refused_and_a_pipe_stays(self, tmp_path, refusal):
        source, target = write(pl.DataFrame({"x": [1.0]}), tmp_path / "in.parquet"), tmp_path / "out.parquet"
        said = []

        def make(frame):
            said.append(refusal(copied, source, target))
            return doubled(frame)

        assert copied(source, target, Change(("x",), {"twice": pl.Float64()}, make)) == 1
        assert said == [f"another run is using the output {target}; wait until it ends, or name another file"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]

        os.mkfifo(tmp_path / "out.csv")
        assert refusal(copied, source, tmp_path / "out.csv").endswith("is not a regular file; name another file")
        assert (tmp_path / "out.csv").is_fifo()

    def test_a_terminated_process_leaves_nothing(self, tmp_path):
        source = write(pl.DataFrame({"x": [1.0]}), tmp_path / "in.csv")
        command = [sys.executable, "-c", textwrap.dedent(TERMINATED), str(source), str(tmp_path / "out.csv")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"ready\n"
            process.terminate()
            assert process.wait(60) == 143
        finally:
            process.kill()
            process.communicate()
        assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


TERMINATED = """
    import sys, time
    from pathlib import Path
    import polars as pl
    from calibrant.files.csv_file import USUAL
    from calibrant.files.rewriting import Change, rewrite
    from calibrant.files.table_file import open_table
    wait = lambda frame: (print("ready", flush=True), [time.sleep(0.1) for _ in range(600)])
    rewrite(open_table(Path(sys.argv[1])), Change(("x",), {"y": pl.Float64()}, wait), Path(sys.argv[2]), USUAL)
"""


@pytest.mark.parametrize("source", ENDINGS)
@pytest.mark.parametrize("target", ENDINGS)
def test_every_format_to_every_format(tmp_path, source, target):
    rows = pl.DataFrame({"name": ["a", "b", "a"], "x": [1.5, -2.0, 0.25], "k": [3, 1, 2]})
    given = write(rows, tmp_path / f"in{source}")
    before = given.read_bytes()
    assert copied(given, tmp_path / f"out{target}") == 3
    found = open_table(tmp_path / f"out{target}").head(9)
    assert found.equals(rows.with_columns(twice=2 * pl.col("x")))
    assert found.schema == {"name": pl.String, "x": pl.Float64, "k": pl.Int64, "twice": pl.Float64}
    assert given.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({f"in{source}", f"out{target}"})


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_types_and_order_stay(tmp_path, ending):
    rows = pl.DataFrame(
        {
            "when": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None],
            "day": [dt.date(2024, 1, 1), dt.date(1900, 1, 1)],
            "x": pl.Series([1.5, 2.5], dtype=pl.Float32),
            "small": pl.Series([1, None], dtype=pl.UInt8),
            "money": pl.Series([Decimal("1.10"), Decimal("2.25")], dtype=pl.Decimal(12, 2)),
            "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
            "bits": [b"\x00\xff", b""],
            "draws": pl.Series([[1.0, 2.0], [3.0]], dtype=pl.List(pl.Float32)),
            "pair": [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
            "^p.*$": [1, 2],
            "*": [True, None],
        }
    )
    given = write(rows, tmp_path / f"in{ending}")
    copied(given, tmp_path / f"out{ending}")
    found = (pl.read_parquet if ending == ".parquet" else pl.read_ipc)(tmp_path / f"out{ending}")
    assert found.columns == [*rows.columns, "twice"]
    assert found.schema == pl.Schema({**rows.schema, "twice": pl.Float64()})
    assert found.drop("twice").equals(rows)


@pytest.fixture
def unusual(require):
    """Return a table of pyarrow with types that polars does not have, and with metadata."""
    pa, pd = require("pyarrow"), require("pandas")
    grades = pd.Categorical(["low", "high"], categories=["none", "low", "high"], ordered=True)
    frame = pd.DataFrame({"x": [1.5, 2.5], "grade": grades}, index=[7, 5])
    day = dt.datetime(2024, 1, 1)
    columns = {"day": pa.array([day.date()] * 2, pa.date64()), "": pa.array([1, 2])}
    columns["price"] = pa.array([Decimal("1.5")] * 2, pa.decimal256(50, 6))
    columns["india"] = pa.array([day] * 2, pa.timestamp("us", tz="+05:30"))
    table = pa.Table.from_pandas(frame)
    for name, values in columns.items():
        table = table.append_column(name, values)
    return table


@pytest.mark.parametrize("source", [".parquet", ".arrow"])
@pytest.mark.parametrize("target", [".parquet", ".arrow"])
def test_what_only_pyarrow_has_stays(tmp_path, unusual, require, source, target):
    pq, feather = require("pyarrow.parquet"), require("pyarrow.feather")
    tools = {".parquet": (pq.write_table, pq.read_table), ".arrow": (feather.write_feather, feather.read_table)}

    def kept(table, path):
        tools[path.suffix][0](table, path)
        return tools[path.suffix][1](path)

    expected = kept(kept(unusual, tmp_path / f"in{source}"), tmp_path / f"expected{target}")
    copied(tmp_path / f"in{source}", tmp_path / f"out{target}")
    found = tools[target][1](tmp_path / f"out{target}")
    assert found.drop_columns("twice").equals(expected, check_metadata=True)
    assert found["twice"].to_pylist() == [3.0, 5.0]
    back = found.select(["x", "grade", "__index_level_0__"]).to_pandas()
    assert back.index.tolist() == [7, 5]
    assert list(back["grade"].cat.categories) == ["none", "low", "high"]
    assert back["grade"].cat.ordered


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_column_without_a_name(tmp_path, ending):
    """As `DataFrame.to_csv` of pandas writes an index."""
    given = write(pl.DataFrame({"": [0, 1], "x": [1.5, 2.5]}), tmp_path / f"in{ending}")
    copied(given, tmp_path / f"out{ending}")
    found = open_table(tmp_path / f"out{ending}").head(2)
    assert (found.columns, found.rows()) == (["", "x", "twice"], [(0, 1.5, 3.0), (1, 2.5, 5.0)])


def test_texts_of_a_csv_stay(tmp_path):
    text = 'id;x;note;flag\n007;0,50;"a;b ""c""";1e3\n010;-1,25;;true\n'
    (tmp_path / "in.csv").write_text(text)
    copied(tmp_path / "in.csv", tmp_path / "out.csv", dialect=Dialect(";", None, True))
    expected = 'id;x;note;flag;twice\n007;0,50;"a;b ""c""";1e3;1,0\n010;-1,25;;true;-2,5\n'
    assert (tmp_path / "out.csv").read_text() == expected


@pytest.mark.parametrize(("ending", "separator"), [(".csv.gz", ","), (".csv.zst", ","), (".tsv", "\t")])
def test_packed_and_tabs(tmp_path, ending, separator):
    (tmp_path / "in.csv").write_text("x\n1\n2\n")
    copied(tmp_path / "in.csv", tmp_path / f"out{ending}")
    assert pl.read_csv(tmp_path / f"out{ending}", separator=separator)["twice"].to_list() == [2.0, 4.0]
    if ending != ".tsv":
        assert (tmp_path / f"out{ending}").read_bytes()[:2] in (b"\x1f\x8b", b"\x28\xb5")


def test_many_batches_keep_their_order(tmp_path):
    n, seen = 700_000, []
    write(pl.DataFrame({"k": np.arange(n), "x": np.arange(n) / 8}), tmp_path / "in.parquet")
    noted = Change(("x",), {"twice": pl.Float64()}, lambda frame: seen.append(frame.height) or doubled(frame))
    assert copied(tmp_path / "in.parquet", tmp_path / "out.parquet", noted) == n
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert (found["k"].to_numpy() == np.arange(n)).all()
    assert (found["twice"].to_numpy() == np.arange(n) / 4).all()
    assert len(seen) > 1


def test_a_column_is_replaced_in_its_place_and_the_mode_of_the_old_file_stays(tmp_path):
    write(pl.DataFrame({"a": [1], "x": [2.5], "b": [3]}), tmp_path / "in.parquet")
    (tmp_path / "out.parquet").touch(mode=0o640)
    negated = Change(("x",), {"x": pl.Float64()}, lambda frame: {"x": -frame["x"]})
    copied(tmp_path / "in.parquet", tmp_path / "out.parquet", negated)
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == [(1, -2.5, 3)]
    assert (tmp_path / "out.parquet").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_no_rows(tmp_path, ending):
    write(pl.DataFrame({"x": [1.0]}).clear(), tmp_path / f"in{ending}")
    assert copied(tmp_path / f"in{ending}", tmp_path / f"out{ending}") == 0
    assert open_table(tmp_path / f"out{ending}").head(1).columns == ["x", "twice"]


def written(frame):
    frame.write_parquet(buffer := io.BytesIO())
    return buffer.getvalue()


PLAIN = written(pl.DataFrame({"x": np.arange(9000.0)}))
SPAN = written(pl.DataFrame({"x": [1.0], "span": [dt.timedelta(seconds=1)]}))
LISTS = written(pl.DataFrame({"x": [1.0], "draws": [[1.0]]}))
LATE, LONG = b"x\n" + b"1\n" * 20_000 + b"oops\n", b"x,name\n1,a\n2,b,more\n3,c\n"
REFUSED = [
    ("in.parquet", LISTS, "csv", r"cannot contain lists, .* \('draws'\); write Parquet"),
    ("in.parquet", SPAN, "csv", r"cannot write .*out.csv: .*\. Parquet takes most types"),
    ("in.parquet", PLAIN[:2000] + bytes(500) + PLAIN[2500:], "parquet", "cannot be read as Parquet"),
    ("in.csv", b"x,x\n1,2\n", "csv", "two columns named 'x'"),
    ("in.csv", LATE, "csv", "column 'x' of .* contains numbers in its first rows and later 'oops'"),
    ("in.csv", LONG, "csv", "line 3 has 3 fields, and the header 2"),
    ("in.csv", LONG, "parquet", "line 3 has 3 fields, and the header 2"),
]


@pytest.mark.parametrize(("name", "content", "ending", "words"), REFUSED)
def test_what_cannot_be_copied_leaves_the_old_file(tmp_path, refusal, name, content, ending, words):
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"out.{ending}").write_text("old")
    assert re.search(words, refusal(copied, tmp_path / name, tmp_path / f"out.{ending}"))
    assert (tmp_path / f"out.{ending}").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_without_pyarrow(tmp_path, monkeypatch, refusal):
    source = write(pl.DataFrame({"x": [1.0]}), tmp_path / "in.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'calibrant[cli]'" in refusal(copied, source, tmp_path / "out.csv", error=MissingExtraError)


def test_more_digits_than_at_first_and_keys_that_come_late_in_ndjson(tmp_path):
    (tmp_path / "in.csv").write_text("x\n" + "1\n" * 20_000 + "0.5\n")
    copied(tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().endswith("\n1,2.0\n0.5,1.0\n")
    lines = ['{"x": 1}'] * 20_000 + ['{"x": 2.5, "late": "a"}']
    (tmp_path / "in.ndjson").write_text("\n".join(lines) + "\n")
    assert copied(tmp_path / "in.ndjson", tmp_path / "out.parquet") == 20_001
    assert pl.read_parquet(tmp_path / "out.parquet").rows()[-1] == (2.5, "a", 5.0)
