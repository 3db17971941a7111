"""A place of a figure whose values can be asked for."""

from __future__ import annotations

from typing import NamedTuple


class Mark(NamedTuple):
    """Where it is, in the units of the axes, and its values in words."""

    x: float
    y: float
    text: str
