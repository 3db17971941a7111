"""Double sums as a graph: every block of rows with itself and with every later one, each pair a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.dask.partitions import delayed_task, refusals_name
from calibrant.errors import InputError
from calibrant.kernels.median import median_rows

MOST_BLOCKS = 500  # 125,250 tasks


@dataclass(frozen=True, eq=False)
class BlockPairs:
    """Blocks that are not computed yet, a `Delayed` each, None where one is empty, and the kernel of all.

    Attributes
    ----------
    blocks
        The blocks: things that have a length `n`, or None.
    places
        What a refusal calls them.
    kernel
        A `Delayed` of what `BlockPairs.of` found with the rows it drew.
    """

    blocks: Sequence[Any]
    places: Sequence[str]
    kernel: Any

    @classmethod
    def of(
        cls,
        blocks: Sequence[Any],
        places: Sequence[str],
        take: Callable[[Any, NDArray[np.intp]], Any],
        find_kernel: Callable[[list[Any]], Any],
        rng: int,
    ) -> BlockPairs:
        """Find the kernel from at most 4096 rows, drawn from all by their number: all if there are no more.

        Parameters
        ----------
        blocks, places
            As the attributes.
        take
            Returns some rows of a block.
        find_kernel
            Returns the kernel, given these.
        rng
            Draws the rows.
        """
        P = len(blocks)
        if P > MOST_BLOCKS:
            raise InputError(
                f"{P:,} partitions are {P * (P + 1) // 2:,} pairs of partitions, and each is a task; cut the rows into "
                f"at most {MOST_BLOCKS}, with rechunk or repartition"
            )
        sizes = [delayed_task(_size, block, name="size") for block in blocks]
        drawn = delayed_task(_Drawn(rng), *sizes, name="draw")
        few = [delayed_task(_Taken(take, k), block, drawn, name="take") for k, block in enumerate(blocks)]
        return cls(blocks, places, delayed_task(_Found(find_kernel), *few, name="kernel"))

    def each(self, work: Callable[[Any, Any], Any]) -> list[Any]:
        """Return work(block, kernel) of each block, not computed yet; None for empty blocks."""
        return [
            delayed_task(_Own(work, self.places[k]), block, self.kernel, name="within")
            for k, block in enumerate(self.blocks)
        ]

    def every(self, work: Callable[[Any, Any, Any], float]) -> list[tuple[int, int, Any]]:
        """Return (a, b, work(block a, block b, kernel)) for a < b, not computed yet; 0 for empty blocks."""
        return [
            (
                a,
                b,
                delayed_task(
                    _Between(work, f"{self.places[a]} with {self.places[b]}"),
                    self.blocks[a],
                    self.blocks[b],
                    self.kernel,
                    name="between",
                ),
            )
            for a in range(len(self.blocks))
            for b in range(a + 1, len(self.blocks))
        ]


def _size(block: Any) -> int:
    return 0 if block is None else int(block.n)


@dataclass(frozen=True)
class _Drawn:
    """Which rows of each block are looked at for the kernel."""

    rng: int

    def __call__(self, *sizes: int) -> list[NDArray[np.intp]]:
        ends = np.cumsum(sizes)
        rows = median_rows(int(ends[-1]), np.random.default_rng(self.rng))
        return [rows[(rows >= end - size) & (rows < end)] - (end - size) for size, end in zip(sizes, ends, strict=True)]


@dataclass(frozen=True)
class _Taken:
    take: Callable[[Any, NDArray[np.intp]], Any]
    number: int

    def __call__(self, block: Any, drawn: list[NDArray[np.intp]]) -> Any:
        rows = drawn[self.number]
        return None if block is None or not rows.size else self.take(block, rows)


@dataclass(frozen=True)
class _Found:
    find_kernel: Callable[[list[Any]], Any]

    def __call__(self, *few: Any) -> Any:
        found = [part for part in few if part is not None]
        return self.find_kernel(found) if found else None


@dataclass(frozen=True)
class _Own:
    work: Callable[[Any, Any], Any]
    place: str

    def __call__(self, block: Any, kernel: Any) -> Any:
        with refusals_name(self.place):
            return None if block is None else self.work(block, kernel)


@dataclass(frozen=True)
class _Between:
    work: Callable[[Any, Any, Any], float]
    place: str

    def __call__(self, block: Any, other: Any, kernel: Any) -> float:
        with refusals_name(self.place):
            return 0.0 if block is None or other is None else self.work(block, other, kernel)
