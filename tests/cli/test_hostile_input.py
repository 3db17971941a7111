"""Files and names that mean harm, or are broken: a right report, or status 2, one sentence and nothing half-written."""

import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import calibrant as cb
from calibrant import report

YP = ("--y", "y", "--p", "p")
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def write(folder):
    """Return a function that writes a file of the current folder."""

    def written(name, content):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return written


@pytest.fixture
def good(columns):
    """Return CSV text with columns y and p."""
    return "y,p\n" + "".join(f"{y},{p}\n" for y, p in zip(columns["left"], columns["score"], strict=True))


def test_names_that_are_markup(run, folder, frame):
    frame.rename({"score": SCRIPT, "segment": "<img src=x onerror=alert(2)>"}).write_parquet(folder / "<b>.parquet")
    names = ("--p", SCRIPT, "--by", "<img src=x onerror=alert(2)>")
    done = run("audit", "<b>.parquet", "--y left", *names, "-o report.html")
    assert (done.code, done.err) == (0, "")
    page = (folder / "report.html").read_text()
    assert not any(text in page for text in (SCRIPT, "<img src=x", "<b>.parquet"))
    assert report.read("report.html")["names"]["prediction"] == SCRIPT


def test_labels_with_quotes_and_emoji(run, folder, frame):
    labels = {"student": 'it\'s "quoted", 😀\n& more', "business": "'; DROP TABLE x; --"}
    events = frame["churned"].replace_strict({"yes": '💔 "gone"', "no": "it's fine"})
    frame = frame.with_columns(segment=frame["segment"].replace_strict(labels), churned=events)
    writers = {"a.csv": frame.write_csv, "a.parquet": frame.write_parquet, "a.ndjson": frame.write_ndjson}
    for name, save in writers.items():
        save(folder / name)
        done = run("audit", name, "--y churned --p score", "--pos-label", '💔 "gone"', "--by segment --json")
        assert done.err == ""
        groups = done.results["groups"]["columns"]["group"]
        assert sorted(groups) == sorted(f"segment = {label}" for label in labels.values())
    chosen = "segment = 'it''s \"quoted\", 😀\n& more'"
    assert run("audit", "a.parquet", "--y left --p score", "--where", chosen).code == 0


def test_names_that_steer_a_terminal(run, folder, frame, require):
    name = "\x1b[2J\x1b]0;gotcha\x07score\u202e"
    frame.rename({"score": name}).write_parquet(folder / "a.parquet")
    named = ["--y", "left", "--p", name, "--by", name, "--where", "id < 20"]
    for options in (named, ["--y", "left", "--p", "\x1b[31m"], []):
        done = run("audit", "a.parquet", *options)
        assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
    rng = np.random.default_rng(2)
    columns = {"a\x07": rng.normal(size=40), "b": rng.normal(size=40)}
    draws = {"da": rng.normal(size=(40, 9)).tolist(), "db": rng.normal(size=(40, 9)).tolist()}
    require("polars").DataFrame(columns | draws).write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", "--y 'a\x07,b' --draws da,db -o report.html")
    assert done.code == 0
    assert "\x07" not in done.out + done.err + (folder / "report.html").read_text()


@pytest.mark.parametrize("name", ["*", "^.*$", "^p.*$", "", " ", "p,q", 'say "hi"', "a\nb", "é😀", "p_duplicated_0"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_are_patterns_or_nothing(run, folder, frame, name, ending):
    frame = frame.select("left", "id", frame["score"].alias(name))
    (frame.write_csv if ending == "csv" else frame.write_parquet)(folder / f"a.{ending}")
    done = run("audit", f"a.{ending}", "--y left", "--p", name, "--where 'id < 100'")
    assert (done.code, done.err) == (0, "calibrant: --where keeps 100 of 300 rows\n")


def test_file_names_are_not_patterns(run, folder, write, good, require):
    write("a1.csv", "wrong\n1\n")
    write("a1.ndjson", '{"wrong": 1}\n')
    write("a[1].csv", good)
    write("a[1].ndjson", '{"y": 1, "p": 0.3}\n{"y": 0, "p": 0.6}\n')
    assert run("audit", "a[1].csv", *YP).code == 0
    assert run("audit", "a[1].ndjson", *YP).code == 0
    for name, scores in (("a1.arrow", [2.0, 3.0]), ("a[1].arrow", [0.3, 0.6])):
        require("polars").DataFrame({"y": [0, 1], "p": scores}).write_ipc(folder / name)
    assert run("audit", "a[1].arrow", *YP).code == 0


def test_many_groups(run, folder, require):
    rng, n = np.random.default_rng(0), 3000
    p = rng.random(n)
    g = np.where(np.arange(n) < 30, "large", rng.integers(0, 1500, n).astype(str))  # all small ones would be refused
    require("polars").DataFrame({"y": rng.random(n) < p, "p": p, "g": g}).write_parquet(folder / "a.parquet")
    done = run("audit", "a.parquet", *YP, "--by g --json")
    assert done.err == ""
    assert len(done.results["groups"]["columns"]["group"]) == len(set(g))


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "ndjson", "npz", "tsv"])
def test_empty_file(refused, write, ending):
    name = write(f"a.{ending}", "")
    assert refused("audit", name, *YP) == f"{name} is empty (0 bytes); write the predictions to it first"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "npz"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_truncated_file(refused, folder, frame, ending, part):
    whole = folder / f"whole.{ending}"
    columns = {"y": frame["left"].to_numpy(), "p": frame["score"].to_numpy()}
    writers = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "npz": lambda path: np.savez(path, **columns)}
    writers[ending](whole)
    content = whole.read_bytes()
    (folder / f"a.{ending}").write_bytes(content[: int(part * len(content))])
    assert f"a.{ending} cannot be read as " in refused("audit", f"a.{ending}", *YP)


def test_damaged_parquet_as_a_process(process, folder, frame):
    """Whatever the reader does with noise in the middle, no traceback of its own reaches the terminal."""
    frame.rename({"left": "y", "score": "p"}).write_parquet(folder / "whole.parquet", compression="uncompressed")
    content = bytearray((folder / "whole.parquet").read_bytes())
    content[-60:-12] = os.urandom(48)
    (folder / "a.parquet").write_bytes(content)
    done = process("audit", "a.parquet", *YP)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
    assert done.err.splitlines()[-1].startswith("calibrant: a.parquet cannot be read as Parquet: ")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"y,p\n", "a.csv has nothing to measure: there are no rows"),
        ("a.csv", b"PAR1\x15\x04", "a.csv is not CSV: it begins like Parquet. Add --format parquet"),
        ("a.parquet", b"y,p\n1,0.5\n0,0.25\n", "a.parquet cannot be read as Parquet"),
        ("a.ndjson", b'[{"y": 1, "p": 0.5}]', "a.ndjson cannot be read as NDJSON"),
        ("a.ndjson", b'{"y": 1, "p": 0.5}\n{"y": 0,', "a.ndjson cannot be read as NDJSON"),
        ("a.npz", b"nothing like it", "a.npz cannot be read as NPZ"),
        ("a.xlsx", b"PK\x03\x04", "a.xlsx has no ending that calibrant knows; it reads .parquet, "),
        ("a", b"y,p\n1,0.5\n", "say which (--format): 'parquet', 'csv', 'arrow', 'ndjson', 'npz'"),
        ("a.csv", b"y;p\n1;0,5\n", "it seems to be split at ';'. Add --delimiter ';'"),
        ("a.csv", b"y\tp\n1\t0.5\n", "it seems to be split at tab. Add --delimiter tab"),
        ("a.tsv", b"y,p\n1,0.5\n", "a.tsv has one column only, 'y,p', when it is split at tab; it seems to be split"),
        ("a.csv", b"y,p\n1,0.5,0.7\n", "a.csv cannot be read as CSV: line 2 has 3 fields, and the header 2. "),
        ("a.csv", "y,p\n1,0.5\n".encode("utf-16"), "a.csv is not in UTF-8 but seems to be in UTF-16. Add --encoding"),
        ("a.csv", "y,p\n1,0.5\n".encode("utf-16-le"), "Add --encoding utf-16-le"),
        ("a.csv", "y,p\n1,0.5\n".encode("utf-16-be"), "Add --encoding utf-16-be"),
        ("a.csv", "y,p\n1,0.5\n".encode("utf-32"), "Add --encoding utf-32"),
        ("a.csv", "größe,p\n1,0.5\n".encode("latin-1"), "a.csv is not in UTF-8. Add --encoding cp1252 if Windows or"),
        (
            "a.csv",
            b"y,p\nNaN,0.5\n0,0.25\n",
            "column 'y' of a.csv has no value in 1 of 2 rows, the first of them row 0",
        ),
        ("a.csv", b"y,p\n1,0.5\n,0.25\n", "column 'y' of a.csv has no value in 1 of 2 rows, the first of them row 1"),
        ("a.csv", b"y,p\n1,0.5\n,0.75\n0,0.25\n", "column 'y' of a.csv has no value in 1 of 3 rows, the first of them"),
        ("a.csv", b"y,p\n1,NA\n0,0.25\n", "row 0 (counted from 0) is the text 'NA'. Leave such cells empty, or name"),
        ("a.csv", b'y,p\n1,"0,5"\n0,"0,25"\n', "is the text '0,5'. Add --decimal-comma, or name another column"),
        ("a.csv", b"y,p\n1,\x00\n0,0.2\n", "must contain numbers; row 0 (counted from 0) is the text '\\x00'"),
        ("a.csv", b"y,p,p\n1,0.5,0.5\n", "a.csv has two columns named 'p' (--p); rename one of them"),
        ("a.csv", b"y,p\n" + b"1,1\n" * 12_000 + b"0,x\n", "row 12,000 (counted from 0) is the text 'x'"),
        ("a.csv", b"y,p\n1,inf\n0,0.5\n", "prediction must lie in [0, 1]; row 0 is inf"),
        ("a.csv", b"\n\n\n", "a.csv"),
    ],
)
def test_content_that_is_not_what_it_should_be(refused, write, name, content, sentence):
    assert sentence in refused("audit", write(name, content), *YP)


def test_numbers_that_turn_into_fractions_late_and_encodings_that_do_not_fit(run, refused, write):
    rows = "".join(f"{i % 2},{i % 2}\n" for i in range(12_000))
    assert run("audit", write("a.csv", "y,p\n" + rows + "1,0.25\n0,0.75\n"), *YP).code == 0

    write("a.csv", "größe,p\n1,0.5\n")
    assert "a.csv is not in ascii: " in refused("audit", "a.csv", "--encoding ascii", *YP)
    for encoding in ("klingon", "hex"):
        assert f"there is no encoding {encoding!r}" in refused("audit", "a.csv", "--encoding", encoding, *YP)


def test_arrays_that_are_no_columns(refused, folder):
    np.savez(folder / "a.npz", y=np.array([0, 1, 1]), p=np.array([0.5, 0.25]))
    assert "a.npz has 3 rows of 'y' and 2 of 'p'; save arrays of one length" in refused("audit", "a.npz", *YP)
    np.savez(folder / "b.npz", y=np.array([{}, 1], dtype=object), p=np.array([0.5, 0.25]))
    assert "it contains Python objects, which are not loaded" in refused("audit", "b.npz", *YP)
    np.savez(folder / "c.npz", y=np.zeros((2, 2, 2)))
    assert "c.npz contains no arrays of one or two dimensions" in refused("audit", "c.npz", *YP)
    np.savez(folder / "d.npz", P=np.zeros((2, 2)), P_1=np.zeros(2))
    assert "d.npz has two arrays that give a column 'P_1'" in refused("audit", "d.npz", *YP)
    np.save(folder / "a.npy", np.zeros((3, 2)))
    (folder / "a.npy").rename(folder / "e.npz")
    assert refused("audit", "e.npz", *YP) == "e.npz cannot be read as NPZ: it is NPY, one array without a name"


def test_folder(refused, folder):
    (folder / "sub").mkdir()
    assert refused("audit", "sub", *YP).startswith("there are no files of predictions in the folder sub; calibrant")
    (folder / "sub" / "a.csv").write_text("y,p\n")
    assert refused("audit", "sub", *YP) == "sub/a.csv has nothing to measure: there are no rows"


def test_missing_file(refused, write):
    write("predictions.csv", "y,p\n")
    sentence = "there is no file predictoins.csv. Did you mean 'predictions.csv'?"
    assert refused("audit", "predictoins.csv", *YP) == sentence
    assert refused("audit", "none/a.csv", *YP) == "there is no file none/a.csv, nor a folder none. Check the path"
    assert "there is no file " in refused("check", "none.html", "--fail-if 'ece > 0.9'")
    assert "there is no file " in refused("compare", "none.html", "predictions.csv")


SEVERAL_COMMANDS = """
import json, os, sys
from click.testing import CliRunner
from calibrant.cli.commands import commands

probe = os.mkdir("probe", 0o500), os.access("probe", os.W_OK), os.rmdir("probe")
found = [CliRunner().invoke(commands, command, prog_name="calibrant") for command in json.loads(sys.argv[1])]
print(json.dumps([probe[1], [(done.exit_code, done.stdout, done.stderr) for done in found]]))
"""


def test_without_permission(folder, write, good, as_anyone):
    """One process without the powers of root runs all commands."""
    (folder / write("secret.csv", good)).chmod(0)
    write("a.csv", good)
    (folder / "closed").mkdir()
    (folder / "closed" / "a.csv").write_text(good)
    (folder / "closed").chmod(0)
    (folder / "locked").mkdir(mode=0o500)
    commands = [
        ["audit", "secret.csv", *YP],
        ["audit", "closed/a.csv", *YP],
        ["audit", "closed/a.csv", *YP, "-o", "closed/report.html"],
        ["audit", "a.csv", *YP, "-o", "locked/report.html"],
        ["demo", "churn", "-o", "locked"],
    ]
    call = [sys.executable, "-c", SEVERAL_COMMANDS, json.dumps(commands)]
    done = subprocess.run(call, preexec_fn=as_anyone, capture_output=True, text=True, check=False)
    (folder / "closed").chmod(0o700)
    assert (done.returncode, done.stderr) == (0, "")
    may_write, (secret, *closed, locked, demo) = json.loads(done.stdout)
    if may_write:
        pytest.skip("this user may write everywhere")
    sentence = "you do not have permission to read secret.csv; ask its owner, or change that with chmod"
    assert secret == [2, "", f"calibrant: {sentence}\n"]
    for code, out, err in closed:
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert "ermission" in err or "may not" in err
    sentence = "you do not have permission to write to locked; choose another folder for -o"
    assert locked == demo == [2, "", f"calibrant: {sentence}\n"]


def test_places_that_cannot_be_written_and_pipes(refused, folder, write, good):
    write("a.csv", good)
    (folder / "taken.html").mkdir()
    assert "taken.html is a folder; name a file in it" in refused("audit", "a.csv", *YP, "-o taken.html")
    assert "there is no folder a.csv to write" in refused("audit", "a.csv", *YP, "-o a.csv/report.html")
    assert "/proc" in refused("audit", "a.csv", *YP, "-o /proc/report.html")
    os.mkfifo(folder / "pipe.csv")
    sentence = "pipe.csv is not a regular file but a device or a pipe; save its content to a file first"
    assert refused("audit", "pipe.csv", *YP) == sentence


@pytest.fixture
def full_disk(require, monkeypatch):
    """Let no file of this process grow beyond 100 bytes: what a full disk does, without one."""
    require("matplotlib.font_manager")  # keeps a list of fonts, which must not be the file that is cut short
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # nor compiled modules

    @contextmanager
    def full():
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, usual[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    return full


def test_full_disk(run, folder, write, good, full_disk, for_each):
    write("a.csv", good)

    def check(command, option, name):
        with full_disk():
            done = run(command, "a.csv", *YP, option, name, *(["--fail-if", "ece > 0.9"] if command == "check" else []))
        assert (done.code, done.err) == (2, f"calibrant: cannot write {name}: file too large\n")
        assert [path.name for path in folder.iterdir()] == ["a.csv"]

    cases = [("audit", "-o", "out.html"), ("audit", "--json", "out.json"), ("check", "--junit", "out.xml")]
    for_each({case[2]: case for case in cases}, check)


def test_full_disk_under_a_recalibrated_file(run, folder, write, good, full_disk, for_each):
    """The file that is written is named, not the one that is read."""
    write("a.csv", good)
    cb.recalibrate([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], method="identity").to_json(folder / "map.json")

    def check(name):
        with full_disk():
            done = run("apply", "map.json", "a.csv", "--p p", "-o", name)
        assert (done.code, done.err) == (2, f"calibrant: cannot write {name}: file too large\n")
        assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "map.json"]

    for_each({name: (name,) for name in ("out.csv", "out.parquet")}, check)


def test_labels_that_fit_no_column(refused, folder, vectors):
    vectors.rename({"p_bird": "p_fish"}).write_parquet(folder / "a.parquet")
    sentence = "the label 'bird' of column 'pet' fits none of the columns 'p_dog', 'p_cat', 'p_fish'. Add --classes"
    assert refused("audit", "a.parquet", "--y pet --p-cols 'p_*'").startswith(sentence)
    options = "--y pet --p-cols 'p_*' --classes dog,cat"
    assert "classes must name 3 labels for 3 columns; got 2" in refused("audit", "a.parquet", options)
