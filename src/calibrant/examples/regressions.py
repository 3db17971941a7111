"""Examples of intervals and quantiles: prices of houses, and sales of a day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.examples.archives import frozen, load
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles


@dataclass(frozen=True, eq=False)
class HousePricesExample:
    """Held-out prediction intervals of a regression.

    Attributes
    ----------
    y : ndarray of float64, shape (3000,)
        What the house was sold for, in thousands.
    prediction : Intervals
        Split conformal intervals at the levels 0.8 and 0.9.
    calibration_size : int
        The number of houses that their width was found with, 4000.
    size : ndarray of str, shape (3000,)
        How large the house is: ``"small"`` (up to 75 square metres), ``"medium"`` or ``"large"`` (over 140).
    """

    y: NDArray[np.float64]
    prediction: Intervals
    calibration_size: int
    size: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class DemandExample:
    """Held-out quantile forecasts.

    Attributes
    ----------
    y : ndarray of int16, shape (3000,)
        How many were sold on the day.
    prediction : Quantiles
        Forecasts at the levels 0.05, 0.25, 0.5, 0.75 and 0.95.
    product : ndarray of str, shape (3000,)
        What was sold: ``"bread"``, ``"fruit"`` or ``"ice cream"``.
    """

    y: NDArray[np.int16]
    prediction: Quantiles
    product: NDArray[np.str_]


def house_prices() -> HousePricesExample:
    """Load prediction intervals of what houses are sold for.

    The houses are synthetic. The larger one is, the less its recorded features say about its price. A least-squares
    fit of log prices to 1,500 of them was made into intervals by split conformal prediction with 4,000 others; these
    are the intervals of 3,000 more. They cover as often as they say over all houses, too often for small houses and
    far too seldom for large ones.

    Returns
    -------
    HousePricesExample
        The prices, the intervals and the size of each house, as read-only arrays.

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
    arrays = load("house_prices.npz")
    prediction = Intervals(arrays["lower"], arrays["upper"], arrays["levels"])
    return HousePricesExample(frozen(arrays["y"]), prediction, int(arrays["calibration_size"]), frozen(arrays["size"]))


def demand() -> DemandExample:
    """Load quantile forecasts of how much of a product a shop sells in a day.

    The days are synthetic. Weather, weekends, holidays and discounts drive the sales, of ice cream above all. A
    network with one hidden layer was trained on 900 days, to give five quantiles of the sales; these are its forecasts
    for 3,000 others. They are too close together: where one day in ten should fall outside the outer two, one in four
    does.

    Returns
    -------
    DemandExample
        The sales, the forecasts and the product of each day, as read-only arrays.

    Examples
    --------
    >>> from calibrant import examples
    >>> days = examples.demand()
    >>> days.prediction
    Quantiles(n=3000, levels=[0.05, 0.25, 0.5, 0.75, 0.95])
    >>> round(float((days.y <= days.prediction.at(0.95).values[:, 0]).mean()), 3)
    0.854
    """
    arrays = load("demand.npz")
    prediction = Quantiles(arrays["values"], arrays["levels"])
    return DemandExample(frozen(arrays["y"]), prediction, frozen(arrays["product"]))
