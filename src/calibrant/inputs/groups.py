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
    found = [_coded(name, column, n, keep) for name, column in columns.items()]
    crossed = [_crossed(a, b) for a, b in combinations(found, 2)] if intersections == 2 else []
    return [*found, *crossed]


def _columns(groups: Any) -> dict[str, Any]:
    if isinstance(groups, Mapping):
        pairs = list(groups.items())
    elif hasattr(groups, "columns") and not isinstance(groups, np.ndarray):
        pairs = _columns_of_frame(groups)
    else:
        pairs = [(getattr(groups, "name", None) or "group", groups)]
    columns = {str(name): column for name, column in pairs}
    if not columns:
        raise InputError("groups has no columns; expected an array of labels, or a mapping from names to such arrays")
    if len(columns) < len(pairs):
        raise InputError(f"the columns of groups must have different names; got {[str(name) for name, _ in pairs]}")
    return columns


def _columns_of_frame(groups: Any) -> list[tuple[Any, Any]]:
    import narwhals as nw

    try:
        frame = nw.from_native(groups, eager_only=True)
        return [(name, frame.get_column(name).to_native()) for name in frame.columns]
    except Exception as problem:  # each library raises errors of its own
        raise InputError(f"groups is not a data frame that can be read: {problem}") from None


def _coded(name: str, column: Any, n: int, keep: NDArray[np.bool_] | None) -> Grouping:
    labels = as_array(column, name=f"groups ({name})")
    if labels.ndim != 1 or labels.shape[0] != n:
        raise InputError(f"groups must have one label per row: expected {n} rows, got shape {labels.shape} for {name}")
    labels = labels if keep is None else labels[keep]
    if labels.dtype.kind in "OUSfmM":
        values, code = np.unique(np.array(_texts(labels), dtype=object), return_inverse=True)
    else:
        values, code = np.unique(labels, return_inverse=True)
    return Grouping(code.astype(np.intp), [f"{name} = {value}" for value in values.tolist()])


def _texts(labels: NDArray[Any]) -> list[str]:
    """Return labels as texts, different ones as different texts."""
    if labels.dtype.kind in "mM":
        return [MISSING if text == "NaT" else text for text in labels.astype(str).tolist()]
    values = (labels + 0.0 if labels.dtype.kind == "f" else labels).tolist()  # -0.0 is 0.0
    texts = [MISSING if is_missing(value) else str(value) for value in values]
    kinds = {(text, isinstance(value, str)) for text, value in zip(texts, values, strict=True)}
    if len(kinds) == len(set(texts)):
        return texts
    return [MISSING if is_missing(value) else repr(value) for value in values]  # 1 and "1" are two labels


def _crossed(a: Grouping, b: Grouping) -> Grouping:
    """Return the groups of pairs of labels that occur."""
    pairs, code = np.unique(a.code * len(b.names) + b.code, return_inverse=True)
    names = [f"{a.names[pair // len(b.names)]}, {b.names[pair % len(b.names)]}" for pair in pairs.tolist()]
    return Grouping(code.astype(np.intp), names)
