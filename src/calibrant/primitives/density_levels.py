"""How much probability a law puts on points of higher density than the outcome, in closed form."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.laws import Laplace, Law, MvNormal, Normal
from calibrant.inputs.weights import FloatArray


def density_level(law: Law, y: FloatArray) -> FloatArray | None:
    r"""Return u = P(q(X) > q(y)), the mass of the smallest region of highest density that holds y; None without a form.

    Normal: :math:`|2 \Phi(z) - 1|`. Laplace: :math:`1 - e^{-|z|}`. MvNormal: the chi-square distribution function
    with D degrees of freedom at the squared Mahalanobis distance.

    >>> density_level(Laplace(0.0, 1.0), np.array([-np.log(2)]))
    array([0.5])
    """
    from scipy.special import erf, gammainc

    with np.errstate(over="ignore"):  # beyond float64 is as far away as infinity
        if isinstance(law, Normal):
            return np.asarray(erf(np.abs(y - law.mean) / law.std / np.sqrt(2)))
        if isinstance(law, Laplace):
            return np.asarray(-np.expm1(-np.abs(y - law.loc) / law.scale))
        if isinstance(law, MvNormal):
            return np.asarray(gammainc(law.shape[0] / 2, _squared_distances(law, y) / 2))
    return None


def _squared_distances(law: MvNormal, y: FloatArray) -> FloatArray:
    """Return (y - μ)' Σ⁻¹ (y - μ), as the square of the solution of L z = y - μ with Σ = L L'."""
    residual = y - law.mean
    if law.is_shared:
        z = np.linalg.solve(np.linalg.cholesky(law.cov[0]), residual.T).T
    else:
        z = np.linalg.solve(np.linalg.cholesky(law.cov), residual[:, :, None])[:, :, 0]
    return np.asarray((z * z).sum(axis=1))
