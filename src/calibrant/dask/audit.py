"""The audit of Dask collections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.auditing.batches import AuditJob
from calibrant.dask.partitions import Partitions
from calibrant.dask.running import run
from calibrant.report.audit import Audit


def audit(
    y: Any,
    prediction: Any,
    *,
    frame: Any = None,
    weights: Any = None,
    groups: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    exact: bool = False,
    level: float = 0.95,
    resamples: int = 999,
    names: Mapping[str, str] | None = None,
    rng: Any = 0,
) -> Audit:
    """Audit probabilities in Dask collections in one pass, as `calibrant.audit` does in memory.

    Parameters
    ----------
    y, prediction, frame, weights
        As in `measure`: Dask arrays, or with `frame` names of columns. One probability per row, or class probabilities.
    groups
        Labels of rows: a Dask array, or a mapping from names to Dask arrays; with `frame` the name of a column or a
        list of names. Every group is tested.
    classes, pos_label, level, resamples, names, rng
        As in `calibrant.audit`.
    exact
        Whether all different scores are kept. Without it rows are counted in the cells of a `Grid`, and memory does not
        grow with them.

    Returns
    -------
    Audit
        Print it, look at `table`, `verdict` and `plot()`, or write `to_html(path)` and `to_json(path)`.

    Notes
    -----
    Partitions are summarised and merged as in `measure`; the tests run here, on the summary of all rows. A frame is
    asked for the columns in use only, so that a Parquet file is not read beyond them.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 2000)
    >>> y = np.random.default_rng(0).random(2000) < p
    >>> audit(da.from_array(y, chunks=500), da.from_array(p, chunks=500))
    <Audit of 2,000 rows: Nothing speaks against these predictions (p > 0.999).>
    """
    job = AuditJob(exact, level, resamples, rng, classes, pos_label, names)
    found: Audit = run(job, Partitions.of(y, prediction, frame=frame, weights=weights, groups=groups))
    return found
