"""`calibrant audit` on real files: what is read, what is printed, what is written."""

import json

import numpy as np
import pytest

import calibrant as cb
from calibrant import report

NAMED = "--y left --p score"


def results(done):
    assert (done.code, done.err) == (0, ""), done
    return json.loads(done.out)


def values(found):
    return {m["name"]: m["value"] for section in found["sections"] for m in section["measurements"]}


WRITERS = {
    "data.parquet": lambda frame, path: frame.write_parquet(path),
    "data.pq": lambda frame, path: frame.write_parquet(path),
    "data.csv": lambda frame, path: frame.write_csv(path),
    "data.tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "DATA.CSV": lambda frame, path: frame.write_csv(path),
    "data.arrow": lambda frame, path: frame.write_ipc(path),
    "data.feather": lambda frame, path: frame.write_ipc(path, compression="zstd"),
    "stream.arrow": lambda frame, path: frame.write_ipc_stream(path),
    "data.ndjson": lambda frame, path: frame.write_ndjson(path),
    "data.jsonl": lambda frame, path: frame.write_ndjson(path),
    "data.npz": lambda frame, path: np.savez(path, **{c.name: c.to_numpy().astype(_plain(c)) for c in frame}),
}


def _plain(column):
    return str if column.to_numpy().dtype.kind == "O" else column.to_numpy().dtype


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_numbers_of_the_library(run, folder, frame, columns, name):
    WRITERS[name](frame, folder / name)
    found = results(run("audit", name, NAMED, "--json"))
    assert (
        found
        == cb.audit(
            columns["left"],
            columns["score"],
            names={"source": name, "outcome": "left", "prediction": "score", "made": "2024-05-01"},
        ).findings.to_dict()
    )


def test_format_and_dialect_are_told(run, folder, frame):
    frame.write_parquet(folder / "data")
    expected = values(results(run("audit", "data", "--format parquet", NAMED, "--json")))
    frame.write_csv(folder / "semi.txt", separator=";", decimal_comma=True)
    options = "--format csv --delimiter ';' --decimal-comma"
    assert values(results(run("audit", "semi.txt", options, NAMED, "--json"))) == expected
    (folder / "wide.csv").write_bytes(frame.write_csv().encode("utf-16"))
    assert values(results(run("audit", "wide.csv", "--encoding utf-16", NAMED, "--json"))) == expected


def test_compressed_csv(run, folder, frame):
    import gzip

    (folder / "data.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    assert results(run("audit", "data.csv.gz", NAMED, "--json"))["n"] == 300


def test_plain_text_is_the_default(run, data, columns):
    done = run("audit", data, NAMED)
    expected = cb.audit(columns["left"], columns["score"])
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{expected}\n"


def test_report(run, folder, data, columns):
    done = run("audit", data, NAMED, "-o report.html")
    expected = cb.audit(columns["left"], columns["score"])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(str(expected).splitlines()[0])
    assert done.out.endswith("\nreport: report.html\n")
    embedded = report.read("report.html")
    assert embedded["verdict"]["headline"] == expected.verdict.headline
    assert embedded["names"] == {"source": "data.csv", "outcome": "left", "prediction": "score", "made": "2024-05-01"}
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "report.html"]


def test_json_file_and_report_at_once(run, data):
    done = run("audit", data, NAMED, "--json results.json -o report.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nreport: report.html\nJSON: results.json\n")
    assert values(report.read("results.json")) == values(report.read("report.html"))


def test_json_on_stdout_leaves_stdout_to_json(run, data):
    done = run("audit", data, NAMED, "-o report.html --json")
    assert done.code == 0
    assert json.loads(done.out)["n"] == 300
    assert done.err.endswith("\nreport: report.html\n")


def test_every_option_reaches_the_audit(run, data, columns):
    rows = np.array(columns["age"]) >= 40
    y, p, w, segment = (np.array(columns[name])[rows] for name in ("churned", "score", "w", "segment"))
    filter = "age >= 40"
    options = "--y churned --pos-label yes --p score --weights w --by segment"
    done = run("audit", data, options, "--where", filter, "--confidence 0.9 --seed 5 --json")
    assert done.err == f"calibrant: --where keeps {rows.sum()} of 300 rows\n"
    found = json.loads(done.out)
    expected = cb.audit(
        y, p, pos_label="yes", weights=w, groups={"segment": segment}, level=0.9, rng=5, names=found["names"]
    )
    assert found == expected.findings.to_dict()
    assert found["names"] == {
        "source": "data.csv",
        "outcome": "churned",
        "prediction": "score",
        "weights": "w",
        "filter": filter,
        "groups": "segment",
        "made": "2024-05-01",
    }


def test_seed_repeats_itself(run, data):
    first, again, other = (run("audit", data, NAMED, "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == again != other


def test_classes_from_the_names_of_the_columns(run, folder, vectors):
    vectors.write_parquet(folder / "pets.parquet")
    done = run("audit", "pets.parquet", "--y pet --p-cols 'p_*' --json")
    assert done.err == (
        "calibrant: labels are taken from the names of the columns: p_dog is 'dog', p_cat is 'cat', p_bird is 'bird'\n"
    )
    P = vectors.drop("pet").to_numpy()
    expected = cb.audit(vectors["pet"], P, classes=["dog", "cat", "bird"]).findings.to_dict()
    found = json.loads(done.out)
    assert values(found) == values(expected)
    given = run("audit", "pets.parquet", "--y pet --p-cols 'p_*' --classes 'dog, cat,bird' --json")
    assert (given.err, json.loads(given.out)) == ("", found)


def test_class_vectors_of_an_array(run, folder):
    digits = cb.examples.digits()
    np.savez(folder / "digits.npz", y=digits.y[:300], P=digits.P[:300], names=np.arange(10))
    done = run("audit", "digits.npz", "--y y --p-cols 'P_*' --json")
    assert "P_0 is 0, P_1 is 1, P_2 is 2, ..., P_9 is 9" in done.err
    expected = cb.audit(digits.y[:300], digits.P[:300]).findings.to_dict()
    assert values(json.loads(done.out)) == values(expected)


def test_only_needed_columns_are_read(run, folder, frame, monkeypatch):
    import polars as pl

    frame.write_parquet(folder / "data.parquet")
    plans = []
    collect = pl.LazyFrame.collect

    def watched(self, *arguments, **options):
        plans.append(self.explain())
        return collect(self, *arguments, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    assert run("audit", "data.parquet", NAMED, "--where 'age > 30'").code == 0
    assert any("PROJECT 3/7 COLUMNS" in plan and "SELECTION: " in plan for plan in plans)


def test_decimals_are_numbers(run, folder, frame):
    import polars as pl

    frame.write_parquet(folder / "data.parquet")
    frame.with_columns(pl.col("score").cast(pl.Decimal(10, 4))).write_parquet(folder / "decimal.parquet")
    expected, found = (
        run("audit", name, NAMED, "--where 'score > 0.1'") for name in ("data.parquet", "decimal.parquet")
    )
    assert found == expected
    assert found.code == 0


def test_groups_may_be_missing(run, folder, frame):
    import polars as pl

    frame = frame.with_columns(segment=pl.when(pl.col("age") < 40).then(None).otherwise("segment"))
    frame.write_parquet(folder / "data.parquet")
    assert "segment = (missing)" in run("audit", "data.parquet", NAMED, "--by segment").out


def test_one_column_may_group_and_predict(run, data):
    done = run("audit", data, NAMED, "--by score --by left --where 'id < 20'")
    assert done.code == 0
    assert "left = 1" in done.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--y lfet --p score", "data.csv has no column 'lfet' (--y). Did you mean 'left'?"),
        ("--y left --p SCORE", "data.csv has no column 'SCORE' (--p). Did you mean 'score'?"),
        ("--y left --p zzzzz", "has no column 'zzzzz' (--p). Its columns are 'id', 'left', 'churned', "),
        (f"{NAMED} --by segmnt", "has no column 'segmnt' (--by). Did you mean 'segment'?"),
        (f"{NAMED} --weights v", "has no column 'v' (--weights). Its columns are"),
        (f"{NAMED} --where 'agee > 3'", "has no column 'agee' (--where). Did you mean 'age'?"),
        ("--y left --p left", "column 'left' is named by --y and by --p; name a different one"),
        (f"{NAMED} --weights left", "column 'left' is named by --y and by --weights"),
        (f"{NAMED} --weights score", "column 'score' is named by --weights and by --p"),
        ("--y left --p-cols 'z_*'", "no column of data.csv matches 'z_*' (--p-cols). Its columns are"),
        ("--y left --p-cols 'sc*'", "only one column of data.csv matches 'sc*': 'score'. If it is the proba"),
        ("--y left --p-cols '*'", "column 'left' is named by --y and by --p-cols '*'"),
        (f"{NAMED} --where 'age > 900'", "data.csv has nothing to measure: --where 'age > 900' keeps none of the"),
        ("--y churned --p score", "name the event with --pos-label (in data.csv, y is column 'churned'"),
        ("--y left --p age", "prediction must lie in [0, 1]; row 0 is"),
        ("--y left --p segment", "must contain numbers; row 0 (counted from 0) is the text "),
        (f"{NAMED} --pos-label yes", "'yes' (--pos-label) is not a value of column 'left', which contains numbers"),
        ("--y churned --p score --pos-label ja", "pos_label 'ja' is not among the labels of y"),
        (f"{NAMED} --classes 0,1 --pos-label 1", "pass either --classes or --pos-label, not both"),
        (f"{NAMED} -o report.pdf", "the file of -o must end in .html or .htm; got report.pdf"),
        (f"{NAMED} -o none/report.html", "there is no folder none to write report.html to; make it first"),
        (f"{NAMED} --json data.csv", "the file of --json must end in .json; got data.csv"),
    ],
)
def test_what_does_not_fit_the_file(refused, data, options, sentence):
    assert sentence in refused("audit", data, options)


def test_rows_are_counted_as_they_are_kept(refused, folder):
    (folder / "data.csv").write_text("y,p,s\n1,0.5,a\n0,,b\n1,0.25,b\n0,7,b\n")
    assert refused("audit", "data.csv", "--y y --p p") == (
        "column 'p' of data.csv has no value in 1 of 4 rows, the first of them row 1 (counted from 0). "
        "Repair them, or leave them out with --where 'p is not null'"
    )
    sentence = refused("audit", "data.csv", "--y y --p p --where 'p is not null and s = b'")
    assert "row 1 is 7.0" in sentence
    assert sentence.endswith("rows are counted from 0 among the rows that --where keeps)")


def test_results_are_not_predictions(refused, run, data):
    run("audit", data, NAMED, "--json results.json")
    assert refused("audit", "results.json", NAMED).startswith(
        "results.json seems to contain results, not predictions; use calibrant check or calibrant compare."
    )


def test_input_is_never_overwritten(refused, folder, frame):
    frame.write_ndjson(folder / "data.json")
    options = f"--format ndjson {NAMED}"
    assert refused("audit", "data.json", options, "--json ./data.json") == (
        "--json would overwrite data.json, which is an input file; choose another name"
    )
    assert "missing argument 'FILE'" in refused("audit", options, "--json data.json")


def test_progress_is_for_terminals_only(process, run, data):
    import os
    import pty

    controller, terminal = pty.openpty()
    done = process("audit", data, NAMED, "--where 'id < 40'", stderr=terminal)
    os.close(terminal)
    watched = os.read(controller, 100_000).decode()
    os.close(controller)
    assert done.code == 0, watched
    assert "reading data.csv ..." in watched
    assert watched.endswith("\r\x1b[Kcalibrant: --where keeps 40 of 300 rows\r\n")
    assert run("audit", data, NAMED).err == ""


def test_labels_that_look_like_the_event(run, folder, require):
    labels = ["yes", "yes ", "Yes", "no"] * 50
    require("polars").DataFrame({"y": labels, "p": np.linspace(0.1, 0.9, 200)}).write_csv(folder / "a.csv")
    for options in ((), ("--stream",)):
        done = run("audit", "a.csv", "--y y --p p --pos-label yes", *options)
        assert done.code == 2
        assert "'yes '" in done.err or "'Yes'" in done.err
        assert "would count as a non-event" in done.err
    done = run("audit", "a.csv", "--y y --p p --pos-label no")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("options", [(), ("--stream",)])
def test_large_whole_numbers_and_decimals_are_groups(run, folder, require, options):
    """Beyond 2^53 and 2^63 neighbours stay different groups, whether the rows are read at once or not."""
    from decimal import Decimal

    pl = require("polars")
    rng = np.random.default_rng(1)
    p = rng.random(300)
    rows = {
        "y": (rng.random(300) < p).astype(int),
        "p": p,
        "id": pl.Series([2**63 + k % 3 for k in range(300)], dtype=pl.Int128),
        "account": [Decimal(2**60 + k % 3) for k in range(300)],
    }
    pl.DataFrame(rows).write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", "--y y --p p --by id --by account --json", *options)
    assert done.code == 0
    groups = {name for name in json.loads(done.out)["groups"]["columns"]["group"] if " and " not in name}
    expected = {f"id = {2**63 + k}" for k in range(3)} | {f"account = {2**60 + k}" for k in range(3)}
    assert expected <= groups


def test_lists_are_not_one_probability(refused, folder, require):
    require("polars").DataFrame({"y": [0, 1], "p": [[0.5, 0.5], [0.2, 0.8]]}).write_parquet(folder / "a.parquet")
    assert refused("audit", "a.parquet", "--y y --p p").startswith(
        "column 'p' of a.parquet (--p) contains lists, and --p names the probability of one event; "
    )
