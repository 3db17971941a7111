"""Labels that put rows into groups."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.containers import as_array, is_missing

MISSING = "(missing)"


class Grouping(NamedTuple):
    """Rows put into disjoint groups: the number of each row's group, and the groups' names."""

    code: NDArray[np.intp]
    names: list[str]


def read_groups(groups: Any, n: int, *, intersections: int, keep: NDArray[np.bool_] | None) -> list[Grouping]:
    """Return one grouping per column of labels, and one per pair of columns if `intersections` is 2.

    `groups` is an array of labels, or a mapping (a data frame too) from names to such arrays. `keep` marks the rows
    that stayed at the boundary.
    """
    columns = _columns(groups)
    found = {name: _coded(name, column, n, keep) for name, column in columns.items()}
    if intersections == 2:
        found |= {f"{a}, {b}": _crossed(found[a], found[b]) for a, b in combinations(list(found), 2)}
    return list(found.values())


def _columns(groups: Any) -> dict[str, Any]:
    if isinstance(groups, Mapping):
        columns = {str(name): column for name, column in groups.items()}
    elif hasattr(groups, "columns") and not isinstance(groups, np.ndarray):
        import narwhals as nw

        frame = nw.from_native(groups, eager_only=True)
        columns = {name: frame[name] for name in frame.columns}
    else:
        columns = {"group": groups}
    if not columns:
        raise InputError("groups has no columns; expected an array of labels, or a mapping from names to such arrays")
    return columns


def _coded(name: str, column: Any, n: int, keep: NDArray[np.bool_] | None) -> Grouping:
    labels = as_array(column.to_native() if hasattr(column, "to_native") else column, name=f"groups ({name})")
    if labels.ndim != 1 or labels.shape[0] != n:
        raise InputError(f"groups must have one label per row: expected {n} rows, got shape {labels.shape} for {name}")
    labels = labels if keep is None else labels[keep]
    if labels.dtype.kind in "OUS" or labels.dtype.kind == "f":
        texts = np.array([MISSING if is_missing(label) else str(label) for label in labels.tolist()], dtype=object)
        values, code = np.unique(texts.astype(str), return_inverse=True)
    else:
        values, code = np.unique(labels, return_inverse=True)
    return Grouping(code.astype(np.intp), [f"{name} = {value}" for value in values.tolist()])


def _crossed(a: Grouping, b: Grouping) -> Grouping:
    """Return the groups of pairs of labels that occur."""
    pairs, code = np.unique(a.code * len(b.names) + b.code, return_inverse=True)
    names = [f"{a.names[pair // len(b.names)]}, {b.names[pair % len(b.names)]}" for pair in pairs.tolist()]
    return Grouping(code.astype(np.intp), names)
