"""What ranks say about predictions, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.claims import Claim
from calibrant.core.kinds import read
from calibrant.core.pvalues import holm
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.options import check_choice
from calibrant.inputs.parametric import MvNormal
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.bands import BandTest, check_band_level
from calibrant.ranking.column_claims import RankedColumn, Rates, column_claims, subject_of
from calibrant.ranking.counting import JUDGED, Forecast, equal_rows
from calibrant.ranking.curves import nearest
from calibrant.ranking.density_ranks import ENERGY_RANKS
from calibrant.ranking.draw_evidence import DrawEvidence, Outside, RankedDraws, evidence_of, outside_of
from calibrant.ranking.effects import (
    MIN_ROWS_IN_WORDS,
    SMALLEST_PVALUE,
    band_test,
    refuse_one_row,
    stream_after_ties,
)
from calibrant.ranking.explain_words import Explanation, joint_sentence, sentence
from calibrant.ranking.failures import (
    NONE,
    OUTSIDE,
    Diagnosis,
    NormalErrors,
    diagnosis,
    outward_failure,
    smallest_effects,
)
from calibrant.ranking.pair_dependence import PairDependence, Together, is_affordable, pair_dependence, together_claims
from calibrant.ranking.quantities import Quantities, Quantity, RankedBy, ranked_by
from calibrant.ranking.row_order import content_order
from calibrant.ranking.summary import Ranks
from calibrant.ranking.vector_ranks import JOINT_RANKS, JointOptions

LEVELS = (0.5, 0.9)
TOO_FEW = "too few rows"
MAX_JOINT_NUMBERS = 10_000_000  # in draws of vectors that are ranked together: a few seconds
UNKNOWN_ERRORS = NormalErrors(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, measurable=False)
EFFECTS = ("shift", "shift_low", "shift_high", "spread", "spread_low", "spread_high")


@public
def explain(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    level: float = 0.95,
    outward: bool | None = None,
    joint: Ranks | None = None,
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
) -> Explanation:
    r"""Say in words what is wrong with predictions, by how much, and what this many rows could have seen.

    Questions are asked in this order, each with its own test:

    1. Do draws depend on those before them (`draw_dependence`), or repeat? Then "too narrow", outcomes outside and
       tails are not spoken of, because such draws make the same ranks.
    2. Are outcomes farther outside all draws than any draw is from the others? These rows are named and set aside.
    3. Do the ranks depart from uniform ones? That is decided by the exact test of the simultaneous band of
       `ecdf_difference`, for all columns together (Holm). If not, the smallest errors that would have been seen are
       said.
    4. Which shift and spread of normal predictions, and which share of outcomes outside all draws, make these ranks
       most likely? What their limits support is stated.
    5. Is the shape wrong beyond that: is the centre avoided, are tails too short or too long, or is it skewed?
    6. Do coordinates go together as in the draws? Pairs are compared by exchanging outcomes with draws.

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D); None for `CdfValues`. Or a `Ranks` summary of any verb of ranks, alone.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a distribution, `Quantiles` or
        `CdfValues`.
    level
        Confidence of the statements and limits, of all columns together. Between 0.5 and 1 - 1e-12.
    outward
        Whether high ranks mean outlying outcomes. None: as recorded in the ranks; those of `energy_ranks` and most
        `joint_ranks` do.
    joint
        A `Ranks` summary of one column, of all coordinates together: are single variables right and their dependence
        wrong? `explain` itself makes ``summarize("joint_ranks", y, samples, method="average")`` of up to ten million
        numbers among draws of vectors, and energy ranks for `MvNormal`; with these given, pairs are not compared.
    quantity, covariates, log_likelihood, log_density_y, draws
        What is ranked in place of the coordinates, and among how many draws: as in `ranks`.
    rng
        Generator or seed for ties, and to choose draws; needed where either happens. Without it ties of `joint_ranks`
        have the seed 0.

    Returns
    -------
    Explanation
        ``print(explain(...))`` shows the sentences. Texts and numbers of one column, tuples and arrays of several.

    Notes
    -----
    Outcomes are taken as N(a, s²) in units in which the predictive distribution is N(0, 1), with atoms outside all
    draws where these are needed, and fitted by maximum likelihood from the counts of ranks; limits are those of the
    profile likelihood. Predictions are too high by `shift` = -a, and their spread needs the factor `spread` = s. For
    other distributions both are approximate, which the sentences say ("about"). Coverage is that of central intervals
    between draws at attainable levels, as observed.

    A shift or a spread is named only if its own limits exclude 0 or 1. The limits of both, of all columns, are true
    together with probability `level`. Beside that, outcomes far outside are tested exactly at the error rate of one
    limit, at most 0.01, and dependence of draws at 0.001.

    Fewer than 20 rows have numbers and no words: `failure` is ``"too few rows"``. A single row is refused.

    "Too narrow" and a bias that changes sign between rows make the same ranks. So do an informative prediction and the
    distribution of all outcomes together. Errors that cancel between groups of rows are not seen: use
    `uniformity_test` with `groups`. No departure seen is not proof of calibration; hence the smallest shift and spread
    that this test sees four times in five. How often which words are right is measured in
    ``benchmarks/validity/explain.py``.

    Examples
    --------
    Draws that are twice as wide as they should be:

    >>> import numpy as np
    >>> from calibrant import Samples
    >>> rng = np.random.default_rng(0)
    >>> found = explain(rng.normal(size=1000), Samples(2 * rng.normal(size=(1000, 99))))
    >>> found.failure, round(found.spread, 1)
    ('too wide', 0.5)
    >>> print(found)
    Too wide (under-confident): a 90 % interval contains the outcome 99.8 % of the time; multiply the spread by ...
    """
    level = check_band_level("level", level)
    check_choice("outward", outward, None, False, True)
    by = RankedBy(quantity, covariates, log_likelihood, log_density_y, draws, rng)
    ranks, rows, behind = _ranks_of(y, prediction, by)
    refuse_one_row("explain", ranks)
    if not ranks.has_equal_weights:
        raise InputError("explain refuses unequal weights: weighted ranks have no exact distribution; leave them out")
    together = joint if joint is not None else _joint_of(rows, rng)
    pairs = None if joint is not None else _pairs_of(behind, rng)
    band = band_test(ranks)
    of_whole = np.nan if together is None else _shown_pvalues(band_test(_one_column(together)))[0]
    pvalues = np.append(_shown_pvalues(band), of_whole)
    adjusted = holm(np.append(pvalues, np.nan if pairs is None else pairs.pvalue.min()))
    rate = (1 - level) / int(np.sum(~np.isnan(adjusted)))
    out = ranks.outward if outward is None else bool(outward)
    columns = found_columns(
        ranks, adjusted[: ranks.C], Rates(level, rate, rate / 2), outward=out, draws=behind, band=band
    )
    joint_p, pair_p = (None if np.isnan(p) else float(p) for p in adjusted[ranks.C :])
    return explanation_of(ranks, columns, Together(joint_p, pair_p, pairs))


def found_columns(
    ranks: Ranks,
    adjusted: FloatArray,
    rates: Rates,
    *,
    outward: bool = False,
    draws: RankedDraws | None = None,
    band: BandTest | None = None,
    related: Sequence[str] = (),
) -> list[RankedColumn]:
    """Return what is known of each column, given its p-value, adjusted for everything that is tested beside it.

    `draws` are the rows behind the ranks, where there are some: they show more than counts of ranks. `band` is the test
    of these ranks, if it was made before. `related` says what of each column changes with covariates.
    """
    related = related or [""] * ranks.C
    where = np.rint((band or band_test(ranks)).where * (ranks.M + 1)).astype(np.int64)
    smallest = (np.nan, np.nan) if outward else smallest_effects(ranks.n, ranks.M, cells=ranks.cells, tail=rates.test)
    evidence = [DrawEvidence()] * ranks.C if draws is None or outward else evidence_of(draws)
    found = []
    for c in range(ranks.C):
        counts, departs = ranks.counts[:, c], bool(adjusted[c] <= 1 - rates.level)
        if outward:  # a shift and a spread are those of single coordinates
            name = outward_failure(counts, rates.test) if departs else NONE
            known = Diagnosis((name,), UNKNOWN_ERRORS)
        else:
            known = diagnosis(
                counts,
                rates.limits,
                departs=departs,
                test_rate=rates.test,
                cells=ranks.cells,
                evidence=evidence[c],
                related=related[c],
            )
        outside = None if draws is None or OUTSIDE not in known.failures else _outside(draws, c, known, evidence[c])
        found.append(
            RankedColumn(
                known.failures,
                counts,
                ranks.cells,
                outward,
                known.errors,
                _coverage(counts, outward),
                smallest,
                float(adjusted[c]),
                rates,
                int(where[c]),
                evidence[c],
                outside,
                known.skew,
            )
        )
    return found


def _outside(draws: RankedDraws, c: int, known: Diagnosis, evidence: DrawEvidence) -> Outside:
    """Return the rows whose outcomes lie far outside all draws, or else all rows whose outcomes lie outside."""
    rank, M = draws.rank[:, c], draws.draws.shape[1]
    if known.far and evidence.far is not None:
        return outside_of(draws, c, np.isin(draws.numbers, evidence.far.rows))
    return outside_of(draws, c, (rank == 0) | (rank == M))


def too_few_words(n: int) -> str:
    """Say that so few rows have a band and no words."""
    return (
        f"{n} rows are too few to say in words what is right or wrong: at least {MIN_ROWS_IN_WORDS} rows. "
        "ecdf_difference shows their ranks inside a band."
    )


def explanation_of(ranks: Ranks, columns: list[RankedColumn], together: Together = Together()) -> Explanation:  # noqa: B008
    """Return what is known of the columns in words and numbers."""

    def each(values: list[Any]) -> Any:
        if ranks.single:
            return values[0]
        return tuple(values) if isinstance(values[0], str) else np.array(values, dtype=np.float64)

    few = ranks.n < MIN_ROWS_IN_WORDS
    passes = [column.passes for column in columns]
    level = columns[0].level
    joint_failure, joint = ("", "") if few else joint_sentence(together, ranks.names, level, passes)
    claims: list[Claim] = []
    if not few:
        claims += [claim for c, column in enumerate(columns) for claim in column_claims(column, subject_of(ranks, c))]
        claims += together_claims(together, ranks, level, passes)
    return Explanation(
        sentence=each([too_few_words(ranks.n) if few else sentence(column) for column in columns]),
        failure=each([TOO_FEW if few else column.failures[0] for column in columns]),
        **{name: each([getattr(column.errors, name) for column in columns]) for name in EFFECTS},
        coverage={nominal: each([column.coverage[nominal] for column in columns]) for nominal in columns[0].coverage},
        smallest_shift=columns[0].smallest[0],
        smallest_spread=columns[0].smallest[1],
        pvalue=each([column.pvalue for column in columns]),
        n=ranks.n,
        M=ranks.M,
        level=level,
        names=ranks.names,
        joint=joint,
        joint_failure=joint_failure,
        joint_pvalue=together.pvalue,
        claims=tuple(claims),
    )


def _coverage(counts: NDArray[np.int64], outward: bool) -> dict[float, float]:
    """Return the share of outcomes in regions of about 50 and 90 %, by the nearest level that M draws have."""
    m = counts.size
    possible = np.arange(1, m) if outward else np.arange(m - 2, 0, -2)[::-1]
    if not possible.size:
        return {}
    found = {}
    for j in nearest(LEVELS, possible, m, name="levels").tolist():
        a = 0 if outward else (m - j) // 2
        found[j / m] = float(counts[a : a + j].sum() / counts.sum())
    return found


def _shown_pvalues(band: BandTest) -> FloatArray:
    """Return the exact p-values of the columns, none below what is shown."""
    return np.maximum(band.pvalue, SMALLEST_PVALUE)


def _ranks_of(y: Any, prediction: Any, by: RankedBy) -> tuple[Ranks, DistributionRows | None, RankedDraws | None]:
    if isinstance(y, Summary):
        if not isinstance(y, Ranks):
            raise SummaryError(
                f"explain reads a summary of kind Ranks; got {type(y).__name__}. "
                "Make one with summarize('ranks', y, prediction)"
            )
        if prediction is not None:
            raise InputError("prediction cannot be given with a summary, which holds the rows already")
        if y.n == 0:
            raise InputError("there are no rows: the summary is empty; at least one row is needed")
        return y, None, None
    if prediction is None:
        raise InputError(
            "explain needs outcomes and their prediction, or a summary; ranks alone do not tell how many draws there "
            "were: pass Ranks.of(ranks, M)"
        )
    rows = read("explain", JUDGED, y, prediction, unequal=True)
    given, stream = equal_rows(cast("DistributionRows | QuantileRows | CdfRows", rows), by.rng, by.draws)
    ranked = ranked_by(given, replace(by, rng=stream))
    ranks = Ranks.of_ranked(ranked, given.w)
    if not isinstance(given, DistributionRows) or by.quantity is not None:
        return ranks, None, None
    return ranks, given, RankedDraws.of(given, ranked.rank)


def _one_column(joint: Any) -> Ranks:
    if not isinstance(joint, Ranks) or joint.C != 1 or joint.n == 0:
        raise InputError(
            "joint must be a Ranks summary of one column, such as summarize('joint_ranks', y, samples); "
            f"got {shown(joint)}"
        )
    if not joint.has_equal_weights:
        raise InputError("explain refuses unequal weights; leave them out of the joint ranks too")
    return joint


def _pairs_of(draws: RankedDraws | None, rng: Rng | None) -> PairDependence | None:
    if draws is None or not is_affordable(*draws.draws.shape):
        return None
    order = content_order(draws.y, draws.draws)  # members are drawn in it
    ordered = draws._replace(y=draws.y[order], draws=draws.draws[order], rank=draws.rank[order])
    return pair_dependence(ordered, stream_after_ties(rng))


def _joint_of(rows: DistributionRows | None, rng: Rng | None) -> Ranks | None:
    """Return ranks of all coordinates together, where they cost little; average ranks see wrong dependence best."""
    if rows is None or rows.distribution.shape in ((), (1,)):
        return None
    if isinstance(rows.distribution, MvNormal):
        return cast(Ranks, ENERGY_RANKS.summarise(rows, ENERGY_RANKS.usual))
    if not isinstance(rows.distribution, Samples) or not rows.distribution.finite:
        return None
    if rows.distribution.held.size > MAX_JOINT_NUMBERS:
        return None
    options = JointOptions("average", "pooled", 0 if rng is None else rng)
    order = content_order(rows.y, rows.distribution.held)  # ties are broken in it
    return cast(Ranks, JOINT_RANKS.summarise(rows.take(order), options))
