"""Means and covariances of predictive laws."""

from __future__ import annotations

import numpy as np

from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.laws import Laplace, Law, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.inputs.weights import FloatArray


def mean_of(law: Law) -> FloatArray:
    """Return the mean of each row, (n,) or (n, D)."""
    if isinstance(law, (Normal, MvNormal)):
        return law.mean
    if isinstance(law, Laplace):
        return law.loc
    if isinstance(law, Samples):
        return np.asarray(law.draws.mean(axis=1))
    if isinstance(law, ScipyLaw):
        return np.asarray(law.dist.mean(*law.args, **law.kwds), dtype=np.float64)
    if isinstance(law, Mixture):
        means = [mean_of(part) for part in law.components]
        return _weighted(law, means)
    raise _unknown(law)


def variance_of(law: Law) -> FloatArray:
    """Return the variance of each row, (n,), or of each coordinate, (n, D); of draws with the divisor M - 1.

    A mixture has the mean of its variances and the variance of its means:

    >>> variance_of(Mixture([Normal([-1.0], 2.0), Normal([1.0], 2.0)], [0.5, 0.5]))
    array([5.])
    """
    if isinstance(law, Normal):
        return np.asarray(law.std**2)
    if isinstance(law, Laplace):
        return np.asarray(2 * law.scale**2)
    if isinstance(law, MvNormal):
        return np.diagonal(law.cov, axis1=1, axis2=2)
    if isinstance(law, Samples):
        _refuse_one_draw(law)
        return np.asarray(law.draws.var(axis=1, ddof=1))
    if isinstance(law, ScipyLaw):
        return np.asarray(law.dist.var(*law.args, **law.kwds), dtype=np.float64)
    if isinstance(law, Mixture):
        centre = mean_of(law)
        return _weighted(law, [variance_of(part) + (mean_of(part) - centre) ** 2 for part in law.components])
    raise _unknown(law)


def covariance_of(law: Law) -> FloatArray:
    """Return the covariance matrix of each row, (n, D, D); a number counts as one coordinate."""
    if isinstance(law, MvNormal):
        return law.cov
    if not law.shape:
        return variance_of(law)[:, None, None]
    if isinstance(law, Samples):
        _refuse_one_draw(law)
        x = law.draws - law.draws.mean(axis=1, keepdims=True)
        return np.asarray(np.einsum("imj,imk->ijk", x, x) / (law.M - 1))
    if isinstance(law, Mixture):
        centre = mean_of(law)
        gaps = [mean_of(part) - centre for part in law.components]
        parts = [covariance_of(c) + g[:, :, None] * g[:, None, :] for c, g in zip(law.components, gaps, strict=True)]
        return _weighted(law, parts)
    raise _unknown(law)


def _weighted(law: Mixture, parts: list[FloatArray]) -> FloatArray:
    shape = (law.n,) + (1,) * (parts[0].ndim - 1)
    total = np.zeros(parts[0].shape)
    for part, weight in zip(parts, law.weights.T, strict=True):
        total += weight.reshape(shape) * part
    return total


def _refuse_one_draw(law: Samples) -> None:
    if law.M < 2:
        raise InputError("the spread of draws needs at least 2 of them per row; got 1")


def _unknown(law: Law) -> NotApplicableError:
    return NotApplicableError(
        f"the variance of {type(law).__name__} is not known here. Pass draws, Samples(law.sample(1000, rng))"
    )
