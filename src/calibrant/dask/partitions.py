"""Rows in partitions: of a Dask frame by the names of columns, or of Dask arrays that are cut alike."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from calibrant.core.dispatch import expecting, on_one_thread
from calibrant.engines.batches import NamedArrays
from calibrant.errors import InputError, MissingExtraError, SummaryError, shown
from calibrant.inputs.columns import Batch, FromColumns, NamedColumns
from calibrant.inputs.kinds import kind_of

ARRAY_NAMES = ("y", "prediction", "weights")


@dataclass(frozen=True, eq=False)
class Partitions:
    """Rows that are not computed yet, and which columns are what: a frame, or tables of blocks."""

    columns: NamedColumns
    tables: Sequence[Any] = ()  # a `Delayed` each, in their order
    frame: Any = None  # a Dask frame of these columns

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        y: Any = None,
        prediction: Any = None,
        weights: Any = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Partitions:
        """Read what a user gave: a tuple of Dask arrays, or names of columns of a frame or mapping."""
        dask_library()
        if isinstance(data, tuple):
            if not 2 <= len(data) <= 3 or not (y is prediction is weights is None):
                raise InputError(
                    "Dask arrays are given as (y, prediction) or (y, prediction, weights), without y=, prediction= and "
                    f"weights=; got a tuple of {len(data)}"
                )
            return cls._of_arrays(*data, groups=groups, covariates=covariates)
        is_frame = hasattr(data, "to_delayed") and hasattr(data, "columns")
        if not is_frame and not isinstance(data, Mapping):
            raise InputError(
                "data must be a Dask DataFrame or a mapping from names to Dask arrays, with the names of columns as y= "
                f"and prediction=, or a tuple (y, prediction) of Dask arrays; got {shown(data)} "
                f"({type(data).__name__}). The verbs of calibrant themselves measure data in memory"
            )
        columns = NamedColumns.read(y, prediction, weights, groups, covariates)
        if is_frame:
            columns.check(list(map(str, data.columns)), "the frame")
            return cls(columns, frame=data[list(columns.needed)])
        columns.check(list(data), "data")
        return cls(columns, tables_of({name: data[name] for name in columns.needed}))

    @classmethod
    def _of_arrays(
        cls, y: Any, prediction: Any, weights: Any = None, *, groups: Any = None, covariates: Any = None
    ) -> Partitions:
        given = {"y": y, "prediction": prediction, "weights": weights}
        if groups is not None and not isinstance(groups, Mapping):
            groups = {"group": groups}
        known = {} if covariates is None else _covariate_columns(covariates)
        taken = list(ARRAY_NAMES)
        for option, named in (("groups", groups or {}), ("covariates", known)):
            for name in named:
                if not isinstance(name, str) or name in taken:
                    raise InputError(f"{option} must have names other than {', '.join(taken)}; got {shown(name)}")
            taken += named
        found = {name: values for name, values in given.items() if values is not None} | dict(groups or {}) | known
        of_rows = None if y is None else "y", "prediction", None if weights is None else "weights", tuple(groups or ())
        return cls(NamedColumns(*of_rows, covariates=tuple(known)), tables_of(found))

    def each(self, work: Callable[[Batch], Any], name: str) -> list[Any]:
        """Return work(rows) of each partition, not computed yet; None for no rows."""
        if self.frame is None:
            of_table = _OfTable(work, self.columns, len(self.tables), name)
            return [
                delayed_task(of_table, table, {"number": number}, name=name) for number, table in enumerate(self.tables)
            ]
        import pandas as pd

        # Dask makes one task of this and of what reads the partition, so no worker keeps rows for a later one.
        of_table = _OfTable(work, self.columns, self.frame.npartitions, name)
        mapped = self.frame.map_partitions(of_table, meta=pd.Series(dtype=object), enforce_metadata=False)
        found: list[Any] = mapped.to_delayed()
        return found


def _covariate_columns(covariates: Any) -> dict[str, Any]:
    """Return the columns of a mapping, a frame or an array (n,) or (n, q), which calls them x0, x1, .. as arrays do."""
    if isinstance(covariates, Mapping):
        return dict(covariates)
    if hasattr(covariates, "columns"):
        return {name: covariates[name] for name in covariates.columns}
    if getattr(covariates, "ndim", 1) == 1:
        return {"x0": covariates}
    return {f"x{j}": covariates[:, j] for j in range(covariates.shape[1])}


@dataclass(frozen=True, eq=False)
class _OfTable:
    """What a worker does with the table of a partition, one of `many`."""

    work: Callable[[Batch], Any]
    columns: NamedColumns
    many: int
    name: str

    def __call__(self, table: Any, partition_info: Mapping[str, Any]) -> Any:
        number = partition_info["number"]
        with on_one_thread(), errors_name(f"partition {number}"):
            rows = table.rows if isinstance(table, NamedArrays) else len(table)
            if rows == 0:
                return None
            batch = self.columns.batch(table, number)
            # A frame does not know how many rows it has: other partitions are taken to be as large as this one.
            with expecting(rows * self.many):
                return None if batch.weightless else self.work(batch)

    @property
    def __name__(self) -> str:
        return f"calibrant-{self.name}"

    def __dask_tokenize__(self) -> str:
        return uuid.uuid4().hex  # no two runs share results


@contextmanager
def errors_name(where: str) -> Iterator[None]:
    try:
        yield
    except (InputError, SummaryError) as problem:
        raise problem.within("{where}: ", where=where) from problem


def dask_library() -> Any:
    try:
        import dask
        import dask.array
    except ImportError:
        raise MissingExtraError("a measurement of Dask collections", extra="dask") from None
    return dask


def delayed_task(work: Callable[..., Any], *given: Any, name: str) -> Any:
    from dask import delayed

    task = delayed(_alone, pure=False, traverse=False)
    return task(work, *given, dask_key_name=f"calibrant-{name}-{uuid.uuid4().hex}")


def _alone(work: Callable[..., Any], *given: Any) -> Any:
    """Work on the one thread that Dask has for a task."""
    with on_one_thread():
        return work(*given)


def tables_of(arrays: Mapping[str, Any]) -> list[Any]:
    """Return tables of blocks that contain the same rows of every array, a `Delayed` each."""
    names, cut = tuple(arrays), cut_alike(arrays)
    # Arrays stay as they are: to fuse tasks of one may compute again what another shares with it.
    blocks = [
        values.to_delayed() if _is_framed(values) else values.to_delayed(optimize_graph=False).ravel() for values in cut
    ]

    def table(*blocks: Any) -> NamedArrays:
        return NamedArrays(zip(names, blocks, strict=True))

    return [delayed_task(table, *each, name="blocks") for each in zip(*blocks, strict=True)]


def cut_alike(arrays: Mapping[str, Any]) -> list[Any]:
    """Return Dask arrays, series and frames whose blocks contain whole rows, and the same rows in all of them.

    The rows are cut as those of the prediction, which is the widest, or of the first array. Where the number of rows
    of a block is not known, blocks are taken by their number, and their lengths compared where they are computed.
    """
    whole = {name: _whole_rows(name, values) for name, values in arrays.items()}
    lead = "prediction" if "prediction" in whole else next(iter(whole))
    chunks = _row_chunks(whole[lead])
    for name, array in whole.items():
        own = _row_chunks(array)
        if any(math.isnan(size) for size in (*own, *chunks)):
            if len(own) != len(chunks):
                raise InputError(
                    f"{name} has {len(own)} chunks and {lead} has {len(chunks)}, and the number of rows in them is not "
                    "known, so rows cannot be matched. Call compute_chunk_sizes() of both, or take both "
                    "from one frame"
                )
        elif sum(own) != sum(chunks):
            raise InputError(f"{name} and {lead} must have the same number of rows; got {sum(own)} and {sum(chunks)}")
        elif own != chunks:
            whole[name] = array.rechunk({0: chunks})
    return list(whole.values())


def _whole_rows(name: str, values: Any) -> Any:
    """Return a Dask array that is not cut but along its rows; a Dask series or frame as it is."""
    import dask.array as da

    if _is_framed(values):
        return values
    if not isinstance(values, da.Array):
        named = isinstance(values, list) and name in ARRAY_NAMES and isinstance((*values, 0)[0], str)
        if isinstance(values, (str, FromColumns)) or named:
            raise InputError(
                f"{name} is given by the names of columns, {shown(values)}; pass their frame first, and the names as y="
            )
        if kind_of(values) is not None:
            raise InputError(
                f"{name} is a {type(values).__name__}, which is in memory; name the columns or Dask arrays it is made "
                f'of, such as prediction=from_columns({type(values).__name__}, ...) of {{"name": array}}'
            )
        raise InputError(
            f"{name} must be a Dask array; got {shown(values)} ({type(values).__name__}). Make one with "
            f"dask.array.from_array(np.asarray({name}), chunks=...), or pass data in memory to the verbs of calibrant "
            "themselves"
        )
    if values.ndim == 0:
        raise InputError(f"{name} must have one value per row; got a single value")
    return values.rechunk(dict.fromkeys(range(1, values.ndim), -1)) if values.ndim > 1 else values


def _is_framed(values: Any) -> bool:
    """Tell whether this is a Dask series or frame, whose blocks are those of pandas."""
    return hasattr(values, "to_delayed") and hasattr(values, "divisions")


def _row_chunks(values: Any) -> tuple[float, ...]:
    found: tuple[float, ...] = (math.nan,) * values.npartitions if _is_framed(values) else values.chunks[0]
    return found
