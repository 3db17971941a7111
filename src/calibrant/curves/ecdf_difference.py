"""Empirical distribution function of ranks less what it would be."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.catalogue import curve
from calibrant.curves.attainable import read_points
from calibrant.curves.exact_band import details_of, judge
from calibrant.curves.rank_columns import JUDGED, by_column, check_columns, rank_summary, said_of_columns
from calibrant.inputs import check_level
from calibrant.results import Curve
from calibrant.summaries.ranks import Ranks


@curve(reads=(Ranks,), summarise=rank_summary, predictions=JUDGED)
def ecdf_difference(
    ranks: Ranks,
    *,
    level: float = 0.95,
    points: Any = None,
    multiplicity: str = "bonferroni",
    rng: Any = None,
) -> Curve:
    r"""Share of ranks below a point less the share that belongs there, with the exact band of whole curves.

    With :math:`r_i` the rank of outcome i among its M draws, :math:`m = M + 1` and :math:`t_j = j/m`:

    .. math:: v_j = \frac{c_j}{n} - t_j, \qquad c_j = \#\{i : r_i < j\} .

    If outcome and draws are exchangeable, :math:`c_j` is Binomial(n, :math:`t_j`) exactly, and all of them together are
    a Poisson process given its n jumps. So the probability that a whole curve stays between limits is known without
    simulation.

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D); None for `CdfValues`. Or a `Ranks` summary of any verb of ranks, such as
        ``summarize(energy_ranks, y, samples)``, alone.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a law, `Quantiles` or `CdfValues`. What
        has no draws is counted in the 1000 cells of F(y).
    weights
        Refused unless all are equal: weighted counts have no exact law.
    level
        Probability with which calibrated curves stay inside the band at all points at once; of several columns, all
        curves at once.
    points
        Where the curve is looked at. None: all j up to M = 999, else 999 of them; for F(y) as many as there are rows,
        from 100 to 1000. A whole number: so many, evenly spread. A list: shares t, moved to the nearest j/m.
    multiplicity
        For several columns. ``"bonferroni"``: each band has level 1 - (1 - level)/C, and p-values are adjusted (Holm).
        ``"none"``: each column for itself.
    rng
        Generator or seed that breaks ties between outcome and draws; needed if there are any.

    Returns
    -------
    Curve
        `t`, from 0 to 1; `v`, (T,) or (T, C) for C columns; `sd`, the standard deviation of v at one point,
        :math:`\sqrt{t(1-t)/n}`; `lower` and `upper`, the simultaneous band of v.

        Details: `gamma`, the smallest doubled binomial tail :math:`2 \min_j \min(P(B_j \le c_j), P(B_j \ge c_j))`, and
        `where`, its t; `pvalue_each`, exact, and `pvalue`, adjusted for the columns; `gamma_band` and `coverage`, the
        tail at which a band was cut and the probability it attains; `n`, `M`, `names` of the columns, `tied`, ranks
        that chance has decided, and `cells`, whether F(y) was counted. ``plot(scale="sqrt_n")`` draws
        :math:`\sqrt n\, v`.

    Notes
    -----
    A curve leaves the band exactly when its p-value is at most 1 minus the level of the band. `sd` is for one point
    chosen beforehand: a calibrated curve stays within 1.96 sd everywhere with probability 0.44 (n = m = 100) or 0.24
    (n = m = 1000).

    Above 0 at the left and below 0 at the right: too narrow. The other way round: too wide. All above 0: predictions
    too high, all below: too low. Inside the band: no departure beyond chance, which is no proof, and nothing about
    sharpness. Rows must be independent. With energy ranks high ranks are improbable outcomes, and a curve below 0
    means too narrow or biased. After Säilynoja, Bürkner and Vehtari (2022), with exact probabilities.

    Examples
    --------
    Four outcomes, each with its rank among three draws. Two ranks are below 1 where one is expected:

    >>> from calibrant import Samples
    >>> draws = Samples([[1.0, 2.0, 3.0]] * 4)
    >>> curve = ecdf_difference([0.0, 0.5, 1.5, 9.0], draws)
    >>> curve.t.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> curve.v.tolist()
    [0.0, 0.25, 0.25, 0.0, 0.0]
    """
    level = check_level(level)
    check_columns("ecdf_difference", ranks, multiplicity)
    N, m = ranks.n, ranks.M + 1
    j = ranks.points if points is None else read_points(points, ranks.M)
    below = np.cumsum(ranks.counts, axis=0)[j - 1]
    found = judge(below, ranks, j / m, level, multiplicity)
    t = np.concatenate(([0], j, [m])) / m
    c, low, high = (
        np.concatenate((np.zeros_like(inner[:1]), inner, np.full_like(inner[:1], N)))
        for inner in (below, found.band.lower, found.band.upper)
    )
    return Curve(
        kind="ecdf_difference",
        columns={
            "t": t,
            "v": by_column(c / N - t[:, None], ranks),
            "sd": np.sqrt(t * (1 - t) / N),
            "lower": low / N - t,
            "upper": high / N - t,
        },
        method=f"exact simultaneous band at {j.size:,} points{said_of_columns(ranks, multiplicity)}",
        n=N,
        details={"level": level, "coverage": found.band.coverage, **details_of(found, ranks)},
    )
