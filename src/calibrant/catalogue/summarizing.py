"""Summaries of batches, by the verb they are for."""

from __future__ import annotations

from typing import Any

from calibrant.catalogue.entries import find
from calibrant.catalogue.rank_verbs import RANKINGS
from calibrant.summaries import Summary


def summarize(
    metric: Any,
    y: Any,
    prediction: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary that a verb with these options is a function of.

    Summaries of batches add up: ``ece(summarize(ece, y1, p1) + summarize(ece, y2, p2))`` is the value of all rows,
    and no batch needs to be kept. Pass the same options to the verb.

    Parameters
    ----------
    metric
        The verb or its name.
    y, prediction, weights, classes, pos_label
        As for the verb itself.
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
    ranking = RANKINGS.get(getattr(metric, "__name__", metric)) if callable(metric) or isinstance(metric, str) else None
    if ranking is not None:
        return ranking.summary(y, prediction, weights, options)
    entry = find(metric)
    rows = entry.read(y, prediction, weights=weights, classes=classes, pos_label=pos_label)
    return entry.summarise(rows, **entry.completed(options))
