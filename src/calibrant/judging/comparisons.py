"""The verdict on differences between models on the same rows: different, within the tolerance, or cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import Subject, note
from calibrant.core.findings import Line, Verdict
from calibrant.core.results import Pair
from calibrant.core.words import NAMED, listed, number
from calibrant.judging.notes import text_of
from calibrant.judging.quantities import DIFFERENCE, metric_words
from calibrant.judging.voice import brackets_of


def verdict_on_models(
    values: Mapping[str, Sequence[float]], names: Sequence[str], pairs: Sequence[Pair], claims: Sequence[Claim]
) -> Verdict:
    """Return the verdict on models from the claim on each pair: the answer of the first metric."""
    metric = next(iter(values))
    asked = [(pair, claim) for pair, claim in zip(pairs, claims, strict=True) if pair.metric == metric]
    higher = {pair.second if claim.kind == "below" else pair.first for pair, claim in asked if claim.kind in SIDES}
    left = [name for name in names if name not in higher]  # each of the others is above one of these
    between = [claim.kind for pair, claim in asked if {pair.first, pair.second} <= {*left}]
    sizes = zip(names, values.get("ece", ()), strict=False)
    roots = [f"{name} {100 * math.sqrt(max(0.0, value)):.2g}" for name, value in sizes]
    lines = [Line(*text_of(note("roots", roots=roots)))] if roots else []
    status = difference_status([claim.kind for _, claim in asked])
    headline = _headline(metric, names, left, difference_status(between), asked[0][1])
    return Verdict(status, headline, tuple(claims), tuple(lines), claims[0].tolerance)


def _headline(metric: str, names: Sequence[str], left: Sequence[str], between: str, first: Claim) -> str:
    words = metric_words(metric)
    lowest = f"the lower {words}" if len(names) == 2 else f"the lowest {words} of {len(names)} models"
    limits = brackets_of(first) if len(names) == 2 else ""
    if len(left) == 1:
        return f"{left[0]} has {lowest}" + (f": difference {number(first.estimate)}{limits}" if limits else "")
    worse = [name for name in names if name not in left]
    others = f"; {_some(worse)}: not the lowest" if worse else ""
    if between == "within":
        return f"The {words} of {_some(left)} differs by at most {first.tolerance or 0.0:g}{limits}{others}"
    return f"Cannot tell which of {_some(left)} has {lowest}{limits}{others}"


def _some(names: Sequence[str]) -> str:
    """Name a few models, and count many."""
    return listed(names) if len(names) <= NAMED else f"{len(names):,} models"


SIDES = ("below", "above")


def claim_on_models(pair: Pair, *, level: float, rows: int, tolerance: float | None, method: str) -> Claim:
    """Return what limits of a difference support."""
    return Claim(
        kind=difference_kind(pair.low, pair.high, tolerance),
        subject=Subject("models", name=f"{pair.first} and {pair.second}"),
        quantity=f"{DIFFERENCE}{pair.metric}",
        estimate=pair.difference,
        low=pair.low,
        high=pair.high,
        level=level,
        rows=rows,
        tolerance=tolerance,
        test=method,
        pvalue=pair.pvalue,
    )


def difference_kind(low: float, high: float, tolerance: float | None) -> ClaimKind:
    """Return what limits of a difference support; one that they show to be within the tolerance does not matter.

    >>> difference_kind(0.01, 0.03, None), difference_kind(0.01, 0.03, 0.05), difference_kind(-0.01, 0.03, None)
    ('above', 'within', 'cannot tell')
    """
    if max(abs(low), abs(high)) <= (tolerance or 0.0):
        return "within"
    return "below" if high < 0 else "above" if low > 0 else "cannot tell"


def difference_status(kinds: Sequence[ClaimKind]) -> Literal["different", "within", "cannot tell"]:
    """Return the outcome of several differences: one that is shown makes it "different".

    >>> difference_status(["within", "below"]), difference_status(["within"]), difference_status(["cannot tell"])
    ('different', 'within', 'cannot tell')
    """
    if {"below", "above"} & set(kinds):
        return "different"
    return "within" if set(kinds) == {"within"} else "cannot tell"
