"""Diversity of sets of points in a comparison: the profile of all sets, and whether one of them has collapsed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.evidence import Note, Subject, note
from calibrant.core.findings import Figure, Measurement, Section, Table
from calibrant.core.pvalues import holm, is_floor
from calibrant.core.results import Curve
from calibrant.inputs.arrays import FloatArray
from calibrant.points.diversity import FACTORS, LessVaried, less_varied, profile
from calibrant.points.inputs import MIN_SHARE, PointSets, Repeats, is_repetitive, random_part, repeats_pvalue
from calibrant.points.sections import MAX_PERMUTED, ComparedSets, TestedSection, measured

ORDER = 2.0  # needs no eigenvalues
MAX_SCORED = 5_000  # points of each set
COLLAPSED = 0.7  # ratio of scores at the finest scale: chance gives 0.84 once in a hundred at n = 100
QUESTIONS = 2  # scores and repetitions


class Variety(NamedTuple):
    """How varied one set is beside others: by Vendi scores, and by points that repeat themselves."""

    scores: LessVaried
    repeats: Repeats
    of_repeats: float  # p-value
    repetitive: bool  # more than 1 % of the rows, and more than in the other sets

    @classmethod
    def of(cls, points: FloatArray, others: Sequence[FloatArray], B: int, rng: np.random.Generator) -> Variety:
        """Compare a set with the pool of others: at most 1,500 points of either, and the repetitions of all points."""
        used = PointSets(*(random_part(part, MAX_PERMUTED, rng) for part in (np.concatenate(others), points)))
        own, rest = Repeats.of(points), [Repeats.of(other) for other in others]
        return cls(less_varied(used, B, rng), own, repeats_pvalue(own, rest), is_repetitive(own, rest))

    @property
    def pvalue(self) -> float:
        return min(1.0, QUESTIONS * min(self.scores.pvalue, self.of_repeats))

    def floor(self, resamples: int) -> float:
        """The smallest value of `pvalue` by random divisions; 0 if it is that of repetitions, which are counted."""
        return 0.0 if self.of_repeats <= self.scores.pvalue else QUESTIONS / (resamples + 1)


def variety_section(compared: ComparedSets) -> TestedSection:
    """Test whether the generated points are less varied than the real ones, and whether they repeat themselves."""
    sets = compared.sets
    found = Variety.of(sets.points, [sets.y], compared.resamples, compared.rng)
    scores = found.scores
    measurement = measured(
        compared,
        "diversity_test",
        "smallest ratio of effective numbers of points, generated over real, each set in its own scale",
        float(scores.ratio.min()),
        expected=1.0,
        pvalue=scores.pvalue,
        method=f"Vendi scores of order 2 at {len(FACTORS)} scales, {compared.resamples:,} random divisions",
        details={"ratio at the finest scale": scores.finest},
    )
    intro = "Are the generated points as varied as the real ones, or do they repeat themselves?"
    section = Section("variety", "Variety", intro, (measurement,))
    claims = list(variety_claims(found, Subject("set", name=compared.generated), compared.resamples))
    made = significant([claims], [float(compared.tests)], compared.level)
    return TestedSection(section, found.pvalue, made, (), found.floor(compared.resamples))


def variety_claims(found: Variety, subject: Subject, resamples: int) -> Iterator[Claim]:
    """Yield what may be said of a set, with p-values that allow for both questions.

    A collapse is a ratio below 0.7 at the finest scale, or repetitions; a ratio that is small only at larger scales
    means fewer modes, near copies or another shape.
    """
    if found.repetitive:
        yield Claim(
            "collapse",
            subject,
            "distinct_points",
            float(found.repeats.distinct),
            rows=found.repeats.rows,
            expected=float(found.repeats.rows),
            test="binomial test of repetitions",
            pvalue=min(1.0, QUESTIONS * found.of_repeats),
        )
    scores = found.scores
    collapsed, at = scores.finest < COLLAPSED, int(np.argmin(scores.ratio))
    place = len(FACTORS) - 1 if collapsed else at
    yield Claim(
        "collapse" if collapsed else "below",
        Subject(subject.kind, name=subject.name, low=FACTORS[place] * scores.scales[1]),
        "diversity",
        float(scores.ratio[place]),
        expected=1.0,
        test="diversity_test",
        pvalue=min(1.0, QUESTIONS * scores.pvalue),
        at_floor=is_floor(scores.pvalue, 1 / (resamples + 1)),
    )


def claims_without_truth(
    sets: Mapping[str, FloatArray], level: float, resamples: int, rng: np.random.Generator
) -> tuple[Claim, ...]:
    """Return what can be said of sets without real points: each is tested against the pool of the others, by Holm.

    A single set has nothing to be tested against: its repetitions are described.
    """
    if len(sets) == 1:
        ((name, points),) = sets.items()
        own, about = Repeats.of(points), Subject("set", name=name)
        expected = float(own.rows)
        said = Claim("description", about, "distinct_points", float(own.distinct), rows=own.rows, expected=expected)
        return (said,) if own.extra > MIN_SHARE * own.rows else ()
    found: list[list[Claim]] = []
    for name, points in sets.items():
        others = [other for key, other in sets.items() if key != name]
        variety = Variety.of(points, others, resamples, rng)
        found.append(list(variety_claims(variety, Subject("set", name=name), resamples)))
    smallest = np.array([min(claim.pvalue or 0.0 for claim in claims) for claims in found])
    return significant(found, (holm(smallest) / smallest).tolist(), level)


def significant(found: Sequence[Sequence[Claim]], factors: Sequence[float], level: float) -> tuple[Claim, ...]:
    """Return the claims that stay significant when the p-values of each set are multiplied by its factor."""
    adjusted = [
        replace(claim, pvalue=min(1.0, factor * (claim.pvalue or 0.0)), level=level)
        for claims, factor in zip(found, factors, strict=True)
        for claim in claims
    ]
    return tuple(claim for claim in adjusted if (claim.pvalue or 0.0) <= 1 - level)


def diversity_section(
    sets: Mapping[str, FloatArray], rng: np.random.Generator
) -> tuple[Section, Curve, tuple[Note, ...]]:
    """Return the Vendi scores of all sets at many length scales, the same as a curve, and notes."""
    few = {name: random_part(points, MAX_SCORED, rng) for name, points in sets.items()}
    curve = profile(few, ORDER, None, rng)
    n, width = curve.points, float(curve.bandwidth[0])
    measurements = tuple(
        Measurement(
            f"vendi_score.{name}",
            f"{name}: effective number of different points (Vendi)",
            float(curve.score[0, c]),
            method=f"order {ORDER:g}, Gaussian kernel, length scale {width:.4g}, {n:,} points of each set",
            details={"at the finest scale": float(curve.score[-1, c])},
        )
        for c, name in enumerate(sets)
    )
    columns = {
        "length scale": tuple(curve.bandwidth.tolist()),
        **{name: tuple(curve.score[:, c].tolist()) for c, name in enumerate(sets)},
    }
    below = f"Of {n:,} points of each set. As the length scale falls, distinct points count one by one."
    intro = "How many different points is each set worth? 1 if all are alike, n if no two are. Diverse is not correct."
    reading = "A line that stays below the others on the left is that of a set that repeats itself, or nearly so."
    figure = Figure("profile", "Diversity at many scales", reading, curve)
    table = Table("profile", "Effective numbers of different points", columns, below)
    section = Section("diversity", "Diversity", intro, measurements, (figure,), (table,))
    of_sets = {name: Repeats.of(points) for name, points in sets.items()}
    notes = [
        note("repetitions", name=name, distinct=found.distinct, rows=found.rows, most=found.most)
        for name, found in of_sets.items()
        if found.extra > MIN_SHARE * found.rows
    ]
    return section, curve, (note("effective"), *notes)
