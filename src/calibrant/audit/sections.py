"""Which sections an audit of a kind of prediction has: each kind adds its own here and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from calibrant.inputs.groups import Grouping
from calibrant.inputs.weights import FloatArray
from calibrant.results import Section, Table, Verdict


@dataclass(frozen=True)
class Setting:
    """What every section gets to know besides the rows."""

    level: float
    resamples: int
    rng: np.random.Generator
    class_names: tuple[str, ...] = ()
    families: int = 1  # of tests that the verdict rests on, such as the rows, the classes, the groups
    calibration_size: int | None = None  # scores behind split-conformal predictions
    columns: tuple[str, ...] = ()  # names of the coordinates of vectors
    covariates: FloatArray | None = None  # (n, q), what draws were made from
    log_density_y: FloatArray | None = None  # (n,), what the law of the draws says of the outcomes


@dataclass(frozen=True)
class Part:
    """What a kind of prediction contributes: its sections, its verdict and its caveats."""

    sections: tuple[Section, ...]
    verdict: Verdict
    caveats: tuple[str, ...] = field(default=())


class Grouped(NamedTuple):
    """The table of groups, and in a few words how each tested group is off."""

    table: Table
    how: Mapping[str, str]


Sections = Callable[[Any, Setting], Part]
Groups = Callable[[Any, list[Grouping], Setting], Grouped]


class Kind(NamedTuple):
    """How a kind of prediction is audited.

    `sections` makes its part of the audit, `groups` looks at groups of rows, and `families` is the number of families
    of tests that its verdict rests on, groups not counted.
    """

    sections: Sections
    groups: Groups
    families: int


SECTIONS: dict[type, Kind] = {}
"""How rows are audited, by their type."""


def audits(kind: type, *, groups: Groups, families: int = 1) -> Callable[[Sections], Sections]:
    """Enter the function that audits rows of a type."""

    def enter(function: Sections) -> Sections:
        SECTIONS[kind] = Kind(function, groups, families)
        return function

    return enter
