"""NPZ: arrays saved by NumPy, as columns; an array P of shape (n, K) becomes the columns P_0 to P_{K-1}.

Where lists of numbers are wanted, an array of two or three axes is also a column of its own.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl


def schema(path: Path) -> dict[str, pl.DataType]:
    """Return the type of each column, of whatever length."""
    import polars as pl

    return {name: pl.Series(column[:0]).dtype for name, column in _columns(path, read_arrays(path)).items()}


def list_schema(path: Path) -> dict[str, pl.DataType]:
    """Return the type of each array of two or three axes, as a column of lists."""
    import polars as pl

    return {name: pl.Series(array[:0]).dtype for name, array in _lists(read_arrays(path)).items()}


def scan(path: Path, names: Sequence[str] | None) -> pl.LazyFrame:
    """Return these columns, or those of the longest arrays, so that a short list of class names is no column."""
    import polars as pl

    arrays = read_arrays(path)
    columns = {**_lists(arrays), **_columns(path, arrays)}
    longest = max(map(len, columns.values()))
    chosen = {n: c for n, c in columns.items() if (len(c) == longest if names is None else n in names)}
    for name, column in chosen.items():
        first = next(iter(chosen))
        if len(column) != len(chosen[first]):
            raise InputError(
                f"{path} has {len(chosen[first]):,} rows of {shown(first)} and {len(column):,} of {shown(name)}; "
                "save arrays of one length, rows first"
            )
    return pl.LazyFrame([pl.Series(name, column) for name, column in chosen.items()])


def levels(path: Path) -> tuple[str, list[float]]:
    """Return the name and the numbers of the array of nominal levels, if there is one."""
    arrays = read_arrays(path)
    name = next((name for name in ("levels", "level") if name in arrays), "")
    if not name or arrays[name].ndim > 1 or arrays[name].dtype.kind not in "iuf":
        return "", []
    return name, arrays[name].reshape(-1).astype("float64").tolist()


def _lists(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of numbers with two or three axes, as floats that polars knows."""
    found = {name: array for name, array in arrays.items() if array.ndim in (2, 3) and array.dtype.kind in "iuf"}
    return {name: array.astype("f4" if array.dtype.str[1:] in ("f2", "f4") else "f8") for name, array in found.items()}


def _columns(path: Path, arrays: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        parts = {name: array} if array.ndim == 1 else {}
        if array.ndim == 2:
            parts = {f"{name}_{k}": array[:, k] for k in range(array.shape[1])}
        for part, values in parts.items():
            if part in columns:
                raise InputError(f"{path} has two arrays that give a column {shown(part)}; rename one of them")
            columns[part] = values
    if not columns:
        raise InputError(f"{path} holds no arrays of one or two dimensions; save them with numpy.savez(path, y=y, p=p)")
    return columns


def read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays; pickled objects are never loaded."""
    import numpy as np

    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except TypeError as problem:  # what numpy.save writes is no archive
        raise InputError(f"{path} cannot be read as NPZ: it is NPY, one array without a name") from problem
    except (zipfile.BadZipFile, EOFError, ValueError, KeyError, AttributeError) as problem:
        why = "it holds Python objects, which are not loaded" if "pickle" in str(problem).lower() else str(problem)
        raise InputError(f"{path} cannot be read as NPZ: {why}. Save plain arrays with numpy.savez") from problem
