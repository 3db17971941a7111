"""The composite action: the script of its last step, run as a runner would."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import calibrant as cb

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runner")
    (folder / "calibrant").symlink_to(Path(sys.prefix), target_is_directory=True)
    churn = cb.examples.churn()
    rows = "\n".join(f"{y},{p}" for y, p in zip(churn.y[:400], churn.p[:400], strict=True))
    (folder / "my predictions.csv").write_text(f"label,score\n{rows}\n")
    return folder


def step(place, **inputs):
    given = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()} | inputs
    names = {"FILE": "file", "FAIL_IF": "fail-if", "OPTIONS": "options"}
    variables = {variable: given[name] for variable, name in names.items()}
    summary = place / "summary.md"
    summary.write_text("")
    ran = subprocess.run(
        ["bash", "-e", "-c", ACTION["runs"]["steps"][-1]["run"]],
        env={**os.environ, **variables, "RUNNER_TEMP": str(place), "GITHUB_STEP_SUMMARY": str(summary)},
        cwd=place, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return ran.returncode, summary.read_text(), ran.stderr


def test_a_gate_that_fails_writes_a_summary(place):
    options = "--y label\n--p score"
    status, summary, _ = step(place, file="my predictions.csv", options=options, **{"fail-if": "ece > 0.05\nece > 0.5"})
    assert status == 1
    assert "| ❌ failed | ece |" in summary
    assert summary.count("| ece |") == 2


def test_options_are_not_run(place):
    status, _, errors = step(place, file="my predictions.csv", options="--y label\n--p $(touch owned)")
    assert status == 2
    assert "$(touch owned)" in errors
    assert not (place / "owned").exists()


def test_every_variable_of_the_script_is_an_input():
    used = ACTION["runs"]["steps"][-1]["env"].values()
    assert {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in used} < set(ACTION["inputs"])
