"""How many modules a first import and a first call load."""

import subprocess
import sys

import pytest

HEAVY = frozenset({"numba", "matplotlib", "pandas", "polars", "pyarrow", "scipy.stats", "torch", "sklearn"})
ROWS = "import calibrant as cb; y, p = [0, 1, 0, 1, 1] * 60, [0.1, 0.8, 0.3, 0.6, 0.9] * 60; "


def loaded(statement):
    """Return the modules that a fresh interpreter has loaded after a statement that writes nothing."""
    code = f"import sys, warnings; warnings.simplefilter('ignore'); {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "most"),
    [
        ("import calibrant", 3),
        (ROWS + "cb.ece(y, p); cb.kuiper_test(y, p)", 60),
        (ROWS + "cb.ece(cb.summarize('ece', y, p))", 60),
        (ROWS + "cb.ece(cb.summaries.Summary.from_bytes(cb.summarize('ece', y, p).to_bytes()))", 60),
        (ROWS + "cb.interval('cutoff_error', y, p)", 110),
        (ROWS + "cb.recalibrate(y, p)", 110),
        (ROWS + "cb.audit(y, p)", 150),
    ],
)
def test_a_call_loads_what_it_needs(statement, most):
    found = loaded(statement)
    assert sum(name.split(".")[0] == "calibrant" for name in found) <= most
    assert not HEAVY & found
