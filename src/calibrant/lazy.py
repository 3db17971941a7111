"""Modules whose names are imported when they are first used.

The stub beside a module (``__init__.pyi`` of a package) lists what it exports, as ``from module import name as name``.
Type checkers and editors read it, and so does `lazy`: there is one list. This is the way of Scientific Python's SPEC 1.
A name that stands in another namespace, or is that of another package, is refused with a pointer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a module that has a stub."""
    known = exported(f"{file.removesuffix('.py')}.pyi")
    names = sorted(known)

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{pointer(name) or _near(name, known)}")
        module, original = known[name]
        if module == package:
            return import_module(f"{package}.{original}")
        found = getattr(import_module(module), original)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:  # without the packages that were imported on the way, which are not public
        return sorted({*names, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return find, listed, names


def _near(name: str, known: dict[str, tuple[str, str]]) -> str:
    from calibrant.errors import did_you_mean

    alike = [other for other in known if other[0].isupper() == name[0].isupper()]  # a class, or a function
    hint = "" if name.startswith("_") else did_you_mean(name, alike, spelled=str)
    return f". {hint}" if hint else ""


def exported(stub: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of everything that a stub exports."""
    known: dict[str, tuple[str, str]] = {}
    with open(stub, encoding="utf-8") as lines:  # noqa: PTH123 (pathlib is slow to import)
        for line in lines:
            if line.startswith("from "):
                _, module, _, name, _, public = line.split()
                known[public] = module, name
    return known


PEERS = {
    "brier_score_loss": "brier_score",
    "log_loss": "log_score",
    "cross_entropy": "log_score",
    "calibration_curve": "reliability_curve",
    "CalibrationDisplay": "reliability_curve",
    "reliability_diagram": "reliability_curve",
    "calibration_error": "ece",
    "expected_calibration_error": "ece",
    "maximum_calibration_error": "mce",
    "CalibratedClassifierCV": "recalibrate",
    "bootstrap": "interval",
    "hosmer_lemeshow": "calibration_test",
    "mean_pinball_loss": "quantile_score",
    "pinball_loss": "quantile_score",
    "winkler_score": "interval_score",
    "crps_ensemble": "crps",
    "regression_coverage_score": "coverage",
    "classification_coverage_score": "coverage",
    "regression_mean_width_score": "width",
    "sbc": "simulate_calibration",
    "Interval": "Intervals",
}
"""What other packages call a verb, and its name here."""


@cache
def homes() -> dict[str, str]:
    """Return the namespace of every public name."""
    from pathlib import Path

    root = Path(__file__).parent
    found: dict[str, str] = {}
    for stub in [*root.glob("*.pyi"), *root.glob("*/__init__.pyi")]:
        folders = stub.relative_to(root.parent).with_suffix("").parts
        found |= dict.fromkeys(exported(str(stub)), ".".join(part for part in folders if part != "__init__"))
    return found


def pointer(name: str) -> str:
    """Say what a name is called here, or where it is; nothing of unknown names.

    >>> pointer("tarp_ranks"), pointer("brier_score_loss"), pointer("elsewhere")
    ('; it is calibrant.ranking.tarp_ranks', '; it is calibrant.brier_score', '')
    """
    name = PEERS.get(name, name)
    return f"; it is {homes()[name]}.{name}" if name in homes() else ""


def import_named(name: str) -> None:
    """Import what has this public name, and with it its entry in the catalogue or its kind of summary."""
    if name in homes():
        getattr(import_module(homes()[name]), name)


def import_all() -> None:
    """Import every public name, and with it every verb and every kind of summary."""
    for name in homes():
        import_named(name)
