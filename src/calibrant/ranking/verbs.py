"""How verbs that rank outcomes among what was predicted are entered into the catalogue."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import LOOKALIKES, Entry, enter, public
from calibrant.core.kinds import AnyRows
from calibrant.core.summary import Summary
from calibrant.errors import InputError
from calibrant.ranking.counting import Ranked, equal_rows
from calibrant.ranking.summary import Ranks

OptionsT = TypeVar("OptionsT")
P = ParamSpec("P")
RankArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankEntry(Entry[OptionsT, RankArray]):
    """The entry of a verb that returns the rank of each row, and whose summary counts them."""

    rank: Callable[[Any, OptionsT], Ranked] = field(kw_only=True)

    def parse(self, given: Mapping[str, Any]) -> OptionsT:
        """Return the options of a call that is made later."""
        _refuse_weights(self.name, given)
        return super().parse(given)

    def of_rows(self, rows: AnyRows, options: OptionsT) -> RankArray:
        """Return the ranks of checked rows."""
        return self.rank(rows, options).rank

    def of_summary(self, summary: Summary, options: OptionsT) -> RankArray:
        """Refuse a summary."""
        raise InputError(f"{self.name} needs outcomes and predictions; a summary no longer contains the single rows")


def public_ranks(verb: Callable[P, RankArray]) -> Callable[P, RankArray]:
    """Let a verb that returns ranks refuse unknown options by name; weights belong to its summary."""
    checked = public(verb)

    @functools.wraps(verb)
    def without_weights(*args: P.args, **given: P.kwargs) -> RankArray:
        _refuse_weights(verb.__name__, given)
        return checked(*args, **given)

    return without_weights


def _refuse_weights(verb: str, given: Mapping[str, Any]) -> None:
    for name in given:
        if LOOKALIKES.get(name, name) == "weights":
            raise InputError(
                f"{verb} has no option {name}, because a rank belongs to one row; weights go to "
                f"summarize({verb}, y, prediction, weights=...)"
            )


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
