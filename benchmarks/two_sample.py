"""Speed and memory of comparisons of two sets of points, against the packages that have them.

    python -m benchmarks.two_sample [--rows 10000] [--rounds 5] [--quick]

Peers are prdc, sbi, torch-fidelity and vendi-score; one that is not installed is left out, and so is its target.
`--quick` takes few points to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from benchmarks.kernel import on_rows
from benchmarks.runner import Report, added_memory, best_fresh_seconds, best_seconds

from calibrant.points import (
    PointMoments,
    c2st,
    compare,
    density_coverage,
    frechet_distance,
    kernel_distance,
    mmd,
    mmd_test,
    vendi_score,
)

K = 5  # neighbours
D_FEW, D_MANY = 5, 64  # coordinates
FASTER_THAN_PRDC = {D_FEW: 10.0, D_MANY: 3.0}
NEIGHBOUR_MEMORY = 200_000_000  # bytes
LARGE_ROWS, LARGE_SECONDS = 50_000, 2.5
FASTER_THAN_SBI = 4.0
SBI_ROWS = 3_000  # of 64 coordinates: sbi holds two arrays of n x n x d numbers
POOLED, SPLITS, TEST_SECONDS = 5_000, 199, 1.0
FEATURES, FEATURE_ROWS = 2_048, 5_000
FASTER_THAN_ROOT = 5.0
FASTER_THAN_EIGENVALUES = 50.0
AUDIT_ROWS = 2_000
IMPORT_SECONDS, IMPORT_ROUNDS = 0.3, 7  # above NumPy, as in benchmarks.probabilities
FIRST_ROWS, FIRST_CALL_SECONDS, FIRST_CALL_ROUNDS = 500, 0.5, 3
BUSY = 0.5  # processes that run per core when the report begins
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
AGREE = 1e-6  # of values of two packages, over the larger
HEAVY = ("scipy.spatial", "scipy.stats", "scipy.linalg", "sklearn", "torch", "numba", "pandas", "matplotlib")

PRDC, SBI, SBI_SINGLE = "prdc compute_prdc", "sbi unbiased_mmd_squared", "the same, float32"
DENSITY_COVERAGE, MMD = "calibrant density_coverage", "calibrant mmd"
FIDELITY_MMD = "torch-fidelity kernel_mmd, rbf"
GEMM, TEST = "the product alone", "calibrant mmd_test"
FRECHET, ROOT = "calibrant frechet_distance", "scipy.linalg.sqrtm"
FIDELITY_FID = "torch-fidelity fid_statistics_to_metric"
VENDI, EIGENVALUES = "calibrant vendi_score, order=2", "vendi-score score_K, q=2"
KID, FIDELITY_KID, ALL_KID = "calibrant kernel_distance", "torch-fidelity, 100 subsets of 1,000", "the same, all points"
PEERS = {"prdc": "prdc", "vendi_score": "vendi-score", "torch_fidelity": "torch-fidelity", "sbi": "sbi"}

SMALL_SETS = f"""
import sys
import numpy as np, calibrant
rng = np.random.default_rng(0)
y, x = rng.normal(size=({FIRST_ROWS}, {D_FEW})), rng.normal(size=({FIRST_ROWS}, {D_FEW}))
"""


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def two_sets(n: int, d: int = D_FEW) -> tuple[Any, Any]:
    """Return two sets of n normal points, the second 5 % wider."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), 1.05 * rng.normal(size=(n, d))


def one_set(n: int) -> tuple[Any]:
    return (two_sets(n)[0],)


def feature_sets(n: int, d: int, decades: float = 3) -> tuple[Any, Any]:
    """Return two sets of n normal points, turned, whose covariances have eigenvalues over so many decades."""
    rng = np.random.default_rng(0)
    scale = np.logspace(0, -decades / 2, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * scale @ turn, 1.05 * rng.normal(size=(n, d)) * scale @ turn


def width(d: int) -> float:
    """A length scale near the median distance of `two_sets`."""
    return float(np.sqrt(2 * d))


def of_torch_fidelity(module: str) -> Any:
    """Return a module of torch-fidelity's metrics.

    Its functions of features need NumPy and torch, but the package also imports torchvision, for images. Where that is
    missing, or was built for another torch, an empty one takes its place for the import.
    """
    import torch  # noqa: F401  (before any stand-in)

    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        names = ["torchvision" + end for end in ("", ".datasets", ".transforms", ".transforms.functional")]
        sys.modules.update({name: MagicMock() for name in names})
        try:
            return importlib.import_module(f"torch_fidelity.{module}")
        finally:
            for name in names:
                del sys.modules[name]
    return importlib.import_module(f"torch_fidelity.{module}")


def prdc_shares(y: Any, x: Any) -> tuple[float, ...]:
    from prdc import compute_prdc

    with contextlib.redirect_stdout(io.StringIO()):  # it prints the sizes
        found = compute_prdc(y, x, K)
    return tuple(float(found[name]) for name in ("precision", "recall", "density", "coverage"))


def own_shares(y: Any, x: Any) -> tuple[float, ...]:
    found = density_coverage(y, x, k=K)
    return found.precision, found.recall, found.density, found.coverage


def own_mmd(y: Any, x: Any) -> float:
    return mmd(y, x, bandwidth=width(y.shape[1]))


def median_mmd(y: Any, x: Any) -> float:
    return mmd(y, x)


def sbi_mmd(y: Any, x: Any, dtype: str = "float64", *, median: bool = False) -> float:
    import torch
    from sbi.utils.metrics import unbiased_mmd_squared

    both = (torch.from_numpy(points.astype(dtype)) for points in (y, x))
    return float(unbiased_mmd_squared(*both, scale=None if median else width(y.shape[1])))


def sbi_single(y: Any, x: Any) -> float:
    return sbi_mmd(y, x, "float32")


def sbi_median(y: Any, x: Any) -> float:
    return sbi_mmd(y, x, median=True)


def fidelity_mmd(y: Any, x: Any) -> float:
    kernel_mmd = of_torch_fidelity("metric_kid").kernel_mmd
    return float(kernel_mmd(y, x, kid_kernel="rbf", kid_kernel_rbf_sigma=width(y.shape[1])))


def permutation_test(y: Any, x: Any) -> float:
    return mmd_test(y, x, resamples=SPLITS).pvalue


def root_frechet(m1: Any, S1: Any, m2: Any, S2: Any) -> float:
    from scipy.linalg import sqrtm

    root = np.trace(sqrtm(S1 @ S2)).real
    return float((m1 - m2) @ (m1 - m2) + np.trace(S1) + np.trace(S2) - 2 * root)


def fidelity_frechet(m1: Any, S1: Any, m2: Any, S2: Any) -> float:
    module = of_torch_fidelity("metric_fid")
    found = module.fid_statistics_to_metric({"mu": m1, "sigma": S1}, {"mu": m2, "sigma": S2}, verbose=False)
    return float(found[module.KEY_METRIC_FID])


def simpson(points: Any) -> float:
    return vendi_score(points, order=2, bandwidth=width(points.shape[1]))


def kernel_matrix(points: Any) -> Any:
    from scipy.spatial.distance import cdist

    G = cdist(points, points, "sqeuclidean")
    G *= -0.5 / width(points.shape[1]) ** 2
    return np.exp(G, out=G)


def package_simpson(G: Any) -> float:
    from vendi_score.vendi import score_K  # imported by a small call before the one that is timed

    return float(score_K(G, q=2))


def numpy_simpson(G: Any) -> float:
    values = np.linalg.eigvalsh(G / len(G))
    return float(1 / (values @ values))


def fidelity_kid(y: Any, x: Any, size: int = 1_000) -> float:
    import torch

    module = of_torch_fidelity("metric_kid")
    found = module.kid_features_to_metric(torch.from_numpy(y), torch.from_numpy(x), kid_subset_size=size, verbose=False)
    return float(found[module.KEY_METRIC_KID_MEAN])


def all_kid(y: Any, x: Any) -> float:
    return float(of_torch_fidelity("metric_kid").kernel_mmd(y, x, kid_kernel="poly"))


def classifier_test(y: Any, x: Any) -> float:
    return c2st(y, x, rng=0).pvalue


def seconds_once(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of one call, and what it returned."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def best_calls(work: Mapping[str, Callable[[], Any]], *, rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the best times, and what the calls returned."""
    values: dict[str, Any] = {}

    def kept(name: str, call: Callable[[], Any]) -> None:
        values[name] = call()

    seconds = best_seconds({name: functools.partial(kept, name, call) for name, call in work.items()}, rounds=rounds)
    return seconds, values


def mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f}"


def judge(report: Report, seconds: Mapping[str, float], own: str, peer: str, least: float) -> None:
    """Add whether calibrant is so many times as fast as a peer."""
    ratio = seconds[peer] / seconds[own]
    report.target(f"at least {least:g} times as fast as {peer}", f"{ratio:.1f} times", ratio >= least)


def judge_values(report: Report, first: Any, second: Any, most: float = AGREE) -> None:
    """Add whether two packages computed the same."""
    off = float(np.max(np.abs(np.subtract(first, second)) / np.maximum(np.abs(first), np.abs(second))))
    report.target(f"the same values up to {most:g}", f"{off:.1g}", off <= most)


def time_neighbours(report: Report, n: int, d: int, rounds: int) -> None:
    report.section(
        f"density_coverage, k = {K}, {n:,} and {n:,} points of {d} coordinates, best of {rounds} interleaved rounds"
    )
    functions: dict[str, Callable[..., Any]] = {DENSITY_COVERAGE: own_shares}
    if has("prdc"):
        functions[PRDC] = prdc_shares
    inputs = functools.partial(two_sets, d=d)
    seconds, values = best_calls(on_rows(functions, *inputs(n)), rounds=rounds)
    peak = {name: added_memory(function, inputs, n) for name, function in functions.items()}
    rows = [
        (name, f"{seconds[name]:.3f}", mebibytes(peak[name]), *(f"{value:.6f}" for value in values[name]))
        for name in functions
    ]
    report.table(["", "seconds", "peak MiB", "precision", "recall", "density", "coverage"], rows)
    if PRDC in functions:
        judge_values(report, values[DENSITY_COVERAGE], values[PRDC])
        judge(report, seconds, DENSITY_COVERAGE, PRDC, FASTER_THAN_PRDC[d])
    most = peak[DENSITY_COVERAGE]
    words = f"memory above the points at most {NEIGHBOUR_MEMORY / 1e6:g} MB"
    report.target(words, f"{most / 1e6:.0f} MB", most <= NEIGHBOUR_MEMORY)


def time_many_neighbours(report: Report, n: int) -> None:
    report.section(f"density_coverage alone, {n:,} and {n:,} points of {D_FEW} coordinates, best of 2: no target")
    seconds = best_seconds({"": functools.partial(own_shares, *two_sets(n))}, rounds=2)[""]
    peak = added_memory(own_shares, two_sets, n)
    rows = [(f"{seconds:.2f}", f"{LARGE_SECONDS:g}", mebibytes(peak))]
    report.table(["seconds", "hoped for on 2 idle cores", "peak MiB"], rows)


def time_mmd(report: Report, n: int, d: int, rounds: int, functions: Mapping[str, Callable[..., Any]]) -> None:
    report.section(
        f"mmd, unbiased, Gaussian kernel of a fixed length, {n:,} and {n:,} points of {d} coordinates, "
        f"best of {rounds} interleaved rounds"
    )
    inputs = functools.partial(two_sets, d=d)
    seconds, values = best_calls(on_rows(functions, *inputs(n)), rounds=rounds)
    rows = [
        (
            name,
            f"{seconds[name]:.3f}",
            f"{seconds[name] / seconds[MMD]:.2f}",
            mebibytes(added_memory(function, inputs, n)),
            f"{values[name]:.12f}",
        )
        for name, function in functions.items()
    ]
    report.table(["", "seconds", "times calibrant", "peak MiB", "value"], rows)
    for peer in (SBI, FIDELITY_MMD):
        if peer in functions:
            judge_values(report, values[MMD], values[peer])
    if SBI in functions:
        judge(report, seconds, MMD, SBI, FASTER_THAN_SBI)
    if SBI_SINGLE in functions:
        off = abs(values[SBI_SINGLE] / values[SBI] - 1)
        report.say(f"Sums in float32 are off by {off:.1g} of the value here.")


def time_median(report: Report, n: int) -> None:
    report.section(f"mmd as a user calls it, length from the median, {n:,} points of {D_FEW} coordinates: no target")
    functions: dict[str, Callable[..., Any]] = {MMD: median_mmd}
    if has("sbi"):
        functions[SBI] = sbi_median
    seconds, values = best_calls(on_rows(functions, *two_sets(n)), rounds=1)
    rows = [(name, f"{seconds[name]:.3f}", f"{values[name]:.9f}") for name in functions]
    report.table(["", "seconds", "value"], rows)
    report.say("calibrant takes the median of 4,096 of the points, sbi that of all pairs.")


def time_test(report: Report, pooled: int, rounds: int) -> None:
    report.section(
        f"mmd_test, {pooled:,} pooled points, {SPLITS} permutations, best of {rounds} interleaved rounds: no target"
    )
    rng = np.random.default_rng(0)
    V, G = (rng.random((SPLITS + 1, pooled)) < 0.5).astype(np.float64), rng.normal(size=(pooled, pooled))
    inputs = [functools.partial(two_sets, d=d) for d in (D_FEW, D_MANY)]
    work: dict[str, Callable[[], Any]] = {GEMM: lambda: V @ G}
    for given in inputs:
        y, x = given(pooled // 2)
        work[f"{TEST}, {y.shape[1]} coordinates"] = functools.partial(permutation_test, y, x)
    seconds = best_seconds(work, rounds=rounds)
    memory = ["", *(mebibytes(added_memory(permutation_test, given, pooled // 2)) for given in inputs)]
    rows = [
        (name, f"{s:.3f}", f"{s / seconds[GEMM]:.1f}", peak)
        for (name, s), peak in zip(seconds.items(), memory, strict=True)
    ]
    report.table(["", "seconds", "products", "peak MiB"], rows)
    report.say(
        f"The product is one of {SPLITS + 1} x {pooled:,} by {pooled:,} x {pooled:,}. The test does half of it and has "
        f"a kernel to evaluate; hoped for on 2 idle cores: {TEST_SECONDS:g} s."
    )


def time_frechet(report: Report, n: int, d: int, rounds: int, decades: float) -> None:
    report.section(
        f"frechet_distance, {n:,} points of {d:,} coordinates, eigenvalues over {decades:g} decades, "
        f"best of {rounds} interleaved rounds"
    )
    y, x = feature_sets(n, d, decades)
    moments = [PointMoments.of(points) for points in (y, x)]
    arguments = [part for m in moments for part in (m.mean, m.covariance)]
    work: dict[str, Callable[[], float]] = {
        f"{FRECHET}, from the points": functools.partial(frechet_distance, y, x),
        FRECHET: functools.partial(frechet_distance, *moments),
        ROOT: functools.partial(root_frechet, *arguments),
    }
    if has("torch_fidelity"):
        work[FIDELITY_FID] = functools.partial(fidelity_frechet, *arguments)
    seconds, values = best_calls(work, rounds=rounds)
    rows = [(name, f"{s:.3f}", f"{s / seconds[FRECHET]:.1f}", f"{values[name]:.12f}") for name, s in seconds.items()]
    report.table(["", "seconds", "times calibrant", "value"], rows)
    report.say("All but the first start from means and covariances.")
    judge_values(report, values[FRECHET], values[ROOT])
    judge(report, seconds, FRECHET, ROOT, FASTER_THAN_ROOT)


def time_vendi(report: Report, n: int, rounds: int) -> None:
    report.section(f"vendi_score of order 2, {n:,} points of {D_FEW} coordinates, best of {rounds}; eigenvalues once")
    (points,) = one_set(n)
    own = {VENDI: simpson}
    seconds, values = best_calls(on_rows(own, points), rounds=rounds)
    memory = {name: mebibytes(added_memory(function, one_set, n)) for name, function in own.items()}
    G = kernel_matrix(points)
    slow = {EIGENVALUES: package_simpson} if has("vendi_score") else {"numpy.linalg.eigvalsh": numpy_simpson}
    for name, function in slow.items():
        function(G[:2, :2])
        seconds[name], values[name] = seconds_once(functools.partial(function, G))
        memory[name] = f"{mebibytes(G.nbytes)} and more"
    rows = [(name, f"{s:.3f}", memory[name], f"{values[name]:.9f}") for name, s in seconds.items()]
    report.table(["", "seconds", "peak MiB", "value"], rows)
    report.say("The time to form the kernel matrix is not counted for eigenvalues.")
    for name in slow:
        judge_values(report, values[VENDI], values[name])
        judge(report, seconds, VENDI, name, FASTER_THAN_EIGENVALUES)


def time_kernel_distance(report: Report, n: int, d: int, rounds: int) -> None:
    report.section(
        f"kernel_distance, {n:,} and {n:,} points of {d:,} coordinates, best of {rounds} interleaved rounds: no target"
    )
    functions: dict[str, Callable[..., float]] = {KID: kernel_distance}
    if has("torch_fidelity"):
        functions |= {FIDELITY_KID: functools.partial(fidelity_kid, size=min(1_000, n)), ALL_KID: all_kid}
    inputs = functools.partial(feature_sets, d=d)
    seconds, values = best_calls(on_rows(functions, *inputs(n)), rounds=rounds)
    rows = [
        (name, f"{seconds[name]:.3f}", mebibytes(added_memory(function, inputs, n)), f"{values[name]:.12f}")
        for name, function in functions.items()
    ]
    report.table(["", "seconds", "peak MiB", "value"], rows)


def time_c2st_and_compare(report: Report, n: int, audit_rows: int) -> None:
    report.section(f"c2st and compare, {D_FEW} coordinates, best of 2: no target")
    cases = {"c2st": (classifier_test, n), "compare": (compare, audit_rows)}
    rows = []
    for name, (function, count) in cases.items():
        seconds = best_seconds({name: functools.partial(function, *two_sets(count))}, rounds=2)[name]
        peak = added_memory(function, two_sets, count)
        rows.append((name, f"{count:,} and {count:,}", f"{seconds:.2f}", mebibytes(peak)))
    report.table(["", "points", "seconds", "peak MiB"], rows)


@contextlib.contextmanager
def kept_bytecode() -> Iterator[None]:
    """Let new processes keep the bytecode of what they import, in a folder of its own: what is installed has it."""
    kept = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(kept)


def time_imports(report: Report, rounds: int) -> None:
    report.section(f"Import, each in a fresh process, best of {rounds}")
    with kept_bytecode():
        seconds = best_fresh_seconds({name: ("", f"import {name}") for name in ("numpy", "calibrant")}, rounds=rounds)
    report.table(["", "seconds"], [(f"import {name}", f"{s:.3f}") for name, s in seconds.items()])
    own = seconds["calibrant"] - seconds["numpy"]
    report.target(f"calibrant adds at most {IMPORT_SECONDS:g} s to numpy", f"{own:.3f} s", own <= IMPORT_SECONDS)
    loaded = modules_after("import calibrant") - modules_after("")
    roots = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    report.say(f"Packages that `import calibrant` loads: {', '.join(sorted(roots))}")
    found = sorted(loaded & set(HEAVY))
    report.target(f"none of {', '.join(HEAVY)}", ", ".join(found) or "none", not found)


def modules_after(statement: str) -> set[str]:
    """Return the modules that a new process holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def time_first_calls(report: Report, rounds: int) -> None:
    report.section(
        f"First call on {FIRST_ROWS} points of each set after the import, each in a fresh process, best of {rounds}"
    )
    judged = {
        "mmd": "calibrant.points.mmd(y, x)",
        "mmd, block": "calibrant.points.mmd(y, x, estimator='block')",
        "kernel_distance": "calibrant.points.kernel_distance(y, x)",
        "density_coverage": "calibrant.points.density_coverage(y, x)",
        "frechet_distance": "calibrant.points.frechet_distance(y, x)",
        "vendi_score": "calibrant.points.vendi_score(y)",
        "vendi_score, order=2": "calibrant.points.vendi_score(y, order=2)",
        "c2st": "calibrant.points.c2st(y, x, rng=0)",
        "mmd_test, 999 permutations": "calibrant.points.mmd_test(y, x)",
    }
    others = {
        "mmd_test, aggregate, 999 permutations": "calibrant.points.mmd_test(y, x, aggregate='fuse')",
        "density_coverage, 199 divisions": "calibrant.points.density_coverage(y, x, resamples=199)",
        "compare": "calibrant.points.compare(y, x)",
    }
    calls = {
        name: (SMALL_SETS, f"{call}\nassert 'numba' not in sys.modules") for name, call in {**judged, **others}.items()
    }
    with kept_bytecode():
        seconds = best_fresh_seconds(calls, rounds=rounds)  # the first round writes the bytecode
    rows = [
        (name, f"{s:.3f}", report.mark(s <= FIRST_CALL_SECONDS) if name in judged else "no target")
        for name, s in seconds.items()
    ]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)
    report.say("None of them waits for a compiler: Numba is not imported.")


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory of comparisons of two sets of points.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few points, to see that everything runs; nothing is kept")
    given = parser.parse_args()
    quick = given.quick
    n, rounds = (1_000, 1) if quick else (given.rows, given.rounds)
    present = [name for module, name in PEERS.items() if has(module)]
    packages = ["numpy", "scipy", "numba", *(["torch"] if has("torch") else []), *present]
    report = Report("Speed and memory of comparisons of two sets of points", packages=packages)
    if missing := sorted(set(PEERS.values()) - set(present)):
        report.say(f"Not installed, and so not compared: {', '.join(missing)}")
    if limits := [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]:
        report.say(f"Threads are limited: {', '.join(limits)}")
    if os.getloadavg()[0] > BUSY * (os.cpu_count() or 1):
        report.say(
            "The machine is busy. Peers that wait for threads of BLAS may take ten times as long as on an idle one: "
            "no ratio of this run counts."
        )
    own = {MMD: own_mmd}
    of_sbi = {SBI: sbi_mmd, SBI_SINGLE: sbi_single} if has("sbi") else {}
    dense = {FIDELITY_MMD: fidelity_mmd} if has("torch_fidelity") else {}
    for d in (D_FEW, D_MANY):
        time_neighbours(report, n, d, rounds)
    time_many_neighbours(report, 3_000 if quick else LARGE_ROWS)
    time_mmd(report, n, D_FEW, min(rounds, 3), own | of_sbi | dense)
    time_mmd(report, n, D_MANY, min(rounds, 3), own | dense)
    time_mmd(report, 500 if quick else SBI_ROWS, D_MANY, min(rounds, 3), {MMD: own_mmd} | of_sbi | dense)
    report.say(f"With {n:,} points each, sbi would hold two arrays of {8 * n * n * D_MANY / 2**30:.0f} GiB.")
    time_median(report, n)
    time_test(report, 1_000 if quick else POOLED, rounds)
    features, rows = (64, 500) if quick else (FEATURES, FEATURE_ROWS)
    for decades in (3, 8):
        time_frechet(report, rows, features, min(rounds, 2), decades)
    time_vendi(report, n, rounds)
    time_kernel_distance(report, rows, features, min(rounds, 2))
    time_c2st_and_compare(report, n, 300 if quick else AUDIT_ROWS)
    time_imports(report, 2 if quick else IMPORT_ROUNDS)
    time_first_calls(report, 2 if quick else FIRST_CALL_ROUNDS)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not quick:
        report.save("two_sample")
    return 1 if report.failures and not quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
