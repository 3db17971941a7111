"""Arrays with named axes, such as those of xarray, told by `dims` and `coords` and never imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import NUMBERS
from calibrant.integrations.draws.drawn import numbers

SAMPLE_AXES = ("chain", "draw", "sample")  # arviz.extract joins the first two into the third


class Labelled(NamedTuple):
    """Numbers in cases and draws: of shape (n, M, *shape), and what stands along the axes of one value."""

    values: NDArray[Any]
    axes: tuple[str, ...]
    labels: tuple[Sequence[Any] | None, ...]  # along each axis of one value; None: not told
    cases: Sequence[Any] | None  # labels of the cases, if they have any


def is_labelled(array: Any) -> bool:
    """Tell whether an array names its axes."""
    return hasattr(array, "dims") and hasattr(array, "coords") and not hasattr(array, "data_vars")


def variables_of(data: Any) -> Mapping[str, Any] | None:
    """Return the variables of a group by name; None of what is no group, or an empty one."""
    if is_labelled(data):
        return {str(data.name): data} if data.name is not None else None
    held = getattr(data, "data_vars", None)
    return {str(name): held[name] for name in held} if held is not None and len(held) else None


def read_draws(array: Any, name: str, case: str | None) -> Labelled:
    """Return the draws of a variable; chains follow one another."""
    axes = tuple(map(str, array.dims))
    joined = [axis for axis in SAMPLE_AXES if axis in axes]
    if "draw" not in joined and "sample" not in joined:
        raise InputError(
            f"the variable {shown(name)} must have a dimension 'draw' (and perhaps 'chain'), or 'sample'; "
            f"it has {_spelled(array)}"
        )
    if case is not None and case not in axes:
        raise InputError(f"the variable {shown(name)} has no dimension {shown(case)} (case=); it has {_spelled(array)}")
    first = [case] if case is not None else []
    rest = tuple(axis for axis in axes if axis not in (*joined, *first))
    values = _ordered(array, name, (*first, *joined, *rest))
    n, shape = len(values) if first else 1, values.shape[len(first) + len(joined) :]
    return Labelled(
        values.reshape(n, -1, *shape),
        rest,
        tuple(_labels(array, axis) for axis in rest),
        _labels(array, case) if case is not None else None,
    )


def read_truth(array: Any, name: str, drawn: Labelled, case: str | None) -> NDArray[Any]:
    """Return the true values of a variable in the order of its draws, of shape (n, *shape) or (*shape).

    Values of a group with chains and draws, such as the prior, are taken as one for each case.
    """
    if isinstance(array, NUMBERS):
        return np.asarray(array)
    if not is_labelled(array):
        return numbers(array, f"truth[{name!r}]")
    axes = tuple(map(str, array.dims))
    cases = [axis for axis in SAMPLE_AXES if axis in axes] or [axis for axis in axes if axis == case]
    if set(axes) != {*cases, *drawn.axes}:
        raise InputError(
            f"the truth of {shown(name)} must have the dimensions {drawn.axes} of one value, and perhaps one of cases; "
            f"it has {_spelled(array)}"
        )
    told = [(axis, own, _labels(array, axis)) for axis, own in zip(drawn.axes, drawn.labels, strict=True)]
    if case is not None and cases == [case]:
        told.append((case, drawn.cases, _labels(array, case)))
    for axis, own, other in told:
        if own is not None and other is not None and list(own) != list(other):
            raise InputError(
                f"{shown(axis)} of the truth of {shown(name)} is {shown(list(other))} and of its draws "
                f"{shown(list(own))}; put them in the same order, such as with truth.reindex_like(draws)"
            )
    values = _ordered(array, name, (*cases, *drawn.axes))
    return values.reshape(-1, *values.shape[len(cases) :]) if cases else values


def _ordered(array: Any, name: str, axes: tuple[str, ...]) -> NDArray[Any]:
    held = list(map(str, array.dims))
    return np.transpose(numbers(array.values, f"the variable {shown(name)}"), [held.index(axis) for axis in axes])


def _labels(array: Any, axis: str) -> Sequence[Any] | None:
    found: list[Any] | None = np.asarray(array.coords[axis].values).tolist() if axis in array.coords else None
    return found


def _spelled(array: Any) -> str:
    return ", ".join(f"{axis}: {size}" for axis, size in zip(array.dims, array.shape, strict=True)) or "none"
