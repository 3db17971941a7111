"""`explain`: what ranks say about predictions, by how much, and what this many rows could have shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Outcomes, Quantities, Quantity, Rng
from calibrant.core.catalogue import public
from calibrant.core.claims import Claim
from calibrant.core.evidence import note
from calibrant.core.pvalues import holm
from calibrant.core.results import FrozenValue
from calibrant.core.summary import Summary
from calibrant.core.tabular import Tabular
from calibrant.core.words import without_direction
from calibrant.errors import InputError, SummaryError, shown
from calibrant.inputs.kinds import read
from calibrant.inputs.parametric import MvNormal
from calibrant.inputs.rows import CdfRows, DistributionRows, QuantileRows
from calibrant.judging.voice import paragraph
from calibrant.ranking.bands import BandTest, check_band_level
from calibrant.ranking.counting import JUDGED, Forecast, equal_rows
from calibrant.ranking.density_ranks import ENERGY_RANKS
from calibrant.ranking.draw_evidence import RankedDraws, content_order
from calibrant.ranking.effects import MIN_ROWS_IN_WORDS, SMALLEST_PVALUE, band_test, refuse_one_row, stream_after_ties
from calibrant.ranking.failures import NARROW, NONE
from calibrant.ranking.pair_dependence import Together, is_affordable, pair_dependence, together_claims
from calibrant.ranking.quantities import RankedBy, ranked_by
from calibrant.ranking.rank_claims import (
    RankedColumn,
    Rates,
    column_claims,
    column_notes,
    found_columns,
    subject_of,
    visible_notes,
)
from calibrant.ranking.summary import Ranks
from calibrant.ranking.vector_ranks import JOINT_RANKS, JointOptions

MAX_JOINT_NUMBERS = 10_000_000  # in draws of vectors that are ranked together: a few seconds
EFFECTS = ("shift", "shift_low", "shift_high", "spread", "spread_low", "spread_high")
MAX_COLUMNS_PRINTED = 12
Numbers = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(FrozenValue, Tabular):
    """What ranks say about predictions, in words and in the user's units. `print` it.

    Of one column every field is one text or number; of C columns texts are tuples and numbers arrays (C,), in the
    order of `names`.
    """

    sentence: str | tuple[str, ...]
    failure: str | tuple[str, ...]
    shift: Numbers
    shift_low: Numbers
    shift_high: Numbers
    spread: Numbers
    spread_low: Numbers
    spread_high: Numbers
    coverage: Mapping[float, Numbers]
    smallest_shift: float
    smallest_spread: float
    pvalue: Numbers
    n: int
    M: int
    level: float
    names: tuple[str, ...] = ("",)
    joint: str = ""
    joint_failure: str = ""
    joint_pvalue: float | None = None
    claims: tuple[Claim, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"Explanation({self.failure!r}, n={self.n}, M={self.M})"

    def __str__(self) -> str:
        return without_direction("\n".join([*self._sentences(), *([self.joint] if self.joint else [])]))  # users' names

    def _sentences(self) -> list[str]:
        if isinstance(self.sentence, str):
            return [self.sentence]
        worst_first = np.argsort(self.pvalue, kind="stable")[:MAX_COLUMNS_PRINTED].tolist()
        more = len(self.names) - len(worst_first)
        left = [f"{more:,} further columns have larger p-values."] if more else []
        return [f"{self.names[c]}: {self.sentence[c]}" for c in worst_first] + left


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
    Too wide (under-confident): the spread of predictions needs the factor 0.49 (95 % limits 0.46 to 0.52; p < 0.001)...
    """
    level = check_band_level("level", level)
    by = RankedBy(quantity, covariates, log_likelihood, log_density_y, draws, rng)
    ranks, rows, behind = _ranks_of(y, prediction, by)
    refuse_one_row("explain", ranks)
    if not ranks.has_equal_weights:
        raise InputError("explain refuses unequal weights: weighted ranks have no exact distribution; leave them out")
    together, pairs = (_joint_of(rows, rng), None) if joint is None else (joint, None)
    if joint is None and behind is not None and is_affordable(*behind.draws.shape):
        order = content_order(behind.y, behind.draws)  # members are drawn in it
        ordered = behind._replace(y=behind.y[order], draws=behind.draws[order], rank=behind.rank[order])
        pairs = pair_dependence(ordered, stream_after_ties(rng))
    band = band_test(ranks)
    of_whole = np.nan if together is None else _band_of_joint(together).pvalue[0]
    pvalues = np.maximum(np.append(band.pvalue, of_whole), SMALLEST_PVALUE)
    adjusted = holm(np.append(pvalues, np.nan if pairs is None else pairs.pvalue.min()))
    rate = (1 - level) / int(np.sum(~np.isnan(adjusted)))
    out = ranks.outward if outward is None else bool(outward)
    columns = found_columns(ranks, adjusted[: ranks.C], Rates(level, rate, rate / 2), outward=out, draws=behind)
    joint_p, pair_p = (None if np.isnan(p) else float(p) for p in adjusted[ranks.C :])
    return explanation_of(ranks, columns, Together(joint_p, pair_p, pairs))


def explanation_of(ranks: Ranks, columns: list[RankedColumn], together: Together) -> Explanation:
    def each(values: list[Any]) -> Any:
        if ranks.single:
            return values[0]
        return tuple(values) if isinstance(values[0], str) else np.array(values, dtype=np.float64)

    few = ranks.n < MIN_ROWS_IN_WORDS
    passes = [column.passes for column in columns]
    level = columns[0].level
    of_columns = [() if few else column_claims(column, subject_of(ranks, c)) for c, column in enumerate(columns)]
    of_whole = [] if few else together_claims(together, ranks, level, passes)
    joint_failure = "" if few else together.failure(level, passes)
    joint = ""
    if joint_failure == NONE:
        joint = paragraph((), (note("no joint departure", p=together.pvalue),))
    elif joint_failure:
        joint = paragraph(of_whole, (note("alone right" if all(passes) else "alone wrong"),))
    return Explanation(
        sentence=each([_sentence(*both) for both in zip(columns, of_columns, strict=True)]),
        failure=each([column.failure for column in columns]),
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
        claims=(*(claim for claims in of_columns for claim in claims), *of_whole),
    )


def _sentence(column: RankedColumn, claims: tuple[Claim, ...]) -> str:
    if column.n < MIN_ROWS_IN_WORDS:
        return paragraph((), (note("too few rows", n=column.n, least=MIN_ROWS_IN_WORDS),))
    key = "regions covered" if column.outward else "covered"
    covered = note(key, levels=tuple(column.coverage), shares=tuple(column.coverage.values()))
    notes = [covered] if column.coverage else []
    notes += column_notes(column)
    if column.passes:
        calm = note("no departure", level=column.level, p=column.pvalue)
        return paragraph(claims, (calm, *([] if column.outward else visible_notes(column)), *notes))
    if NARROW in column.failures:
        notes.append(note("narrow or biased"))
    return paragraph(claims, notes)


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


def _band_of_joint(joint: Any) -> BandTest:
    if not isinstance(joint, Ranks) or joint.C != 1 or joint.n == 0:
        raise InputError(
            "joint must be a Ranks summary of one column, such as summarize('joint_ranks', y, samples); "
            f"got {shown(joint)}"
        )
    if not joint.has_equal_weights:
        raise InputError("explain refuses unequal weights; leave them out of the joint ranks too")
    return band_test(joint)


def _joint_of(rows: DistributionRows | None, rng: Rng | None) -> Ranks | None:
    """Return ranks of all coordinates together, where they cost little; average ranks see wrong dependence best."""
    if rows is None or rows.distribution.shape in ((), (1,)):
        return None
    if isinstance(rows.distribution, MvNormal):
        return cast(Ranks, ENERGY_RANKS.summarise(rows, ENERGY_RANKS.usual))
    samples = rows.samples
    if samples is None or not samples.finite or samples.held.size > MAX_JOINT_NUMBERS:
        return None
    options = JointOptions("average", "pooled", 0 if rng is None else rng)
    order = content_order(rows.y, samples.held)  # ties are broken in it
    return cast(Ranks, JOINT_RANKS.summarise(rows.take(order), options))
