"""Types of the arguments of verbs, as type checkers and editors show them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from numpy.typing import ArrayLike

from calibrant.core.summary import Summary
from calibrant.inputs.arrays import Labels, Rng

__all__ = ["Alternative", "Labels", "Outcomes", "Rng"]

Outcomes: TypeAlias = ArrayLike | Summary
"""Outcomes, or the summary of outcomes and predictions in place of both."""

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
"""Which errors of coverage count: both, too low a coverage, or too high."""
