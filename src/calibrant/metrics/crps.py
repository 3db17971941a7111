"""Continuous ranked probability score."""

from __future__ import annotations

import math

import numpy as np

from calibrant.catalogue import mean_metric
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs import check_choice
from calibrant.inputs.laws import Laplace, Law, Mixture, Normal, Samples, ScipyLaw
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.absolute_differences import between, from_point, normal_mean
from calibrant.primitives.dispatch import chunks

BLOCK = 1 << 20  # draws that are sorted at a time
ELSEWHERE = (
    "The scoringrules package scores other families (logistic, t, gamma, lognormal, GEV, GPD, Poisson, negative "
    "binomial, truncated and censored ones); or pass draws, crps(y, Samples(law.sample(1000, rng)), fair=True)"
)


@mean_metric(
    predictions=("samples", "laws"),
    range=(0.0, np.inf),
    returns="float | FloatArray",
    instead={"quantiles": "weighted_interval_score is the CRPS of quantiles"},
)
def crps(rows: LawRows, *, fair: bool = False) -> FloatArray:
    r"""Mean squared distance between the predicted distribution function and the step at the outcome.

    .. math:: \int \bigl(F(x) - 1\{y \le x\}\bigr)^2 dx = \mathrm{E}|X - y| - \tfrac12 \mathrm{E}|X - X'|

    with X, X' independent draws of F. For M draws :math:`x_{(1)} \le \dots \le x_{(M)}` of a row

    .. math:: \frac1M \sum_m |x_m - y| - \frac{1}{M^2} \sum_m (2m - M - 1)\, x_{(m)} .

    Parameters
    ----------
    y, weights
        As in `coverage`; or the summary made by `summarize`. Vectors for draws of vectors.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), `Normal`, `Laplace`, or a `Mixture` of
        normal and Laplace laws.
    fair
        Divide the second sum by M(M - 1) in place of M²: unbiased for the law behind the draws (Ferro 2014), so that
        ensembles of different size can be compared. Needs two draws or more.

    Returns
    -------
    float or ndarray
        In the units of y, lower is better. Draws of vectors are scored coordinate by coordinate: an array (D,).

    Notes
    -----
    A proper score: it rewards calibration and sharpness together, and `decompose` splits it. One draw gives the
    absolute error. The plain score of M draws is too high by about 1/M of its spread part, which favours large
    ensembles; the fair one may be negative. Elsewhere the fair form is also called "pwm", and the plain one "qd",
    "nrg" or "ecdf". The dependence between coordinates is seen by `energy_score`.

    Examples
    --------
    Draws 1 and 3 for the outcome 2: mean distance 1, and half the mean distance of two draws is (0 + 2 + 2 + 0)/8.

    >>> from calibrant import Normal, Samples
    >>> crps([2.0], Samples([[1.0, 3.0]]))
    0.5
    >>> crps([2.0], Samples([[1.0, 3.0]]), fair=True)
    0.0

    A normal law that is right scores σ/√π on average; at its own mean (√2 - 1)σ/√π:

    >>> round(crps([0.0], Normal(0.0, 1.0)), 6)
    0.233695
    """
    check_choice("fair", fair, False, True)
    if isinstance(rows.law, Samples):
        return _of_draws(rows.y, rows.law, fair)
    if fair:
        raise InputError(f"fair=True is for Samples; the CRPS of {type(rows.law).__name__} needs no estimate")
    return law_crps(rows.law, rows.y)


def law_crps(law: Law, y: FloatArray) -> FloatArray:
    r"""Return the CRPS of each row in closed form.

    Normal: :math:`A(y - \mu, \sigma) - \sigma/\sqrt\pi`. Laplace: :math:`|d| + b e^{-|d|/b} - \tfrac34 b`. Mixture:
    :math:`\sum_k w_k \mathrm{E}|X_k - y| - \tfrac12 \sum_{kl} w_k w_l \mathrm{E}|X_k - X_l|`.
    """
    if law.shape:
        raise NotApplicableError(
            f"crps judges numbers, and the outcomes of {type(law).__name__} are vectors. "
            "Use energy_score(y, Samples(law.sample(1000, rng)))"
        )
    if isinstance(law, Normal):
        return np.asarray(normal_mean(y - law.mean, law.std) - law.std / math.sqrt(math.pi))
    if isinstance(law, Laplace):
        return np.asarray(from_point(law, y) - 0.75 * law.scale)
    if isinstance(law, Mixture) and all(isinstance(part, (Normal, Laplace)) for part in law.components):
        return _of_mixture(law, y)
    raise NotApplicableError(
        f"crps has closed forms for Normal, Laplace and mixtures of these; got {_named(law)}. {ELSEWHERE}"
    )


def _of_mixture(law: Mixture, y: FloatArray) -> FloatArray:
    score = np.zeros(law.n)
    for k, (component, weight) in enumerate(zip(law.components, law.weights.T, strict=True)):
        score += weight * from_point(component, y)
        score -= 0.5 * weight * weight * between(component, component)
        for other in range(k):
            score -= weight * law.weights[:, other] * between(component, law.components[other])
    return score


def _of_draws(y: FloatArray, law: Samples, fair: bool) -> FloatArray:
    M = law.M
    if fair and M < 2:
        raise InputError("fair=True needs at least 2 draws per row; got 1. Leave it out for the absolute error")
    if law.shape:
        coordinates = [_scores(y[:, d], law.draws[:, :, d], fair) for d in range(law.shape[0])]
        return np.stack(coordinates, axis=1)
    return _scores(y, law.draws, fair)


def _scores(y: FloatArray, draws: FloatArray, fair: bool) -> FloatArray:
    n, M = draws.shape
    place = 2 * np.arange(1, M + 1) - M - 1  # of the m-th draw, from the middle
    score = np.empty(n)
    for part in chunks(n, max(1, BLOCK // M)):
        z = draws[part] - y[part, None]  # centred first: sums of large numbers would cancel
        z.sort(axis=1)
        spread = np.einsum("im,m->i", z, place) / (M * (M - 1) if fair else M * M)
        score[part] = np.abs(z, out=z).mean(axis=1) - spread
    return score if fair else np.maximum(score, 0.0)


def _named(law: Law) -> str:
    if isinstance(law, Mixture):
        return f"a Mixture of {', '.join(sorted({type(part).__name__ for part in law.components}))}"
    return f"ScipyLaw of {law.dist.name}" if isinstance(law, ScipyLaw) else type(law).__name__
