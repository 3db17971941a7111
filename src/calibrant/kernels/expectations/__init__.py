"""Means of a target kernel under predictive laws: E k(Z, t) and E k(Z, Z')."""

from __future__ import annotations

from typing import Any

from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.laws import Laplace, Law, Mixture, MvNormal, Normal, Samples
from calibrant.kernels.expectations.line import SINGLE, LineMeans
from calibrant.kernels.expectations.means import TargetMeans
from calibrant.kernels.expectations.mixture import MixtureMeans
from calibrant.kernels.expectations.mv_normal import MvNormalMeans
from calibrant.kernels.expectations.quadrature import quadrature_means
from calibrant.kernels.expectations.sampled import SampledMeans
from calibrant.kernels.expectations.samples import SampleMeans
from calibrant.kernels.kernel import Kernel
from calibrant.kernels.shapes import Delta, Gaussian

__all__ = ["TargetMeans", "target_means"]


def target_means(law: Law, kernel: Kernel, *, draws: Any = None, rng: Any = 0) -> TargetMeans:
    """Return the means of a target kernel under a predictive law.

    Parameters
    ----------
    law
        One law per row.
    kernel
        A kernel of the Euclidean distance of outcomes with a number as length scale.
    draws, rng
        How many draws per row to take (an even number), and with which generator, where there is no other way. Where
        there is a closed form or a quadrature rule, that is used and `draws` is not.

    Notes
    -----
    Closed forms: Normal and Laplace with Gaussian and Exponential, MvNormal with Gaussian, Samples with every kernel,
    and mixtures of these. By quadrature: other laws of real outcomes with a quantile function, with Gaussian,
    if the length scale is not far below their spread.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.kernels import Gaussian
    >>> means = target_means(Normal([0.0, 1.0], [0.0 + 1e-9, 3**0.5]), Gaussian(1.0))
    >>> rows = np.arange(2)
    >>> means.single(rows, np.array([0.0, 1.0]))
    array([1. , 0.5])
    """
    exact = exact_means(law, kernel)
    if exact is not None:
        return exact
    if draws is None:
        raise NotApplicableError(
            f"{_named(law)} with the target kernel {shown(kernel)} has no closed form and no quadrature rule. "
            "Pass draws= (an even number such as 100) and rng= for means over draws, or use another target kernel"
        )
    return SampledMeans.of(law, kernel, draws, rng)


def exact_means(law: Law, kernel: Kernel) -> TargetMeans | None:
    """Return the means by a closed form or quadrature; None where there is neither."""
    if isinstance(kernel, Delta):
        raise NotApplicableError(
            f"Delta() is for targets with finitely many values, such as classes, and not for {_named(law)}. "
            "Use Gaussian or Exponential"
        )
    if isinstance(law, Samples):
        return SampleMeans.of(law, kernel)
    if isinstance(law, (Normal, Laplace)):
        return LineMeans(law, kernel) if (type(law), type(kernel)) in SINGLE else None
    if isinstance(law, Mixture):
        parts = [exact_means(component, kernel) for component in law.components]
        found = tuple(part for part in parts if part is not None)
        return MixtureMeans(found, law.weights) if len(found) == len(parts) else None
    if type(kernel) is not Gaussian:
        return None
    if isinstance(law, MvNormal):
        return MvNormalMeans(law, kernel)
    return _by_quantiles(law, kernel)


def _by_quantiles(law: Law, kernel: Kernel) -> TargetMeans | None:
    if law.shape:
        return None
    try:
        return quadrature_means(law, kernel)
    except NotApplicableError:
        return None


def _named(law: Law) -> str:
    name = type(law).__name__
    return f"{name} of {', '.join(sorted({_named(c) for c in law.components}))}" if isinstance(law, Mixture) else name
