"""Looks at two sets of points: at the whole, by a classifier, at diversity, and at dependence of coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, takes_tree
from calibrant.core.findings import Figure, Measurement, Section
from calibrant.core.null import resampled_pvalue
from calibrant.core.results import Curve
from calibrant.core.words import percent
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.points.classifier_test import c2st
from calibrant.points.discrepancy import kernel_distance, mmd
from calibrant.points.discrepancy_test import mmd_test
from calibrant.points.frechet import expected_frechet, frechet_distance
from calibrant.points.inputs import PointSets, distinct, random_part
from calibrant.points.moments import PointMoments
from calibrant.points.sums import Divisions, observed_division, relabellings
from calibrant.points.vendi import vendi_scores


@dataclass(frozen=True)
class Compared:
    """Two sets of points, what they are called, and how they are judged."""

    sets: PointSets
    real: str
    generated: str
    columns: tuple[str, ...]
    level: float
    resamples: int
    rng: np.random.Generator
    tests: int  # behind the verdict; p-values are multiplied by their number
    alone: bool  # whether this is the only generated set

    def is_found(self, pvalue: float) -> bool:
        """Return whether a p-value is significant, allowing for all tests together."""
        return pvalue * self.tests <= 1 - self.level

    def few(self, most: int) -> PointSets:
        """Return at most `most` points of each set, drawn at random."""
        return PointSets(random_part(self.sets.y, most, self.rng), random_part(self.sets.points, most, self.rng))

    def subset_words(self, used: PointSets, what: str) -> tuple[str, ...]:
        """Return a caveat if not all points were used."""
        if (used.n, used.m) == (self.sets.n, self.sets.m):
            return ()
        return (
            f"{what}: {used.n:,} of {self.sets.n:,} real and {used.m:,} of {self.sets.m:,} generated points, drawn at "
            "random to save time.",
        )


class PointLook(NamedTuple):
    """One look: the section shown, the p-value of its tests together, and its sentences if that is significant."""

    section: Section
    pvalue: float | None
    sentences: tuple[str, ...]
    caveats: tuple[str, ...] = ()


def measured(compared: Compared, name: str, label: str, value: float, **details: Any) -> Measurement:
    """Return a measurement; with several generated sets, its name and label contain the name of the set."""
    if compared.alone:
        return Measurement(name, label, value, **details)
    return Measurement(f"{name}.{compared.generated}", f"{compared.generated}: {label}", value, **details)


MAX_SCATTERED = 400  # points of each set
MAX_PRINCIPAL_COORDINATES = 2000  # up to which principal components are computed


def point_view(compared: Compared) -> Figure:
    """Return a scatter plot of two coordinates or directions; for one coordinate both distribution functions."""
    if compared.sets.d == 1:
        return Figure(
            "values",
            "Both sets",
            "Where one line is above the other, that set has the larger share of points up to there.",
            two_ecdfs(
                compared.sets.y[:, 0],
                compared.sets.points[:, 0],
                (compared.real, compared.generated),
                compared.columns[0],
            ),
        )
    few = compared.few(MAX_SCATTERED)
    Z, axes = few.pooled, compared.columns[:2]
    reading = "Points of both sets. Where there is only one kind, real points are missed or points are invented."
    if compared.sets.d > 2:
        Z, axes = _directions(Z, compared)
        reading += f" The axes are the first two principal components of {compared.sets.d} scaled coordinates."
    columns = {"first": Z[:, 0], "second": Z[:, 1], "set": np.repeat([0.0, 1.0], [few.n, few.m])}
    details = {"names": (compared.real, compared.generated), "axes": tuple(axes)}
    method = f"{few.n:,} and {few.m:,} points"
    return Figure("cloud", "Both sets", reading, Curve("cloud", columns, method, few.n + few.m, details))


def _directions(Z: FloatArray, compared: Compared) -> tuple[FloatArray, tuple[str, str]]:
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
    columns = {"value": value, "first": first, "second": second}
    return Curve(
        "two_ecdfs", columns, "empirical distribution functions", a.size + b.size, {"names": names, "axis": axis}
    )


MAX_PERMUTED = 1500  # points of each set in the permutation test
MAX_PAIRED = 10_000  # points of each set in sums over all pairs, and for the classifier in many dimensions
MAX_CLASSIFIED = 20_000  # points of each set for the classifier, in few dimensions
MAX_COVARIANCE_COORDINATES = 4096  # up to which the Fréchet distance is shown


def kernel_look(compared: Compared) -> PointLook:
    """Test by the maximum mean discrepancy over twenty kernels, and show the usual distances."""
    used = compared.few(MAX_PERMUTED)
    test = mmd_test(used.y, used.points, aggregate="fuse", resamples=compared.resamples, rng=compared.rng)
    pairs = compared.few(MAX_PAIRED)
    found = [
        measured(
            compared,
            "mmd_test",
            "MMD over 20 kernels, fused",
            float(test.statistic),
            pvalue=float(test.pvalue),
            method=test.method,
        ),
        measured(
            compared,
            "mmd",
            "MMD², Gaussian kernel, median distance",
            mmd(pairs.y, pairs.points, rng=compared.rng),
            expected=0.0,
            method="unbiased, may be negative",
        ),
        *_frechet(compared, compared.sets.y, compared.sets.points),
        measured(
            compared,
            "kernel_distance",
            "kernel distance (KID)",
            kernel_distance(pairs.y, pairs.points),
            expected=0.0,
            method="unbiased, polynomial kernel of degree 3; depends on the units of the coordinates",
        ),
    ]
    section = Section(
        "distances",
        "Overall distances",
        "How far apart are the two distributions, and could that be chance?",
        tuple(found),
    )
    caveats = (
        *compared.subset_words(used, "The permutation test of the MMD uses a subset"),
        *compared.subset_words(pairs, "Sums over all pairs use a subset"),
    )
    return PointLook(section, float(test.pvalue), (), caveats)


def _frechet(compared: Compared, y: FloatArray, points: FloatArray) -> tuple[Measurement, ...]:
    if compared.sets.d > MAX_COVARIANCE_COORDINATES:
        return ()
    floor = expected_frechet(PointMoments.of(y), PointMoments.of(points))
    return (
        measured(
            compared,
            "frechet_distance",
            "Fréchet distance, squared",
            frechet_distance(y, points),
            expected=floor,
            method="of normal distributions with these means and covariances; chance alone gives the expected value",
        ),
    )


def classifier_look(compared: Compared) -> PointLook:
    """Test whether a classifier can tell held-out points of the two sets apart."""
    title, intro = "A classifier", "Can single points be assigned to the right set?"
    used = compared.few(MAX_CLASSIFIED if takes_tree(compared.sets.d) else MAX_PAIRED)
    try:
        test = c2st(used.y, used.points, rng=compared.rng)
    except NotApplicableError as reason:
        return PointLook(Section("classifier", title, intro, ()), None, (), (f"No classifier: {reason}.",))
    share, area = float(test.estimate), float(test.statistic)
    section = Section(
        "classifier",
        title,
        intro,
        (
            measured(
                compared,
                "c2st",
                "held-out area under the curve (C2ST)",
                area,
                expected=0.5,
                pvalue=float(test.pvalue),
                method=test.method,
            ),
            measured(compared, "c2st.accuracy", "balanced accuracy on held-out points", share, expected=0.5),
        ),
    )
    often = percent(share)
    said = (
        f"A nearest-neighbour classifier assigns {often} of the held-out points to the right set; guessing gives 50 %."
    )
    return PointLook(
        section,
        float(test.pvalue),
        (said,),
        compared.subset_words(used, "The classifier uses a subset"),
    )


ORDER = 2.0  # needs no eigenvalues
MAX_SCORED = 5_000  # points of each set
REPETITIVE_SHARE = 0.5  # of the points of a set that equal an earlier one
CAVEAT = "Effective numbers of points depend on kernel, length scale, order and n: compare them within one table only."


def diversity_look(sets: Mapping[str, FloatArray], rng: np.random.Generator) -> PointLook:
    """Compare the Vendi scores of all sets, with one length scale and one number of points."""
    few = {name: random_part(points, MAX_SCORED, rng) for name, points in sets.items()}
    found = vendi_scores(few, ORDER, rng)
    n, kernel = found.n, found.kernel
    measurements = tuple(
        Measurement(
            f"vendi_score.{name}",
            f"{name}: effective number of different points (Vendi)",
            score.mean,
            method=f"order {ORDER:g}, {kernel}, {n:,} points of each set; the value depends on all three",
            details={"sd over subsets": score.sd} if score.sd else {},
        )
        for name, score in found.scores.items()
    )
    section = Section(
        "diversity",
        "Diversity",
        "How many different points is each set worth? 1 if all are alike, n if no two are. Diverse is not correct.",
        measurements,
    )
    return PointLook(section, None, (), (CAVEAT, *_repetitions(sets)))


def _repetitions(sets: Mapping[str, FloatArray]) -> Iterator[str]:
    """Yield a caveat for each set that repeats itself; a length scale as wide as the whole set does not show it."""
    for name, points in sets.items():
        share = 1 - len(distinct(points).points) / len(points)
        if share >= REPETITIVE_SHARE:
            yield f"{percent(share)} of the points of {name} equal an earlier one: it repeats itself."


MIN_CORRELATED, MAX_CORRELATED = 20, 1000  # points of each set
MAX_CORRELATED_COORDINATES = 30
PAIRS_NAMED = 2  # in a sentence
NUMBERS_AT_ONCE = 1 << 21


class Ties(NamedTuple):
    """The order of values, and where in this order the values equal to each one begin and end."""

    order: NDArray[np.intp]
    begin: NDArray[np.intp]
    end: NDArray[np.intp]


class Dependence(NamedTuple):
    """Rank correlations of all pairs of coordinates in either set, and p-values that hold for all pairs together."""

    pairs: tuple[tuple[int, int], ...]
    real: FloatArray
    generated: FloatArray
    pvalue: FloatArray


def dependence_sentences(compared: Compared, of_coordinates: Sequence[str]) -> tuple[str, ...]:
    """Name the pairs whose rank correlations differ, after what was said about single coordinates.

    The verdict does not depend on this sentence. A pair is named only if its own p-value, allowing for all pairs and
    all other tests, is significant.
    """
    sets = compared.sets
    if not 2 <= sets.d <= MAX_CORRELATED_COORDINATES or min(sets.n, sets.m) < MIN_CORRELATED:
        return ()
    found = dependence(compared.few(MAX_CORRELATED), compared.resamples, compared.rng)
    order = np.lexsort((-np.abs(found.real - found.generated), found.pvalue))
    said = [_words(compared, found, k) for k in order if compared.is_found(found.pvalue[k])]
    if not said:
        return ()
    more = len(said) - PAIRS_NAMED
    ending = f"; and {more:,} more pair{'s' if more > 1 else ''}" if more > 0 else ""
    but = "" if of_coordinates else "no coordinate was found to differ in location or spread, but "
    return (f"Dependence: {but}rank correlations differ: {'; '.join(said[:PAIRS_NAMED])}{ending}.",)


def _words(compared: Compared, found: Dependence, k: int) -> str:
    a, b = (compared.columns[j] for j in found.pairs[k])
    return f"{a} and {b}, {found.real[k]:.2f} among real and {found.generated[k]:.2f} among generated points"


def dependence(sets: PointSets, resamples: int, rng: np.random.Generator) -> Dependence:
    r"""Compare Spearman's rank correlations of all pairs of coordinates.

    .. math:: t_{jk} = |\operatorname{artanh} \rho_{y,jk} - \operatorname{artanh} \rho_{x,jk}|

    Each coordinate of each set is replaced by its ranks within that set; location, spread and shape of single
    coordinates then play no part. The null distribution of each :math:`t_{jk}` is that of the largest of them over
    random divisions of these ranks, ranked again (Westfall and Young 1993). A coordinate that is constant in one set is
    left out.
    """
    pairs = _pairs(sets)
    if not pairs:
        return Dependence((), *(np.zeros(0) for _ in range(3)))
    U = np.concatenate([_own_ranks(sets.y), _own_ranks(sets.points)])
    j, k = np.array(pairs).T
    ((_, real, generated),) = _correlations(U, observed_division(sets.n, sets.m), j, k)
    largest = np.zeros(resamples)
    for rows, first, second in _correlations(U, relabellings(sets.n, sets.m, resamples, rng), j, k):
        largest[rows] = _apart(first, second).max(axis=1)
    extreme = (largest[:, None] >= _apart(real, generated)[0] * (1 - 1e-9)).sum(axis=0)
    p = np.asarray(resampled_pvalue(extreme, resamples), dtype=np.float64)
    return Dependence(pairs, real[0], generated[0], p)


def _pairs(sets: PointSets) -> tuple[tuple[int, int], ...]:
    varies = (np.ptp(sets.y, axis=0) > 0) & (np.ptp(sets.points, axis=0) > 0)
    some = np.flatnonzero(varies).tolist()
    return tuple((a, b) for i, a in enumerate(some) for b in some[i + 1 :])


def _apart(first: FloatArray, second: FloatArray) -> FloatArray:
    most = 1 - 1e-9
    z, other = (np.arctanh(np.clip(part, -most, most)) for part in (first, second))
    return np.asarray(np.abs(z - other))


def _own_ranks(points: FloatArray) -> FloatArray:
    """Return the mean ranks of each coordinate, divided by n + 1."""
    everyone = np.ones((1, len(points)), dtype=np.uint8)
    return np.stack([_ranks(everyone, _ties(column))[0] for column in points.T], axis=1) / (len(points) + 1)


def _ties(values: FloatArray) -> Ties:
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return Ties(order, (ends - counts)[inverse], ends[inverse])


def _ranks(V: Divisions, ties: Ties) -> FloatArray:
    """Return for each division (B, N) the mean ranks of all points among the points that it marks."""
    below = np.zeros((len(V), V.shape[1] + 1), dtype=np.int32)
    np.cumsum(V[:, ties.order], axis=1, dtype=np.int32, out=below[:, 1:])
    return np.asarray((below[:, ties.begin] + below[:, ties.end] + 1) / 2)


def _correlations(
    U: FloatArray, divisions: Divisions, j: NDArray[np.intp], k: NDArray[np.intp]
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield slices of divisions, with Spearman's correlations of all pairs in both of their sets."""
    ties = [_ties(column) for column in U.T]
    for rows in chunks(len(divisions), max(1, NUMBERS_AT_ONCE // U.size)):
        V = divisions[rows]
        first, second = (_correlated(part, ties)[:, j, k] for part in (V, 1 - V))
        yield rows, first, second


def _correlated(V: Divisions, ties: Sequence[Ties]) -> FloatArray:
    """Return the matrices (B, d, d) of rank correlations among the points that each division marks."""
    inside = V.astype(np.float64)
    n = inside.sum(axis=1, keepdims=True)
    centred = np.stack([(_ranks(V, tie) - (n + 1) / 2) * inside for tie in ties], axis=1)  # (B, d, N)
    products = centred @ centred.transpose(0, 2, 1)
    length = np.sqrt(np.einsum("bjj->bj", products))
    length[length == 0] = np.inf  # constant in this set: no correlation
    return np.asarray(products / (length[:, :, None] * length[:, None, :]))
