"""The audit of a Spark frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.auditing.batches import AuditJob
from calibrant.inputs.columns import NamedColumns
from calibrant.report.audit import Audit
from calibrant.spark.columns import selected
from calibrant.spark.running import run


def audit(
    frame: Any,
    *,
    y: str,
    prediction: Any,
    weights: str | None = None,
    groups: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    exact: bool = False,
    level: float = 0.95,
    resamples: int = 999,
    names: Mapping[str, str] | None = None,
    rng: Any = 0,
) -> Audit:
    """Audit the probabilities in a Spark frame: measure everything that applies, and say in words what was found.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`, of Spark itself or of Spark Connect.
    y, weights
        Names of the columns with outcomes and importance weights.
    prediction
        The name of the column with the probability of the event; a list of names with the class probabilities in the
        order of the classes; or the name of an array column that holds them.
    groups
        The name of a column of labels, or a list of names. Every group is tested.
    classes, pos_label
        As in `calibrant.ece`, for labels that are not 0 and 1, or 0 to K - 1.
    exact
        Keep all different scores, on the driver in the end; else rows are counted in the cells of a `Grid`, whose
        size does not grow with the rows.
    level, resamples, names, rng
        As in `calibrant.audit`.

    Returns
    -------
    Audit
        Print it, look at `table`, `verdict` and `plot()`, or write `to_html(path)` and `to_json(path)`.

    Raises
    ------
    InputError
        If columns are missing or rows are not sound; it names the partition and the row in it.
    MissingExtraError
        If PySpark or PyArrow is not installed, or calibrant is not where the executors run.

    Notes
    -----
    The frame is read once. Every partition becomes a summary where it is: a `Grid` of 365 kB for one probability per
    row, 2 K + 1 of them for K classes, and as much at most for each group. Workers merge them 64 at a time, and the
    driver gets a few. With `exact` they grow with the different scores, and all of them go to the driver.

    The same rows in the same partitions and the same order give the same bits. Spark promises no order of rows after a
    shuffle, so that the last digit may vary there. Rows whose group is null are a group of their own, "(missing)".

    Examples
    --------
    ::

        import calibrant.spark

        frame = spark.read.parquet("s3://bucket/predictions")
        result = calibrant.spark.audit(frame, y="clicked", prediction="score", groups="country")
        print(result)
        result.to_html("report.html")
    """
    job = AuditJob(exact, level, resamples, rng, classes, pos_label, names)
    named = NamedColumns.read(y, prediction, weights, groups)
    found: Audit = run(job, named, selected(frame, named))
    return found
