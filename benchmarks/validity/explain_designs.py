"""Constructed errors of draws, the word that `explain` must find for each, and the words that it must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import calibrant as cb
from calibrant.core.claims import Claim

FloatArray = NDArray[np.float64]
Rng = np.random.Generator
Drawn = tuple[FloatArray, FloatArray, FloatArray]  # outcomes, draws, what was known of the rows

NONE, HIGH, LOW, NARROW, WIDE = "none", "high", "low", "narrow", "wide"
OUTSIDE, DRAWS, SKEW, TAILS, CENTRE, SHAPE, DEPENDENCE = (
    "outside",
    "draws",
    "skew",
    "tails",
    "centre",
    "shape",
    "dependence",
)
SIDES = {("shift", "above"): HIGH, ("shift", "below"): LOW, ("spread", "above"): NARROW, ("spread", "below"): WIDE}
QUANTITIES = {
    "outside": OUTSIDE,
    "draws": DRAWS,
    "skewed": SKEW,
    "light-tailed": TAILS,
    "heavy-tailed": TAILS,
    "two modes": CENTRE,
    "other": SHAPE,
    "dependence": DEPENDENCE,
    "joint_ranks": DEPENDENCE,
}


Asked = Callable[[FloatArray, FloatArray, FloatArray], set[str]]
RELATION, NO_BETTER = "relation", "no better"
MEDIAN_SIZE = 0.6745  # of a standard normal number
REDRAWS = 99


def _related(y: FloatArray, draws: FloatArray, x: FloatArray) -> set[str]:
    found = cb.conditional_test(y, cb.Samples(draws), covariates=x, resamples=REDRAWS)
    return {RELATION} if float(np.min(found.pvalue)) <= 1 - LEVEL else set()


def _skill(y: FloatArray, draws: FloatArray, x: FloatArray) -> set[str]:
    claim = cb.skill_test(y, cb.Samples(draws)).details["claim"]
    return {str(claim)} - {"cannot tell"}


LEVEL = 0.95


def words_of(claims: tuple[Claim, ...]) -> set[str]:
    """Return the words of claims and descriptions; one that is not known here is an error."""
    return {_word_of(claim) for claim in claims} or {NONE}


def _word_of(claim: Claim) -> str:
    side = claim.kind
    if side == "description":
        side = "below" if claim.estimate < claim.expected else "above"
    return SIDES.get((claim.quantity, side)) or QUANTITIES[claim.quantity]


@dataclass(frozen=True)
class Error:
    """One constructed error: outcomes and draws, and which words must and must not be said.

    One of the `ways` must be said whole; none of `forbidden`.
    """

    draw: Callable[[Rng, int, int], Drawn]
    ways: tuple[frozenset[str], ...]
    forbidden: frozenset[str]
    few_draws: bool = True  # whether 20 draws are enough to say it
    asks: Asked | None = None  # another verb that is asked, for errors that ranks alone do not show


def _rows(
    noise: Callable[[Rng, int], FloatArray], error: Callable[[Rng, int, int], FloatArray]
) -> Callable[[Rng, int, int], Drawn]:
    """Draw a place for each row, the outcome and M draws around it."""

    def draw(rng: Rng, n: int, M: int) -> Drawn:
        place = rng.normal(size=n)
        return place + noise(rng, n), place[:, None] + error(rng, n, M), place

    return draw


def _normal(rng: Rng, n: int) -> FloatArray:
    return rng.normal(size=n)


def _wrong(shift: float = 0.0, spread: float = 1.0) -> Callable[[Rng, int, int], FloatArray]:
    return lambda rng, n, M: shift + spread * rng.normal(size=(n, M))


def _t3(rng: Rng, n: int) -> FloatArray:
    return rng.standard_t(3, n) / np.sqrt(3)


def _gamma(rng: Rng, n: int, M: int) -> FloatArray:
    return (rng.gamma(5, size=(n, M)) - 5) / np.sqrt(5)


def _second_mode(rng: Rng, n: int) -> FloatArray:
    return rng.normal(size=n) + 5 * (rng.random(n) < 0.2)


def _failed(rng: Rng, n: int, M: int) -> FloatArray:
    failed = (np.arange(n) % 20 == 7)[:, None]
    return np.where(failed, 20 + 0.01 * rng.normal(size=(n, M)), rng.normal(size=(n, M)))


def _cut(rng: Rng, n: int, M: int) -> Drawn:
    """Draws are those of the right distribution that are positive."""
    from scipy.special import ndtr, ndtri

    place = rng.normal(1.0, 0.5, size=n)
    below = ndtr(-place)[:, None]
    return place + rng.normal(size=n), place[:, None] + ndtri(below + (1 - below) * rng.random((n, M))), place


def _chain(spread: float = 1.0) -> Callable[[Rng, int, int], FloatArray]:
    def draw(rng: Rng, n: int, M: int) -> FloatArray:
        x = rng.normal(size=(n, M))
        for j in range(1, M):
            x[:, j] = 0.9 * x[:, j - 1] + np.sqrt(1 - 0.81) * x[:, j]
        return spread * x

    return draw


def _changing_bias(rng: Rng, n: int) -> FloatArray:
    return rng.normal(size=n) + 0.8 * rng.choice([-1, 1], n)


def _two_modes(rng: Rng, n: int) -> FloatArray:
    return 0.95 * rng.choice([-1, 1], n) + 0.31 * rng.normal(size=n)


def _independent(rng: Rng, n: int, M: int) -> Drawn:
    """Outcomes of four coordinates with correlation 0.8, draws with none."""
    root = np.linalg.cholesky(np.full((4, 4), 0.8) + 0.2 * np.eye(4))
    place = rng.normal(size=(n, 4))
    return place + rng.normal(size=(n, 4)) @ root.T, place[:, None] + rng.normal(size=(n, M, 4)), place


def _climatology(rng: Rng, n: int, M: int) -> Drawn:
    """Draws of the distribution of all outcomes, whatever was known."""
    place = rng.normal(size=n)
    return place + rng.normal(size=n), np.sqrt(2) * rng.normal(size=(n, M)), place


def _bias_by_size(rng: Rng, n: int, M: int) -> Drawn:
    """Draws that are too high by half a standard deviation where |x_2| is small, and too low where it is large."""
    x = rng.normal(size=(n, 2))
    bias = np.where(np.abs(x[:, 1]) > MEDIAN_SIZE, -0.5, 0.5)
    return x[:, 0] + rng.normal(size=n), (x[:, 0] + bias)[:, None] + rng.normal(size=(n, M)), x


def _one(*words: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset([word]) for word in words)


EVERYTHING = frozenset([HIGH, LOW, NARROW, WIDE, OUTSIDE, DRAWS, SKEW, TAILS, CENTRE, SHAPE, DEPENDENCE])

ERRORS = {
    "none": Error(_rows(_normal, _wrong()), _one(NONE), EVERYTHING),
    "draws + .4 sd": Error(_rows(_normal, _wrong(0.4)), _one(HIGH), frozenset([LOW, WIDE, OUTSIDE, DRAWS])),
    "draws x .7": Error(_rows(_normal, _wrong(0.0, 0.7)), _one(NARROW), frozenset([WIDE, OUTSIDE, DRAWS, HIGH, LOW])),
    "draws x 1.4": Error(_rows(_normal, _wrong(0.0, 1.4)), _one(WIDE), frozenset([NARROW, OUTSIDE, DRAWS])),
    "+ .4 and x .7": Error(
        _rows(_normal, _wrong(0.4, 0.7)), (frozenset([HIGH, NARROW]),), frozenset([WIDE, LOW, DRAWS, OUTSIDE])
    ),
    "truth t3 of sd 1": Error(_rows(_t3, _wrong()), _one(WIDE, TAILS, SHAPE, OUTSIDE), frozenset([NARROW, DRAWS])),
    "draws skewed": Error(_rows(_normal, _gamma), _one(SKEW), frozenset([DRAWS]), few_draws=False),
    "mode missed": Error(_rows(_second_mode, _wrong()), _one(OUTSIDE), frozenset([NARROW, WIDE, LOW, DRAWS])),
    "5 % failed fits": Error(_rows(_normal, _failed), _one(OUTSIDE), frozenset([NARROW, WIDE, DRAWS])),
    "support cut at 0": Error(_cut, _one(OUTSIDE, HIGH, SHAPE), frozenset([LOW, DRAWS])),
    "AR(.9) draws": Error(_rows(_normal, _chain()), _one(DRAWS), frozenset([NARROW, WIDE, OUTSIDE])),
    "bias ± .8 by case": Error(_rows(_changing_bias, _wrong()), _one(NARROW), frozenset([WIDE, OUTSIDE, DRAWS])),
    "two modes averaged": Error(_rows(_two_modes, _wrong()), _one(CENTRE), frozenset([NARROW, WIDE, DRAWS])),
    "climatology": Error(
        _climatology, _one(NO_BETTER), frozenset([HIGH, LOW, NARROW, WIDE, OUTSIDE, DRAWS, "informative"]), asks=_skill
    ),
    "bias by |x2|": Error(_bias_by_size, _one(RELATION), frozenset([HIGH, LOW, WIDE, OUTSIDE, DRAWS]), asks=_related),
    "correlation .8 as 0": Error(_independent, _one(DEPENDENCE), frozenset([HIGH, LOW, NARROW, WIDE, OUTSIDE, DRAWS])),
    "AR(.9) and x .5": Error(_rows(_normal, _chain(0.5)), _one(DRAWS), frozenset([WIDE])),
}
"""All errors."""
