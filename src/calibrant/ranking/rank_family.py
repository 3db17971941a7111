"""Shift and spread of predictions by their ranks: maximum likelihood in a family of normal truths, with limits.

In units in which the predictive distribution is N(0, 1) outcomes are N(a, s²), and some may lie outside all draws:

    P(r = j) = (1 - π_0 - π_M) ∫ B(j; M, Φ(t)) N(t; a, s²) dt + π_0 [j = 0] + π_M [j = M] .

Predictions are too high by -a predictive standard deviations, and their spread needs the factor s.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.core.pvalues import normal_quantile
from calibrant.inputs.arrays import FloatArray
from calibrant.ranking.counting import legendre
from calibrant.ranking.effects import bin_counts, rank_bins

LARGEST_LOG_SPREAD = math.log(20.0)  # ranks cannot tell factors of the spread beyond 20 and 1/20 apart
LARGEST_SHIFT = 10.0  # nor shifts beyond it
BOUNDS = np.array([LARGEST_SHIFT, LARGEST_LOG_SPREAD])
MAX_CELLS = 1000  # more ranks are counted in so many cells
REACH = 9.5  # where Φ(-t) is 1e-21
LARGEST_STEP = 0.05  # between the points of the integral: the trapezoidal rule is right to 1e-8 for s = 1/20
DRAWS_FOR_ATOMS = 9  # among which a spike differs from a slope
TINY = 1e-300
RIDGE = 1e-9 * np.eye(2)  # added to the information, which is singular where counts say nothing about a parameter
NEWTON_STEPS, SEARCH_STEPS = 40, 14
CONVERGED, NEAR = 1e-9, 1e-4  # gains of the log-likelihood at which a fit, and one on the way to a limit, ends
FAR_SDS = 7.5  # standard deviations of outcomes, beyond which there are 1e-13 of them


class RankModel(NamedTuple):
    """Ranks among M draws: their probabilities, (m,), with derivatives by a and log s, (2, m)."""

    t: FloatArray  # (G,), points of the integral
    kernel: FloatArray  # (M + 1, G): B(j; M, Φ(t)) times the step; 0 and 1 beyond REACH are added

    @classmethod
    def of(cls, M: int) -> RankModel:
        from scipy.special import gammaln, log_ndtr

        step = min(LARGEST_STEP, 1 / math.sqrt(M))
        t = step * np.arange(-math.ceil(REACH / step), math.ceil(REACH / step) + 1)
        j = np.arange(M + 1.0)[:, None]
        log_choose = gammaln(M + 1) - gammaln(j + 1) - gammaln(M - j + 1)
        return cls(np.asarray(t, np.float64), step * np.exp(log_choose + j * log_ndtr(t) + (M - j) * log_ndtr(-t)))

    def chances(self, a: float, log_s: float) -> tuple[FloatArray, FloatArray]:
        s, step = math.exp(log_s), self.t[1] - self.t[0]
        found = _weights((self.t - a) / s, s) @ self.kernel.T  # (3, M + 1)
        beyond = max(0, math.ceil((FAR_SDS * s + abs(a) - self.t[-1]) / step))  # points where all draws lie on one side
        if beyond:
            more = step * np.arange(1, beyond + 1)
            for end, points in ((0, self.t[0] - more), (-1, self.t[-1] + more)):
                found[:, end] += step * _weights((points - a) / s, s).sum(axis=1)
        return np.maximum(found[0], TINY), found[1:]

    def heavy_tailed(self) -> FloatArray:
        """Return the probabilities for outcomes with Student's t of 3 degrees of freedom and standard deviation 1."""
        from scipy.special import stdtr

        found = self.kernel @ (2 / (math.pi * (1 + self.t**2) ** 2))
        found[[0, -1]] += stdtr(3, math.sqrt(3) * self.t[0])  # beyond the points all draws lie on one side
        return np.asarray(found)


def _weights(z: FloatArray, s: float) -> FloatArray:
    """Return the density of a + s z and its derivatives by a and log s, (3, G)."""
    density = np.exp(-0.5 * z * z) / (s * math.sqrt(2 * math.pi))
    return np.array([density, density * z / s, density * (z * z - 1)])


class CellModel(NamedTuple):
    """Cells of the value u of the predicted distribution function, u = Φ(a + s z)."""

    edges: FloatArray  # (m - 1,), Φ^{-1} of the edges between cells

    @classmethod
    def of(cls, shares: FloatArray) -> CellModel:
        from scipy.special import ndtri

        return cls(np.asarray(ndtri(np.cumsum(shares)[:-1])))

    def heavy_tailed(self) -> FloatArray:
        from scipy.special import stdtr

        return np.diff(stdtr(3, math.sqrt(3) * self.edges), prepend=0.0, append=1.0)

    def chances(self, a: float, log_s: float) -> tuple[FloatArray, FloatArray]:
        from scipy.special import ndtr

        s = math.exp(log_s)
        z = (self.edges - a) / s
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        low, high = np.concatenate([[-np.inf], z]), np.concatenate([z, [np.inf]])
        p = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))  # the accurate tail
        ends = np.zeros((2, z.size + 2))
        ends[:, 1:-1] = -density / s, -density * z
        return np.maximum(p, TINY), np.diff(ends)


@lru_cache(maxsize=16)
def model_of(M: int, cells: bool) -> tuple[RankModel | CellModel, int]:
    """Return the model of ranks 0 to M, and the number of cells in which they are counted."""
    m = min(M + 1, MAX_CELLS)
    return (CellModel.of(rank_bins(M, m) / (M + 1)) if cells or m <= M else RankModel.of(M)), m


class FamilyFit(NamedTuple):
    """The most likely member of the family, given counts of ranks."""

    a: float
    log_s: float
    below: float  # π_0
    above: float  # π_M
    loglik: float
    atoms: tuple[bool, bool]  # whether outcomes outside the draws on either side are left to an atom
    inside: bool  # whether a and s are inside their bounds

    @property
    def shift(self) -> float:
        return -self.a

    @property
    def spread(self) -> float:
        return math.exp(self.log_s)


class RankFamily:
    """The family for counts (M + 1,) of ranks; `cells`: of cells of F(y)."""

    def __init__(self, counts: NDArray[np.int64], *, cells: bool = False) -> None:
        self.M, self.cells = counts.size - 1, cells or counts.size > MAX_CELLS
        self.model, m = model_of(self.M, self.cells)
        self.counts = (counts if m == counts.size else bin_counts(counts[:, None], m)[:, 0]).astype(np.float64)
        self.n = float(self.counts.sum())
        self.free = (True, self.M > 1)  # one draw tells nothing of the spread

    def fit(self) -> FamilyFit:
        return self._fit((False, False))

    def with_atoms(self, fit: FamilyFit) -> FamilyFit:
        """Return the most likely member with atoms at the ends where they are positive, or `fit`, that without."""
        if self.M < DRAWS_FOR_ATOMS or not self.counts[1:-1].any():
            return fit
        both = self._fit((True, True))
        if min(both.below, both.above) >= 0:  # no member with one atom is more likely
            return max(fit, both, key=lambda one: one.loglik)
        tried = [self._fit(sides) for sides in ((True, False), (False, True))]
        return max([fit, *(one for one in tried if min(one.below, one.above) >= 0)], key=lambda one: one.loglik)

    def chances(self, fit: FamilyFit) -> FloatArray:
        """Return the probabilities of the ranks, or of the cells in which they are counted."""
        p = (1 - fit.below - fit.above) * self.model.chances(fit.a, fit.log_s)[0]
        p[0] += fit.below
        p[-1] += fit.above
        return np.asarray(p / p.sum())

    def limits(self, fit: FamilyFit, rate: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return profile-likelihood limits of a and of log s with this error rate; infinite if they are not reached."""
        reach = normal_quantile(1 - rate / 2)
        best = np.array([fit.a, fit.log_s])
        value, _, information = self._value(best, fit.atoms)
        at = _Maximum(best, value, information, fit.atoms)
        both = [tuple(self._limit(at, k, reach, side) for side in (-1, 1)) for k in (0, 1)]
        return both[0], both[1]  # type: ignore[return-value]

    def _start(self, atoms: tuple[bool, bool]) -> FloatArray:
        """Return a and log s by mean and variance of the ranks that are not at an atom."""
        from scipy.special import ndtri

        u = (np.arange(self.counts.size) + 0.5) / self.counts.size
        used = _inner(atoms)
        u, share = u[used], self.counts[used] / self.counts[used].sum()
        place = float(u @ share)
        spread = 0.0
        if self.free[1] and 0.2 < place < 0.8:  # Var u = arcsin(s²/(1 + s²))/2π where a = 0
            sine = math.sin(2 * math.pi * min(float((u - place) ** 2 @ share), 0.24))
            spread = min(max(0.5 * math.log(max(sine, 1e-3) / (1 - min(sine, 0.99))), -1.0), 1.0)
        return np.array([math.sqrt(1 + math.exp(2 * spread)) * float(ndtri(min(max(place, 0.01), 0.99))), spread])

    def _fit(self, atoms: tuple[bool, bool]) -> FamilyFit:
        theta, loglik = self._climb(self._start(atoms), atoms, self.free)
        p = self.model.chances(*theta)[0]
        share = self.counts / self.n
        left = [(0, atoms[0]), (-1, atoms[1])]
        outside = sum(share[end] for end, used in left if used)
        normal = (1 - outside) / (1 - sum(p[end] for end, used in left if used))  # 1 - π_0 - π_M
        below, above = (share[end] - normal * p[end] if used else 0.0 for end, used in left)
        # the likelihood of ranks given that they are not at an atom, and that of being there
        known = sum(_xlogx(share[end]) for end, used in left if used)
        total = loglik + self.n * (known + (_xlogx(1 - outside) if any(atoms) else 0.0))
        inside = bool((np.abs(theta) < BOUNDS * (1 - 1e-9)).all())
        return FamilyFit(float(theta[0]), float(theta[1]), float(below), float(above), float(total), atoms, inside)

    def _value(self, theta: FloatArray, atoms: tuple[bool, bool]) -> tuple[float, FloatArray, FloatArray]:
        """Return the log-likelihood of the ranks that are not at an atom, its gradient and its information."""
        p, dp = self.model.chances(float(theta[0]), float(theta[1]))
        used = _inner(atoms)
        counts, q, dq = self.counts[used], p[used], dp[:, used]
        inside = q.sum()
        share = q / inside
        slope = dq / q - dq.sum(axis=1, keepdims=True) / inside  # of log(share)
        return float(counts @ np.log(share)), slope @ counts, counts.sum() * ((slope * share) @ slope.T)

    def _climb(
        self, theta: FloatArray, atoms: tuple[bool, bool], free: tuple[bool, bool], end: float = CONVERGED
    ) -> tuple[FloatArray, float]:
        """Maximise over the free parameters by scoring, with halved steps where that goes too far.

        A step that gains less than `end`, by the quadratic approximation, is not taken; its gain counts.
        """
        value, score, information = self._value(theta, atoms)
        for _ in range(NEWTON_STEPS):
            outward = (np.abs(theta) >= BOUNDS) & (theta * score > 0)  # these stay at their bound
            step = _scoring_step(score, information, np.array(free) & ~outward)
            gain = 0.5 * float(score @ step)
            if gain < end:
                return theta, value + gain
            for _ in range(SEARCH_STEPS):
                moved = np.clip(theta + step, -BOUNDS, BOUNDS)
                new = self._value(moved, atoms)
                if new[0] >= value:
                    break
                step /= 2
            else:
                break
            gain, theta = new[0] - value, moved
            value, score, information = new
            if gain < end:
                break
        return theta, value

    def _limit(self, at: _Maximum, k: int, reach: float, side: int) -> float:
        """Return where the signed root of the deviance of parameter k reaches `reach` on one side.

        The root is nearly c d + e d² at the distance d from the maximum: c is known there, e after one step.
        """
        if not self.free[k]:
            return math.nan
        best, se, bound = float(at.theta[k]), at.error(k, self.free), (LARGEST_SHIFT, LARGEST_LOG_SPREAD)[k]
        low, high = (best, 0.0), None
        place, theta = best + side * reach * se, at.theta
        for step in range(2 * SEARCH_STEPS):
            place = max(-bound, min(bound, place))
            root, theta = self._root(at, k, place, theta)
            if abs(root - reach) < 1e-4 * reach:
                return place
            if root < reach:
                if abs(place) >= bound and side * place > 0:
                    return side * math.inf
                low = (place, root)
            else:
                high = (place, root)
            if step == 0:
                d = abs(place - best)
                e = (root - d / se) / (d * d)
                place = best + side * 2 * reach / (1 / se + math.sqrt(max(1 / se**2 + 4 * e * reach, 0.0)))
            elif high is None:
                place = low[0] + 2 * (low[0] - best) * max((reach - low[1]) / max(low[1], 1e-9), 0.1)
            else:
                share = (reach - low[1]) / (high[1] - low[1]) if step % 2 else 0.5
                place = low[0] + min(0.98, max(0.02, share)) * (high[0] - low[0])
        return place if high is None else high[0]

    def _root(self, at: _Maximum, k: int, place: float, near: FloatArray) -> tuple[float, FloatArray]:
        """Return the root of the deviance where parameter k is at a place, and the most likely parameters there."""
        free = (False, self.free[1]) if k == 0 else (self.free[0], False)
        start = near.copy()
        start[1 - k] += at.slope(k, self.free) * (place - near[k])
        start[k] = place
        theta, value = self._climb(np.clip(start, -BOUNDS, BOUNDS), at.atoms, free, NEAR)
        return math.sqrt(max(0.0, 2 * (at.value - value))), theta


class _Maximum(NamedTuple):
    """The maximum of the likelihood, from where limits are looked for."""

    theta: FloatArray  # a and log s
    value: float
    information: FloatArray  # (2, 2)
    atoms: tuple[bool, bool]

    def slope(self, k: int, free: tuple[bool, bool]) -> float:
        """By how much the most likely other parameter changes where parameter k does."""
        other = 1 - k
        return -float(self.information[0, 1] / max(self.information[other, other], 1e-6)) if free[other] else 0.0

    def error(self, k: int, free: tuple[bool, bool]) -> float:
        left = self.information[k, k] + self.slope(k, free) * self.information[0, 1]
        return 1 / math.sqrt(max(float(left), 1e-6))


def third_and_fourth(family: RankFamily, fit: FamilyFit) -> FloatArray:
    """Return what the third and fourth component of the ranks show beyond a fit without atoms, as standard normals.

    They are independent of the two estimates: their covariance is that given the scores of a and log s.
    """
    p, dp = family.model.chances(fit.a, fit.log_s)
    phi = legendre(p.size - 1)[2:]
    mean, slope = phi @ p, dp / p
    with_scores = (phi * p) @ slope.T
    information = (slope * p) @ slope.T + RIDGE
    variance = (phi * p) @ phi.T - np.outer(mean, mean) - with_scores @ np.linalg.solve(information, with_scores.T)
    found = (phi @ family.counts - family.n * mean) / math.sqrt(family.n)
    return np.asarray(np.linalg.solve(np.linalg.cholesky(variance + RIDGE[: mean.size, : mean.size]), found))


HYPOTHETICAL_ROWS = 10**7
TAILS_SEEN = 15.44  # noncentrality with which a chi-square test of 2 degrees of freedom at .05 has the power .95
DRAWS_FOR_TAILS = 4  # fewer have no fourth component, in which heavy tails show


@lru_cache(maxsize=64)
def rows_to_tell_tails(M: int, cells: bool) -> float:
    """Return the number of rows with which outcomes with Student's t of 3 degrees of freedom are told from normal ones.

    >>> [round(rows_to_tell_tails(M, False)) for M in (9, 19, 99)], rows_to_tell_tails(3, False)
    ([2113, 642, 267], inf)
    """
    if M < DRAWS_FOR_TAILS:
        return math.inf
    if M >= MAX_CELLS:
        return rows_to_tell_tails(MAX_CELLS - 1, True)
    p = model_of(M, cells)[0].heavy_tailed()
    family = RankFamily(np.rint(HYPOTHETICAL_ROWS * p).astype(np.int64), cells=cells)
    z = third_and_fourth(family, family.fit())
    return TAILS_SEEN * family.n / float(z @ z)


def _scoring_step(score: FloatArray, information: FloatArray, free: NDArray[np.bool_]) -> FloatArray:
    """Return the step of the free parameters to where the score is 0 in the quadratic approximation."""
    local = information + RIDGE
    step = np.linalg.solve(local, score) if free.all() else np.where(free, score / np.diagonal(local), 0.0)
    return np.asarray(np.clip(step, -2, 2))


def _inner(atoms: tuple[bool, bool]) -> slice:
    """Return which ranks are not at an atom."""
    return slice(1 if atoms[0] else 0, -1 if atoms[1] else None)


def _xlogx(x: float) -> float:
    return x * math.log(x) if x > 0 else 0.0
