"""Log densities of predicted laws at the outcomes, at the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError
from calibrant.inputs.bounds import refuse_rounded
from calibrant.inputs.laws.parameters import read_numbers, refuse_where
from calibrant.inputs.outcomes import LawRows


def read_log_density_y(log_density_y: Any, rows: LawRows) -> NDArray[Any]:
    """Return one log density per row that stayed at the boundary, in the type it came; minus infinity is legal."""
    array = read_numbers(log_density_y, "log_density_y")
    expected = rows.n if rows.keep is None else rows.keep.size
    if array.shape != (expected,):
        raise InputError(
            f"log_density_y must have one value per row: shape ({expected},); got shape {array.shape}. It is the joint "
            "density of all coordinates"
        )
    refuse_rounded(array, "log_density_y")
    bad = ~(array < np.inf) if rows.keep is None else ~(array < np.inf) & rows.keep
    refuse_where(bad, array, "log_density_y must be below infinity and not missing", "Drop or repair such rows")
    return array if rows.keep is None else array[rows.keep]
