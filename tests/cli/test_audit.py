"""`calibrant audit` on real files: what is read, what is printed, what is written."""

import gzip

import numpy as np
import pytest

import calibrant as cb
from calibrant import report
from calibrant.cli import audit
from calibrant.files import reading

NAMED = "--y left --p score"


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
    done = run("audit", name, NAMED, "--json")
    names = {"source": name, "outcome": "left", "prediction": "score", "made": "2024-05-01"}
    assert done.err == ""
    assert done.results == cb.audit(columns["left"], columns["score"], names=names).findings.to_dict()


def test_format_and_dialect_are_told(run, folder, frame):
    frame.write_parquet(folder / "data")
    frame.write_csv(folder / "semi.txt", separator=";", decimal_comma=True)
    (folder / "wide.csv").write_bytes(frame.write_csv().encode("utf-16"))
    (folder / "data.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    files = {
        "data": "--format parquet",
        "semi.txt": "--format csv --delimiter ';' --decimal-comma",
        "wide.csv": "--encoding utf-16",
    }
    first, *others = (
        values(run("audit", file, f"{options} {NAMED} --json").results) for file, options in files.items()
    )
    assert all(other == first for other in others)
    assert values(run("audit", "data.csv.gz", NAMED, "--json").results) == first


def test_text_and_report(run, folder, data, columns):
    expected = cb.audit(columns["left"], columns["score"])
    assert run("audit", data, NAMED) == (0, f"{expected}\n", "")
    done = run("audit", data, NAMED, "-o report.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(str(expected).splitlines()[0])
    assert done.out.endswith("\nreport: report.html\n")
    embedded = report.read("report.html")
    assert embedded["verdict"]["headline"] == expected.verdict.headline
    assert embedded["names"] == {"source": "data.csv", "outcome": "left", "prediction": "score", "made": "2024-05-01"}
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "report.html"]


def test_json_and_report_at_once(run, data):
    done = run("audit", data, NAMED, "--json results.json -o report.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\nreport: report.html\nJSON: results.json\n")
    assert values(report.read("results.json")) == values(report.read("report.html"))
    done = run("audit", data, NAMED, "-o report.html --json")
    assert done.results["n"] == 300  # nothing else is on stdout
    assert done.err.endswith("\nreport: report.html\n")


def test_every_option_reaches_the_audit(run, data, columns):
    rows = np.array(columns["age"]) >= 40
    y, p, w, segment = (np.array(columns[name])[rows] for name in ("churned", "score", "w", "segment"))
    filter = "age >= 40"
    options = "--y churned --pos-label yes --p score --weights w --by segment"
    done = run("audit", data, options, "--where", filter, "--confidence 0.9 --seed 5 --json")
    assert done.err == f"calibrant: --where keeps {rows.sum()} of 300 rows\n"
    assert done.is_audit(cb.audit(y, p, pos_label="yes", weights=w, groups={"segment": segment}, level=0.9, rng=5))
    names = {"source": "data.csv", "outcome": "churned", "prediction": "score", "weights": "w", "made": "2024-05-01"}
    assert done.results["names"] == {**names, "filter": filter, "groups": "segment"}
    first, again, other = (run("audit", data, NAMED, "--seed", seed).out for seed in ("1", "1", "2"))
    assert first == again != other


def test_classes_from_the_names_of_the_columns(run, folder, vectors):
    vectors.write_parquet(folder / "pets.parquet")
    done = run("audit", "pets.parquet", "--y pet --p-cols 'p_*' --json")
    assert done.err == (
        "calibrant: labels are taken from the names of the columns: p_dog is 'dog', p_cat is 'cat', p_bird is 'bird'\n"
    )
    P = vectors.drop("pet").to_numpy()
    assert done.is_audit(cb.audit(vectors["pet"], P, classes=["dog", "cat", "bird"]))
    given = run("audit", "pets.parquet", "--y pet --p-cols 'p_*' --classes 'dog, cat,bird' --json")
    assert (given.err, given.results) == ("", done.results)


def test_class_vectors_of_an_array(run, folder):
    digits = cb.examples.digits()
    np.savez(folder / "digits.npz", y=digits.y[:300], P=digits.P[:300], names=np.arange(10))
    done = run("audit", "digits.npz", "--y y --p-cols 'P_*' --json")
    assert "P_0 is 0, P_1 is 1, P_2 is 2, ..., P_9 is 9" in done.err
    assert done.is_audit(cb.audit(digits.y[:300], digits.P[:300]))


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
    files = ("data.parquet", "decimal.parquet")
    expected, found = (run("audit", name, NAMED, "--where 'score > 0.1'") for name in files)
    assert found == expected
    assert found.code == 0


def test_groups_may_be_missing_or_predict(run, folder, frame):
    import polars as pl

    frame = frame.with_columns(segment=pl.when(pl.col("age") < 40).then(None).otherwise("segment"))
    frame.write_parquet(folder / "data.parquet")
    assert "segment = (missing)" in run("audit", "data.parquet", NAMED, "--by segment").out
    assert "score = 0." in run("audit", "data.parquet", NAMED, "--by score --where 'id < 20'").out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--y lfet --p score", "data.csv has no column 'lfet' (--y). Did you mean 'left'?"),
        ("--y left --p SCORE", "data.csv has no column 'SCORE' (--p). Did you mean 'score'?"),
        ("--y left --p zzzzz", "has no column 'zzzzz' (--p). Its columns are 'id', 'left', 'churned', "),
        (f"{NAMED} --by churned", "groups are the outcomes (churned = no and others)"),
        (f"{NAMED} --by left --stream", "--by names the outcome 'left'; leave it out"),
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
        ("--y segment --p score", "name the event with --pos-label (in data.csv, y is column 'segment'"),
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
    assert refused("audit", "data.csv", "--y p --p y") == (
        "column 'p' of data.csv has no value in 1 of 4 rows, the first of them row 1 (counted from 0). "
        "Repair them, or leave them out with --where 'p is not null'"
    )
    sentence = refused("audit", "data.csv", "--y y --p p")
    assert "row 2 is 7.0" in sentence
    assert sentence.endswith("rows are counted from 0 among the rows that have a prediction)")
    sentence = refused("audit", "data.csv", "--y y --p p --where 's = b'")
    assert sentence.endswith("rows are counted from 0 among the rows that --where keeps and that have a prediction)")
    sentence = refused("audit", "data.csv", "--y y --p p --where 'p is not null and s = b'")
    assert "row 1 is 7.0" in sentence
    assert sentence.endswith("rows are counted from 0 among the rows that --where keeps)")


def test_results_and_lists_are_not_mixed_up_with_predictions(refused, folder, frame, require):
    frame.write_ndjson(folder / "data.json")
    sentence = "data.json seems to contain results, not predictions; use calibrant check or calibrant compare."
    assert refused("audit", "data.json", NAMED).startswith(sentence)
    options = f"--format ndjson {NAMED}"
    sentence = "--json would overwrite data.json, which is an input file; choose another name"
    assert refused("audit", "data.json", options, "--json ./data.json") == sentence
    assert "missing argument 'FILE'" in refused("audit", options, "--json data.json")
    require("polars").DataFrame({"y": [0, 1], "p": [[0.5, 0.5], [0.2, 0.8]]}).write_parquet(folder / "a.parquet")
    assert refused("audit", "a.parquet", "--y y --p p").startswith(
        "column 'p' of a.parquet (--p) contains lists, and --p names the probability of one event; "
    )


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
    found = run("audit", "a.parquet", "--y y --p p --by id --by account --json", *options).results
    expected = {f"id = {2**63 + k}" for k in range(3)} | {f"account = {2**60 + k}" for k in range(3)}
    assert expected <= set(found["groups"]["columns"]["group"])


def test_covariates_of_probabilities(run, refused, folder, require, monkeypatch):
    """`all` are the columns that no other option names; parts are asked for by their share."""
    pl, rng, n = require("polars"), np.random.default_rng(0), 600
    x, p, plan = rng.normal(size=n), rng.uniform(0.2, 0.8, n), rng.choice(["a", "b"], n)
    y = (rng.random(n) < p + 0.15 * np.sign(x)).astype(int)
    pl.DataFrame({"y": y, "p": p, "age": x, "plan": plan}).write_csv(folder / "a.csv")
    expected = cb.audit(y, p, covariates={"age": x, "plan": plan}, part=0.5)
    assert expected.verdict.claims[0].subject.kind == "region"
    done = run("audit", "a.csv", "--y y --p p --covariates all --part 0.5 --json")
    assert done.is_audit(expected)
    assert "--covariates all: 2 columns are searched ('age', 'plan')" in done.err
    assert run("audit", "a.csv", "--y y --p p --covariates age,plan --part 0.5 --json").is_audit(expected)
    for options in ("--y y --p p --part 0.5", "--y y --p p --part 0.5 --stream"):
        assert "pass them too" in refused("audit", "a.csv", options)
    monkeypatch.setattr(reading, "BATCH", 250)
    assert run("audit", "a.csv", "--y y --p p --covariates all --part 0.5 --json --stream").is_audit(expected)
    monkeypatch.setattr("calibrant.core.row_sample.MAX_ROWS_KEPT", 400)
    many = run("audit", "a.csv", "--y y --p p --covariates all --stream")
    assert many.out.startswith("✗ Miscalibrated: for age ")
    assert "Covariates are searched in 400 rows, drawn at random." in many.out
    pl.DataFrame({"y": y, "p": p}).write_csv(folder / "b.csv")
    assert "is named by another option" in refused("audit", "b.csv", "--y y --p p --covariates all")


LEFT_OUT = (
    "left out: id (every value differs), code (400 different texts in 600 rows), joined (dates), income (12 missing "
    "values), plan (the same value in all rows), unit (the same value in all rows), mixed (numbers and texts), "
    "index (numbers of rows, by its name)"
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_all_leaves_out(run, refused, folder, require, monkeypatch, ending):
    """They are named with the reason; a column that the user names is refused."""
    pl, rng, n = require("polars"), np.random.default_rng(0), 600
    x, p, rows = rng.normal(size=n), rng.uniform(0.2, 0.8, n), np.arange(n)
    y = (rng.random(n) < p + 0.15 * np.sign(x)).astype(int)
    columns = {
        "id": [f"c{k}" for k in rows],
        "code": [f"c{k}" for k in rows % 400],
        "joined": np.datetime64("2024-01-01", "D") + rows % 90,
        "income": [None if k < 12 else float(k) for k in rows],
        "plan": ["a"] * n,
        "unit": [1.0] * n,
        "mixed": ["n/a", *["1", "2"] * (n // 2 - 1), "3"],
        "index": rows,
    }

    def written(name, **chosen):
        frame = pl.DataFrame({"y": y, "p": p, **chosen})
        getattr(frame, f"write_{ending}")(folder / f"{name}.{ending}")
        return f"{name}.{ending}"

    file, given = written("a", **columns, age=x), "--y y --p p --covariates"
    expected = cb.audit(y, p, covariates={"age": x}).findings
    for options in ("", " --stream"):
        monkeypatch.setattr(audit, "BATCH_ROWS", 250)
        done = run("audit", file, f"{given} all --json{options}")
        assert f"--covariates all: 1 column is searched ('age'); {LEFT_OUT}" in done.err
        assert done.results["caveats"] == [*expected.caveats, f"Covariates {LEFT_OUT}."]
        assert done.results["sections"] == expected.to_dict()["sections"]
    assert f"no column of b.{ending} can be searched; {LEFT_OUT}" in refused(
        "audit", written("b", **columns), f"{given} all"
    )
    assert "column 'income' of a" in refused("audit", file, f"{given} income,age")
    if ending == "parquet":
        sentence = (
            "column 'joined' of a.parquet must contain numbers, texts or truth values; it contains values of type Date"
        )
        assert sentence in refused("audit", file, f"{given} joined")
    assert "keeps none of the rows" in refused("audit", file, f"{given} all --where 'age > 99'")
