"""What a container calls its columns."""

from __future__ import annotations

from typing import Any


def column_names(values: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame, an Arrow table or a labelled array; () if they have none.

    Names that a library gives of itself, 0, 1, ... or column_0, column_1, ..., are none.

    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"height": [1.8], "weight": [75.0]}))
    ('height', 'weight')
    >>> column_names(pd.DataFrame([[1.8, 75.0]]))
    ()
    """
    found = tuple(map(str, _given(values)))
    numbers = range(len(found))
    of_itself = (tuple(map(str, numbers)), tuple(f"column_{k}" for k in numbers))
    return () if found in of_itself else found


def _given(values: Any) -> tuple[Any, ...]:
    package = type(values).__module__.partition(".")[0]
    if package == "pyarrow":  # whose columns are the numbers themselves
        return tuple(getattr(getattr(values, "schema", None), "names", ()))
    if package == "xarray":
        last = tuple(values.dims)[-1:]
        return tuple(label for name in last if name in values.indexes for label in values.indexes[name])
    columns = getattr(values, "columns", ())
    return () if callable(columns) else tuple(columns)
