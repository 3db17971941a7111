"""Claims: what an audit says, as values with limits.

Sentences, marks in tables, JSON and the conditions of `calibrant check` are made from claims. A claim can be
compared with the truth where it is known; `benchmarks/validity/claims.py` counts how often claims are false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from calibrant.core.evidence import Subject

Status: TypeAlias = Literal["miscalibrated", "within", "cannot tell"]
"""The outcomes of a verdict on predictions."""

Difference: TypeAlias = Literal["below", "above", "different", "collapse"]
Benefit: TypeAlias = Literal["informative", "no-better", "worse", "gain", "harm"]
ClaimKind: TypeAlias = Status | Literal["limits", "description"] | Difference | Benefit
"""What a claim says beside its limits: an outcome, nothing more, on which side of `expected` the quantity is, whether
predictions have skill: above 0, below the tolerance, below 0; or what a recalibration map does: gain or harm."""

USUAL_TOLERANCES = (0.01, 0.02, 0.05)  # where the user gives none
ROUNDING = 1e-12  # a true value this close to what calibration gives is equal to it


@dataclass(frozen=True)
class Claim:
    """One thing that an audit says about one quantity of some rows.

    Claims of a page that have the same `level` are meant to be true together with at least this probability; those on
    skill, another question than calibration, have a higher one. `benchmarks/validity/claims.py` counts how often all
    claims of a page are true. A claim without a level is a description: it reports what was seen in these rows and says
    nothing about others.
    """

    kind: ClaimKind
    subject: Subject  # which rows or predictions
    quantity: str  # what is estimated: "cutoff_error", "coverage", "frequency"
    estimate: float
    low: float = math.nan  # confidence limits of the quantity; NaN without
    high: float = math.nan
    level: float | None = None
    rows: int = 0
    expected: float = 0.0  # the value of the quantity if the predictions are calibrated
    tolerance: float | None = None  # largest distance from `expected` that is accepted
    test: str = ""  # which test rejects, or what the limits rest on
    pvalue: float | None = None  # adjusted for everything that was tested
    row_numbers: tuple[int, ...] = ()  # the rows it is about, if it names them, counted from 0
    unit: float = 1.0  # error that words write as 100 %; all other fields are in the unit of the quantity
    share_of: str = ""  # what that is, such as "the predicted events"; empty: errors are in percentage points
    never: float | None = None  # this error if the event never happened, where it is rare and errors are in points
    at_floor: bool = False  # whether resampling can give no smaller p-value

    def is_false(self, truth: float) -> bool:
        """Tell whether the claim is false if the true value of its quantity is `truth`."""
        if self.level is None or self.kind == "description":
            return False
        if truth < self.low - ROUNDING or truth > self.high + ROUNDING:  # false for NaN
            return True
        error = abs(truth - self.expected)
        match self.kind:
            case "miscalibrated" | "different":
                return error <= max(self.tolerance or 0.0, ROUNDING)
            case "within":
                return self.tolerance is not None and error > self.tolerance + ROUNDING
            case "below" | "collapse" | "worse" | "harm":
                return truth >= self.expected - ROUNDING
            case "above" | "informative" | "gain":
                return truth <= self.expected + ROUNDING
            case "no-better":
                return self.tolerance is not None and truth > self.tolerance + ROUNDING
            case _:
                return False


@dataclass(frozen=True)
class Outcome:
    """One of the three outcomes, and the tolerance that it is about; None if it is about none."""

    status: Status
    tolerance: float | None = None


def outcome(
    low: float, high: float, *, rejected: bool, tolerance: float | None, usual: Sequence[float] = USUAL_TOLERANCES
) -> Outcome:
    """Return the outcome that a test of calibration and the limits of the error, NaN if there are none, support.

    `tolerance` is the largest acceptable error. Without it the smallest `usual` one that the limits support is taken:
    an error that a test detects is then within the smallest of them, which is negligible, and miscalibrated beyond.

    >>> outcome(0.03, 0.06, rejected=True, tolerance=0.02).status
    'miscalibrated'
    >>> outcome(0.0, 0.015, rejected=False, tolerance=0.02).status
    'within'
    >>> outcome(0.01, 0.03, rejected=True, tolerance=0.02).status
    'cannot tell'
    >>> outcome(0.0, 0.015, rejected=False, tolerance=None)
    Outcome(status='within', tolerance=0.02)
    >>> outcome(0.001, 0.002, rejected=True, tolerance=None), outcome(0.01, 0.03, rejected=True, tolerance=None).status
    (Outcome(status='within', tolerance=0.01), 'miscalibrated')
    """
    if tolerance is not None:
        if high <= tolerance:
            return Outcome("within", tolerance)
        return Outcome("miscalibrated" if rejected and low > tolerance else "cannot tell", tolerance)
    supported = [usual_one for usual_one in usual if high <= usual_one]
    if supported and (not rejected or supported[0] == usual[0]):
        return Outcome("within", supported[0])
    return Outcome("miscalibrated" if rejected else "cannot tell")
