"""Any number of verbs, or the summary of one, over any iterator of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from calibrant.core.catalogue import find, public
from calibrant.core.summary import Summary
from calibrant.engines.batches import NamedArrays, is_empty
from calibrant.engines.jobs import Measured, Measuring, Summarizing
from calibrant.engines.merging import Merging
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.columns import Batch, NamedColumns
from calibrant.progress import counted

MIN_ENTRIES, MAX_ENTRIES = 2, 3  # entries of a batch


@public
def fold(
    metric: Any,
    batches: Iterable[Any],
    *,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary of all rows of an iterator of batches, with one batch in memory at a time.

    A verb takes it in place of outcomes and predictions: ``ece(fold(ece, batches))`` is the value of all rows. An error
    names the batch. `measure` measures with many verbs in one pass.

    Parameters
    ----------
    metric
        The verb or its name.
    batches
        Tuples (y, prediction) or (y, prediction, weights), from a list, a generator, a data loader, or the batches of
        `scan`. Batches without rows are skipped.
    exact
        Whether the verb may keep what grows with the rows. Without it the summary has a constant size: rows of one
        probability are counted in the cells of a `Grid` where possible, with a stated rounding, and a verb that needs
        more is refused. With it, memory grows with the number of different scores.
    classes, pos_label
        As for the verb itself, for all batches.
    **options
        Options of the verb; pass the same ones when you measure.

    Returns
    -------
    Summary

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
    if find(metric, ranks=True).kind == "ranks":
        ranking = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
        return ranking.finish(total_of(batches, ranking.part))
    wanted = functools.partial(find(metric).verb, **options)
    job = Measuring.of(wanted, exact=exact, classes=classes, pos_label=pos_label)
    return job.checked(total_of(batches, job.part)).parts[0]


@public
def measure(
    verbs: Any,
    data: Iterable[Any],
    *,
    y: Any = None,
    prediction: Any = None,
    weights: str | None = None,
    groups: str | None = None,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
) -> dict[str, Measured]:
    """Measure rows that come in batches: any number of verbs in one pass, one batch in memory at a time.

    Parameters
    ----------
    verbs
        A verb or a list of them: functions, names, or ``functools.partial(ece, bins=10)`` for one with options.
    data
        Batches from a list, a generator, a data loader: tuples (y, prediction) or (y, prediction, weights). With names
        of columns, batches are data frames of pandas, polars or pyarrow, or mappings from names to arrays. Batches
        without rows are skipped.
    y, prediction, weights
        Names of columns: the outcome (a list of names where vectors were predicted), the probability of the event, a
        list of class probabilities, or what `from_columns` makes; and importance weights.
    groups
        Name of a column with labels of rows, for verbs that compare groups, such as `coverage_gap`.
    exact
        Whether verbs may keep what grows with the rows, as in `fold`. Without it rows of one probability are counted in
        the cells of a `Grid` where possible, and each result comes with a bound of its rounding; a verb that needs the
        rows, such as `mmce`, is refused.
    classes, pos_label
        As for the verbs.

    Returns
    -------
    dict
        For each verb, under its name with the given options, a `Measured`: `value` is what the verb returns, `rounding`
        by how much it may differ from the value of the rows themselves (0 for most).

    Examples
    --------
    >>> from functools import partial
    >>> from calibrant import brier_score, ece
    >>> batches = [([0, 1], [0.2, 0.6]), ([1, 1], [0.8, 0.4])]
    >>> found = measure([partial(ece, bins=2), brier_score], batches)
    >>> round(found["ece(bins=2)"].value, 3), round(found["brier_score"].value, 3)
    (0.25, 0.15)
    >>> found["brier_score"].rounding
    0.0

    Batches with names:

    >>> tables = [{"clicked": [0, 1], "score": [0.2, 0.6]}, {"clicked": [1, 1], "score": [0.8, 0.4]}]
    >>> round(measure(brier_score, tables, y="clicked", prediction="score")["brier_score"].value, 3)
    0.15
    """
    named = any(name is not None for name in (y, prediction, weights, groups))
    columns = NamedColumns.read(y, prediction, weights, groups) if named else None
    job = Measuring.of(verbs, columns.groups if columns else (), exact=exact, classes=classes, pos_label=pos_label)
    return job.finish(total_of(data, job.part, columns))


def total_of(batches: Iterable[Any], part: Callable[[Batch], Summary], columns: NamedColumns | None = None) -> Summary:
    """Return the merged summaries of batches; an error names its batch."""
    merging, number, rows = Merging[Summary](), -1, False
    grouped: tuple[str, ...] | None = None
    for number, given in enumerate(counted(_iterator(batches), label="folding batches")):
        batch = _batch(given, number, columns)
        if batch is None:
            continue
        names = tuple(batch.groups or ())
        if grouped not in (None, names):
            raise InputError(
                f"batch {number} has groups {shown(list(names))}, and earlier batches {shown(list(grouped or ()))}; "
                "all batches must have the same groups"
            )
        grouped, rows = names, True
        try:
            if not batch.weightless:
                merging.add(part(batch))
        except (InputError, SummaryError) as problem:
            raise problem.within("batch {number}: ", number=number) from problem
    total = merging.total()
    if total is not None:
        return total
    if number < 0:
        raise InputError("there are no batches: the iterator is empty; at least one batch is needed")
    if rows:
        raise InputError(f"weights must not all be 0; those of all {number + 1:,} batches are")
    raise InputError(f"there are no rows: each of the {number + 1:,} batches is empty; at least one row is needed")


def _iterator(batches: Any) -> Iterator[Any]:
    try:
        return iter(batches)
    except TypeError:
        raise InputError(
            f"batches must be an iterable of (y, prediction) or (y, prediction, weights); got {shown(batches)}"
        ) from None


def _batch(given: Any, number: int, columns: NamedColumns | None) -> Batch | None:
    """Return a batch as a user gave it, None if it has no rows; an array of two or three rows is not a batch."""
    if columns is not None:
        table = NamedArrays(given) if isinstance(given, Mapping) else given
        if not (hasattr(table, "columns") and hasattr(table, "__len__")):
            raise InputError(
                f"batch {number} must be a data frame or a mapping from names to arrays, as columns are named; got "
                f"{shown(given)} ({type(given).__name__})"
            )
        try:
            if not isinstance(table, NamedArrays):
                return columns.batch(table, number) if len(table) else None
            columns.check(table.columns, "the table")
            return columns.batch(table, number) if table.rows else None
        except InputError as problem:
            raise InputError(f"batch {number}: {problem}") from problem
    if isinstance(given, Batch):
        batch = given._replace(number=number)
    elif isinstance(given, (tuple, list)) and MIN_ENTRIES <= len(given) <= MAX_ENTRIES:
        y, prediction, *weights = given
        batch = Batch(y, prediction, weights[0] if weights else None, number=number)
    else:
        raise InputError(
            f"batch {number} must be a tuple (y, prediction) or (y, prediction, weights); got {shown(given)} "
            f"({type(given).__name__})"
        )
    return None if is_empty(batch) else batch
