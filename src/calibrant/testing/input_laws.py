"""Laws of what is passed: containers, precision, missing values, and that nothing is written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.testing.cases import Case, Change
from calibrant.testing.law import law, same
from calibrant.testing.subjects import Subject

FLOATS = ("float16", "float32", "longdouble")
WHOLE = ("int8", "uint16", "float32")


@law()
def containers_are_read_by_position(subject: Subject, rng: np.random.Generator) -> None:
    """Lists, read-only and strided arrays, and the data frames that are installed give the same numbers."""
    case = subject.case(rng)
    case = case.weighted(subject.weights(rng, case.n))
    expected = subject.value(case)
    for name, held in _containers().items():
        same(subject, subject.value(case.remade(y=held, columns=held, others=held)), expected, name)


def _containers() -> dict[str, Change]:
    found: dict[str, Change] = {
        "lists": lambda a: a.tolist(),
        "strided arrays": lambda a: np.repeat(a, 2, axis=0)[::2],
        "Fortran order": np.asfortranarray,
        "read-only arrays": _read_only,
    }
    if find_spec("pandas"):
        import pandas as pd

        def pandas(a: NDArray[Any]) -> Any:
            index = np.arange(len(a))[::-1] + a.ndim  # that must not be aligned by
            return pd.Series(a, index=index) if a.ndim == 1 else pd.DataFrame(a, index=index)

        found["pandas"] = _up_to_two(pandas)
    if find_spec("polars"):
        import polars as pl

        found["polars"] = _up_to_two(lambda a: pl.Series(a) if a.ndim == 1 else pl.DataFrame(_named(a)))
    if find_spec("pyarrow"):
        import pyarrow as pa

        found["pyarrow"] = _up_to_two(
            lambda a: pa.chunked_array([a[:20], a[20:]]) if a.ndim == 1 else pa.table(_named(a))
        )
    return found


def _up_to_two(held: Change) -> Change:
    """Return a change of vectors and matrices; a cube, which no frame holds, becomes lists."""
    return lambda a: held(a) if a.ndim <= 2 else a.tolist()


def _named(a: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {f"c{k}": np.ascontiguousarray(column) for k, column in enumerate(a.T)}


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


@law()
def precision_of_the_input_does_not_matter(subject: Subject, rng: np.random.Generator) -> None:
    """Numbers that float16 holds give the same result in every precision, and so do labels and weights of any type."""
    case = subject.case(rng)
    case = case.weighted(np.full(case.n, 3) if subject.equal_weights else rng.integers(1, 5, case.n))
    expected = subject.value(case)
    labels = case.y is not None and case.y.dtype.kind == "i"
    for dtype in FLOATS:
        same(subject, subject.value(case.remade(columns=cast_floats(dtype))), expected, f"predictions as {dtype}")
    for dtype in WHOLE if labels else FLOATS:
        same(subject, subject.value(case.remade(y=_cast(dtype))), expected, f"y as {dtype}")
    for dtype in WHOLE:
        same(subject, subject.value(case.weighted(case.weights.astype(dtype))), expected, f"weights as {dtype}")


def _cast(dtype: str) -> Change:
    return lambda a: a.astype(dtype)


def cast_floats(dtype: str) -> Change:
    """Return a change of arrays of floats to this type."""
    return lambda a: a.astype(dtype) if a.dtype.kind == "f" else a


@law()
def inputs_stay_as_they_are(subject: Subject, rng: np.random.Generator) -> None:
    """No array of the caller is written to."""
    plain = subject.case(rng).remade(columns=np.copy)
    for weights in (None, subject.weights(rng, plain.n)):
        case = plain.weighted(weights)
        every = (case.y, case.weights, *case.columns.values(), *case.options.values())
        given = [array for array in every if array is not None]
        before = [array.copy() for array in given]
        subject.measure(case)
        for array, copy in zip(given, before, strict=True):
            assert np.array_equal(array, copy), f"{subject.entry.name}: an input was modified"


@law()
def missing_values_are_refused(subject: Subject, rng: np.random.Generator) -> None:
    """NaN among predictions, outcomes or weights, or a label that is None, is refused with its row."""
    case = subject.case(rng)
    case = case.weighted(np.ones(case.n))
    for what, spoilt in _spoilt(subject, case):
        try:
            subject.measure(spoilt())
        except InputError as problem:
            assert "row 17" in str(problem), f"{subject.entry.name}: {what}: the message names no row 17: {problem}"
        else:
            raise AssertionError(f"{subject.entry.name}: a missing value among {what} gave a number")


def _spoilt(subject: Subject, case: Case) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield what is missing, and how to make the case: some predictions refuse it when they are built."""
    yield "weights", lambda: case.weighted(_missing(case.weights))
    if subject.entry.outcome and case.y is not None:
        yield "outcomes", lambda: case.remade(y=_missing)
    for name, column in case.columns.items():
        if column.dtype.kind == "f":
            yield name, partial(case.remade, columns=partial(_missing_in, column))
    for name, values in case.options.items():
        yield name, partial(case.remade, others=partial(_missing_in, values))


def _missing_in(spoilt: NDArray[Any], a: NDArray[Any]) -> NDArray[Any]:
    return _missing(a) if a is spoilt else a


def _missing(a: NDArray[Any]) -> NDArray[Any]:
    spoilt = a.astype(object if a.dtype.kind in "OU" else float)
    spoilt[17] = None if spoilt.dtype.kind == "O" else np.nan
    return spoilt
