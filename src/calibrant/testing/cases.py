"""Small data sets on which the laws are checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.catalogue import Entry


@dataclass(frozen=True)
class Case:
    """Outcomes, predictions and weights as a user would pass them."""

    y: Any
    prediction: Any
    weights: Any = None

    def rows(self, chosen: Any) -> Case:
        """Return the chosen rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return Case(self.y[chosen], self.prediction[chosen], weights)

    def weighted(self, weights: Any) -> Case:
        """Return the same rows with these weights."""
        return replace(self, weights=weights)


def cases(entry: Entry, rng: np.random.Generator, n: int = 210) -> list[Case]:
    """Return one case per kind of prediction the verb takes: ties, zeros and ones among the probabilities.

    All probabilities are multiples of 1/32, which float16 holds exactly.
    """
    return [_binary(rng, n) if kind == "binary" else _classes(rng, n) for kind in entry.predictions]


def certain(entry: Entry) -> list[Case]:
    """Return predictions that are certain and right."""
    y = np.array([0, 1, 1, 0, 1, 0, 0])
    return [Case(y, y.astype(float)) if kind == "binary" else Case(y, np.eye(3)[y]) for kind in entry.predictions]


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
