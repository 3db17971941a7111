"""How the work on a Dask frame is shared out: two workers against one, from Parquet files.

    python -m benchmarks.scale_dask [--rows 60000000] [--rounds 3] [--quick]

Each worker is a process with one thread. `--quick` takes few rows to see that everything runs; its numbers mean nothing
and are not kept.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.runner import Report, best_seconds

import calibrant
from calibrant import dask as on_dask

ROWS, PARTS = 60_000_000, 40
FEWER = 20_000_000  # so few rows in as many files that Dask itself takes a share
FASTER = 1.6
AGREE = 1e-12
VERBS = ["ece", "mce", "brier_score", "log_score", "spiegelhalter_test"]
BUSY = 0.5  # processes that run per core when the report begins
ONE, TWO = "1 worker", "2 workers"


def predictions(folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Write scores and outcomes of a model that is a little over-confident; return outcomes and scores."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    y = (rng.random(n) < 0.5 + 0.95 * (p - 0.5)).astype(np.int8)
    for k in range(PARTS):
        part = slice(k * n // PARTS, (k + 1) * n // PARTS)
        frame = pl.DataFrame({"label": y[part], "score": p[part]})
        frame.with_columns(unused=pl.lit("nobody asks for this")).write_parquet(folder / f"{k:02d}.parquet")
    return y, p


@contextlib.contextmanager
def workers() -> Iterator[dict[str, Any]]:
    """Yield clients of one and of two workers."""
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        found = {}
        for name, many in ((ONE, 1), (TWO, 2)):
            cluster = LocalCluster(n_workers=many, threads_per_worker=1, processes=True, dashboard_address=":0")
            stack.enter_context(cluster)
            found[name] = stack.enter_context(Client(cluster, set_as_default=False))
        yield found


def raced(clients: dict[str, Any], work: Callable[[], Any], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the best seconds of this work on each set of workers, and what it found."""
    found: dict[str, Any] = {}

    def call(name: str) -> Callable[[], None]:
        def once() -> None:
            with clients[name].as_current():
                found[name] = work()

        return once

    return best_seconds({name: call(name) for name in clients}, rounds=rounds), found


def frames(report: Report, clients: dict[str, Any], n: int, rounds: int) -> None:
    import dask.dataframe as dd

    report.section(f"measure({', '.join(VERBS)}) of {n:,} rows in {PARTS} Parquet files, best of {rounds}")
    with tempfile.TemporaryDirectory() as folder:
        y, p = predictions(Path(folder), n)
        frame = dd.read_parquet(folder)
        best, found = raced(clients, lambda: on_dask.measure(VERBS, frame, y="label", prediction="score"), rounds)
    report.table(("", "seconds"), [(name, f"{seconds:.2f}") for name, seconds in best.items()])
    ratio = best[ONE] / best[TWO]
    if n == FEWER:
        report.say(f"2 workers are {ratio:.2f} times as fast as 1")
    else:
        report.target(f"{n:,} rows: 2 workers at least {FASTER:g} times as fast as 1", f"{ratio:.2f}", ratio >= FASTER)
    off = max(
        abs(_number(found[name][verb].value) / _number(getattr(calibrant, verb)(y, p)) - 1)
        for name in clients
        for verb in VERBS
    )
    report.target(f"the values of the arrays to {AGREE:g}", f"{off:.1e}", off <= AGREE)
    same = _bits(found[ONE]) == _bits(found[TWO])
    report.target("the same bits from 1 and 2 workers", "the same" if same else "others", same)


def _number(value: Any) -> float:
    return float(getattr(value, "statistic", value))


def _bits(found: dict[str, Any]) -> list[float]:
    return [_number(measured.value) for measured in found.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    n = 20_000 if options.quick else options.rows
    report = Report("Dask: two workers against one", packages=["numpy", "dask", "distributed", "pyarrow"])
    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        report.say("the machine is busy: two workers have less of it to share")
    with workers() as clients:
        for rows in dict.fromkeys((n, min(n, FEWER))):
            frames(report, clients, rows, options.rounds)
    report.say(f"\n{report.failures} targets missed")
    if not options.quick and options.rows == ROWS:
        report.save("scale_dask")
    sys.exit(report.failures > 0)


if __name__ == "__main__":
    main()
