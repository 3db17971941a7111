"""Rows compared with test locations: the scores behind the unnormalised calibration mean embedding."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, SummaryError
from calibrant.inputs import Binary, Classes
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.laws.columns import joined, table_of
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray, unit_weights
from calibrant.kernels.composed import target_matrix
from calibrant.kernels.fitted import Chance, DrawnRows, form_of
from calibrant.kernels.forms import LawForm, LineForm, MeanForm, VectorForm
from calibrant.kernels.kernel import Product


@dataclass(frozen=True, eq=False)
class Locations:
    """J pairs T_j = (t_j, u_j) of a prediction and a target; `rows` holds both, one row per location."""

    rows: DrawnRows
    chosen: NDArray[np.intp] | None = None  # the rows of the data that they are, if they are

    @property
    def J(self) -> int:
        """Number of locations."""
        return self.rows.n

    def digest(self, kernel: Product) -> str:
        """Return a short name of these locations with this kernel, so that only like is merged with like."""
        rows = self.rows
        parts: list[Any] = [rows.y]
        if isinstance(rows, Binary):
            parts.append(rows.p)
        elif isinstance(rows, Classes):
            parts.append(rows.P)
        else:
            parts.append(_bytes_of(rows.law))
        text = repr(kernel).encode() + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        return hashlib.sha256(text).hexdigest()[:12]


def _bytes_of(law: Law) -> NDArray[np.uint8]:
    """Return bytes that differ where laws do; a law of one's own is known by its representation only."""
    try:
        kind, columns = table_of(law)
    except SummaryError:
        return np.frombuffer(repr(law).encode(), np.uint8)
    return np.frombuffer(kind.encode() + np.ascontiguousarray(columns).tobytes(), np.uint8)


@dataclass(frozen=True, eq=False)
class LocationScores:
    """Z_ij = k_P(p_i, t_j) [k_Y(y_i, u_j) - E k_Y(Z_i, u_j)] as a function of the outcomes.

    `kernels` and `expectations` hold k_P and E k_Y as (n, J): one of each, or two for the halves of draws, whose mean
    is taken.
    """

    kernels: tuple[FloatArray, ...]
    expectations: tuple[FloatArray, ...]
    u: NDArray[Any]
    product: Product
    G: FloatArray | None

    def of(self, y: NDArray[Any]) -> FloatArray:
        """Return Z (n, J) for these outcomes."""
        target = self._target(y)
        parts = [k * (target - E) for k, E in zip(self.kernels, self.expectations, strict=True)]
        return np.asarray(sum(parts) / len(parts))

    def _target(self, y: NDArray[Any]) -> FloatArray:
        if self.G is not None:
            return np.asarray(self.G[y[:, None].astype(np.intp), self.u[None, :].astype(np.intp)])
        gap = y[:, None] - self.u[None]
        return self.product.target.of_distance(np.abs(gap) if y.ndim == 1 else np.sqrt(np.square(gap).sum(axis=-1)))


def location_scores(rows: DrawnRows, locations: Locations, kernel: Product, chance: Chance) -> LocationScores:
    """Compare rows with locations, for kernels whose length scales are numbers."""
    n, J = rows.n, locations.J
    form = form_of(_together(rows, locations), kernel, chance)
    i, j = np.arange(n)[:, None], np.arange(n, n + J)[None, :]
    u = locations.rows.y
    if isinstance(form, (LineForm, VectorForm)):
        K = 2 if isinstance(form, LineForm) else form.P.shape[1]
        G = target_matrix(kernel.target, K)
        G = np.eye(K) if G is None else G
        P = np.column_stack([1 - form.x, form.x])[:n] if isinstance(form, LineForm) else form.P[:n]
        return LocationScores((kernel.prediction.of_distance(form.distance(i, j)),), ((P @ G)[:, u],), u, kernel, G)
    forms = form.forms if isinstance(form, MeanForm) else (form,)
    kernels, expectations = [], []
    for part in forms:
        assert isinstance(part, LawForm)
        kernels.append(kernel.prediction.of_distance(part.distance(i, j)))
        expectations.append(part.means.single(i, u[None, :].astype(np.float64)))
    return LocationScores(tuple(kernels), tuple(expectations), u, kernel, None)


def _together(rows: DrawnRows, locations: Locations) -> DrawnRows:
    """Return the rows, then the locations, as one."""
    others = locations.rows
    w = unit_weights(rows.n + others.n)
    y = np.concatenate([rows.y, others.y])
    if isinstance(rows, Binary) and isinstance(others, Binary):
        return Binary(y, np.concatenate([rows.p.astype(np.float64), others.p.astype(np.float64)]), w)
    if isinstance(rows, Classes) and isinstance(others, Classes):
        if rows.K != others.K:
            raise InputError(f"locations must have the {rows.K} classes of the prediction; got {others.K}")
        return Classes(y, np.concatenate([rows.P.astype(np.float64), others.P.astype(np.float64)]), w)
    if isinstance(rows, LawRows) and locations.chosen is not None:
        return LawRows(y, rows.law.take(np.concatenate([np.arange(rows.n), locations.chosen])), w)
    if isinstance(rows, LawRows) and isinstance(others, LawRows):
        try:
            return LawRows(y, joined(_draws_alone(rows.law), _draws_alone(others.law)), w)
        except SummaryError as problem:
            raise InputError(f"locations must be a law like that of the prediction: {problem}") from None
    raise InputError("locations must be of the same kind as the prediction: a pair (prediction, y)")


def _draws_alone(law: Law) -> Law:
    """Return draws without their densities, which no kernel looks at."""
    return Samples(law.draws) if isinstance(law, Samples) else law
