"""Groups and classes whose true errors are known, for limits that must cover in all of them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from benchmarks.validity.claim_truth import Chances, cutoff_error
from numpy.typing import NDArray
from scipy.special import expit, logit

from calibrant.core.ordered import Ordered
from calibrant.inputs.groups import Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.group_test import GroupFindings, group_test, part_test

LEVEL = 0.95
REDRAWS = 199
ROWS_PER_GROUP = 500
FloatArray = NDArray[np.float64]
Rng = np.random.Generator
EQUAL, UNEQUAL = "equal", "very unequal"
SIZES: dict[str, Callable[[int], FloatArray]] = {
    EQUAL: lambda groups: np.full(groups, ROWS_PER_GROUP),
    UNEQUAL: lambda groups: np.geomspace(10, 10_000, groups),
}
SCORES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "usual": lambda rng, n: rng.beta(2, 2, n),
    "rare": lambda rng, n: rng.beta(1, 60, n),
    "tied": lambda rng, n: rng.integers(1, 6, n) / 6,
    "two sorts": lambda rng, n: np.where(rng.random(n) < 0.5, 0.5, 0.02) + 0.01 * rng.random(n),
}
TRUTHS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": lambda p: p,
    "shifted": lambda p: expit(logit(p) + 0.5),
    "flat": lambda p: expit(0.4 * logit(p)),  # with symmetric scores the mean is right
    "far off": lambda p: expit(logit(p) + 2.0),
}


class GroupDesign(NamedTuple):
    """How groups are drawn: the number of them, their sizes, scores and truth; every second group has that truth."""

    groups: int
    sizes: str = EQUAL
    scores: str = "usual"
    truth: str = "calibrated"
    weighted: bool = False

    @property
    def name(self) -> str:
        """The design in words."""
        words = (f"{self.groups} groups", self.sizes, self.scores, self.truth, "weights" if self.weighted else "")
        return ", ".join(filter(None, words))

    def draw(self, rng: Rng) -> tuple[GroupFindings, FloatArray]:
        """Return what is found in one data set, and the true cutoff error of each group."""
        code = np.repeat(np.arange(self.groups), SIZES[self.sizes](self.groups).astype(int))
        p = SCORES[self.scores](rng, code.size)
        q = np.where(code % 2 == 1, TRUTHS[self.truth](p), p)
        w = np.exp(0.7 * rng.normal(size=p.size)) if self.weighted else np.ones(p.size)
        rows = Binary((rng.random(p.size) < q).astype(np.uint8), p, w)
        grouping = Grouping(code, [str(g) for g in range(self.groups)])
        found = group_test(rows, [grouping], level=LEVEL, resamples=REDRAWS, rng=rng)
        chances = Chances(p, q, w)
        return found, np.array([cutoff_error(chances.at(code == g)) for g in range(self.groups)])


class ClassDesign(NamedTuple):
    """Class probabilities; the truth is P to a power, divided by its sum."""

    classes: int
    power: float = 1.0
    rows: int = 4000

    @property
    def name(self) -> str:
        """The design in words."""
        return f"{self.classes} classes, power {self.power:g}"

    def draw(self, rng: Rng) -> tuple[GroupFindings, FloatArray]:
        """Return what is found in one data set, and the true cutoff error of each class."""
        P = rng.dirichlet(np.full(self.classes, 3 / self.classes), self.rows) + 1e-6
        P /= P.sum(axis=1, keepdims=True)
        Q = P**self.power / (P**self.power).sum(axis=1, keepdims=True)
        labels = np.minimum((rng.random((self.rows, 1)) > np.cumsum(Q, axis=1)).sum(axis=1), self.classes - 1)
        w = np.ones(self.rows)
        rows = Classes(labels, P, w)
        summaries = [Ordered.of(rows.one_vs_rest(k)) for k in range(self.classes)]
        names = [str(k) for k in range(self.classes)]
        found = part_test(summaries, names, level=LEVEL, resamples=REDRAWS, rng=rng)
        return found, np.array([cutoff_error(Chances(P[:, k], Q[:, k], w)) for k in range(self.classes)])


def stated_low(found: GroupFindings) -> FloatArray:
    """Return the lower limits, 0 where the test does not reject."""
    return np.where(found.pvalue_adjusted < 1 - LEVEL, found.low, 0.0)


DESIGNS: dict[str, GroupDesign | ClassDesign] = {
    design.name: design
    for design in (
        *(GroupDesign(groups, truth=truth) for groups in (2, 10, 100) for truth in TRUTHS),
        *(GroupDesign(groups, UNEQUAL, truth=truth) for groups in (10, 100) for truth in ("calibrated", "flat")),
        *(
            GroupDesign(groups, scores="rare", truth=truth)
            for groups in (2, 10, 100)
            for truth in ("shifted", "far off")
        ),
        *(GroupDesign(groups, UNEQUAL, "rare", truth) for groups in (10, 100) for truth in ("shifted", "far off")),
        *(GroupDesign(groups, scores="tied", truth="flat") for groups in (2, 10, 100)),
        *(GroupDesign(groups, scores="two sorts", truth="far off") for groups in (2, 10)),
        *(GroupDesign(groups, truth=truth, weighted=True) for groups in (2, 10, 100) for truth in ("flat", "shifted")),
        GroupDesign(10, UNEQUAL, "rare", "shifted", weighted=True),
        ClassDesign(10),
        ClassDesign(10, 0.6),
        ClassDesign(300),
        ClassDesign(300, 0.6),
    )
}
