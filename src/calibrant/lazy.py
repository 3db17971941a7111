"""Modules whose names are imported when they are first used.

The stub beside a module (``__init__.pyi`` of a package) lists what it exports, as ``from module import name as name``.
Type checkers and editors read it, and so does `lazy`: there is one list. This is the way of Scientific Python's SPEC 1.
A name that stands in another namespace is refused with a pointer to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
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


def pointer(name: str) -> str:
    """Say in which namespace a public name stands; nothing of other names.

    >>> pointer("tarp_ranks")
    '; it is calibrant.ranking.tarp_ranks'
    """
    if name.startswith("_"):
        return ""
    from pathlib import Path

    root = Path(__file__).parent
    for stub in [*sorted(root.glob("*.pyi")), *sorted(root.glob("*/__init__.pyi"))]:
        if name in exported(str(stub)):
            folders = stub.relative_to(root.parent).with_suffix("").parts
            return f"; it is {'.'.join(part for part in (*folders, name) if part != '__init__')}"
    return ""
