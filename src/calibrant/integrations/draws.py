"""Draws as other packages give them: arviz, sbi, BayesFlow. Told by their shape; none of these is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import NUMBERS, as_array
from calibrant.inputs.named import element_names
from calibrant.inputs.samples import SAMPLE_AXES, Samples

__all__ = ["Drawn", "from_arviz", "from_bayesflow", "from_sbi"]

POSTERIOR = "posterior"


class Drawn(NamedTuple):
    """Outcomes and draws, ready for every verb of samples, which carry the names of the coordinates."""

    y: NDArray[Any]  # true values, (n,) if there is one coordinate, else (n, D)
    prediction: Samples  # (n, M) or (n, M, D)
    names: tuple[str, ...]  # of the coordinates


class Variable(NamedTuple):
    """Draws (n, M, *shape) of one variable, its true values (n, *shape), and a name for each of its numbers."""

    draws: NDArray[Any]
    truth: NDArray[Any]
    names: Sequence[str]


def _joined(variables: Sequence[Variable], log_density: Any = None) -> Drawn:
    """Return variables side by side as coordinates; a single number per row needs no axis for it."""
    n, M = variables[0].draws.shape[:2]
    for variable in variables:
        if variable.draws.shape[:2] != (n, M):
            raise InputError(
                f"all variables must have the same n rows and M draws; {shown(variables[0].names[0])} has (n, M) = "
                f"{(n, M)} and {shown(variable.names[0])} {variable.draws.shape[:2]}. Take them from the same draws"
            )
    draws = np.concatenate([v.draws.reshape(n, M, -1) for v in variables], axis=2)
    y = np.concatenate([v.truth.reshape(n, -1) for v in variables], axis=1)
    names = tuple(name for v in variables for name in v.names)
    if len(names) == 1:
        draws, y = draws[:, :, 0], y[:, 0]
    return Drawn(y, Samples(draws, log_density, names=names if draws.ndim == 3 else None), names)


def _numbers(values: Any, name: str) -> NDArray[Any]:
    array = as_array(values, name=name)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must contain numbers; got values of type {array.dtype}")
    return array


def _picked(held: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in held:
        listed = ", ".join(shown(other) for other in list(held)[:12]) or "nothing"
        raise InputError(f"{place} has no variable {shown(name)}; it has {listed}. Choose with variables=")
    return held[name]


def from_sbi(draws: Any, theta: Any, *, log_density: Any = None, names: Sequence[str] | None = None) -> Drawn:
    """Read draws of an sbi posterior and the parameters that the observations were simulated with.

    Parameters
    ----------
    draws : tensor or array of shape (M, n, D)
        As ``posterior.sample_batched((M,), x=xs)`` returns them: M draws for each of n observations.
    theta : tensor or array of shape (n, D)
        The parameters behind the observations ``xs``, as `run_sbc` takes them.
    log_density : tensor or array of shape (M, n), optional
        Log density of the posterior at each draw, as ``posterior.log_prob_batched(draws, x=xs)`` returns it.
    names
        What the D parameters are called; ``theta[0]`` and so on if not given.

    Returns
    -------
    Drawn
        ``y``, ``prediction`` (`Samples`, its axes in the order of calibrant) and ``names``.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.arange(24.0).reshape(4, 3, 2)  # 4 draws, 3 observations, 2 parameters
    >>> found = from_sbi(draws, np.zeros((3, 2)))
    >>> found.prediction, found.names
    (Samples(3 rows, 4 draws of 2 coordinates), ('theta[0]', 'theta[1]'))
    >>> found.prediction.draws[0, :, 0]
    array([ 0.,  6., 12., 18.])
    """
    drawn, truth = _numbers(draws, "draws"), _numbers(theta, "theta")
    _check_shapes(drawn.shape, truth.shape)
    M, n, D = drawn.shape
    if names is None:
        names = element_names("theta", [range(D)] if D > 1 else [])
    elif isinstance(names, str) or len(names) != D:
        raise InputError(f"names must be one name for each of the {D} parameters; got {names!r}")
    density = None if log_density is None else _numbers(log_density, "log_density")
    if density is not None and density.shape != (M, n):
        raise InputError(f"log_density must have shape (M, n) = {(M, n)}, a value for each draw; got {density.shape}")
    variable = Variable(np.swapaxes(drawn, 0, 1), truth, list(names))
    return _joined([variable], None if density is None else density.T)


def _check_shapes(draws: tuple[int, ...], theta: tuple[int, ...]) -> None:
    if len(draws) == 3 and draws[1:] == theta:
        return
    expected = f"draws must have shape (M, n, D) and theta (n, D); got {draws} and {theta}. "
    if len(draws) == 3 and len(theta) == 2 and (draws[0], draws[2]) == theta:
        raise InputError(expected + "These draws have rows first: they need no reader, pass Samples(draws)")
    if len(draws) == 2:
        raise InputError(expected + "For one observation pass draws[:, None] and theta[None]")
    if len(theta) == 1:
        raise InputError(expected + "Pass theta[:, None] for one parameter, or theta[None] for one observation")
    raise InputError(expected + "Take the parameters of the observations that the draws are for")


def from_bayesflow(
    samples: Mapping[str, Any], targets: Mapping[str, Any], *, variables: str | Sequence[str] | None = None
) -> Drawn:
    """Read draws of BayesFlow, and the values of the parameters that the data sets were simulated with.

    Parameters
    ----------
    samples : mapping from names to arrays of shape (n, M, d)
        As ``workflow.sample(conditions=..., num_samples=M)`` returns them: M draws for each of n data sets. Shape
        (n, M) is read as d = 1.
    targets : mapping from names to arrays of shape (n, d)
        The true values, as the simulator gave them; what is not in `samples`, such as the data, is left alone.
    variables
        Which variables to read, in this order; all of `samples` if not given.

    Returns
    -------
    Drawn
        ``y``, ``prediction`` (`Samples`) and ``names``: that of a variable if d = 1, else ``name[0]`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> samples = {"mean": np.zeros((3, 50, 1)), "slope": np.ones((3, 50, 2))}
    >>> targets = {"mean": np.zeros((3, 1)), "slope": np.ones((3, 2)), "data": np.zeros((3, 7))}
    >>> found = from_bayesflow(samples, targets)
    >>> found.prediction, found.names
    (Samples(3 rows, 50 draws of 3 coordinates), ('mean', 'slope[0]', 'slope[1]'))
    """
    for what, given in (("samples", samples), ("targets", targets)):
        if not isinstance(given, Mapping):
            got = f"{shown(type(given).__name__)}. Draws in one array (n, M, D) need no reader: pass Samples(draws)"
            raise InputError(f"{what} must be a dict from names to arrays; got {got}")
    wanted = list(samples) if variables is None else [variables] if isinstance(variables, str) else list(variables)
    if not wanted:
        raise InputError("samples has no variables; pass what workflow.sample(...) returned")
    return _joined([_of_bayesflow(name, samples, targets) for name in wanted])


def _of_bayesflow(name: str, samples: Mapping[str, Any], targets: Mapping[str, Any]) -> Variable:
    draws, truth = (
        _numbers(_picked(given, name, what), f"{what}[{name!r}]")
        for what, given in (("samples", samples), ("targets", targets))
    )
    drawn, true = (() if shape == (1,) else shape for shape in (draws.shape[2:], truth.shape[1:]))  # () of one number
    if draws.ndim < 2 or truth.ndim < 1 or (len(draws), *drawn) != (len(truth), *true):
        remedy = "Take the targets of the data sets that the draws are for"
        if draws.ndim >= 2 and truth.ndim >= 1 and draws.shape[1] == len(truth) != len(draws):
            remedy = "The draws look turned: data sets come first"
        words = f"samples[{name!r}] must have shape (n, M, d) and targets[{name!r}] (n, d)"
        raise InputError(f"{words}; got {draws.shape} and {truth.shape}. {remedy}")
    return Variable(draws, truth, element_names(name, [range(size) for size in drawn]))


# arviz


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
    return _joined([_of_arviz(name, objects, truth, case) for name in wanted])


def _without_cases(variables: Sequence[Any]) -> str:
    """Say how one object is read, as cases along a dimension or as a single case."""
    axes = dict.fromkeys(str(axis) for array in variables for axis in array.dims if axis not in SAMPLE_AXES)
    along = f"Name the dimension that counts the cases, one of {', '.join(map(shown, axes))}: "
    calls = f"{along}from_arviz(data, truth, case={next(iter(axes))!r}). " if axes else ""
    return f"one object would be one row. {calls}For a single case pass a list: from_arviz([data], truth)"


def _group(data: Any, group: str | None) -> Mapping[str, Any]:
    if group is None and (held := _variables_of(data)) is not None:
        return held
    name = POSTERIOR if group is None else group
    try:
        found = _variables_of(data[name])
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
    if _is_labelled(first):
        return None
    return _variables_of(first) or (first if isinstance(first, Mapping) else None)


def _of_arviz(name: str, objects: Sequence[Mapping[str, Any]], truth: Any, case: str | None) -> Variable:
    drawn = [_read_draws(_picked(held, name, "data"), name, case) for held in objects]
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
        return np.stack([_read_truth(_pick(name, one), name, drawn, None) for one in truth])
    value = _read_truth(_pick(name, truth), name, drawn, case)
    return value[None] if n == 1 and value.shape == drawn.values.shape[2:] else value


def _pick(name: str, truth: Any) -> Any:
    named = _named(truth)
    return truth if named is None else _picked(named, name, "truth")


class Labelled(NamedTuple):
    """Numbers in cases and draws: of shape (n, M, *shape), and what stands along the axes of one value."""

    values: NDArray[Any]
    axes: tuple[str, ...]
    labels: tuple[Sequence[Any] | None, ...]  # along each axis of one value; None: unknown
    cases: Sequence[Any] | None  # labels of the cases, if they have any


def _is_labelled(array: Any) -> bool:
    return hasattr(array, "dims") and hasattr(array, "coords") and not hasattr(array, "data_vars")


def _variables_of(data: Any) -> Mapping[str, Any] | None:
    """Return the variables of a group by name; None for anything else, or an empty group."""
    if _is_labelled(data):
        return {"draws" if data.name is None else str(data.name): data}
    held = getattr(data, "data_vars", None)
    return {str(name): held[name] for name in held} if held is not None and len(held) else None


def _read_draws(array: Any, name: str, case: str | None) -> Labelled:
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


def _read_truth(array: Any, name: str, drawn: Labelled, case: str | None) -> NDArray[Any]:
    """Return the true values of a variable in the order of its draws, of shape (n, *shape) or (*shape).

    Values of a group with chains and draws, such as the prior, are taken as one for each case.
    """
    if isinstance(array, NUMBERS):
        return np.asarray(array)
    if not _is_labelled(array):
        return _numbers(array, f"truth[{name!r}]")
    axes = tuple(map(str, array.dims))
    cases = [axis for axis in SAMPLE_AXES if axis in axes] or [axis for axis in axes if axis == case]
    if set(axes) != {*cases, *drawn.axes}:
        words = f"the truth of {shown(name)} must have the dimensions {drawn.axes}, and perhaps one of cases"
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
    return np.transpose(_numbers(array.values, f"the variable {shown(name)}"), [held.index(axis) for axis in axes])


def _labels(array: Any, axis: str) -> Sequence[Any] | None:
    return list(np.asarray(array.coords[axis].values).tolist()) if axis in array.coords else None


def _spelled(array: Any) -> str:
    return ", ".join(f"{axis}: {size}" for axis, size in zip(array.dims, array.shape, strict=True)) or "none"
