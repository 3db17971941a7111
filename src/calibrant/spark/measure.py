"""Any number of verbs in one pass over a Spark frame."""

from __future__ import annotations

from typing import Any

from calibrant.engines.measuring import Measured, Measuring
from calibrant.engines.pushed_down import pushed_down
from calibrant.inputs.columns import NamedColumns
from calibrant.spark.columns import selected
from calibrant.spark.running import run


def measure(
    verbs: Any,
    frame: Any,
    *,
    y: Any,
    prediction: Any,
    weights: str | None = None,
    groups: str | None = None,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
) -> dict[str, Measured]:
    """Measure a Spark frame with any number of verbs in one pass.

    Parameters
    ----------
    verbs
        A verb of calibrant or a list of them: functions, names, or `functools.partial` of a function for options.
    frame
        A `pyspark.sql.DataFrame`, of Spark itself or of Spark Connect.
    y, weights
        Names of the columns with outcomes and importance weights; `y` is None for verbs that see no outcome, and a
        list of names where vectors were predicted.
    prediction
        As in `audit`, or what `calibrant.from_columns` makes, for intervals, quantiles, draws and laws.
    groups
        Name of a column with labels of rows, for verbs that compare groups, such as `coverage_gap`.
    exact
        Let verbs keep the rows or scores that they need, on the driver in the end; else such a verb reads the cells
        of a `Grid` and states its rounding, or is refused.
    classes, pos_label
        As for the verbs.

    Returns
    -------
    dict
        From the name of each verb to `Measured`: the `value`, and by how much it may differ from that of the rows
        themselves, `rounding`.

    Notes
    -----
    Where all verbs are means that Spark's own aggregation gives (`brier_score` of one probability per row, `coverage`,
    `width`, `interval_score`, `quantile_score`, without weights) no Python worker is started.

    Where chance takes part before rows are merged, every million rows of a partition have a stream of their own, made
    of `rng`, their number and a checksum of them. How many rows there are is not asked beforehand: a worker counts by
    compiled code (Numba) from the two millionth row of a partition on.

    Examples
    --------
    ::

        from functools import partial

        import calibrant.spark
        from calibrant import Intervals, brier_score, ece, from_columns

        frame = spark.table("predictions")
        found = calibrant.spark.measure([brier_score, partial(ece, bins=20)], frame, y="clicked", prediction="score")
        found["brier_score"].value

        bounds = from_columns(Intervals, "low", "high", level=0.9)
        calibrant.spark.measure(["coverage", "interval_score"], frame, y="demand", prediction=bounds)
    """
    job = Measuring.of(verbs, exact=exact, classes=classes, pos_label=pos_label)
    named = NamedColumns.read(y, prediction, weights, groups)
    job.check_groups(named.groups)
    chosen = selected(frame, named)
    plain = not any(mark in name for name in named.needed for mark in "`.*")  # names that narwhals does not quote
    found = pushed_down(job, named, chosen) if plain else None
    measured: dict[str, Measured] = run(job, named, chosen) if found is None else job.finish(found)
    return measured
