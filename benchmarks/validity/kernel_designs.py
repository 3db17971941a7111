"""What is simulated for kernel tests: predictions of every kind, and outcomes that follow them or do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validity.designs import Truth
from numpy.typing import NDArray

from calibrant import Distribution, Laplace, Mixture, MvNormal, Normal, Samples
from calibrant.kernels import Delta, Exponential, Gaussian

CALIBRATED = "calibrated"
SPREAD = 0.1  # standard deviation of the predictions of P21
P21_KERNEL = Exponential(1.0, "wasserstein") * Gaussian(1.0)
COVERAGE_KERNEL = Exponential(0.2, "tv") * Delta()
CLASSES_KERNEL = Exponential(0.5, "tv") * Delta()
COVERAGE_TRUTH = Truth(0.7, 0.0)


class Data(NamedTuple):
    """Outcomes, predictions, and options such as a kernel or weights."""

    y: NDArray[Any]
    prediction: Any
    options: Mapping[str, Any] = MappingProxyType({})


Draw = Callable[[np.random.Generator, int, str], Data]


def drawn_labels(rng: np.random.Generator, P: NDArray[Any]) -> NDArray[np.intp]:
    """Return one label per row, drawn from its class probabilities."""
    return (rng.random((len(P), 1)) > P.cumsum(axis=1)).sum(axis=1).clip(max=P.shape[1] - 1)


def dirichlet(K: int, alpha: float) -> Draw:
    """Class probabilities; M2: class 1 with probability 1/2, else from the prediction; M3: uniform labels."""

    def draw(rng: np.random.Generator, n: int, truth: str) -> Data:
        P = rng.dirichlet(np.full(K, alpha), n)
        y = drawn_labels(rng, P)
        if truth == "M2":
            y = np.where(rng.random(n) < 0.5, 0, y)
        elif truth == "M3":
            y = rng.integers(K, size=n)
        return Data(y, P)

    return draw


def published_normal(D: int) -> Draw:
    """N(c 1, 0.1² I), c uniform; uncalibrated: the first coordinate of the target is drawn from N(0.1, 0.1²)."""

    def draw(rng: np.random.Generator, n: int, truth: str) -> Data:
        mean = np.repeat(rng.random(n)[:, None], D, axis=1)
        y = rng.normal(mean, SPREAD)
        if truth != CALIBRATED:
            y[:, 0] = rng.normal(0.1, SPREAD, n)
        distribution: Distribution = MvNormal(mean, SPREAD**2 * np.eye(D)) if D > 1 else Normal(mean[:, 0], SPREAD)
        return Data(y if D > 1 else y[:, 0], distribution, {"kernel": P21_KERNEL})

    return draw


Numbers = Callable[[np.random.Generator, int], NDArray[Any]]


def binary(scores: Numbers, weights: Numbers | None = None) -> Draw:
    """One probability per row, outcomes drawn from it."""

    def draw(rng: np.random.Generator, n: int, truth: str) -> Data:
        p = scores(rng, n)
        options = {} if weights is None else {"weights": weights(rng, n)}
        return Data((rng.random(n) < p).astype(np.int64), p, options)

    return draw


def distorted(rng: np.random.Generator, n: int, truth: str) -> Data:
    """Uniform scores whose truth has slope 0.7 on the logit scale, and a kernel of fixed length."""
    p = rng.random(n)
    return Data(COVERAGE_TRUTH.outcomes(rng, p), p, {"kernel": COVERAGE_KERNEL})


def of_distribution(make: Callable[[np.random.Generator, int], Distribution]) -> Draw:
    """Predictive distributions, outcomes drawn from them."""

    def draw(rng: np.random.Generator, n: int, truth: str) -> Data:
        distribution = make(rng, n)
        return Data(distribution.sample(1, rng)[:, 0], distribution)

    return draw


def normal(rng: np.random.Generator, n: int) -> Distribution:
    return Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))


def laplace(rng: np.random.Generator, n: int) -> Distribution:
    return Laplace(rng.normal(size=n), rng.uniform(0.5, 2, n))


def mixture(rng: np.random.Generator, n: int) -> Distribution:
    return Mixture([normal(rng, n), normal(rng, n)], rng.dirichlet([1, 1], n))


def plane(rng: np.random.Generator, n: int) -> Distribution:
    factor = rng.normal(size=(n, 2, 2))
    return MvNormal(rng.normal(size=(n, 2)), factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(2))


def samples(M: int, *, spread: float = 1.0) -> Draw:
    """M draws per row from N(m, 1), m from N(0, spread²), and the outcome from the same distribution."""

    def draw(rng: np.random.Generator, n: int, truth: str) -> Data:
        both = rng.normal(0, spread, size=(n, 1)) + rng.normal(size=(n, M + 1))
        return Data(both[:, 0], Samples(both[:, 1:]))

    return draw


def classes_of_fixed_length(rng: np.random.Generator, n: int, truth: str) -> Data:
    """The model M2 of P19 with a kernel of fixed length."""
    return DESIGNS[P19](rng, n, "M2")._replace(options={"kernel": CLASSES_KERNEL})


P19, P21, SAME_DISTRIBUTION = "P19", "P21, D = {}", "{} draws of one distribution"
DRAWS = (4, 8, 16)

DESIGNS: dict[str, Draw] = {
    P19: dirichlet(10, 0.1),
    P21.format(1): published_normal(1),
    P21.format(10): published_normal(10),
    "uniform": binary(lambda rng, n: rng.random(n)),
    "rare": binary(lambda rng, n: rng.beta(1, 99, n)),
    "tied": binary(lambda rng, n: np.rint(10 * rng.random(n)) / 10),
    "weighted": binary(lambda rng, n: rng.random(n), lambda rng, n: rng.uniform(0.1, 2, n)),
    "lognormal": binary(lambda rng, n: rng.random(n), lambda rng, n: rng.lognormal(size=n)),
    "3 classes": dirichlet(3, 1.0),
    "30 classes": dirichlet(30, 1.0),
    "normal": of_distribution(normal),
    "Laplace": of_distribution(laplace),
    "mixture": of_distribution(mixture),
    "plane": of_distribution(plane),
    "8 draws": samples(8),
    "20 draws": samples(20),
    **{SAME_DISTRIBUTION.format(M): samples(M, spread=0.0) for M in DRAWS},
    "slope 0.7": distorted,
    "M2": classes_of_fixed_length,
}

WORDS = {
    "uniform": "one probability per row, uniform on [0, 1]",
    "rare": "one probability per row, Beta(1, 99)",
    "tied": "uniform, rounded to 0, 0.1, .., 1",
    "weighted": "uniform scores, weights uniform on [0.1, 2]",
    "lognormal": "uniform scores, lognormal weights",
    "3 classes": "class probabilities, Dirichlet(1)",
    "30 classes": "class probabilities, Dirichlet(1)",
    "normal": "Normal, means N(0, 1), standard deviations uniform on [0.5, 2]",
    "Laplace": "Laplace, locations N(0, 1), scales uniform on [0.5, 2]",
    "mixture": "two such Normal components, weights Dirichlet(1)",
    "plane": "MvNormal in two dimensions, covariances A A' + 0.1 I",
    "8 draws": "Samples: 8 draws of N(m, 1) per row, m from N(0, 1)",
    "20 draws": "the same with 20 draws",
}


@cache
def true_error(design: str) -> float:
    """Return the SKCE of a design with a kernel of fixed length: E k (d · d') with d = E[e_y - p | p]."""
    if design == "M2":  # d = (e_1 - p) / 2; the mean over two million pairs
        first, second = (np.random.default_rng(seed).dirichlet(np.full(10, 0.1), 2_000_000) for seed in (1, 2))
        k = np.exp(-0.5 * np.abs(first - second).sum(axis=1) / CLASSES_KERNEL.prediction.length)
        first[:, 0] -= 1
        second[:, 0] -= 1
        return float((k * (first * second).sum(axis=1)).mean() / 4)
    points = 3000  # d = ±(P(y = 1 | p) - p), and p is uniform: midpoints
    p = (np.arange(points) + 0.5) / points
    d = COVERAGE_TRUTH.probability(p) - p
    K = np.exp(-np.abs(p[:, None] - p) / COVERAGE_KERNEL.prediction.length)
    return float(2 * (d * (K @ d)).sum() / points**2)


def unsplit_error(data: Data) -> float:
    """Return the unbiased SKCE of one-dimensional draws with the same draws in both kernels: biased upwards.

    Kernel exp(-W₂/median) exp(-(y - y')²/(2 median²)).
    """
    y, draws = data.y, data.prediction.draws
    n, M = draws.shape
    upper = np.triu_indices(n, 1)
    ordered = np.sort(draws, axis=1)
    W = np.sqrt(np.square(ordered[:, None] - ordered).mean(axis=2))
    gap = np.abs(y[:, None] - y)
    length, target = np.median(W[upper]), np.median(gap[upper])

    def k(u: NDArray[Any]) -> NDArray[Any]:
        return np.exp(-0.5 * (u / target) ** 2)

    single = k(draws[:, :, None] - y).mean(axis=1)  # row i's distribution against outcome j
    double = k(draws.reshape(-1, 1) - draws.reshape(1, -1)).reshape(n, M, n, M).mean(axis=(1, 3))
    h = np.exp(-W / length) * (k(gap) - single - single.T + double)
    return float(h[upper].mean())
