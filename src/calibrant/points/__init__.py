"""Comparing sets of points: samples of a generative model with real data, or two samples with each other.

Points are plain arrays (n, d), the real ones first: ``cb.points.mmd(y, points)``. `compare` takes every look at once
and says in words what differs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.points.balls import DensityCoverage, Relabelled, density_coverage
    from calibrant.points.blocks import PointBlocks
    from calibrant.points.classifier_test import c2st
    from calibrant.points.comparison import compare
    from calibrant.points.discrepancy import kernel_distance, mmd
    from calibrant.points.discrepancy_test import mmd_test
    from calibrant.points.frechet import frechet_distance
    from calibrant.points.moments import PointMoments
    from calibrant.points.vendi import vendi_score

__all__ = [
    "DensityCoverage",
    "PointBlocks",
    "PointMoments",
    "Relabelled",
    "c2st",
    "compare",
    "density_coverage",
    "frechet_distance",
    "kernel_distance",
    "mmd",
    "mmd_test",
    "vendi_score",
]

# No module has the name of a verb: importing it would put the module where the verb stands.
MODULES = {
    "DensityCoverage": "balls",
    "PointBlocks": "blocks",
    "PointMoments": "moments",
    "Relabelled": "balls",
    "c2st": "classifier_test",
    "compare": "comparison",
    "density_coverage": "balls",
    "frechet_distance": "frechet",
    "kernel_distance": "discrepancy",
    "mmd": "discrepancy",
    "mmd_test": "discrepancy_test",
    "vendi_score": "vendi",
}


if not TYPE_CHECKING:  # a type checker then reports names that do not exist

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
