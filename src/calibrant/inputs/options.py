"""Checks of options that many verbs share: choices, counts, levels and random generators."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, refuse_choice, shown
from calibrant.inputs.arrays import FloatArray, locked, read_numbers

BIN_RULES = ("auto", "cube-root", "sweep")
MAX_BINS = 10_000_000
MAX_COUNT = 10**9  # of anything that an option counts
MAX_REPEATS = 10**6  # of what is repeated at random
REPEATS = ("resamples", "directions", "draws", "locations")
DIGITS = 10  # levels that agree to this many digits are equal: 1 - 0.9 is 0.09999999999999998
MAX_LEVELS_SHOWN = 12
LEAST_CONFIDENCE = 0.5
MEANING = {
    "level": "It is nominal coverage, such as 0.9, never alpha",
    "levels": "It is the probability of staying at or below the quantile",
}


def check_choice(name: str, value: object, *choices: object) -> None:
    if isinstance(value, np.bool_):
        value = bool(value)
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise refuse_choice(name, value, choices)


def as_number(value: Any) -> float:
    """Return an option as float64; NaN if it is not a real number, or too large for float64."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return np.nan


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number from `least` to 10⁹, or to 10⁶ repeats; True and 10.0 are not whole numbers."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise InputError(
            f"{name} must be a whole number of at least {least}; got {shown(value)} ({type(value).__name__})"
        )
    if value < least:
        raise InputError(f"{name} must be at least {least}; got {shown(value)}")
    most = MAX_REPEATS if name in REPEATS else MAX_COUNT
    if int(value) > most:
        raise InputError(f"{name} must be at most {most:,}; got {shown(value)}")
    return int(value)


def check_positive(name: str, value: Any, such_as: str) -> float:
    """Return a finite number above 0; True is not a number."""
    found = as_number(value)
    if not 0 < found < np.inf:
        raise InputError(f"{name} must be a number above 0, {such_as}; got {shown(value)}")
    return found


def check_level(level: Any, name: str = "level") -> float:
    """Return a confidence level from 0.5 to below 1; a smaller one is most likely an error rate."""
    found = check_share(name, level, "0.95")
    if found < LEAST_CONFIDENCE:
        raise InputError(f"{name} {error_rate_words(found)}")
    return found


def error_rate_words(level: float) -> str:
    """Say why a number is not a confidence level, and which one may have been meant.

    >>> error_rate_words(0.05)
    'must be at least 0.5: it is a confidence level, never alpha; got 0.05. Did you mean 0.95?'
    """
    meant = 1 - level if level > 10**-DIGITS else 0.95
    return (
        f"must be at least {LEAST_CONFIDENCE:g}: it is a confidence level, never alpha; got {level:.10g}. "
        f"Did you mean {meant:.10g}?"
    )


def check_share(name: str, value: Any, such_as: str = "0.02") -> float:
    found = as_number(value)
    if not 0 < found < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, such as {such_as}; got {shown(value)}")
    return found


def check_bins(bins: Any) -> None:
    if isinstance(bins, str):
        if bins not in BIN_RULES:
            raise InputError(f'bins must be a whole number, "auto", "cube-root" or "sweep"; got {bins!r}')
    elif check_count("bins", bins) > MAX_BINS:
        raise InputError(f"bins must be at most {MAX_BINS:,}; got {bins}")


def generator(rng: Any) -> np.random.Generator:
    """Return a Generator as it is, and a new one for a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, Integral) and not isinstance(rng, (bool, np.bool_)) and int(rng) >= 0:
        return np.random.default_rng(int(rng))
    raise InputError(
        f"rng must be a numpy Generator or a whole number of at least 0; got {shown(rng)} ({type(rng).__name__})"
    )


def seed_of(rng: Any) -> int:
    """Return a seed for other processes: `rng` itself if it is a number, else a number drawn from it.

    >>> seed_of(7)
    7
    """
    generator(rng)  # refuses anything else
    return int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else int(rng)


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
        raise InputError(f"{name} must not contain a value twice; got {shown(found.tolist())}")
    return locked(found), given.ndim == 0


def levels_shown(levels: FloatArray, single: bool, name: str = "level") -> str:
    """Return levels as the `repr` of a prediction shows them: up to 12 one by one, more by their ends.

    >>> levels_shown(np.array([0.1, 0.5]), False), levels_shown(np.linspace(0.01, 0.99, 99), False)
    ('level=[0.1, 0.5]', '99 levels from 0.01 to 0.99')
    """
    if levels.size > MAX_LEVELS_SHOWN:
        return f"{levels.size} levels from {levels.min():.10g} to {levels.max():.10g}"
    listed = [float(f"{level:.10g}") for level in levels]
    return f"{name}={listed[0] if single else listed}"


def _in_double(levels: NDArray[Any]) -> FloatArray:
    """Return levels as float64; levels of lower precision become the shortest decimal that rounds to them.

    >>> _in_double(np.array([0.9], np.float32)).tolist()
    [0.9]
    """
    if levels.dtype.kind == "f" and levels.dtype.itemsize < 8:
        return np.array([float(str(level)) for level in levels])
    return levels.astype(np.float64)


def place_of(level: Any, levels: FloatArray, name: str = "level") -> int:
    wanted, single = read_levels(level, name)
    if not single:
        raise InputError(f"{name} must be one number; got {shown(level)}")
    found = np.flatnonzero(levels.round(DIGITS) == wanted[0].round(DIGITS))
    if found.size == 0:
        raise InputError(f"there is no {name} {shown(level)}; there are {', '.join(f'{v:.10g}' for v in levels)}")
    return int(found[0])
