"""Sums per bin: what every binned measurement is a function of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs.weights import FloatArray


@dataclass(frozen=True, eq=False)
class BinTable:
    """Edges and sums of m bins, empty ones included; v = p(1-p), r = y - p."""

    edges: FloatArray  # m + 1
    sums: FloatArray  # (11, m), rows named by primitives.cells.COLUMNS

    @property
    def lower(self) -> FloatArray:
        """Lower edges, which the bins do not hold (but 0 belongs to the first)."""
        return self.edges[:-1]

    @property
    def upper(self) -> FloatArray:
        """Upper edges, which the bins hold."""
        return self.edges[1:]

    def _column(self, row: int) -> FloatArray:
        column: FloatArray = self.sums[row]
        return column

    @property
    def count(self) -> NDArray[np.int64]:
        """Rows per bin."""
        return self._column(0).astype(np.int64)

    @property
    def w(self) -> FloatArray:
        """Σw per bin."""
        return self._column(1)

    @property
    def w2(self) -> FloatArray:
        """Σw² per bin."""
        return self._column(2)

    @property
    def wp(self) -> FloatArray:
        """Σwp per bin."""
        return self._column(3)

    @property
    def wy(self) -> FloatArray:
        """Σwy per bin."""
        return self._column(4)

    @property
    def wv(self) -> FloatArray:
        """Σwv per bin."""
        return self._column(6)

    @property
    def wr2(self) -> FloatArray:
        """Σwr² per bin."""
        return self._column(8)

    @property
    def w2v(self) -> FloatArray:
        """Σw²v per bin."""
        return self._column(7)

    @property
    def w2r2(self) -> FloatArray:
        """Σw²r² per bin."""
        return self._column(9)

    @property
    def w2v2(self) -> FloatArray:
        """Σw²v² per bin."""
        return self._column(10)

    @property
    def rise(self) -> FloatArray:
        """Σw(1 - p) of events per bin: by so much Σwr may rise on the way from row to row."""
        rise: FloatArray = (self.wr2 + self.wv + self.wy - self.wp) / 2  # r² + v is |r|
        return rise

    @property
    def fall(self) -> FloatArray:
        """Σwp of non-events per bin: by so much Σwr may fall."""
        fall: FloatArray = (self.wr2 + self.wv - self.wy + self.wp) / 2
        return fall

    @property
    def share(self) -> FloatArray:
        """Share of the weight per bin, f_b."""
        share: FloatArray = self.w / self.w.sum()
        return share

    @property
    def mean_predicted(self) -> FloatArray:
        """Mean score per bin, NaN where there are no rows."""
        return _quotient(self.wp, self.w)

    @property
    def mean_observed(self) -> FloatArray:
        """Observed frequency per bin, NaN where there are no rows."""
        return _quotient(self.wy, self.w)

    @property
    def gap(self) -> FloatArray:
        """Observed frequency minus mean score per bin, 0 where there are no rows."""
        gap: FloatArray = np.nan_to_num(_quotient(self.wy - self.wp, self.w))
        return gap

    def event_spread(self, centre: FloatArray) -> FloatArray:
        """Return Σw²(y - c)² per bin around the value c of each bin."""
        w2y = self._column(5)
        spread: FloatArray = w2y * (1 - centre) ** 2 + (self.w2 - w2y) * centre**2
        return spread


def _quotient(sums: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.divide(sums, weight, out=np.full(weight.shape, np.nan), where=weight > 0))
