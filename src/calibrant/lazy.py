"""Packages whose names are imported when they are first used.

The stub ``__init__.pyi`` beside a package lists what it exports, as ``from module import name as name``. Type checkers
and editors read it, and so does `lazy`: there is one list. This is the way of Scientific Python's SPEC 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package that has a stub."""
    known: dict[str, tuple[str, str]] = {}
    with open(f"{file.removesuffix('.py')}.pyi", encoding="utf-8") as stub:  # noqa: PTH123 (pathlib is slow to import)
        for line in stub:
            if line.startswith("from "):
                _, module, _, name, _, public = line.split()
                known[public] = module, name
    names = sorted(known)

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = known[name]
        if module == package:
            return import_module(f"{package}.{original}")
        found = getattr(import_module(module), original)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:  # without the packages that were imported on the way, which are not public
        return sorted({*names, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return find, listed, names
