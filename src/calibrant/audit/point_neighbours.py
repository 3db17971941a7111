"""What is missing, invented or memorised: neighbours of points in the other set."""

from __future__ import annotations

import numpy as np

from calibrant.audit.point_coordinates import two_ecdfs
from calibrant.audit.point_look import Compared, PointLook, measured
from calibrant.inference.null import resampled_pvalue
from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.density_coverage import density_coverage
from calibrant.primitives.memorised import ClosePairs
from calibrant.primitives.nearest_distances import nearest_distances
from calibrant.primitives.relabellings import relabellings
from calibrant.primitives.repeated import repeated
from calibrant.results import Figure, Measurement, Section

K = 5
MOST = 5_000  # points of each set, which are divided anew many times
QUESTIONS = 3  # missing, invented, memorised
LABELS = {
    "precision": "precision: generated points near a real one",
    "recall": "recall: real points near a generated one",
    "density": "density: real balls around a generated point, over k",
    "coverage": "coverage: real points whose ball holds a generated one",
}


def neighbour_look(compared: Compared) -> PointLook:
    """Look for real points that nothing generated is near, generated ones that nothing real is near, and copies."""
    title = "Neighbours: missing, invented and memorised points"
    intro = "Does each real point have a generated one near, each generated one a real one, and is none a copy?"
    used = compared.few(MOST)
    if min(used.n, used.m) <= K:
        reason = f"Neighbours are not looked at: each set needs more than {K} points."
        return PointLook(Section("neighbours", title, intro, ()), None, (), (reason,))
    found = density_coverage(used.y, used.points, k=K, resamples=compared.resamples, rng=compared.rng)
    chance = found.relabelled or {}
    missing, invented = (_low(getattr(found, name), chance[name].draws) for name in ("coverage", "precision"))
    copies, expected, memorised = _memorised(used, compared)
    shared = repeated(used)
    method = (
        f"k = {K}, {used.n:,} real and {used.m:,} generated points; {compared.resamples:,} random divisions of them"
    )
    pvalues = {"coverage": missing, "precision": invented}
    measurements: list[Measurement] = [
        measured(
            compared,
            f"density_coverage.{name}",
            label,
            getattr(found, name),
            expected=chance[name].mean,
            pvalue=pvalues.get(name),
            method=method,
        )
        for name, label in LABELS.items()
    ]
    measurements += [
        measured(
            compared,
            "memorised",
            "generated points nearer to a real one than any two real ones",
            float(copies),
            expected=expected,
            pvalue=memorised,
            method=method,
        ),
        measured(compared, "shared_rows", "share of generated points that equal a real one", shared.shared_rows),
        measured(compared, "repeated_rows.real", "share of real points that equal an earlier one", shared.repeated_y),
        measured(
            compared,
            "repeated_rows.generated",
            "share of generated points that equal an earlier one",
            shared.repeated_points,
        ),
    ]
    said = []
    each = 1.0 / QUESTIONS
    if compared.is_found(missing / each):
        said.append(
            f"Missing: {_share(1 - found.coverage)} of the real points have no generated one near, where "
            f"{_share(1 - chance['coverage'].mean)} would by chance."
        )
    if compared.is_found(invented / each):
        said.append(
            f"Invented: {_share(1 - found.precision)} of the generated points have no real one near, where "
            f"{_share(1 - chance['precision'].mean)} would by chance."
        )
    if compared.is_found(memorised / each):
        said.append(
            f"Memorised: {copies:,} generated points lie nearer to a real one than any two real ones to each other, "
            f"where {expected:.2g} would by chance."
        )
    section = Section("neighbours", title, intro, tuple(measurements), (_nearest_figure(used, compared),))
    p = min(1.0, QUESTIONS * min(missing, invented, memorised))
    caveats = compared.fewer_words(used, "Neighbours are looked for in a part")
    return PointLook(section, p, tuple(said), caveats)


def _low(value: float, relabelled: FloatArray) -> float:
    """Return how often chance gives a value at most as large."""
    return float(resampled_pvalue(np.count_nonzero(relabelled <= value + 1e-12), relabelled.size))


def _memorised(sets: PointSets, compared: Compared) -> tuple[int, float, float]:
    """Return the number of memorised points, the mean of random divisions, and how often they give as many."""
    pairs = ClosePairs(sets.pooled)
    own = np.zeros((1, sets.n + sets.m), dtype=np.uint8)
    own[0, : sets.n] = 1
    observed = int(pairs.memorised(own)[0])
    by_chance = pairs.memorised(relabellings(sets.n, sets.m, compared.resamples, compared.rng))
    p = float(resampled_pvalue(np.count_nonzero(by_chance >= observed), by_chance.size))
    return observed, float(by_chance.mean()), p


def _nearest_figure(sets: PointSets, compared: Compared) -> Figure:
    """Return distances to the nearest real point: of real ones among themselves, and of generated ones."""
    own, other = nearest_distances(sets)
    curve = two_ecdfs(own, other, (compared.real, compared.generated), "distance to the nearest other real point")
    reading = (
        "Generated points that are copies make their line start high on the left; those that nothing real is near "
        "make it end late on the right. Of one law both lines are about the same."
    )
    return Figure("nearest", "Distance to the nearest real point", reading, curve)


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.995 else "100 %"
