"""Small data sets on which the laws are checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue import Entry
from calibrant.inputs.laws import Law, Normal, Samples


@dataclass(frozen=True)
class Case:
    """Outcomes, predictions and weights as a user would pass them."""

    y: Any
    prediction: Any
    weights: Any = None

    def rows(self, chosen: Any) -> Case:
        """Return the chosen rows."""
        weights = None if self.weights is None else self.weights[chosen]
        prediction = self.prediction.take(chosen) if self.is_law else self.prediction[chosen]
        return Case(self.y[chosen], prediction, weights)

    def weighted(self, weights: Any) -> Case:
        """Return the same rows with these weights."""
        return replace(self, weights=weights)

    @property
    def is_law(self) -> bool:
        """Whether the prediction is a law, whose outcomes are real numbers."""
        return isinstance(self.prediction, Law)


def cases(entry: Entry, rng: np.random.Generator, n: int = 210) -> list[Case]:
    """Return one case per kind of prediction that the verb takes and there are data for.

    There are ties, zeros and ones among the probabilities. They and real outcomes are multiples of 1/32, which float16
    holds exactly.
    """
    return [MAKERS[kind](rng, n) for kind in entry.predictions if kind in MAKERS]


def certain(entry: Entry) -> list[Case]:
    """Return predictions that are certain and right; a law never is."""
    y = np.array([0, 1, 1, 0, 1, 0, 0])
    found = {"binary": Case(y, y.astype(float)), "classes": Case(y, np.eye(3)[y])}
    return [found[kind] for kind in entry.predictions if kind in found]


def on_edges(rng: np.random.Generator, m: int) -> Case:
    """Return scores k/m, each three times, where bins of width 1/m meet."""
    p = np.repeat(np.arange(m + 1) / m, 3)
    return Case((rng.random(p.size) < 0.2 + 0.6 * p).astype(int), p)


def _binary(rng: np.random.Generator, n: int) -> Case:
    p = rng.integers(0, 33, n) / 32
    p[:4] = [0.0, 1.0, 0.5, 0.5]
    y = (rng.random(n) < p**0.7).astype(int)
    return Case(y, p)


def _classes(rng: np.random.Generator, n: int, K: int = 4) -> Case:
    P = rng.multinomial(32, rng.dirichlet(np.full(K, 0.7), size=n)) / 32
    y = np.array([rng.choice(K, p=row) for row in 0.8 * P + 0.2 / K])
    return Case(y, P)


def _laws(rng: np.random.Generator, n: int) -> Case:
    return Case(_outcomes(rng, n), Normal(rng.integers(-64, 65, n) / 32, rng.integers(8, 65, n) / 32))


def _samples(rng: np.random.Generator, n: int, M: int = 6) -> Case:
    return Case(_outcomes(rng, n), Samples(rng.integers(-64, 65, (n, M)) / 32))


def _outcomes(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Return outcomes of which no two are alike: rows are told apart by them."""
    return np.asarray(rng.choice(np.arange(-128, 129), n, replace=False) / 32)


MAKERS = {"binary": _binary, "classes": _classes, "laws": _laws, "samples": _samples}
