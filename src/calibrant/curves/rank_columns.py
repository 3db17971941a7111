"""What curves of ranks share: which ranks they read, and several columns judged together."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue import AnyRows
from calibrant.errors import InputError
from calibrant.inputs import check_choice
from calibrant.inputs.judged import CdfRows, QuantileRows
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.marginal_ranks import marginal_ranks
from calibrant.primitives.multiplicity import holm
from calibrant.summaries.ranks import Ranks

JUDGED = ("samples", "laws", "quantiles", "cdf")


def rank_summary(rows: AnyRows, *, rng: Any, **_: Any) -> Ranks:
    """Count the ranks of outcomes, coordinate by coordinate."""
    given = cast("LawRows | QuantileRows | CdfRows", rows)
    return Ranks.of_ranked(marginal_ranks(given, rng), given.w)


def check_columns(verb: str, ranks: Ranks, multiplicity: Any) -> None:
    """Refuse weights that differ, and ways to join columns that a curve cannot go."""
    if multiplicity == "exchange":
        raise InputError(
            'multiplicity="exchange" puts draws in the place of their outcomes, and counts of ranks do not hold them; '
            'ask uniformity_test(y, samples, multiplicity="exchange")'
        )
    check_choice("multiplicity", multiplicity, "bonferroni", "none")
    if not ranks.has_equal_weights:
        raise InputError(
            f"{verb} refuses unequal weights: weighted counts of ranks have no exact law; leave weights out. "
            'uniformity_test(method="smooth") takes them'
        )


def level_of_each(level: float, C: int, multiplicity: str) -> float:
    """Return the level of the band of one column, so that those of all columns together have `level`.

    >>> round(level_of_each(0.95, 5, "bonferroni"), 10), level_of_each(0.95, 5, "none")
    (0.99, 0.95)
    """
    return level if multiplicity == "none" or C == 1 else 1 - (1 - level) / C


def adjusted(pvalues: FloatArray, multiplicity: str) -> FloatArray:
    """Return the p-values of all columns together (Holm), or as they are."""
    return pvalues if multiplicity == "none" else holm(pvalues)


def by_column(values: NDArray[Any], ranks: Ranks) -> Any:
    """Return one value per column, (C,) or (T, C), without the axis of columns if there is none."""
    return values if not ranks.single else values[..., 0].item() if values.ndim == 1 else values[..., 0]


def said_of_columns(ranks: Ranks, multiplicity: str) -> str:
    """Say how several columns are judged together; nothing of one."""
    if ranks.C == 1:
        return ""
    joined = "each for itself" if multiplicity == "none" else "judged together (Bonferroni, Holm)"
    return f"; {ranks.C:,} columns, {joined}"


def known_of(ranks: Ranks) -> dict[str, Any]:
    """Return what a curve tells of the ranks behind it."""
    tied: NDArray[np.int64] = ranks.tied
    return {
        "n": ranks.n,
        "M": ranks.M,
        "names": ranks.names,
        "tied": by_column(tied, ranks),
        "cells": ranks.cells,
    }
