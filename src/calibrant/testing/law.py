"""What a law is, and the register of all laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.testing.subjects import Subject

Check = Callable[[Subject, np.random.Generator], None]

LAWS: dict[str, Distribution] = {}
"""Every law by its name."""


@dataclass(frozen=True)
class Distribution:
    """A law: calling it raises an `AssertionError` that says which number broke it.

    `applies` tells whether it says anything about a subject.
    """

    name: str
    check: Check
    applies: Callable[[Subject], bool]

    def __call__(self, subject: Subject, rng: np.random.Generator) -> None:
        """Check the law."""
        self.check(subject, rng)


def law(applies: Callable[[Subject], bool] = lambda subject: True) -> Callable[[Check], Check]:
    """Enter a law, and for which subjects it holds."""

    def enter(check: Check) -> Check:
        name = check.__name__.replace("_", " ")
        LAWS[name] = Distribution(name, check, applies)
        return check

    return enter


def same(subject: Subject, ours: Any, expected: Any, why: str, *, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """Assert that two sets of numbers agree."""
    np.testing.assert_allclose(ours, expected, rtol=rtol, atol=atol, err_msg=f"{subject.entry.name}: {why}")
