"""Folders, patterns and several files; rows read piece by piece, and a run that goes on."""

import json

import pytest

from calibrant.cli import audit as module
from calibrant.files import reading, run_job

NAMED = ("--y", "left", "--p", "score")


@pytest.fixture
def parts(folder, frame):
    """Return the name of a folder of three CSV files with 100 rows each."""
    (folder / "parts").mkdir()
    for k in range(3):
        frame[100 * k : 100 * k + 100].write_csv(folder / "parts" / f"part-{k}.csv")
    return "parts"


@pytest.fixture
def whole(folder, frame, run):
    """Return what is found of all rows in one file."""
    frame.write_csv(folder / "whole.csv")
    return found(run("audit", "whole.csv", *NAMED, "--by segment --json"))


def found(done):
    results = done.results
    results["names"].pop("source")
    return results


def test_several_files_are_one_set_of_rows(run, parts, whole, folder):
    by = (*NAMED, "--by", "segment", "--json")
    for files in ([parts], ["parts/*.csv"], [f"parts/part-{k}.csv" for k in range(3)]):
        assert found(run("audit", *files, *by)) == whole
    assert "parts (3 files)" in run("audit", parts, *by).out
    (folder / "parts" / "part-9.csv").write_text("left,score,segment\n")  # without rows
    assert found(run("audit", parts, *by)) == whole


def test_check_takes_a_folder_but_not_one_without_rows(run, refused, parts):
    assert run("check", parts, *NAMED, "--fail-if 'ece > 0.9'").code == 0
    assert run("check", parts, *NAMED, "--fail-if 'ece > 0.01' --stream").code == 1
    sentence = "the 3 files, from parts/part-0.csv on, have nothing to measure: --where 'age > 1000' keeps none of the"
    for options in ("", " --stream"):
        assert refused("audit", parts, *NAMED, f"--where 'age > 1000'{options}").startswith(sentence)


def test_folders_give_columns(run, folder, frame):
    for region in ("north", "south"):
        (folder / "hive" / f"region={region}").mkdir(parents=True)
        frame.write_parquet(folder / "hive" / f"region={region}" / "0.parquet")
    done = run("audit", "hive", *NAMED, "--by region")
    assert "region = north" in done.out
    north = found(run("audit", "hive", *NAMED, "--where 'region = north' --json"))
    assert north["n"] == 300


def test_a_file_that_differs(refused, parts, folder, frame):
    (folder / parts / "part-1.csv").write_text("left,other\n0,0.5\n")
    assert refused("audit", parts, *NAMED).startswith("parts/part-1.csv has no column 'score'.")
    (folder / parts / "part-1.csv").write_text("left,score\nyes,0.5\n")
    sentence = "column 'left' of parts/part-1.csv contains texts, but numbers in parts/part-0.csv; save all files with"
    assert refused("audit", parts, *NAMED).startswith(sentence)
    (folder / parts / "part-1.csv").write_text("left,score\n0,0.5\n1,7.5\n")
    sentence = refused("audit", parts, *NAMED)
    assert "row 1 of parts/part-1.csv is 7.5" in sentence
    assert "(in parts, y is column 'left', prediction is 'score'; rows are counted from 0)" in sentence
    assert "parts/part-1.csv, rows 0 to 1: " in refused("audit", parts, *NAMED, "--stream")
    (folder / parts / "part-1.csv").write_text("left,score,age\n0,0.5,old\n")
    sentence = "column 'age' of parts/part-1.csv contains texts, but numbers in parts/part-0.csv"
    assert refused("audit", parts, *NAMED, "--where 'age > 1'").startswith(sentence)
    frame.write_parquet(folder / parts / "all.parquet")
    assert "parts/all.parquet is Parquet and parts/part-0.csv is CSV" in refused("audit", parts, *NAMED)


def test_rows_in_pieces_give_the_same_verdict(run, parts, whole, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 64)
    for options in (["--stream"], ["--stream", "--exact"]):
        pieces = found(run("audit", parts, *NAMED, "--by segment --json", *options))
        assert pieces["n"] == whole["n"]
        assert pieces["verdict"]["status"] == whole["verdict"]["status"]


def test_labels_of_pieces(run, folder, vectors, frame, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 64)
    vectors.write_parquet(folder / "pets.parquet")
    done = run("audit", "pets.parquet", "--y pet --p-cols 'p_*' --stream")
    assert done.code == 0
    assert "labels are taken from the names of the columns" in done.err
    frame.write_parquet(folder / "people.parquet")
    yes = run("audit", "people.parquet", "--y churned --p score --pos-label yes --stream --json")
    assert found(yes)["n"] == 300


def test_many_rows_are_read_in_pieces(run, parts, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "MAX_ROWS_AT_ONCE", 250)
    stream = module._stream
    monkeypatch.setattr(module, "_stream", lambda *a, **k: seen.append(k) or stream(*a, **k))
    assert run("audit", parts, *NAMED).code == 0
    assert len(seen) == 1
    monkeypatch.setattr(module, "MAX_ROWS_AT_ONCE", 1000)
    assert run("audit", parts, *NAMED).code == 0
    assert len(seen) == 1


def test_other_kinds_are_read_in_pieces_too(run, folder, frame, monkeypatch):
    import polars as pl

    frame.with_columns(low=pl.col("score") - 1, high=pl.col("score") + 1).write_parquet(folder / "x.parquet")
    asked = ("audit", "x.parquet", "--y left --lower low --upper high --level 0.9 --by segment --json")
    assert run(*asked, "--stream").results == run(*asked).results
    monkeypatch.setattr("calibrant.core.row_sample.MAX_ROWS_KEPT", 250)
    assert "250 rows of them, drawn at random" in run(*asked, "--stream").out


def test_a_run_goes_on(run, refused, parts, folder, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 64)
    monkeypatch.setattr(run_job, "CHECKPOINT_BATCHES", 1)
    monkeypatch.setattr(run_job, "MAX_CHECKPOINT_SHARE", float("inf"))
    command = ("audit", parts, *NAMED, "--resume", "-o", "report.html", "--json", "found.json")
    good = (folder / parts / "part-2.csv").read_text()
    (folder / parts / "part-2.csv").write_text("left,score\n0,0.5\n1,7.5\n")
    done = run(*command)
    assert done.code == 2
    assert "The 200 rows before are kept in report.html.checkpoint: fix the file" in done.err
    assert "resuming after 200 rows" in run(*command).err
    (folder / parts / "part-2.csv").write_text(good)
    done = run(*command)
    assert done.code == 0
    assert "calibrant: resuming after 200 rows, which are kept in report.html.checkpoint" in done.err
    assert sorted(path.name for path in folder.iterdir()) == ["found.json", "parts", "report.html"]
    other = run("audit", parts, *NAMED, "--stream --json")
    assert json.loads((folder / "found.json").read_text()) == json.loads(other.out)
    (folder / "calibrant.checkpoint").write_text("hello")
    assert refused("audit", parts, *NAMED, "--resume").startswith("calibrant.checkpoint cannot be read as a checkpoint")


def test_lists_of_different_lengths_in_two_files(refused, folder, require):
    pl = require("polars")
    (folder / "lists").mkdir()
    for name, size in (("a", 3), ("b", 4)):
        pl.DataFrame({"y": [0.0, 1.0], "draws": [[0.5] * size] * 2}).write_parquet(folder / "lists" / f"{name}.parquet")
    sentence = "column 'draws' of lists/b.parquet contains lists of lengths (4,), and of lengths (3,) in the files bef"
    assert refused("audit", "lists", "--y y --draws draws").startswith(sentence)


@pytest.mark.parametrize("late", ["dog", "fox"])
def test_labels_that_come_after_the_rows_that_are_looked_at(run, folder, require, monkeypatch, late):
    """A label of a column is right wherever it comes first; another one is refused with its row."""
    monkeypatch.setattr(module, "LABEL_ROWS", 10)
    rows = {"pet": ["cat"] * 25 + [late, "dog"] * 20, "p_cat": [0.25, 0.5, 0.75, 0.5, 0.25] * 13}
    frame = require("polars").DataFrame(rows)
    frame.with_columns(p_dog=1 - frame["p_cat"]).write_parquet(folder / "pets.parquet")
    asked = ("audit", "pets.parquet", "--y", "pet", "--p-cols", "p_*")
    done = run(*asked, "--stream --json")
    if late == "fox":
        assert done.code == 2
        assert "y must contain labels of --classes cat,dog; row 25 is 'fox'" in done.err
    else:
        assert done.results["n"] == 65
        assert done.results["verdict"]["status"] == run(*asked, "--json").results["verdict"]["status"]
