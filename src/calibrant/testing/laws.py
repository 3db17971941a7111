"""Whether a verb obeys the laws of measurements."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from calibrant.core.catalogue import find
from calibrant.errors import InputError
from calibrant.testing import input_laws, row_laws, value_laws  # noqa: F401  # which enter their laws
from calibrant.testing.data import DATA, names_of
from calibrant.testing.law import LAWS
from calibrant.testing.subjects import Subject

__all__ = ["check_verb"]


def check_verb(
    verb: Any,
    *,
    data: Collection[str] | None = None,
    equal_weights: bool = False,
    exempt: Collection[str] = (),
    n: int = 210,
    seed: int = 0,
    **options: Any,
) -> None:
    """Check a verb of the catalogue, with these options, against every law.

    Parameters
    ----------
    verb
        A function made by `calibrant.catalogue.metric`, `mean_metric`, `calibration_test` or `curve`, or its name.
    data
        Names of the data to check on, of `calibrant.testing.DATA`; default: all of the kinds that the verb judges.
    equal_weights
        Whether the verb refuses weights that are not all equal.
    exempt
        Names of laws that do not apply with these options.
    n
        Number of rows of the data, at most 2,000.
    seed
        Seed of the small data sets.
    **options
        Options of the verb. One with a value for every row is given as a `PerRow`, which holds the values to draw from.

    Raises
    ------
    AssertionError
        If a law does not hold.
    KeyError
        If there are no data of a kind that the verb judges.
    """
    for given, known, what in ((exempt, LAWS, "exempt names laws"), (data or (), DATA, "data are named")):
        unknown = set(given) - set(known)
        if unknown:
            raise InputError(f"{what}; {sorted(unknown)} are none of {sorted(known)}")
    entry = find(verb)
    names = [name for kind in entry.predictions for name in names_of(kind)] if data is None else data
    for subject in (Subject(entry, name, options, equal_weights, n) for name in names):
        for law in LAWS.values():
            if law.name in exempt or not law.applies(subject):
                continue
            try:
                law(subject, np.random.default_rng(seed))
            except AssertionError as problem:
                raise AssertionError(f"the law {law.name!r} does not hold: {problem}") from None
