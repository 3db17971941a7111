"""Polars and PyArrow, imported when they are first used: a module that reads files can be imported without them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
else:

    class _Lazy:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    pl, pa = _Lazy("polars"), _Lazy("pyarrow")

__all__ = ["pa", "pl"]
