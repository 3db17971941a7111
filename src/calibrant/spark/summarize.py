"""The summary of a verb of a Spark frame."""

from __future__ import annotations

from typing import Any

from calibrant.core.summary import Summary
from calibrant.engines.summarizing import Summarizing
from calibrant.inputs.columns import NamedColumns
from calibrant.spark.columns import selected
from calibrant.spark.running import run


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
    summary: Summary = run(job, named, selected(frame, named))
    return summary
