"""The commands as a whole: help that fits, quick, and one way to fail."""

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant import __version__
from calibrant.cli import commands as module
from calibrant.files.table_file import FORMATS

FULL = Path("/dev/full")
COMMANDS = ["audit", "check", "compare", "demo", "samples"]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_fits_80_columns_and_ends_with_examples(run, command):
    done = run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "\nExamples:\n  calibrant " in done.out
    assert run(*command, "-h") == done


LABELS = "Labels and levels of the prediction"
HEADINGS = {
    "audit": f"Columns;Prediction (one kind);{LABELS};Rows;Measuring;More rows than memory;Format of FILE;Output",
    "samples": "Conditions;Columns;Rows;Measuring;Format of FILE;Output",
}


@pytest.mark.parametrize("command", HEADINGS)
def test_help_shows_every_option_under_a_heading(run, command):
    text = run(command, "--help").out
    headings = re.findall(r"^(\w.*):$", text, flags=re.MULTILINE)
    assert headings == [*HEADINGS[command].split(";"), "Options", "Examples"]
    for option in module.commands.commands[command].params:
        assert not option.opts[0].startswith("-") or f" {option.opts[-1]}" in text
    assert ", ".join(FORMATS) in text
    files = {"audit": "FILE...", "samples": "REAL FAKE [FAKE]..."}[command]
    assert text.startswith(f"Usage: calibrant {command} [OPTIONS] {files}\n")


def test_no_command_shows_the_help(run):
    done = run()
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err
    assert run("--version").out == f"calibrant, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--frob"], "no such option"),
        (["frob"], "no such command 'frob'. See calibrant --help"),
        (["audit"], "missing argument 'FILE'. See calibrant audit --help"),
        (["demo", "churn", "b.csv"], "got unexpected extra argument (b.csv). See calibrant demo --help"),
        (["audit", "a.csv", "--y"], "option '--y' requires an argument. See calibrant audit --help"),
        (["audit", "a.csv", "--y", "a", "--y", "b"], "--y is given twice; for outcomes that are vectors write --y"),
        (["audit", "a.csv", "--p", "a", "--p", "b"], "--p is given twice; for several columns of probabilities use"),
        (["audit", "a.csv", "-o", "a.html", "-o", "b.html"], "-o is given twice; give it once. See calibrant audit"),
        (["audit", "a.csv", "--level", "95"], "95 does not lie between 0 and 1; did you mean 0.95? See calibrant"),
        (["audit", "a.csv", "--level", "nan"], "nan does not lie between 0 and 1. See"),
        (["audit", "a.csv", "--confidence", "95"], "95 does not lie between 0 and 1; did you mean 0.95? See calibrant"),
        (["audit", "a.csv", "--confidence", "95%"], "95% is a percentage; write 0.95. See calibrant"),
        (["audit", "a.csv", "--tolerance", "2 %"], "2 % is a percentage; write 0.02. See calibrant"),
        (["audit", "a.csv", "--confidence", "0.05"], "never alpha; got 0.05. Did you mean 0.95? See calibrant"),
        (["audit", "a.csv", "--crossed", "drop"], "'drop' is not one of 'swap', 'sort'"),
        (["audit", "a.csv", "--calibration-size", "0"], "0 is not in the range x>=1"),
        (["audit", "a.csv", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["audit", "a.csv", "--delimiter", "::"], "delimiter must be one character, such as ';'"),
        (["audit", "a.csv", "--format", "xls"], "'xls' is not one of 'parquet', 'csv', 'arrow', 'ndjson', 'npz'"),
        (["audit", "a.csv", "--p", "a", "--p-cols", "b*"], "--p names one column and --p-cols several; give one"),
        (["demo", "frob"], "'frob' is not one of 'churn', 'digits', 'house_prices', 'demand', 'posterior',"),
        (["samples", "a.npy", "b.npy", "--columns", "a", "--columns", "b"], "--columns is given twice; for several"),
    ],
)
def test_wrong_usage_is_one_sentence(refused, arguments, sentence):
    assert sentence in refused(*arguments)


def test_an_option_that_may_be_repeated_is_not_given_twice(run, data):
    done = run("audit", data, "--y left --p score --by segment --by age --where 'age < 25'")
    assert done.code == 0
    assert "segment = student" in done.out


@pytest.fixture
def broken(monkeypatch):
    """Return a function that lets an error occur where a function is called."""

    def patched(problem, where="calibrant.cli.audit.open_table"):
        def called(*arguments, **options):
            raise problem

        monkeypatch.setattr(where, called)

    return patched


PROBLEMS = [
    (ZeroDivisionError("x"), "something went wrong inside calibrant (ZeroDivisionError: x); this is a bug in"),
    (MemoryError(), "there is not enough memory"),
    (OSError(errno.EIO, "Input/output error", "data.csv"), "data.csv: Input/output error"),
]


@pytest.mark.parametrize(("problem", "sentence"), PROBLEMS)
def test_problems_have_their_sentences(refused, broken, data, problem, sentence):
    broken(problem)
    message = refused("audit", data, "--y left --p score")
    assert message.startswith(sentence)
    assert ("--debug" in message) == isinstance(problem, ZeroDivisionError)


@pytest.mark.parametrize("arguments", [["--debug", "audit", "none.csv"], ["audit", "none.csv", "--debug"]])
def test_debug_shows_the_traceback_too(run, arguments):
    done = run(*arguments)
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.endswith("calibrant: there is no file none.csv. Check the path\n")


def test_interrupted_quietly(run, broken, data):
    """Polars panics where it calls Python, with the interrupt in its words."""
    import polars as pl

    broken(KeyboardInterrupt())
    assert run("audit", data, "--y left --p score") == (130, "", "")
    words = "python function failed: PyErr { type: <class 'KeyboardInterrupt'> }"
    for where in ("calibrant.cli.audit.open_table", "polars.scan_csv"):
        broken(pl.exceptions.PanicException(words), where)
        assert run("audit", data, "--y left --p score") == (130, "", "")


def test_interrupted_by_a_signal(folder):
    """The command is kept busy until the signal comes."""
    code = (
        "import calibrant.cli.audit as a, time, sys\n"
        "def wait(*args, **options):\n"
        "    print('ready', flush=True); time.sleep(60)\n"
        "a.find_files = wait\n"
        "sys.argv[1:] = ['audit', 'x.csv', '--y', 'a', '--p', 'b']\n"
        "from calibrant.cli import main; main()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")


def test_help_imports_nothing_heavy(process):
    code = (
        "import sys; sys.argv = ['calibrant', '--help']\n"
        "from calibrant.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'polars', 'matplotlib', 'rich', 'numba', 'jinja2', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_module_is_the_same_command_and_names_a_missing_library(process):
    assert process("audit", "none.csv") == (2, "", "calibrant: there is no file none.csv. Check the path\n")
    code = "import calibrant.cli as cli\ncli.find_spec = lambda name: None if name == 'polars' else True\ncli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "calibrant: the command line needs polars; pip install 'calibrant[cli]'\n"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_full_disk_behind_stdout(process, data):
    with FULL.open("w") as full:
        done = process("audit", data, "--y left --p score", stdout=full)
    assert done.code == 2
    assert done.err == (
        "calibrant: the results could not be written to standard output: No space left on device. Send them elsewhere\n"
    )


def test_reader_that_goes_away(data):
    command = [sys.executable, "-m", "calibrant", "audit", data, "--y", "left", "--p", "score"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        assert (running.wait(timeout=60), running.stderr.read()) == (141, b"")


def test_terminal_without_emoji(process, folder):
    (folder / "data.csv").write_text("😀,p,y\n1,0.7,1\n0,0.4,0\n", "utf-8")
    latin = {**os.environ, "PYTHONIOENCODING": "iso-8859-1"}
    done = process("audit", "data.csv", "--y x --p p", env=latin)
    assert done == (2, "", "calibrant: data.csv has no column 'x' (--y). Its columns are '\\U0001f600', 'p', 'y'\n")
    done = process("audit", "data.csv", "--y y --p p --by '😀'", env=latin, encoding="iso-8859-1")
    assert (done.code, done.err) == (0, "")
    assert "\\U0001f600 = 1" in done.out
