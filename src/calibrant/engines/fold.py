"""From any iterator of batches to one summary."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from calibrant.core.catalogue import find
from calibrant.core.summary import Summary
from calibrant.engines.measuring import Measuring
from calibrant.engines.running import Running
from calibrant.engines.summarizing import Summarizing
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.columns import Batch
from calibrant.inputs.options import check_choice
from calibrant.progress import counted

FEWEST, MOST = 2, 3  # entries of a batch


def fold(
    metric: Any,
    batches: Iterable[Any],
    *,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary of all rows of an iterator of batches, of which one is in memory at a time.

    What the verb takes in place of outcomes and predictions: ``ece(fold(ece, batches))`` is the value of all rows. A
    refusal names the batch. `measure` asks many verbs in one pass.

    Parameters
    ----------
    metric
        The verb or its name.
    batches
        Tuples (y, prediction) or (y, prediction, weights), from a list, a generator, a data loader, or the batches of
        `scan`.
    exact
        Whether the verb may keep what grows with the rows. Without it the summary has a constant size: rows of one
        probability are counted in the cells of a `Grid` where that will do, with a stated rounding, and a verb that
        needs more is refused. With it, sorted rows that outgrow memory are kept on disk as long as the summary lives.
    classes, pos_label
        As for the verb itself, for all batches.
    **options
        Options of the verb; pass the same ones when you measure.

    Returns
    -------
    Summary

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
    check_choice("exact", exact, False, True)
    if find(metric, ranks=True).kind == "ranks":
        ranking = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
        return ranking.finish(total_of(batches, ranking.part))
    wanted = functools.partial(find(metric).verb, **options)
    job = Measuring.of(wanted, exact=exact, classes=classes, pos_label=pos_label)
    return job.checked(total_of(batches, job.part)).parts[0]


def total_of(batches: Iterable[Any], part: Callable[[Batch], Summary]) -> Summary:
    """Return the merged summaries of batches; a refusal names the batch."""
    running, number = Running(spill=True), -1
    for number, batch in enumerate(counted(_iterator(batches), label="folding batches")):
        opened = _opened(batch, number)
        try:
            if not opened.weightless:
                running.add(part(opened))
        except (InputError, SummaryError) as problem:
            raise problem.within("batch {number}: ", number=number) from problem
    total = running.total()
    if total is None and number < 0:
        raise InputError("there are no batches: the iterator is empty; at least one batch is needed")
    if total is None:
        raise InputError(f"weights must not all be 0; those of all {number + 1:,} batches are")
    return total


def _iterator(batches: Any) -> Iterator[Any]:
    try:
        return iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be an iterable of (y, prediction) or (y, prediction, weights); got {shown(batches)}"
        ) from None


def _opened(batch: Any, number: int) -> Batch:
    """Return the entries of a batch; an array of two or three rows is no batch."""
    if isinstance(batch, Batch):
        return batch._replace(number=number)
    if not isinstance(batch, (tuple, list)) or not FEWEST <= len(batch) <= MOST:
        raise InputError(
            f"batch {number} must be a tuple (y, prediction) or (y, prediction, weights); got {shown(batch)} "
            f"({type(batch).__name__})"
        )
    y, prediction, *weights = batch
    return Batch(y, prediction, weights[0] if weights else None, number=number)
