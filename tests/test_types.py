"""What type checkers see in a user's program: every verb with its result, and misspelt options refused."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant
from calibrant.core.catalogue import RANKINGS, entries

NAMES = {"FloatArray": "NDArray[np.float64]", "RankArray": "NDArray[np.int64]"}
HEAD = """
from functools import partial
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import calibrant as cb
from calibrant.results import Calibration, Curve, Recalibration, RecalibrationGain, TestResult
from calibrant.results import CrpsDecomposition, Decomposition, Direction, QuantileDecomposition

data: Any = None
"""


def program():
    """Return a program that calls every verb rightly and wrongly, and the numbers of the wrong lines."""
    lines, wrong = HEAD.splitlines(), []
    for name, entry in sorted({**entries(), **RANKINGS}.items()):
        returns = inspect.signature(entry.verb).return_annotation
        for alias, meaning in NAMES.items():
            returns = returns.replace(alias, meaning)
        spaces = ("kernel_errors", "ranking", "regions")
        space = next((f"{ns}." for ns in spaces if name in getattr(calibrant, ns).__all__), "")
        given = "data, data" if entry.outcome else "data"
        lines.append(f"assert_type(cb.{space}{name}({given}), {returns})")
        lines.append(f"cb.{space}{name}({given}, binz=3)")
        wrong.append(len(lines))
        lines.append(f"cb.{space}{name}({given}, 3)")
        wrong.append(len(lines))
    lines += [
        "assert_type(cb.ece([0, 1], [0.2, 0.7], bins=10), float)",
        "assert_type(cb.kuiper_test([0, 1], np.array([0.2, 0.7])), TestResult)",
        "assert_type(partial(cb.ece, bins=3)(data, data), float)",
        "assert_type(cb.simulate_calibration(data, data, data, n=20, draws=9), Calibration)",
        "assert_type(cb.recalibrate([0, 1], [0.2, 0.7], method='isotonic'), Recalibration)",
        "assert_type(cb.recalibration_gain([0, 1], [0.2, 0.7], method='temperature'), RecalibrationGain)",
        "assert_type(cb.Samples([[1.0, 2.0], [3.0]]).thin(rng=0), cb.Samples)",
    ]
    for call in (
        'cb.ece(data, data, bins="many", norm=3)',
        'cb.ece(data, data, norm="l3")',
        "cb.nothing(data)",
        "cb.simulate_calibration(data, n=20)",
        "cb.recalibrate(data, data, metod='beta')",
        "cb.recalibration_gain(data, data, fold=5)",
    ):
        lines.append(call)
        wrong.append(len(lines))
    return "\n".join(lines) + "\n", wrong


def by_pyright(path):
    settings = path.with_name("pyrightconfig.json")  # else one of a folder above would be read
    settings.write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(settings)],
        capture_output=True,
        text=True,
        cwd=path.parent,
        check=False,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {(line["range"]["start"]["line"] + 1): line["message"] for line in found if line["severity"] == "error"}


# What calibrant imports inside its functions; no signature of a verb needs it.
SKIPPED = "narwhals polars pandas pyarrow scipy numba matplotlib torch jinja2 click rich"


def by_mypy(path):
    sections = [f"[mypy-{package}.*]\nfollow_imports = skip\n" for package in SKIPPED.split()]
    path.with_name("mypy.ini").write_text("[mypy]\nstrict = true\n" + "".join(sections))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", os.devnull]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=path.parent, check=False)
    assert not done.stderr, done.stderr
    pieces = (line.split(":", 2) for line in done.stdout.splitlines() if ": error:" in line)
    return {int(number): message for file, number, message in pieces if Path(file).name == path.name}


@pytest.mark.parametrize("checker", [by_pyright, by_mypy])
def test_a_users_program(checker, tmp_path, require):
    require(checker.__name__.removeprefix("by_"))
    text, wrong = program()
    path = tmp_path / "user.py"
    path.write_text(text)
    found, lines = checker(path), text.splitlines()
    missed = [lines[k - 1] for k in wrong if k not in found]
    false = [f"{lines[k - 1]}: {message}" for k, message in found.items() if k not in wrong]
    assert not missed, "not refused: " + "; ".join(missed)
    assert not false, "refused: " + "; ".join(false)
