"""What every look at two sets of points gets to know, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, takes_tree
from calibrant.core.findings import Figure, Measurement, Section
from calibrant.core.null import reaches, resampled_pvalue
from calibrant.core.results import Curve
from calibrant.core.words import percent
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.points.balls import DensityCoverage, density_coverage
from calibrant.points.classifier_test import c2st
from calibrant.points.copies import ClosePairs, nearest_distances, repeated
from calibrant.points.discrepancy import kernel_distance, mmd
from calibrant.points.discrepancy_test import mmd_test
from calibrant.points.frechet import expected_frechet, frechet_distance
from calibrant.points.inputs import PointSets, random_part
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
    tests: int  # that the verdict rests on: p-values are multiplied by it
    alone: bool  # whether there is no other set that is compared with the real one

    def is_found(self, pvalue: float) -> bool:
        """Tell whether a p-value is small enough for all tests together."""
        return pvalue * self.tests <= 1 - self.level

    def few(self, most: int) -> PointSets:
        """Return at most so many points of each set, drawn at random."""
        return PointSets(random_part(self.sets.y, most, self.rng), random_part(self.sets.points, most, self.rng))

    def fewer_words(self, used: PointSets, what: str) -> tuple[str, ...]:
        """Say that not all points were used, if so."""
        if (used.n, used.m) == (self.sets.n, self.sets.m):
            return ()
        return (
            f"{what}: {used.n:,} of {self.sets.n:,} real and {used.m:,} of {self.sets.m:,} generated points, drawn at "
            "random to keep the time short.",
        )


class PointLook(NamedTuple):
    """One look: what is shown, the p-value of its tests together, and what it says if that is small enough."""

    section: Section
    pvalue: float | None
    sentences: tuple[str, ...]
    caveats: tuple[str, ...] = ()


def measured(compared: Compared, name: str, label: str, value: float, **details: Any) -> Measurement:
    """Return a measurement; where there are several generated sets, its name and its label say of which."""
    if compared.alone:
        return Measurement(name, label, value, **details)
    return Measurement(f"{name}.{compared.generated}", f"{compared.generated}: {label}", value, **details)


POINTS = 400  # of each set in a scatter
MOST_COORDINATES = 2000  # up to which directions of most variance are looked for


def point_view(compared: Compared) -> Figure:
    """Return a scatter of two coordinates or directions, or of one coordinate both distribution functions."""
    if compared.sets.d == 1:
        return Figure(
            "values",
            "Both sets",
            "Where one line runs above the other, that set has more points up to there.",
            two_ecdfs(
                compared.sets.y[:, 0],
                compared.sets.points[:, 0],
                (compared.real, compared.generated),
                compared.columns[0],
            ),
        )
    few = compared.few(POINTS)
    Z, axes = few.pooled, compared.columns[:2]
    reading = "Points of both sets. Where only one kind lies, the other is missing or has invented."
    if compared.sets.d > 2:
        Z, axes = _directions(Z, compared)
        reading += f" Of {compared.sets.d} coordinates, each scaled, these are the two directions of most variance."
    columns = {"first": Z[:, 0], "second": Z[:, 1], "set": np.repeat([0.0, 1.0], [few.n, few.m])}
    details = {"names": (compared.real, compared.generated), "axes": tuple(axes)}
    method = f"{few.n:,} and {few.m:,} points"
    return Figure("cloud", "Both sets", reading, Curve("cloud", columns, method, few.n + few.m, details))


def _directions(Z: FloatArray, compared: Compared) -> tuple[FloatArray, tuple[str, str]]:
    """Return the first two principal components of the scaled pooled points; of very many coordinates two of these."""
    sd = np.where(np.ptp(Z, axis=0) > 0, Z.std(axis=0), 0.0)
    scaled = (Z - Z.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    if Z.shape[1] > MOST_COORDINATES:
        first, second = np.argsort(sd)[-2:][::-1]
        return Z[:, [first, second]], (compared.columns[first], compared.columns[second])
    _, vectors = np.linalg.eigh(scaled.T @ scaled)
    axes = vectors[:, [-1, -2]]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # a direction has no sign of its own
    return scaled @ axes, ("first direction", "second direction")


def two_ecdfs(a: FloatArray, b: FloatArray, names: tuple[str, str], axis: str) -> Curve:
    """Return the distribution functions of two samples at all their values."""
    value = np.unique(np.concatenate([a, b]))
    first, second = (np.searchsorted(np.sort(side), value, side="right") / side.size for side in (a, b))
    columns = {"value": value, "first": first, "second": second}
    return Curve(
        "two_ecdfs", columns, "empirical distribution functions", a.size + b.size, {"names": names, "axis": axis}
    )


MOST_PERMUTED = 1500  # points of each set in the permutation test
MOST_PAIRS = 10_000  # points of each set in sums over all pairs, and for the classifier in many dimensions
MOST_CLASSIFIED = 20_000  # points of each set for the classifier, in few dimensions
LARGEST_COVARIANCE = 4096  # coordinates up to which the Fréchet distance is shown


def kernel_look(compared: Compared) -> PointLook:
    """Test by the maximum mean discrepancy over twenty kernels, and show the distances of the field."""
    used = compared.few(MOST_PERMUTED)
    test = mmd_test(used.y, used.points, aggregate="fuse", resamples=compared.resamples, rng=compared.rng)
    pairs = compared.few(MOST_PAIRS)
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
        "Distances of the whole",
        "How far apart are the two laws, and could chance do that?",
        tuple(found),
    )
    caveats = (
        *compared.fewer_words(used, "The permutation test of the MMD looks at a part"),
        *compared.fewer_words(pairs, "Sums over all pairs are of a part"),
    )
    return PointLook(section, float(test.pvalue), (), caveats)


def _frechet(compared: Compared, y: FloatArray, points: FloatArray) -> tuple[Measurement, ...]:
    if compared.sets.d > LARGEST_COVARIANCE:
        return ()
    floor = expected_frechet(PointMoments.of(y), PointMoments.of(points))
    return (
        measured(
            compared,
            "frechet_distance",
            "Fréchet distance, squared",
            frechet_distance(y, points),
            expected=floor,
            method="of the normal laws with these means and covariances; what is expected is what chance adds to 0",
        ),
    )


def classifier_look(compared: Compared) -> PointLook:
    """Test whether a classifier tells held-out points of the two sets apart."""
    title, intro = "A classifier", "Can the two sets be told apart, point by point?"
    used = compared.few(MOST_CLASSIFIED if takes_tree(compared.sets.d) else MOST_PAIRS)
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
    said = f"A classifier of nearest neighbours tells held-out points apart {often} of the time; guessing is 50 %."
    return PointLook(
        section,
        float(test.pvalue),
        (said,),
        compared.fewer_words(used, "The classifier sees a part"),
    )


ORDER = 2.0  # needs no eigenvalues
MOST = 5_000  # points of each set
CAVEAT = "Effective numbers of points compare within one table only: they depend on kernel, length scale, order and n."


def diversity_look(sets: Mapping[str, FloatArray], rng: np.random.Generator) -> PointLook:
    """Compare the Vendi scores of all sets, with one length scale and one number of points."""
    few = {name: random_part(points, MOST, rng) for name, points in sets.items()}
    found = vendi_scores(few, order=ORDER, rng=rng)
    n, kernel = found.n, found.kernel
    measurements = tuple(
        Measurement(
            f"vendi_score.{name}",
            f"{name}: effective number of different points (Vendi)",
            score.mean,
            method=f"order {ORDER:g}, {kernel}, {n:,} points of each set; its size depends on all three",
            details={"sd over subsets": score.sd} if score.sd else {},
        )
        for name, score in found.scores.items()
    )
    section = Section(
        "diversity",
        "Diversity",
        "How many different points is each set worth? 1 if all are alike, n if none are. Diverse is not right.",
        measurements,
    )
    return PointLook(section, None, (), (CAVEAT,))


FEWEST = 20  # points of each set
MOST_POINT_DEPENDENCE = 1000  # points of each set
MOST_COORDINATES_POINT_DEPENDENCE = 30
SAID = 2  # pairs in a sentence
AT_ONCE = 1 << 21  # numbers


class Ties(NamedTuple):
    """The order of values, and for each value where in this order those that equal it begin and end."""

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
    """Name the pairs whose rank correlations differ, beside what was said of coordinates alone.

    A sentence belongs to a verdict that was reached without it. It is made only if its own p-value, allowing for all
    pairs and all other tests, is small enough.
    """
    sets = compared.sets
    if not 2 <= sets.d <= MOST_COORDINATES_POINT_DEPENDENCE or min(sets.n, sets.m) < FEWEST:
        return ()
    found = dependence(compared.few(MOST_POINT_DEPENDENCE), compared.resamples, compared.rng)
    order = np.lexsort((-np.abs(found.real - found.generated), found.pvalue))
    said = [_words(compared, found, k) for k in order if compared.is_found(found.pvalue[k])]
    if not said:
        return ()
    more = len(said) - SAID
    ending = f"; and {more:,} more pair{'s' if more > 1 else ''}" if more > 0 else ""
    but = "" if of_coordinates else "no coordinate was found to differ in location or spread, but "
    return (f"Dependence: {but}coordinates go together differently: {'; '.join(said[:SAID])}{ending}.",)


def _words(compared: Compared, found: Dependence, k: int) -> str:
    a, b = (compared.columns[j] for j in found.pairs[k])
    return f"{a} and {b}, rank correlation {found.real[k]:.2f} of real and {found.generated[k]:.2f} of generated points"


def dependence(sets: PointSets, resamples: int, rng: np.random.Generator) -> Dependence:
    r"""Compare Spearman's rank correlations of all pairs of coordinates.

    .. math:: t_{jk} = |\operatorname{artanh} \rho_{y,jk} - \operatorname{artanh} \rho_{x,jk}|

    Each coordinate of each set is replaced by its ranks within that set, so that location, spread and shape of single
    coordinates play no part. The largest of all :math:`t_{jk}` over random divisions of these ranks, ranked anew, is
    the law that every one of them is compared with (Westfall and Young 1993). A coordinate that is constant in a set
    depends on nothing and is left out.
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
    """Return the mean ranks of each coordinate as shares of the points."""
    everyone = np.ones((1, len(points)), dtype=np.uint8)
    return np.stack([_ranks(everyone, _ties(column))[0] for column in points.T], axis=1) / (len(points) + 1)


def _ties(values: FloatArray) -> Ties:
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return Ties(order, (ends - counts)[inverse], ends[inverse])


def _ranks(V: Divisions, ties: Ties) -> FloatArray:
    """Return for each division (B, N) the mean ranks of all points among those that it marks."""
    below = np.zeros((len(V), V.shape[1] + 1), dtype=np.int32)
    np.cumsum(V[:, ties.order], axis=1, dtype=np.int32, out=below[:, 1:])
    return np.asarray((below[:, ties.begin] + below[:, ties.end] + 1) / 2)


def _correlations(
    U: FloatArray, divisions: Divisions, j: NDArray[np.intp], k: NDArray[np.intp]
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield which divisions, and Spearman's correlations of all pairs in both of their parts."""
    ties = [_ties(column) for column in U.T]
    for rows in chunks(len(divisions), max(1, AT_ONCE // U.size)):
        V = divisions[rows]
        first, second = (_correlated(part, ties)[:, j, k] for part in (V, 1 - V))
        yield rows, first, second


def _correlated(V: Divisions, ties: Sequence[Ties]) -> FloatArray:
    """Return the matrices (B, d, d) of the correlations of ranks among the points that each division marks."""
    inside = V.astype(np.float64)
    n = inside.sum(axis=1, keepdims=True)
    centred = np.stack([(_ranks(V, tie) - (n + 1) / 2) * inside for tie in ties], axis=1)  # (B, d, N)
    products = centred @ centred.transpose(0, 2, 1)
    length = np.sqrt(np.einsum("bjj->bj", products))
    length[length == 0] = np.inf  # constant in this part: no correlation
    return np.asarray(products / (length[:, :, None] * length[:, None, :]))


K = 5
MOST_POINT_NEIGHBOURS = 5_000  # points of each set, which are divided anew many times
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
    used = compared.few(MOST_POINT_NEIGHBOURS)
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
