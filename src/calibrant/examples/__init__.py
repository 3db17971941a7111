"""Small sets of real model outputs, for trying the library out.

The data are synthetic, made by ``scripts/make_examples.py``, except for the handwritten digits of `generated`; the
predictions are the untouched outputs of models fitted to them: small neural networks that were trained for too long on
too few rows and are over-confident because of it, a conformal regression that is right on average only, a weather model
that lacks something, and a mixture with too few components.
"""

from __future__ import annotations

from calibrant.examples.points import GeneratedExample, generated
from calibrant.examples.probabilities import ChurnExample, DigitsExample, churn, digits
from calibrant.examples.regressions import DemandExample, HousePricesExample, demand, house_prices
from calibrant.examples.samples import EnsembleExample, PosteriorExample, ensemble, posterior

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
