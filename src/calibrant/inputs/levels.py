"""Nominal levels: numbers strictly between 0 and 1, compared after rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.laws.parameters import locked, read_numbers
from calibrant.inputs.weights import FloatArray

DIGITS = 10  # levels are equal if they agree to so many: 1 - 0.9 is 0.09999999999999998
FEW = 12  # levels that are shown one by one

MEANING = {
    "level": "It is nominal coverage, such as 0.9, never alpha",
    "levels": "It is the probability of staying at or below the quantile",
}


def read_levels(levels: Any, name: str = "level") -> tuple[FloatArray, bool]:
    """Return levels (L,) in the given order, all different, and whether a single number was given."""
    given = read_numbers(levels, name)
    if given.ndim > 1 or given.size == 0:
        raise InputError(f"{name} must be a number or a list of numbers; got shape {given.shape}")
    found = _in_double(np.atleast_1d(given))
    bad = ~((found > 0) & (found < 1))
    if bad.any():
        value = found[np.argmax(bad)]
        remedy = "Divide percentages by 100" if 1 < value <= 100 else MEANING[name]
        raise InputError(f"{name} must lie strictly between 0 and 1; got {shown(value)}. {remedy}")
    if np.unique(found.round(DIGITS)).size < found.size:
        raise InputError(f"{name} must not hold a value twice; got {shown(found.tolist())}")
    return locked(found), given.ndim == 0


def levels_shown(levels: FloatArray, single: bool, name: str = "level") -> str:
    """Return levels as the `repr` of a prediction shows them: each of a few, the ends of many.

    >>> levels_shown(np.array([0.1, 0.5]), False), levels_shown(np.linspace(0.01, 0.99, 99), False)
    ('level=[0.1, 0.5]', '99 levels from 0.01 to 0.99')
    """
    if levels.size > FEW:
        return f"{levels.size} levels from {levels.min():.10g} to {levels.max():.10g}"
    listed = [float(f"{level:.10g}") for level in levels]
    return f"{name}={listed[0] if single else listed}"


def _in_double(levels: NDArray[Any]) -> FloatArray:
    """Return levels as float64; one of lower precision is the shortest decimal that it stands for.

    >>> _in_double(np.array([0.9], np.float32)).tolist()
    [0.9]
    """
    if levels.dtype.kind == "f" and levels.dtype.itemsize < 8:
        return np.array([float(str(level)) for level in levels])
    return levels.astype(np.float64)


def place_of(level: Any, levels: FloatArray, name: str = "level") -> int:
    """Return where a level stands among others."""
    wanted, single = read_levels(level, name)
    if not single:
        raise InputError(f"{name} must be one number; got {shown(level)}")
    found = np.flatnonzero(levels.round(DIGITS) == wanted[0].round(DIGITS))
    if found.size == 0:
        raise InputError(f"there is no {name} {shown(level)}; there are {', '.join(f'{v:.10g}' for v in levels)}")
    return int(found[0])
