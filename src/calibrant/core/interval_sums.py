"""Sums for coverage, width and interval score in one compiled pass over outcomes and bounds."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from calibrant.core.dispatch import CHUNK_ROWS, on_threads, takes_fast_body
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.rows import IntervalRows, QuantileRows

FAST_CHUNK_ROWS = 1 << 19
BLOCK_ROWS = 1024  # their scores stay in the first cache while their mean and then their spread are computed


class IntervalSums(NamedTuple):
    """Of n rows of weight 1: outcomes inside, mean and spread Σ(s - mean)² of the scores, extreme outcomes.

    Infinite scores count as 0 in both; `infinite` is their number. Sums that were not requested are 0.
    """

    n: int
    hits: int
    mean: float
    spread: float
    infinite: int
    low: float
    high: float

    @property
    def of_hits(self) -> IntervalSums:
        return self._of_counts(self.hits)

    @property
    def of_finite(self) -> IntervalSums:
        """The sums of the scores 1 where the score is finite and 0 where it is infinite."""
        return self._of_counts(self.n - self.infinite)

    def _of_counts(self, k: int) -> IntervalSums:
        mean = k / self.n
        return self._replace(mean=mean, spread=k * (1 - mean) ** 2 + (self.n - k) * mean**2, infinite=0)

    def merged(self, other: IntervalSums) -> IntervalSums:
        """Return the sums of the rows of both (Chan's formula)."""
        n, step = self.n + other.n, other.mean - self.mean
        return IntervalSums(
            n,
            self.hits + other.hits,
            self.mean + step * (other.n / n),
            self.spread + other.spread + step * step * (self.n * other.n / n),  # step**2 raises if it overflows
            self.infinite + other.infinite,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def sums_in_one_pass(n: int, w: FloatArray) -> bool:
    """Tell whether the compiled body is used for so many rows with these weights; else their row scores are."""
    return is_unit(w) and takes_fast_body(n)


def sums_of_levels(rows: IntervalRows, *parts: str) -> list[IntervalSums]:
    """Return the sums at each level for these parts of the interval score, "width", "below" and "above".

    "hits" and "range" ask for the number of covered outcomes and for their extremes; without outcomes only "width" can
    be asked for.
    """
    given = rows.prediction
    found = []
    for k, level in enumerate(given.levels):
        lower, upper = given.lower[:, k : k + 1], given.upper[:, k : k + 1]
        cost = np.array([2 / (1 - level)])
        width, below, above = (float(part in parts) for part in ("width", "below", "above"))
        terms = Terms(lower, upper, np.array([width]), below * cost, above * cost)
        y = rows.y if rows.y.ndim == 1 else lower[:, 0]
        found.append(interval_sums(y, terms, hits="hits" in parts, extremes="range" in parts))
    return found


def hits_of_quantiles(rows: QuantileRows) -> list[IntervalSums]:
    """Return the number of outcomes at most at each quantile; a chunk of them is read once from memory."""
    values = rows.prediction.values

    def work(part: slice) -> list[int]:
        y = rows.y[part]
        return [int(np.count_nonzero(y <= values[part, k])) for k in range(values.shape[1])]

    counts = np.sum(list(on_threads(work, rows.n, size=CHUNK_ROWS)), axis=0)
    return [IntervalSums(rows.n, int(hits), 0.0, 0.0, 0, 0.0, 0.0) for hits in counts]


class Terms(NamedTuple):
    """What a score adds up over K intervals: width (u - l) + below (l - y)₊ + above (y - u)₊.

    A factor of 0 leaves its part out, even if that is infinite. A median m adds below (m - y)₊ + above (y - m)₊ with
    its own two factors.
    """

    lower: FloatArray  # (n, K)
    upper: FloatArray  # (n, K)
    width: FloatArray  # (K,)
    below: FloatArray  # (K,)
    above: FloatArray  # (K,)
    median: FloatArray = np.zeros(0)  # (n,); none by default
    of_median: tuple[float, float] = (0.0, 0.0)


def interval_sums(y: FloatArray, terms: Terms, *, hits: bool = False, extremes: bool = False) -> IntervalSums:
    """Return the sums of these scores; the outcomes inside are those of the first interval."""
    kernel = _compiled()
    v = _read_only(np.ascontiguousarray(y))
    lower, upper = _rows(terms.lower), _rows(terms.upper)
    factors = (terms.width, terms.below, terms.above)
    median = (_read_only(np.ascontiguousarray(terms.median)), *terms.of_median)

    def work(part: slice) -> IntervalSums:
        found = kernel(v, lower, upper, *factors, *median, hits, part.start, part.stop)
        covered, mean, spread, infinite = found
        ends = (float(v[part].min()), float(v[part].max())) if extremes else (0.0, 0.0)
        return IntervalSums(part.stop - part.start, int(covered), mean, spread, int(infinite), *ends)

    return reduce(IntervalSums.merged, on_threads(work, v.size, size=FAST_CHUNK_ROWS))


def _rows(columns: FloatArray) -> FloatArray:
    """Return the columns as rows of contiguous memory; they are copied only if necessary."""
    return _read_only(np.ascontiguousarray(columns.T))


def _read_only(array: FloatArray) -> FloatArray:
    """Return a view that cannot be written to: the kernel is compiled once per kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


@cache
def _compiled() -> Any:
    import numba

    # Sums may be taken in any order and no score is NaN, but scores may be infinite: plain "fast" would be wrong.
    @numba.njit(nogil=True, cache=True, fastmath={"reassoc", "nnan", "nsz"})
    def kernel(  # type: ignore[no-untyped-def]  # pragma: no cover
        y, lower, upper, width, below, above, median, short, long, count, begin, stop
    ):
        hits, infinite, mean, spread = 0, 0, 0.0, 0.0
        scores = np.empty(BLOCK_ROWS)
        scored = width.any() or below.any() or above.any() or short != 0.0 or long != 0.0
        for start in range(begin, stop, BLOCK_ROWS):  # small loops that compile to vector instructions
            end = min(start + BLOCK_ROWS, stop)
            v = y[start:end]
            m = v.shape[0]
            s = scores[:m]
            s[:] = 0.0
            for k in range(width.shape[0]):
                a, b = lower[k, start:end], upper[k, start:end]
                if count and k == 0:
                    for j in range(m):
                        hits += 1 if (a[j] <= v[j]) & (v[j] <= b[j]) else 0
                if below[k] != 0.0:
                    for j in range(m):
                        s[j] += (a[j] - v[j] if a[j] > v[j] else 0.0) * below[k]
                if above[k] != 0.0:
                    for j in range(m):
                        s[j] += (v[j] - b[j] if v[j] > b[j] else 0.0) * above[k]
                if width[k] != 0.0:
                    for j in range(m):
                        s[j] += (b[j] - a[j] if b[j] != a[j] else 0.0) * width[k]  # both may be the same infinity
            c = median[start:end]
            if short != 0.0:
                for j in range(m):
                    s[j] += (c[j] - v[j] if c[j] > v[j] else 0.0) * short
            if long != 0.0:
                for j in range(m):
                    s[j] += (v[j] - c[j] if v[j] > c[j] else 0.0) * long
            if not scored:
                continue
            total = 0.0
            for j in range(m):
                total += s[j]
            if total == np.inf:
                total = 0.0
                for j in range(m):
                    if s[j] == np.inf:
                        infinite += 1
                        s[j] = 0.0
                    total += s[j]
            block_mean, block_spread = total / m, 0.0
            if total == np.inf:  # finite scores whose sum is not
                block_mean, largest = 0.0, 0.0
                for j in range(m):
                    block_mean += s[j] / m
                    largest = max(largest, s[j])
                block_mean = min(block_mean, largest)
            for j in range(m):
                block_spread += (s[j] - block_mean) ** 2
            before = start - begin
            step, share = block_mean - mean, m / (before + m)
            mean += step * share
            spread += block_spread
            if before > 0:  # the square may be infinite
                spread += step * step * (before * share)
        return hits, mean, spread, infinite

    return kernel
