"""`summarize`: the summary of a batch that a verb needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels
from calibrant.core.catalogue import Entry, find, is_verb
from calibrant.core.summary import Summary
from calibrant.errors import InputError
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets

OF_POINTS = ("mmd", "mmd_test", "kernel_distance", "frechet_distance")  # verbs of sets of points that have a summary


def summarize(
    metric: Callable[..., Any] | str,
    y: ArrayLike | None,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary from which a verb with these options is computed.

    Summaries of batches add up: ``ece(summarize(ece, y1, p1) + summarize(ece, y2, p2))`` is the value of all rows,
    and no batch needs to be kept. Pass the same options to the verb. The summary of a verb that returns ranks are their
    counts, `Ranks`, which every test and curve of ranks takes: ``uniformity_test(summarize(joint_ranks, y, samples))``.

    Parameters
    ----------
    metric
        The verb or its name.
    y, prediction, weights, classes, pos_label
        As for the verb itself; verbs that return ranks take weights here.
    **options
        Options of the verb.

    Examples
    --------
    >>> from calibrant import ece
    >>> batches = [([0, 1], [0.2, 0.6]), ([1, 1], [0.8, 0.4])]
    >>> total = sum(summarize(ece, y, p, bins=2) for y, p in batches)
    >>> total
    Grid(n=4)
    >>> round(ece(total, bins=2), 3)
    0.25
    """
    entry = _find(metric)
    parsed = entry.parse(options)  # a misspelt option is refused before the rows are read
    rows = entry.read(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
    return entry.summarise(rows, parsed)


def _find(metric: Any) -> Entry[Any, Any]:
    given = getattr(metric, "__name__", metric)
    if isinstance(given, str) and given in OF_POINTS and not is_verb(metric):
        raise InputError(
            f"{given} compares sets of points, not outcomes with predictions; its batches are added up by "
            "points.PointBlocks.of(y, points) (mmd, kernel_distance) or points.PointMoments.of(points) "
            "(frechet_distance)"
        )
    return find(metric, ranks=True)
