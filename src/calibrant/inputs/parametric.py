"""Parametric predictive distributions: `Normal`, `Laplace` and `MvNormal`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import log, pi
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant.errors import InputError
from calibrant.inputs.arrays import (
    FloatArray,
    Rng,
    field_values,
    locked,
    read_array,
    read_parameters,
    refuse_not_finite,
    refuse_not_positive,
    refuse_where,
)
from calibrant.inputs.distribution import Checked, Distribution, Selection, beside, rows_of
from calibrant.inputs.options import check_count, generator


class Standard(NamedTuple):
    """A distribution of one number that is symmetric around 0; `log_density` is up to the constant `log_constant`."""

    cdf: Callable[[FloatArray], FloatArray]
    quantile: Callable[[FloatArray], FloatArray]
    log_density: Callable[[FloatArray], FloatArray]
    log_constant: float
    within: Callable[[FloatArray], FloatArray]  # P(|Z| < z)
    variance: float
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]


class LocationScale(Checked, Distribution):
    """A standard distribution that is shifted and scaled in each row; its first field is the location."""

    family: ClassVar[Literal["normal", "laplace"]]
    _standard: ClassVar[Standard]

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> Self:
        """Return the distribution whose `columns` these are."""
        return cls(columns[:, 0], columns[:, 1])  # type: ignore[call-arg]

    def columns(self) -> tuple[list[Any], FloatArray]:
        return [type(self).__name__], np.column_stack(self.parameters)

    @property
    def parameters(self) -> tuple[FloatArray, FloatArray]:
        """Location and scale."""
        location, scale = field_values(self).values()
        return location, scale

    def cdf(self, x: ArrayLike) -> FloatArray:
        return self._standard.cdf(self._standardised(x))

    def sf(self, x: ArrayLike) -> FloatArray:
        return self._standard.cdf(-self._standardised(x))

    def ppf(self, q: ArrayLike) -> FloatArray:
        return self._at(self._standard.quantile(self._levels(q)))

    def isf(self, q: ArrayLike) -> FloatArray:
        return self._at(-self._standard.quantile(self._levels(q)))

    def log_density(self, x: ArrayLike) -> FloatArray:
        z = self._standardised(x)
        return self._standard.log_density(z) - beside(np.log(self.parameters[1]), z) - self._standard.log_constant

    def density_level(self, y: FloatArray) -> FloatArray:
        """Return u = P(|Z| < |z|), z the standardised outcome."""
        return np.asarray(self._standard.within(np.abs(self._standardised(y))))

    def means(self) -> FloatArray:
        return self.parameters[0]

    def variances(self) -> FloatArray:
        return np.asarray(self._standard.variance * self.parameters[1] ** 2)

    def deviations(self) -> FloatArray:
        """Return the standard deviation of each row, without a square that leaves float64."""
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt(self._standard.variance) * self.parameters[1])

    def sample(self, size: int, rng: Rng) -> FloatArray:
        location, scale = self.parameters
        draws = self._standard.draw(generator(rng), (self.n, check_count("size", size)))
        draws *= scale[:, None]
        draws += location[:, None]
        return draws

    def _at(self, z: FloatArray) -> FloatArray:
        location, scale = (beside(parameter, z) for parameter in self.parameters)
        return location + scale * z

    def _standardised(self, x: ArrayLike) -> FloatArray:
        points = self._points(x)
        location, scale = (beside(parameter, points) for parameter in self.parameters)
        with np.errstate(over="ignore"):  # a distance beyond float64 is infinite
            z: FloatArray = (points - location) / scale
        return z


def _special(name: str, x: FloatArray) -> FloatArray:
    """Return a function of scipy.special, which takes time to import, at x."""
    import scipy.special

    return np.asarray(getattr(scipy.special, name)(x))


def _normal_log_density(z: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return -0.5 * (z * z)


def _laplace_cdf(z: FloatArray) -> FloatArray:
    tail: FloatArray = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


def _laplace_quantile(q: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):  # log(0) = -inf at q = 0 and q = 1
        tail: FloatArray = np.log(2 * np.minimum(q, 1 - q))  # 1 - q is exact where it is the smaller one
    return np.where(q < 0.5, tail, -tail)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normal(LocationScale):
    """A normal distribution per row.

    Parameters
    ----------
    mean, std : array_like of shape (n,), or a number for all rows
        Mean and standard deviation; `std` is positive and not a variance.

    Examples
    --------
    >>> distribution = Normal([0.0, 10.0], 2.0)
    >>> distribution
    Normal(2 rows)
    >>> distribution.cdf([0.0, 10.0])
    array([0.5, 0.5])
    >>> distribution.ppf(0.5)
    array([ 0., 10.])
    >>> distribution.isf([[0.5, 0.025], [0.5, 0.025]]).round(2)
    array([[ 0.  ,  3.92],
           [10.  , 13.92]])
    """

    family = "normal"
    _standard = Standard(
        partial(_special, "ndtr"),
        partial(_special, "ndtri"),
        _normal_log_density,
        0.5 * log(2 * pi),
        lambda z: _special("erf", z / np.sqrt(2)),
        1.0,
        np.random.Generator.standard_normal,
    )
    mean: FloatArray  # (n,)
    std: FloatArray  # (n,)

    def __init__(self, mean: ArrayLike, std: ArrayLike) -> None:
        means, stds = read_parameters(mean=mean, std=std)
        refuse_not_positive(stds, "std")
        self._hold(mean=means, std=stds)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Laplace(LocationScale):
    """A Laplace (double exponential) distribution per row, with density exp(-abs(x - loc) / scale) / (2 scale).

    Parameters
    ----------
    loc, scale : array_like of shape (n,), or a number for all rows
        Median and scale; `scale` is positive. The standard deviation is sqrt(2) times the scale.

    Examples
    --------
    >>> distribution = Laplace([0.0, 1.0], 1.0)
    >>> distribution.cdf([0.0, 1.0 - np.log(2)])
    array([0.5 , 0.25])
    >>> distribution.sf(1.0 + np.log(2)).round(3)
    array([0.092, 0.25 ])
    >>> Laplace(0.0, 0.5).log_density(3.0)
    array([-6.])
    """

    family = "laplace"
    _standard = Standard(
        _laplace_cdf,
        _laplace_quantile,
        lambda z: -np.abs(z),
        log(2),
        lambda z: -np.expm1(-z),
        2.0,
        lambda rng, shape: rng.laplace(size=shape),
    )
    loc: FloatArray  # (n,)
    scale: FloatArray  # (n,)

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        locs, scales = read_parameters(loc=loc, scale=scale)
        refuse_not_positive(scales, "scale")
        self._hold(loc=locs, scale=scales)


ASYMMETRY = 1e-6  # of the product of two standard deviations: the rounding error of float32
SINGULAR = 4 * np.finfo(np.float64).eps  # times D: a share of variance that may be rounding error


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MvNormal(Checked, Distribution):
    """A normal distribution of vectors per row.

    Parameters
    ----------
    mean : array_like of shape (n, D)
        Mean vectors.
    cov : array_like of shape (n, D, D), or (D, D) for all rows
        Covariance matrices: symmetric and positive definite.

    Examples
    --------
    >>> distribution = MvNormal([[0.0, 0.0], [1.0, 2.0]], [[4.0, 0.0], [0.0, 1.0]])
    >>> distribution.n, distribution.shape, distribution.is_shared, distribution.is_diagonal
    (2, (2,), True, True)

    The density at the mean is 1 / (2 pi sqrt(det)), and each standard deviation lowers its logarithm by 1/2.

    >>> distribution.log_density(distribution.mean) + np.log(2 * np.pi * 2)
    array([0., 0.])
    >>> distribution.log_density([[2.0, 0.0], [1.0, 2.0]]) + np.log(2 * np.pi * 2)
    array([-0.5,  0. ])
    """

    mean: FloatArray  # (n, D)
    cov: FloatArray  # (n, D, D); a covariance shared by all rows takes the memory of one

    def __init__(self, mean: ArrayLike, cov: ArrayLike) -> None:
        means = _read_mean(mean)
        self._hold(mean=means, cov=_read_cov(cov, *means.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.mean.shape[1],)

    @property
    def is_shared(self) -> bool:
        """Whether one covariance was given for all rows."""
        return bool(self.cov.strides[0] == 0)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether the coordinates of every row are independent."""
        each = self._each_cov
        return bool(np.count_nonzero(each) == len(each) * self.shape[0])  # variances are never 0

    @classmethod
    def of_columns(cls, kind: list[Any], columns: FloatArray) -> MvNormal:
        """Return the distribution whose `columns` these are."""
        D = kind[1]
        return cls(columns[:, :D], columns[:, D:].reshape(-1, D, D))

    def columns(self) -> tuple[list[Any], FloatArray]:
        return ["MvNormal", *self.shape], np.column_stack([self.mean, self.cov.reshape(self.n, -1)])

    def take(self, rows: Selection) -> MvNormal:
        mean = rows_of(self.mean, rows)
        cov = _repeated(self._each_cov, len(mean)) if self.is_shared else rows_of(self.cov, rows)
        return self._with(mean=mean, cov=cov)

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Return the natural logarithm of the density at x, of shape (n, D) or (n, k, D)."""
        points = self._points(x)
        several = points.ndim == 3
        square = self.squared_distances(points if several else points[..., None, :])
        half_log_det = np.log(np.diagonal(self._factor(), axis1=1, axis2=2)).sum(axis=1)
        value: FloatArray = -0.5 * square - half_log_det[:, None] - 0.5 * self.shape[0] * log(2 * pi)
        return value if several else value[:, 0]

    def density_level(self, y: FloatArray) -> FloatArray:
        """Return the chi-square distribution function with D degrees of freedom at the squared distance."""
        from scipy.special import gammainc

        return np.asarray(gammainc(self.shape[0] / 2, self.squared_distances(y[:, None])[:, 0] / 2))

    def means(self) -> FloatArray:
        return self.mean

    def variances(self) -> FloatArray:
        return np.diagonal(self.cov, axis1=1, axis2=2)

    def covariances(self) -> FloatArray:
        return self.cov

    def marginals(self) -> list[Distribution]:
        std = np.sqrt(self.variances())
        return [Normal(mean, one) for mean, one in zip(self.mean.T, std.T, strict=True)]

    def cdf_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distribution functions of the coordinates at an outcome, twice: they have no jumps."""
        at = np.stack([marginal.cdf(y[:, d]) for d, marginal in enumerate(self.marginals())], axis=1)
        return at, at

    def squared_distances(self, points: FloatArray) -> FloatArray:
        """Return the squared Mahalanobis distances (n, k) of points (n, k, D) from the mean of their row."""
        residual = (points - self.mean[:, None, :]).swapaxes(1, 2)
        with np.errstate(over="ignore"):
            return np.asarray(np.square(np.linalg.solve(self._factor(), residual)).sum(axis=1))

    def sample(self, size: int, rng: Rng) -> FloatArray:
        noise = generator(rng).standard_normal((self.n, check_count("size", size), self.shape[0]))
        draws: FloatArray = noise @ self._factor().swapaxes(1, 2)
        draws += self.mean[:, None, :]
        return draws

    def _factor(self) -> FloatArray:
        """Return L with L L^T = cov, of shape (n or 1, D, D)."""
        return np.asarray(np.linalg.cholesky(self._each_cov), dtype=np.float64)

    @property
    def _each_cov(self) -> FloatArray:
        """All covariances, or the one that all rows share, of shape (n or 1, D, D)."""
        return self.cov[:1] if self.is_shared else self.cov


def _read_mean(mean: Any) -> FloatArray:
    array = read_array(mean, "mean")
    if array.ndim != 2:
        remedy = {
            0: "A real outcome has the distribution Normal(mean, std)",
            1: "For one row pass mean[None, :], for one coordinate mean[:, None]",
        }.get(array.ndim, "Reshape it")
        raise InputError(f"mean must have shape (n, D), one vector per row; got shape {array.shape}. {remedy}")
    refuse_not_finite(array, "mean", axes=("row", "coordinate"))
    return array


def _read_cov(cov: Any, n: int, D: int) -> FloatArray:
    array = read_array(cov, "cov")
    if array.shape == (n, D, D):
        return _symmetric(array)
    if array.shape == (D, D):
        return _repeated(_symmetric(array)[None], n)
    remedy = "Reshape it"
    if array.shape in ((n, D), (D,)):
        remedy = "For independent coordinates with these variances pass cov[..., None] * numpy.eye(D)"
    elif array.ndim == 3 and array.shape[1:] == (D, D):
        remedy = "mean and cov must have the same number of rows"
    raise InputError(
        f"cov must have shape (n, D, D) = {(n, D, D)}, one matrix per row, or (D, D) = {(D, D)} for all rows; "
        f"got shape {array.shape}. {remedy}"
    )


def _symmetric(cov: FloatArray) -> FloatArray:
    """Return exactly symmetric matrices, one or one per row; refuse a matrix that is not a covariance."""
    axes = ("row", "line", "column")[-cov.ndim :]
    refuse_not_finite(cov, "cov", axes=axes)
    variance = np.diagonal(cov, axis1=-2, axis2=-1)
    expected = "cov must have positive variances on its diagonal"
    refuse_where(~(variance > 0), variance, expected, "Drop coordinates that do not vary", axes=axes[:-1])
    std = np.sqrt(variance)
    turned = cov.swapaxes(-2, -1)
    off = np.abs(cov - turned) > ASYMMETRY * (std[..., :, None] * std[..., None, :])
    remedy = "If only rounding differs, pass (cov + cov.swapaxes(-1, -2)) / 2"
    refuse_where(off, cov, "cov must be symmetric", remedy, axes=axes)
    if (cov != turned).any():
        cov = locked(cov / 2 + turned / 2)
    _refuse_indefinite(cov, std)
    return cov


def _refuse_indefinite(cov: FloatArray, std: FloatArray) -> None:
    limit = SINGULAR * cov.shape[-1]
    try:
        L = np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        correlation = cov / std[..., :, None] / std[..., None, :]
        left = np.linalg.eigvalsh(correlation)[..., 0]
    else:  # the share of each variance that the coordinates before it do not explain
        left = ((np.diagonal(L, axis1=-2, axis2=-1) / std) ** 2).min(axis=-1)
        if left.min() > limit:
            return
    row = int(np.argmax(left <= max(limit, left.min())))
    smallest = np.linalg.eigvalsh(cov if cov.ndim == 2 else cov[row])[0]
    raise InputError(
        f"cov must be positive definite; the smallest eigenvalue of {'it' if cov.ndim == 2 else '{row}'} is "
        f"{smallest:.6g}. Drop coordinates that others determine, or add the variance of the noise to the diagonal",
        row=row,
    )


def _repeated(cov: FloatArray, n: int) -> FloatArray:
    return np.broadcast_to(cov[0], (n, *cov.shape[1:])) if len(cov) else cov
