"""NPZ: arrays saved by NumPy, as columns; an array P of shape (n, K) becomes the columns P_0 to P_{K-1}.

Where lists of numbers are wanted, an array of two or three axes is also a column of its own.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrant.errors import InputError, shown
from calibrant.files.lazy_libraries import pl

SUSPICIOUS_BYTES = 1 << 30  # more of them are read only if they were not packed
SUSPICIOUS_RATIO = 100  # times as many bytes as are packed
NPY_MAGIC = b"\x93NUMPY"  # of an NPY file


def schema(path: Path) -> dict[str, pl.DataType]:
    return {name: pl.Series(column).dtype for name, column in _columns(path, read_arrays(path, rows=False)).items()}


def list_schema(path: Path) -> dict[str, pl.DataType]:
    return {name: pl.Series(array).dtype for name, array in _lists(read_arrays(path, rows=False)).items()}


def scan(path: Path, names: Sequence[str] | None) -> pl.LazyFrame:
    """Return these columns, or those of the longest arrays, so that a short list of class names is not a column."""
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
    """Return the arrays of numbers with two or three axes, as floats of a type that polars has."""
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
        raise InputError(
            f"{path} contains no arrays of one or two dimensions; save them with numpy.savez(path, y=y, p=p)"
        )
    return columns


def read_arrays(path: Path, *, rows: bool = True) -> dict[str, Any]:
    """Read the arrays, or without `rows` their headers, as arrays without rows; pickled objects are never loaded."""
    import numpy as np

    try:
        _check_size(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] if rows else _without_rows(archive, name) for name in archive.files}
    except TypeError as problem:  # what numpy.save writes is not an archive
        raise InputError(f"{path} cannot be read as NPZ: it is NPY, one array without a name") from problem
    except (zipfile.BadZipFile, EOFError, ValueError, KeyError, AttributeError) as problem:
        why = "it contains Python objects, which are not loaded" if "pickle" in str(problem).lower() else str(problem)
        raise InputError(f"{path} cannot be read as NPZ: {why}. Save plain arrays with numpy.savez") from problem


def _without_rows(archive: Any, name: str) -> Any:
    """Return an array of the type and shape that the header tells, but for the rows."""
    import numpy as np

    entry = name if name in archive.zip.namelist() else f"{name}.npy"
    with archive.zip.open(entry) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            return archive[name][:0]
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject:
        raise ValueError("pickled objects are not loaded")
    return np.empty((0, *shape[1:]) if shape else (), dtype)


def _check_size(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    packed = path.stat().st_size
    if size > SUSPICIOUS_BYTES and size > SUSPICIOUS_RATIO * packed:
        raise InputError(
            f"{path} has {packed / 1e6:,.3g} MB and would need {size / 1e9:,.3g} GB of memory. If that is right, save "
            "it with numpy.savez, which does not pack, or as Parquet"
        )


def read_npy(path: Path) -> Any:
    """Read the one array of an NPY file."""
    import numpy as np

    with path.open("rb") as file:
        if file.read(len(NPY_MAGIC)) != NPY_MAGIC:
            raise InputError(f"{path} cannot be read as NPY: it does not begin like one. Save it with numpy.save")
        file.seek(0)
        try:
            return np.load(file, allow_pickle=False)
        except (EOFError, ValueError) as problem:
            why = "it contains Python objects, which are not loaded" if "allow_pickle" in str(problem) else str(problem)
            raise InputError(f"{path} cannot be read as NPY: {why.rstrip('.')}. Save it with numpy.save") from problem
