"""Any number of verbs in one pass over Dask collections."""

from __future__ import annotations

from typing import Any

from calibrant.dask.partitions import Partitions
from calibrant.dask.running import run
from calibrant.engines.measuring import Measured, Measuring


def measure(
    verbs: Any,
    y: Any,
    prediction: Any,
    *,
    frame: Any = None,
    weights: Any = None,
    groups: Any = None,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
) -> dict[str, Measured]:
    """Measure with any number of verbs in one pass: each partition is summarised where it is, and only summaries move.

    Parameters
    ----------
    verbs
        A verb or a list of them: functions, names, or ``functools.partial(ece, bins=10)`` for other options.
    y, prediction
        Without `frame` Dask arrays: outcomes, and P(y = 1) or class probabilities (n, K); a Dask Series or DataFrame
        counts as its values. Rows are cut as those of the prediction. With `frame` names of columns: a list of names
        for class probabilities in the order of the classes, and `from_columns` for every other kind of prediction.
        y is None for verbs that see no outcome.
    frame
        A Dask DataFrame, of which only the columns in use are read; or a mapping from names to Dask arrays, such as
        draws (n, M) for ``from_columns(Samples, "draws")``.
    weights
        Importance weights: a Dask array, or the name of a column.
    groups
        Labels of rows for verbs that compare groups, such as `coverage_gap`: a Dask array, or the name of a column.
    exact
        Whether verbs may keep rows, or all different scores. Where they may not, rows are counted in the cells of a
        `Grid` where that will do, with the rounding stated, and a verb that needs the rows is refused.
    classes, pos_label
        As for the verbs. No partition needs to hold all classes.

    Returns
    -------
    dict
        A `Measured` (value, rounding) for each verb, by its name and options.

    Notes
    -----
    Summaries are merged eight by eight on the workers in the order of the partitions: the same partitions give the
    same bits, on any scheduler, and others the same value up to the rounding of sums. The scheduler is the one that is
    active: threads, processes, or a ``distributed.Client``. Empty partitions are fine. A refusal names its partition;
    its row numbers are counted within that partition.

    Where chance takes part before rows are merged, each partition has a stream of its own, made of `rng`, its number
    and a checksum of its rows.

    Rows are counted by compiled code (Numba) from two million on: those of the partition at hand, times the number of
    partitions. Every worker compiles once.

    Examples
    --------
    >>> import functools
    >>> import dask.array as da
    >>> from calibrant import brier_score, mce
    >>> y, p = da.from_array([0, 1, 1, 1], chunks=2), da.from_array([0.2, 0.6, 0.8, 0.4], chunks=2)
    >>> found = measure([brier_score, functools.partial(mce, bins=2)], y, p)
    >>> {name: round(measured.value, 3) for name, measured in found.items()}
    {'brier_score': 0.15, 'mce(bins=2)': 0.3}

    With the names of columns, intervals here:

    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from calibrant import Intervals, from_columns
    >>> table = pd.DataFrame({"y": [1.0, 2.0, 3.0, 9.0], "low": [0.0, 1.0, 2.0, 3.0], "high": [2.0, 3.0, 4.0, 5.0]})
    >>> found = measure("coverage", "y", from_columns(Intervals, "low", "high", level=0.9),
    ...                 frame=dd.from_pandas(table, npartitions=2))
    >>> found["coverage"].value
    0.75
    """
    job = Measuring.of(verbs, exact=exact, classes=classes, pos_label=pos_label)
    partitions = Partitions.of(y, prediction, frame=frame, weights=weights, groups=groups)
    job.check_groups(partitions.columns.groups)
    found: dict[str, Measured] = run(job, partitions)
    return found
