"""Draws in arrays with named axes, as arviz and xarray give them; neither is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import NUMBERS
from calibrant.inputs.named import element_names
from calibrant.inputs.samples import SAMPLE_AXES
from calibrant.integrations.draws.arrays import Drawn, Variable, joined, numbers, refuse_unknown

POSTERIOR = "posterior"


def from_arviz(
    data: Any,
    truth: Any,
    *,
    variables: str | Sequence[str] | None = None,
    group: str | None = None,
    case: str | None = None,
) -> Drawn:
    """Read draws from arviz: a posterior for each of several cases, or one object with a dimension of cases.

    Parameters
    ----------
    data
        A list with an object for each case: an ``InferenceData``, a ``DataTree``, one of their groups (a ``Dataset``),
        or what ``arviz.extract`` returns. Or one such object for all cases, with `case`.
    truth
        The true values: a mapping or group from names to arrays of shape (n, ...), one value for each case, or a list
        of mappings, one for each case. For one case the first axis may be left out. A group with chains and draws, such
        as the prior that data were simulated from, has a case in each draw. For one variable the array alone is enough.
    variables
        Which variables to read, in this order; those of `truth` if not given.
    group
        Where the draws are; ``"posterior"`` if not given.
    case
        The dimension of one object that counts the cases, such as ``"obs_id"`` of a posterior predictive. One object
        without it is refused, as it would be read as a single row; a single case is ``from_arviz([data], truth)``.

    Returns
    -------
    Drawn
        ``y``, ``prediction`` (`Samples`, chains one after another) and ``names``: that of a scalar variable, else
        ``name[label]`` with the coordinates of arviz.

    Notes
    -----
    Draws of a Markov chain depend on each other, which makes ranks pile up at both ends: thin them first, such as with
    ``posterior.isel(draw=slice(None, None, 10))``. Observations of one posterior predictive share its parameters, which
    makes cases dependent.

    Examples
    --------
    >>> from types import SimpleNamespace as Array  # stands for an array of xarray
    >>> import numpy as np
    >>> mu = Array(name="mu", dims=("chain", "draw"), coords={}, values=np.arange(8.0).reshape(2, 4), shape=(2, 4))
    >>> found = from_arviz([mu, mu, mu], [1.5, 2.5, 9.0])
    >>> found.prediction, found.names
    (Samples(3 rows, 8 draws), ('mu',))
    """
    several = isinstance(data, (list, tuple))
    if several and case is not None:
        raise InputError("case= names a dimension of one object; data is a list, with an object for each case")
    objects = [_group(item, group) for item in (data if several else [data])]
    if not objects:
        raise InputError("data is an empty list; at least one case is needed")
    wanted = _wanted(variables, truth, objects[0])
    if not several and case is None:
        raise InputError(_without_cases([objects[0][name] for name in wanted if name in objects[0]]))
    return joined([_variable(name, objects, truth, case) for name in wanted])


def _without_cases(variables: Sequence[Any]) -> str:
    """Say how one object is read, as cases along a dimension or as a single case."""
    axes = dict.fromkeys(str(axis) for array in variables for axis in array.dims if axis not in SAMPLE_AXES)
    along = f"Name the dimension that counts the cases, one of {', '.join(map(shown, axes))}: "
    calls = f"{along}from_arviz(data, truth, case={next(iter(axes))!r}). " if axes else ""
    return f"one object would be one row. {calls}For a single case pass a list: from_arviz([data], truth)"


def _group(data: Any, group: str | None) -> Mapping[str, Any]:
    if group is None and (held := variables_of(data)) is not None:
        return held
    name = POSTERIOR if group is None else group
    try:
        found = variables_of(data[name])
    except (KeyError, IndexError, TypeError, ValueError):
        found = None
    if found is None:
        raise InputError(
            "data must be an arviz InferenceData, an xarray DataTree, a group of them, or a list of these, with draws "
            f"in the group {shown(name)}; got {type(data).__name__}{_groups(data)}"
        )
    return found


def _groups(data: Any) -> str:
    groups = getattr(data, "children", None) or getattr(data, "groups", None)
    found = list(groups() if callable(groups) else groups or ())
    return f" with the groups {', '.join(map(shown, found))}. Choose with group=" if found else ""


def _wanted(variables: str | Sequence[str] | None, truth: Any, held: Mapping[str, Any]) -> list[str]:
    if variables is not None:
        wanted = [variables] if isinstance(variables, str) else list(variables)
        if not wanted:
            raise InputError("variables is empty; name at least one, or leave it out")
    elif (named := _named(truth)) is not None:
        wanted = list(named)
    else:
        wanted = list(held)
    if len(wanted) > 1 and _named(truth) is None:
        raise InputError(
            f"truth must be a mapping from names to values, as there are {len(wanted)} variables: "
            f"{', '.join(map(shown, wanted[:12]))}. For one of them choose with variables="
        )
    return wanted


def _named(truth: Any) -> Mapping[str, Any] | None:
    """Return the truth by name of variable, that of the first case if there is a list; None for a plain array."""
    first = truth[0] if isinstance(truth, (list, tuple)) and truth else truth
    if is_labelled(first):
        return None
    return variables_of(first) or (first if isinstance(first, Mapping) else None)


def _variable(name: str, objects: Sequence[Mapping[str, Any]], truth: Any, case: str | None) -> Variable:
    for held in objects:
        if name not in held:
            raise refuse_unknown(name, held, "data")
    drawn = [read_draws(held[name], name, case) for held in objects]
    for i, other in enumerate(drawn):
        _check_alike(name, drawn[0], other, i)
    draws = np.concatenate([one.values for one in drawn]) if len(drawn) > 1 else drawn[0].values
    true = _true(name, truth, drawn[0], case, len(draws))
    expected = (len(draws), *draws.shape[2:])
    if true.shape != expected:
        shapes = f"{expected}" if len(draws) > 1 else f"{expected} or {expected[1:]}"
        words = f"the truth of {shown(name)} must have shape {shapes}, a value for each of {len(draws)} cases"
        raise InputError(f"{words}; got shape {true.shape}")
    sizes = zip(drawn[0].labels, draws.shape[2:], strict=True)
    return Variable(draws, true, element_names(name, [range(size) if own is None else own for own, size in sizes]))


def _check_alike(name: str, first: Labelled, other: Labelled, case: int) -> None:
    if other.values.shape[1] != first.values.shape[1]:
        raise InputError(
            f"all cases must have the same number of draws; of {shown(name)} case 0 has {first.values.shape[1]:,} and "
            f"case {case} {other.values.shape[1]:,}. Cut or thin the longer ones"
        )
    if (other.axes, other.values.shape, other.labels) != (first.axes, first.values.shape, first.labels):
        raise InputError(
            f"{shown(name)} must be alike in all cases; case 0 has the dimensions {first.axes} with the labels "
            f"{shown(first.labels)}, case {case} {other.axes} with {shown(other.labels)}"
        )


def _true(name: str, truth: Any, drawn: Labelled, case: str | None, n: int) -> NDArray[Any]:
    if isinstance(truth, (list, tuple)) and _named(truth) is not None:
        if len(truth) != n:
            raise InputError(f"truth must have a mapping for each of {n} cases; got {len(truth)}")
        return np.stack([read_truth(_pick(name, one), name, drawn, None) for one in truth])
    value = read_truth(_pick(name, truth), name, drawn, case)
    return value[None] if n == 1 and value.shape == drawn.values.shape[2:] else value


def _pick(name: str, truth: Any) -> Any:
    named = _named(truth)
    if named is None:
        return truth
    if name not in named:
        raise refuse_unknown(name, named, "truth")
    return named[name]


class Labelled(NamedTuple):
    """Numbers in cases and draws: of shape (n, M, *shape), and what stands along the axes of one value."""

    values: NDArray[Any]
    axes: tuple[str, ...]
    labels: tuple[Sequence[Any] | None, ...]  # along each axis of one value; None: unknown
    cases: Sequence[Any] | None  # labels of the cases, if they have any


def is_labelled(array: Any) -> bool:
    return hasattr(array, "dims") and hasattr(array, "coords") and not hasattr(array, "data_vars")


def variables_of(data: Any) -> Mapping[str, Any] | None:
    """Return the variables of a group by name; None for anything else, or an empty group."""
    if is_labelled(data):
        return {str(data.name): data} if data.name is not None else None
    held = getattr(data, "data_vars", None)
    return {str(name): held[name] for name in held} if held is not None and len(held) else None


def read_draws(array: Any, name: str, case: str | None) -> Labelled:
    """Return the draws of a variable; chains follow one another."""
    axes = tuple(map(str, array.dims))
    joined = [axis for axis in SAMPLE_AXES if axis in axes]
    if "draw" not in joined and "sample" not in joined:
        words = f"the variable {shown(name)} must have a dimension 'draw' (and perhaps 'chain'), or 'sample'"
        raise InputError(f"{words}; it has {_spelled(array)}")
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
        words = (
            f"the truth of {shown(name)} must have the dimensions {drawn.axes} of one value, and perhaps one of cases"
        )
        raise InputError(f"{words}; it has {_spelled(array)}")
    labelled = [(axis, own, _labels(array, axis)) for axis, own in zip(drawn.axes, drawn.labels, strict=True)]
    if case is not None and cases == [case]:
        labelled.append((case, drawn.cases, _labels(array, case)))
    for axis, own, other in labelled:
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
