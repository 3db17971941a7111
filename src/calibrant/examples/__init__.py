"""Small sets of real model outputs, for trying the library out.

The data are synthetic, made by ``scripts/make_examples.py``, except for the handwritten digits of `generated`. The
predictions are the unchanged outputs of models fitted to them: small neural networks that were trained for too long on
too few rows and are over-confident, a conformal regression that is right only on average, a weather model with an
error, and a mixture with too few components.
"""

from __future__ import annotations

from calibrant.examples.data import (
    ChurnExample,
    DemandExample,
    DigitsExample,
    EnsembleExample,
    GeneratedExample,
    HousePricesExample,
    PosteriorExample,
    churn,
    demand,
    digits,
    ensemble,
    generated,
    house_prices,
    posterior,
)

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
