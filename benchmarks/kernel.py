"""Speed and memory of kernel errors and tests, against plain NumPy and against targets.

    python -m benchmarks.kernel [--rows 10000000] [--rounds 7] [--quick]

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.runner import SORT, SORTS, Report, added_memory, best_fresh_seconds, best_seconds, sort

from calibrant import Normal, mmce, skce, skce_test
from calibrant.core import dispatch
from calibrant.kernels import Delta, Exponential

CLASSES, BANDWIDTH, LENGTH = 10, 0.2, 0.5
KERNEL = Exponential(LENGTH, "tv") * Delta()
TILE = 128  # the fastest of 128, 256, .., 2048: it stays in the cache, and BLAS starts no threads
PAIR_ROWS, DENSE_ROWS = 20_000, 10_000
BOOTSTRAP_ROWS, REPLICATES = 1024, 1000
FEWER_ROUNDS = 3  # of what takes seconds

MMCE, DENSE = "calibrant mmce", "dense n x n matrix in NumPy"
SKCE, MEDIAN, TILES = "calibrant skce", "the same, length from the median", "tiles in NumPy"
GEMM, FIXED_BOOTSTRAP, BOOTSTRAP = "the product alone", "bootstrap, fixed length", "bootstrap, length from the median"

FASTER_THAN_TILES = 1.0  # skce: the same tiles, on threads
PRODUCTS = 2.0  # the bootstrap, in the matrix product it contains
COUNTS = 2.0  # its memory, in arrays of n B doubles
FIRST_CALL_SECONDS = 0.5
FIRST_CALL_ROUNDS = 3

SMALL_ROWS = """
import sys
import numpy as np, calibrant
rng = np.random.default_rng(0)
p = rng.random(1000)
y = (rng.random(1000) < p).astype(np.int64)
P = rng.dirichlet(np.ones(10), 1000)
k = (rng.random((1000, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=9)
law = calibrant.Normal(rng.normal(size=1000), 1.0)
z = rng.normal(law.mean, 1.0)
"""


def binary_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes (int64) and uniform scores (float64)."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p).astype(np.int64), p


def class_rows(n: int) -> tuple[Any, Any]:
    """Return labels and class probabilities (float64)."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(CLASSES), n)
    return (rng.random((n, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=CLASSES - 1), P


def normal_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes and normal predictions."""
    rng = np.random.default_rng(0)
    distribution = Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    return distribution.sample(1, rng)[:, 0], distribution


@contextmanager
def numba_body() -> Iterator[None]:
    """Make calibrant take the Numba bodies whatever the number of rows, so that a small call compiles them."""
    kept = dispatch.FAST_ROWS, dispatch.FAST_TERMS
    dispatch.FAST_ROWS, dispatch.FAST_TERMS = 0, 0
    try:
        if not dispatch.has_numba():
            raise RuntimeError("Numba is not installed: install calibrant[bench]")
        yield
    finally:
        dispatch.FAST_ROWS, dispatch.FAST_TERMS = kept


def skce_median(y: Any, P: Any) -> float:
    return skce(y, P)


def plain_mmce(y: Any, p: Any) -> float:
    return mmce(y, p, bandwidth=BANDWIDTH)


def plain_skce(y: Any, P: Any) -> float:
    return skce(y, P, kernel=KERNEL)


def dense_mmce(y: Any, p: Any) -> float:
    """The sum as the paper writes it."""
    K = np.exp(-np.abs(p[:, None] - p) / BANDWIDTH)
    e = y - p
    return float(np.sqrt(max(0.0, e @ K @ e)) / len(p))


def tiled_skce(y: Any, P: Any) -> float:
    """The unbiased estimate in NumPy and SciPy, without an n x n matrix: half of the tiles, each kept in the cache."""
    from scipy.spatial.distance import cdist

    n, R = len(y), -P
    R[np.arange(n), y] += 1
    total = 0.0
    for a in range(0, n, TILE):
        for b in range(a, n, TILE):
            h = cdist(P[a : a + TILE], P[b : b + TILE], "cityblock")
            h *= -0.5 / LENGTH
            np.exp(h, out=h)
            h *= R[a : a + TILE] @ R[b : b + TILE].T
            total += h.sum() if b > a else np.triu(h, 1).sum()
    return float(2 * total / (n * (n - 1)))


def bootstrap(y: Any, P: Any, *, kernel: Any = None) -> float:
    return skce_test(y, P, kernel=kernel, method="bootstrap", resamples=REPLICATES).pvalue


def fixed_bootstrap(y: Any, P: Any) -> float:
    return bootstrap(y, P, kernel=KERNEL)


def numba_bootstrap(y: Any, P: Any) -> float:
    with numba_body():
        return fixed_bootstrap(y, P)


def resample(y: Any, prediction: Any) -> float:
    return skce_test(y, prediction, method="resample").pvalue


def block(y: Any, prediction: Any) -> float:
    return skce_test(y, prediction, method="block").pvalue


def shuffled_block(y: Any, prediction: Any) -> float:
    return skce_test(y, prediction, method="block", shuffle=True).pvalue


def on_rows(functions: Mapping[str, Callable[..., Any]], *rows: Any) -> dict[str, Callable[[], Any]]:
    return {name: functools.partial(function, *rows) for name, function in functions.items()}


def mebibytes(work: Callable[..., Any], inputs: Callable[[int], tuple[Any, ...]], n: int) -> str:
    return f"{added_memory(work, inputs, n) / 2**20:.0f}"


def time_mmce(report: Report, n: int, rounds: int) -> None:
    report.section(f"mmce, {n:,} rows, best of {rounds} interleaved rounds")
    y, p = binary_rows(n)
    seconds = best_seconds({SORT: lambda: sort(p), MMCE: functools.partial(plain_mmce, y, p)}, rounds=rounds)
    peak = added_memory(plain_mmce, binary_rows, n)
    rows = [
        (SORT, f"{seconds[SORT]:.4f}", "1.00", ""),
        (MMCE, f"{seconds[MMCE]:.4f}", f"{seconds[MMCE] / seconds[SORT]:.2f}", f"{peak / 2**20:.0f}"),
    ]
    report.table(["", "seconds", "sorts", "peak MiB"], rows)
    ratio = seconds[MMCE] / seconds[SORT]
    report.target(f"at most {SORTS:g} sorts", f"{ratio:.2f}; {peak / (8 * n):.2f} arrays of n doubles", ratio <= SORTS)


def time_dense(report: Report, n: int) -> None:
    report.section(f"mmce, {n:,} rows, against the dense matrix, best of {FEWER_ROUNDS} interleaved rounds")
    y, p = binary_rows(n)
    functions = {MMCE: plain_mmce, DENSE: dense_mmce}
    seconds = best_seconds(on_rows(functions, y, p), rounds=FEWER_ROUNDS)
    rows = [
        (name, f"{seconds[name]:.5f}", mebibytes(function, binary_rows, n), f"{function(y, p):.12f}")
        for name, function in functions.items()
    ]
    report.table(["", "seconds", "peak MiB", "value"], rows)
    report.say(f"{seconds[DENSE] / seconds[MMCE]:.0f} times as fast")


def time_skce(report: Report, n: int) -> None:
    report.section(
        f"skce, unbiased, {n:,} rows of {CLASSES} classes, exp(-TV/{LENGTH:g}) x delta, "
        f"best of {FEWER_ROUNDS} interleaved rounds"
    )
    functions = {SKCE: plain_skce, MEDIAN: skce_median, TILES: tiled_skce}
    seconds = _time_pairs(report, functions, n)
    ratio = seconds[TILES] / seconds[SKCE]
    words = f"at least {FASTER_THAN_TILES:g} times as fast as the tiles"
    report.target(words, f"{ratio:.2f} times", ratio >= FASTER_THAN_TILES)


def _time_pairs(report: Report, functions: Mapping[str, Callable[..., Any]], n: int) -> dict[str, float]:
    y, P = class_rows(n)
    seconds = best_seconds(on_rows(functions, y, P), rounds=FEWER_ROUNDS)
    rows = [
        (
            name,
            f"{seconds[name]:.3f}",
            f"{n * (n - 1) / 2 / seconds[name]:.2e}",
            mebibytes(function, class_rows, n),
            f"{function(y, P):.15f}",
        )
        for name, function in functions.items()
    ]
    report.table(["", "seconds", "pairs per second", "peak MiB", "value"], rows)
    return seconds


def time_bootstrap(report: Report, n: int, rounds: int) -> None:
    report.section(
        f"skce_test, bootstrap, {n:,} rows of {CLASSES} classes, {REPLICATES} replicates, "
        f"best of {rounds} interleaved rounds"
    )
    rng = np.random.default_rng(0)
    C, H = rng.normal(size=(REPLICATES, n)), rng.normal(size=(n, n))
    work = {
        GEMM: lambda: C @ H,
        **on_rows({FIXED_BOOTSTRAP: fixed_bootstrap, BOOTSTRAP: bootstrap}, *class_rows(n)),
    }
    seconds = best_seconds(work, rounds=rounds)
    memory = {"": "", FIXED_BOOTSTRAP: mebibytes(fixed_bootstrap, class_rows, n), BOOTSTRAP: ""}
    rows = [(name, f"{s:.4f}", f"{s / seconds[GEMM]:.2f}", memory.get(name, "")) for name, s in seconds.items()]
    report.table(["", "seconds", "products", "peak MiB"], rows)
    for name in (FIXED_BOOTSTRAP, BOOTSTRAP):
        ratio = seconds[name] / seconds[GEMM]
        words = f"{name}: at most {PRODUCTS:g} products of {REPLICATES} x {n} by {n} x {n}"
        report.target(words, f"{ratio:.2f}", ratio <= PRODUCTS)


def time_large_bootstrap(report: Report, n: int) -> None:
    report.section(f"skce_test, bootstrap, {n:,} rows of {CLASSES} classes, {REPLICATES} replicates, once")
    seconds = best_seconds({"": functools.partial(numba_bootstrap, *class_rows(n))}, rounds=1)[""]
    peak = added_memory(numba_bootstrap, class_rows, n)
    counts, matrix = 8 * n * REPLICATES, 8 * n * n
    rows = [(f"{seconds:.1f}", f"{peak / 2**20:.0f}", f"{counts / 2**20:.0f}", f"{matrix / 2**20:.0f}")]
    report.table(["seconds", "peak MiB", "n B doubles", "n x n doubles"], rows)
    words = f"peak memory O(nB): at most {COUNTS:g} arrays of n B doubles"
    report.target(words, f"{peak / counts:.2f}; {peak / matrix:.3f} of n x n doubles", peak <= COUNTS * counts)


def time_without_numba(report: Report, n: int, pair_rows: int, rounds: int) -> None:
    report.section("Without Numba: a process that cannot import it")
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, initializer=hide_numba) as process:
        pairs = process.submit(seconds_of_pairs, pair_rows).result()
        sums = process.submit(seconds_of_sums, n, rounds).result()
    rows = [
        (f"{name}, {pair_rows:,} rows", f"{s:.3f}", f"{s / pairs[TILES]:.2f} of the tiles") for name, s in pairs.items()
    ]
    rows += [(f"{name}, {n:,} rows", f"{s:.3f}", f"{s / sums[SORT]:.2f} sorts") for name, s in sums.items()]
    report.table(["", "seconds", ""], rows)
    ratio = pairs[TILES] / pairs[SKCE]
    report.target("skce never slower than the tiles", f"{ratio:.2f} times as fast", ratio >= 1)


def hide_numba() -> None:
    """Make this process one in which Numba is not installed."""
    sys.modules["numba"] = None  # type: ignore[assignment]
    if dispatch.has_numba():
        raise RuntimeError("Numba was found before it was hidden")


def seconds_of_pairs(n: int) -> dict[str, float]:
    return best_seconds(on_rows({SKCE: plain_skce, TILES: tiled_skce}, *class_rows(n)), rounds=FEWER_ROUNDS)


def seconds_of_sums(n: int, rounds: int) -> dict[str, float]:
    y, p = binary_rows(n)
    return best_seconds({SORT: lambda: sort(p), MMCE: functools.partial(plain_mmce, y, p)}, rounds=rounds)


def time_tests(report: Report, n: int, *, quick: bool) -> None:
    report.section("skce_test, other methods, as a user calls them, best of 2: no target")
    smaller = 10 if quick else 1
    cases = {
        "resample, 999 redraws, binary": (resample, binary_rows, 100_000 // smaller),
        f"resample, 999 redraws, {CLASSES} classes": (resample, class_rows, 4_000 // smaller),
        "blocks of 2, binary": (block, binary_rows, n),
        "blocks of 2, shuffled, binary": (shuffled_block, binary_rows, n),
        f"blocks of 2, {CLASSES} classes": (block, class_rows, 1_000_000 // smaller),
        "bootstrap, 1000 replicates, binary": (bootstrap, binary_rows, 100_000 // smaller),
        "bootstrap, 1000 replicates, Normal": (bootstrap, normal_rows, 4_000 // smaller),
    }
    rows = []
    for name, (function, inputs, count) in cases.items():
        seconds = best_seconds({name: functools.partial(function, *inputs(count))}, rounds=2)[name]
        peak = added_memory(function, inputs, count)
        rows.append((name, f"{count:,}", f"{seconds:.3f}", f"{peak / 2**20:.0f}", f"{peak / (8 * count):.1f}"))
    report.table(["", "rows", "seconds", "peak MiB", "arrays of n doubles"], rows)


def time_first_calls(report: Report) -> None:
    report.section(f"First call on 1,000 rows after the import, each in a fresh process, best of {FIRST_CALL_ROUNDS}")
    kinds = {"binary": "y, p", "classes": "k, P", "Normal": "z, law"}
    cases = (  # verb, options, kinds of prediction, whether it has no replicates
        ("skce", "", tuple(kinds), True),
        ("mmce", "", ("binary", "classes"), True),
        ("kernel_errors.ucme", "locations=10", tuple(kinds), True),
        ("ece", "notion='canonical'", ("classes",), True),
        ("skce_test", "method='block'", tuple(kinds), True),
        ("skce_test", "method='bootstrap'", tuple(kinds), False),
        ("skce_test", "method='resample'", ("binary", "classes"), False),
        ("kernel_errors.cme_test", "locations=10", tuple(kinds), False),
    )
    calls, judged = {}, set()
    for verb, options, fitting, at_once in cases:
        for kind in fitting:
            name = ", ".join(part for part in (verb, options, kind) if part)
            call = f"calibrant.{verb}({kinds[kind]}, {options})\nassert 'numba' not in sys.modules"
            calls[name] = SMALL_ROWS, call
            judged |= {name} if at_once else set()
    seconds = best_fresh_seconds(calls, rounds=FIRST_CALL_ROUNDS)
    rows = [
        (name, f"{s:.3f}", report.mark(s <= FIRST_CALL_SECONDS) if name in judged else "999 replicates")
        for name, s in seconds.items()
    ]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)
    report.say("None of them waits for a compiler: Numba is not imported.")


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory of kernel errors and tests.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs; nothing is kept")
    given = parser.parse_args()
    n, rounds = (100_000, 2) if given.quick else (given.rows, given.rounds)
    pair_rows = 2_000 if given.quick else PAIR_ROWS
    report = Report("Speed and memory of kernel errors and tests", packages=["numpy", "scipy", "numba"])
    time_mmce(report, n, rounds)
    time_dense(report, 1_000 if given.quick else DENSE_ROWS)
    time_skce(report, pair_rows)
    time_bootstrap(report, BOOTSTRAP_ROWS, rounds)
    time_large_bootstrap(report, pair_rows)
    time_without_numba(report, n, pair_rows, FEWER_ROUNDS)
    time_tests(report, n, quick=given.quick)
    time_first_calls(report)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("kernel")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
