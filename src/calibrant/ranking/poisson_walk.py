"""The exact distribution of counts of N uniform numbers up to given points, within limits at every point.

The counts c_j = #{u <= t_j} are those of a Poisson process of rate N, given that it jumps N times. Its increments are
independent, so convolutions carry the distribution of the count from point to point (Moscovich and Nadler 2017). The
vectors span no more than the limits. There is no compiled body: NumPy ends before a compiler has begun.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.dispatch import takes_transform
from calibrant.core.pool import tie_starts
from calibrant.inputs.arrays import FloatArray

STIRLING_COUNTS = 16  # counts below have their norm from a product, those from here on from Stirling's series
SERIES_RANGE = 0.3  # up to this |n - λ|/(n + λ) the deviance comes from a series of so many terms
SERIES_TERMS = 15
SAME_POINT = 1e-15  # rounded points that are meant to be equal differ by less
NEGLIGIBLE = 1e-20  # probabilities of a number of jumps that are left out
SMALLEST_MASS = 1e-300  # those that no sum can show


def poisson_pmf(n: ArrayLike, mean: ArrayLike) -> FloatArray:
    r"""Return P(X = n) of a Poisson variable X of mean λ > 0.

    .. math:: \frac{e^{-D(n, λ)}}{S(n)}, \qquad D = n \log\frac{n}{λ} + λ - n, \qquad S = \frac{n!\, e^n}{n^n}

    The textbook form n log λ - λ - log n! subtracts numbers of the size of n; here nothing large cancels (Loader 2000,
    "Fast and accurate computation of binomial probabilities").
    """
    count, expected = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(mean, np.float64))
    return np.asarray(np.exp(-deviance(count, expected)) / norm(count))


def norm(n: FloatArray) -> FloatArray:
    """Return n! e^n / n^n, which is near sqrt(2πn), and 1 for n = 0."""
    k = np.arange(2.0, STIRLING_COUNTS)
    ratios = 1 + (k - 1) * np.log1p(-1 / k)  # log(norm(k)/norm(k - 1))
    small = np.exp(np.cumsum([0.0, 1.0, *ratios]))
    n = np.asarray(n, np.float64)
    large = np.maximum(n, STIRLING_COUNTS)
    r = 1 / (large * large)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / large
    stirling = np.sqrt(2 * np.pi * large) * np.exp(series)
    return np.where(n < STIRLING_COUNTS, small[np.minimum(n, STIRLING_COUNTS - 1).astype(np.intp)], stirling)


def deviance(n: NDArray[Any], mean: FloatArray) -> FloatArray:
    """Return n log(n/λ) + λ - n, where n is near λ by log(n/λ) = 2 artanh v, v = (n - λ)/(n + λ)."""
    from scipy.special import xlogy

    v = (n - mean) / (n + mean)
    u = np.where(np.abs(v) < SERIES_RANGE, v * v, 0.0)
    tail = np.zeros_like(u)
    for k in range(SERIES_TERMS, 0, -1):
        tail = u * (1 / (2 * k + 1) + tail)
    near = v * (n - mean + 2 * n * tail)
    return np.asarray(np.where(np.abs(v) < SERIES_RANGE, near, xlogy(n, n / mean) + mean - n))


Counts = NDArray[np.int64]


class Masses(NamedTuple):
    """Probabilities of the counts first, first + 1, ..."""

    first: int
    mass: FloatArray

    def within(self, low: int, high: int) -> Masses:
        start = max(low - self.first, 0)
        return Masses(self.first + start, self.mass[start : max(high + 1 - self.first, start)])


@dataclass(frozen=True, eq=False)
class PoissonWalk:
    """The counts of N uniform numbers at increasing points t of (0, 1)."""

    N: int
    t: FloatArray
    kernels: tuple[Masses, ...]  # the distribution of the number of jumps in each step, equal steps share one
    mirrored: bool

    @classmethod
    def of(cls, N: int, t: FloatArray, *, least: float = NEGLIGIBLE) -> Self:
        """Prepare the walk, without the numbers of jumps that are less probable than `least`."""
        mirrored = bool((np.abs(t + t[::-1] - 1) < SAME_POINT).all())  # 1 - t are the same points
        return cls(N, t, _kernels(N, t, max(least, SMALLEST_MASS)), mirrored)

    def inside(self, lower: Counts, upper: Counts) -> float:
        """Return C = P(lower_j <= c_j <= upper_j for all j), to about 13 decimals.

        If points and limits mirror each other, t_j and 1 - t_j, half of the steps do: the way from 1 back to the middle
        has the distribution of the way from 0.
        """
        N, T = self.N, self.t.size
        mirrored = self.mirrored and bool((lower + upper[::-1] == N).all())
        points = (T + 1) // 2 if mirrored else T
        q = Masses(0, np.ones(1))
        for j in range(points):
            q = _convolved(q, self.kernels[j]).within(int(lower[j]), int(upper[j]))
            if q.mass.size == 0:
                return 0.0
        if mirrored:
            back = Masses(N - (q.first + q.mass.size - 1), q.mass[::-1])
            q = q if T % 2 else _convolved(q, self.kernels[points])
        else:
            k = q.first + np.arange(q.mass.size)
            back = Masses(q.first, poisson_pmf(N - k, N * (1 - self.t[-1])))
        q = q.within(back.first, back.first + back.mass.size - 1)
        back = back.within(q.first, q.first + q.mass.size - 1)
        return min(1.0, float(q.mass @ back.mass / poisson_pmf(N, N)))

    def outside(self, lower: Counts, upper: Counts) -> float:
        r"""Return 1 - C with the digits of a small value.

        .. math:: \sum_j \sum_{k \notin [l_j, u_j]} q_j(k) \frac{π(k; j)}{π(N; N)}

        q_j(k) is the mass that was within the limits before t_j and arrives there with count k. It leaves, and is free
        from then on: π(k; j) is the Poisson probability of N - k jumps after t_j. No term is negative.
        """
        q = Masses(0, np.ones(1))
        left: list[Masses] = []
        for j in range(self.t.size):
            q = _convolved(q, self.kernels[j], exact=True).within(0, self.N)
            low = min(max(int(lower[j]) - q.first, 0), q.mass.size)
            high = max(int(upper[j]) + 1 - q.first, low)  # limits without room: all of it leaves
            left += [Masses(q.first, q.mass[:low]), Masses(q.first + high, q.mass[high:])]
            q = Masses(q.first + low, q.mass[low:high])
            if q.mass.size == 0:
                break
        sizes = np.array([part.mass.size for part in left])
        starts = np.array([part.first for part in left]) - (np.cumsum(sizes) - sizes)
        k = np.repeat(starts, sizes) + np.arange(sizes.sum())
        rest = self.N * (1 - self.t[np.repeat(np.arange(sizes.size) // 2, sizes)])
        free = poisson_pmf(self.N - k, rest) / poisson_pmf(self.N, self.N)
        return min(1.0, float((np.concatenate([part.mass for part in left]) * free).sum()))


def _kernels(N: int, t: FloatArray, least: float) -> tuple[Masses, ...]:
    steps = np.diff(t, prepend=0.0)
    order = np.argsort(steps, kind="stable")
    starts = tie_starts(steps[order], SAME_POINT)
    which = np.empty(t.size, np.intp)
    which[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=t.size))
    different = [_kernel(N * float(steps[which == group].mean()), least) for group in range(starts.size)]
    return tuple(different[group] for group in which)


def _kernel(mean: float, least: float) -> Masses:
    x = -np.log(least)
    far = x / 3 + np.sqrt(x * x / 9 + 2 * mean * x)  # Bernstein: P(X >= mean + far) <= least
    n = np.arange(max(0, int(mean - far)), int(mean + far) + 2)
    mass = poisson_pmf(n, mean)
    kept = np.flatnonzero(mass >= least)
    first, last = int(kept[0]), int(kept[-1])
    mass = mass[first : last + 1]
    return Masses(int(n[first]), mass / mass.sum())  # a sum of 1 lets no error grow from step to step


def _convolved(q: Masses, kernel: Masses, *, exact: bool = False) -> Masses:
    """Return the distribution of the sum; `exact` keeps the digits of its small values, which transforms do not."""
    from scipy.fft import next_fast_len

    a, b = q.mass, kernel.mass
    first = q.first + kernel.first
    if exact or not takes_transform(a.size, b.size):
        return Masses(first, np.convolve(a, b))
    size = a.size + b.size - 1
    padded = next_fast_len(size, real=True)
    product = np.fft.rfft(a, padded) * np.fft.rfft(b, padded)
    return Masses(first, np.fft.irfft(product, padded)[:size])
