"""How verbs that rank outcomes among what was predicted are entered into the catalogue."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import LOOKALIKES, Entry, enter, unknown_option
from calibrant.core.kinds import AnyRows
from calibrant.core.summary import Summary
from calibrant.errors import InputError
from calibrant.inputs.options import generator
from calibrant.ranking.counting import Ranked
from calibrant.ranking.summary import Ranks

OptionsT = TypeVar("OptionsT")
RankArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RankEntry(Entry[OptionsT, RankArray]):
    """The entry of a verb that returns the rank of each row, and whose summary counts them."""

    rank: Callable[[Any, OptionsT], Ranked] = field(kw_only=True)

    def parse(self, given: Mapping[str, Any]) -> OptionsT:
        """Return the options of a call that is made later."""
        for name in given:
            if name not in self.defaults and LOOKALIKES.get(name, name) == "weights":
                raise InputError(
                    f"{self.name} has no option {name}. A rank is that of one row; weights go to "
                    f"summarize({self.name}, y, prediction, weights=...)"
                )
        return super().parse(given)

    def of_rows(self, rows: AnyRows, options: OptionsT) -> RankArray:
        """Return the ranks of checked rows."""
        return self.rank(rows, options).rank

    def of_summary(self, summary: Summary, options: OptionsT) -> RankArray:
        """Refuse a summary."""
        raise InputError(f"{self.name} needs outcomes and predictions; a summary no longer holds the single rows")


def enter_ranks(
    verb: Callable[..., RankArray],
    options: type[OptionsT],
    rank: Callable[[Any, OptionsT], Ranked],
    *,
    predictions: tuple[str, ...],
    instead: Mapping[str, str] | None = None,
) -> RankEntry[OptionsT]:
    """Enter a verb that returns ranks; `summarize` finds it by its name.

    An option with a value for each row is to be cut by `rows.keep` in `rank`.
    """

    def summarise(rows: AnyRows, options: OptionsT) -> Ranks:
        return Ranks.of_ranked(rank(rows, options), rows.w)

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
        rank=rank,
    )
    enter(entry)
    return entry


def rank_verb(
    *, predictions: tuple[str, ...], instead: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Ranked]], Any]:
    """Make the public verb of a function from checked rows to ranks."""

    def decorate(rank: Callable[..., Ranked]) -> Any:
        own = list(inspect.signature(rank).parameters.values())[1:]
        names = {parameter.name for parameter in own}

        @functools.wraps(rank)
        def public(y: Any, prediction: Any = None, **given: Any) -> RankArray:
            for name in given:
                if name not in names and LOOKALIKES.get(name, name) != "weights":
                    raise unknown_option(public, name)
            return entry(y, prediction, entry.parse(given))

        def ranked(rows: Any, options: Any) -> Ranked:
            if getattr(options, "rng", None) is not None:
                generator(options.rng)  # refuses what is not one, whether it is needed or not
            return rank(rows, **vars(options))

        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = [inspect.Parameter("y", either), inspect.Parameter("prediction", either, default=None)]
        public.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
        made = make_dataclass(f"{rank.__name__}_options", [p.name for p in own], frozen=True)
        entry = enter_ranks(public, made, ranked, predictions=predictions, instead=instead)
        return public

    return decorate
