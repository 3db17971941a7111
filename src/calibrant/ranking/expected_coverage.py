"""Coverage of the regions that draws define, against their nominal level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.core.mean_interval import exact_limits
from calibrant.core.results import Curve
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.ranking.bands import check_band_level
from calibrant.ranking.counting import Forecast
from calibrant.ranking.curves import (
    BandMultiplicity,
    band_and_details,
    columns_in_words,
    enter_rank_curve,
    nearest,
    read_shares,
)
from calibrant.ranking.effects import below, shaped
from calibrant.ranking.quantities import RankedBy, count_ranked
from calibrant.ranking.summary import MAX_RANK_POINTS, Ranks

INSTEAD = dict.fromkeys(("intervals", "sets"), "coverage_curve shows the coverage of their levels")


@public
def expected_coverage(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    region: Literal["central", "hpd"] | None = None,
    levels: ArrayLike | None = None,
    confidence: float = 0.95,
    multiplicity: BandMultiplicity = "bonferroni",
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
    weights: ArrayLike | None = None,
) -> Curve:
    r"""How often the regions of predictions contain the outcome, against how often they should.

    With :math:`r_i` the rank of outcome i among its M draws and :math:`m = M + 1`:

    ``"central"``
        The interval between the a-th smallest and the a-th largest draw contains the outcome if
        :math:`a \le r_i \le M - a`, which has probability :math:`(m - 2a)/m`.
    ``"hpd"``
        Of energy ranks, which are high where the density is low: the region of highest density with mass :math:`j/m`
        contains the outcome if :math:`r_i < j`.

    Both are exact if outcome and draws are exchangeable; no quantile is interpolated.

    Below the diagonal: over-confident, the regions contain fewer outcomes than they should; above: under-confident.

    Parameters
    ----------
    y, prediction, rng, weights, quantity, covariates, log_likelihood, log_density_y, draws
        As in `ecdf_difference`; outcomes and predictions for central intervals, a summary for all.
    region
        ``"central"``, of ranks along a line, or ``"hpd"``, of energy ranks: ``quantity="log_density"``, or a summary,
        ``expected_coverage(summarize("energy_ranks", y, prediction))``. None: ``"hpd"`` if high ranks are outlying
        outcomes, else ``"central"``.
    levels
        Nominal levels in (0, 1). Each is moved to the nearest level that M draws attain, the higher of two, which is
        returned. None: all of them, at most 999.
    confidence
        Confidence of the interval at each level, and of the band of all levels. Between 0.5 and 1 - 1e-12.
    multiplicity
        For several columns. ``"bonferroni"``: each band has confidence 1 - (1 - confidence)/C, and p-values are
        adjusted (Holm). ``"none"``: each column is judged by itself.

    Returns
    -------
    Curve
        `level`, nominal and attained by the draws; `coverage`, the share of rows whose region contains the outcome,
        (T,) or (T, C) for C columns; `low` and `high`, the pointwise Clopper-Pearson interval of the coverage; `lower`
        and `upper`, the simultaneous band in which the coverages of calibrated predictions lie.

        Details are those of `ecdf_difference`, with `attained` in place of `coverage`, the probability that the band
        attains; `where` is a level. Also `region` and `confidence`.

    Examples
    --------
    Ranks 0, 0, 1, 2 and 4 among four draws. The outer interval, 3/5, has ranks 1 to 3, the inner one, 1/5, rank 2:

    >>> from calibrant.summaries import Ranks
    >>> curve = expected_coverage(Ranks.of([0, 0, 1, 2, 4], M=4))
    >>> curve.level.tolist(), curve.coverage.tolist()
    ([0.2, 0.6], [0.2, 0.4])

    As energy ranks, the region of mass 4/5 has ranks 0 to 3:

    >>> curve = expected_coverage(Ranks.of([0, 0, 1, 2, 4], M=4), region="hpd", levels=[0.8])
    >>> curve.level.tolist(), curve.coverage.tolist()
    ([0.8], [0.8])
    """
    by = (quantity, covariates, log_likelihood, log_density_y, draws, rng)
    options = CoverageOptions(*by, region, levels, confidence, multiplicity)
    return EXPECTED_COVERAGE(y, prediction, options, weights=weights)


@dataclass(frozen=True)
class CoverageOptions(RankedBy):
    region: Literal["central", "hpd"] | None
    levels: ArrayLike | None
    confidence: float
    multiplicity: BandMultiplicity

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels is not None:
            read_shares(self.levels, "levels")
        object.__setattr__(self, "confidence", check_band_level("confidence", self.confidence))


def _count_central(rows: DistributionRows | QuantileRows | CdfRows, options: CoverageOptions) -> Ranks:
    ranks = count_ranked(rows, options)
    if options.region == "hpd" and not ranks.outward:
        words = 'expected_coverage(summarize("energy_ranks", y, prediction), region="hpd")'
        raise InputError(f'region="hpd" ranks outcomes by their density; pass {words}')
    return ranks


def _coverage_curve(ranks: Ranks, options: CoverageOptions) -> Curve:
    confidence, levels, multiplicity = options.confidence, options.levels, options.multiplicity
    region = options.region or ("hpd" if ranks.outward else "central")
    N, m = ranks.n, ranks.M + 1
    possible = _central(ranks) if region == "central" else np.arange(1, m)
    if levels is None:
        q = _even_steps(ranks.points, m) if region == "central" else ranks.points
    else:
        q = nearest(levels, possible, m, name="levels")
    points, back = np.unique(q, return_inverse=True)
    hits = _hits(ranks, points, region)
    band, details = band_and_details(hits, ranks, points / m, confidence, multiplicity)
    low, high = exact_limits(hits.astype(np.float64), np.full(hits.shape, float(N)), confidence)
    columns = {
        "level": points / m,
        "coverage": shaped(hits / N, ranks.single),
        "low": shaped(low, ranks.single),
        "high": shaped(high, ranks.single),
        "lower": band.lower / N,
        "upper": band.upper / N,
    }
    return Curve(
        kind="expected_coverage",
        columns={name: column[back] for name, column in columns.items()},
        method=f"pointwise clopper-pearson intervals; exact simultaneous band at {points.size:,} levels"
        f"{columns_in_words(ranks, multiplicity)}",
        n=N,
        details={"region": region, "confidence": confidence, "attained": band.coverage, **details},
    )


EXPECTED_COVERAGE = enter_rank_curve(
    expected_coverage, CoverageOptions, _coverage_curve, summarise=_count_central, instead=INSTEAD
)


def _hits(ranks: Ranks, q: NDArray[np.int64], region: str) -> NDArray[np.int64]:
    if region == "hpd":
        return below(ranks.counts, q)
    a = (ranks.M + 1 - q) // 2  # 1 or more
    return below(ranks.counts, a + q) - below(ranks.counts, a)


def _central(ranks: Ranks) -> NDArray[np.int64]:
    """Return how many ranks lie in the central intervals, m - 2a, in ascending order."""
    m = ranks.M + 1
    if m < 3:
        raise NotApplicableError("a central interval needs at least 2 draws per row; got 1")
    return np.arange(m - 2 * (ranks.M // 2), m, 2)


def _even_steps(j: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """Return those of the numbers j that differ from m by an even number, as central intervals do.

    Of more than 1000 ranks only some are evaluated; those that differ by an odd number are moved by one.
    """
    odd = (m - j) % 2
    q = j[odd == 0] if m <= MAX_RANK_POINTS else np.unique(j - odd)
    return q[q > 0]
