"""From a Parquet file to the HTML report, on the real command line: seconds and peak memory against targets.

    python -m benchmarks.audit [--quick]

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.runner import Report

TARGETS = {1_000_000: 5.0, 10_000_000: 20.0}  # rows: seconds
MEMORY = 1_000_000_000  # bytes
HELP_SECONDS = 0.4
ROUNDS = 3


def predictions(path: Path, n: int) -> None:
    """Write scores and outcomes of a model that is a little over-confident."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    y = rng.random(n) < 0.5 + 0.95 * (p - 0.5)
    pl.DataFrame({"label": y.astype(np.int8), "score": p}).write_parquet(path)


def run(*words: str) -> tuple[float, int]:
    """Return seconds and peak resident bytes of one command in a process of its own."""
    measured = (
        "import resource, subprocess, sys, time\n"
        "begun = time.perf_counter()\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "seconds = time.perf_counter() - begun\n"
        "print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", measured, sys.executable, "-m", "calibrant", *words]
    seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), int(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    report = Report("From Parquet to the report", packages=["numpy", "scipy", "polars", "matplotlib", "jinja2"])
    report.section("calibrant audit FILE --y label --p score -o report.html, no groups, best of 3")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n, limit in TARGETS.items():
            data, page = Path(folder) / "predictions.parquet", Path(folder) / "report.html"
            predictions(data, 2000 if quick else n)
            found = [run("audit", str(data), "--y", "label", "--p", "score", "-o", str(page)) for _ in range(ROUNDS)]
            seconds, peak = min(f[0] for f in found), min(f[1] for f in found)
            size = page.stat().st_size
            rows.append((f"{n:,}", f"{seconds:.2f}", f"{peak / 1e6:.0f}", f"{size / 1000:.0f}"))
            report.target(f"{n:,} rows in at most {limit:g} s", f"{seconds:.2f} s", seconds <= limit)
            report.target(f"{n:,} rows in less than 1 GB", f"{peak / 1e6:.0f} MB", peak < MEMORY)
            report.target(f"{n:,} rows: a page under 500 kB", f"{size / 1000:.0f} kB", size < 500_000)
    report.table(("rows", "seconds", "peak MB", "page kB"), rows)
    report.section("calibrant --help, best of 7")
    seconds = min(run("--help")[0] for _ in range(7))
    report.target("at most 0.4 s", f"{seconds:.2f} s", seconds <= HELP_SECONDS)
    report.say(f"\n{report.failures} targets missed")
    if not quick:
        report.save("audit")
    sys.exit(report.failures > 0)


if __name__ == "__main__":
    main()
