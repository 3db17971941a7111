"""Draws in plain arrays, as sbi and BayesFlow give them, and `Drawn`, which all readers return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import as_array
from calibrant.inputs.named import element_names
from calibrant.inputs.samples import Samples


class Drawn(NamedTuple):
    """Outcomes and draws, ready for every verb of samples, which carry the names of the coordinates.

    Attributes
    ----------
    y
        The true values, of shape (n,) if there is one coordinate, else (n, D).
    prediction
        The draws, of shape (n, M) or (n, M, D).
    names
        What each coordinate is called.
    """

    y: NDArray[Any]
    prediction: Samples
    names: tuple[str, ...]


class Variable(NamedTuple):
    """Draws (n, M, *shape) of one variable, its true values (n, *shape), and a name for each of its numbers."""

    draws: NDArray[Any]
    truth: NDArray[Any]
    names: Sequence[str]


def joined(variables: Sequence[Variable], log_density: Any = None) -> Drawn:
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


def numbers(values: Any, name: str) -> NDArray[Any]:
    array = as_array(values, name=name)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must contain numbers; got values of type {array.dtype}")
    return array


def refuse_unknown(name: str, known: Iterable[str], place: str) -> InputError:
    """Return the error for a variable that is not where it should be."""
    listed = ", ".join(shown(other) for other in list(known)[:12]) or "nothing"
    return InputError(f"{place} has no variable {shown(name)}; it has {listed}. Choose with variables=")


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

    Notes
    -----
    In sbi draws come first, in calibrant rows do. If M = n, the order cannot be checked.

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
    drawn, truth = numbers(draws, "draws"), numbers(theta, "theta")
    _check_shapes(drawn.shape, truth.shape)
    M, n, D = drawn.shape
    called = _names(names, D)
    variable = Variable(np.swapaxes(drawn, 0, 1), truth, called)
    return joined([variable], None if log_density is None else _turned(log_density, (M, n)))


def _names(names: Sequence[str] | None, D: int) -> Sequence[str]:
    if names is None:
        return element_names("theta", [range(D)] if D > 1 else [])
    if isinstance(names, str) or len(names) != D:
        raise InputError(f"names must be one name for each of the {D} parameters; got {names!r}")
    return list(names)


def _turned(log_density: Any, shape: tuple[int, int]) -> NDArray[Any]:
    values = numbers(log_density, "log_density")
    if values.shape != shape:
        raise InputError(f"log_density must have shape (M, n) = {shape}, a value for each draw; got {values.shape}")
    return values.T


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
    return joined([_variable(name, samples, targets) for name in wanted])


def _variable(name: str, samples: Mapping[str, Any], targets: Mapping[str, Any]) -> Variable:
    for what, given in (("samples", samples), ("targets", targets)):
        if name not in given:
            raise refuse_unknown(name, given, what)
    draws, truth = numbers(samples[name], f"samples[{name!r}]"), numbers(targets[name], f"targets[{name!r}]")
    drawn, true = _event(draws, 2), _event(truth, 1)
    if draws.ndim < 2 or truth.ndim < 1 or (len(draws), *drawn) != (len(truth), *true):
        raise InputError(
            f"samples[{name!r}] must have shape (n, M, d) and targets[{name!r}] (n, d); got {draws.shape} and "
            f"{truth.shape}. {_remedy(draws, truth)}"
        )
    return Variable(draws, truth, element_names(name, [range(size) for size in drawn]))


def _event(array: NDArray[np.generic], axes: int) -> tuple[int, ...]:
    """Return the shape of one value; a single number has none."""
    shape = array.shape[axes:]
    return () if shape == (1,) else shape


def _remedy(draws: NDArray[np.generic], truth: NDArray[np.generic]) -> str:
    if draws.ndim >= 2 and truth.ndim >= 1 and draws.shape[1] == len(truth) != len(draws):
        return "The draws look turned: data sets come first"
    return "Take the targets of the data sets that the draws are for"
