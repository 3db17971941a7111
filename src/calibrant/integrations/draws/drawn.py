"""What all readers return: outcomes, draws, and what the coordinates are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import as_array
from calibrant.inputs.samples import Samples


class Drawn(NamedTuple):
    """Outcomes and draws, ready for every verb of samples; of vectors ``audit(d.y, d.prediction, columns=d.names)``.

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
    return Drawn(y, Samples(draws, log_density), names)


def element_names(name: str, labels: Sequence[Iterable[Any]]) -> list[str]:
    """Return a name for each number of a variable, from the labels along each of its axes.

    >>> element_names("mu", []), element_names("theta", [["a", "b"], range(2)])
    (['mu'], ['theta[a, 0]', 'theta[a, 1]', 'theta[b, 0]', 'theta[b, 1]'])
    """
    if not labels:
        return [name]
    return [f"{name}[{', '.join(map(str, place))}]" for place in product(*labels)]


def numbers(values: Any, name: str) -> NDArray[Any]:
    """Return an array of numbers from whatever holds them."""
    array = as_array(values, name=name)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must hold numbers; got values of type {array.dtype}")
    return array


def refuse_unknown(name: str, known: Iterable[str], place: str, remedy: str) -> InputError:
    """Return the error for a variable that is not where it should be."""
    listed = ", ".join(shown(other) for other in list(known)[:12]) or "nothing"
    return InputError(f"{place} has no variable {shown(name)}; it holds {listed}. {remedy}")
