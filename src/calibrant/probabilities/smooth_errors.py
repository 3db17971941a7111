"""Calibration errors without bins: the smooth ECE, and the smooth calibration error over Lipschitz functions."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels, Outcomes
from calibrant.core.bins import width_edges
from calibrant.core.catalogue import Entry, NoOptions, enter, ordered, public
from calibrant.core.limits import Limits, Noise, mean_sizes
from calibrant.core.ordered import Ordered
from calibrant.core.pvalues import normal_quantile
from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_positive

LEAST_SIGMA = 2.0**-16
WIDEST_SIGMA = 4.0  # from which on the reflected kernel is 1 everywhere
NEGLIGIBLE = 1e-17  # factor of a cosine that is left out
LEAST_COSINES = 512
MESH_PER_SIGMA = 32
CELLS_PER_COSINE = 8
ORDERS = 10  # of the Taylor expansion in a cell: its error is (π/16)^10/10!, 2e-14
MAX_SCORES = 2**16  # of `smce` one by one
NOISE_CELLS = 2048  # in which the variance of the residuals is summed, for limits
LEAST_SIGMA_OF_NOISE = 4 / NOISE_CELLS


@public
def smooth_ece(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    sigma: float | None = None,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Smooth ECE: the mean size of the residuals after smoothing them along the scores.

    With residuals r = y - p, and the Gaussian density :math:`\varphi_\sigma` reflected at 0 and 1,

    .. math::

        \begin{aligned}
        K_\sigma(t, u) &= \sum_{k \in \mathbb{Z}} \varphi_\sigma(t - u - 2k) + \varphi_\sigma(t + u - 2k), \\
        \mathrm{smECE}_\sigma &= \int_0^1 \Bigl| \frac{1}{W} \sum_i w_i r_i K_\sigma(t, p_i) \Bigr| \, dt .
        \end{aligned}

    It falls as σ grows, and the smooth ECE is the value at the one σ with :math:`\mathrm{smECE}_\sigma = \sigma`.

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`. Of class probabilities it is the error of the most probable class.
    sigma
        Width of the kernel, at least 2^-16. By default that which equals the error.

    Examples
    --------
    Both residuals have one sign: the value is their mean, (1 + 0.5)/2.

    >>> smooth_ece([1, 1], [0.0, 0.5])
    0.75

    Opposite residuals cancel where the kernels of their scores overlap:

    >>> round(smooth_ece([0, 1], [0.4, 0.6]), 4), round(smooth_ece([0, 1], [0.4, 0.6], sigma=0.01), 4)
    (0.1739, 0.4)
    """
    options = SmoothOptions(sigma)
    return SMOOTH_ECE(y, prediction, options, weights=weights, classes=classes, pos_label=pos_label)


@dataclass(frozen=True)
class SmoothOptions:
    sigma: float | None

    def __post_init__(self) -> None:
        if self.sigma is not None:
            sigma = check_positive("sigma", self.sigma, "such as 0.05")
            if sigma < LEAST_SIGMA:
                raise InputError(f"sigma must be at least 2^-16, {LEAST_SIGMA:.3g}; got {sigma:g}")
            object.__setattr__(self, "sigma", min(sigma, WIDEST_SIGMA))


@public
def smce(
    y: Outcomes,
    prediction: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    classes: Labels | None = None,
    pos_label: object = None,
) -> float:
    r"""Smooth calibration error: the largest mean of residuals times a function of the score that changes slowly.

    With residuals r = y - p,

    .. math:: \mathrm{smCE} = \max_f \frac{1}{W} \sum_i w_i r_i f(p_i), \qquad
        |f(a)| \le 1, \quad |f(a) - f(b)| \le |a - b| .

    Parameters
    ----------
    y, prediction, weights, classes, pos_label
        As in `ece`. Of class probabilities it is the error of the most probable class.

    Examples
    --------
    f may differ by 0.2 between the two scores: f = -0.1 at 0.4 and 0.1 at 0.6 gives (0.1 · 0.4 + 0.1 · 0.4)/2.

    >>> round(smce([0, 1], [0.4, 0.6]), 12)
    0.04
    """
    return SMCE(y, prediction, NoOptions(), weights=weights, classes=classes, pos_label=pos_label)


def _masses(summary: Ordered) -> tuple[FloatArray, FloatArray]:
    score = summary.unique_scores
    return score, (summary.event_weight_by_score - summary.weight_by_score * score) / summary.total_weight


def _smooth_ece(summary: Ordered, options: SmoothOptions) -> float:
    score, masses = _masses(summary)
    if not (masses > 0).any() or not (masses < 0).any():  # of one sign
        return min(1.0, abs(float(masses.sum())))
    residuals = SmoothedResiduals(score, masses)
    return min(1.0, residuals.size(options.sigma) if options.sigma is not None else fixed_point(residuals.size))


def fixed_point(size: Callable[[float], float], precision: float = 1e-14) -> float:
    """Return the σ that equals a falling function `size` of σ; its value at LEAST_SIGMA if that is smaller."""
    from scipy.optimize import brentq

    high = sigma = 1.0
    while (value := size(sigma)) < sigma:
        if sigma <= LEAST_SIGMA:
            return float(value)
        high, sigma = sigma, max(sigma / 2, LEAST_SIGMA)
    return float(brentq(lambda s: size(s) - s, sigma, high, xtol=precision)) if sigma < high else float(value)


class SmoothedResiduals:
    """The residuals as a series of cosines, and their mean size after smoothing.

    The reflected kernel is 1 + 2 Σ_k exp(-k²π²σ²/2) cos(kπt) cos(kπu). The moments a_k = Σ m cos(kπu) of the masses m
    at the scores u serve every σ.
    """

    def __init__(self, score: FloatArray, mass: FloatArray) -> None:
        self.score, self.mass = score, mass
        self.moments = np.zeros(0)

    def first_moments(self, count: int) -> FloatArray:
        """Return a_0, a_1, .. up to this number; at least 4 times as many are found as were known."""
        if self.moments.size < count:
            found = max(count, 4 * self.moments.size, LEAST_COSINES)
            self.moments = cosine_moments(self.score, self.mass, power_of_two(found))
        return self.moments[:count]

    def size(self, sigma: float) -> float:
        """Return ∫|g|, g the smoothed residuals: the total variation of its integral G between the roots of g."""
        from scipy.fft import dct, dst

        count = math.ceil(math.sqrt(-2 * math.log(NEGLIGIBLE)) / (math.pi * sigma)) + 1
        frequency = math.pi * np.arange(count)
        terms = self.first_moments(count) * np.exp(-0.5 * (sigma * frequency) ** 2)
        N = power_of_two(max(MESH_PER_SIGMA / sigma, count + 1))
        g, G = np.zeros(N + 1), np.zeros(N + 1)
        g[:count] = terms
        g = dct(g, type=1)
        waves = np.zeros(N - 1)
        waves[: count - 1] = terms[1:] / frequency[1:]
        G[1:-1] = dst(waves, type=1)
        G += terms[0] * np.linspace(0, 1, N + 1)
        return total_variation(G, g / N)


def power_of_two(least: float) -> int:
    """Return the smallest power of 2 that is not below a number.

    >>> power_of_two(5), power_of_two(8)
    (8, 8)
    """
    return 1 << (math.ceil(least) - 1).bit_length()


def total_variation(G: FloatArray, slope: FloatArray) -> float:
    """Return the total variation of a function with these values and slopes at points 1 apart.

    Where the slope changes its sign, the extreme between two points is that of the cubic polynomial through them.

    >>> import numpy as np
    >>> x = np.array([-0.4, 0.6])  # x² falls from 0.16 to 0 and rises to 0.36
    >>> round(total_variation(x**2, 2 * x), 12)
    0.52
    """
    step, a, b = np.diff(G), slope[:-1], slope[1:]
    turning = np.flatnonzero(a * b < 0)
    total = float(np.abs(np.delete(step, turning)).sum())
    step, a, b = step[turning], a[turning], b[turning]
    # The derivative of the cubic is a + linear·s + square·s² at s in [0, 1], and has one root there.
    linear, square = 6 * step - 4 * a - 2 * b, 3 * (a + b) - 6 * step
    q = -0.5 * (linear + np.copysign(np.sqrt(np.maximum(linear**2 - 4 * a * square, 0.0)), linear))
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.stack([a / q, q / square])
    inside = (roots >= 0) & (roots <= 1)
    s = np.where(inside[0], roots[0], np.where(inside[1], roots[1], a / (a - b)))
    up = s * (a + s * (linear / 2 + s * square / 3))
    return total + float((np.abs(up) + np.abs(step - up)).sum())


def cosine_moments(score: FloatArray, mass: FloatArray, count: int) -> FloatArray:
    """Return Σ m cos(kπu), k = 0 .. count - 1, in O(rows + count log count) operations.

    The scores are counted in cells. With the centre c of its cell and d = u - c, cos(kπu) = cos(kπc) cos(kπd) -
    sin(kπc) sin(kπd), and the powers of kπd, which is at most π/16, are summed in each cell before the transform.
    """
    from scipy.fft import dct, dst

    cells = CELLS_PER_COSINE * count
    number = np.minimum((score * cells).astype(np.intp), cells - 1)
    distance, powers = score - (number + 0.5) / cells, mass.astype(np.float64)
    frequency, moments = math.pi * np.arange(count), np.zeros(count)
    for order in range(ORDERS):
        sums = np.bincount(number, powers, minlength=cells)
        sign = -1 if order % 4 in (1, 2) else 1
        waves = np.append(0.0, dst(sums, type=2)) if order % 2 else dct(sums, type=2)
        moments += sign * frequency**order / math.factorial(order) * waves[:count] / 2
        powers = powers * distance
    return moments


def _smooth_ece_limits(summary: Ordered, options: SmoothOptions) -> Limits:
    """Return limits of the smooth ECE, a supremum over smoothed functions of size 1 at most.

    With σ given, the argument is that of all suprema. Without: let τ be the true value, its own σ. If the estimate at
    σ = τ is at least τ - z s, so is the estimate at its own σ, because it rises as σ falls. And the estimate exceeds τ
    by at most the size of the noise at its σ; that falls with σ too, so it is at most c(σ₀) for all σ >= σ₀, where
    c(σ) is what the noise at σ exceeds with the given probability. With c(σ₀) = σ₀ the lower limit is the estimate
    less σ₀, and 0 for estimates below σ₀.
    """
    noise = Noise.of_table(summary.bins(width_edges(1)), summary.weight_max)
    noise.check("smooth_ece")
    local = LocalNoise.of(summary, noise)

    def noise_quantile(rate: float) -> float:
        beyond = -normal_quantile(rate) * noise.scale  # Gaussian isoperimetry
        if options.sigma is not None:
            return local.mean_size(options.sigma) + beyond
        return fixed_point(lambda sigma: local.mean_size(sigma) + beyond, precision=1e-6)

    method = "normal upper limit; lower limit from the size of smoothed noise"
    return noise.limits(_smooth_ece(summary, options), noise_quantile, method)


@dataclass(frozen=True)
class LocalNoise:
    """Where the variance of the residuals lies along the scores."""

    score: FloatArray
    variance: FloatArray  # of Σwr/W at these scores
    heaviest: float  # share of a row in the total weight
    unsmoothed: float  # mean of Σ|noise| over the different scores

    @classmethod
    def of(cls, summary: Ordered, noise: Noise) -> LocalNoise:
        """Return the noise of these rows, of the total variance of `noise`."""
        table = summary.bins(width_edges(NOISE_CELLS))
        filled = table.count > 0
        excess = noise.variance / table.w2v.sum()
        heaviest = summary.weight_max / summary.total_weight
        p, w, rows, _ = summary.pool
        by_score = summary.by_score(w * w * rows * p * (1 - p)) * excess
        unsmoothed = float(mean_sizes(np.sqrt(by_score), by_score / heaviest**2).sum())
        return cls(table.mean_predicted[filled], table.w2v[filled] * excess, heaviest, unsmoothed)

    def mean_size(self, sigma: float) -> float:
        """Return the mean of ∫|noise smoothed with this σ|, on a mesh of steps of about σ/4.

        Where the cells are too wide for σ, a bound is returned: it falls as σ grows from 0.
        """
        if sigma < LEAST_SIGMA_OF_NOISE:
            return self.unsmoothed
        points = math.ceil(4 / sigma) if sigma < 1 else 4
        t = (np.arange(points) + 0.5) / points
        total = 0.0
        for part in np.array_split(t, max(1, points * self.score.size // 2**20)):
            kernel = reflected_gaussian(part[:, None], self.score, sigma)
            variance, largest = kernel**2 @ self.variance, (kernel.max(axis=1) * self.heaviest) ** 2
            information = np.divide(variance, largest, out=np.zeros_like(largest), where=largest > 0)
            total += float(mean_sizes(np.sqrt(variance), information).sum())
        return total / points


def reflected_gaussian(t: FloatArray, u: FloatArray, sigma: float) -> FloatArray:
    """Return the Gaussian density of t around u, reflected at 0 and 1; images 8σ away are left out."""
    far = round(4 * sigma)
    places = [t - u - 2 * k for k in range(-far, far + 1)] + [t + u - 2 * k for k in range(-far, far + 2)]
    total: FloatArray = np.sum([np.exp(-0.5 * (x / sigma) ** 2) for x in places], axis=0)
    return total / (sigma * math.sqrt(2 * math.pi))


def _smce(summary: Ordered, options: NoOptions) -> float:
    score, masses = _masses(summary)
    if score.size > MAX_SCORES:
        number = np.rint(score * (MAX_SCORES - 1)).astype(np.intp)
        points: FloatArray = np.arange(MAX_SCORES) / (MAX_SCORES - 1)
        sums: FloatArray = np.bincount(number, masses, minlength=MAX_SCORES).astype(np.float64)
        return min(1.0, largest_lipschitz_sum(points, sums))
    return min(1.0, largest_lipschitz_sum(score, masses))


def largest_lipschitz_sum(score: FloatArray, mass: FloatArray) -> float:
    """Return the largest Σ m f(u) over functions of size and slope 1 at most; the scores ascend.

    V(x), the largest sum up to a score given f = x there, is concave and piecewise linear on [-1, 1]. Its corners left
    and right of the maximum are kept in two heaps, each with the drop of the slope there. A step of d to the next score
    moves the corners on both sides away from the maximum by d; a mass m adds m x, and corners whose drops add up to
    |m| pass to the other side.
    """
    best, moved = 0.0, 0.0  # corners stand `moved` farther out than their numbers say
    left: list[tuple[float, float]] = []  # (distance of the corner from x = 1, drop)
    right: list[tuple[float, float]] = []  # (distance of the corner from x = -1, drop)
    for step, m in zip(np.diff(score, prepend=score[0]).tolist(), mass.tolist(), strict=True):
        moved += step
        # Seen in a mirror a negative mass is a positive one: x is the distance from the far end, less 1.
        ahead, behind = (right, left) if m >= 0 else (left, right)
        slope, at = abs(m), None
        while slope > 0:
            place, drop = heapq.heappop(ahead) if ahead else (math.inf, math.inf)
            if place + moved >= 2:  # beyond the end of the range, which takes any slope
                place, drop = 2 - moved, math.inf
            x = place + moved - 1
            best += slope * (x - at) if at is not None else slope * x
            at = x
            heapq.heappush(behind, (1 - x - moved, min(drop, slope)))
            if drop > slope and drop < math.inf:
                heapq.heappush(ahead, (place, drop - slope))
            slope -= drop
    return best


def _smce_limits(summary: Ordered, options: NoOptions) -> Limits:
    """Return limits of a supremum over functions of size and slope 1 at most.

    With f' the slope of f and any t₀, the noise at f is f(t₀) N(all) + ∫_{t₀}^1 f' N(p > t) dt - ∫_0^{t₀} f' N(p <= t)
    dt, so the mean of its supremum is at most the mean size of N(all) plus the integrals of those of N(p > t) and
    N(p <= t). It exceeds its mean by z s at most (Gaussian isoperimetry).
    """
    noise = Noise.of_table(summary.bins(width_edges(1)), summary.weight_max)
    noise.check("smce")
    table = summary.bins(width_edges(NOISE_CELLS))
    below = np.cumsum(table.w2v) * noise.variance / table.w2v.sum()
    thinner = np.minimum(below, noise.variance - below)  # t₀ is the median of the variance
    sizes = mean_sizes(np.sqrt(np.maximum(thinner, 0.0)), noise.information * thinner / noise.variance)
    mean = float(mean_sizes(np.array([noise.scale]), np.array([noise.information]))[0]) + float(sizes.mean())
    rounding = 0.5 / (MAX_SCORES - 1) if summary.unique_scores.size > MAX_SCORES else 0.0
    return noise.limits(
        _smce(summary, options),
        lambda rate: mean - normal_quantile(rate) * noise.scale + rounding,
        "normal upper limit; lower limit from the noise of slowly changing functions",
        rounding=rounding,
    )


SHARED: dict[str, Any] = {"reads": (Ordered,), "predictions": ("binary", "classes"), "range": (0.0, 1.0), "mean": True}
SMOOTH_ECE = enter(Entry(smooth_ece, SmoothOptions, ordered, _smooth_ece, limits=_smooth_ece_limits, **SHARED))
SMCE = enter(Entry(smce, NoOptions, ordered, _smce, limits=_smce_limits, **SHARED))
