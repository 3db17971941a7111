"""Samplers of other packages, by real fits that are as small as can be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def fitted(require_installed, tmp_path):
    """Return a function that makes the tiny fits with a package, in a process of its own.

    These libraries set global state when they are imported: BayesFlow turns the gradients of PyTorch off.
    """

    def run(package):
        require_installed(package)
        script = Path(__file__).with_name("tiny_fits.py")
        command = [sys.executable, str(script), package]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # sbi writes logs
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_sbi(fitted):
    found = fitted("sbi")
    assert found["names"] == ["theta[0]", "theta[1]"]
    assert found["shape"] == found["batch"] == [20, 9, 2]  # sample_batched has draws first
    assert found["same bits"]
    assert found["global generator"]
    assert found["failures"] == 0
    assert found["moves with the data"] > 0.2


def test_bayesflow(fitted):
    found = fitted("bayesflow")
    assert (found["names"], found["shape"]) == (["theta[0]", "theta[1]"], [20, 9, 2])
    assert found["same bits"]
    assert found["failures"] == 0
    assert found["moves with the data"] > 0.2


def test_numpyro(fitted):
    found = fitted("numpyro")
    assert found["names"] == ["theta"]
    assert found["shape"] == [1, 9, 2]  # chains first
    assert found["same bits"]
    assert found["mean"][0] > 0.5  # the posterior is N(±2, 1/2)
    assert found["mean"][1] < -0.5
    assert found["divergences"] == 0
