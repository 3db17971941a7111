"""The pair term h of the squared kernel calibration error, as a function of row numbers.

With Z ~ p and Z' ~ p' independent,

    h((p, y), (p', y')) = k((p, y), (p', y')) - E k((p, Z), (p', y')) - E k((p, y), (p', Z')) + E k((p, Z), (p', Z')).

For a product k_P · k_Y it is k_P(p, p') times a part that looks at targets only. Row numbers broadcast as in
`distances`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.composed import Distance, RowIndex, distance_of_points, is_tile
from calibrant.kernels.kernel import JointKernel, Kernel
from calibrant.kernels.target_means import TargetMeans


class Form(Protocol):
    """h of pairs of rows."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        """Return h of rows i and j, which must be different."""

    def diagonal(self) -> FloatArray:
        """Return h of each row with itself."""


@dataclass(frozen=True, eq=False)
class LineForm:
    """One number per row: h = factor · e e' k(|x - x'|)."""

    x: FloatArray
    e: FloatArray
    kernel: Kernel
    factor: float = 1.0

    @property
    def n(self) -> int:
        return self.x.size

    @cached_property
    def distance(self) -> Distance:
        return distance_of_points(self.x, self.kernel.distance or "euclidean")

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return np.asarray(self.factor * self.kernel.of_distance(self.distance(i, j)) * self.e[i] * self.e[j])

    def diagonal(self) -> FloatArray:
        return np.asarray(self.factor * self.kernel.at_zero * self.e * self.e)


@dataclass(frozen=True, eq=False)
class VectorForm:
    """Class probabilities and a product kernel: h = k_P(p, p') · rᵀ G r' with r = e_y - p and S = R G.

    G is None for the delta kernel, S then R itself.
    """

    P: FloatArray
    y: NDArray[np.intp]
    R: FloatArray
    S: FloatArray
    G: FloatArray | None
    kernel: Kernel

    @classmethod
    def of(cls, P: NDArray[np.floating[Any]], y: NDArray[np.intp], kernel: Kernel, G: FloatArray | None) -> VectorForm:
        points: FloatArray = np.ascontiguousarray(P, dtype=np.float64)
        R = -points
        R[np.arange(y.size), y] += 1.0
        return cls(points, y, R, R if G is None else R @ G, G, kernel)

    @property
    def n(self) -> int:
        return len(self.P)

    @cached_property
    def distance(self) -> Distance:
        return distance_of_points(self.P, self.kernel.distance or "tv")

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        target = self.S[i[:, 0]] @ self.R[j[0]].T if is_tile(i, j) else (self.S[i] * self.R[j]).sum(axis=-1)
        return np.asarray(self.kernel.of_distance(self.distance(i, j)) * target)

    def diagonal(self) -> FloatArray:
        return np.asarray(self.kernel.at_zero * (self.S * self.R).sum(axis=1))


@dataclass(frozen=True, eq=False)
class JointForm:
    """Class probabilities and a joint kernel: h = Σ_ab (1{a=y} - p_a)(1{b=y'} - p'_b) k((p,a),(p',b))."""

    P: FloatArray
    y: NDArray[np.intp]
    kernel: JointKernel

    @property
    def n(self) -> int:
        return len(self.P)

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        first, second = (rows.reshape(-1) for rows in np.broadcast_arrays(i, j))
        K = self.P.shape[1]
        p, q = self.P[first], self.P[second]
        h = np.zeros(first.size)
        for a in range(K):
            left = (self.y[first] == a) - p[:, a]
            for b in range(K):
                labels = np.full(first.size, a), np.full(first.size, b)
                # Copies: the kernel may write to them.
                h += left * ((self.y[second] == b) - q[:, b]) * self.kernel(p.copy(), labels[0], q.copy(), labels[1])
        return h.reshape(np.broadcast_shapes(i.shape, j.shape))

    def diagonal(self) -> FloatArray:
        rows = np.arange(self.n)
        return self.h(rows, rows)


@dataclass(frozen=True, eq=False)
class DistributionForm:
    """Distributions and a product kernel: h = k_P · (k_Y(y, y') - E k_Y(Z, y') - E k_Y(y, Z') + E k_Y(Z, Z'))."""

    y: FloatArray
    distance: Distance
    kernel: Kernel
    target: Kernel
    means: TargetMeans

    @property
    def n(self) -> int:
        return len(self.y)

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        t, s = self.y[i], self.y[j]
        gap = np.abs(t - s) if self.y.ndim == 1 else np.sqrt(np.square(t - s).sum(axis=-1))
        part = self.target.of_distance(gap) + self.means.double(i, j)
        part -= self.means.single(i, s)
        part -= self.means.single(j, t)
        return np.asarray(self.kernel.of_distance(self.distance(i, j)) * part)

    def diagonal(self) -> FloatArray:
        rows = np.arange(self.n)
        part = self.target.at_zero - 2 * self.means.single(rows, self.y) + self.means.double_within(rows)
        return np.asarray(self.kernel.at_zero * part)


class MeanForm:
    """The mean of forms of the same rows."""

    def __init__(self, *forms: Form) -> None:
        self.forms, self.n = forms, forms[0].n

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return np.asarray(sum(form.h(i, j) for form in self.forms) / len(self.forms))

    def diagonal(self) -> FloatArray:
        return np.asarray(sum(form.diagonal() for form in self.forms) / len(self.forms))


class ChangedForm:
    """Another form whose values are changed pair by pair: change(h_ij, i, j)."""

    def __init__(self, form: Form, change: Callable[[FloatArray, RowIndex, RowIndex], FloatArray]) -> None:
        self.form, self.change, self.n = form, change, form.n

    def h(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return self.change(self.form.h(i, j), i, j)

    def diagonal(self) -> FloatArray:
        rows = np.arange(self.n)
        return self.change(self.form.diagonal(), rows, rows)
