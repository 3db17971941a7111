"""Differences of the cutoff errors of two models on the same rows.

The page of `compare_predictions` says how limits are found. It matters which stretch is the true worst one of the
first model: the noises of errors of opposite sign add up. The noises of both models come from the same outcomes and
are drawn together, so models that err alike are told apart by fewer rows than with separate limits.

Rows of one cluster may depend on each other. The covariance of the noise is then that of cluster sums, enlarged as in
the tests with clusters (`probabilities/clusters.py`), and the draws are those of Student's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.core.bins import width_edges
from calibrant.core.limits import Noise
from calibrant.core.ordered import Ordered
from calibrant.core.results import Pair
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.probabilities import Binary
from calibrant.probabilities.clusters import Clusters

PLACES = 64  # along the walk of cumulative differences, at which the noise is drawn
NEAR = 2.5  # standard deviations below the largest deviation: stretches whose noise may make them the worst
NEAR_TRUE = 1.5  # the same of one that is the worst in truth, which its own noise hides
MIN_DRAWS, MAX_DRAWS = 2000, 20_000
BEYOND = 100  # draws beyond a limit
LEAST_BEYOND = 10
SEED = 0


@dataclass(frozen=True, eq=False)
class Walk:
    """The cumulative differences of one model at some places, and what each row adds."""

    p: FloatArray
    deviation: FloatArray  # (n,), w (y - p)/W, scaled up if outcomes vary less than the scores say
    stretch: NDArray[np.intp]  # (n,), the number of the place before which the row stands
    unit: NDArray[np.intp]  # (n,), the number of the cluster, or of the row
    at: FloatArray  # (places + 1,), from 0 on
    scale: float  # standard deviation of the noise over the stretch where it varies most
    freedom: float  # degrees of freedom of the draws

    @classmethod
    def of(cls, rows: Binary, clusters: NDArray[np.intp] | None = None) -> Walk:
        """Return the walk of these rows, with places at ends of ties: even ones, and those of both extremes.

        Rows with the same number in `clusters` may depend on each other.
        """
        p, w = rows.p.astype(np.float64), np.asarray(rows.w, dtype=np.float64)
        summary = Ordered.of(rows)
        noise = Noise.of_table(summary.bins(width_edges(1)), summary.weight_max)
        noise.check("differences of the cutoff error")
        r, order = w * (rows.y - p) / w.sum(), np.argsort(p, kind="stable")
        ends = np.flatnonzero(np.append(np.diff(p[order]) > 0, True))  # last rows of ties
        whole = np.cumsum(r[order])[ends]
        even = np.linspace(0, ends.size - 1, PLACES).astype(np.intp)
        chosen = np.unique(np.append(even, [whole.argmax(), whole.argmin()]))
        stretch = np.empty(p.size, dtype=np.intp)
        stretch[order] = np.searchsorted(ends[chosen], np.arange(p.size))
        at = np.append(0.0, whole[chosen])
        if clusters is None:
            grown = max(1.0, noise.scale / math.sqrt(float((r * r).sum())))
            return cls(p, r * grown, stretch, np.arange(p.size), at, noise.scale, math.inf)
        found = Clusters.of(rows, clusters)
        found.check()
        grown = found.inflation * max(1.0, noise.scale / found.scale)
        return cls(p, r * grown, stretch, clusters, at, found.scale * grown, found.effective - 1)

    @property
    def error(self) -> float:
        return float(np.ptp(self.at))

    def near(self, deviations: float) -> NDArray[np.bool_]:
        """Tell which stretches, from the second place to the first, are so many standard deviations from the worst."""
        return np.asarray(self.at[:, None] - self.at[None, :] >= self.error - deviations * self.scale)

    def over_the_worst(self, noise: FloatArray) -> FloatArray:
        return np.asarray(noise[self.at.argmax()] - noise[self.at.argmin()])

    def apart_from(self, other: FloatArray, noise: FloatArray) -> FloatArray:
        """Return the noise over the stretch, of those that may be the worst, that differs most from `other`."""
        covariance, common = noise @ noise.T, noise @ other
        square = np.diag(covariance)
        apart = square[:, None] + square - 2 * covariance - 2 * (common[:, None] - common)
        high, low = np.unravel_index(np.where(self.near(NEAR_TRUE), apart, -np.inf).argmax(), apart.shape)
        return np.asarray(noise[high] - noise[low])

    def most_near_the_worst(self, noise: FloatArray) -> FloatArray:
        """Return the largest noise over stretches that may be the worst, (draws,)."""
        most = [noise[k] - noise[low].min(axis=0) for k, low in enumerate(self.near(NEAR)) if low.any()]
        return np.asarray(np.max(most, axis=0))


@dataclass(frozen=True, eq=False)
class CutoffDifferences:
    """Differences of cutoff errors, with limits from joint draws of the noise of both models."""

    walks: dict[str, Walk]

    @property
    def method(self) -> str:
        draws = "normal draws" if math.isinf(next(iter(self.walks.values())).freedom) else "draws by clusters"
        return f"difference of the estimates; {draws} of the noise of both models over stretches near the worst"

    def value(self, name: str) -> float:
        return self.walks[name].error

    def pair(self, metric: str, first: str, second: str, rate: float) -> Pair:
        a, b = self.walks[first], self.walks[second]
        if np.array_equal(a.p, b.p) and np.array_equal(a.deviation, b.deviation):  # top labels have other outcomes
            return Pair(metric, first, second, 0.0, 0.0, 0.0, 1.0)
        draws = _number_of_draws(rate)
        down, up = _excesses(a, b, draws)
        difference = a.error - b.error
        low, high = (float(np.quantile(each, 1 - rate / 2, axis=1, method="higher").max()) for each in (down, up))
        beyond = 1 + min(int((each >= d).sum(axis=1).max()) for each, d in ((down, difference), (up, -difference)))
        pvalue = min(1.0, 2 * beyond / (draws + 1))
        return Pair(metric, first, second, difference, difference - low, difference + high, pvalue)


def _number_of_draws(rate: float) -> int:
    draws = min(MAX_DRAWS, max(MIN_DRAWS, math.ceil(2 * BEYOND / rate)))
    if draws * rate / 2 < LEAST_BEYOND:
        raise NotApplicableError(
            f"limits of differences of cutoff_error need an error rate of {2 * LEAST_BEYOND / MAX_DRAWS:g} or more for "
            f"each pair; got {rate:.2g}. Compare fewer models or metrics at once, or at a lower level"
        )
    return draws


def _excesses(a: Walk, b: Walk, draws: int) -> tuple[FloatArray, FloatArray]:
    """Draw by how much the difference of the estimates can exceed the true one, and the reverse: (2, draws).

    Rows are for two stretches that may be the worst of the subtracted model: the one that was seen, and the one whose
    noise differs most from that of the other model.
    """
    root, rng = _covariance_root(a, b), np.random.default_rng(SEED)
    steps = root @ rng.normal(size=(len(root), draws))
    freedom = min(a.freedom, b.freedom)
    if math.isfinite(freedom):
        steps *= np.sqrt(freedom / rng.chisquare(freedom, draws))
    of_a, of_b = (np.cumsum(part, axis=0) for part in np.split(steps, [a.at.size - 1]))
    of_a, of_b = (np.concatenate([np.zeros((1, draws)), noise]) for noise in (of_a, of_b))
    worst_a, worst_b = a.over_the_worst(of_a), b.over_the_worst(of_b)
    down = a.most_near_the_worst(of_a) - np.stack([worst_b, b.apart_from(worst_a, of_b)])
    up = b.most_near_the_worst(of_b) - np.stack([worst_a, a.apart_from(worst_b, of_a)])
    return down, up


def _covariance_root(a: Walk, b: Walk) -> FloatArray:
    from scipy.sparse import coo_array

    first = a.at.size - 1
    step = np.concatenate([a.stretch, first + b.stretch])
    unit = np.concatenate([a.unit, b.unit])
    shape = (first + b.at.size - 1, int(unit.max()) + 1)
    sums = coo_array((np.concatenate([a.deviation, b.deviation]), (step, unit)), shape=shape).tocsr()
    values, vectors = np.linalg.eigh((sums @ sums.T).toarray())
    # The symmetric root is continuous in the covariance: the order of the rows does not change the draws.
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
