"""Vendi scores of several sets of points that compare: one length scale, one number of points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import InputError, shown
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.point_order import point_order
from calibrant.inputs.points import random_part, read_points
from calibrant.inputs.weights import FloatArray, unit_weights
from calibrant.kernels.median import MOST_ROWS
from calibrant.metrics.vendi_score import diversity, read_order, refuse_zero_rows, similarity
from calibrant.primitives.kernel_spectrum import Similarity
from calibrant.progress import steps


class SubsetScore(NamedTuple):
    """Score of one set: mean and standard deviation over random subsets; the latter is 0 if all points were scored."""

    mean: float
    sd: float


class VendiScores(NamedTuple):
    """Scores of several sets by one kernel."""

    scores: dict[str, SubsetScore]
    n: int  # points of each set, or of each subset
    order: float
    kernel: Similarity  # with its length scale


def vendi_scores(
    sets: Mapping[str, Any],
    *,
    order: float = 1,
    kernel: Any = "gaussian",
    bandwidth: Any = "median",
    repeats: int = 20,
    rng: Any,
) -> VendiScores:
    """Score several sets so that the scores compare, which grow with n and hang on the length scale.

    Parameters
    ----------
    sets
        Points (n_k, d) by name, with the same d.
    order, kernel, bandwidth
        As in `vendi_score`. ``"median"`` is one length scale for all sets: the median distance of two points of a pool
        with equally many of each set, so that none decides the scale by being large. They are as many as the smallest
        set has, at most 4096 over the number of sets, and drawn at random from a set that has more. Sets of equal size
        with at most 4096 points together are pooled whole.
    repeats
        How many random subsets of n points, n the size of the smallest set, are scored of each larger set; their mean
        is its score. Their standard deviation is that over subsets of this one set, and understates that over new sets
        where n is a good part of it.
    rng
        A Generator or a whole number.

    Returns
    -------
    VendiScores
        `scores` by name, `n`, and the `kernel` with its length scale.

    Examples
    --------
    The second set has three places far apart, the first one has two; three points of each are scored.

    >>> found = vendi_scores({"a": [[0], [0], [9], [9]], "b": [[0], [9], [18]]}, bandwidth=0.1, rng=0)
    >>> found.n, round(found.scores["a"].mean, 4), round(found.scores["b"].mean, 4)
    (3, 1.8899, 3.0)
    """
    q, chance, many = read_order(order), generator(rng), check_count("repeats", repeats)
    read = _read(sets)
    if isinstance(kernel, str) and kernel == "cosine":
        for name, X in read.items():
            refuse_zero_rows(X, np.arange(len(X)), f"set {name!r}")
    read = {name: X[point_order(X)] for name, X in read.items()}  # what is drawn does not depend on the order of rows
    n = min(map(len, read.values()))
    found = similarity(kernel, bandwidth, _pool(list(read.values()), chance), chance)
    wanted = [(name, X) for name, X in read.items() for _ in range(many if len(X) > n else 1)]
    values: dict[str, list[float]] = {name: [] for name in read}
    for k, _ in steps(len(wanted), size=1, label="scoring subsets"):
        name, X = wanted[k]
        values[name].append(diversity(random_part(X, n, chance), unit_weights(n), found, q))
    scores = {name: SubsetScore(float(np.mean(v)), _sd(v)) for name, v in values.items()}
    return VendiScores(scores, n, q, found)


def _read(sets: Any) -> dict[str, FloatArray]:
    """Return the points of each set."""
    if not isinstance(sets, Mapping) or not sets:
        raise InputError(f"sets must be points by name, such as {{'a': a, 'b': b}}; got {shown(sets)}")
    read = {str(name): read_points(points, f"set {str(name)!r}", least=1) for name, points in sets.items()}
    columns = {name: X.shape[1] for name, X in read.items()}
    if len(set(columns.values())) > 1:
        raise InputError(f"all sets must have the same number of columns; got {columns}")
    return read


def _pool(sets: list[FloatArray], rng: np.random.Generator) -> FloatArray:
    share = min(max(1, MOST_ROWS // len(sets)), *map(len, sets))
    return np.concatenate([random_part(X, share, rng) for X in sets])


def _sd(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
