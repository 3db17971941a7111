"""Packages whose names are imported when they are first used.

The stub ``__init__.pyi`` beside a package lists what it exports, as ``from module import name as name``. Type checkers
and editors read it, and so does `lazy`: there is one list. This is the way of Scientific Python's SPEC 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LINE = re.compile(r"^from (?P<module>[\w.]+) import (?P<name>\w+) as (?P<public>\w+)$", re.MULTILINE)


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package that has a stub."""
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    known = {line["public"]: (line["module"], line["name"]) for line in LINE.finditer(stub)}
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

    return find, lambda: sorted({*vars(sys.modules[package]), *names}), names
