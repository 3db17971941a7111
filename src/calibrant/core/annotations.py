"""Types of the arguments of verbs, as type checkers and editors show them."""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike

from calibrant.core.summary import Summary
from calibrant.inputs.arrays import Labels, Rng

__all__ = ["Labels", "Outcomes", "Rng"]

Outcomes: TypeAlias = ArrayLike | Summary
"""Outcomes, or the summary of outcomes and predictions in place of both."""
