"""Ranks of outcomes among their draws."""

from __future__ import annotations

from typing import Any

from calibrant.catalogue.rank_verbs import rank_verb
from calibrant.inputs.outcomes import LawRows
from calibrant.primitives.marginal_ranks import marginal_ranks
from calibrant.primitives.ranked import Ranked


@rank_verb(predictions=("samples", "laws", "quantiles", "cdf"))
def ranks(rows: LawRows, *, rng: Any = None) -> Ranked:
    r"""Number of draws below the outcome: uniform on 0 to M if outcome and draws are exchangeable.

    Examples
    --------
    >>> from calibrant import Samples
    >>> ranks([2.5, 0.0], Samples([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    array([2, 0])
    """
    return marginal_ranks(rows, rng)
