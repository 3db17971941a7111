"""Sums over rows on a device that a summary can be made of: per cell of the grid, or of row scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrant.core.bins import grid_uppers
from calibrant.core.cells import COLUMNS
from calibrant.core.grid import CELLS, Grid
from calibrant.core.moments import Moments
from calibrant.integrations.torch.rows import Rows
from calibrant.integrations.torch.scores import SCORES

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CellSums:
    """The sums of a `Grid`, which need no spread."""

    order: ClassVar[tuple[str, ...]] = ("n", "wp", "w", "wy", "wv", "wr2", "w2", "w2y", "w2v", "w2r2", "w2v2")
    label: ClassVar[str] = "a Grid"
    shape: ClassVar[tuple[int, ...]] = (len(order), CELLS)
    scores: ClassVar[int] = 0

    def of(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return the sums of these rows."""
        import torch

        y, p, w = rows if rows.p.ndim == 1 else _top_label(rows)
        q = p.double().contiguous()
        cell = torch.bucketize(q, _uppers(p.dtype, p.device)).clamp_(max=CELLS - 1)  # a bad score has a cell too
        r = y - q
        weighted = w * torch.stack([q, torch.ones_like(q), y, q * (1 - q), r * r])
        columns = torch.cat([(w > 0)[None], weighted, w * weighted[1:], weighted[3:4] ** 2])
        return w.new_zeros(self.shape).index_add_(1, cell, columns), w.new_zeros(0)

    def count(self, sums: Tensor) -> int:
        """Return the number of rows."""
        return int(sums[0].sum())

    def summary(self, sums: Tensor, spread: Tensor, weight_max: float) -> Grid:
        """Return the grid that has these sums."""
        return Grid(sums.numpy()[[self.order.index(name) for name in COLUMNS]], weight_max)


@dataclass(frozen=True)
class ScoreSums:
    """The sums of `Moments`: n, then Σw, Σws and the weight of infinite s, then Σw² and Σw²s, of each score s.

    The spread is Σw²(s - m)² around the mean m of s under w².
    """

    verb: str
    options: Mapping[str, Any]
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is summed, whatever the number of classes."""
        return ", ".join(name.partition("[")[0] for name in self.names)

    @property
    def scores(self) -> int:
        """The number of scores of a row."""
        return len(self.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums."""
        return (3 + 3 * self.scores,)

    def of(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return the sums of these rows, and the spread."""
        import torch

        s = torch.stack(SCORES[self.verb](rows, **self.options))  # (scores, n)
        infinite = s.isinf()
        s, w = s.masked_fill(infinite, 0), rows.w
        weighted = w * torch.cat([torch.ones_like(w)[None], s, infinite])
        sums = torch.cat([(w > 0)[None], weighted, w * weighted[: 1 + self.scores]]).sum(1)
        step = w * (s - self.second(sums)[1][:, None])
        return sums, (step * step).sum(1)

    def second(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σw² and the means under w², 0 of no rows."""
        w2, w2s = sums[-1 - self.scores], sums[-self.scores :]
        return w2, w2s / w2.clamp(min=np.finfo(np.float64).tiny)

    def count(self, sums: Tensor) -> int:
        """Return the number of rows."""
        return int(sums[0])

    def summary(self, sums: Tensor, spread: Tensor, weight_max: float) -> Moments:
        """Return the moments that have these sums."""
        n, w = sums[:2].tolist()
        if n == 0:
            return Moments.zero()
        ws, infinite = sums[2 : 2 + 2 * self.scores].reshape(2, -1).numpy()
        w2, mean2 = self.second(sums)
        return Moments(self.names, int(n), w, float(w2), weight_max, ws / w, mean2.numpy(), spread.numpy(), infinite)


Sums = CellSums | ScoreSums


def _top_label(rows: Rows) -> Rows:
    """Return whether the most probable class (the first of tied ones) came true, and its probability."""
    top = rows.p.argmax(1)
    return Rows((top == rows.y).double(), rows.p.gather(1, top[:, None])[:, 0], rows.w)


@cache
def _uppers(dtype: Any, device: Any) -> Tensor:
    """Return the upper edges of the cells as scores of this dtype see them."""
    import torch

    if dtype is torch.bfloat16:  # which NumPy does not have
        edges = torch.from_numpy(grid_uppers("float32").copy()).bfloat16().double()
    else:
        edges = torch.from_numpy(grid_uppers(str(dtype).removeprefix("torch.")).copy())
    return edges.to(device)
