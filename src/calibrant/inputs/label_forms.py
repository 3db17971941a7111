"""One form for labels that mean the same: moments in any unit of time, decimals with any number of places."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray


def moment_texts(moments: NDArray[Any]) -> list[str]:
    """Return moments or spans of time as texts, the same in any unit; "NaT" where there is none. Days stay days.

    >>> moment_texts(np.array(["2024-01-01T12:00", "NaT"], dtype="M8[ns]"))
    ['2024-01-01T12:00:00', 'NaT']
    >>> moment_texts(np.array([90_000], dtype="m8[ms]")) == moment_texts(np.array([90], dtype="m8[s]"))
    True
    """
    if moments.dtype.kind == "m":
        finest = moments.astype("m8[ns]")
        fit = np.array_equal(finest.astype(moments.dtype), moments, equal_nan=True)  # centuries do not
        return [str(span) for span in (finest if fit else moments)]  # an array of texts would cut long ones
    unit, _ = np.datetime_data(moments.dtype)
    spelt_out = moments.astype("M8[s]") if unit in ("h", "m") else moments
    return list(map(_shortened, spelt_out.astype(str).tolist()))


def plain_decimal(value: Any) -> Any:
    """Return a decimal without zeros at its end, a whole one as an int; anything else as it is.

    >>> plain_decimal(Decimal("1.50")), plain_decimal(Decimal("2.0")), plain_decimal("2.0")
    (Decimal('1.5'), 2, '2.0')
    """
    if not isinstance(value, Decimal) or not value.is_finite():
        return value
    return int(value) if value == value.to_integral_value() else value.normalize()


def _shortened(moment: str) -> str:
    """Return a text without zeros behind its point."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment
