"""Do predictions recover the truth: estimates against outcomes, and z-scores against contraction, row by row.

Like `pit` and `z_scores` these verbs have one entry per row, in the order of the rows: no summary is smaller than the
rows, so they are not in the catalogue, and batches, files and engines do not run them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.catalogue import public
from calibrant.core.results import Curve
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.kinds import read
from calibrant.inputs.options import check_share
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import column_names
from calibrant.ranking.spread import SMALLEST_VARIANCE, scores_of

Centre: TypeAlias = Literal["median", "mean"]


@public
def recovery(y: ArrayLike, prediction: Distribution, *, statistic: Centre = "median", level: float = 0.9) -> Curve:
    r"""Estimate of each row with its central interval against the outcome: the recovery plot of simulations.

    Parameters
    ----------
    y
        Outcomes, such as the parameters that data were simulated from, (n,) or (n, D).
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``) or a distribution.
    statistic
        The estimate: ``"median"`` or ``"mean"`` of the predictive distribution.
    level
        Nominal coverage of the central intervals; those of draws are those of ``Samples.interval``.

    Returns
    -------
    Curve
        One entry per row, in the order of the data: `truth`, `estimate`, `low` and `high`, (n,), or (n, D) for vectors.
        Details: `correlation` of truth and estimate (Pearson's; NaN where one of them is constant) and `coverage`, the
        share of rows whose interval contains the truth, per coordinate; `level`, `statistic`, `names`.

    Examples
    --------
    Draws 1, 2, 3 and 4, 5, 6 have the medians 2 and 5, and 50 % intervals from the smallest to the largest draw:

    >>> from calibrant import Samples
    >>> found = recovery([2.5, 7.0], Samples([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), level=0.5)
    >>> found.estimate.tolist(), found.low.tolist(), found.high.tolist()
    ([2.0, 5.0], [1.0, 4.0], [3.0, 6.0])
    >>> found.coverage
    0.5
    """
    level = check_share("level", level, "0.9")
    rows = cast(DistributionRows, read("recovery", ("samples", "distributions"), y, prediction))
    return recovery_of(rows, statistic, level)


def recovery_of(rows: DistributionRows, statistic: Centre, level: float) -> Curve:
    parts = [_estimates(part, statistic, level) for part in rows.distribution.marginals()]
    estimate, low, high = (np.stack(columns, axis=1).reshape(rows.y.shape) for columns in zip(*parts, strict=True))
    covered = ((low <= rows.y) & (rows.y <= high)).mean(axis=0)
    return Curve(
        kind="recovery",
        columns={"truth": rows.y, "estimate": estimate, "low": low, "high": high},
        method=f"{statistic} and central {100 * level:g} % interval of each row",
        n=rows.n,
        details={
            "level": level,
            "statistic": statistic,
            "correlation": _plain(_correlation(rows.y, estimate)),
            "coverage": _plain(covered),
            "names": rows.names or column_names(rows.y),
            "own_units": True,
        },
    )


def _estimates(distribution: Distribution, statistic: str, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    ends = distribution.interval(level)
    if statistic == "mean":
        centre = distribution.means()
    elif isinstance(distribution, Samples):
        centre = np.median(distribution.draws, axis=1)
    else:
        centre = distribution.ppf(np.full((distribution.n, 1), 0.5))[:, 0]
    return np.asarray(centre, dtype=np.float64), ends.lower.reshape(-1), ends.upper.reshape(-1)


def _correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = (values / np.abs(values).max(axis=0) for values in (a, b))  # keeps squares in range
        a, b = (values - values.mean(axis=0) for values in (a, b))
        return np.asarray((a * b).sum(axis=0) / np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0)))


def _plain(values: FloatArray) -> float | FloatArray:
    return float(values) if np.ndim(values) == 0 else values


@public
def z_score_contraction(y: ArrayLike, prediction: Distribution) -> Curve:
    r"""z-score of each row against its contraction: which parameters are learnt, and whether wrongly (Betancourt).

    .. math:: z_i = \frac{m_i - y_i}{s_i}, \qquad \kappa_i = 1 - \frac{s_i^2}{s_y^2}

    with the predictive mean :math:`m_i` and variance :math:`s_i^2` and the variance :math:`s_y^2` of the outcomes
    (divisor n - 1), which stands for that of the prior.

    Near contraction 1 with z mostly within ± 2: well identified. Near 0: the data say little.

    Parameters
    ----------
    y, prediction
        As in `recovery`; the distribution must have a mean and a variance.

    Returns
    -------
    Curve
        One entry per row, in the order of the data: `contraction` and `z`, (n,), or (n, D) for vectors. Details:
        `mean_contraction`, which is `contraction`, per coordinate; `names`.

    Examples
    --------
    Draws 1 and 3 have the mean 2 and the variance 2; outcomes 0 and 4 have the variance 8:

    >>> from calibrant import Samples
    >>> found = z_score_contraction([0.0, 4.0], Samples([[1.0, 3.0], [1.0, 3.0]]))
    >>> found.contraction.tolist(), found.z.round(3).tolist()
    ([0.75, 0.75], [1.414, -1.414])
    """
    rows = cast(DistributionRows, read("z_score_contraction", ("samples", "distributions"), y, prediction))
    return z_score_contraction_of(rows)


def z_score_contraction_of(rows: DistributionRows) -> Curve:
    z = scores_of(rows)
    if rows.n < 2:
        raise InputError(f"z_score_contraction needs at least 2 rows, whose outcomes have a variance; got {rows.n}")
    with np.errstate(over="ignore"):
        of_y = rows.y.var(axis=0, ddof=1)
        variance = rows.distribution.variances()
    if not ((of_y > SMALLEST_VARIANCE) & (of_y < np.inf)).all() or not np.isfinite(variance).all():
        words = "the variances of y and of predictions must be finite, and those of y above 0"
        remedy = "Drop outcomes that are all alike; rescale those that are huge or tiny"
        raise NotApplicableError(f"{words}; got {shown(of_y.tolist())} for y. {remedy}")
    return Curve(
        kind="z_score_contraction",
        columns={"contraction": 1 - variance / of_y, "z": z},
        method="predictive mean and variance of each row; the variance of all outcomes stands for the prior's",
        n=rows.n,
        details={
            "mean_contraction": _plain(1 - variance.mean(axis=0) / of_y),
            "names": rows.names or column_names(rows.y),
        },
    )
