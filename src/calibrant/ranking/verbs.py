"""How verbs that rank outcomes among what was predicted are entered into the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core.calls import POINTERS
from calibrant.core.catalogue import Entry, enter
from calibrant.core.summary import Summary
from calibrant.errors import InputError
from calibrant.inputs.kinds import AnyRows
from calibrant.ranking.counting import Ranked, equal_rows
from calibrant.ranking.summary import Ranks

OptionsT = TypeVar("OptionsT")
RankArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankEntry(Entry[OptionsT, RankArray]):
    """The entry of a verb that returns the rank of each row, and whose summary counts them."""

    rank: Callable[[Any, OptionsT], Ranked] = field(kw_only=True)

    def of_rows(self, rows: AnyRows, options: OptionsT) -> RankArray:
        return self.rank(rows, options).rank

    def of_summary(self, summary: Summary, options: OptionsT) -> RankArray:
        raise InputError(f"{self.name} needs outcomes and predictions; a summary no longer contains the single rows")


def enter_ranks(
    verb: Callable[..., RankArray],
    options: type[OptionsT],
    rank: Callable[[Any, OptionsT], Ranked],
    *,
    predictions: tuple[str, ...],
    instead: Mapping[str, str] | None = None,
) -> RankEntry[OptionsT]:
    """Enter a verb that returns ranks; `summarize` finds it by its name.

    An option with a value for each row must be cut by `rows.keep` in `rank`, which sees as many draws in every row.
    """

    def of_equal_rows(rows: Any, options: OptionsT) -> Ranked:
        rows, stream = equal_rows(rows, options.rng)  # type: ignore[attr-defined]  # they all have it
        changed = stream is not options.rng  # type: ignore[attr-defined]
        return rank(rows, replace(options, rng=stream) if changed else options)  # type: ignore[type-var]

    def summarise(rows: AnyRows, options: OptionsT) -> Ranks:
        return Ranks.of_ranked(of_equal_rows(rows, options), rows.w)

    def finish(summary: Ranks, options: OptionsT) -> RankArray:
        return entry.of_summary(summary, options)

    POINTERS[verb.__name__, "weights"] = (
        f"A rank belongs to one row; weights go to summarize({verb.__name__}, y, prediction, weights=...)"
    )
    entry = RankEntry(
        verb,
        options,
        summarise,
        finish,
        reads=(Ranks,),
        kind="ranks",
        predictions=predictions,
        instead=instead or {},
        rank=of_equal_rows,
        unequal=True,
    )
    enter(entry)
    return entry
