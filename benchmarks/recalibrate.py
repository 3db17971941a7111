"""Speed of fitting and applying recalibration maps, against sorting and against a pass over the rows.

    python -m benchmarks.recalibrate [--rounds 5] [--quick]

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.runner import SORT, Report, added_memory, best_fresh_seconds, best_seconds, sort

import calibrant as cb
from calibrant.recalibrating.mean_log_score import LogScore
from calibrant.recalibrating.methods import METHODS

ROWS, VENN_ABERS_ROWS = 10_000_000, 1_000_000
SORTS = {"isotonic": 2.0, "venn-abers": 6.0}
PASSES = 6.0
CLASS_ROWS, CLASSES, FASTER = 1_000_000, 10, 3.0
MODULES = {"scikit-learn": "sklearn"}
FIRST_CALL_SECONDS = 0.5
FIRST_CALL_ROUNDS = 3
PASS = "a pass: value, gradient and curvature in NumPy"

SMALL_ROWS = """
import numpy as np, calibrant as cb
rng = np.random.default_rng(0)
p = rng.uniform(0.01, 0.99, 1000)
y = (rng.random(1000) < p**1.5).astype(np.int8)
"""


def binary_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes whose logit is 0.2 + 0.7 times that of the scores."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.0, 1.0, n)
    odds = np.exp(0.2) * (p / (1 - p)) ** 0.7
    return (rng.random(n) < odds / (1 + odds)).astype(np.uint8), p


def fitted(method: str, y: Any, p: Any) -> Any:
    return cb.recalibrate(y, p, method=method)


def one_pass(y: Any, p: Any) -> Any:
    """Read the rows once and add up what a step of Newton's method for a logistic map needs, by blocks."""
    found = np.zeros(6)
    for start in range(0, len(p), 1 << 17):
        block, t = p[start : start + (1 << 17)], y[start : start + (1 << 17)]
        x = np.log(block) - np.log1p(-block)
        q = 1 / (1 + np.exp(-(0.1 + 0.9 * x)))
        r, v = q - t, q * (1 - q)
        found += [-np.log(np.where(t, q, 1 - q)).sum(), r.sum(), r @ x, v.sum(), v @ x, (v * x) @ x]
    return found / len(p)


def time_sorting_maps(report: Report, sizes: dict[str, int], rounds: int) -> None:
    for method, n in sizes.items():
        y, p = binary_rows(n)
        report.section(f"{method}, {n:,} rows, best of {rounds} interleaved rounds")
        name = f"calibrant {method}"
        work: dict[str, Callable[[], Any]] = {SORT: lambda p=p: sort(p), name: functools.partial(fitted, method, y, p)}
        seconds = best_seconds(work, rounds=rounds)
        rows = [(key, f"{s:.3f}", f"{s / seconds[SORT]:.2f}") for key, s in seconds.items()]
        report.table(["", "seconds", "sorts"], rows)
        ratio = seconds[name] / seconds[SORT]
        report.target(f"at most {SORTS[method]:g} sorts", f"{ratio:.2f}", ratio <= SORTS[method])


def time_smooth_maps(report: Report, n: int, rounds: int) -> None:
    report.section(f"Smooth maps, {n:,} rows, best of {rounds} interleaved rounds")
    y, p = binary_rows(n)
    methods = ("temperature", "logistic", "beta")
    work: dict[str, Callable[[], Any]] = {PASS: functools.partial(one_pass, y, p)}
    work |= {method: functools.partial(fitted, method, y, p) for method in methods}
    seconds = best_seconds(work, rounds=rounds)
    counted = {method: evaluations(method, y, p) for method in methods}
    rows = [(key, f"{s:.3f}", f"{s / seconds[PASS]:.2f}", str(counted.get(key, ""))) for key, s in seconds.items()]
    report.table(["", "seconds", "passes", "evaluations on all rows"], rows)
    ratio = seconds["logistic"] / seconds[PASS]
    report.target(f"logistic in at most {PASSES:g} passes", f"{ratio:.2f}", ratio <= PASSES)
    times = counted["logistic"]
    report.target(f"logistic by at most {PASSES:g} evaluations on all rows", str(times), times <= PASSES)


def evaluations(method: str, y: Any, p: Any) -> int:
    """Return how often a fit evaluates its objective on all rows; on a sample it does so besides."""
    sizes = []
    original = LogScore.__call__

    def counting(self: LogScore, theta: Any) -> Any:
        sizes.append(self.target.size)
        return original(self, theta)

    with mock.patch.object(LogScore, "__call__", counting):
        fitted(method, y, p)
    return sum(size == len(p) for size in sizes)


def class_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes of ten classes whose probabilities are too sure by a temperature of 1.7."""
    rng = np.random.default_rng(0)
    P = np.exp(1.5 * rng.standard_normal((n, CLASSES)))
    P /= P.sum(axis=1, keepdims=True)
    truth = P ** (1 / 1.7)
    below = (truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]
    return (below < rng.random((n, 1))).sum(axis=1), P


def sklearn_temperature(y: Any, P: Any) -> Any:
    from sklearn.calibration import _TemperatureScaling

    return _TemperatureScaling().fit(np.log(P), y)


def probmetrics_temperature(y: Any, P: Any) -> Any:
    from probmetrics.calibrators import get_calibrator

    return get_calibrator("temp-scaling").fit(P, y)


def time_class_maps(report: Report, n: int, rounds: int) -> None:
    report.section(f"Temperature of {CLASSES} classes, {n:,} rows, best of {rounds} interleaved rounds")
    y, P = class_rows(n)
    known = {"scikit-learn": sklearn_temperature, "probmetrics": probmetrics_temperature}
    installed = {name: fit for name, fit in known.items() if importlib.util.find_spec(MODULES.get(name, name))}
    peers = {name: functools.partial(fit, y, P) for name, fit in installed.items()}
    seconds = best_seconds({"calibrant": functools.partial(fitted, "temperature", y, P), **peers}, rounds=rounds)
    ours = seconds["calibrant"]
    report.table(["", "seconds", "times calibrant"], [(k, f"{s:.3f}", f"{s / ours:.2f}") for k, s in seconds.items()])
    if peers:
        ratio = min(seconds[name] for name in peers) / ours
        report.target(f"at least {FASTER:g} times the fastest peer", f"{ratio:.1f}", ratio >= FASTER)
    report.section(f"Other maps of {CLASSES} classes, {n // 10:,} rows: no target")
    few = slice(None, n // 10)
    methods = ("vector", "matrix", "dirichlet", "one-vs-rest")
    seconds = best_seconds({one: functools.partial(fitted, one, y[few], P[few]) for one in methods}, rounds=1)
    report.table(["", "seconds"], [(key, f"{s:.3f}") for key, s in seconds.items()])


def time_applying(report: Report, n: int, rounds: int) -> None:
    report.section(f"Applying a map to {n:,} rows, best of {rounds} interleaved rounds: no target")
    y, p = binary_rows(n)
    few = slice(None, None, max(1, n // 100_000))
    maps = {method: fitted(method, y[few], p[few]) for method in METHODS["binary"] if method != "identity"}
    work: dict[str, Callable[[], Any]] = {"numpy.log(p)": lambda: np.log(p)}
    work |= {method: functools.partial(found.apply, p) for method, found in maps.items()}
    seconds = best_seconds(work, rounds=rounds)
    report.table(["", "seconds", "ns per row"], [(key, f"{s:.3f}", f"{1e9 * s / n:.1f}") for key, s in seconds.items()])


def fit_isotonic(y: Any, p: Any) -> Any:
    return fitted("isotonic", y, p)


def fit_logistic(y: Any, p: Any) -> Any:
    return fitted("logistic", y, p)


def fit_venn_abers(y: Any, p: Any) -> Any:
    return fitted("venn-abers", y, p)


def measure_memory(report: Report, n: int) -> None:
    report.section(f"Peak memory above the inputs, {n:,} rows, each in a fresh process: no target")
    work = {"isotonic": fit_isotonic, "logistic": fit_logistic, "venn-abers": fit_venn_abers}
    found = {name: added_memory(function, binary_rows, n) for name, function in work.items()}
    rows = [(name, f"{b / 2**20:.0f}", f"{b / (8 * n):.2f}") for name, b in found.items()]
    report.table(["", "MiB", "arrays of n doubles"], rows)


def time_first_calls(report: Report, rounds: int) -> None:
    report.section(f"First call on 1,000 rows after the import, each in a fresh process, best of {rounds}")
    calls = {
        method: (SMALL_ROWS, f"cb.recalibrate(y, p, method={method!r}).apply(p)")
        for method in METHODS["binary"]
        if method != "identity"
    }
    seconds = best_fresh_seconds(calls, rounds=rounds)
    rows = [(name, f"{s:.3f}", report.mark(s <= FIRST_CALL_SECONDS)) for name, s in seconds.items()]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed of recalibration maps.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--quick", action="store_true", help="little data, to see that everything runs; nothing is kept"
    )
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    n, fewer = (300_000, 250_000) if given.quick else (ROWS, VENN_ABERS_ROWS)
    peers = [one for one in ("scikit-learn", "probmetrics") if importlib.util.find_spec(MODULES.get(one, one))]
    report = Report("Speed of recalibration maps", packages=["numpy", "scipy", "numba", *peers])
    time_sorting_maps(report, {"isotonic": n, "venn-abers": fewer}, rounds)
    time_smooth_maps(report, n, rounds)
    time_class_maps(report, 20_000 if given.quick else CLASS_ROWS, rounds)
    time_applying(report, n, min(rounds, 3))
    measure_memory(report, n)
    time_first_calls(report, 1 if given.quick else FIRST_CALL_ROUNDS)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("recalibrate")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
