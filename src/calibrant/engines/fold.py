"""From any iterator of batches to one summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from calibrant.catalogue import summarize
from calibrant.engines.merging import Merging
from calibrant.errors import InputError, SummaryError, shown
from calibrant.progress import counted
from calibrant.summaries import Summary

FEWEST, MOST = 2, 3  # entries of a batch


def fold(metric: Any, batches: Iterable[Any], *, classes: Any = None, pos_label: Any = None, **options: Any) -> Summary:
    """Return the summary of all rows of an iterator of batches, of which one is in memory at a time.

    The same as the sum of `summarize` over the batches, with two differences: a refusal names the batch, and summaries
    that grow with their rows are merged in pairs of equal size, so that a thousand batches take ten merges of each row
    and not a thousand.

    Parameters
    ----------
    metric
        The verb or its name.
    batches
        Tuples (y, prediction) or (y, prediction, weights), from a list, a generator, a data loader.
    classes, pos_label
        As for the verb itself, for all batches.
    **options
        Options of the verb; pass the same ones when you measure.

    Returns
    -------
    Summary
        What the verb takes in place of outcomes and predictions. How large it is depends on the verb: a `Moments` or a
        `Grid` has a constant size, an `Ordered` grows with the number of different scores.

    Notes
    -----
    The same batches give the same bits. Batches cut elsewhere give the same value up to the rounding of sums.

    Examples
    --------
    >>> from calibrant import ece
    >>> batches = (([0, 1], [0.2, 0.6]), ([1, 1], [0.8, 0.4]))
    >>> total = fold(ece, iter(batches), bins=2)
    >>> total
    Grid(n=4)
    >>> round(ece(total, bins=2), 3)
    0.25
    """
    merging: Merging[Summary] = Merging()
    for number, batch in enumerate(counted(_iterator(batches), label="folding batches")):
        y, prediction, weights = _opened(batch, number)
        try:
            merging.add(
                summarize(metric, y, prediction, weights=weights, classes=classes, pos_label=pos_label, **options)
            )
        except (InputError, SummaryError) as problem:
            raise type(problem)(f"batch {number}: {problem}") from problem
    total = merging.total()
    if total is None:
        raise InputError("there are no batches: the iterator is empty; at least one batch is needed")
    return total


def _iterator(batches: Any) -> Iterator[Any]:
    try:
        return iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be an iterable of (y, prediction) or (y, prediction, weights); got {shown(batches)}"
        ) from None


def _opened(batch: Any, number: int) -> tuple[Any, Any, Any]:
    """Return the entries of a batch; an array of two or three rows is no batch."""
    if not isinstance(batch, (tuple, list)) or not FEWEST <= len(batch) <= MOST:
        raise InputError(
            f"batch {number} must be a tuple (y, prediction) or (y, prediction, weights); got {shown(batch)} "
            f"({type(batch).__name__})"
        )
    y, prediction, *weights = batch
    return y, prediction, weights[0] if weights else None
