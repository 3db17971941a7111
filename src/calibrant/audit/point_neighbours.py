"""What is missing, invented or memorised: neighbours of points in the other set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.audit.point_look import Compared, PointLook, measured
from calibrant.audit.point_view import two_ecdfs
from calibrant.audit.words import percent
from calibrant.inference.null import reaches, resampled_pvalue
from calibrant.inputs.points import PointSets
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.density_coverage import density_coverage
from calibrant.primitives.memorised import ClosePairs
from calibrant.primitives.nearest_distances import nearest_distances
from calibrant.primitives.relabellings import observed_division, relabellings
from calibrant.primitives.repeated import repeated
from calibrant.results import DensityCoverage, Figure, Measurement, Section

K = 5
MOST = 5_000  # points of each set, which are divided anew many times
LABELS = {
    "precision": "precision: generated points near a real one",
    "recall": "recall: real points near a generated one",
    "density": "density: real balls around a generated point, over k",
    "coverage": "coverage: real points whose ball holds a generated one",
}


class Memorised(NamedTuple):
    """How many generated points are memorised, how many would be by chance, and how often chance gives as many."""

    found: int
    expected: float
    pvalue: float


class Asked(NamedTuple):
    """P-values of the four questions, each alone."""

    missing: float
    invented: float
    memorised: float
    copied: float

    @property
    def together(self) -> float:
        """Of all of them (Bonferroni)."""
        return min(1.0, len(self) * min(self))


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
    near, equal = _memorised(used, compared)
    asked = Asked(
        _low(found.coverage, chance["coverage"].draws),
        _low(found.precision, chance["precision"].draws),
        near.pvalue,
        equal.pvalue,
    )
    measurements = (*_shares(compared, found, asked), *_copies(compared, used, near, equal))
    section = Section("neighbours", title, intro, measurements, (_nearest_figure(used, compared),))
    caveats = compared.fewer_words(used, "Neighbours are looked for in a part")
    return PointLook(section, asked.together, _sentences(compared, found, near, equal, asked), caveats)


def _shares(compared: Compared, found: DensityCoverage, asked: Asked) -> Iterator[Measurement]:
    """Yield what lies near points of the other set."""
    chance, pvalues = found.relabelled or {}, {"coverage": asked.missing, "precision": asked.invented}
    for name, label in LABELS.items():
        yield measured(
            compared,
            f"density_coverage.{name}",
            label,
            getattr(found, name),
            expected=chance[name].mean,
            pvalue=pvalues.get(name),
            method=_method(found.n, found.m, compared),
        )


def _copies(compared: Compared, used: PointSets, near: Memorised, equal: Memorised) -> Iterator[Measurement]:
    """Yield what is too near to a real point, and what equals another point."""
    yield measured(
        compared,
        "memorised",
        "generated points nearer to a real one than any two real ones",
        float(near.found),
        expected=near.expected,
        pvalue=near.pvalue,
        method=_method(used.n, used.m, compared),
    )
    yield measured(
        compared,
        "shared_rows",
        "share of generated points that equal a real one",
        equal.found / used.m,
        expected=equal.expected / used.m,
        pvalue=equal.pvalue,
        method=_method(used.n, used.m, compared),
    )
    shares = repeated(used)
    for name, label, share in (
        ("repeated_rows.real", "share of real points that equal an earlier one", shares.repeated_y),
        ("repeated_rows.generated", "share of generated points that equal an earlier one", shares.repeated_points),
    ):
        yield measured(compared, name, label, share)


def _method(n: int, m: int, compared: Compared) -> str:
    return f"k = {K}, {n:,} real and {m:,} generated points; {compared.resamples:,} random divisions of them"


def _sentences(
    compared: Compared, found: DensityCoverage, near: Memorised, equal: Memorised, asked: Asked
) -> tuple[str, ...]:
    chance = found.relabelled or {}
    words = (
        f"Missing: {percent(1 - found.coverage)} of the real points have no generated one near, where "
        f"{percent(1 - chance['coverage'].mean)} would by chance.",
        f"Invented: {percent(1 - found.precision)} of the generated points have no real one near, where "
        f"{percent(1 - chance['precision'].mean)} would by chance.",
        f"Memorised: {near.found:,} generated points lie nearer to a real one than any two real ones to each other, "
        f"where {near.expected:.2g} would by chance.",
        f"Copied: {equal.found:,} generated points equal a real one, where {equal.expected:.3g} would by chance.",
    )
    return tuple(text for text, p in zip(words, asked, strict=True) if compared.is_found(len(asked) * p))


def _low(value: float, relabelled: FloatArray) -> float:
    """Return how often chance gives a value at most as large."""
    return float(resampled_pvalue(int(np.count_nonzero(reaches(-relabelled, -value))), relabelled.size))


def _memorised(sets: PointSets, compared: Compared) -> tuple[Memorised, Memorised]:
    """Return what is nearer to real points than these are to each other, and what equals them."""
    pairs, own = ClosePairs(sets.pooled), observed_division(sets.n, sets.m)
    divisions = relabellings(sets.n, sets.m, compared.resamples, compared.rng)
    near, equal = (_against_chance(int(count(own)[0]), count(divisions)) for count in (pairs.memorised, pairs.copied))
    return near, equal


def _against_chance(observed: int, by_chance: NDArray[np.int64]) -> Memorised:
    p = float(resampled_pvalue(int(np.count_nonzero(by_chance >= observed)), by_chance.size))
    return Memorised(observed, float(by_chance.mean()), p)


def _nearest_figure(sets: PointSets, compared: Compared) -> Figure:
    """Return distances to the nearest real point: of real ones among themselves, and of generated ones."""
    own, other = nearest_distances(sets)
    curve = two_ecdfs(own, other, (compared.real, compared.generated), "distance to the nearest other real point")
    reading = (
        "Generated points that are copies make their line start high on the left; those that nothing real is near "
        "make it end late on the right. Of one law both lines are about the same."
    )
    return Figure("nearest", "Distance to the nearest real point", reading, curve)
