"""The largest g at which limits of counts hold with a given probability."""

from __future__ import annotations

import math
from collections.abc import Callable

from calibrant.primitives.count_limits import SLACK, Limits

ROUNDING = 1e-12  # of probabilities that equal the level in exact arithmetic
FARTHEST = 30.0  # factor by which g changes at a time
BEYOND = 1.1  # factor that lets a step end on the other side

FindLimits = Callable[[float, Limits | None, Limits | None], Limits]


def largest_gamma(
    find: FindLimits, outside: Callable[[Limits], float], *, tail: float, guess: float
) -> tuple[Limits, float]:
    """Return the limits at the largest g with P(outside) <= tail, and that probability.

    `find` returns the limits at g, given those of a smaller and of a larger g where they are known.

    P(outside) is a step function of g that changes only at attained tail values. An accepted g is moved up to the
    largest with its limits, a rejected one down to the next attained value, and the search ends when they meet. In
    between log P(outside) is almost a line in log g; where the steps hide that, halving the bracket helps.
    """
    wide: Limits | None = None  # at the largest g that is accepted
    narrow: Limits | None = None  # at the smallest that is rejected
    at_wide = at_narrow = 0.0
    found, tries, g = 0.0, 0, guess
    while True:
        limits = find(g, wide, narrow)
        p = outside(limits)
        excess = math.log(max(p, 1e-300) / tail)
        if p <= tail + min(ROUNDING, tail / 100):
            wide, at_wide, found = limits, excess, p
        else:
            narrow, at_narrow = limits, excess
        if wide is None or narrow is None:
            g = _across(g, excess) if narrow is None else min(_across(g, excess), narrow.next_below)
            continue
        low, high = wide.reached, narrow.next_below
        if low >= high * (1 - SLACK):
            return wide, found
        tries += 1
        share = 0.5 if tries % 3 == 0 else min(0.9, max(0.1, at_wide / (at_wide - at_narrow)))
        g = min(high, max(low * (1 + 2 * SLACK), low * (high / low) ** share))


def _across(g: float, excess: float) -> float:
    """Return a g that is probably on the other side, as P(outside) grows about as g."""
    factor = math.exp(min(abs(excess), math.log(FARTHEST))) * BEYOND
    return g / factor if excess > 0 else g * factor
