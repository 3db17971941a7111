"""Sums of a kernel over pairs of points, and random divisions of points, without arrays of n × n numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks, on_tiles
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.pair_sums import Tile, each_block, kernel_tile, multiplies
from calibrant.kernels.point_kernels import PointKernel, Polynomial, check_kernel_values
from calibrant.progress import steps

TILE = 256  # points: a tile stays in the cache
BLOCK = 1024  # points in one matrix product, which BLAS runs on threads
LABEL = "summing pairs of points"


class Part(NamedTuple):
    """Consecutive rows of one set."""

    rows: slice
    set: int


def pair_sums(
    Z: FloatArray, kernel: PointKernel, sizes: Sequence[int], w: FloatArray | None = None, *, squared: bool = False
) -> FloatArray:
    """Return sums of w_i w_j k(z_i, z_j), or of k² if `squared`, over pairs of points: one for each pair of g sets.

    Z holds the points (N, d), set after set. Entry (a, a) of the result (g, g) is the sum over pairs i < j of set a,
    entry (a, b), a < b, that over all pairs of set a and set b. The entries below the diagonal are 0.
    """
    multiplied = isinstance(kernel, Polynomial) or multiplies(kernel.distance, Z.shape[1])
    tile, parts = kernel_tile(Z, kernel), parts_of(sizes, BLOCK if multiplied else TILE)

    def work(tiles: NDArray[np.intp]) -> FloatArray:
        total = np.zeros((len(sizes), len(sizes)))
        for a, b in tiles.tolist():
            first, second = parts[a], parts[b]
            k = tile(first.rows, second.rows)
            with np.errstate(over="ignore", invalid="ignore"):  # of this thread
                if squared:
                    k = k * k
                if a == b:
                    k = np.triu(k, 1)
                total[first.set, second.set] += float(k.sum() if w is None else w[first.rows] @ (k @ w[second.rows]))
        return total

    found: Iterator[FloatArray]
    if multiplied:  # one tile after another, because BLAS uses threads itself
        pairs = np.stack(np.triu_indices(len(parts)), axis=1)
        found = (work(pairs[start:stop]) for start, stop in steps(len(pairs), size=1, label=LABEL))
    else:
        found = on_tiles(work, len(parts), label=LABEL)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused
        sums = sum(found, np.zeros((len(sizes), len(sizes))))
    check_kernel_values(sums)
    return sums


def parts_of(sizes: Sequence[int], size: int) -> list[Part]:
    """Return the rows of consecutive sets, in parts of at most `size` rows of one set."""
    found, start = [], 0
    for number, many in enumerate(sizes):
        found += [Part(slice(start + s.start, start + s.stop), number) for s in chunks(many, size)]
        start += many
    return found


Divisions = NDArray[np.uint8]
"""(B, N): 1 where a point belongs to the first set, 0 where to the second."""

KEYS_AT_ONCE = 1 << 21  # random numbers
MAX_DIVISION_BYTES = 1 << 31
STATISTIC_BYTES = 1 << 10  # that a test of many statistics takes for each division


def relabellings(n: int, m: int, resamples: int, rng: np.random.Generator) -> Divisions:
    """Return for each of `resamples` random divisions which n of n + m points belong to the first set.

    >>> relabellings(1, 2, 4, np.random.default_rng(0)).sum(axis=1).tolist()
    [1, 1, 1, 1]
    """
    check_divisions(resamples, n + m)
    found = np.zeros((resamples, n + m), dtype=np.uint8)
    for part in chunks(resamples, max(1, KEYS_AT_ONCE // (n + m))):
        keys = rng.random((part.stop - part.start, n + m))
        first = np.argpartition(keys, n - 1, axis=1)[:, :n]
        np.put_along_axis(found[part], first, np.uint8(1), axis=1)
    return found


def check_divisions(resamples: int, N: int) -> None:
    """Refuse divisions that would take more than 2 GB, with N labels each; N is 0 if labels are not kept."""
    each = N + STATISTIC_BYTES
    most = MAX_DIVISION_BYTES // each
    if resamples > most:
        raise InputError(
            f"{resamples:,} random divisions of the points would take {resamples * each / 1e9:,.1f} GB of memory; at "
            f"most {most:,} are possible for these points. Pass fewer resamples; if level decides their number, pass a "
            "lower level"
        )


def observed_division(n: int, m: int) -> Divisions:
    """Return the observed division of the pooled points, (1, n + m).

    >>> observed_division(1, 2).tolist()
    [[1, 0, 0]]
    """
    return (np.arange(n + m) < n).astype(np.uint8)[None]


SPLITS_OF_ALL_ROWS = 64  # converted to float64 at once
SPLITS_OF_A_BLOCK = 4096  # converted to float64 at once


class PermutedSums(NamedTuple):
    """Sums over pairs i ≠ j of each of g kernels K, for each of B splits v."""

    a: FloatArray  # (g, B), vᵀKv: the pairs within the first set
    b: FloatArray  # (g, B), vᵀK1: the pairs of the first set with all rows
    s: FloatArray  # (g,), 1ᵀK1: all pairs
    squares: FloatArray  # (g,), the sum of k² over all pairs


def permuted_sums(
    tile: Tile, V: Divisions, kernels: Sequence[Callable[[FloatArray], FloatArray]] | None = None
) -> PermutedSums:
    """Return the sums of kernels that a permutation test of two sets is made of, for splits V (B, N).

    `tile` gives values of a kernel, or distances if `kernels` are functions of a block of distances. A block above the
    diagonal is computed once for all splits and kernels.
    """
    B, N = V.shape
    g = 1 if kernels is None else len(kernels)
    within, squares, sums = np.zeros((g, B)), np.zeros(g), np.zeros((g, N))
    for rows, columns, values in each_block(tile, N, label="summing pairs of points for permutations", threads=False):
        for number in range(g):
            K = values if kernels is None else kernels[number](values)
            if rows == columns:
                K = np.triu(K, 1)
            sums[number, rows] += K.sum(axis=1)
            sums[number, columns] += K.sum(axis=0)
            squares[number] += 2 * np.vdot(K, K)
            for some in chunks(B, SPLITS_OF_A_BLOCK):
                left, right = V[some, rows].astype(np.float64), V[some, columns].astype(np.float64)
                within[number, some] += 2 * np.einsum("bj,bj->b", left @ K, right)
    touching = np.concatenate([sums @ V[some].T.astype(np.float64) for some in chunks(B, SPLITS_OF_ALL_ROWS)], axis=1)
    return PermutedSums(within, touching, sums.sum(axis=1), squares)
