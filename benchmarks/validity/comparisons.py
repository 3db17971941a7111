"""Do limits of differences of cutoff errors, and limits of the squared kernel error, cover?

    python -m benchmarks.validity.comparisons [--quick] [--state FILE] [--processes 2]

A run can be interrupted and resumed. Differences are drawn with 600 draws of the noise in place of 4,000, which makes
limits more random, not wider.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.runner import Report
from benchmarks.validity import limits
from benchmarks.validity.cells import Cell, Counts, command, run
from benchmarks.validity.designs import Truth
from scipy.special import ndtr
from scipy.stats import norm

from calibrant import Intervals, Normal
from calibrant.auditing import cutoff_differences
from calibrant.auditing.cutoff_differences import CutoffDifferences, Walk
from calibrant.core.catalogue import find
from calibrant.core.kept_rows import KeptRows
from calibrant.errors import NotApplicableError
from calibrant.inputs.probabilities import Binary
from calibrant.kernels.kernel import Exponential, Gaussian

RATE, LEAST = 0.05, 0.93
REPEATS, KERNEL_REPEATS = 200, 40  # data sets a cell, of differences and of skce
FloatArray = np.ndarray[Any, Any]
POWERS = limits.POWERS


def _wave(size: float, turns: int) -> Callable[[FloatArray], FloatArray]:
    return lambda q: q + size * q * (1 - q) * np.cos(turns * np.pi * q)


def _slope(slope: float, shift: float = 0.0) -> Callable[[FloatArray], FloatArray]:
    return lambda q: Truth(slope, shift).probability(np.clip(q, 1e-12, 1 - 1e-12))


SAME = _slope(1.0)
PAIRS: dict[str, tuple[str, Callable[[FloatArray], FloatArray], str, Callable[[FloatArray], FloatArray]]] = {
    "calibrated": ("u", SAME, "v", SAME),
    "calibrated, nested": ("uv", SAME, "u", SAME),
    "calibrated, slope 0.8": ("uv", SAME, "uv", _slope(0.8)),
    "slope 0.8, calibrated": ("u", _slope(0.8), "v", SAME),
    "both slope 0.6": ("u", _slope(0.6), "v", _slope(0.6)),
    "nearly equal": ("uv", _slope(0.6), "uv", _slope(0.6, 0.02)),
    "opposite shifts": ("uv", _slope(1.0, 0.4), "uv", _slope(1.0, -0.4)),
    "small opposite shifts": ("uv", _slope(1.0, 0.15), "uv", _slope(1.0, -0.15)),
    "slopes 0.7, 1.4": ("uv", _slope(0.7), "uv", _slope(1.4)),
    "waves": ("uv", _wave(0.2, 4), "uv", _wave(0.2, 6)),
}
"""What each model knows, and what it makes of the probability of the event given that."""

CLUSTERED = {
    "200 of 10, alike": (200, 10, 0.5, 0.5),
    "40 of 50, alike": (40, 50, 0.5, 0.5),
    "40 of 10, alike": (40, 10, 0.5, 0.5),
    "200 of 10, nearly equal": (200, 10, 0.99, 0.9),
}
"""Number and size of clusters, and the correlation of scores and of outcomes within them, on a normal scale."""
CLUSTERED_PAIRS = (
    "calibrated",
    "calibrated, slope 0.8",
    "nearly equal",
    "opposite shifts",
    "small opposite shifts",
    "waves",
)


def plan(*, quick: bool) -> list[Cell]:
    """Return all cells."""
    few = 100 if quick else 1
    pairs = [Cell("pair", design, n, pair, REPEATS // few) for n in (2000, 200) for design in POWERS for pair in PAIRS]
    clustered = [
        Cell("clusters", design, count * size, pair, REPEATS // few)
        for design, (count, size, *_) in CLUSTERED.items()
        for pair in CLUSTERED_PAIRS
    ]
    kernel = [Cell("skce", design, n, "", max(2, KERNEL_REPEATS // few)) for n in (400, 100) for design in KERNEL]
    return pairs + clustered + kernel


def measure(cell: Cell) -> Counts:
    """Simulate one cell."""
    return kernel_limits(cell) if cell.procedure == "skce" else paired(cell)


def paired(cell: Cell) -> Counts:
    """Count how often limits of a difference of cutoff errors miss, and how often they show a difference."""
    cutoff_differences.MIN_DRAWS, cutoff_differences.BEYOND = 600, 15
    rng, total, power = cell.rng(), Counter(), POWERS.get(cell.design, 1.0)
    count, size, of_scores, of_outcomes = CLUSTERED.get(cell.design, (cell.n, 1, 0.0, 0.0))
    code = np.repeat(np.arange(count), size)
    for _ in range(cell.repeats):
        u, v, chance = (_uniform(rng, code, share) for share in (of_scores, of_scores, of_outcomes))
        u, v = u**power, v**power
        q, mean = (u + v) / 2, 1 / (1 + power)
        given = {"u": (u + mean) / 2, "v": (v + mean) / 2, "uv": q}  # P(y = 1) given what a model knows
        y = (chance < q).astype(np.uint8)
        knows_a, make_a, knows_b, make_b = PAIRS[cell.truth]
        models = {"a": (make_a(given[knows_a]), given[knows_a]), "b": (make_b(given[knows_b]), given[knows_b])}
        clusters = code if cell.procedure == "clusters" else None
        try:
            walks = {name: Walk.of(Binary(y, p, np.ones(cell.n)), clusters) for name, (p, _) in models.items()}
        except NotApplicableError:
            continue
        found = CutoffDifferences(walks).pair("cutoff_error", "a", "b", RATE)
        true = _cutoff(*models["a"]) - _cutoff(*models["b"])
        missed, shown = not found.low <= true <= found.high, found.low > 0 or found.high < 0
        total.update(
            {"issued": 1, "missed": int(missed), "shown": int(shown), "length": found.high - found.low, "true": true}
        )
    return dict(total)


def _uniform(rng: np.random.Generator, code: np.ndarray[Any, Any], share: float) -> FloatArray:
    """Return uniform variables whose normal scores have this correlation within a cluster."""
    own, common = rng.normal(size=code.size), rng.normal(size=int(code.max()) + 1)
    return ndtr(math.sqrt(1 - share) * own + math.sqrt(share) * common[code])


def _cutoff(p: FloatArray, q: FloatArray) -> float:
    """Return the range of the partial sums of q - p in the order of p."""
    return float(np.ptp(np.append(0.0, np.cumsum((q - p)[np.argsort(p, kind="stable")])))) / p.size


def _classes(K: int, spread: float, temperature: float, rare: float = 0.0) -> Callable[..., Any]:
    def drawn(rng: np.random.Generator, n: int) -> tuple[Any, Any, float]:
        a = spread * rng.normal(size=(n, K)) - rare * (np.arange(K) > 0)
        P, Q = (np.exp(t * a) / np.exp(t * a).sum(axis=1, keepdims=True) for t in (1.0, temperature))
        y = (rng.random((n, 1)) > np.cumsum(Q, axis=1)).sum(axis=1).clip(max=K - 1)
        k = np.exp(-np.abs(P[:, None] - P[None]).sum(axis=-1) / 2 / 0.3)
        return y, P, float((k * ((Q - P) @ (Q - P).T)).mean())

    return drawn


def _normal(shift: float, scale: float) -> Callable[..., Any]:
    def drawn(rng: np.random.Generator, n: int) -> tuple[Any, Any, float]:
        m, s = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
        k = np.exp(-np.hypot(m[:, None] - m, s[:, None] - s) / 1.0)

        def both(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> FloatArray:
            variance = 1 + one[1][:, None] ** 2 + other[1] ** 2
            return np.exp(-((one[0][:, None] - other[0]) ** 2) / 2 / variance) / np.sqrt(variance)

        true, said = (m + shift, s * scale), (m, s)
        h = both(true, true) - both(true, said) - both(said, true) + both(said, said)
        return rng.normal(*true), Normal(m, s), float((k * h).mean())

    return drawn


def _intervals(scale: float) -> Callable[..., Any]:
    def drawn(rng: np.random.Generator, n: int) -> tuple[Any, Any, float]:
        m, half = rng.normal(size=n), norm.ppf(0.95)
        off = 2 * ndtr(half / (scale * np.exp(0.3 * m))) - 1 - 0.9
        k = np.exp(-np.sqrt(2) * np.abs(m[:, None] - m) / 1.0)
        return (
            rng.normal(m, scale * np.exp(0.3 * m)),
            Intervals(m - half, m + half, 0.9),
            float(2 * off @ k @ off) / n**2,
        )

    return drawn


KERNEL: dict[str, tuple[Callable[..., Any], Any]] = {
    "3 classes, calibrated": (_classes(3, 1.0, 1.0), Exponential(0.3)),
    "3 classes, temperature 0.5": (_classes(3, 2.0, 0.5), Exponential(0.3)),
    "10 classes, calibrated": (_classes(10, 1.5, 1.0), Exponential(0.3)),
    "10 classes, temperature 0.5": (_classes(10, 2.0, 0.5), Exponential(0.3)),
    "4 classes, 3 of them rare": (_classes(4, 0.7, 0.7, rare=4.0), Exponential(0.3)),
    "Normal, calibrated": (_normal(0.0, 1.0), Exponential(1.0) * Gaussian(1.0)),
    "Normal, shift 0.3": (_normal(0.3, 1.0), Exponential(1.0) * Gaussian(1.0)),
    "Normal, scale 1.6": (_normal(0.0, 1.6), Exponential(1.0) * Gaussian(1.0)),
    "intervals, uneven": (_intervals(1.0), Exponential(1.0)),
    "intervals, too narrow": (_intervals(1.4), Exponential(1.0)),
}


def kernel_limits(cell: Cell) -> Counts:
    """Count how often limits of the squared kernel error fail on each side."""
    drawn, kernel = KERNEL[cell.design]
    entry, rng, total = find("skce"), cell.rng(), Counter()
    options = entry.parse({"kernel": kernel})
    for _ in range(cell.repeats):
        y, prediction, true = drawn(rng, cell.n)
        try:
            found = entry.limits(KeptRows.of(entry.read(y, prediction)), options)
        except NotApplicableError:
            continue
        high, low = found.high(RATE), found.low(RATE)
        total.update({"issued": 1, "above": int(true > high), "below": int(true < low), "high": high, "true": true})
    return dict(total)


def allowed(repeats: int) -> float:
    """Return the share of failures up to which limits pass."""
    return max(1 - LEAST, RATE + 2.6 * math.sqrt(RATE * (1 - RATE) / repeats))


def _rate(report: Report, counts: Counts, name: str, repeats: int) -> str:
    rate = counts.get(name, 0) / max(1, counts.get("issued", 0))
    failed = rate > allowed(repeats)
    report.failures += failed
    return f"{rate:.3f}{' FAIL' if failed else ''}"


def show_pairs(report: Report, found: dict[Cell, Counts], procedure: str, about: str) -> None:
    report.section(
        f"Differences of cutoff errors, {about}: share of 95 % limits that miss; at most {1 - LEAST:.2f} is asked"
    )
    lines = []
    for cell, counts in found.items():
        if cell.procedure == procedure:
            k = counts.get("issued", 0)
            sizes = [f"{counts[name] / k:.3f}" for name in ("true", "length", "shown")] if k else ["", "refused", ""]
            missed = _rate(report, counts, "missed", cell.repeats) if k else ""
            lines.append([cell.design, str(cell.n), cell.truth, missed, *sizes])
    report.table(
        [
            "scores" if procedure == "pair" else "clusters",
            "n",
            "models",
            "missed",
            "true difference",
            "length",
            "share that shows one",
        ],
        lines,
    )


def show_kernel(report: Report, found: dict[Cell, Counts]) -> None:
    report.section(f"skce: share of one-sided 95 % limits that fail; at most {1 - LEAST:.2f} is asked")
    lines = []
    for cell, counts in found.items():
        if cell.procedure == "skce":
            k = counts.get("issued", 0)
            rates = [_rate(report, counts, side, cell.repeats) for side in ("above", "below")] if k else ["refused", ""]
            sizes = [f"{counts[name] / k:.4f}" for name in ("true", "high")] if k else ["", ""]
            lines.append([cell.design, str(cell.n), *rates, *sizes])
    report.table(["predictions", "n", "above", "below", "true value", "mean upper limit"], lines)


def simulate(cells: list[Cell], state: Path, processes: int) -> Report:
    """Measure all cells and return the report."""
    found = run(measure, cells, state, processes=processes)
    report = Report("Differences of cutoff errors, and limits of skce", packages=["numpy", "scipy"])
    report.say()
    report.say(
        "The event has the probability (u + v)/2, of powers of uniform variables: uniform 1, rare 12. A model knows"
    )
    report.say("u, v or both, and distorts the probability given what it knows. Within clusters u, v and outcomes are")
    report.say("correlated by 0.5 on a normal scale (alike), or scores by 0.99 and outcomes by 0.9 (nearly equal).")
    report.say(f"Data sets a cell: {REPEATS} for differences, {KERNEL_REPEATS} for skce.")
    show_pairs(report, found, "pair", "independent rows")
    show_pairs(report, found, "clusters", "rows in clusters")
    show_kernel(report, found)
    report.say()
    report.say(f"{report.failures} limits do not cover")
    return report


if __name__ == "__main__":
    raise SystemExit(command("comparisons", "Coverage of limits of differences and of skce.", plan, simulate))
