"""Small sets of real model outputs, for trying the library out.

The data are synthetic, made by ``scripts/make_examples.py``, except for the handwritten digits of `generated`. The
predictions are the unchanged outputs of models fitted to them: small neural networks that were trained for too long on
too few rows and are over-confident, a conformal regression that is right only on average, a weather model with an
error, and a mixture with too few components.

Each function returns a record of read-only arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import locked
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples

__all__ = [
    "ChurnExample",
    "DemandExample",
    "DigitsExample",
    "EnsembleExample",
    "GeneratedExample",
    "HousePricesExample",
    "PosteriorExample",
    "churn",
    "demand",
    "digits",
    "ensemble",
    "generated",
    "house_prices",
    "posterior",
]


# Records are compared by identity: comparing arrays field by field has no single truth value.
@dataclass(frozen=True, eq=False)
class ChurnExample:
    """Held-out predictions of a binary classifier."""

    y: NDArray[np.int8]
    p: NDArray[np.float64]
    segment: NDArray[np.str_]


def churn() -> ChurnExample:
    """Load predictions of which customers of a subscription service leave.

    The customers are synthetic. Unhappy ones use the service less, open more support tickets and leave more
    often; late payments, rival offers and the end of a contract matter as well, partly through interactions.
    A network with one hidden layer was trained on 2,500 of them; these are its predictions for 4,000 others.
    It is over-confident throughout, more so for students, whose outcome is the noisiest, and for business
    customers, who were rare in training.

    Examples
    --------
    >>> from calibrant import examples
    >>> customers = examples.churn()
    >>> customers.y.shape
    (4000,)
    >>> sorted(set(customers.segment.tolist()))
    ['basic', 'business', 'family', 'student']
    """
    return ChurnExample(**_load("churn.npz"))


@dataclass(frozen=True, eq=False)
class DigitsExample:
    """Held-out predictions of a ten-class classifier."""

    y: NDArray[np.int8]
    P: NDArray[np.float64]


def digits() -> DigitsExample:
    """Load predictions of which digit a small noisy picture shows.

    The pictures are synthetic: pen strokes drawn on an 8 by 8 grid, then shifted, turned, slanted, thickened
    and covered in noise. A network with one hidden layer was trained on 1,000 of them; these are its
    predictions for 3,000 others. It is right about four times in five and claims to be right more often.

    Examples
    --------
    >>> from calibrant import examples
    >>> pictures = examples.digits()
    >>> pictures.P.shape
    (3000, 10)
    """
    arrays = _load("digits.npz")
    # The file is in single precision, so its rows sum to 1 only up to that rounding.
    P = arrays["P"].astype(np.float64)
    return DigitsExample(arrays["y"], locked(P / P.sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class HousePricesExample:
    """Held-out prediction intervals of a regression."""

    y: NDArray[np.float64]
    prediction: Intervals
    calibration_size: int
    size: NDArray[np.str_]


def house_prices() -> HousePricesExample:
    """Load prediction intervals of what houses are sold for.

    The houses are synthetic. The larger one is, the less its recorded features say about its price. A least-squares
    fit of log prices to 1,500 of them was made into intervals by split conformal prediction with 4,000 others; these
    are the intervals of 3,000 more. Their coverage is right over all houses, too high for small houses and far too low
    for large ones.

    Examples
    --------
    >>> from calibrant import coverage, examples
    >>> houses = examples.house_prices()
    >>> houses.prediction
    Intervals(n=3000, level=[0.8, 0.9])
    >>> coverage(houses.y, houses.prediction).round(3)
    array([0.808, 0.9  ])
    >>> large = houses.size == "large"
    >>> coverage(houses.y[large], houses.prediction.take(large)).round(3)
    array([0.666, 0.79 ])
    """
    arrays = _load("house_prices.npz")
    prediction = Intervals(arrays["lower"], arrays["upper"], arrays["levels"])
    return HousePricesExample(arrays["y"], prediction, int(arrays["calibration_size"]), arrays["size"])


@dataclass(frozen=True, eq=False)
class DemandExample:
    """Held-out quantile forecasts."""

    y: NDArray[np.int16]
    prediction: Quantiles
    product: NDArray[np.str_]


def demand() -> DemandExample:
    """Load quantile forecasts of how much of a product a shop sells in a day.

    The days are synthetic. Weather, weekends, holidays and discounts drive the sales, of ice cream above all. A
    network with one hidden layer was trained on 900 days, to give five quantiles of the sales; these are its forecasts
    for 3,000 others. They are too close together: where one day in ten should fall outside the outer two, one in four
    does.

    Examples
    --------
    >>> from calibrant import examples
    >>> days = examples.demand()
    >>> days.prediction
    Quantiles(n=3000, levels=[0.05, 0.25, 0.5, 0.75, 0.95])
    >>> round(float((days.y <= days.prediction.at(0.95).values[:, 0]).mean()), 3)
    0.854
    """
    arrays = _load("demand.npz")
    prediction = Quantiles(arrays["values"], arrays["levels"])
    return DemandExample(arrays["y"], prediction, arrays["product"])


@dataclass(frozen=True, eq=False)
class PosteriorExample:
    """Draws of an amortised posterior for simulations that it has not seen."""

    y: NDArray[np.float32]
    prediction: Samples
    log_density_y: NDArray[np.float32]
    parameters: tuple[str, ...]
    reported: NDArray[np.int16]


def posterior() -> PosteriorExample:
    """Load a posterior of the parameters of epidemics, as simulation-based inference gives it.

    The epidemics are synthetic. From the reported cases of 14 weeks a network infers how many people one infects, for
    how many days, and which share of the infections was reported, as a normal distribution of logarithms and log-odds.
    It was fitted to 300 simulations, which is far too few; these are draws for 500 others. They are over-confident,
    more so jointly than for each parameter alone, and the infectious days are too few.

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

    The parameters lie in the central 90 % of the draws less than 90 % of the time:

    >>> rank = (epidemics.prediction.held < epidemics.y[:, None]).sum(axis=1)
    >>> ((rank >= 5) & (rank <= 94)).mean(axis=0).round(3)
    array([0.828, 0.846, 0.854])
    """
    arrays = _load("posterior.npz")
    prediction, names = Samples(arrays["draws"], arrays["log_density"]), tuple(arrays["parameters"].tolist())
    return PosteriorExample(arrays["y"], prediction, arrays["log_density_y"], names, arrays["reported"])


@dataclass(frozen=True, eq=False)
class EnsembleExample:
    """Ensemble forecasts and what happened."""

    y: NDArray[np.float32]
    prediction: Samples
    lead: NDArray[np.str_]
    start: NDArray[np.float32]


def ensemble() -> EnsembleExample:
    """Load ensemble forecasts of the weather on a small planet.

    The weather is that of Lorenz's model of 1996, at one of 40 places on a ring. The forecasts are made by the same
    model from starting points with a small error, and the members spread as widely as this error. The forcing of the
    weather varies and the model uses its mean, so members agree with each other too much from the third day on. The
    1,000 forecasts are independent, a quarter of them for each lead time.

    Examples
    --------
    >>> from calibrant import examples
    >>> days = examples.ensemble()
    >>> days.prediction
    Samples(1000 rows, 50 draws)

    The central 45 of the 51 ranks should contain 88 % of the outcomes:

    >>> rank = (days.prediction.held < days.y[:, None]).sum(axis=1)
    >>> central = (rank >= 3) & (rank <= 47)
    >>> for lead in ("1 day", "3 days"):
    ...     print(lead, round(float(central[days.lead == lead].mean()), 3))
    1 day 0.908
    3 days 0.768
    """
    arrays = _load("ensemble.npz")
    return EnsembleExample(arrays["y"], Samples(arrays["draws"]), arrays["lead"], arrays["start"])


@dataclass(frozen=True, eq=False)
class GeneratedExample:
    """Held-out data, and points of a generative model."""

    y: NDArray[np.float32]
    points: NDArray[np.float32]
    columns: tuple[str, ...]


def generated() -> GeneratedExample:
    """Load handwritten digits, as eight numbers each, and as many draws of a mixture that was fitted to other digits.

    The pictures are real: the 1,797 digits of 8 by 8 pixels that come with scikit-learn. Principal components, and a
    mixture of four normal distributions in eight of them, were fitted to half of the pictures; these are the components
    of the other half and draws of the mixture. Four distributions are too few for ten digits: each covers several
    digits and the space between them. Means and covariances are right nevertheless, as in every fitted mixture.

    Notes
    -----
    The pictures are the test part of E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI
    Machine Learning Repository, https://doi.org/10.24432/C50P49, licence CC BY 4.0.

    Examples
    --------
    >>> from calibrant import examples
    >>> digits = examples.generated()
    >>> digits.y.shape, digits.points.shape
    ((899, 8), (899, 8))

    The spread of each coordinate is about the same:

    >>> [round(float(sd), 1) for sd in digits.y.std(axis=0)]
    [0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.4]
    >>> [round(float(sd), 1) for sd in digits.points.std(axis=0)]
    [0.8, 0.8, 0.8, 0.6, 0.5, 0.5, 0.4, 0.4]
    """
    arrays = _load("generated.npz")
    return GeneratedExample(arrays["y"], arrays["points"], tuple(arrays["columns"].tolist()))


def _load(name: str) -> dict[str, NDArray[Any]]:
    """Return every array of one example file, read-only: another user of the example must not see changes."""
    path = files("calibrant.examples").joinpath(name)
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return {key: locked(array) for key, array in archive.items()}
