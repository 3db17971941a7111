"""Data for which the gain of a map on new rows is known: every kind of prediction, right and wrong in a known way.

The gain of a map is its mean over a fixed sample of new rows. For probabilities it is the expectation given the scores,
which are quantiles of a million draws; for other predictions there are 60,000 new rows (20,000 of draws).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validity.designs import HARD_SCORES, SCORES, Truth
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri, softmax

from calibrant import Intervals, Normal, Quantiles, Samples
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.recalibrating.cross_fitting import scores_after, scores_before
from calibrant.recalibrating.fitting import CalibrationRows, read_calibration
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibration import Recalibration

FloatArray = NDArray[np.float64]
Rng = np.random.Generator
SEED = 4242
NEW_SCORES, NEW_VECTORS, NEW_ROWS, NEW_ENSEMBLES = 10_000, 10_000, 60_000, 20_000
SHARED = 0.3  # correlation of the outcomes of one cluster
MEMORY = 0.8  # of the outcomes of neighbouring rows
CLUSTER = 10  # rows
RETURN = 100  # rows over which the rows of a cluster in time are spread


class Drawn(NamedTuple):
    """Outcomes, predictions, and the options that say how rows depend on each other."""

    y: NDArray[Any]
    prediction: Any
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


@dataclass(frozen=True)
class Events:
    """Probabilities of an event.

    `dependence` is "clusters" of rows that share a score and whose outcomes have a common cause, "clusters in time"
    that return a few times over the next rows, "time" for outcomes with a memory, "weights" that are lognormal, or
    nothing.
    """

    scores: Callable[[Rng, int], FloatArray]
    truth: Callable[[FloatArray], FloatArray]
    clip: float | None = None
    dependence: str = ""

    def draw(self, rng: Rng, n: int) -> Drawn:
        """Draw rows."""
        if self.dependence.startswith("clusters"):
            cluster = np.arange(n) // CLUSTER
            if self.dependence == "clusters in time":
                cluster = cluster[np.argsort(np.arange(n) + RETURN * rng.random(n))]
            number = int(cluster.max()) + 1
            p = self.scores(rng, number)[cluster]
            common = rng.normal(size=number)[cluster]
            z = np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * rng.normal(size=n)
            y = (ndtr(z) < self.truth(p)).astype(int)
            in_time = {"time": np.arange(n)} if self.dependence == "clusters in time" else {}
            return Drawn(y, p, {"clusters": cluster, **in_time})
        p = self.scores(rng, n)
        if self.dependence == "time":
            z = np.empty(n)
            z[0] = rng.normal()
            noise = np.sqrt(1 - MEMORY**2) * rng.normal(size=n)
            for i in range(1, n):
                z[i] = MEMORY * z[i - 1] + noise[i]
            return Drawn((ndtr(z) < self.truth(p)).astype(int), p, {"time": np.arange(n)})
        y = (rng.random(n) < self.truth(p)).astype(int)
        return Drawn(y, p, {"weights": np.exp(rng.normal(size=n))} if self.dependence == "weights" else {})

    @cached_property
    def new(self) -> FloatArray:
        """Quantiles of the scores."""
        drawn = np.sort(self.scores(np.random.default_rng(SEED), 100 * NEW_SCORES))
        return drawn[50::100].copy()

    def gain(self, found: Recalibration, options: FitOptions) -> float:
        """Return the expected gain of a map on a new row."""
        p, q = self.new, self.truth(self.new)
        total = np.zeros(p.size)
        for outcome, share in ((1, q), (0, 1 - q)):
            rows = CalibrationRows(Binary(np.full(p.size, outcome, np.uint8), p, np.ones(p.size)), "binary")
            possible = share > 0
            with np.errstate(invalid="ignore"):
                d = scores_before(rows, options) - scores_after(found, rows, options)
            total[possible] += share[possible] * d[possible]
        return float(total.mean())


@dataclass(frozen=True)
class Vectors:
    """Class probabilities softmax(spread N), and outcomes from softmax(slope ln P + bias)."""

    K: int
    slope: float = 1.0
    bias: float = 0.0  # of the first class
    spread: float = 1.5
    clip: float | None = None

    def draw(self, rng: Rng, n: int) -> Drawn:
        """Draw rows."""
        P = softmax(self.spread * rng.normal(size=(n, self.K)), axis=1)
        y = (rng.random((n, 1)) > self.truth(P).cumsum(axis=1)).sum(axis=1)
        return Drawn(np.minimum(y, self.K - 1), P)

    def truth(self, P: FloatArray) -> FloatArray:
        """Return the probability of each class."""
        shift = np.where(np.arange(self.K) == 0, self.bias, 0.0)
        return np.asarray(softmax(self.slope * np.log(P) + shift, axis=1))

    @cached_property
    def new(self) -> FloatArray:
        """New predictions."""
        return np.asarray(self.draw(np.random.default_rng(SEED), NEW_VECTORS).prediction)

    def gain(self, found: Recalibration, options: FitOptions) -> float:
        """Return the expected gain of a map on a new row."""
        P, Q = self.new, self.truth(self.new)
        total = np.zeros(len(P))
        for k in range(self.K):
            classes = Classes(np.full(len(P), k), P, np.ones(len(P)))
            rows = CalibrationRows(classes, "classes", tuple(range(self.K)))
            total += Q[:, k] * (scores_before(rows, options) - scores_after(found, rows, options))
        return float(total.mean())


def _normal(rng: Rng, n: int) -> FloatArray:
    return rng.normal(size=n)


def _heavy(rng: Rng, n: int) -> FloatArray:
    return np.asarray(rng.standard_t(5, n))


def _outliers(rng: Rng, n: int) -> FloatArray:
    return np.asarray(rng.normal(size=n) * np.where(rng.random(n) < 0.02, 6.0, 1.0))


NOISE = {"normal": _normal, "t, 5 df": _heavy, "2 % outliers": _outliers}


@dataclass(frozen=True)
class Numbers:
    """Real outcomes m + s (shift + noise); predictions state the mean m and the standard deviation factor · s."""

    kind: str
    factor: float = 1.0
    shift: float = 0.0
    noise: str = "normal"
    clip: float | None = None
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def draw(self, rng: Rng, n: int) -> Drawn:
        """Draw rows."""
        m, s = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
        y = m + s * (self.shift + NOISE[self.noise](rng, n))
        stated = self.factor * s
        if self.kind == "intervals":
            half = ndtri(0.95) * stated
            return Drawn(y, Intervals(m - half, m + half, 0.9))
        if self.kind == "quantiles":
            levels = np.array([0.1, 0.5, 0.9])
            return Drawn(y, Quantiles(m[:, None] + stated[:, None] * ndtri(levels), levels))
        if self.kind == "samples":
            return Drawn(y, Samples(m[:, None] + stated[:, None] * rng.normal(size=(n, 20))))
        return Drawn(y, Normal(m, stated))

    @cached_property
    def new(self) -> CalibrationRows:
        """New rows."""
        n = NEW_ENSEMBLES if self.kind == "samples" else NEW_ROWS
        drawn = self.draw(np.random.default_rng(SEED), n)
        return read_calibration(drawn.y, drawn.prediction)

    def gain(self, found: Recalibration, options: FitOptions) -> float:
        """Return the mean gain of a map on new rows."""
        return float((scores_before(self.new, options) - scores_after(found, self.new, options)).mean())


def wave(p: FloatArray) -> FloatArray:
    """Too low in the middle and too high at both ends, or the reverse."""
    return p + 0.3 * p * (1 - p) * np.cos(4 * np.pi * p)


TRUTHS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": Truth(1.0, 0.0).probability,
    "slope 0.9": Truth(0.9, 0.0).probability,
    "slope 0.6": Truth(0.6, 0.0).probability,
    "shift 0.7": Truth(1.0, 0.7).probability,
    "wave": wave,
}
CLIPPED = ("tied", "zeros", "92 % zeros", "confident")  # scores of 0 and 1, or so near that they are rounded to it
CLIP = 0.001


def _noisy(rng: Rng, n: int) -> FloatArray:
    return np.asarray(rng.choice([0.02, 0.98], n))


def _far(rng: Rng, n: int) -> FloatArray:
    """Logits with the tails of Student's t with 2 degrees of freedom, not beyond 12."""
    return np.asarray(expit(np.clip(rng.standard_t(2, n), -12, 12)))


def _spiked(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.01, 0.9995, rng.random(n))


def _half(rng: Rng, n: int) -> FloatArray:
    """Return scores near ½, which hardly tell events apart."""
    return np.asarray(0.5 + 0.05 * rng.normal(size=n).clip(-3, 3))


OWN_SCORES: dict[str, Callable[[Rng, int], FloatArray]] = {
    "far logits": _far,
    "near 1/2": _half,
    "two scores": _noisy,
    "spike": _spiked,
}
OWN_TRUTHS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "calibrated": TRUTHS["calibrated"],
    "slope 0.6": TRUTHS["slope 0.6"],
    "steps": lambda p: np.where(p < 0.5, 0.3, 0.7),
    "inverted": lambda p: expit(-0.3 * logit(p)),
    "spike at 1/2": lambda p: np.where(p == 0.9995, 0.5, p),
}
OWN_PAIRS = (
    ("far logits", "calibrated"),
    ("far logits", "slope 0.6"),
    ("near 1/2", "calibrated"),
    ("near 1/2", "steps"),
    ("two scores", "calibrated"),
    ("two scores", "slope 0.6"),
    ("spike", "calibrated"),
    ("spike", "spike at 1/2"),
    ("far logits", "inverted"),
    ("near 1/2", "inverted"),
)
ALL_SCORES = {**SCORES, **HARD_SCORES, **OWN_SCORES}
ALL_TRUTHS = {**TRUTHS, **OWN_TRUTHS}
VECTORS = {
    "calibrated": {},
    "slope 0.77": {"slope": 1 / 1.3},
    "slope 0.56": {"slope": 1 / 1.8},
    "one class": {"bias": 0.7},
}
NUMBERS: dict[str, dict[str, Any]] = {
    "calibrated": {},
    "too narrow": {"factor": 0.7},
    "too wide": {"factor": 1.4},
    "shifted": {"shift": 0.3},
    "t, 5 df": {"noise": "t, 5 df", "factor": np.sqrt(5 / 3)},
    "2 % outliers": {"noise": "2 % outliers"},
}


def events(scores: str, truth: str, dependence: str = "") -> Events:
    """Return a design of probabilities of an event by the names of its parts."""
    return Events(ALL_SCORES[scores], ALL_TRUTHS[truth], CLIP if scores in CLIPPED else None, dependence)
