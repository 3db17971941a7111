"""Draws of an sbi posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.integrations.draws.drawn import Drawn, Variable, element_names, joined, numbers


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
    In sbi draws come first, in calibrant rows do. Where M = n nobody but you can see which order an array has.

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
        raise InputError(f"names must hold one name for each of the {D} parameters; got {names!r}")
    return list(names)


def _turned(log_density: Any, shape: tuple[int, int]) -> NDArray[Any]:
    values = numbers(log_density, "log_density")
    if values.shape != shape:
        raise InputError(
            f"log_density must have shape (M, n) = {shape}, one value for each draw of each observation; "
            f"got shape {values.shape}"
        )
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
