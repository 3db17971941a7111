"""What a user may tell an audit of draws besides outcomes and draws."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from calibrant.audit.sample_looks import judged_by_ranks
from calibrant.errors import InputError, shown
from calibrant.inputs.covariates import covariate_columns
from calibrant.inputs.log_density_y import read_log_density_y
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray

Known = tuple[tuple[str, ...], FloatArray | None, NDArray[Any] | None]


def known_of_draws(rows: Any, kind: str, *, columns: Any, covariates: Any, log_density_y: Any) -> Known:
    """Return names of coordinates, covariates, and log densities of outcomes; refuse them for other predictions."""
    for name, value in (("covariates", covariates), ("log_density_y", log_density_y)):
        if value is not None and kind != "samples":
            raise InputError(f"{name}= is for Samples; leave it out for other predictions")
        if value is not None and not judged_by_ranks(rows):
            raise InputError(f"{name}= is looked at by ranks, which need equal weights; leave {name} or weights out")
    if columns is not None and not (isinstance(rows, LawRows) and rows.law.shape):
        raise InputError("columns= names the coordinates of vectors; leave it out for other predictions")
    keep = rows.keep if isinstance(rows, LawRows) else None
    x = None if covariates is None else covariate_columns(covariates, rows.n, keep)
    return _names(rows, columns), x, _density(rows, log_density_y)


def _names(rows: Any, columns: Any) -> tuple[str, ...]:
    if columns is None:
        return ()
    D = rows.law.shape[0]
    names = (columns,) if isinstance(columns, str) else tuple(str(name) for name in columns)
    if len(names) != D or len(set(names)) != D:
        raise InputError(f"columns must be {D} different names, one per coordinate; got {shown(columns)}")
    return names


def _density(rows: Any, log_density_y: Any) -> NDArray[Any] | None:
    if log_density_y is None:
        return None
    if rows.law.log_densities is None:
        raise InputError(
            "{log_density_y=} is compared with that of the draws; pass Samples(draws, log_density)",
            option="log_density_y",
        )
    return read_log_density_y(log_density_y, rows)
