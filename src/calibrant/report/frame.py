"""What a page of findings calls things: predictions are audited, sets of points are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Frame(NamedTuple):
    """The words around the findings."""

    title: str
    rows: str  # what is counted
    expected: str  # heading of the values that chance alone would give
    note: str  # what that heading and a p-value mean
    statuses: Mapping[str, tuple[str, str]]  # tone and words of each status of a verdict


AUDIT = Frame(
    "Calibration audit",
    "rows",
    "if calibrated",
    "“If calibrated” is the mean the measurement would have if every prediction were right; a p-value says how often "
    "calibrated predictions would look at least this bad.",
    {
        "miscalibrated": ("bad", "Miscalibrated"),
        "no evidence": ("good", "No evidence of miscalibration"),
        "cannot tell": ("unsure", "Cannot tell"),
    },
)
COMPARISON = Frame(
    "Comparison of samples",
    "points",
    "if of one law",
    "“If of one law” is the mean the measurement would have if all points came from one law; a p-value says how often "
    "such points would look at least this different.",
    {
        "different": ("bad", "Different"),
        "no evidence": ("good", "No evidence of a difference"),
        "cannot tell": ("unsure", "Cannot tell"),
        "no truth": ("unsure", "Nothing to compare with"),
    },
)
MARKS = {"bad": "✗", "good": "✓", "unsure": "?"}


def frame_of(kind: str) -> Frame:
    """Return the words for findings of a kind."""
    return COMPARISON if kind == "points" else AUDIT


def tone_of(kind: str, status: str) -> tuple[str, str]:
    """Return the tone of a status, ``"bad"``, ``"good"`` or ``"unsure"``, and its words."""
    return frame_of(kind).statuses.get(status, ("unsure", status))
