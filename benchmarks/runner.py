"""Measure time and memory, and keep what was printed.

Times are compared only within one run: the callables take turns, and the best of several rounds counts, so that a busy
moment of the machine hurts nobody's ratio. Memory is measured in a fresh process, because a process that has worked
before holds freed memory that hides what a call needs.
"""

from __future__ import annotations

import datetime
import functools
import gc
import hashlib
import importlib.metadata
import multiprocessing
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import calibrant

RESULTS = Path(__file__).parent / "results"


SORT = "numpy.sort, stable"
SORTS = 3.0  # that a verb which sorts once may take; 4 of NumPy's default without vector instructions


def sort(x: Any) -> Any:
    """Sort by comparing: the unit of what sorts its rows.

    NumPy's default has vector instructions on some processors and is then ten times as fast, so a target in its unit
    would depend on the processor.
    """
    return np.sort(x, kind="stable")


def best_seconds(work: Mapping[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """Return the shortest wall time of each callable over interleaved rounds, after one round that is not timed."""
    for call in work.values():  # imports and compilers are paid for here
        call()
    best = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, call in work.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def best_fresh_seconds(statements: Mapping[str, tuple[str, str]], *, rounds: int) -> dict[str, float]:
    """Return the shortest wall time of each (setup, statement), the statement alone timed, each in a new process."""
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(rounds):
        for name, (setup, statement) in statements.items():
            best[name] = min(best[name], _fresh_seconds(setup, statement))
    return best


def _fresh_seconds(setup: str, statement: str) -> float:
    timed = (
        "import time",
        setup,
        "begun = time.perf_counter()",
        statement,
        "print(time.perf_counter() - begun)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(timed)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{statement} failed:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def added_memory(work: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]], n: int) -> int:
    """Return by how many bytes `work(*inputs(n))` raises the peak resident memory above what the inputs left.

    Both must be functions of a module, because they travel to a fresh process. There the work is done once on few rows
    first, so that the memory of imported and compiled code is not counted as that of the rows.
    """
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        return process.submit(_added_memory, work, inputs, n).result()


def _added_memory(work: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]], n: int) -> int:
    work(*inputs(1000))
    given = inputs(n)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts again at the present size
    before = _status_bytes("VmRSS")
    work(*given)
    return _status_bytes("VmHWM") - before


def _status_bytes(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}; memory is measured on Linux only")


@functools.cache  # the code that is measured is the one that was there at the start
def source_digest() -> str:
    """Return a short fingerprint of the installed package's source: which code the numbers belong to."""
    digest = hashlib.sha256()
    root = Path(calibrant.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


class Report:
    """Text that is printed as it grows and kept under `benchmarks/results`."""

    def __init__(self, title: str, *, packages: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.attached: dict[str, str] = {}
        self.failures = 0
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
        self.say(title)
        self.say("=" * len(title))
        self.say(f"{datetime.date.today().isoformat()}; Python {platform.python_version()}, {versions}")
        load = os.getloadavg()[0]  # work of others slows callables with several threads most
        self.say(
            f"calibrant {calibrant.__version__}, source {source_digest()}; {os.cpu_count()} cores, load {load:.1f}"
        )

    def say(self, text: str = "") -> None:
        """Add lines."""
        self.lines.append(text)
        print(text, flush=True)

    def section(self, title: str) -> None:
        """Add a heading."""
        self.say()
        self.say(title)
        self.say("-" * len(title))

    def table(self, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table: the first column to the left, the others to the right."""
        lines = [header, *rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
        for line in lines:
            first, *others = (
                cell.rjust(width) if k else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            self.say("  ".join([first, *others]).rstrip())

    def mark(self, holds: bool) -> str:
        """Return PASS or FAIL, and count the failures."""
        self.failures += not holds
        return "PASS" if holds else "FAIL"

    def target(self, words: str, measured: str, holds: bool) -> None:
        """Add a line that says whether a target is met."""
        self.say(f"{self.mark(holds)}  {words}: {measured}")

    def attach(self, name: str, text: str) -> None:
        """Add a file that is written with the report, such as a table for machines."""
        self.attached[name] = text

    def save(self, name: str) -> None:
        """Write the text to `results/<name>.txt`, and what is attached beside it."""
        RESULTS.mkdir(exist_ok=True)
        for file, text in self.attached.items():
            (RESULTS / file).write_text(text, encoding="utf-8")
        (RESULTS / f"{name}.txt").write_text("\n".join(self.lines) + "\n", encoding="utf-8")
