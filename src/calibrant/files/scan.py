"""Files of predictions of any size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrant.core.annotations import Alternative
from calibrant.core.catalogue import public
from calibrant.engines.jobs import Job, Measured, Measuring, Result_co
from calibrant.errors import InputError, refuse_choice, shown
from calibrant.files.checkpoint import RunDescription, described
from calibrant.files.csv_file import USUAL, Dialect
from calibrant.files.found import FoundFile, find_files
from calibrant.files.reading import BATCH, Reading
from calibrant.files.run_job import run_job
from calibrant.files.table_file import READ
from calibrant.files.where import Where, read_where
from calibrant.inputs.columns import Batch, NamedColumns
from calibrant.report.audit import Audit
from calibrant.version import __version__


@public
def scan(
    path: Any,
    *,
    y: Any,
    prediction: Any,
    weights: str | None = None,
    groups: Any = None,
    covariates: Any = None,
    where: str | None = None,
    classes: Any = None,
    pos_label: Any = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal_comma: bool = False,
) -> Scan:
    r"""Files of predictions, which are read batch by batch when something is measured.

    Parameters
    ----------
    path
        A file, a folder, a pattern such as ``"scores/*.parquet"``, or a list of these. Files of a folder or a pattern
        are read in the natural order of their names; those that begin with a dot or an underscore are left out.
        Links to folders are followed, and a table of a folder that cannot be read (``.csv.bz2``) is refused.
        Parquet, CSV, Arrow and NDJSON are read piece by piece, NPZ as a whole. A folder named ``date=2024-01-01`` gives
        its files a column ``date``.
    y, prediction
        Names of columns: the outcome, and the probability of the event, a list of class probabilities, or what
        `from_columns` makes for intervals, sets, quantiles, samples and distributions.
    weights, groups
        Names of columns: importance weights, and labels of rows for an audit (a name or a list of names) or for verbs
        that compare groups, such as `coverage_gap` (a name).
    covariates
        For an audit: the name of a column, or a list of names, of numbers, texts or truth values that were known when
        the prediction was made, as in `calibrant.audit`. They are searched in up to 100,000 rows, drawn at random.
    where
        Rows to keep, such as ``"age >= 65 and region in (north, west)"``.
    classes, pos_label
        As for the verbs.
    format
        "parquet", "csv", "arrow", "ndjson" or "npz", where the names of the files do not tell; "lm-eval" or "inspect"
        for logs of these packages, with the columns ``task``, ``question``, ``correct`` and ``confidence``.
    delimiter, encoding, decimal_comma
        How a CSV is written: "," and UTF-8 if not given. A delimiter is one character, or "tab".

    Returns
    -------
    Scan
        With methods `measure`, `audit` and `batches`.

    Raises
    ------
    InputError
        With the fields `row`, `option`, `value` and `file`, where they are known.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant import ece
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("y,p\n0,0.2\n1,0.6\n")
    ...     _ = Path(folder, "b.csv").write_text("y,p\n1,0.8\n1,0.4\n")
    ...     found = scan(folder, y="y", prediction="p").measure([ece, "brier_score"])
    >>> round(found["brier_score"].value, 3)
    0.15
    """
    if format is not None and format not in READ:
        raise refuse_choice("format", format, READ)
    return Scan(
        find_files(path, format=format),
        NamedColumns.read(y, prediction, weights, groups, covariates),
        None if where is None else read_where(where),
        {"classes": classes, "pos_label": pos_label},
        format,
        Dialect.read(delimiter, encoding, decimal_comma),
    )


NAMES_IN_MESSAGES = {"wanted": "the verbs", "share": "part"}  # what is called otherwise in a message


@dataclass(frozen=True, repr=False)
class Scan:
    """Files with the columns and rows to read; made by `scan`. Nothing is read until something is measured."""

    files: tuple[FoundFile, ...]
    columns: NamedColumns
    where: Where | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None
    dialect: Dialect = USUAL

    def batches(self) -> Iterator[Batch]:
        """Yield the rows in batches (y, prediction, weights, groups) of at most 2^21 rows, for `fold` or anything else.

        Raises
        ------
        InputError
            If a file cannot be read, lacks a column, or has a cell without a value; it names the file and the row.
        """
        reading = self.reading()
        for number, piece in enumerate(reading.pieces()):
            reading.check_numbers(piece)
            yield self.columns.batch(piece.frame, number)

    @public
    def measure(
        self, verbs: Any, *, exact: bool = False, checkpoint: str | os.PathLike[str] | None = None
    ) -> dict[str, Measured]:
        """Measure with any number of verbs in one pass, as `calibrant.measure` does with batches.

        Parameters
        ----------
        verbs
            A verb or a list of them: functions, names, or ``functools.partial(ece, bins=10)`` for one with options.
        exact
            Whether verbs may keep what grows with the number of rows, in memory. Without it memory does not grow: rows
            are counted in the cells of a `Grid` where that will do, and each result comes with its rounding.
        checkpoint
            A file to keep the total in: every 16 batches of up to 2^21 rows, or every 30 seconds. If it is there the
            run resumes from it, if the files it has read are unchanged; at the end it is removed.

        Returns
        -------
        dict
            Of each verb a `Measured`: its `value`, and by how much that may differ from the value of the rows.
        """
        job = Measuring.of(verbs, self.columns.groups, exact=exact, **self.labels)
        return self.found(job, checkpoint)

    @public
    def audit(
        self,
        *,
        exact: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        level: float = 0.95,
        tolerance: float | None = None,
        relative: bool = False,
        alternative: Alternative | None = None,
        calibration_size: int | None = None,
        part: float | None = None,
        resamples: int = 999,
        rng: Any = 0,
        names: Mapping[str, str] | None = None,
    ) -> Audit:
        """Audit predictions of any kind in one pass.

        Parameters
        ----------
        exact, checkpoint
            As for `measure`.
        level, tolerance, relative, alternative, calibration_size, part, resamples, rng, names
            As for `calibrant.audit`.
        """
        from calibrant.auditing.job import AuditJob, check_part

        share = check_part(part, self.columns.covariates or None)
        given = {"alternative": alternative, "calibration_size": calibration_size, "share": share, **self.labels}
        job = AuditJob(exact, level, tolerance, relative, resamples, rng, names=names or self.names, **given)
        return self.found(job, checkpoint)

    def found(self, job: Job[Result_co], checkpoint: str | os.PathLike[str] | None = None) -> Result_co:
        """Run a job over the rows and return its result."""
        if not isinstance(checkpoint, (str, os.PathLike, type(None))) or "\0" in str(checkpoint):
            raise InputError(f"checkpoint must be the path of a file; got {shown(checkpoint)}")
        place = None if checkpoint is None else Path(checkpoint)
        return run_job(job, self.reading(), asked=self.asked(job), checkpoint=place)

    def reading(self) -> Reading:
        """Return a new pass over the files."""
        return Reading(self.files, self.columns, self.where, self.format, self.dialect)

    def asked(self, job: Job[Any]) -> RunDescription:
        """Return what a job measures, in words that are the same in every process."""
        columns = ("y", "prediction", "weights", "groups", "covariates")
        return {
            "calibrant": __version__,
            **{name: described(getattr(self.columns, name)) for name in columns},
            "where": "nothing" if self.where is None else self.where.text,
            "format": described((self.format, self.dialect, self.columns.percent)),
            "the reader": f"polars, {BATCH:,} rows at a time",
            "what is measured": type(job).__name__,
            **{NAMES_IN_MESSAGES.get(name, name): described(value) for name, value in vars(job).items()},
        }

    @property
    def names(self) -> dict[str, str]:
        """What the rows are called, for an audit."""
        first, *others = (found.path for found in self.files)
        source = first.name if not others else f"{len(self.files):,} files, {first.name} to {others[-1].name}"
        named = {"source": source, "outcome": self._named("y"), "prediction": self._named("prediction")}
        extra = {"weights": self.columns.weights, "filter": self.where.text if self.where else None}
        extra |= {name: ", ".join(getattr(self.columns, name)) or None for name in ("groups", "covariates")}
        return {**named, **{key: value for key, value in extra.items() if value is not None}}

    def _named(self, role: str) -> str:
        names = getattr(self.columns, role)
        return names if isinstance(names, str) else ", ".join(names) if isinstance(names, tuple) else repr(names)

    def __repr__(self) -> str:
        size = sum(found.path.stat().st_size for found in self.files if found.path.exists())
        where = f", where={self.where.text!r}" if self.where else ""
        what = f"{self.files[0].path}" if len(self.files) == 1 else f"{len(self.files):,} files"
        return (
            f"Scan({what}, {size / 1e6:,.1f} MB, y={self.columns.y!r}, prediction={self.columns.prediction!r}{where})"
        )
