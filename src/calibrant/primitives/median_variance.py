"""Median variance binning: cut a set of rows at the median of its most variable component, again and again.

The split of a set depends on that set alone; the queue only decides which sets are split before the bins run out. So
the whole tree is grown first, all sets of a level at once, and the queue is then walked on its nodes.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray
from calibrant.primitives.bins import IndexArray

TIE = 1e-12  # component variances this close are equal: those of two columns differ by rounding only


class Tree(NamedTuple):
    """Nodes are sets of rows, 0 is all rows, a child has a larger number than its parent."""

    leaf: IndexArray  # (rows,) the last set that holds the row
    parent: IndexArray  # (nodes,) -1 for the root
    below: IndexArray  # (nodes,) the child below the cut; the one above it comes next; -1 where there is no cut
    priority: FloatArray  # (nodes,) largest component variance, -1 for sets too small to be queued


def median_variance_bins(P: FloatArray, minsize: int, maxbins: int | None) -> IndexArray:
    """Return the bin number of each row; neither the order of the rows nor their weights matter.

    A set is cut at its upper median v[⌊size/2⌋] in the first component of largest variance; rows equal to the cut go
    up. It is a bin if a part would have fewer than `minsize` rows. Sets wait in a queue by that variance, first in,
    first out where it is equal, until there are `maxbins` bins.
    """
    tree = _grown(P, minsize)
    bins = tree.leaf if maxbins is None else _joined(tree, maxbins)[tree.leaf]
    return np.unique(bins, return_inverse=True)[1]


def _grown(P: FloatArray, minsize: int) -> Tree:
    n = P.shape[0]
    rows = np.lexsort(P.T)  # sums of rows in this order do not depend on the order they came in
    leaf = np.zeros(n, np.intp)
    parents, belows, priorities = [np.array([-1])], [], []
    nodes, sizes = 1, np.array([n])
    while sizes.size:
        first = nodes - sizes.size  # the numbers of this level's sets are first, first + 1, ..
        queued = np.flatnonzero(sizes >= 2 * minsize)
        rows = rows[np.repeat(sizes >= 2 * minsize, sizes)]
        owner = np.repeat(np.arange(queued.size), sizes[queued])
        priority, is_above = _cut(P[rows], sizes[queued], owner)
        above = np.bincount(owner, is_above, minlength=queued.size).astype(np.intp)
        parts = np.stack([sizes[queued] - above, above], axis=1)

        split = parts.min(axis=1) >= minsize
        child = nodes + 2 * (np.cumsum(split) - 1)
        belows.append(_placed(np.where(split, child, -1), queued, sizes.size))
        priorities.append(_placed(priority, queued, sizes.size))
        parents.append(np.repeat(first + queued[split], 2))

        going = split[owner]
        rows, owner, is_above = rows[going], owner[going], is_above[going]
        leaf[rows] = child[owner] + is_above
        rows = rows[np.argsort(leaf[rows], kind="stable")]
        sizes = parts[split].reshape(-1)
        nodes += sizes.size
    return Tree(leaf, np.concatenate(parents), np.concatenate(belows), np.concatenate(priorities))


def _cut(S: FloatArray, sizes: IndexArray, owner: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the priority of each set, and for each of its rows 1 where it is not below the cut."""
    if not sizes.size:
        return np.zeros(0), np.zeros(0, np.intp)
    starts = np.cumsum(sizes) - sizes
    mean = np.add.reduceat(S, starts, axis=0) / sizes[:, None]
    variance = np.add.reduceat((S - mean[owner]) ** 2, starts, axis=0) / (sizes - 1)[:, None]
    largest = variance.max(axis=1)
    component = (variance >= (largest * (1 - TIE))[:, None]).argmax(axis=1)
    value = np.take_along_axis(S, component[owner][:, None], axis=1)[:, 0]
    median = value[np.lexsort((value, owner))][starts + sizes // 2]
    return largest, (value >= median[owner]).astype(np.intp)


def _placed(values: NDArray[Any], places: IndexArray, size: int) -> NDArray[Any]:
    """Return an array of this size with the values at their places, and -1 elsewhere."""
    found = np.full(size, -1, values.dtype)
    found[places] = values
    return found


def _joined(tree: Tree, maxbins: int) -> IndexArray:
    """Return for each node the set that holds its rows when at most maxbins sets are left."""
    cut = np.zeros(tree.parent.size, bool)
    bins, arrived = 1, 0
    queue = [(-float(tree.priority[0]), 0, 0)]
    while queue and bins < maxbins:
        node = heappop(queue)[-1]
        below = int(tree.below[node])
        if below < 0:
            continue
        cut[node] = True
        bins += 1
        for part in (below, below + 1):
            if tree.priority[part] >= 0:
                arrived += 1
                heappush(queue, (-float(tree.priority[part]), arrived, part))
    holder = np.arange(tree.parent.size)
    for node in range(1, tree.parent.size):  # a parent comes before its children
        if not cut[tree.parent[node]]:
            holder[node] = holder[tree.parent[node]]
    return holder
