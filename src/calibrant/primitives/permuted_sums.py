"""Sums of kernels over the pairs within a set of rows, for many splits of the rows into two sets at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.dispatch import chunks
from calibrant.primitives.pair_sums import each_block
from calibrant.primitives.relabellings import Divisions
from calibrant.primitives.vector_sums import Tile

LABEL = "summing pairs of points for permutations"
FEW = 64  # splits that become numbers at once where a product needs all rows of them
MANY = 4096  # splits that become numbers at once where it needs those of a block


class PermutedSums(NamedTuple):
    """Sums over pairs i ≠ j of each of g kernels K, for each of B splits v."""

    a: FloatArray
    """vᵀKv, the pairs within the first set, (g, B)."""
    b: FloatArray
    """vᵀK1, the pairs of the first set with all rows, (g, B)."""
    s: FloatArray
    """1ᵀK1, all pairs, (g,)."""
    squares: FloatArray
    """The sum of k² over all pairs, (g,)."""


def permuted_sums(
    tile: Tile, V: Divisions, kernels: Sequence[Callable[[FloatArray], FloatArray]] | None = None
) -> PermutedSums:
    """Return the sums of kernels that a permutation test of two sets is made of.

    Parameters
    ----------
    tile
        Values of two ranges of rows, symmetric: a kernel's, or distances if there are `kernels`.
    V
        Splits (B, N), 1 for the rows of the first set.
    kernels
        Functions of a block of distances. None: the values are those of one kernel.

    Notes
    -----
    A block above the diagonal is formed once and serves all splits and kernels; no array of N × N numbers ever exists.
    """
    B, N = V.shape
    g = 1 if kernels is None else len(kernels)
    within, squares, sums = np.zeros((g, B)), np.zeros(g), np.zeros((g, N))
    for rows, columns, values in each_block(tile, N, label=LABEL, threads=False):
        for number in range(g):
            K = values if kernels is None else kernels[number](values)
            if rows == columns:
                K = np.triu(K, 1)
            sums[number, rows] += K.sum(axis=1)
            sums[number, columns] += K.sum(axis=0)
            squares[number] += 2 * np.vdot(K, K)
            for some in chunks(B, MANY):
                left, right = V[some, rows].astype(np.float64), V[some, columns].astype(np.float64)
                within[number, some] += 2 * np.einsum("bj,bj->b", left @ K, right)
    touching = np.concatenate([sums @ V[few].T.astype(np.float64) for few in chunks(B, FEW)], axis=1)
    return PermutedSums(within, touching, sums.sum(axis=1), squares)
