"""Verbs, audits and summaries of Dask collections: partitions are summarised on the workers and merged there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from calibrant.auditing.job import AuditJob, check_part
from calibrant.core.annotations import Alternative
from calibrant.core.catalogue import public
from calibrant.core.summary import Summary
from calibrant.dask.partitions import Partitions, dask_library, delayed_task, errors_name
from calibrant.engines.jobs import Job, Measured, Measuring, Result_co, Summarizing
from calibrant.engines.merging import Merging
from calibrant.errors import InputError
from calibrant.report.audit import Audit


@public
def measure(
    verbs: Any,
    data: Any,
    *,
    y: Any = None,
    prediction: Any = None,
    weights: str | None = None,
    groups: Any = None,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
) -> dict[str, Measured]:
    """Measure with any number of verbs in one pass: each partition is summarised where it is, and only summaries move.

    Parameters
    ----------
    verbs, exact, classes, pos_label
        As in `calibrant.measure`. No partition needs to contain all classes.
    data
        A Dask DataFrame (only the columns in use are read); a mapping from names to Dask arrays, such as draws
        (n, M) for ``from_columns(Samples, "draws")``; or a tuple of Dask arrays (y, prediction) or (y, prediction,
        weights), where the prediction is P(y = 1) or class probabilities (n, K). Rows are cut as those of the
        prediction.
    y, prediction, weights
        Names of columns, as in `calibrant.measure`; left out where `data` is a tuple.
    groups
        Labels of rows for verbs that compare groups, such as `coverage_gap`: the name of a column, or a Dask array
        where `data` is a tuple.

    Returns
    -------
    dict
        A `Measured` (value, rounding) for each verb, by its name and options.

    Examples
    --------
    >>> import functools
    >>> import dask.array as da
    >>> from calibrant import brier_score, mce
    >>> y, p = da.from_array([0, 1, 1, 1], chunks=2), da.from_array([0.2, 0.6, 0.8, 0.4], chunks=2)
    >>> found = measure([brier_score, functools.partial(mce, bins=2)], (y, p))
    >>> {name: round(measured.value, 3) for name, measured in found.items()}
    {'brier_score': 0.15, 'mce(bins=2)': 0.3}

    With the names of columns, intervals here:

    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from calibrant import Intervals, from_columns
    >>> table = pd.DataFrame({"y": [1.0, 2.0, 3.0, 9.0], "low": [0.0, 1.0, 2.0, 3.0], "high": [2.0, 3.0, 4.0, 5.0]})
    >>> found = measure("coverage", dd.from_pandas(table, npartitions=2), y="y",
    ...                 prediction=from_columns(Intervals, "low", "high", level=0.9))
    >>> found["coverage"].value
    0.75
    """
    partitions = Partitions.of(data, y=y, prediction=prediction, weights=weights, groups=groups)
    job = Measuring.of(verbs, partitions.columns.groups, exact=exact, classes=classes, pos_label=pos_label)
    return run(job, partitions)


@public
def audit(
    data: Any,
    *,
    y: Any = None,
    prediction: Any = None,
    weights: str | None = None,
    groups: Any = None,
    covariates: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    exact: bool = False,
    level: float = 0.95,
    tolerance: float | None = None,
    relative: bool = False,
    alternative: Alternative | None = None,
    calibration_size: int | None = None,
    part: float | None = None,
    resamples: int = 999,
    names: Mapping[str, str] | None = None,
    rng: Any = 0,
) -> Audit:
    """Audit predictions in Dask collections in one pass, as `calibrant.audit` does in memory.

    Parameters
    ----------
    data, y, prediction, weights
        As in `measure`; predictions of any kind.
    groups
        Labels of rows: the name of a column or a list of names; where `data` is a tuple, a Dask array or a mapping from
        names to Dask arrays. Every group is tested.
    covariates
        What was known of each row when the prediction was made, as in `calibrant.audit`: the name of a column or a list
        of names; where `data` is a tuple, a Dask array (n,) or (n, q), or a mapping from names to Dask arrays. They are
        searched in up to 100,000 rows, drawn at random.
    classes, pos_label, level, tolerance, relative, alternative, calibration_size, part, resamples, names, rng
        As in `calibrant.audit`.
    exact
        Whether all different scores are kept. Without it rows are counted in the cells of a `Grid`, and memory does not
        grow with them.

    Returns
    -------
    Audit
        As of `calibrant.audit`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 4000)
    >>> y = np.random.default_rng(0).random(4000) < p
    >>> audit((da.from_array(y, chunks=1000), da.from_array(p, chunks=1000))).verdict.status
    'within'
    """
    given = exact, level, tolerance, relative, resamples, rng, classes, pos_label, names, alternative, calibration_size
    job = AuditJob(*given, share=check_part(part, covariates))
    partitions = Partitions.of(data, y=y, prediction=prediction, weights=weights, groups=groups, covariates=covariates)
    return run(job, partitions)


@public
def summarize(
    metric: Any,
    data: Any,
    *,
    y: Any = None,
    prediction: Any = None,
    weights: str | None = None,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary of all rows that a verb is a function of, as `calibrant.summarize` does of arrays.

    Parameters
    ----------
    metric, classes, pos_label, **options
        As in `calibrant.summarize`.
    data, y, prediction, weights
        As in `measure`.

    Returns
    -------
    Summary
        In the memory of this process. Random numbers (ties of ranks) are drawn as in `measure`.

    Examples
    --------
    >>> import dask.array as da
    >>> from calibrant import ece
    >>> y, p = da.from_array([0, 1, 1, 1], chunks=2), da.from_array([0.2, 0.6, 0.8, 0.4], chunks=2)
    >>> total = summarize(ece, (y, p), bins=2)
    >>> total
    Grid(n=4)
    >>> round(ece(total, bins=2), 3)
    0.25
    """
    job = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
    return run(job, Partitions.of(data, y=y, prediction=prediction, weights=weights))


FAN_IN = 8  # summaries merged by one task


def run(job: Job[Result_co], partitions: Partitions) -> Result_co:
    parts = partitions.each(job.part, "part")
    (total,) = dask_library().compute(merged(parts))
    if total is None:
        raise InputError(
            f"there are no rows: each of the {len(parts)} partitions is empty, or has no row of a weight above 0"
        )
    return job.finish(total)


def merged(parts: Sequence[Any]) -> Any:
    """Return the sum of summaries that are not computed yet, in their order, eight by eight on the workers.

    What is merged with what depends on the number of parts alone: the same partitions give the same bits.
    """
    span, level = 1, list(parts)
    while len(level) > 1 or span == 1:
        span *= FAN_IN
        level = [
            delayed_task(
                partial(_merged, k * span, min((k + 1) * span, len(parts)) - 1),
                *level[k * FAN_IN : (k + 1) * FAN_IN],
                name="merge",
            )
            for k in range(-(-len(level) // FAN_IN))
        ]
    return level[0]


def _merged(first: int, last: int, *parts: Summary | None) -> Summary | None:
    merging: Merging[Summary] = Merging()
    with errors_name(f"partitions {first} to {last}"):
        for part in parts:
            if part is not None:
                merging.add(part)
        return merging.total()
