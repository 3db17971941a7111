"""Pictures of results: plain arrays in, Matplotlib axes out, and nothing is computed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from calibrant.errors import MissingExtraError

KINDS = ("reliability", "isotonic", "cumulative")


def draw(kind: str, columns: Mapping[str, Any], details: Mapping[str, Any], ax: Any = None) -> Any:
    """Draw one kind of curve and return the axes."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingExtraError("a plot", extra="plot") from None
        ax = plt.subplots(figsize=(5.0, 5.0), layout="constrained")[1]
    import_module(f"calibrant.plots.{kind}").draw(ax, columns, details)
    return ax
