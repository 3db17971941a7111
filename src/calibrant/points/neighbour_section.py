"""Neighbours in two sets of points: real points with no generated point near them, invented points, and copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.claims import Claim
from calibrant.core.dispatch import chunks
from calibrant.core.evidence import note
from calibrant.core.findings import Figure, Measurement, Section
from calibrant.core.null import reaches, resampled_pvalue
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.pair_sums import centred, squared_distances
from calibrant.points.balls import DensityCoverage, density_coverage
from calibrant.points.inputs import Copies, PointSets, copies, distinct, repeated
from calibrant.points.neighbours import Neighbours, squares_of_pairs
from calibrant.points.sections import ComparedSets, TestedSection, measured, two_ecdfs
from calibrant.points.sums import Divisions, observed_division, relabellings
from calibrant.progress import steps

K = 5
MAX_POINTS = 5_000  # of each set, which are divided again many times
LABELS = {
    "precision": "precision: generated points near a real point",
    "recall": "recall: real points near a generated point",
    "density": "density: real balls around a generated point, divided by k",
    "coverage": "coverage: real points with a generated point in their ball",
}
COPIES = ("copied", "memorised")  # quantities of claims that are no evidence of a difference


class Memorised(NamedTuple):
    """Different generated points too close to a real one, how many chance gives, and how often it gives as many."""

    found: int
    expected: float
    pvalue: float


class Questions(NamedTuple):
    """P-values of the four questions, each on its own."""

    missing: float
    invented: float
    memorised: float
    copied: float

    @property
    def together(self) -> float:
        """The p-value of all of them (Bonferroni)."""
        return min(1.0, len(self) * min(self))

    @property
    def of_difference(self) -> float:
        """The p-value of missing and invented points, adjusted for all questions."""
        return min(1.0, len(self) * min(self.missing, self.invented))

    def floor(self, resamples: int) -> float:
        """The smallest value of `together` by random divisions; 0 if it is that of copies, which are counted."""
        return 0.0 if self.copied <= min(self) else len(self) / (resamples + 1)


def neighbour_section(compared: ComparedSets) -> TestedSection:
    """Look for real points with no generated point near them, generated points with no real point near, and copies."""
    title = "Neighbours: missing, invented and memorised points"
    intro = "Is there a generated point near each real one, a real point near each generated one, and are any copies?"
    used = compared.subset(MAX_POINTS)
    if min(used.n, used.m) <= K:
        return TestedSection(Section("neighbours", title, intro, ()), None, (), (note("no neighbours", k=K),))
    found = density_coverage(used.y, used.points, k=K, resamples=compared.resamples, rng=compared.rng)
    chance = found.relabelled or {}
    near, equal = _memorised(used, compared), copies(used)
    questions = Questions(
        _low(found.coverage, chance["coverage"].draws),
        _low(found.precision, chance["precision"].draws),
        near.pvalue,
        equal.pvalue,
    )
    measurements = tuple(_measurements(compared, used, found, near, equal, questions))
    section = Section("neighbours", title, intro, measurements, (_nearest_figure(used, compared),))
    caveats = compared.subset_note(used, "Neighbours are looked for in a subset")
    claims = tuple(_claims(compared, found, near, equal, questions))
    others = TestedSection(
        section,
        questions.of_difference,
        tuple(claim for claim in claims if claim.quantity not in COPIES),
        floor=len(questions) / (compared.resamples + 1),
    )
    floor = questions.floor(compared.resamples)
    return TestedSection(section, questions.together, claims, caveats, floor, others)


def _measurements(
    compared: ComparedSets, used: PointSets, found: DensityCoverage, near: Memorised, equal: Copies, asked: Questions
) -> Iterator[Measurement]:
    """Yield shares of points near points of the other set, and numbers of copies, exact and nearly so."""
    n, m, chance = used.n, used.m, found.relabelled or {}
    method = f"k = {K}, {n:,} real and {m:,} generated points; {compared.resamples:,} random divisions of them"
    pvalues = {"coverage": asked.missing, "precision": asked.invented}
    for name, label in LABELS.items():
        value, expected, p = getattr(found, name), chance[name].mean, pvalues.get(name)
        yield measured(compared, f"density_coverage.{name}", label, value, expected=expected, pvalue=p, method=method)
    label, expected = "different generated points closer to a real point than any two real points", near.expected
    yield measured(
        compared, "memorised", label, float(near.found), expected=expected, pvalue=near.pvalue, method=method
    )
    label, expected = "share of generated points that equal a real point", equal.expected / m
    method = f"{equal.copied:,} of {m:,} points; binomial test, given the repetitions among the real points"
    yield measured(
        compared, "shared_rows", label, equal.copied / m, expected=expected, pvalue=equal.pvalue, method=method
    )
    shares = repeated(used)
    for name, share in (("real", shares.repeated_y), ("generated", shares.repeated_points)):
        label = f"share of {name} points that equal an earlier one"
        yield measured(compared, f"repeated_rows.{name}", label, share)


def _claims(
    compared: ComparedSets, found: DensityCoverage, near: Memorised, equal: Copies, asked: Questions
) -> Iterator[Claim]:
    chance, floor = found.relabelled or {}, 1 / (compared.resamples + 1)
    divisions = f"{compared.resamples:,} random divisions"
    given: tuple[tuple[Literal["below", "above"], str, float, float, float, float, str], ...] = (
        ("below", "coverage", found.coverage, chance["coverage"].mean, asked.missing, floor, divisions),
        ("below", "precision", found.precision, chance["precision"].mean, asked.invented, floor, divisions),
        ("above", "memorised", float(near.found), near.expected, asked.memorised, floor, divisions),
        ("above", "copied", float(equal.copied), equal.expected, asked.copied, 0.0, "binomial test"),
    )
    for kind, quantity, value, expected, p, least, test in given:
        together = len(asked) * p
        if compared.is_significant(together):
            lowest = len(asked) * least
            yield compared.claim(
                kind, quantity, value, expected=expected, pvalue=together, floor=lowest, test=test, rows=found.m
            )


def _low(value: float, relabelled: FloatArray) -> float:
    """Return how often chance gives a value at most as large."""
    return float(resampled_pvalue(int(np.count_nonzero(reaches(-relabelled, -value))), relabelled.size))


def _memorised(sets: PointSets, compared: ComparedSets) -> Memorised:
    """Count different generated points that are closer to real points than these are to each other.

    Where real points repeat themselves no point is closer. A generated point that repeats itself is one point: its
    copies would make real points of random divisions equal.
    """
    if len(distinct(sets.y).points) < sets.n:
        return Memorised(0, 0.0, 1.0)
    different = PointSets(sets.y, distinct(sets.points).points)
    pairs, m = ClosePairs(different.pooled), different.m
    by_chance = pairs.memorised(relabellings(sets.n, m, compared.resamples, compared.rng))
    observed = int(pairs.memorised(observed_division(sets.n, m))[0])
    p = float(resampled_pvalue(int(np.count_nonzero(by_chance >= observed)), by_chance.size))
    return Memorised(observed, float(by_chance.mean()), p)


def _nearest_figure(sets: PointSets, compared: ComparedSets) -> Figure:
    own, other = nearest_distances(sets)
    curve = two_ecdfs(own, other, (compared.real, compared.generated), "distance to the nearest other real point")
    reading = (
        "If generated points are copies, their line starts high on the left; if some have no real point near them, it "
        "ends late on the right. If both sets have the same distribution, the lines are about the same."
    )
    return Figure("nearest", "Distance to the nearest real point", reading, curve)


LISTED_NEIGHBOURS = 12  # of each point, which are looked at first


class ClosePairs:
    """The nearest distinct points of each of the pooled points (N, d), which are the same for every division.

    Equal points are one point that occurs several times.
    """

    def __init__(self, pooled: FloatArray) -> None:
        found = distinct(pooled)
        self.points, self.place = found.points, found.place
        near = Neighbours(self.points, found.count).of_all(min(LISTED_NEIGHBOURS, len(self.points) - 1))
        self.index, self.square = near.index, near.square

    def memorised(self, divisions: Divisions) -> NDArray[np.int64]:
        """Return for each division of the points (B, N), 1 for two or more real ones, how many others are memorised.

        A generated point is memorised if it is closer to a real point than the two closest real points are to each
        other. If two real points are equal, no point is closer.

        >>> pairs = ClosePairs(np.array([[0.0], [0.1], [5.0], [6.0]]))
        >>> pairs.memorised(np.array([[1, 0, 1, 1], [1, 1, 0, 1]], dtype=np.uint8)).tolist()
        [1, 0]
        """
        found = np.zeros(len(divisions), dtype=np.int64)
        for b, _ in steps(len(divisions), size=1, label="looking for memorised points"):
            real = np.bincount(self.place, weights=divisions[b], minlength=len(self.points))
            found[b] = 0 if (real > 1).any() else self._closer(real > 0, divisions[b])
        return found

    def _closer(self, real: NDArray[np.bool_], division: Divisions) -> int:
        """Count memorised points; no two real points are equal.

        A point that is not on the list of another is at least as far from it as the last one on that list. All real
        points are searched only for those points whose list does not decide.
        """
        on_list = real[self.index]
        first = on_list.argmax(axis=1)
        met = np.take_along_axis(on_list, first[:, None], axis=1)[:, 0]
        square = np.where(met, np.take_along_axis(self.square, first[:, None], axis=1)[:, 0], np.inf)
        last = self.square[:, -1]
        closest = square[real].min()  # pair of real points, as far as lists tell
        all_real = Neighbours(self.points[real], np.ones(np.count_nonzero(real), dtype=np.int64))
        undecided = np.flatnonzero((~met & (last < closest))[real])
        if undecided.size:
            closest = min(closest, all_real.radii(1, undecided).min())
        if closest == 0:  # the squares underflow
            return 0
        closer = real | (square < closest)  # a generated point that equals a real one is at distance 0
        undecided = np.flatnonzero(~real & ~met & (last < closest))
        reach = np.full(undecided.size, np.nextafter(closest, 0.0))
        for i, _ in all_real.inside(self.points[undecided], reach) if undecided.size else ():
            closer[undecided[i]] = True
        return int(np.count_nonzero(closer[self.place] & (division == 0)))


ROWS_TOGETHER = 512  # compared with a whole set at once


def nearest_distances(sets: PointSets) -> tuple[FloatArray, FloatArray]:
    """Return the distance of each point of both sets to the nearest other point of the first set.

    >>> own, other = nearest_distances(PointSets(np.array([[0.0], [1.0], [4.0]]), np.array([[1.5], [9.0]])))
    >>> own.tolist(), other.tolist()
    ([1.0, 1.0, 3.0], [0.5, 5.0])
    """
    pooled = sets.pooled
    Z = centred(pooled)
    found = np.empty(len(Z))
    for rows in chunks(len(Z), ROWS_TOGETHER):
        D = squared_distances(Z[rows], Z[: sets.n])
        own = np.arange(rows.start, min(rows.stop, sets.n))
        D[own - rows.start, own] = np.inf
        nearest = D.argmin(axis=1)
        found[rows] = squares_of_pairs(pooled, pooled, np.arange(len(Z))[rows], nearest)  # exactly 0 for copies
    distances = np.sqrt(found)
    return distances[: sets.n], distances[sets.n :]
