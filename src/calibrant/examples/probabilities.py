"""Examples of probabilities: customers who leave, and pictures of digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.examples.archives import frozen, load


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
    arrays = load("churn.npz")
    return ChurnExample(frozen(arrays["y"]), frozen(arrays["p"]), frozen(arrays["segment"]))


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
    arrays = load("digits.npz")
    # The file is in single precision to be small, so its rows miss 1 by more than rounding in float64.
    P = arrays["P"].astype(np.float64)
    return DigitsExample(frozen(arrays["y"]), frozen(P / P.sum(axis=1, keepdims=True)))
