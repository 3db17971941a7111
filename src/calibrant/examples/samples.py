"""Examples of draws: a posterior of parameters, and an ensemble forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.examples.archives import frozen, load
from calibrant.inputs.samples import Samples


@dataclass(frozen=True, eq=False)
class PosteriorExample:
    """Draws of an amortised posterior for simulations that it has not seen.

    Attributes
    ----------
    y : ndarray of float32, shape (500, 3)
        The parameters that the epidemic was simulated with.
    prediction : Samples
        99 draws of the three parameters for each epidemic, with their log densities.
    log_density_y : ndarray of float32, shape (500,)
        The log density of the posterior at `y`, for `energy_ranks`.
    parameters : tuple of str
        What the three coordinates are: ``"reproduction number"``, ``"infectious days"`` and ``"reported share"``.
    reported : ndarray of int16, shape (500, 14)
        What the posterior was made from: the reported cases of each week.
    """

    y: NDArray[np.float32]
    prediction: Samples
    log_density_y: NDArray[np.float32]
    parameters: tuple[str, ...]
    reported: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class EnsembleExample:
    """Ensemble forecasts and what happened.

    Attributes
    ----------
    y : ndarray of float32, shape (1000,)
        The weather that came, in units of the model.
    prediction : Samples
        Forecasts of 50 members each.
    lead : ndarray of str, shape (1000,)
        How far ahead the forecast looks: ``"1 day"``, ``"3 days"``, ``"5 days"`` or ``"8 days"``.
    start : ndarray of float32, shape (1000,)
        What the weather was thought to be when the forecast was made.
    """

    y: NDArray[np.float32]
    prediction: Samples
    lead: NDArray[np.str_]
    start: NDArray[np.float32]


def posterior() -> PosteriorExample:
    """Load a posterior of the parameters of epidemics, as simulation-based inference gives it.

    The epidemics are synthetic. From the reported cases of 14 weeks a network tells how many people one infects, for
    how many days, and which share of the infections was reported, as a Gaussian law of the logarithms and the log-odds.
    It was fitted to 300 simulations, which is far too few; these are draws for 500 others. They are over-confident,
    more so as a whole than each parameter alone, and the days they say are too few.

    Returns
    -------
    PosteriorExample
        The true parameters, the draws with their log densities and the reported cases, as read-only arrays.

    Notes
    -----
    The log densities are those of the three parameters themselves, not of their logarithms.

    Examples
    --------
    >>> from calibrant import examples
    >>> epidemics = examples.posterior()
    >>> epidemics.prediction
    Samples(500 rows, 99 draws of 3 coordinates)
    >>> epidemics.parameters
    ('reproduction number', 'infectious days', 'reported share')

    The parameters lie in the central 90 % of the draws less often than that:

    >>> rank = (epidemics.prediction.held < epidemics.y[:, None]).sum(axis=1)
    >>> ((rank >= 5) & (rank <= 94)).mean(axis=0).round(3)
    array([0.828, 0.846, 0.854])
    """
    arrays = load("posterior.npz")
    return PosteriorExample(
        frozen(arrays["y"]),
        Samples(frozen(arrays["draws"]), log_density=arrays["log_density"]),
        frozen(arrays["log_density_y"]),
        tuple(arrays["parameters"].tolist()),
        frozen(arrays["reported"]),
    )


def ensemble() -> EnsembleExample:
    """Load ensemble forecasts of the weather on a small planet.

    The weather is that of Lorenz's model of 1996, at one of 40 places on a ring. The forecasts are made by the same
    model from starting points that are a little wrong, as in reality, with members spread as widely as the error. What
    drives the weather wanders, and the model takes its mean, so that members agree with each other too much from the
    third day on. The 1,000 forecasts have nothing in common, a quarter of them for each lead time.

    Returns
    -------
    EnsembleExample
        The weather, the members, the lead time and the starting point of each forecast, as read-only arrays.

    Examples
    --------
    >>> from calibrant import examples
    >>> days = examples.ensemble()
    >>> days.prediction
    Samples(1000 rows, 50 draws)

    The central 45 of the 51 ranks should hold 88 % of the outcomes:

    >>> rank = (days.prediction.held < days.y[:, None]).sum(axis=1)
    >>> central = (rank >= 3) & (rank <= 47)
    >>> for lead in ("1 day", "3 days"):
    ...     print(lead, round(float(central[days.lead == lead].mean()), 3))
    1 day 0.908
    3 days 0.768
    """
    arrays = load("ensemble.npz")
    return EnsembleExample(
        frozen(arrays["y"]), Samples(frozen(arrays["draws"])), frozen(arrays["lead"]), frozen(arrays["start"])
    )
