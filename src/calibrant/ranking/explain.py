"""What ranks say about predictions, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Rng
from calibrant.core.catalogue import public
from calibrant.core.kinds import read
from calibrant.core.pvalues import holm
from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.arrays import FloatArray, read_array
from calibrant.inputs.options import check_choice
from calibrant.inputs.parametric import MvNormal
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.bands import check_band_level
from calibrant.ranking.counting import JUDGED, Forecast, equal_rows
from calibrant.ranking.curves import nearest
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS, SMALLEST_PVALUE, band_test, refuse_one_row
from calibrant.ranking.energy_ranks import ENERGY_RANKS
from calibrant.ranking.explain_words import Explanation, Found, joint_sentence, sentence
from calibrant.ranking.failures import (
    NONE,
    failures_of,
    normal_errors,
    outward_failure,
    smallest_effects,
    supported,
)
from calibrant.ranking.joint_ranks import JOINT_RANKS, JointOptions
from calibrant.ranking.quantities import Quantities, Quantity, RankedBy, count_ranked
from calibrant.ranking.spread import contraction as contraction_of
from calibrant.ranking.summary import Ranks

LEVELS = (0.5, 0.9)
TOO_FEW = "too few rows"
MAX_JOINT_NUMBERS = 10_000_000  # in draws of vectors that are ranked together: a few seconds
EFFECTS = ("shift", "shift_low", "shift_high", "spread", "spread_low", "spread_high")


@public
def explain(
    y: Outcomes | None,
    prediction: Forecast | None = None,
    *,
    level: float = 0.95,
    outward: bool | None = None,
    joint: Ranks | None = None,
    contraction: ArrayLike | None = None,
    quantity: Quantities | None = None,
    covariates: ArrayLike | None = None,
    log_likelihood: Quantity | None = None,
    log_density_y: ArrayLike | None = None,
    draws: int | None = None,
    rng: Rng | None = None,
) -> Explanation:
    r"""Say in words what is wrong with predictions, by how much, and what this many rows could have seen.

    Whether something is wrong is decided by the exact test of the simultaneous band of `ecdf_difference`, for all
    columns together (Holm). What it is, by the components of the ranks, means of orthonormal polynomials:

    =============  ==============================================  =============================================
    component      negative                                        positive
    =============  ==============================================  =============================================
    first          predictions too high                            predictions too low
    second         too wide (a dome)                               too narrow (a U)
    third          lower tail too short, upper too long            upper tail too short, lower too long
    fourth         tails too long, or (large) two modes averaged   tails too short
    =============  ==============================================  =============================================

    The last two after what the shift and spread of normal predictions explain of them.

    Parameters
    ----------
    y
        Outcomes, (n,) or (n, D); None for `CdfValues`. Or a `Ranks` summary of any verb of ranks, alone.
    prediction
        `Samples` (draws (n, M) or (n, M, D), those of row i in ``draws[i]``), a distribution, `Quantiles` or
        `CdfValues`.
    level
        Confidence of the statements and limits, of all columns together. Between 1e-6 and 1 - 1e-12.
    outward
        Whether high ranks mean outlying outcomes. None: as recorded in the ranks; those of `energy_ranks` and most
        `joint_ranks` do.
    joint
        A `Ranks` summary of one column, of all coordinates together: are single variables right and their dependence
        wrong? `explain` itself makes ``summarize(joint_ranks, y, samples, method="average")`` of up to ten million
        numbers among draws of vectors, and energy ranks for `MvNormal`.
    contraction
        The value of `contraction`, one per column, with a summary. It is reported, not judged. `explain` computes it
        from outcomes and draws or distributions.
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
    `shift` and `spread` are those of normal predictions whose ranks have the same first two components:
    exact for them at any M and any size. `uniformity_test` gives the first order of this for many draws. For every
    other distribution they are approximate, which the sentences say ("about"). Coverage is that of central intervals
    between draws at attainable levels, as observed.

    A shift or a spread is named only if its own limits exclude 0 or 1. The limits of both, of all columns, are true
    together with probability `level`.

    Fewer than 20 rows have numbers and no words: `failure` is ``"too few rows"``. A single row is refused.

    "Too narrow" and a bias that changes sign between rows make the same ranks. So do an informative prediction and the
    distribution of all outcomes together, whose contraction is about 0. Errors that cancel between groups of rows are
    not seen: use `uniformity_test` with `groups`. No departure seen is not proof of calibration; hence the smallest
    shift and spread that this test sees four times in five.

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
    ranks, rows = _ranks_of(y, prediction, by)
    refuse_one_row("explain", ranks)
    if not ranks.has_equal_weights:
        raise InputError("explain refuses unequal weights: weighted ranks have no exact distribution; leave them out")
    together = joint if joint is not None else _joint_of(rows, rng)
    shrunk = _contraction_of(contraction, ranks, rows)
    pvalues = _pvalues(ranks)
    joint_p = None if together is None else float(_pvalues(_one_column(together))[0])
    adjusted = holm(np.append(pvalues, np.nan if joint_p is None else joint_p))
    rate = (1 - level) / (ranks.C + (joint_p is not None))
    out = ranks.outward if outward is None else bool(outward)
    columns = found_columns(ranks, adjusted[: ranks.C], Rates(level, rate, rate / 2), outward=out, contraction=shrunk)
    return explanation_of(ranks, columns, None if joint_p is None else float(adjusted[-1]))


class Rates(NamedTuple):
    """How the error rate 1 - level of all statements together is shared."""

    level: float
    test: float  # of the test of one column
    limits: float  # of the limits of one number of one column


def found_columns(
    ranks: Ranks,
    adjusted: FloatArray,
    rates: Rates,
    *,
    outward: bool = False,
    contraction: FloatArray | None = None,
) -> list[Found]:
    """Return what is known of each column, given its p-value, adjusted for everything that is tested beside it."""
    where = np.rint(band_test(ranks).where * (ranks.M + 1)).astype(np.int64)
    smallest = (np.nan, np.nan) if outward else smallest_effects(ranks.n, ranks.M, cells=ranks.cells, tail=rates.test)
    found = []
    for c in range(ranks.C):
        counts = ranks.counts[:, c]
        errors = normal_errors(counts, 1 - rates.limits)
        failures: tuple[str, ...] = (NONE,)
        if adjusted[c] <= 1 - rates.level:
            named = (outward_failure(counts),) if outward else failures_of(counts, errors)
            failures = supported(named, errors)
        if outward:  # a shift and a spread are those of single coordinates
            errors = errors._replace(
                shift=np.nan, shift_low=np.nan, shift_high=np.nan, spread=np.nan, spread_low=np.nan, spread_high=np.nan
            )
        found.append(
            Found(
                failures,
                counts,
                ranks.cells,
                outward,
                errors,
                _coverage(counts, outward),
                smallest,
                float(adjusted[c]),
                rates.level,
                int(where[c]),
                None if contraction is None else float(contraction[c]),
                adjusted=rates.test < 1 - rates.level,
            )
        )
    return found


def too_few_words(n: int) -> str:
    """Say that so few rows have a band and no words."""
    return (
        f"{n} rows are too few to say in words what is right or wrong: at least {MIN_ROWS_IN_WORDS} rows. "
        "ecdf_difference shows their ranks inside a band."
    )


def explanation_of(ranks: Ranks, columns: list[Found], joint_p: float | None = None) -> Explanation:
    """Return what is known of the columns in words and numbers."""

    def each(values: list[Any]) -> Any:
        if ranks.single:
            return values[0]
        return tuple(values) if isinstance(values[0], str) else np.array(values, dtype=np.float64)

    few = ranks.n < MIN_ROWS_IN_WORDS
    alone = all(column.failures[0] == NONE for column in columns)
    level = columns[0].level
    joint_failure, joint = ("", "") if joint_p is None or few else joint_sentence(joint_p, level, alone)
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
        joint_pvalue=joint_p,
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


def _pvalues(ranks: Ranks) -> FloatArray:
    """Return the exact p-values of the columns."""
    return np.maximum(band_test(ranks).pvalue, SMALLEST_PVALUE)


def _ranks_of(y: Any, prediction: Any, by: RankedBy) -> tuple[Ranks, DistributionRows | None]:
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
        return y, None
    if prediction is None:
        raise InputError(
            "explain needs outcomes and their prediction, or a summary; ranks alone do not tell how many draws there "
            "were: pass Ranks.of(ranks, M)"
        )
    rows = read("explain", JUDGED, y, prediction, unequal=True)
    given, stream = equal_rows(cast("DistributionRows | QuantileRows | CdfRows", rows), by.rng, by.draws)
    ranks = count_ranked(given, replace(by, rng=stream))
    of_coordinates = isinstance(given, DistributionRows) and by.quantity is None
    return ranks, given if of_coordinates and isinstance(given, DistributionRows) else None


def _one_column(joint: Any) -> Ranks:
    if not isinstance(joint, Ranks) or joint.C != 1 or joint.n == 0:
        raise InputError(
            "joint must be a Ranks summary of one column, such as summarize(joint_ranks, y, samples); "
            f"got {shown(joint)}"
        )
    if not joint.has_equal_weights:
        raise InputError("explain refuses unequal weights; leave them out of the joint ranks too")
    return joint


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
    return cast(Ranks, JOINT_RANKS.summarise(rows, options))


def _contraction_of(given: Any, ranks: Ranks, rows: DistributionRows | None) -> FloatArray | None:
    if given is not None:
        values = np.atleast_1d(read_array(given, "contraction"))
        if values.shape != (ranks.C,) or np.isnan(values).any():
            raise InputError(f"contraction must be one number per column, {ranks.C}; got {shown(given)}")
        return values
    if rows is None:
        return None
    try:
        return np.atleast_1d(contraction_of(rows.y, rows.distribution))
    except InputError:  # distributions without a variance, infinite draws, one draw, outcomes that are all alike
        return None
