"""What people ask of Spark frames: an audit, verbs, a summary."""

from __future__ import annotations

from typing import Any

from calibrant.audit.audit import Audit
from calibrant.audit.of_batches import AuditJob
from calibrant.engines.measuring import Measured, Measuring
from calibrant.engines.pushed_down import pushed_down
from calibrant.engines.summarizing import Summarizing
from calibrant.inputs.named_columns import NamedColumns
from calibrant.spark.columns import selected
from calibrant.spark.running import total
from calibrant.summaries import Summary


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
    level, resamples, rng
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
    The frame is read once. Every partition becomes a summary of some 100 kB where it is; workers merge them 64 at a
    time, and the driver gets a few. The same rows in the same partitions and the same order give the same bits. Spark
    promises no order of rows after a shuffle, so that the last digit may vary there.

    Examples
    --------
    ::

        import calibrant.spark

        frame = spark.read.parquet("s3://bucket/predictions")
        result = calibrant.spark.audit(frame, y="clicked", prediction="score", groups="country")
        print(result)
        result.to_html("report.html")
    """
    job = AuditJob(exact=exact, level=level, resamples=resamples, rng=rng, classes=classes, pos_label=pos_label)
    named = NamedColumns.read(y, prediction, weights, groups)
    return job.finish(total(job, named, selected(frame, named)))


def measure(
    verbs: Any,
    frame: Any,
    *,
    y: Any,
    prediction: Any,
    weights: str | None = None,
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
    named = NamedColumns.read(y, prediction, weights)
    chosen = selected(frame, named)
    plain = not any(mark in name for name in named.needed for mark in "`.*")  # names that narwhals does not quote
    found = pushed_down(job, named, chosen) if plain else None
    return job.finish(total(job, named, chosen) if found is None else found)


def summarize(
    metric: Any,
    frame: Any,
    *,
    y: Any,
    prediction: Any,
    weights: str | None = None,
    classes: Any = None,
    pos_label: Any = None,
    **options: Any,
) -> Summary:
    """Return the summary of a Spark frame that a verb with these options is a function of.

    Parameters
    ----------
    metric
        The verb or its name; also verbs that return ranks.
    frame, y, prediction, weights, classes, pos_label
        As in `measure`.
    **options
        Options of the verb; pass the same ones when you measure.

    Returns
    -------
    Summary
        What the verb takes in place of outcomes and predictions; it can be stored, and added to that of other rows.
        How large it is depends on the verb: a `Moments` or a `Grid` has a constant size, an `Ordered` grows with the
        number of different scores, and the driver holds all of it.

    Examples
    --------
    ::

        import calibrant.spark
        from calibrant import ece

        days = [spark.table("predictions").where(f"day = {day}") for day in (1, 2)]
        parts = [calibrant.spark.summarize(ece, day, y="clicked", prediction="score", bins=20) for day in days]
        ece(parts[0] + parts[1], bins=20)
    """
    job = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
    named = NamedColumns.read(y, prediction, weights)
    return total(job, named, selected(frame, named))
