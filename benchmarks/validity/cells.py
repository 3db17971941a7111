"""Run many independent simulations on several processes, and resume where the last run stopped."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.runner import Report, source_digest

from calibrant.progress import steps

SEED = 20250101


@dataclass(frozen=True)
class Cell:
    """One simulation: a procedure on a design of scores, n rows, a truth, so many repeats."""

    procedure: str
    design: str
    n: int
    truth: str
    repeats: int
    part: int = 0  # of a cell that is measured in several parts, each with its own stream

    def rng(self, seed: int = SEED) -> np.random.Generator:
        """Return the cell's own stream, which does not depend on which cells ran before."""
        return np.random.default_rng([seed, zlib.crc32(repr(self).encode())])


Counts = dict[str, int | float]  # how often something was seen, or the sum of a value
Measure = Callable[[Cell], Counts]


def run(measure: Measure, cells: Sequence[Cell], state: Path, *, processes: int) -> dict[Cell, Counts]:
    """Return what `measure` counts in each cell; finished cells are kept in `state`, one JSON line each.

    Cells that were measured with another source of calibrant are measured again. With 0 processes nothing is measured,
    and the cells that are finished are returned.
    """
    source = source_digest()
    found = _finished(state, source)
    waiting = [cell for cell in cells if cell not in found]
    print(f"{len(cells)} cells, {len(cells) - len(waiting)} of them finished before", flush=True)
    if not processes:
        return {cell: found[cell] for cell in cells if cell in found}
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # the processes share the cores, not each core
    state.parent.mkdir(parents=True, exist_ok=True)
    fresh = multiprocessing.get_context("spawn")
    with state.open("a", encoding="utf-8") as log, ProcessPoolExecutor(processes, mp_context=fresh) as pool:
        futures = {pool.submit(measure, cell): cell for cell in waiting}
        done = as_completed(futures)
        try:
            for _ in steps(len(waiting), size=1, label="cells"):
                future = next(done)
                cell, counts = futures[future], future.result()
                found[cell] = counts
                log.write(json.dumps({"source": source, "cell": asdict(cell), "counts": counts}) + "\n")
                log.flush()
        except BaseException:  # an error ends the run now, and not after the cells that wait
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {cell: found[cell] for cell in cells}


def in_parts(cells: Sequence[Cell], most: int) -> list[Cell]:
    """Divide cells into parts of at most so many repeats: an interrupted run loses no more than that.

    The first parts of all cells come first: an unfinished run shows something of every cell.
    """
    parts = []
    for cell in cells:
        starts = range(0, cell.repeats, most)
        parts += [replace(cell, repeats=min(most, cell.repeats - start), part=k) for k, start in enumerate(starts)]
    return sorted(parts, key=lambda part: part.part)


def together(found: Mapping[Cell, Counts]) -> dict[Cell, Counts]:
    """Add up the counts of the parts of each cell."""
    repeats: Counter[Cell] = Counter()
    sums: dict[Cell, Counter[str]] = {}
    for cell, counts in found.items():
        whole = replace(cell, repeats=0, part=0)
        repeats[whole] += cell.repeats
        sums.setdefault(whole, Counter()).update(counts)
    return {replace(whole, repeats=repeats[whole]): dict(counts) for whole, counts in sums.items()}


def _finished(state: Path, source: str) -> dict[Cell, Counts]:
    if not state.exists():
        return {}
    lines = [json.loads(line) for line in state.read_text(encoding="utf-8").splitlines()]
    return {Cell(**line["cell"]): line["counts"] for line in lines if line["source"] == source}


def command(
    name: str,
    description: str,
    plan: Callable[..., list[Cell]],
    simulate: Callable[[list[Cell], Path, int], Report],
) -> int:
    """Run a script of this folder: plan the cells, simulate them, keep the report, and return the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="few repeats, to see that everything runs; nothing is kept"
    )
    state = Path(__file__).parent / ".state" / f"{name}.jsonl"
    parser.add_argument("--state", type=Path, default=state, help="where finished cells are kept")
    parser.add_argument("--processes", type=int, default=2, help="0: report what is finished and measure nothing")
    parser.add_argument("--only", nargs="+", default=[], help="words of designs; their report is kept by itself")
    parser.add_argument("--most", type=int, help="data sets of a cell, of at most 10,000 rows; kept by itself too")
    given = parser.parse_args()
    cells = [cell for cell in plan(quick=given.quick) if not given.only or any(w in cell.design for w in given.only)]
    if given.most:
        first = (cell for cell in cells if cell.part == 0 and cell.n <= 10_000)
        cells = [replace(cell, repeats=min(cell.repeats, given.most)) for cell in first]
    if given.quick:
        with TemporaryDirectory() as scratch:
            simulate(cells, Path(scratch) / "quick.jsonl", given.processes)
        return 0
    report = simulate(cells, given.state, given.processes)
    part = [*given.only, *([f"most_{given.most}"] if given.most else [])]
    if part:
        report.attached.clear()  # tables of all data sets
    report.save("_".join(["validity", name, *part]).replace(" ", "_"))
    return 1 if report.failures else 0
