"""Time and memory of `calibrant apply`, against copying the same file with polars.

    python -m benchmarks.recalibrate_files [--rounds 3] [--quick]

Wall time is judged, for every format and for both maps. Processor time of all threads together is printed too: the work
of others on the machine hardly changes it.

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.runner import Report, added_memory, best_seconds

import calibrant as cb
from calibrant.cli.apply import run
from calibrant.cli.options import Request

ROWS = {"parquet": 10_000_000, "arrow": 10_000_000, "csv": 2_000_000, "ndjson": 1_000_000}
METHODS = ("logistic", "venn-abers")
AT_MOST = 1.5
MEMORY_ROWS = 20_000_000
MAX_MIB = 1024


def table(n: int) -> pl.DataFrame:
    """Return six columns: numbers, texts, times and a score."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "name": pl.Series(np.arange(n) % 1000).cast(pl.String),
            "score": rng.uniform(0.001, 0.999, n),
            "amount": rng.normal(size=n),
            "size": rng.normal(size=n).astype(np.float32),
            "when": pl.Series(np.arange(n) * 1_000_000).cast(pl.Datetime("us")),
        }
    )


def written(folder: Path, ending: str, n: int) -> Path:
    path, frame = folder / f"in.{ending}", table(n)
    writers = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "csv": frame.write_csv}
    writers.get(ending, frame.write_ndjson)(path)
    return path


def copied(path: Path) -> None:
    """Read and write the file as polars does it, in batches."""
    target, ending = path.with_name(f"copy{path.suffix}"), path.suffix
    if ending == ".parquet":
        pl.scan_parquet(path).sink_parquet(target)
    elif ending == ".arrow":
        pl.scan_ipc(path).sink_ipc(target)
    elif ending == ".csv":
        pl.scan_csv(path).sink_csv(target)
    else:
        pl.scan_ndjson(path, infer_schema_length=None).sink_ndjson(target)  # with fewer rows, late columns are lost


def applied(path: Path, map_path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        run(map_path, path, Request(p="score", output=path.with_name(f"out{path.suffix}")))


def map_of(folder: Path, method: str) -> Path:
    rng = np.random.default_rng(1)
    p = rng.uniform(0.001, 0.999, 20_000)
    y = (rng.random(20_000) < p**1.5).astype(np.uint8)
    return cb.recalibrate(y, p, method=method).to_json(folder / f"{method}.json")


def time_applying(report: Report, folder: Path, sizes: dict[str, int], rounds: int) -> None:
    maps = {method: map_of(folder, method) for method in METHODS}
    for ending, n in sizes.items():
        report.section(f"{ending}, {n:,} rows, 6 columns, best of {rounds} interleaved rounds")
        path = written(folder, ending, n)
        work: dict[str, Callable[[], Any]] = {"read and write": functools.partial(copied, path)}
        work |= {f"apply {name}": functools.partial(applied, path, found) for name, found in maps.items()}
        wall, cpu = best_seconds(work, rounds=rounds), best_cpu_seconds(work, rounds=rounds)
        copy = "read and write"
        rows = [
            (key, f"{wall[key]:.3f}", f"{wall[key] / wall[copy]:.2f}", f"{cpu[key]:.3f}", f"{cpu[key] / cpu[copy]:.2f}")
            for key in work
        ]
        report.table(["", "wall seconds", "ratio", "processor seconds", "ratio"], rows)
        for name in maps:
            ratio = wall[f"apply {name}"] / wall[copy]
            report.target(f"{name}: at most {AT_MOST:g} times reading and writing", f"{ratio:.2f}", ratio <= AT_MOST)


def best_cpu_seconds(work: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """Return the least processor time of each callable, of all its threads, over interleaved rounds."""
    best = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, call in work.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def inputs(n: int) -> tuple[Path, Path]:
    folder = Path(tempfile.gettempdir()) / "calibrant-recalibrate-files"
    folder.mkdir(exist_ok=True)
    path = folder / "in.parquet"
    parts = [table(min(n, 1_000_000)).lazy()] * max(1, n // 1_000_000)  # made in parts: the file exceeds their memory
    pl.concat(parts).sink_parquet(path)
    return path, map_of(folder, "logistic")


def measure_memory(report: Report, n: int) -> None:
    report.section(f"Peak memory of applying a logistic map to {n:,} rows of Parquet, in a fresh process")
    found = added_memory(applied, inputs, n)
    path = inputs(n)[0]
    rows = [
        ("apply", f"{found / 2**20:.0f}"),
        ("the rows in memory", f"{table(1_000_000).estimated_size() * n / 1e6 / 2**20:.0f}"),
    ]
    report.table(["", "MiB"], rows)
    report.target(f"at most {MAX_MIB:,} MiB", f"{found / 2**20:.0f}", found <= MAX_MIB * 2**20)
    for left in path.parent.iterdir():
        left.unlink()
    path.parent.rmdir()


def main() -> int:
    parser = argparse.ArgumentParser(description="Time and memory of calibrant apply.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--quick", action="store_true", help="little data, to see that everything runs; nothing is kept"
    )
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    report = Report("Recalibrated copies of files", packages=["numpy", "polars"])
    with tempfile.TemporaryDirectory() as folder:
        sizes = dict.fromkeys(ROWS, 50_000) if given.quick else ROWS
        time_applying(report, Path(folder), sizes, rounds)
    measure_memory(report, 1_000_000 if given.quick else MEMORY_ROWS)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("recalibrate_files")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
