"""How often an audit calls calibrated predictions miscalibrated: the level of its verdict.

    python -m benchmarks.validity.audit [--repeats 300]

The verdict rests on up to three families of tests (all rows, classes, groups) and is to hold its level over all.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from benchmarks.runner import Report

import calibrant as cb

LEVEL = 0.95
ROWS = 400
REDRAWS = 10**6  # seeds of the redraws are not those of the data
Draw = Callable[[np.random.Generator], tuple[Any, Any, dict[str, Any]]]


def uniform(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    p = rng.random(ROWS)
    return rng.random(ROWS) < p, p, {}


def rare(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    p = rng.beta(0.5, 10, ROWS)
    return rng.random(ROWS) < p, p, {}


def tied(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    p = np.round(rng.random(ROWS), 1)
    return rng.random(ROWS) < p, p, {}


def weighted(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    y, p, _ = uniform(rng)
    return y, p, {"weights": rng.lognormal(size=ROWS)}


def grouped(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    y, p, _ = uniform(rng)
    return y, p, {"groups": {"a": rng.integers(0, 4, ROWS), "b": rng.integers(0, 3, ROWS)}, "intersections": 2}


def classes(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    P = rng.dirichlet(np.ones(5), ROWS)
    return (rng.random((ROWS, 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=4), P, {}


def classes_grouped(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    y, P, _ = classes(rng)
    return y, P, {"groups": rng.integers(0, 4, ROWS)}


DESIGNS: tuple[Draw, ...] = (uniform, rare, tied, weighted, grouped, classes, classes_grouped)


def alarms(design: Draw, seeds: range) -> int:
    """Count the audits of calibrated predictions that say otherwise."""
    count = 0
    for seed in seeds:
        y, prediction, options = design(np.random.default_rng(seed))
        audit = cb.audit(y, prediction, level=LEVEL, resamples=99, rng=seed + REDRAWS, **options)
        count += audit.verdict.status == "miscalibrated"
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    repeats = parser.parse_args().repeats
    report = Report(f"Level of the verdict of audit, {ROWS} rows, 99 redraws", packages=["numpy", "scipy"])
    report.section(f"Share of audits of calibrated predictions that say miscalibrated, nominal {1 - LEVEL:.2f}")
    error = math.sqrt((1 - LEVEL) * LEVEL / repeats)
    with ProcessPoolExecutor(2) as pool:
        for design in DESIGNS:
            halves = (range(repeats // 2), range(repeats // 2, repeats))
            rate = sum(pool.map(alarms, (design, design), halves)) / repeats
            report.target(design.__name__.replace("_", " and "), f"{rate:.3f}", rate <= 1 - LEVEL + 2.6 * error)
    report.say(f"\n{repeats} repeats; PASS: at most nominal plus 2.6 standard errors ({error:.3f})")
    report.save("validity_audit")
    sys.exit(report.failures > 0)


if __name__ == "__main__":
    main()
