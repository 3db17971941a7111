"""Are predictions informative? Their score against that of the marginal distribution of the outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import Entry, enter, public
from calibrant.core.pvalues import holm
from calibrant.core.results import ConfidenceInterval, TestResult
from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.options import as_number, check_level
from calibrant.scores.skill_rows import (
    HEAVY_ROWS,
    MIN_DECIDING_ROWS,
    MIN_ROWS,
    Compared,
    Score,
    SkillOptions,
    SkillRows,
    compared,
    kept_for_skill,
)

MAX_ROWS_NAMED = 10


@public
def skill(
    y: Outcomes,
    prediction: Distribution | None = None,
    *,
    score: Score = "crps",
    climatology: Distribution | ArrayLike | None = None,
    log_density_y: ArrayLike | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
) -> float | FloatArray:
    r"""By how much predictions score better than climatology, the marginal distribution of the outcomes.

    .. math:: S = 1 - \bar c / \bar k

    with c the score of the prediction and k that of climatology on each row. For the CRPS
    :math:`k_i = h_i - G/2`, where :math:`h_i` is the mean distance of outcome i from the others and G the mean of h:
    the fair score of all other outcomes, unbiased for that of the true marginal distribution.

    Parameters
    ----------
    y, weights
        As in `crps`; or the summary made by `summarize`. At least 20 rows.
    prediction
        What `crps` takes; for ``score="energy"`` `Samples`, for ``score="log"`` a distribution with a density.
    score
        ``"crps"``, one value per coordinate; ``"energy"``, vectors as a whole, each coordinate divided by the standard
        deviation of its outcomes; or ``"log"``, which is the difference :math:`\bar k - \bar c` in nats and needs
        `climatology`.
    climatology
        A prediction with as many rows, such as draws of the prior or last year's distribution, in place of the outcomes
        themselves. For ``"log"`` also log densities of the outcomes, (n,). No density is fitted to outcomes.
    log_density_y
        For ``score="log"`` of draws: log density of the prediction at each outcome, (n,).
    rng
        Generator or seed of the random pairs of vectors that replace all pairs above 5,000 rows (``"energy"``).

    Returns
    -------
    float or ndarray
        1 is perfect, 0 no better than climatology, negative worse; not clipped. An array (D,) for the CRPS of vectors.

    Examples
    --------
    Outcomes 0 and 10 in turn. Two of them differ by 10 with probability 10/19, so climatology scores 2.63 on average;
    predictions that are off by 1 score ``1 - E|X - X'|/2``, which is 1 for a distribution without spread.

    >>> import numpy as np
    >>> from calibrant import Laplace
    >>> y = np.tile([0.0, 10.0], 10)
    >>> round(skill(y, Laplace(y + 1, 1e-9)), 2)
    0.62
    """
    return SKILL(y, prediction, SkillOptions(score, climatology, log_density_y, rng), weights=weights)


def _finish(summary: SkillRows, options: SkillOptions) -> float | FloatArray:
    found = compared(summary, options)
    return _first(found.S) if found.single else found.S


SKILL = enter(
    Entry(
        skill,
        SkillOptions,
        kept_for_skill,
        _finish,
        reads=(SkillRows,),
        predictions=("samples", "distributions"),
        perfect=1.0,
        instead={"quantiles": "weighted_interval_score is the CRPS of quantiles"},
    )
)


def skill_interval(summary: SkillRows, options: SkillOptions, level: float) -> ConfidenceInterval:
    found = compared(summary, options)
    if found.others.min() < MIN_ROWS:
        wanted = f"{MIN_ROWS} outcomes that differ from the most frequent one"
        raise NotApplicableError(f"limits of skill need {wanted}; got {found.others.min()}. Use more rows")
    low, high, few = found.limits(level)
    guard = float(found.guard.min())
    words = f"{found.words}; Student's t with the influence of each row"
    if guard < MIN_DECIDING_ROWS:
        words += f", of which {guard:.3g} effective ones decide{': too few to exclude 0' if few.any() else ''}"
    low, high, S = (_first(column) if found.single else column for column in (low, high, found.S))
    return ConfidenceInterval(low, high, S, level, words, summary.n)


@public
def skill_test(
    y: Outcomes,
    prediction: Distribution | None = None,
    *,
    score: Score = "crps",
    climatology: Distribution | ArrayLike | None = None,
    level: float = 0.95,
    tolerance: float = 0.05,
    log_density_y: ArrayLike | None = None,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
) -> TestResult:
    r"""Test whether predictions are informative: better than the marginal distribution of the outcomes.

    With the influence :math:`e_i = (\bar c/\bar k^2)(k_i - \bar k) - (c_i - \bar c)/\bar k` of each row on S of
    `skill`, its standard error is :math:`s = \mathrm{sd}(e)/\sqrt n`, and the limits are

    .. math:: S - \frac{1 - S}{n - 1} - t s \qquad\text{and}\qquad S + t s,

    t the quantile of Student's distribution with n - 1 degrees of freedom at :math:`1 - (1 - \text{level})/(2D)`, which
    makes them simultaneous over D coordinates. If fewer than 10 effective rows decide,
    :math:`(\sum e^2)^2/\sum e^4`, the degrees of freedom are that number less 1.

    Parameters
    ----------
    y, prediction, score, climatology, log_density_y, rng, weights
        As in `skill`.
    level
        Confidence level of the limits of all coordinates together.
    tolerance
        Skill below which predictions count as no better than climatology.

    Returns
    -------
    TestResult
        `pvalue` is one-sided, of S <= 0, Holm-adjusted over coordinates; `estimate` is S. `details` has `claim`,
        ``"informative"``, ``"worse"``, ``"no better"`` or ``"cannot tell"``, and the limits `low` and `high`.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Normal
    >>> rng = np.random.default_rng(0)
    >>> known = rng.normal(size=200)
    >>> y = known + rng.normal(size=200)
    >>> skill_test(y, Normal(known, 1.0)).details["claim"], skill_test(y, Normal(np.zeros(200), 1.5)).details["claim"]
    ('informative', 'no better')
    """
    options = SkillTestOptions(score, climatology, log_density_y, rng, level, tolerance)
    return SKILL_TEST(y, prediction, options, weights=weights)


@dataclass(frozen=True)
class SkillTestOptions(SkillOptions):
    level: float
    tolerance: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "level", check_level(self.level))
        tolerance = as_number(self.tolerance)
        if not tolerance >= 0:
            raise InputError(f"tolerance must be a number of at least 0, such as 0.05; got {shown(self.tolerance)}")
        object.__setattr__(self, "tolerance", tolerance)


def _tested(summary: SkillRows, options: SkillTestOptions) -> TestResult:
    from scipy.special import stdtr

    found = compared(summary, options)
    D = len(found.S)
    low, high, few = found.limits(options.level, D)
    guard, error = found.guard, found.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, (found.S - found.bias) / error, np.where(found.bias < found.S, np.inf, -np.inf))
    p = holm(np.where(few, 1.0, stdtr(found.freedom, -t)))
    size = np.abs(found.w[:, None] * found.influence)
    details: dict[str, Any] = {
        "claim": tuple(_claim(*limits, options.tolerance) for limits in zip(low, high, few, strict=True)),
        "low": low,
        "high": high,
        "standard_error": error,
        "score": found.c_mean,
        "climatology": found.k_mean,
        "guard": guard,
        "rows": tuple(np.argsort(-column, kind="stable")[:MAX_ROWS_NAMED] for column in size.T),
        "heavy": tuple(_heavy(found, d) for d in range(D)),
    }
    values = {"statistic": t, "pvalue": p, "estimate": found.S}
    if found.single:
        values, details = ({name: _first(column) for name, column in table.items()} for table in (values, details))
    family = f", simultaneous over {D} coordinates" if D > 1 else ""
    method = f"{found.words}; Student's t with the influence of each row{family}"
    return TestResult(**values, method=method, n=summary.n, details={**details, "level": options.level})


def _first(column: Any) -> Any:
    return column[0].item() if isinstance(column, np.ndarray) else column[0]


def _claim(low: float, high: float, few: bool, tolerance: float) -> str:
    if few:
        return "cannot tell"
    if low > 0:
        return "informative"
    if high < 0:
        return "worse"
    return "no better" if high < tolerance else "cannot tell"


def _heavy(found: Compared, d: int) -> tuple[float, float]:
    """Return the share of the loss in the 5 % of the rows that lose most, and the skill of the other rows."""
    c, k, w = found.c[:, d], found.k[:, d], found.w
    m = max(1, int(HEAVY_ROWS * len(c)))
    order = np.argsort(-w * c, kind="stable")
    total, rest = float((w * c).sum()), order[m:]
    share = float((w * c)[order[:m]].sum()) / total if total > 0 else np.nan
    c_rest, k_rest = (float((w * values)[rest].sum()) / float(w[rest].sum()) for values in (c, k))
    others = (1 - c_rest / k_rest if k_rest > 0 else np.nan) if found.ratio else k_rest - c_rest
    return share, others


SKILL_TEST = enter(
    Entry(
        skill_test,
        SkillTestOptions,
        kept_for_skill,
        _tested,
        reads=(SkillRows,),
        kind="test",
        predictions=("samples", "distributions"),
        instead=SKILL.instead,
    )
)
