"""Sums over pairs of rows of a term h(i, j), tile by tile: no array of n × n numbers ever exists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray, is_unit
from calibrant.kernels.forms import Form, VectorForm
from calibrant.primitives import vector_sums
from calibrant.primitives.dispatch import chunks, on_threads, on_tiles
from calibrant.primitives.vector_sums import TILE, Tile
from calibrant.progress import steps

CountArray = NDArray[np.uint16]

BLOCK = 512  # rows that meet as many in one large product of counts, on the threads of BLAS
CHEAP_CLASSES = 64  # up to here a block of h costs less than the product that follows
MOST_DRAWS = 1 << 17  # at once, so that their counts stay in the cache
LARGEST_COUNT = np.iinfo(np.uint16).max


def pair_sum(form: Form, w: FloatArray) -> float:
    """Return Σ w_i w_j h_ij over the pairs i < j."""
    if isinstance(form, VectorForm) and vector_sums.takes_fast_body(form):
        return vector_sums.fast_pair_sum(form, w)
    return _reference(form, w)


def _reference(form: Form, w: FloatArray) -> float:
    tile, rows, unit = tile_of(form), list(chunks(form.n, TILE)), is_unit(w)

    def work(tiles: NDArray[np.intp]) -> float:
        total = 0.0
        for a, b in tiles.tolist():
            h = tile(rows[a], rows[b])
            if a == b:
                h = np.triu(h, 1)
            total += float(h.sum() if unit else ((h * w[rows[b]]).sum(axis=1) * w[rows[a]]).sum())
        return total

    return sum(on_tiles(work, len(rows), label="summing pairs of rows"), 0.0)


def tile_of(form: Form) -> Tile:
    """Return h as a function of two ranges of rows, of which only what stands above the diagonal is meant."""
    if isinstance(form, VectorForm):
        return vector_sums.term_tile(form)

    def tile(rows: slice, columns: slice) -> FloatArray:
        i, j = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        if rows != columns:
            return form.h(i[:, None], j[None, :])
        above = np.triu_indices(i.size, 1)
        h = np.zeros((i.size, i.size))
        h[above] = form.h(i[above[0]], i[above[1]])
        return h

    return tile


def counted_sums(form: Form, C: CountArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ_ij c_bi c_bj h_ij for each row b of counts, and Σ_j h_ij for each row i; both include i = j.

    Each block of H is formed once for all counts.
    """
    diagonal = form.diagonal()
    quadratic, sums = np.zeros(len(C)), diagonal.copy()
    cheap = isinstance(form, VectorForm) and form.P.shape[1] <= CHEAP_CLASSES
    label = "summing pairs of rows for the bootstrap"
    for rows, columns, H in each_block(tile_of(form), form.n, label=label, threads=not cheap):
        sums[rows] += H.sum(axis=1)
        sums[columns] += H.sum(axis=0)
        if rows == columns:
            np.fill_diagonal(H, diagonal[rows] / 2)
        halves = C[:, rows].astype(np.float64) @ H
        halves *= C[:, columns]
        quadratic += 2 * halves.sum(axis=1)
    return quadratic, sums


def each_block(tile: Tile, n: int, *, label: str, threads: bool) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Yield (I, J, values) for I not after J, together all pairs i < j; other values are 0.

    A block is larger than a tile, for products that BLAS spreads over the cores. Costly tiles ask for threads; for
    cheap ones these only fight with those of BLAS.
    """
    parts = list(chunks(n, BLOCK))
    pairs = [(a, b) for a in range(len(parts)) for b in range(a, len(parts))]
    for at, _ in steps(len(pairs), size=1, label=label):
        rows, columns = (parts[k] for k in pairs[at])
        yield rows, columns, _block(tile, rows, columns, threads)


def _block(tile: Tile, rows: slice, columns: slice, threads: bool) -> FloatArray:
    H = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    down, across = list(chunks(H.shape[0], TILE)), list(chunks(H.shape[1], TILE))
    wanted = [(i, j) for i in down for j in across if rows != columns or i.start <= j.start]

    def fill(part: slice) -> None:
        for i, j in wanted[part]:
            H[i, j] = tile(_moved(i, rows.start), _moved(j, columns.start))

    if threads:
        list(on_threads(fill, len(wanted), size=2))
    else:
        fill(slice(None))
    return np.triu(H, 1) if rows == columns else H


def _moved(part: slice, start: int) -> slice:
    return slice(part.start + start, part.stop + start)


def multinomial_counts(n: int, resamples: int, rng: np.random.Generator) -> CountArray:
    """Return how often each of n rows is drawn when n rows are drawn with replacement, once per resample."""
    counts = np.empty((resamples, n), dtype=np.uint16)
    for part in chunks(resamples, max(1, MOST_DRAWS // n)):
        size = part.stop - part.start
        drawn = rng.integers(n, size=(size, n))
        drawn += n * np.arange(size)[:, None]
        found = np.bincount(drawn.reshape(-1), minlength=size * n)
        if n > LARGEST_COUNT and found.max() > LARGEST_COUNT:
            raise OverflowError(f"a row was drawn {found.max()} times; counts above {LARGEST_COUNT} do not fit")
        counts[part] = found.reshape(size, n)
    return counts
