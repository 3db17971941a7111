"""Draws of a BayesFlow approximator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.integrations.draws.drawn import Drawn, Variable, element_names, joined, numbers, refuse_unknown


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
            raise InputError(
                f"{what} must be a dict from names to arrays; got {shown(type(given).__name__)}. Draws in one array of "
                "shape (n, M, D) need no reader: pass Samples(draws)"
            )
    wanted = list(samples) if variables is None else [variables] if isinstance(variables, str) else list(variables)
    if not wanted:
        raise InputError("samples holds no variables; pass what workflow.sample(...) returned")
    return joined([_variable(name, samples, targets) for name in wanted])


def _variable(name: str, samples: Mapping[str, Any], targets: Mapping[str, Any]) -> Variable:
    for what, given in (("samples", samples), ("targets", targets)):
        if name not in given:
            raise refuse_unknown(name, given, what, "Choose with variables=")
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
