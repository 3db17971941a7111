"""Draws of arviz: InferenceData, or xarray's DataTree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.integrations.draws.drawn import Drawn, Variable, element_names, joined, refuse_unknown
from calibrant.integrations.draws.labelled import Labelled, is_labelled, read_draws, read_truth, variables_of

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
        An ``InferenceData``, a ``DataTree``, one of their groups (a ``Dataset``), or what ``arviz.extract`` returns:
        one case, or with `case` all of them; or a list of such objects, one for each case.
    truth
        The true values: a mapping or group from names to arrays of shape (n, ...), one value for each case, or a list
        of mappings, one for each case. For one case the first axis may be left out. A group with chains and draws, such
        as the prior that data were simulated from, has a case in each draw. For one variable the array alone will do.
    variables
        Which variables to read, in this order; those of `truth` if not given.
    group
        Where the draws are; ``"posterior"`` if not given.
    case
        The dimension that counts the cases, such as ``"obs_id"`` of a posterior predictive.

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
    return joined([_variable(name, objects, truth, case) for name in wanted])


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
    """Return the truth by name of variable, that of the first case if there is a list; None of a plain array."""
    first = truth[0] if isinstance(truth, (list, tuple)) and truth else truth
    if is_labelled(first):
        return None
    return variables_of(first) or (first if isinstance(first, Mapping) else None)


def _variable(name: str, objects: Sequence[Mapping[str, Any]], truth: Any, case: str | None) -> Variable:
    for held in objects:
        if name not in held:
            raise refuse_unknown(name, held, "data", "Choose with variables=")
    drawn = [read_draws(held[name], name, case) for held in objects]
    for i, other in enumerate(drawn):
        _check_alike(name, drawn[0], other, i)
    draws = np.concatenate([one.values for one in drawn]) if len(drawn) > 1 else drawn[0].values
    true = _true(name, truth, drawn[0], case, len(draws))
    expected = (len(draws), *draws.shape[2:])
    if true.shape != expected:
        shapes = f"{expected}" if len(draws) > 1 else f"{expected} or {expected[1:]}"
        raise InputError(
            f"the truth of {shown(name)} must have shape {shapes}, a value for each of {len(draws)} cases; got shape "
            f"{true.shape}"
        )
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
        raise refuse_unknown(name, named, "truth", "Choose with variables=")
    return named[name]
