"""Which files a path means."""

import os
from pathlib import Path

import pytest

from calibrant.files.found import find_files

URL = "s3://bucket/x.parquet"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a/part-10.csv", "a/part-9.csv", "a/_SUCCESS", "a/.part-9.csv.crc", "a/README.md", "b/x.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("y,p\n0,0.5\n")
    (tmp_path / "a" / "_temporary").mkdir()
    (tmp_path / "a" / "_temporary" / "part-0.csv").write_text("y,p\n0,0.5\n")
    return tmp_path


def names(path, **options):
    return [found.path.as_posix() for found in find_files(path, **options)]


def test_files(folder):
    parts = ["a/part-9.csv", "a/part-10.csv"]
    assert names("a") == names("a/*.csv") == parts
    assert names("*") == names("**/*.csv") == [*parts, "b/x.csv"]
    assert names(Path("b/x.csv")) == ["b/x.csv"]
    assert names(["b", "a/part-10.csv"]) == ["b/x.csv", "a/part-10.csv"]
    assert names(("a/part-1*", "b/x.csv")) == ["a/part-10.csv", "b/x.csv"]
    (folder / "[1].csv").write_text("y,p\n0,0.5\n")
    assert names("[1].csv") == ["[1].csv"]
    (folder / "c").mkdir()
    (folder / "c" / "rows.txt").write_text("y,p\n")
    assert names("c", format="csv") == ["c/rows.txt"]


IS_URL = f"{URL} is a URL, and calibrant reads local files. Download it first"
REFUSED = [
    ("nowhere.csv", "there is no file nowhere.csv. Check the path"),
    ("nowhere/x.csv", "there is no file nowhere/x.csv, nor a folder nowhere. Check the path"),
    ("nowhere/*.csv", "no file is like 'nowhere/*.csv'. Check the path"),
    ("empty", "there are no files of predictions in the folder empty; calibrant reads .parquet, .pq, .csv"),
    ([], "there are no files: the list of paths is empty"),
    (3, "path must be that of a file or a folder, a pattern, or a list of these; got 3"),
    ([3], "path must be that of a file or a folder, a pattern, or a list of these; got [3]"),
    (["a", "a/part-9.csv"], "the file a/part-9.csv is named twice, and its rows would count twice; name it once"),
    ("mixed", "mixed/x.csv is CSV and mixed/y.parquet is Parquet; files that are read together have one format. "),
    ("dang.csv", "dang.csv is a link to nowhere.csv, which does not exist. Check the link"),
    (os.fsdecode(b"b/bad\xff.csv"), "the name of 'b/bad\\udcff.csv' is not in UTF-8"),
    *((url, IS_URL) for url in (URL, Path(URL), [URL])),
]


def test_refusals(folder, refuses):
    (folder / "empty").mkdir()
    (folder / "mixed").mkdir()
    for name in ("x.csv", "y.parquet"):
        (folder / "mixed" / name).write_text("y,p\n")
    (folder / "dang.csv").symlink_to("nowhere.csv")
    refuses(find_files, REFUSED)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "20"], [1, 20]),
        (["01", "2"], ["01", "2"]),
        (["north", "3"], ["north", "3"]),
        (["a%2Fb", "__HIVE_DEFAULT_PARTITION__"], ["a/b", None]),
    ],
)
def test_values_of_folders(folder, texts, values):
    for text in texts:
        (folder / "hive" / f"x={text}").mkdir(parents=True)
        (folder / "hive" / f"x={text}" / "rows.csv").write_text("y,p\n")
    found = [found.constants["x"] for found in find_files("hive")]
    assert sorted(found, key=str) == sorted(values, key=str)


def test_links_to_folders_are_followed(folder):
    (folder / "far" / "x=1").mkdir(parents=True)
    (folder / "far" / "x=1" / "z.csv").write_text("y,p\n0,0.5\n")
    (folder / "a" / "more").symlink_to(folder / "far")
    (folder / "a" / "more" / "round").symlink_to(folder / "a")
    (folder / "a" / "_old").symlink_to(folder / "b")
    assert names("a") == ["a/more/x=1/z.csv", "a/part-9.csv", "a/part-10.csv"]
    assert find_files("a")[0].constants == {"x": 1}


def test_a_link_to_what_is_read_anyway(folder, refusal):
    (folder / "a" / "latest").symlink_to(folder / "b")
    (folder / "a" / "newest").symlink_to(folder / "b")
    expected = "the file a/newest/x.csv is a link to a/latest/x.csv, and its rows would count twice; name it once"
    assert refusal(find_files, "a") == expected


def test_tables_that_cannot_be_read_are_refused_and_other_files_left_out(folder, refusal):
    for name in ("_SUCCESS", ".z.csv.bz2", "README.txt", "LICENSE", "model.tar.gz", "schema.json"):
        (folder / "b" / name).write_text("other things")
    assert names("b") == ["b/x.csv"]
    for name in ("z.csv.bz2", "z.parquet.gz", "z.jsonl.zst", "z.orc", "z.xlsx"):
        (folder / "b" / name).write_text("y,p\n1,0.5\n")
        words = f"calibrant does not read files like b/{name}, and would leave its rows out. Save it in another format,"
        assert refusal(find_files, "b") == f"{words} or name those that are meant, such as '*.csv'"
        assert names("b/*.csv") == ["b/x.csv"]
        (folder / "b" / name).unlink()


@pytest.mark.parametrize("name", ["z.csv.zst", "z.csv.gz", "z.tsv.gz"])
def test_compressed_files_that_are_read(tmp_path, measure, require, name):
    pa = require("pyarrow")
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n")
    rows = "y,p\n0,0.5\n1,1.0\n".replace(",", "\t" if "tsv" in name else ",")
    with pa.CompressedOutputStream(tmp_path / name, "zstd" if name.endswith("zst") else "gzip") as file:
        file.write(rows.encode())
    assert measure(tmp_path)["brier_score"].value == pytest.approx(0.5 / 3)
    assert names(tmp_path)[1].endswith(name)


READERS = {
    "_delta_log/0.json": ("Delta Lake", "pl.scan_delta('b').sink_parquet('rows.parquet')"),
    ".hoodie/hoodie.properties": ("Hudi", "spark.read.format('hudi').load('b').write.parquet('rows')"),
    "metadata/v1.metadata.json": ("Iceberg", "pl.scan_iceberg(table).sink_parquet('rows.parquet')"),
}


@pytest.mark.parametrize("mark", READERS)
def test_tables_with_removed_rows(folder, refusal, mark):
    path, (format, call) = folder / "b" / mark, READERS[mark]
    path.parent.mkdir()
    path.write_text("{}")
    words = f"b is a table of {format}, whose files contain removed rows too. Save the rows that count with its own"
    for given in ("b", "b/*.csv", "*"):
        assert refusal(find_files, given) == f"{words} reader: {call}"
    assert names("b/x.csv") == ["b/x.csv"]


def test_the_data_of_an_iceberg_table(folder, refuses):
    for name in ("t/data/x.csv", "t/data/day=1/x.csv", "t/metadata/v1.metadata.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("y,p\n0,0.5\n")
    words = "t is a table of Iceberg, whose files contain removed rows too. "
    given = ("t/data", "t/data/day=1", "t/data/*.csv", "t/data/*/*.csv", "t/data/**/*.csv", "t/*")
    refuses(find_files, [(path, words) for path in given])
    assert names("t/data/x.csv") == ["t/data/x.csv"]
    (folder / "t/metadata/v1.metadata.json").unlink()
    assert names("t/data/*.csv") == ["t/data/x.csv"]


def test_a_folder_called_metadata(folder):
    (folder / "b" / "metadata").mkdir()
    (folder / "b" / "metadata" / "y.csv").write_text("y,p\n0,0.5\n")
    assert names("b") == ["b/metadata/y.csv", "b/x.csv"]
