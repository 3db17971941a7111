"""Verbs, audits and summaries of Spark frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.auditing.job import AuditJob, check_part
from calibrant.core.annotations import Alternative
from calibrant.core.catalogue import public
from calibrant.core.summary import Summary
from calibrant.engines.jobs import Measured, Measuring, Summarizing
from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.inputs.columns import NamedColumns
from calibrant.report.audit import Audit
from calibrant.spark.partitions import run


@public
def measure(
    verbs: Any,
    data: Any,
    *,
    y: Any = None,
    prediction: Any = None,
    weights: str | None = None,
    groups: str | None = None,
    exact: bool = False,
    classes: Any = None,
    pos_label: Any = None,
) -> dict[str, Measured]:
    """Measure a Spark frame with any number of verbs in one pass.

    Parameters
    ----------
    verbs, y, prediction, weights, groups, classes, pos_label
        As in `calibrant.measure`; the prediction can also be the name of an array column with class probabilities.
    data
        A `pyspark.sql.DataFrame`, of Spark itself or of Spark Connect.
    exact
        As in `calibrant.measure`; what verbs keep ends on the driver.

    Returns
    -------
    dict
        A `Measured` (value, rounding) for each verb, by its name and options.

    Examples
    --------
    ::

        frame = spark.table("predictions")
        found = calibrant.spark.measure([brier_score, partial(ece, bins=20)], frame, y="clicked", prediction="score")
        found["brier_score"].value

        bounds = from_columns(Intervals, "low", "high", level=0.9)
        calibrant.spark.measure(["coverage", "interval_score"], frame, y="demand", prediction=bounds)
    """
    named = NamedColumns.read(y, prediction, weights, groups)
    job = Measuring.of(verbs, named.groups, exact=exact, classes=classes, pos_label=pos_label)
    return run(job, named, selected(data, named))


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
    """Audit the predictions in a Spark frame in one pass, as `calibrant.audit` does in memory.

    Parameters
    ----------
    data, y, prediction, weights
        As in `measure`; predictions of any kind.
    groups
        The name of a column of labels, or a list of names. Every group is tested.
    covariates
        The name of a column that was known when the prediction was made, as in `calibrant.audit`, or a list of names.
        They are searched in up to 100,000 rows, drawn at random.
    classes, pos_label, level, tolerance, relative, alternative, calibration_size, part, resamples, names, rng
        As in `calibrant.audit`.
    exact
        Whether all different scores are kept, in the end on the driver. Without it rows are counted in the cells of a
        `Grid`, whose size does not grow with the rows.

    Returns
    -------
    Audit
        As of `calibrant.audit`. An error names the partition and the row in it.

    Examples
    --------
    ::

        frame = spark.read.parquet("s3://bucket/predictions")
        result = calibrant.spark.audit(frame, y="clicked", prediction="score", groups="country")
        result.to_html("report.html")
    """
    given = exact, level, tolerance, relative, resamples, rng, classes, pos_label, names, alternative, calibration_size
    job = AuditJob(*given, share=check_part(part, covariates))
    named = NamedColumns.read(y, prediction, weights, groups, covariates)
    return run(job, named, selected(data, named))


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
    """Return the summary of a Spark frame that a verb with these options is a function of.

    Parameters
    ----------
    metric, **options
        As in `calibrant.summarize`.
    data, y, prediction, weights, classes, pos_label
        As in `measure`.

    Returns
    -------
    Summary
        What the verb takes in place of outcomes and predictions, on the driver.

    Examples
    --------
    ::

        days = [spark.table("predictions").where(f"day = {day}") for day in (1, 2)]
        parts = [calibrant.spark.summarize(ece, day, y="clicked", prediction="score", bins=20) for day in days]
        ece(parts[0] + parts[1], bins=20)
    """
    job = Summarizing.of(metric, options, classes=classes, pos_label=pos_label)
    named = NamedColumns.read(y, prediction, weights)
    return run(job, named, selected(data, named))


READABLE = "expected numbers, booleans, text, or arrays of numbers"


def selected(frame: Any, columns: NamedColumns) -> Any:
    """Return the frame with these columns alone, decimals as float64 unless they are labels; refuse other types."""
    try:
        import pyarrow  # noqa: F401  # mapInArrow needs it
        from pyspark.sql import DataFrame
    except ImportError:
        raise MissingExtraError("measuring a Spark frame", extra="spark") from None
    if not isinstance(frame, DataFrame):
        remedy = ". Call .to_spark() on it" if hasattr(frame, "to_spark") else ""
        raise InputError(f"data must be a pyspark.sql.DataFrame; got {shown(type(frame))}{remedy}")
    if frame.isStreaming:
        raise InputError("data is a stream, which has no end; measure the table that it is written to")
    names = list(frame.columns)
    columns.check(names, "the frame")
    _refuse_twice(names, columns)
    types = {field.name: field.dataType for field in frame.schema.fields}
    readable = {name: _readable(frame[quoted(name)], types[name], name) for name in columns.needed}
    for name in set(columns.needed) - set(columns.checked):  # labels, of which float64 would round long decimals
        readable[name] = frame[quoted(name)]
    return frame.select([readable[name] for name in columns.needed])


def quoted(name: str) -> str:
    """Return a name as Spark's expressions take it, dots and all.

    >>> quoted("score.v2")
    '`score.v2`'
    """
    return "`" + name.replace("`", "``") + "`"


def _refuse_twice(names: list[str], columns: NamedColumns) -> None:
    """Refuse columns that Spark cannot tell apart: by default "Y" and "y" are one name to it."""
    lower = [name.lower() for name in names]
    for name in columns.needed:
        if names.count(name) > 1:
            raise InputError(f"the frame has {names.count(name)} columns {name!r}; rename all but one of them")
        if lower.count(name.lower()) > 1:
            others = [other for other in names if other.lower() == name.lower()]
            raise InputError(f"the frame has the columns {others}, which are one name to Spark; rename them")


def _readable(column: Any, kind: Any, name: str) -> Any:
    """Return the column with decimals as float64; refuse what is neither number, boolean nor text."""
    from pyspark.sql import types

    depth, inner = 0, kind
    while isinstance(inner, types.ArrayType):
        depth, inner = depth + 1, inner.elementType
    legal = types.NumericType if depth else (types.NumericType, types.BooleanType, types.StringType)
    if not isinstance(inner, legal):
        raise InputError(f"column {name!r} is of Spark's type {kind.simpleString()}; {READABLE}. {_remedy(inner)}")
    if not isinstance(inner, types.DecimalType):
        return column
    return column.cast("array<" * depth + "double" + ">" * depth).alias(name)


def _remedy(kind: Any) -> str:
    name = kind.simpleString()
    if name.startswith("vector"):
        return "Turn it into an array with pyspark.ml.functions.vector_to_array"
    if name.startswith(("timestamp", "date", "interval", "time")):
        return "Points in time are not outcomes; cast them to text to group by them"
    return "Select or cast what is meant"
