"""Means of the target kernel under predictive distributions: what kernel errors need to know of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.composed import RowIndex

NUMBERS_PER_PIECE = 1 << 17  # numbers per temporary array: they stay in the cache


class TargetMeans(ABC):
    """Means of a kernel on targets under the distributions of n rows, all independent.

    Row numbers broadcast: i of shape (a, 1) and j of shape (1, b) give a tile, i and j of shape (m,) give m pairs.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @abstractmethod
    def single(self, i: RowIndex, t: FloatArray) -> FloatArray:
        """Return E k(Z, t), Z from the distribution of row i; t is one outcome per i, or broadcasts against i."""

    def double(self, i: RowIndex, j: RowIndex) -> FloatArray:
        """Return E k(Z, Z'), Z from the distribution of row i and Z' from that of row j."""
        return self.double_with(self, i, j)

    def double_with(self, other: Any, i: RowIndex, j: RowIndex) -> FloatArray:
        """Return E k(Z, Z') with Z' from row j of another distribution of the same kind."""
        raise NotImplementedError

    def double_within(self, i: RowIndex) -> FloatArray:
        """Return E k(Z, Z') of two independent draws from the distribution of row i."""
        return self.double(i, i)

    def inner(self, i: RowIndex, j: RowIndex) -> FloatArray:
        """Return the inner product of the embeddings of rows i and j: `double`, where that is exact."""
        return self.double(i, j)

    @cached_property
    def squared_norms(self) -> FloatArray:
        """The squared norms of the embeddings of all rows."""
        rows = np.arange(self.n)
        return self.inner(rows, rows)


def by_pieces(function: Callable[[RowIndex, RowIndex], FloatArray], i: RowIndex, j: RowIndex, cost: int) -> FloatArray:
    """Return function(i, j) of broadcastable rows, asked for few pairs at a time when each needs `cost` numbers."""
    first, second = np.broadcast_arrays(i, j)
    shape = first.shape
    first, second = first.reshape(-1), second.reshape(-1)
    value = np.empty(first.size)
    step = max(1, NUMBERS_PER_PIECE // cost)
    for start in range(0, first.size, step):
        part = slice(start, start + step)
        value[part] = function(first[part], second[part])
    return value.reshape(shape)


def squared_embedding_distance(means: TargetMeans, i: RowIndex, j: RowIndex) -> FloatArray:
    """Return E k(Z₁, Z₂) - 2 E k(Z, Z') + E k(Z'₁, Z'₂), Z of row i and Z' of row j; what rounding makes negative is 0.

    The distance of the distributions in the Hilbert space of the kernel (Christmann and Steinwart 2010), with which
    every shape of kernel is positive definite. For draws all pairs are taken, equal ones too.
    """
    return np.maximum(means.squared_norms[i] - 2 * means.inner(i, j) + means.squared_norms[j], 0.0)
