"""Types of the arguments of verbs, as type checkers and editors show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike

from calibrant.core.summary import Summary
from calibrant.inputs.arrays import Labels, Rng

__all__ = ["Alternative", "IntervalMethod", "Labels", "Outcomes", "Quantities", "Quantity", "Rng"]

Outcomes: TypeAlias = ArrayLike | Summary
"""Outcomes, or the summary of outcomes and predictions in place of both."""

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
"""Which departures count: both, or those in which too few or too many outcomes happen or are covered."""

IntervalMethod: TypeAlias = Literal["clopper-pearson", "wilson"]
"""How confidence limits of a share are found."""

Quantity: TypeAlias = Callable[..., Any]
Quantities: TypeAlias = Quantity | str | Sequence[Quantity | str] | Mapping[str, Quantity | str]
"""What is ranked: a function of the members, the name of a ready quantity, several of these, or names to them."""
