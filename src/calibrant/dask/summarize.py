"""The summary of a verb of Dask collections."""

from __future__ import annotations

from typing import Any

from calibrant.core.summary import Summary
from calibrant.dask.partitions import Partitions
from calibrant.dask.running import run
from calibrant.engines.summarizing import Summarizing


def summarize(
    metric: Any,
    y: Any,
    prediction: Any,
    *,
    frame: Any = None,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary of all rows that a verb is a function of, as `calibrant.summarize` does of arrays.

    Parameters
    ----------
    metric
        The verb or its name; one that returns ranks too.
    y, prediction, frame, weights
        As in `measure`.
    classes, pos_label
        As for the verb itself.
    **options
        Options of the verb; pass the same ones when you measure.

    Returns
    -------
    Summary
        In the memory of this process. Its size depends on the verb: a `Moments` or a `Grid` has a constant one, an
        `Ordered` grows with the number of different scores.

    Notes
    -----
    Where chance takes part (ties of ranks), each partition has a stream of its own, made of `rng`, its number and a
    checksum of its rows.

    Examples
    --------
    >>> import dask.array as da
    >>> from calibrant import ece
    >>> y, p = da.from_array([0, 1, 1, 1], chunks=2), da.from_array([0.2, 0.6, 0.8, 0.4], chunks=2)
    >>> total = summarize(ece, y, p, bins=2)
    >>> total
    Grid(n=4)
    >>> round(ece(total, bins=2), 3)
    0.25
    """
    job = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
    summary: Summary = run(job, Partitions.of(y, prediction, frame=frame, weights=weights))
    return summary
