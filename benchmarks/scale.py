"""Files larger than one likes to hold in memory: seconds against merely decoding them, memory, sizes of summaries.

    python -m benchmarks.scale [--quick] [--folder FOLDER]

Writes 2 GB of Parquet files below FOLDER, if none is given where temporary files go. They stay in the page cache, so
that decoding is timed without the disk. `--quick` takes few rows to see that everything runs; its numbers mean nothing
and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks.runner import Report, best_seconds

import calibrant as cb

FILES, ROWS = 20, 10_000_000  # files, and rows of each
VERBS = (
    cb.ece,
    cb.brier_score,
    cb.spiegelhalter_test,
    cb.kolmogorov_smirnov_test,
    cb.kuiper_test,
    cb.reliability_curve,
)
LIMIT, MEMORY, LINEAR = 1.7, 500_000_000, 1.25
ROUNDS = 7
COUNTED = 1 << 21
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
OF_ONE_PROBABILITY = (
    "ece",
    "brier_score",
    "log_score",
    "spiegelhalter_test",
    "kuiper_test",
    "decompose",
    "mmce",
    "skce",
)


def pairs(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return outcomes and scores of a model that is a little over-confident."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return (rng.random(n) < 0.5 + 0.97 * (p - 0.5)).astype(np.int8), p


def write(folder: Path, files: int, rows: int) -> list[Path]:
    """Write files of predictions, as polars writes them by default."""
    found = []
    for k in range(files):
        found.append(folder / f"part-{k:03}.parquet")
        y, p = pairs(rows, seed=k)
        pl.DataFrame({"y": y, "p": p}).write_parquet(found[-1])
    return found


def decode(files: list[Path]) -> None:
    """Decode both columns and forget them."""
    for _ in pl.scan_parquet(files).select("y", "p").collect_batches(maintain_order=True):
        pass


def scan(files: list[Path]) -> dict[str, cb.results.Measured]:
    """Measure all in one pass."""
    return cb.scan(files, y="y", prediction="p").measure(VERBS)


def bare(files: list[Path]) -> None:
    """Do nothing with decoded batches but count their rows in cells: the least that any way of measuring does."""
    from calibrant.core.cells import UnitRows, cell_sums_of_pieces

    batches = pl.scan_parquet(files).select("y", "p").collect_batches(maintain_order=True, chunk_size=1 << 21)
    chunks = (zip(frame["y"].get_chunks(), frame["p"].get_chunks(), strict=True) for frame in batches)
    pieces = (UnitRows(y.to_numpy().view(np.uint8), p.to_numpy()) for pair in chunks for y, p in pair)
    assert cell_sums_of_pieces(pieces) is not None


def processor_time(work: Callable[[], Any], n: int) -> float:
    """Return nanoseconds of all processors a row."""
    begun = time.process_time()
    work()
    return 1e9 * (time.process_time() - begun) / n


def time_scan(report: Report, files: list[Path]) -> None:
    report.section("Six verbs in one pass over Parquet files of y (int8) and p (float64), against decoding them")
    rows, seconds = [], {}
    for some in (files[:1], files):
        n = sum(pl.scan_parquet(file).select(pl.len()).collect().item() for file in some)
        work = {each.__name__: functools.partial(each, some) for each in (decode, bare, scan)}
        found = best_seconds(work, rounds=ROUNDS)
        seconds[n] = found["scan"]
        ratio = found["scan"] / found["decode"]
        peak = peak_memory("scan", some)
        times = (*(f"{found[name]:.2f}" for name in work), f"{ratio:.2f}", f"{1e9 * seconds[n] / n:.1f}")
        rows.append((f"{n:,}", *times, f"{peak / 1e6:.0f}"))
        report.target(f"{n:,} rows in less than 500 MB", f"{peak / 1e6:.0f} MB", peak < MEMORY)
        if some is files:  # of few rows the first batch is waited for, and so is the last
            report.target(f"{n:,} rows in at most {LIMIT} times the time of decoding", f"{ratio:.2f}", ratio <= LIMIT)
    report.table(("rows", "decode s", "bare s", "scan s", "ratio", "ns a row", "peak MB"), rows)
    spent = {name: processor_time(each, n) for name, each in work.items()}
    report.say("bare: decoded batches are counted in cells by the compiled loop, and nothing else is done")
    report.say(f"processor time, ns a row: {', '.join(f'{name} {each:.1f}' for name, each in spent.items())}")
    (few, first), (many, last) = seconds.items()
    growth = (last / many) / (first / few)
    report.target(f"time grows in proportion from {few:,} to {many:,} rows, times", f"{growth:.2f}", growth <= LINEAR)
    for name, (value, rounding) in scan(files).items():
        if isinstance(number := getattr(value, "estimate", value), float):
            bound = rounding["estimate"] if isinstance(rounding, dict) else rounding
            report.say(f"{name}: {number:.9g}, at most {bound:.2g} from that of the rows")


def peak_memory(work: str, files: list[Path]) -> int:
    """Return the peak resident memory, in bytes, of a fresh process that does nothing but this work."""
    measured = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        f"from benchmarks.scale import {work}\n"
        f"{work}([Path(name) for name in sys.argv[1:]])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    command = [sys.executable, "-c", measured, *map(str, files)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def exact(files: list[Path]) -> dict[str, cb.results.Measured]:
    """Measure what needs all rows, which are sorted in memory."""
    return cb.scan(files, y="y", prediction="p").measure([cb.kuiper_test, cb.mmce], exact=True)


def time_exact(report: Report, files: list[Path]) -> None:
    report.section("Exact: kuiper_test and mmce of files, against sorting their scores")
    p = np.concatenate([pl.read_parquet(file)["p"].to_numpy() for file in files])
    work = {"sort": functools.partial(np.sort, p), "exact": functools.partial(exact, files)}
    found = best_seconds(work, rounds=1)
    peak = peak_memory("exact", files)
    times = (f"{found['sort']:.1f}", f"{found['exact']:.1f}", f"{found['exact'] / found['sort']:.1f}")
    report.table(("rows", "np.sort s", "exact s", "ratio", "peak MB"), [(f"{len(p):,}", *times, f"{peak / 1e6:.0f}")])


def time_counting(report: Report) -> None:
    report.section(f"Counting {COUNTED:,} rows of one probability in cells by the compiled loop, on one thread")
    y, p = pairs(COUNTED)
    scores = {"any": p, "float32": p.astype(np.float32), "two decimals": p.round(2), "one decimal": p.round(1)}
    work = {name: functools.partial(count, y.view(np.uint8), each) for name, each in scores.items()}
    found = best_seconds(work, rounds=ROUNDS)
    report.table(("scores", "ns a row"), [(name, f"{1e9 * each / COUNTED:.1f}") for name, each in found.items()])


def count(y: Any, p: Any) -> None:
    """Count rows in cells."""
    from calibrant.core.cells import UnitRows, cell_sums_of_pieces

    assert cell_sums_of_pieces([UnitRows(y, p)]) is not None


def time_summaries(report: Report, sizes: tuple[int, ...]) -> None:
    report.section("What one verb keeps of n rows of one probability, and how long it takes to make")
    rows = []
    for verb in OF_ONE_PROBABILITY:
        cells = []
        for n in sizes:
            y, p = pairs(n)
            seconds, size = measured(functools.partial(cb.summarize, verb, y, p))
            cells.append(f"{size / 1000:,.1f} kB, {1e9 * seconds / n:.1f} ns")
        rows.append((verb, type(cb.summarize(verb, *pairs(1000))).__name__, *cells))
    report.table(("verb", "summary", *(f"{n:,} rows" for n in sizes)), rows)


def measured(make: Callable[[], cb.summaries.Summary]) -> tuple[float, int]:
    """Return the best time, and the size of the summary as bytes."""
    make()
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        summary = make()
        best = min(best, time.perf_counter() - begun)
    return best, len(summary.to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    report = Report("More rows than memory", packages=["numpy", "scipy", "polars", "numba"])
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        files = write(Path(folder), FILES, 1000 if chosen.quick else ROWS)
        time_scan(report, files)
        time_exact(report, files[:5])
    time_counting(report)
    time_summaries(report, SIZES[:2] if chosen.quick else SIZES)
    report.say(f"\n{report.failures} targets missed")
    if not chosen.quick:
        report.save("scale")
    sys.exit(report.failures > 0)


if __name__ == "__main__":
    main()
