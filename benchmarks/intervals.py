"""Speed and memory on intervals, quantiles and draws, against other packages and against targets.

    python -m benchmarks.intervals [--rows 10000000] [--rounds 7] [--quick]

`--quick` takes few rows to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.runner import SORT, SORTS, Report, added_memory, best_fresh_seconds, best_seconds, sort

import calibrant as cb
from calibrant import Intervals, Quantiles, Samples
from calibrant.core import dispatch
from calibrant.core.catalogue import find

LEVEL = 0.9
TAUS = (0.05, 0.25, 0.5, 0.75, 0.95)
SCALES = (1.0, 1.0)  # MAPIE's, of width and of coverage
MAPIE_ROWS, HSIC_ROWS = 4_000, 1_000_000
DRAWS_ROWS, DRAWS = 100_000, 100
FEWER_ROUNDS = 3  # of what takes seconds

FASTER_THAN_MAPIE = 1000.0
HSIC_SECONDS = 2.0
HSIC_ARRAYS = 20.0  # its memory, in arrays of n doubles
PASSES = 3.0  # a mean of row scores, in passes over its bytes
FIRST_CALL_SECONDS = 0.5
FIRST_CALL_ROUNDS = 3

HSIC, MAPIE_HSIC = "calibrant coverage_hsic", "MAPIE hsic"
SSC = "calibrant size_stratified_coverage"

SMALL_ROWS = """
import sys
import numpy as np, calibrant as cb
rng = np.random.default_rng(0)
n = 1000
y, s, g = rng.normal(size=n), rng.lognormal(size=n), rng.integers(0, 5, n)
one = cb.Intervals(-s, s, 0.9)
several = cb.Intervals(np.outer(s, [-1, -2]), np.outer(s, [1, 2]), [0.5, 0.9])
q = cb.Quantiles(np.sort(rng.normal(size=(n, 5)), axis=1), [0.05, 0.25, 0.5, 0.75, 0.95])
mask = rng.random((n, 10)) < 0.5
sets, k = cb.Sets(mask, 0.9), rng.integers(0, 10, n)
law, draws = cb.Normal(np.zeros(n), s), cb.Samples(rng.normal(size=(n, 20)))
plane, v = cb.Samples(rng.normal(size=(n, 20, 2))), rng.normal(size=(n, 2))
"""


def interval_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes and intervals of lognormal width."""
    rng = np.random.default_rng(0)
    mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
    return mean + s * rng.normal(size=n), Intervals(mean - 1.645 * s, mean + 1.645 * s, LEVEL)


def quantile_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes and five quantiles."""
    rng = np.random.default_rng(0)
    mean, s = rng.normal(size=n), rng.lognormal(sigma=0.5, size=n)
    z = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    return mean + s * rng.normal(size=n), Quantiles(mean[:, None] + s[:, None] * z, TAUS)


def draw_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes and draws of the same distribution."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=n)
    return rng.normal(mean), Samples(rng.normal(mean[:, None], 1.0, (n, DRAWS)))


@contextmanager
def numba_body() -> Iterator[None]:
    """Make calibrant take the Numba bodies whatever the number of rows, so that a small call compiles them."""
    kept = dispatch.FAST_ROWS
    dispatch.FAST_ROWS = 0
    try:
        if not dispatch.has_numba():
            raise RuntimeError("Numba is not installed: install calibrant[bench]")
        yield
    finally:
        dispatch.FAST_ROWS = kept


def hide_numba() -> None:
    """Make this process one in which Numba is not installed."""
    sys.modules["numba"] = None  # type: ignore[assignment]
    if dispatch.has_numba():
        raise RuntimeError("Numba was found before it was hidden")


def fixed_hsic(y: Any, intervals: Any) -> float:
    return cb.regions.coverage_hsic(y, intervals, scale=SCALES[0], coverage_scale=SCALES[1], root=True)


def median_hsic(y: Any, intervals: Any) -> float:
    return cb.regions.coverage_hsic(y, intervals)


def exponential_hsic(y: Any, intervals: Any) -> float:
    return cb.regions.coverage_hsic(y, intervals, kernel="exponential")


def mapie_hsic(y: Any, intervals: Any) -> float:
    from mapie.metrics.regression import hsic

    bounds = np.stack([intervals.lower, intervals.upper], axis=1)
    return float(hsic(y, bounds, kernel_sizes=SCALES)[0])


def stratified(y: Any, intervals: Any) -> float:
    return cb.regions.size_stratified_coverage(y, intervals)


# A mean of row scores, and the arrays that it has to read: those are what one pass is a pass over.
MEANS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "coverage": ("intervals", cb.coverage),
    "width": ("bounds", lambda y, p: cb.width(p)),
    "interval_score": ("intervals", cb.interval_score),
    "coverage_width_criterion": ("intervals", cb.regions.coverage_width_criterion),
    "coverage, quantiles": ("quantiles", cb.coverage),
    "quantile_score": ("quantiles", cb.quantile_score),
    "weighted_interval_score": ("quantiles", cb.weighted_interval_score),
}


def total(y: Any, prediction: Any, reads: str) -> float:
    """Add up all that a score reads, array by array."""
    if reads == "quantiles":
        columns = [y, *prediction.values.T]
    else:
        columns = [*prediction.lower.T, *prediction.upper.T] + ([y] if reads == "intervals" else [])
    return float(sum(column.sum() for column in columns))


def seconds_of_means(n: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return the seconds of each mean, and those of a pass over what it reads."""
    found = {}
    for kinds, inputs in ((("intervals", "bounds"), interval_rows), (("quantiles",), quantile_rows)):
        y, prediction = inputs(n)
        chosen = {name: verb for name, (reads, verb) in MEANS.items() if reads in kinds}
        work = {name: functools.partial(verb, y, prediction) for name, verb in chosen.items()}
        passes = {f"pass over {reads}": functools.partial(total, y, prediction, reads) for reads in kinds}
        seconds = best_seconds({**work, **passes}, rounds=rounds)
        found |= {name: (seconds[name], seconds[f"pass over {MEANS[name][0]}"]) for name in chosen}
    return found


def on_rows(functions: Mapping[str, Callable[..., Any]], *rows: Any) -> dict[str, Callable[[], Any]]:
    return {name: functools.partial(function, *rows) for name, function in functions.items()}


def time_against_mapie(report: Report, n: int) -> None:
    report.section(f"Dependence of coverage on width, {n:,} rows, scale 1, square root, best of 100 and of 2")
    y, intervals = interval_rows(n)
    both = {HSIC: fixed_hsic, MAPIE_HSIC: mapie_hsic}
    work = on_rows(both, y, intervals)
    seconds = {HSIC: best_seconds({HSIC: work[HSIC]}, rounds=100)[HSIC]}  # too short to be seen beside seconds
    seconds |= best_seconds({MAPIE_HSIC: work[MAPIE_HSIC]}, rounds=2)
    rows = [
        (
            name,
            f"{seconds[name]:.5f}",
            f"{added_memory(function, interval_rows, n) / 2**20:.0f}",
            f"{function(y, intervals):.12f}",
        )
        for name, function in both.items()
    ]
    report.table(["", "seconds", "peak MiB", "value"], rows)
    ratio = seconds[MAPIE_HSIC] / seconds[HSIC]
    words = f"at least {FASTER_THAN_MAPIE:g} times as fast as MAPIE"
    report.target(words, f"{ratio:.0f} times", ratio >= FASTER_THAN_MAPIE)


def time_hsic(report: Report, n: int) -> None:
    report.section(f"coverage_hsic, {n:,} rows, best of {FEWER_ROUNDS}")
    y, intervals = interval_rows(n)
    kinds = {
        "scale from the median": median_hsic,
        "scale 1": fixed_hsic,
        "exponential, scale from the median": exponential_hsic,
    }
    seconds = best_seconds(on_rows(kinds, y, intervals), rounds=FEWER_ROUNDS)
    peak = {name: added_memory(function, interval_rows, n) / (8 * n) for name, function in kinds.items()}
    fewer = {name: added_memory(function, interval_rows, n // 4) / (2 * n) for name, function in kinds.items()}
    rows = [(name, f"{seconds[name]:.3f}", f"{peak[name]:.1f}", f"{fewer[name]:.1f}") for name in kinds]
    report.table(["", "seconds", "peak, arrays of n doubles", f"the same, {n // 4:,} rows"], rows)
    slowest, largest = max(seconds.values()), max(peak.values())
    report.target(f"in at most {HSIC_SECONDS:g} s", f"{slowest:.2f} s", slowest <= HSIC_SECONDS)
    words = f"memory O(n): at most {HSIC_ARRAYS:g} arrays of n doubles"
    report.target(words, f"{largest:.1f}", largest <= HSIC_ARRAYS)


def time_means(report: Report, n: int, rounds: int) -> None:
    report.section(f"Means of row scores, {n:,} rows, best of {rounds} interleaved rounds")
    fast = seconds_of_means(n, rounds)
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, initializer=hide_numba) as process:
        plain = process.submit(seconds_of_means, n, min(rounds, FEWER_ROUNDS)).result()
    rows = []
    for name, (seconds, one_pass) in fast.items():
        ratio = seconds / one_pass
        slow, slow_pass = plain[name]
        mark = report.mark(ratio <= PASSES)
        rows.append((name, f"{seconds:.4f}", f"{ratio:.2f}", mark, f"{slow:.4f}", f"{slow / slow_pass:.2f}"))
    header = ["", "seconds", "passes", f"at most {PASSES:g} passes", "without Numba", "passes"]
    report.table(header, rows)
    report.say("A pass is numpy.sum of each array that the score reads. Quantiles have 5 levels, intervals one.")


def memory_of_means(report: Report, n: int) -> None:
    report.section(f"Peak memory above the inputs, {n:,} rows, each in a fresh process: no target")
    calls = {
        "coverage": (cb.coverage, interval_rows),
        "interval_score": (cb.interval_score, interval_rows),
        "coverage_width_criterion": (cb.regions.coverage_width_criterion, interval_rows),
        "size_stratified_coverage": (stratified, interval_rows),
        "quantile_score": (cb.quantile_score, quantile_rows),
        "weighted_interval_score": (cb.weighted_interval_score, quantile_rows),
    }
    rows = []
    for name, (verb, inputs) in calls.items():
        peak = added_memory(functools.partial(_called, verb.__name__), inputs, n)
        rows.append((name, f"{peak / 2**20:.0f}", f"{peak / (8 * n):.2f}"))
    report.table(["", "MiB", "arrays of n doubles"], rows)


def _called(name: str, y: Any, prediction: Any) -> Any:
    if name == "stratified":
        return stratified(y, prediction)
    with numba_body():
        return find(name).verb(y, prediction)


def time_stratified(report: Report, n: int, rounds: int) -> None:
    report.section(f"size_stratified_coverage, {n:,} rows, best of {rounds} interleaved rounds")
    y, intervals = interval_rows(n)
    widths = (intervals.upper - intervals.lower)[:, 0]
    work = {SORT: lambda: sort(widths), SSC: functools.partial(stratified, y, intervals)}
    seconds = best_seconds(work, rounds=rounds)
    rows = [(name, f"{s:.4f}", f"{s / seconds[SORT]:.2f}") for name, s in seconds.items()]
    report.table(["", "seconds", "sorts"], rows)
    ratio = seconds[SSC] / seconds[SORT]
    report.target(f"at most {SORTS:g} sorts", f"{ratio:.2f}", ratio <= SORTS)


def time_crps(report: Report, n: int) -> None:
    report.section(f"crps, {n:,} rows of {DRAWS} draws, best of {FEWER_ROUNDS} interleaved rounds: no target")
    y, samples = draw_rows(n)
    work: dict[str, Callable[[], Any]] = {
        "numpy.sort(draws, axis=1)": lambda: np.sort(samples.draws, axis=1),
        "calibrant crps": lambda: cb.crps(y, samples),
        "calibrant crps, fair": lambda: cb.crps(y, samples, fair=True),
    }
    if importlib.util.find_spec("scoringrules"):
        import scoringrules

        for engine in ("numpy", "numba"):
            for estimator in ("qd", "fair"):
                call = functools.partial(
                    scoringrules.crps_ensemble, y, samples.draws, estimator=estimator, backend=engine
                )
                work[f'scoringrules, estimator="{estimator}", {engine}'] = call
    seconds = best_seconds(work, rounds=FEWER_ROUNDS)
    first = seconds["numpy.sort(draws, axis=1)"]
    rows = [(name, f"{s:.3f}", f"{s / first:.2f}", _mean(name, work[name])) for name, s in seconds.items()]
    report.table(["", "seconds", "sorts", "value"], rows)
    if not importlib.util.find_spec("scoringrules"):
        report.say("scoringrules is not installed.")


def _mean(name: str, call: Callable[[], Any]) -> str:
    return "" if name.startswith("numpy") else f"{float(np.mean(call())):.12f}"


def time_decompositions(report: Report, n: int) -> None:
    report.section(f"Isotonic decomposition, best of {FEWER_ROUNDS} interleaved rounds: no target")
    rows = []
    for count in (n // 100, n // 10):
        y, quantiles = quantile_rows(count)
        one = Quantiles(quantiles.values[:, 3], TAUS[3])
        work = {
            "numpy.sort(y)": lambda y=y: np.sort(y),
            "decompose, 1 level": functools.partial(cb.decompose, y, one),
            "decompose, 5 levels": functools.partial(cb.decompose, y, quantiles),
            "reliability_curve, 1 level": functools.partial(cb.reliability_curve, y, one),
        }
        seconds = best_seconds(work, rounds=FEWER_ROUNDS)
        first = seconds["numpy.sort(y)"]
        rows += [(f"{name}, {count:,} rows", f"{s:.3f}", f"{s / first:.0f}") for name, s in seconds.items()]
    report.table(["", "seconds", "sorts"], rows)


def time_others(report: Report, n: int) -> None:
    report.section("Other verbs, as a user calls them, best of 2: no target")
    calls: dict[str, tuple[Callable[[int], tuple[Any, Any]], int, Callable[..., Any]]] = {
        "christoffersen_test": (interval_rows, 10_000, cb.regions.christoffersen_test),
        "christoffersen_test, independence": (
            interval_rows,
            10_000,
            functools.partial(cb.regions.christoffersen_test, method="independence"),
        ),
        "coverage_hsic_test, 999 permutations": (interval_rows, n // 1000, cb.regions.coverage_hsic_test),
        "coverage_test": (interval_rows, n // 10, cb.coverage_test),
        "coverage_curve, 3 groups of widths": (
            interval_rows,
            n // 10,
            lambda y, p: cb.coverage_curve(y, p, groups="size"),
        ),
        "worst_slab_coverage, 5 features": (interval_rows, n // 100, _slab),
        "pit": (draw_rows, n // 100, lambda y, p: cb.pit(y, p, rng=0)),
        "decompose, 100 draws, hersbach": (draw_rows, n // 100, lambda y, p: cb.decompose(y, p, method="hersbach")),
        "decompose, 100 draws, isotonic": (draw_rows, n // 1000, cb.decompose),
        "energy_score, 100 draws": (draw_rows, n // 100, cb.energy_score),
        "audit, intervals": (interval_rows, n // 10, cb.audit),
        "audit, 5 quantiles": (quantile_rows, n // 100, cb.audit),
    }
    rows = []
    for name, (inputs, count, verb) in calls.items():
        seconds = best_seconds({name: functools.partial(verb, *inputs(count))}, rounds=1 if "audit" in name else 2)
        rows.append((name, f"{count:,}", f"{seconds[name]:.3f}"))
        print(f"  {name}: {seconds[name]:.3f} s", flush=True)
    report.table(["", "rows", "seconds"], rows)


def _slab(y: Any, p: Any) -> Any:
    features = np.random.default_rng(1).normal(size=(len(y), 5))
    return cb.regions.worst_slab_coverage(y, p, features=features, rng=0)


def time_first_calls(report: Report, rounds: int) -> None:
    report.section(f"First call on 1,000 rows after the import, each in a fresh process, best of {rounds}")
    calls = [
        *(f"coverage({given})" for given in ("y, one", "y, several", "k, sets", "y, q")),
        *("width(one)", "width(sets)", "width(one, statistic='median')"),
        *("interval_score(y, one)", "interval_score(y, several)", "regions.coverage_width_criterion(y, one)"),
        *("quantile_score(y, q)", "weighted_interval_score(y, q)", "weighted_interval_score(y, several)"),
        *("regions.coverage_hsic(y, one)", "regions.coverage_hsic(k, sets)"),
        *("regions.size_stratified_coverage(y, one)", "regions.size_stratified_coverage(k, sets)"),
        *("coverage_gap(y, one, groups=g)", "coverage_gap(k, sets)"),
        *("interval('coverage', y, one)", "interval('crps', y, law)"),
        *("coverage_curve(y, several)", "coverage_curve(y, one, groups=g)", "coverage_curve(y, one, groups='size')"),
        *("coverage_test(y, one)", "coverage_test(y, one, groups=g)", "coverage_test(y, one, calibration_size=100)"),
        *("regions.kupiec_test(y, one)", "regions.christoffersen_test(y, one)"),
        "regions.christoffersen_test(y, one, method='independence')",
        *("regions.multinomial_coverage_test(y, several)", "regions.coverage_hsic_test(y, one)"),
        *("crps(y, law)", "crps(y, draws)", "energy_score(v, plane)", "log_score(y, law)"),
        *("sharpness(law)", "sharpness(draws)", "pit(y, law)", "pit(y, draws, rng=0)", "pit(y, q, rng=0)"),
        *("pit_histogram(y, draws)", "pit_histogram(y, q)", "reliability_curve(y, q)"),
        *("decompose(y, q)", "decompose(y, draws)", "decompose(y, law)", "decompose(y, draws, method='hersbach')"),
        "regions.worst_slab_coverage(y, one, features=v, directions=20, rng=0)",
    ]
    longer = {"regions.coverage_hsic_test(y, one)": "999 permutations"}
    statements = {call: (SMALL_ROWS, f"cb.{call}\nassert 'numba' not in sys.modules") for call in calls}
    seconds = best_fresh_seconds(statements, rounds=rounds)
    rows = [
        (call, f"{s:.3f}", longer[call] if call in longer else report.mark(s <= FIRST_CALL_SECONDS))
        for call, s in seconds.items()
    ]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)
    report.say("None of them waits for a compiler: Numba is not imported.")


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory on intervals, quantiles and draws.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that everything runs; nothing is kept")
    given = parser.parse_args()
    n, rounds = (200_000, 2) if given.quick else (given.rows, given.rounds)
    packages = ["numpy", "scipy", "numba", "mapie"]
    packages += ["scoringrules"] if importlib.util.find_spec("scoringrules") else []
    report = Report("Speed and memory on intervals, quantiles and draws", packages=packages)
    time_against_mapie(report, 500 if given.quick else MAPIE_ROWS)
    time_hsic(report, 20_000 if given.quick else HSIC_ROWS)
    time_means(report, n, rounds)
    time_stratified(report, n, rounds)
    memory_of_means(report, n)
    time_crps(report, 2_000 if given.quick else DRAWS_ROWS)
    time_decompositions(report, n)
    time_others(report, n)
    time_first_calls(report, 1 if given.quick else FIRST_CALL_ROUNDS)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("intervals")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
