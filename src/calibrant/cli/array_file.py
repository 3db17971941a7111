"""Arrays saved by NumPy that hold points (n, d): the array of an NPY file, or one of an NPZ file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, did_you_mean, shown
from calibrant.files.npz_file import read_arrays
from calibrant.files.table_file import format_of

NUMBERS = "iuf"  # kinds of arrays that hold numbers
START = b"\x93NUMPY"


@dataclass(frozen=True)
class ArrayFile:
    """An NPY or NPZ file, and which array of the latter is meant, if it was said."""

    path: Path
    format: str
    name: str | None = None

    def read(self) -> NDArray[Any]:
        """Return the points; pickled objects are never loaded."""
        if self.format == "npy":
            return _checked(_read_npy(self.path), f"{self.path}")
        arrays = read_arrays(self.path)
        name = _only(arrays, self.path) if self.name is None else self.name
        if name not in arrays:
            hint = did_you_mean(name, arrays) or f"It has {_listed(arrays)}"
            raise InputError(f"{self.path} has no array {shown(name)} (--array). {hint}")
        return _checked(arrays[name], f"array {shown(name)} of {self.path}")


def array_format(path: Path, format: str | None) -> str | None:
    """Return ``"npy"`` or ``"npz"`` if the file is said, or by its name seems, to hold arrays."""
    named = "npy" if path.suffix.lower() == ".npy" else format_of(path)
    chosen = format or named
    return chosen if chosen in ("npy", "npz") else None


def _read_npy(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        if file.read(len(START)) != START:
            raise InputError(f"{path} cannot be read as NPY: it does not begin like one. Save it with numpy.save")
        file.seek(0)
        try:
            array: NDArray[Any] = np.load(file, allow_pickle=False)
        except (EOFError, ValueError) as problem:
            why = "it holds Python objects, which are not loaded" if "allow_pickle" in str(problem) else str(problem)
            raise InputError(f"{path} cannot be read as NPY: {why.rstrip('.')}. Save it with numpy.save") from problem
    return array


def _only(arrays: Mapping[str, NDArray[Any]], path: Path) -> str:
    """Return the name of the only array that could be points."""
    found = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in NUMBERS}
    if not found:
        raise InputError(
            f"{path} holds no array (n, d) of numbers; it has {_listed(arrays)}. "
            "Save the points with numpy.savez(path, points=points)"
        )
    if len(found) > 1:
        raise InputError(
            f"{path} holds {len(found)} arrays that could be the points, {_listed(found)}. "
            f"Say which one, such as --array {next(iter(found))}"
        )
    return next(iter(found))


def _listed(arrays: Mapping[str, NDArray[Any]], most: int = 6) -> str:
    listed = ", ".join(f"{shown(name)} {array.shape}" for name, array in list(arrays.items())[:most])
    return (listed if len(arrays) <= most else f"{listed} and {len(arrays) - most:,} more") or "none at all"


def _checked(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Refuse what is no set of points, and numbers that are missing or infinite."""
    if array.ndim != 2:
        remedies = {0: "Save one row for each point", 1: "For points on a line save array[:, None]"}
        remedy = remedies.get(array.ndim, "For pictures save features of them, or array.reshape(len(array), -1)")
        raise InputError(f"{what} must hold points (n, d), one row each; its shape is {array.shape}. {remedy}")
    if array.dtype.kind not in NUMBERS:
        raise InputError(f"{what} must hold numbers; it holds values of type {array.dtype}. Save it as numbers")
    if array.size == 0:
        raise InputError(f"{what} has nothing to measure: its shape is {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        row, column = np.unravel_index(finite.argmin(), array.shape)
        raise InputError(
            f"{what} must hold finite numbers; row {row}, column {column} (counted from 0) is {array[row, column]}, "
            f"and {array.size - finite.sum() - 1:,} more are not finite. Repair or leave out such rows"
        )
    return array
