"""Which sections an audit of a kind of prediction has: each kind adds its own here and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant.results import Section, Verdict


@dataclass(frozen=True)
class Setting:
    """What every section gets to know besides the rows."""

    level: float
    resamples: int
    rng: np.random.Generator
    class_names: tuple[str, ...] = ()
    families: int = 1  # of tests that the verdict rests on: the rows, the classes, the groups


@dataclass(frozen=True)
class Part:
    """What a kind of prediction contributes: its sections, its verdict and its caveats."""

    sections: tuple[Section, ...]
    verdict: Verdict
    caveats: tuple[str, ...] = field(default=())


SECTIONS: dict[type, Callable[[Any, Setting], Part]] = {}
"""The function from checked rows to their part of the audit, by the type of the rows."""


def audits(kind: type) -> Callable[[Callable[[Any, Setting], Part]], Callable[[Any, Setting], Part]]:
    """Enter the function that audits rows of a type."""

    def enter(function: Callable[[Any, Setting], Part]) -> Callable[[Any, Setting], Part]:
        SECTIONS[kind] = function
        return function

    return enter
