"""Small sets of real model outputs, for trying the library out.

The data are synthetic, made by ``scripts/make_examples.py``; the predictions are the untouched outputs of
models fitted to them: small neural networks that were trained for too long on too few rows and are over-confident
because of it, and a conformal regression that is right on average only.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles

__all__ = [
    "ChurnExample",
    "DemandExample",
    "DigitsExample",
    "HousePricesExample",
    "churn",
    "demand",
    "digits",
    "house_prices",
]


# Comparing two examples field by field would ask arrays for one truth value, so equality is identity.
@dataclass(frozen=True, eq=False)
class ChurnExample:
    """Held-out predictions of a binary classifier.

    Attributes
    ----------
    y : ndarray of int8, shape (4000,)
        1 for a customer who left, 0 for one who stayed.
    p : ndarray of float64, shape (4000,)
        The predicted probability that the customer leaves.
    segment : ndarray of str, shape (4000,)
        The customer's plan: ``"basic"``, ``"family"``, ``"student"`` or ``"business"``.
    """

    y: NDArray[np.int8]
    p: NDArray[np.float64]
    segment: NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class DigitsExample:
    """Held-out predictions of a ten-class classifier.

    Attributes
    ----------
    y : ndarray of int8, shape (3000,)
        The digit that was drawn.
    P : ndarray of float64, shape (3000, 10)
        The predicted probability of each digit; every row sums to 1.
    """

    y: NDArray[np.int8]
    P: NDArray[np.float64]


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


def churn() -> ChurnExample:
    """Load predictions of which customers of a subscription service leave.

    The customers are synthetic. Unhappy ones use the service less, open more support tickets and leave more
    often; late payments, rival offers and the end of a contract matter as well, partly through interactions.
    A network with one hidden layer was trained on 2,500 of them; these are its predictions for 4,000 others.
    It is over-confident throughout, more so for students, whose outcome is the noisiest, and for business
    customers, who were rare in training.

    Returns
    -------
    ChurnExample
        The outcomes, the predictions and the plan of each customer, as read-only arrays.

    Examples
    --------
    >>> from calibrant import examples
    >>> customers = examples.churn()
    >>> customers.y.shape
    (4000,)
    >>> sorted(set(customers.segment.tolist()))
    ['basic', 'business', 'family', 'student']
    """
    arrays = _load("churn.npz")
    return ChurnExample(_frozen(arrays["y"]), _frozen(arrays["p"]), _frozen(arrays["segment"]))


def digits() -> DigitsExample:
    """Load predictions of which digit a small noisy picture shows.

    The pictures are synthetic: pen strokes drawn on an 8 by 8 grid, then shifted, turned, slanted, thickened
    and covered in noise. A network with one hidden layer was trained on 1,000 of them; these are its
    predictions for 3,000 others. It is right about four times in five and claims to be right more often.

    Returns
    -------
    DigitsExample
        The digits and the predicted probabilities, as read-only arrays.

    Examples
    --------
    >>> from calibrant import examples
    >>> pictures = examples.digits()
    >>> pictures.P.shape
    (3000, 10)
    """
    arrays = _load("digits.npz")
    # The file is in single precision to be small, so its rows miss 1 by more than rounding in float64.
    P = arrays["P"].astype(np.float64)
    return DigitsExample(_frozen(arrays["y"]), _frozen(P / P.sum(axis=1, keepdims=True)))


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
    arrays = _load("house_prices.npz")
    prediction = Intervals(arrays["lower"], arrays["upper"], arrays["levels"])
    return HousePricesExample(
        _frozen(arrays["y"]), prediction, int(arrays["calibration_size"]), _frozen(arrays["size"])
    )


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
    arrays = _load("demand.npz")
    prediction = Quantiles(arrays["values"], arrays["levels"])
    return DemandExample(_frozen(arrays["y"]), prediction, _frozen(arrays["product"]))


def _load(name: str) -> dict[str, NDArray[Any]]:
    """Read every array of one example file."""
    with files(__name__).joinpath(name).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, so that one user of an example cannot change it for another."""
    array.setflags(write=False)
    return array
