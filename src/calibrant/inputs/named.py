"""Names of coordinates: from the columns of frames, and from mappings and trees of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import FRAMES, read_numbers

Names = tuple[str, ...]


def named_columns(values: Any, called: str) -> list[tuple[str, Any]] | None:
    """Return the columns of a mapping or a data frame with their names; None for any other container."""
    if isinstance(values, Mapping):
        return [(str(name), column) for name, column in values.items()]
    if not hasattr(type(values), "columns") or isinstance(values, np.ndarray):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(values, eager_only=True)
        return [(str(name), frame.get_column(name).to_native()) for name in frame.columns]
    except Exception as problem:  # every library has its own errors
        raise InputError(f"{called} not a data frame that can be read: {problem}") from None


def element_names(name: str, labels: Sequence[Iterable[Any]]) -> list[str]:
    """Return a name for each number of a variable, from the labels along each of its axes.

    >>> element_names("mu", []), element_names("theta", [["a", "b"], range(2)])
    (['mu'], ['theta[a, 0]', 'theta[a, 1]', 'theta[b, 0]', 'theta[b, 1]'])
    """
    if not labels:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in product(*labels)]


def column_labels(values: Any) -> Names | None:
    """Return the names of the columns of a frame; None for every other container."""
    package = type(values).__module__.partition(".")[0]
    if package not in FRAMES or getattr(values, "ndim", 2) != 2:
        return None
    names = getattr(values, "column_names", None) if package == "pyarrow" else getattr(values, "columns", None)
    return None if names is None else tuple(str(name) for name in names)


def flattened(values: Mapping[Any, Any], what: str, *, axes: int) -> tuple[NDArray[Any], Names]:
    """Return the arrays of a mapping side by side, and a name for each number; a tree is a mapping of mappings.

    The first `axes` axes of all arrays are the same, such as rows and draws; what remains is flattened.

    >>> array, names = flattened({"a": [1.0, 2.0], "b": {"c": [[3.0, 4.0], [5.0, 6.0]]}}, "y", axes=1)
    >>> array.tolist(), names
    ([[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]], ('a', 'b.c[0]', 'b.c[1]'))
    """
    found = [(name, _array(value, f"{what}[{name!r}]", axes)) for name, value in _leaves(values, what, "")]
    if not found:
        raise InputError(f"{what} is a mapping without entries; at least one array is needed")
    first, (lead, names) = found[0][0], (found[0][1].shape[:axes], list[str]())
    for name, array in found:
        if array.shape[:axes] != lead:
            raise InputError(
                f"all arrays of {what} must have the same first {'axis' if axes == 1 else f'{axes} axes'}; "
                f"{shown(first)} has {lead} and {shown(name)} {array.shape[:axes]}"
            )
        names += element_names(name, [range(size) for size in array.shape[axes:]])
    if len(set(names)) != len(names):
        raise InputError(f"the names of {what} must be different; got {', '.join(map(shown, names[:12]))}")
    return np.concatenate([array.reshape(*lead, -1) for _, array in found], axis=-1), tuple(names)


def _leaves(values: Mapping[Any, Any], what: str, before: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if not isinstance(key, str):
            raise InputError(f"{what} must map names to arrays; got the name {shown(key)} ({type(key).__name__})")
        if isinstance(value, Mapping):
            yield from _leaves(value, what, f"{before}{key}.")
        else:
            yield before + key, value


def _array(value: Any, name: str, axes: int) -> NDArray[Any]:
    array = read_numbers(value, name)
    if array.ndim < axes:
        raise InputError(f"{name} must have at least {axes} axes; got shape {array.shape}")
    return array


def read_coordinate_names(names: Any, D: int, option: str = "names") -> Names:
    given = [names] if isinstance(names, str) else names
    ordered = hasattr(given, "__iter__") and not isinstance(given, (Mapping, Set, bytes)) and np.ndim(given) == 1
    found = tuple(given) if ordered else ()
    labels = all(isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in found)
    found = tuple(map(str, found))
    if len(found) != D or len(set(found)) != D or not labels:
        raise InputError(f"{option} must be {D} different names, one per coordinate; got {shown(names)}")
    return found


def same_names(of_outcomes: Names | None, of_draws: Names | None) -> Names | None:
    """Return the names of coordinates that outcomes or predictions bring; refuse those that differ."""
    if of_outcomes is not None and of_draws is not None and of_outcomes != of_draws:
        raise InputError(
            f"the coordinates of y are called {', '.join(of_outcomes[:12])}, those of the prediction "
            f"{', '.join(of_draws[:12])}; put both in one order and call them alike"
        )
    return of_draws if of_outcomes is None else of_outcomes
