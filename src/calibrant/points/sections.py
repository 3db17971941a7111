"""Sections of a comparison of two sets of points: distances of the whole, and classifiers; claims on points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.dispatch import takes_tree
from calibrant.core.evidence import Note, Subject, note
from calibrant.core.findings import Figure, Measurement, Section
from calibrant.core.pvalues import is_floor
from calibrant.core.results import Curve
from calibrant.errors import MissingExtraError
from calibrant.inputs.arrays import FloatArray
from calibrant.points.classifier_test import LABEL_PERMUTATIONS, c2st
from calibrant.points.discrepancy import kernel_distance, mmd
from calibrant.points.discrepancy_test import mmd_test
from calibrant.points.frechet import expected_frechet, frechet_distance
from calibrant.points.inputs import PointSets, random_part
from calibrant.points.moments import PointMoments


@dataclass(frozen=True)
class ComparedSets:
    """Two sets of points, what they are called, and how they are judged."""

    sets: PointSets
    real: str
    generated: str
    columns: tuple[str, ...]
    level: float
    resamples: int
    rng: np.random.Generator
    tests: int  # behind the verdict; p-values are multiplied by their number
    is_only_set: bool  # the only generated set

    def adjusted(self, pvalue: float) -> float:
        return min(1.0, pvalue * self.tests)

    def is_significant(self, pvalue: float) -> bool:
        return pvalue * self.tests <= 1 - self.level

    def claim(
        self,
        kind: ClaimKind,
        quantity: str,
        estimate: float,
        *,
        pvalue: float,
        floor: float,
        test: str,
        subject: Subject | None = None,
        expected: float = 0.0,
        limits: tuple[float, float] = (math.nan, math.nan),
        rows: int = 0,
    ) -> Claim:
        """Return a claim on the generated set; `floor` is the smallest value of `pvalue`, 0 if there is none."""
        return Claim(
            kind,
            subject or Subject("set", name=self.generated),
            quantity,
            estimate,
            low=float(limits[0]),
            high=float(limits[1]),
            level=self.level,
            rows=rows or self.sets.m,
            expected=expected,
            test=test,
            pvalue=self.adjusted(pvalue),
            at_floor=is_floor(pvalue, floor),
        )

    def subject(self, kind: Literal["coordinate", "pair"], name: str) -> Subject:
        """Return a coordinate or a pair of them; of several sets its name contains that of the set."""
        return Subject(kind, name=name if self.is_only_set else f"{name} of {self.generated}")

    def subset(self, most: int) -> PointSets:
        return PointSets(random_part(self.sets.y, most, self.rng), random_part(self.sets.points, most, self.rng))

    def subset_note(self, used: PointSets, what: str) -> tuple[Note, ...]:
        if (used.n, used.m) == (self.sets.n, self.sets.m):
            return ()
        return (note("subset of points", what=what, n=used.n, real=self.sets.n, m=used.m, generated=self.sets.m),)


class TestedSection(NamedTuple):
    """A section of a comparison, the p-value of its tests together, and its claims, each significant by itself."""

    section: Section
    pvalue: float | None
    claims: tuple[Claim, ...] = ()
    caveats: tuple[Note, ...] = ()
    floor: float = 0.0  # the smallest p-value that random divisions can give; 0 without them
    without_copies: TestedSection | None = None  # without the questions whether points are copies, if it asks some

    @property
    def of_difference(self) -> TestedSection:
        """What is evidence of a difference between the sets; copies of real points are not."""
        return self if self.without_copies is None else self.without_copies


def measured(compared: ComparedSets, name: str, label: str, value: float, **details: Any) -> Measurement:
    """Return a measurement; with several generated sets, its name and label contain the name of the set."""
    if compared.is_only_set:
        return Measurement(name, label, value, **details)
    return Measurement(f"{name}.{compared.generated}", f"{compared.generated}: {label}", value, **details)


MAX_SCATTERED = 400  # points of each set
MAX_PRINCIPAL_COORDINATES = 2000  # up to which principal components are computed


def point_view(compared: ComparedSets) -> Figure:
    """Return a scatter plot of two coordinates or directions; for one coordinate both distribution functions."""
    names = (compared.real, compared.generated)
    if compared.sets.d == 1:
        reading = "Where one line is above the other, that set has the larger share of points up to there."
        curve = two_ecdfs(compared.sets.y[:, 0], compared.sets.points[:, 0], names, compared.columns[0])
        return Figure("values", "Both sets", reading, curve)
    few = compared.subset(MAX_SCATTERED)
    Z, axes = few.pooled, compared.columns[:2]
    reading = "Points of both sets. Where there is only one kind, real points are missed or points are invented."
    if compared.sets.d > 2:
        Z, axes = _directions(Z, compared)
        reading += f" The axes are the first two principal components of {compared.sets.d} scaled coordinates."
    columns = {"first": Z[:, 0], "second": Z[:, 1], "set": np.repeat([0.0, 1.0], [few.n, few.m])}
    details = {"names": names, "axes": tuple(axes)}
    curve = Curve("cloud", columns, f"{few.n:,} and {few.m:,} points", few.n + few.m, details)
    return Figure("cloud", "Both sets", reading, curve)


def _directions(Z: FloatArray, compared: ComparedSets) -> tuple[FloatArray, tuple[str, str]]:
    """Return the first two principal components of the scaled points; of very many coordinates the two widest."""
    sd = np.where(np.ptp(Z, axis=0) > 0, Z.std(axis=0), 0.0)
    scaled = (Z - Z.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    if Z.shape[1] > MAX_PRINCIPAL_COORDINATES:
        first, second = np.argsort(sd)[-2:][::-1]
        return Z[:, [first, second]], (compared.columns[first], compared.columns[second])
    _, vectors = np.linalg.eigh(scaled.T @ scaled)
    axes = vectors[:, [-1, -2]]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # the sign of a direction is arbitrary
    return scaled @ axes, ("first component", "second component")


def two_ecdfs(a: FloatArray, b: FloatArray, names: tuple[str, str], axis: str) -> Curve:
    """Return the distribution functions of two samples at all their values."""
    value = np.unique(np.concatenate([a, b]))
    first, second = (np.searchsorted(np.sort(side), value, side="right") / side.size for side in (a, b))
    columns, details = {"value": value, "first": first, "second": second}, {"names": names, "axis": axis}
    return Curve("two_ecdfs", columns, "empirical distribution functions", a.size + b.size, details)


MAX_PERMUTED = 1500  # points of each set in the permutation test
MAX_PAIRED = 10_000  # points of each set in sums over all pairs, and for the classifier in many dimensions
MAX_CLASSIFIED = 20_000  # points of each set for the classifier, in few dimensions
MAX_COVARIANCE_COORDINATES = 4096  # up to which the Fréchet distance is shown


def distance_section(compared: ComparedSets) -> TestedSection:
    """Test by the maximum mean discrepancy over twenty kernels, and show the usual distances."""
    sets, used = compared.sets, compared.subset(MAX_PERMUTED)
    test = mmd_test(used.y, used.points, aggregate="fuse", resamples=compared.resamples, rng=compared.rng)
    p, pairs = float(test.pvalue), compared.subset(MAX_PAIRED)
    squared, label = mmd(pairs.y, pairs.points, rng=compared.rng), "MMD², Gaussian kernel, median distance"
    found = [
        measured(
            compared, "mmd_test", "MMD over 20 kernels, fused", float(test.statistic), pvalue=p, method=test.method
        ),
        measured(compared, "mmd", label, squared, expected=0.0, method="unbiased, may be negative"),
    ]
    if sets.d <= MAX_COVARIANCE_COORDINATES:
        by_chance = expected_frechet(PointMoments.of(sets.y), PointMoments.of(sets.points))
        method = "of normal distributions with these means and covariances; chance alone gives the expected value"
        distance, label = frechet_distance(sets.y, sets.points), "Fréchet distance, squared"
        found.append(measured(compared, "frechet_distance", label, distance, expected=by_chance, method=method))
    distance, label = kernel_distance(pairs.y, pairs.points), "kernel distance (KID)"
    method = "unbiased, polynomial kernel of degree 3; depends on the units of the coordinates"
    found.append(measured(compared, "kernel_distance", label, distance, expected=0.0, method=method))
    intro = "How far apart are the two distributions, and could that be chance?"
    caveats = (
        *compared.subset_note(used, "The permutation test of the MMD uses a subset"),
        *compared.subset_note(pairs, "Sums over all pairs use a subset"),
    )
    section = Section("distances", "Overall distances", intro, tuple(found))
    return TestedSection(section, p, (), caveats, 1 / (compared.resamples + 1))


def classifier_section(compared: ComparedSets) -> TestedSection:
    """Test whether the best of four classifiers can tell held-out points of the two sets apart."""
    title, intro = "Classifiers", "Can single points be assigned to the right set?"
    used = compared.subset(MAX_CLASSIFIED if takes_tree(compared.sets.d) else MAX_PAIRED)
    B = max(LABEL_PERMUTATIONS, compared.resamples)
    floor = 1 / (B + 1)
    try:
        test = c2st(used.y, used.points, resamples=B, rng=compared.rng)
    except MissingExtraError as missing:
        why = note("no classifiers", why=str(missing))
        return TestedSection(Section("classifier", title, intro, ()), 1.0, (), (why,), floor)
    share, area, p, best = float(test.estimate), float(test.statistic), float(test.pvalue), test.details["classifier"]
    each = {f"{name}, AUC": value for name, value in test.details["auc"].items()}
    each |= {f"{name}, unadjusted p-value": value for name, value in test.details["pvalue_unadjusted"].items()}
    label = f"held-out area under the curve (C2ST), best classifier: {best}"
    found = (
        measured(compared, "c2st", label, area, expected=0.5, pvalue=p, method=test.method, details=each),
        measured(compared, "c2st.accuracy", f"balanced accuracy on held-out points: {best}", share, expected=0.5),
    )
    claim = compared.claim("above", "accuracy", share, expected=0.5, pvalue=p, floor=floor, test=f"c2st, {best}")
    claims = (claim,) if compared.is_significant(p) else ()
    section, caveats = (
        Section("classifier", title, intro, found),
        compared.subset_note(used, "Classifiers use a subset"),
    )
    return TestedSection(section, p, claims, caveats, floor)
