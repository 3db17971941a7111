"""An order of the rows that does not depend on the order in which they came."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError, SummaryError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.kernels.coverage_rows import CoverageRows


def table_of(distribution: Distribution) -> tuple[str, FloatArray]:
    """Return the kind of a law and its parameters (n, c)."""
    described, columns = _table(distribution)
    return json.dumps(described), columns


def distribution_of(kind: str, columns: FloatArray) -> Distribution:
    """Return the law that `table_of` made a table of."""
    return _distribution(json.loads(kind), columns)


def joined(first: Distribution, second: Distribution) -> Distribution:
    """Return the rows of two laws of one kind, one after the other."""
    (kind, above), (other, below) = _table(first), _table(second)
    if kind != other:
        raise SummaryError(f"rows of {_named(kind)} do not merge with rows of {_named(other)}")
    return _distribution(kind, np.concatenate([above, below]))


def _table(distribution: Distribution) -> tuple[list[Any], FloatArray]:
    n = distribution.n
    if isinstance(distribution, Normal):
        return ["Normal"], np.column_stack([distribution.mean, distribution.std])
    if isinstance(distribution, Laplace):
        return ["Laplace"], np.column_stack([distribution.loc, distribution.scale])
    if isinstance(distribution, MvNormal):
        return ["MvNormal", distribution.mean.shape[1]], np.column_stack(
            [distribution.mean, distribution.cov.reshape(n, -1)]
        )
    if isinstance(distribution, Samples):
        density = distribution.log_densities
        columns = distribution.draws.reshape(n, -1)
        if density is not None:
            columns = np.column_stack([columns, density])
        return ["Samples", list(distribution.draws.shape[1:]), density is not None], columns
    if isinstance(distribution, Mixture):
        parts = [_table(component) for component in distribution.components]
        described = [[kind, columns.shape[1]] for kind, columns in parts]
        return ["Mixture", described], np.column_stack([distribution.weights, *(columns for _, columns in parts)])
    raise SummaryError(
        f"{type(distribution).__name__} has no table of parameters, so batches of it cannot be merged or stored; "
        "pass all rows in one call"
    )


def _distribution(kind: list[Any], columns: FloatArray) -> Distribution:
    name = kind[0]
    if name == "Normal":
        return Normal(columns[:, 0], columns[:, 1])
    if name == "Laplace":
        return Laplace(columns[:, 0], columns[:, 1])
    if name == "MvNormal":
        D = kind[1]
        return MvNormal(columns[:, :D], columns[:, D:].reshape(-1, D, D))
    if name == "Samples":
        shape, dense = kind[1], kind[2]
        size = int(np.prod(shape))
        return Samples(columns[:, :size].reshape(-1, *shape), columns[:, size:] if dense else None)
    if name == "Mixture":
        described = kind[1]
        edges = np.cumsum([len(described), *(width for _, width in described)])
        parts = [
            _distribution(part, columns[:, a:b])
            for (part, _), a, b in zip(described, edges[:-1], edges[1:], strict=True)
        ]
        return Mixture(parts, columns[:, : len(described)])
    raise SummaryError(f"these bytes hold a law of the unknown kind {name}")


def _named(kind: list[Any]) -> str:
    return " ".join(str(part) for part in kind)


MOST_COLUMNS = 8


def canonical_order(
    rows: Binary | Classes | DistributionRows | CoverageRows, *, with_outcomes: bool = False
) -> NDArray[np.intp]:
    """Return the rows by prediction, then weight, then (if asked) outcome.

    Which rows are drawn for something must not depend on the outcomes.
    """
    if isinstance(rows, DistributionRows):
        outcomes = _columns(rows.y) if with_outcomes else []
        return np.lexsort([*outcomes, rows.w, *_of_distribution(rows.distribution)[::-1]])
    if isinstance(rows, CoverageRows):
        hits = list(rows.e.T) if with_outcomes else []
        return np.lexsort([*hits, rows.w, *rows.points.reshape(rows.n, -1).T[::-1]])
    last = [rows.y] if with_outcomes else []
    return np.lexsort([*last, rows.w, *_columns(rows.p if isinstance(rows, Binary) else rows.P)])


def _columns(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array] if array.ndim == 1 else list(array.T)


def _of_distribution(distribution: Distribution) -> list[NDArray[Any]]:
    """Return a few columns by which the predictions of a law are told apart."""
    try:
        return list(table_of(distribution)[1].T[:MOST_COLUMNS])
    except SummaryError:
        pass
    try:
        return list(distribution.ppf(np.broadcast_to([0.1, 0.5, 0.9], (distribution.n, 3))).T)
    except NotApplicableError:
        return []
