"""Checks of options that many verbs share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from calibrant.errors import InputError, refuse_choice, shown

BIN_RULES = ("cube-root", "sweep")
MOST_BINS = 10_000_000
MOST = 10**9  # of anything that is counted


def check_choice(name: str, value: object, *choices: object) -> None:
    """Refuse an option that is not one of its choices."""
    if isinstance(value, np.bool_):
        value = bool(value)
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        raise refuse_choice(name, value, choices)


def as_number(value: Any) -> float:
    """Return an option as float64; NaN if it is no real number, or a whole number that float64 cannot hold."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return np.nan


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return a whole number from `least` to 10⁹; True and 10.0 are not whole numbers."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise InputError(
            f"{name} must be a whole number of at least {least}; got {shown(value)} ({type(value).__name__})"
        )
    if value < least:
        raise InputError(f"{name} must be at least {least}; got {shown(value)}")
    if int(value) > MOST:
        raise InputError(f"{name} must be at most {MOST:,}; got {shown(value)}")
    return int(value)


def check_positive(name: str, value: Any, such_as: str) -> float:
    """Return a finite number above 0; True is no number."""
    found = as_number(value)
    if not 0 < found < np.inf:
        raise InputError(f"{name} must be a number above 0, {such_as}; got {shown(value)}")
    return found


def check_level(level: Any) -> float:
    """Return a confidence level in (0, 1)."""
    found = as_number(level)
    if not 0 < found < 1:
        raise InputError(f"level must lie strictly between 0 and 1, such as 0.95; got {shown(level)}")
    return found


def check_bins(bins: Any, strategy: Any) -> None:
    """Refuse a number of bins that is no whole number and no rule, and an unknown strategy."""
    check_choice("strategy", strategy, "width", "mass")
    if isinstance(bins, str):
        if bins not in BIN_RULES:
            raise InputError(f'bins must be a whole number, "cube-root" or "sweep"; got {bins!r}')
    elif check_count("bins", bins) > MOST_BINS:
        raise InputError(f"bins must be at most {MOST_BINS:,}; got {bins}")


def generator(rng: Any) -> np.random.Generator:
    """Return the generator that `rng` (a Generator or a whole number) stands for."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, Integral) and not isinstance(rng, (bool, np.bool_)) and int(rng) >= 0:
        return np.random.default_rng(int(rng))
    raise InputError(
        f"rng must be a numpy Generator or a whole number of at least 0, so that the call can be repeated; "
        f"got {shown(rng)} ({type(rng).__name__})"
    )


def seed_of(rng: Any) -> int:
    """Return the whole number that stands for `rng` in other processes; a Generator gives one and goes on.

    >>> seed_of(7)
    7
    """
    generator(rng)  # refuses what is neither
    return int(rng.integers(2**63)) if isinstance(rng, np.random.Generator) else int(rng)
