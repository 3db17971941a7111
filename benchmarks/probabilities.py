"""Speed and memory on binary probabilities, against other packages and against targets.

    python -m benchmarks.probabilities [--rows 10000000] [--rounds 7] [--quick]

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.runner import SORT, SORTS, Report, added_memory, best_fresh_seconds, best_seconds, sort

from calibrant import ece, kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test, summarize
from calibrant.core import dispatch
from calibrant.core.catalogue import entries

BINS = 15
NUMBA, NUMPY = "calibrant ece, Numba body", "calibrant ece, NumPy body"
THREE_TESTS = "calibrant, one sort and three tests"

FASTER_THAN_PEERS = 4.0  # the Numba body against the fastest peer
ARRAYS = 4.0  # their added memory, in arrays of n doubles
IMPORT_SECONDS = 0.15
FIRST_CALL_SECONDS = 0.5
IMPORT_ROUNDS = 7
FIRST_CALL_ROUNDS = 3

SMALL_ROWS = """
import numpy as np, calibrant
from calibrant.core.catalogue import entries
ENTRIES = entries()
rng = np.random.default_rng(0)
p = rng.random({rows})
y = (rng.random({rows}) < p).astype(np.int64)
P = rng.dirichlet(np.ones(10), 1000)
k = (rng.random((1000, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=9)
"""


def calibrated_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes (int64) and uniform scores (float64)."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p).astype(np.int64), p


@contextmanager
def body(*, fast: bool) -> Iterator[None]:
    """Make calibrant take the Numba or the NumPy body whatever the number of rows."""
    kept = dispatch.FAST_ROWS
    dispatch.FAST_ROWS = 0 if fast else sys.maxsize
    try:
        if dispatch.takes_fast_body(1) is not fast:
            raise RuntimeError("Numba is not installed: install calibrant[bench]")
        yield
    finally:
        dispatch.FAST_ROWS = kept


def numba_ece(y: Any, p: Any) -> float:
    with body(fast=True):
        return ece(y, p, bins=BINS)


def numpy_ece(y: Any, p: Any) -> float:
    with body(fast=False):
        return ece(y, p, bins=BINS)


def sklearn_curve(y: Any, p: Any) -> Any:
    from sklearn.calibration import calibration_curve

    return calibration_curve(y, p, n_bins=BINS)


def torchmetrics_ece(y: Any, p: Any, *, validate: bool = True) -> float:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    # from_numpy shares memory, so that the peer is not charged for a copy.
    given = torch.from_numpy(p), torch.from_numpy(y)
    return float(binary_calibration_error(*given, n_bins=BINS, validate_args=validate))


def torchmetrics_ece_unchecked(y: Any, p: Any) -> float:
    return torchmetrics_ece(y, p, validate=False)


def mapie_ece(y: Any, p: Any) -> float:
    from mapie.metrics.calibration import expected_calibration_error

    return float(expected_calibration_error(y, p, num_bins=BINS + 1))  # it counts edges, not bins


def three_tests(y: Any, p: Any) -> Any:
    summary = summarize(kuiper_test, y, p)
    return [test(summary) for test in (kuiper_test, kolmogorov_smirnov_test, spiegelhalter_test)]


OURS: dict[str, Callable[..., Any]] = {NUMBA: numba_ece, NUMPY: numpy_ece}
PEERS: dict[str, Callable[..., Any]] = {
    "scikit-learn calibration_curve": sklearn_curve,
    "torchmetrics binary_calibration_error": torchmetrics_ece,
    "torchmetrics, validate_args=False": torchmetrics_ece_unchecked,
    "MAPIE expected_calibration_error": mapie_ece,
}


def on_rows(functions: Mapping[str, Callable[..., Any]], y: Any, p: Any) -> dict[str, Callable[[], Any]]:
    return {name: functools.partial(function, y, p) for name, function in functions.items()}


def time_ece(report: Report, y: Any, p: Any, rounds: int) -> None:
    report.section(f"ECE, {BINS} width bins, {len(p):,} rows, best of {rounds} interleaved rounds")
    seconds = best_seconds(on_rows({**OURS, **PEERS}, y, p), rounds=rounds)
    fastest = min(PEERS, key=seconds.__getitem__)
    rows = [
        (name, f"{s:.4f}", f"{1e9 * s / len(p):.1f}", f"{s / seconds[fastest]:.2f}", _shown(function(y, p)))
        for (name, function), s in zip({**OURS, **PEERS}.items(), seconds.values(), strict=True)
    ]
    report.table(["", "seconds", "ns per row", "of fastest peer", "value"], rows)
    for name, wanted in ((NUMBA, FASTER_THAN_PEERS), (NUMPY, 1.0)):
        ratio = seconds[fastest] / seconds[name]
        words = f"{name} at least {wanted:g} times as fast as the fastest peer ({fastest})"
        report.target(words, f"{ratio:.2f} times", ratio >= wanted)


def _shown(value: Any) -> str:
    return f"{value:.9f}" if isinstance(value, float) else "(a curve)"


def time_three_tests(report: Report, y: Any, p: Any, rounds: int) -> None:
    report.section(
        f"Kuiper, Kolmogorov-Smirnov and Spiegelhalter, {len(p):,} rows, best of {rounds} interleaved rounds"
    )
    work = {SORT: lambda: sort(p), THREE_TESTS: functools.partial(three_tests, y, p)}
    seconds = best_seconds(work, rounds=rounds)
    ratio = seconds[THREE_TESTS] / seconds[SORT]
    report.table(
        ["", "seconds", "sorts"], [(name, f"{s:.4f}", f"{s / seconds[SORT]:.2f}") for name, s in seconds.items()]
    )
    report.target(f"at most {SORTS:g} sorts", f"{ratio:.2f}", ratio <= SORTS)


def measure_memory(report: Report, n: int) -> None:
    report.section(f"Peak memory above the inputs, {n:,} rows, each in a fresh process")
    bytes_of = {
        name: added_memory(function, calibrated_rows, n)
        for name, function in {THREE_TESTS: three_tests, **OURS, **PEERS}.items()
    }
    rows = [(name, f"{b / 2**20:.0f}", f"{b / (8 * n):.2f}") for name, b in bytes_of.items()]
    report.table(["", "MiB", "arrays of n doubles"], rows)
    arrays = bytes_of[THREE_TESTS] / (8 * n)
    report.target(f"three tests in at most {ARRAYS:g} arrays of n doubles", f"{arrays:.2f}", arrays <= ARRAYS)


def time_imports(report: Report) -> None:
    report.section(f"Import, each in a fresh process, best of {IMPORT_ROUNDS}")
    statements = {name: ("", f"import {name}") for name in ("numpy", "calibrant")}
    seconds = best_fresh_seconds(statements, rounds=IMPORT_ROUNDS)
    report.table(["", "seconds"], [(f"import {name}", f"{s:.3f}") for name, s in seconds.items()])
    own = seconds["calibrant"] - seconds["numpy"]
    report.target(f"calibrant adds at most {IMPORT_SECONDS:g} s to numpy", f"{own:.3f} s", own <= IMPORT_SECONDS)


def time_first_calls(report: Report) -> None:
    report.section(f"First call on 1,000 rows after the import, each in a fresh process, best of {FIRST_CALL_ROUNDS}")
    setup = SMALL_ROWS.format(rows=1000)
    calls = {}
    for name, entry in entries().items():
        if "distributions" in entry.predictions:  # kernel verbs: benchmarks.kernel
            continue
        for kind, arguments in (("binary", "y, p"), ("classes", "k, P")):
            if kind in entry.predictions:
                calls[f"{name}, {kind}"] = (setup, f"ENTRIES[{name!r}].verb({arguments})")
    seconds = best_fresh_seconds(calls, rounds=FIRST_CALL_ROUNDS)
    rows = [(name, f"{s:.3f}", report.mark(s <= FIRST_CALL_SECONDS)) for name, s in seconds.items()]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)


def time_long_first_calls(report: Report, n: int) -> None:
    report.section(f"Long work, first call in a fresh process, best of {FIRST_CALL_ROUNDS}: no target")
    calls = {
        "consistency_test of ece, 999 redraws, 1,000 rows": (
            SMALL_ROWS.format(rows=1000),
            "calibrant.consistency_test(y, p, metric='ece')",
        ),
        f"ece, {n:,} rows, Numba loaded from its cache": (SMALL_ROWS.format(rows=n), "calibrant.ece(y, p)"),
    }
    seconds = best_fresh_seconds(calls, rounds=FIRST_CALL_ROUNDS)
    report.table(["", "seconds"], [(name, f"{s:.3f}") for name, s in seconds.items()])


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory on binary probabilities.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs; nothing is kept")
    given = parser.parse_args()
    n, rounds = (100_000, 2) if given.quick else (given.rows, given.rounds)
    packages = ["numpy", "scipy", "numba", "scikit-learn", "torch", "torchmetrics", "mapie"]
    report = Report("Speed and memory on binary probabilities", packages=packages)
    y, p = calibrated_rows(n)
    time_ece(report, y, p, rounds)
    time_three_tests(report, y, p, rounds)
    measure_memory(report, n)
    time_imports(report)
    time_first_calls(report)
    time_long_first_calls(report, n)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("probabilities")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
