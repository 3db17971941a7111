"""Running the command as a person or a build server does, on files written for the test."""

import inspect
import json
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from calibrant import examples
from calibrant.auditing import compare_points
from calibrant.auditing.audit import audit
from calibrant.auditing.job import AuditJob

REDRAWS = 99  # an audit of 300 rows then takes a seventh of the time
DIVISIONS = 399  # of pooled points; with fewer no p-value is significant
EXAMPLE_ROWS = 450  # of the examples that take long; their verdicts are those of the whole


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def results(self):
        """The JSON on stdout of a command that succeeded."""
        assert self.code == 0, self
        return json.loads(self.out)

    def is_audit(self, expected):
        """Tell whether it is the audit of the library, whatever rows and columns are called."""
        return {**self.results, "names": None} == {**expected.findings.to_dict(), "names": None}


@pytest.fixture(autouse=True)
def _few_redraws(monkeypatch, little_power):
    """Let audits redraw fewer outcomes where nothing else is asked for, by the command as by the library.

    What redraws find has its own tests; these compare the command with the library, or look at something else.
    """
    monkeypatch.setitem(inspect.unwrap(audit).__kwdefaults__, "resamples", REDRAWS)
    defaults = AuditJob.__init__.__defaults__
    fewer = tuple(REDRAWS if default == 999 else default for default in defaults)
    monkeypatch.setattr(AuditJob.__init__, "__defaults__", fewer)
    monkeypatch.setattr(compare_points, "DEFAULT_RESAMPLES", DIVISIONS)


def _first_rows(part):
    """Return the first rows of a part of an example; names of columns stay whole."""
    return part[:EXAMPLE_ROWS] if isinstance(part, np.ndarray) else part


@pytest.fixture(scope="session")
def _small_examples():
    whole = {name: getattr(examples, name)() for name in ("churn", "digits", "generated")}
    return {
        name: replace(example, **{field.name: _first_rows(getattr(example, field.name)) for field in fields(example)})
        for name, example in whole.items()
    }


@pytest.fixture
def small_examples(_small_examples, monkeypatch):
    """Let examples have their first rows only."""
    for name, example in _small_examples.items():
        monkeypatch.setattr(examples, name, partial(lambda example: example, example))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1714521600")  # reports are made on 2024-05-01
    return tmp_path


def as_words(arguments):
    """Return the words of a command; a text that begins with an option is split as a shell splits it."""
    for argument in map(str, arguments):
        yield from shlex.split(argument) if argument.startswith("-") and " " in argument else [argument]


@pytest.fixture
def run(folder):
    """Return a function that runs a command in this process."""
    from calibrant.cli.commands import commands

    def done(*arguments):
        result = CliRunner().invoke(commands, list(as_words(arguments)), prog_name="calibrant")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return done


@pytest.fixture
def refused(run, folder):
    """Return a function that runs a command which must fail as promised, and returns its sentence.

    Promised are status 2, nothing on stdout, one line on stderr that is no traceback, and no new file.
    """

    def sentence(*arguments, lines=1):
        before = sorted(folder.rglob("*"))
        done = run(*arguments)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.startswith("calibrant: ")
        assert done.err.count("\n") == lines
        assert "Traceback" not in done.err
        assert sorted(folder.rglob("*")) == before
        return done.err.removeprefix("calibrant: ").rstrip("\n")

    return sentence


@pytest.fixture
def process(folder):
    """Return a function that runs the command as a process of its own."""

    def done(*arguments, **settings):
        command = [sys.executable, "-m", "calibrant", *as_words(arguments)]
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", **settings}
        result = subprocess.run(command, check=False, text=True, timeout=120, **settings)
        return Done(result.returncode, result.stdout, result.stderr)

    return done


ROWS = 300


@pytest.fixture(scope="session")
def columns():
    """Return 300 rows of over-confident predictions, and things to group, weight and filter them by."""
    rng = np.random.default_rng(7)
    p = rng.beta(0.5, 0.5, ROWS).round(4)
    left = (rng.random(ROWS) < 0.25 + 0.5 * p).astype(int)
    return {
        "id": list(range(ROWS)),
        "left": left.tolist(),
        "churned": ["yes" if event else "no" for event in left],
        "score": p.tolist(),
        "segment": rng.choice(["student", "business"], ROWS).tolist(),
        "age": rng.integers(18, 90, ROWS).tolist(),
        "w": rng.uniform(0.5, 2, ROWS).round(3).tolist(),
    }


@pytest.fixture
def frame(columns, require):
    """Return these rows as a polars frame."""
    return require("polars").DataFrame(columns)


@pytest.fixture
def data(folder, frame):
    """Return a CSV file of these rows in the current folder."""
    frame.write_csv(folder / "data.csv")
    return Path("data.csv")


@pytest.fixture
def vectors(require):
    """Return a frame of 300 rows and three classes, of which the columns are not in the order of the alphabet."""
    rng = np.random.default_rng(8)
    P = rng.dirichlet([1, 1, 1], ROWS)
    labels = np.array(["dog", "cat", "bird"])
    y = labels[[rng.choice(3, p=row) for row in P]]
    columns = {f"p_{label}": P[:, k] for k, label in enumerate(labels)}
    return require("polars").DataFrame({"pet": y.tolist(), **columns})
