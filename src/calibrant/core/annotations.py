"""What verbs take, as type checkers and editors show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.summary import Summary

Outcomes: TypeAlias = ArrayLike | Summary
"""Outcomes, or the summary of outcomes and predictions in place of both."""

Labels: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]
"""The labels of classes, in the order of the columns."""

Rng: TypeAlias = np.random.Generator | int
"""A generator of random numbers, or its seed."""
