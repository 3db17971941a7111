"""Speed and memory on draws: exact bands against simulated ones, ranks against one pass over the draws.

    python -m benchmarks.samples [--rows 10000] [--rounds 7] [--quick]

`--quick` takes little data to see that everything runs; its numbers mean nothing and are not kept.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.runner import Report, added_memory, best_fresh_seconds, best_seconds
from scipy.special import bdtr

from calibrant import Samples, conditional_test, simulate_calibration
from calibrant.conditional.kept import KeptCovariates
from calibrant.ranking import bands
from calibrant.ranking import bands as histograms
from calibrant.ranking.bands import count_limits
from calibrant.ranking.counting import rank_counts
from calibrant.ranking.poisson_walk import PoissonWalk
from calibrant.ranking.quantities import ranks

LEVEL = 0.95
BAND_SECONDS = {(1_000, 1_000): 0.3, (10_000, 1_000): 0.5, (1_000_000, 100): 0.5}  # (N, K), search included
SIMULATIONS = 1_000  # of a simulated band, the number arviz-plots takes
FASTER_THAN_SIMULATION = 10.0
FIRST_CALL_SECONDS, FIRST_CALL_ROUNDS = 0.5, 3

DRAWS, COORDINATES = 1_000, 10
PASSES = 3.0  # over the bytes of the draws
EXTRA_MEMORY = 64 << 20
SEARCHED = 20  # covariates
SEARCH_SECONDS, SEARCH_MEMORY = 60, 500 << 20

RUNNER_MS = 2.0  # beside the functions themselves

EXACT = "calibrant ecdf_band"
SIMULATED = f"simulated, {SIMULATIONS:,} curves"
PASS, COUNTS, VERB = "numpy.sum(draws)", "calibrant rank_counts", "calibrant ranks"


def even_points(K: int) -> Any:
    return np.arange(1, K) / K


def exact_band(N: int, K: int) -> Any:
    """Return a band that was not remembered."""
    bands._band.cache_clear()
    return bands.ecdf_band(N, even_points(K), LEVEL)


def exact_pvalue(gamma: float, N: int, K: int) -> float:
    bands._pvalue.cache_clear()
    return bands.gamma_pvalue(gamma, N, even_points(K))


def exact_histogram(N: int, bins: int) -> Any:
    histograms._histogram_band.cache_clear()
    return histograms.histogram_band(N, np.full(bins, 1 / bins), LEVEL)


def simulated_gamma(N: int, K: int, simulations: int = SIMULATIONS) -> float:
    """Return γ as a quantile of simulated minima, the way arviz-stats finds the pointwise level of its band."""
    rng, t = np.random.default_rng(0), even_points(K)
    gamma = np.empty(simulations)
    for i in range(simulations):
        counts = np.searchsorted(np.sort(rng.random(N)), t, side="right")
        gamma[i] = 2 * min(bdtr(counts, N, t).min(), (1 - bdtr(np.maximum(counts - 1, 0), N, t))[counts > 0].min())
    return float(np.quantile(gamma, 1 - LEVEL))


def arviz_gamma(N: int, K: int) -> float:
    from arviz_stats.ecdf_utils import simulate_confidence_bands

    return 1 - simulate_confidence_bands(N, 1, even_points(K), LEVEL, SIMULATIONS, np.random.default_rng(0))


def coverage_at(gamma: float, N: int, K: int) -> float:
    """Return the probability that a curve keeps to the limits at γ."""
    limits = count_limits(gamma, N, even_points(K))
    return PoissonWalk.of(N, even_points(K)).inside(limits.lower, limits.upper)


def time_bands(report: Report, sizes: dict[tuple[int, int], float], rounds: int) -> None:
    report.section(f"Exact bands of {LEVEL:.0%}, search included, best of {rounds} interleaved rounds")
    work = {f"N = {N:,}, K = {K:,}": functools.partial(exact_band, N, K) for N, K in sizes}
    seconds = best_seconds(work, rounds=rounds)
    rows = []
    for (name, s), most in zip(seconds.items(), sizes.values(), strict=True):
        band = work[name]()
        rows.append(
            (name, f"{s:.4f}", f"{most:g}", report.mark(s <= most), f"{band.gamma:.9f}", f"{band.coverage:.9f}")
        )
    report.table(["", "seconds", "at most", "", "gamma", "coverage"], rows)
    report.say("Points are 1/K, ..., (K - 1)/K. All is done in NumPy: nothing waits for a compiler.")


def time_against_simulation(report: Report, N: int, K: int) -> None:
    report.section(f"Exact against simulated, N = {N:,}, K = {K:,}, best of 5 and of 1")
    gammas: dict[str, Callable[[], float]] = {
        EXACT: lambda: exact_band(N, K).gamma,
        SIMULATED: functools.partial(simulated_gamma, N, K),
    }
    if importlib.util.find_spec("arviz_stats"):
        gammas["arviz-stats, as many"] = functools.partial(arviz_gamma, N, K)
    seconds = {
        name: best_seconds({name: call}, rounds=5 if name == EXACT else 1)[name] for name, call in gammas.items()
    }
    rows = []
    for name, call in gammas.items():
        gamma, ratio = call(), seconds[name] / seconds[EXACT]
        rows.append((name, f"{seconds[name]:.3f}", f"{ratio:.1f}", f"{gamma:.6f}", f"{coverage_at(gamma, N, K):.4f}"))
    report.table(["", "seconds", "times exact", "gamma", "coverage"], rows)
    ratio = seconds[SIMULATED] / seconds[EXACT]
    words = f"at least {FASTER_THAN_SIMULATION:g} times as fast as {SIMULATIONS:,} simulated curves"
    report.target(words, f"{ratio:.0f} times", ratio >= FASTER_THAN_SIMULATION)


def time_pvalues(report: Report, sizes: dict[tuple[int, int], float], rounds: int) -> None:
    report.section(f"Exact p-values, one recursion each, best of {rounds} interleaved rounds: no target")
    calls = {
        (N, K, gamma): functools.partial(exact_pvalue, gamma, N, K) for N, K in sizes for gamma in (1e-3, 1e-12, 1e-34)
    }
    seconds = best_seconds({str(key): call for key, call in calls.items()}, rounds=rounds)
    rows = [
        (f"N = {N:,}, K = {K:,}", f"{gamma:g}", f"{call():.3g}", f"{seconds[str((N, K, gamma))]:.4f}")
        for (N, K, gamma), call in calls.items()
    ]
    report.table(["", "gamma", "p", "seconds"], rows)


def time_histograms(report: Report, rounds: int) -> None:
    report.section(f"Exact bands of histograms, best of {rounds} interleaved rounds: no target")
    sizes = [(1_000, 20), (100_000, 20), (10_000, 100), (1_000_000, 1_000)]
    work = {f"N = {N:,}, {bins:,} bins": functools.partial(exact_histogram, N, bins) for N, bins in sizes}
    seconds = best_seconds(work, rounds=rounds)
    report.table(
        ["", "seconds", "coverage"], [(k, f"{s:.4f}", f"{work[k]().coverage:.6f}") for k, s in seconds.items()]
    )


def time_first_calls(report: Report, rounds: int) -> None:
    report.section(f"First call after the import, each in a fresh process, best of {rounds}")
    setup = "import sys\nimport numpy as np, calibrant\nfrom calibrant.ranking.bands import ecdf_band, gamma_pvalue"
    calls = {
        "ecdf_band, N = 200, K = 100": "ecdf_band(200, np.arange(1, 100) / 100, 0.95)",
        "ecdf_band, N = 1,000, K = 1,000": "ecdf_band(1000, np.arange(1, 1000) / 1000, 0.95)",
        "gamma_pvalue, N = 1,000, K = 1,000": "gamma_pvalue(1e-3, 1000, np.arange(1, 1000) / 1000)",
    }
    statements = {name: (setup, f"{call}\nassert 'numba' not in sys.modules") for name, call in calls.items()}
    seconds = best_fresh_seconds(statements, rounds=rounds)
    rows = [(name, f"{s:.3f}", report.mark(s <= FIRST_CALL_SECONDS)) for name, s in seconds.items()]
    report.table(["", "seconds", f"at most {FIRST_CALL_SECONDS:g} s"], rows)


def vector_rows(n: int) -> tuple[Any, Any]:
    """Return outcomes (n, 10) and as many draws of the same distribution, (n, 1000, 10)."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, COORDINATES)), Samples(rng.normal(size=(n, DRAWS, COORDINATES)))


def seconds_of_ranks(n: int, rounds: int) -> dict[str, float]:
    y, samples = vector_rows(n)
    work = {
        PASS: lambda: np.sum(samples.held),
        COUNTS: lambda: rank_counts(y, samples.held, np.dtype(np.float64)),
        VERB: lambda: ranks(y, samples),
        "Samples(draws), which looks for NaN": lambda: Samples(samples.held),
    }
    return best_seconds(work, rounds=rounds)


def time_ranks(report: Report, n: int, rounds: int) -> None:
    report.section(f"Ranks of {n:,} x {DRAWS:,} x {COORDINATES} draws, float64, best of {rounds} interleaved rounds")
    seconds = seconds_of_ranks(n, rounds)
    passes = {name: s / seconds[PASS] for name, s in seconds.items()}
    report.table(["", "seconds", "passes"], [(name, f"{s:.3f}", f"{passes[name]:.2f}") for name, s in seconds.items()])
    for name in (COUNTS, VERB):
        report.target(f"{name} in at most {PASSES:g} passes", f"{passes[name]:.2f}", passes[name] <= PASSES)
    extra = added_memory(ranks, vector_rows, n)
    words = f"memory above the {8 * n * DRAWS * COORDINATES >> 20:,} MiB of draws at most {EXTRA_MEMORY >> 20} MiB"
    report.target(words, f"{extra / 2**20:.1f} MiB", extra <= EXTRA_MEMORY)


def search_rows(n: int) -> KeptCovariates:
    """Return ranks of 10 coordinates among 99 draws, and 20 covariates."""
    rng = np.random.default_rng(0)
    return KeptCovariates.of_ranks(rng.integers(0, 100, (n, COORDINATES)), 99, rng.normal(size=(n, SEARCHED)))


def searched_inputs(n: int) -> tuple[KeptCovariates]:
    return (search_rows(n),)


def searched(kept: KeptCovariates) -> Any:
    """Search with few redraws: the memory does not grow with their number."""
    return conditional_test(kept, resamples=99)


def time_search(report: Report, n: int, redraws: int) -> None:
    report.section(
        f"conditional_test of {n:,} rows, {COORDINATES} coordinates, {SEARCHED} covariates, {redraws} redraws"
    )
    kept = search_rows(n)
    start = time.perf_counter()
    conditional_test(kept, resamples=redraws)
    seconds = time.perf_counter() - start
    report.target(f"seconds at most {SEARCH_SECONDS}", f"{seconds:.1f}", seconds <= SEARCH_SECONDS)
    extra = added_memory(searched, searched_inputs, n)
    report.target(f"memory at most {SEARCH_MEMORY >> 20} MiB", f"{extra / 2**20:.0f} MiB", extra <= SEARCH_MEMORY)


def small_prior(rng: Any) -> Any:
    return rng.normal(size=5)


def small_simulator(theta: Any, rng: Any) -> Any:
    return rng.normal(theta)


def small_sampler(x: Any, draws: int, rng: Any) -> Any:
    return rng.normal(x / 2, 0.7, (draws, 5))


def functions_alone(n: int) -> None:
    """Call the three functions n times, each with a generator of its own."""
    for child in np.random.SeedSequence(0).spawn(n):
        of_prior, of_data, of_draws = (np.random.default_rng(seed) for seed in child.spawn(3))
        small_sampler(small_simulator(small_prior(of_prior), of_data), 100, of_draws)


def time_runner(report: Report, n: int, rounds: int) -> None:
    """What `simulate_calibration` costs beside the three functions."""

    def run(**options: Any) -> None:
        simulate_calibration(small_prior, small_simulator, small_sampler, n=n, draws=100, **options)

    def kept() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(checkpoint=folder)

    report.section(
        f"simulate_calibration, {n:,} fits of 100 draws of 5 parameters, best of {rounds} interleaved rounds"
    )
    work = {"functions alone": lambda: functions_alone(n), "this process": run, "with a checkpoint": kept}
    work["2 processes"] = lambda: run(workers=2)
    seconds = best_seconds(work, rounds=rounds)
    each = {name: 1000 * (s - seconds["functions alone"]) / n for name, s in seconds.items()}
    report.table(["", "seconds", "ms a fit more"], [(k, f"{s:.3f}", f"{each[k]:.3f}") for k, s in seconds.items()])
    for name in ("this process", "with a checkpoint"):
        report.target(f"{name}: at most {RUNNER_MS:g} ms a fit", f"{each[name]:.3f}", each[name] <= RUNNER_MS)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed and memory on draws.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--quick", action="store_true", help="little data, to see that everything runs; nothing is kept"
    )
    given = parser.parse_args()
    n, rounds = (500, 1) if given.quick else (given.rows, given.rounds)
    sizes = {(100, 100): 0.3, (1_000, 20): 0.3} if given.quick else BAND_SECONDS
    packages = ["numpy", "scipy", "numba"] + (["arviz-stats"] if importlib.util.find_spec("arviz_stats") else [])
    report = Report("Speed and memory on draws", packages=packages)
    time_bands(report, sizes, rounds)
    time_against_simulation(report, *(100, 20) if given.quick else (1_000, 1_000))
    time_pvalues(report, sizes, min(rounds, 3))
    time_histograms(report, min(rounds, 3))
    time_ranks(report, n, rounds)
    time_search(report, n, 19 if given.quick else 499)
    time_runner(report, 40 if given.quick else 2000, min(rounds, 3))
    time_first_calls(report, 1 if given.quick else FIRST_CALL_ROUNDS)
    report.say()
    report.say(f"{report.failures} targets missed")
    if not given.quick:
        report.save("samples")
    return 1 if report.failures and not given.quick else 0


if __name__ == "__main__":
    raise SystemExit(main())
