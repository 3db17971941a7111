"""The decorator that makes a public verb of a function that ranks outcomes among what was predicted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue.reading import AnyRows, read
from calibrant.errors import InputError
from calibrant.inputs.weights import read_weights
from calibrant.primitives.ranked import Ranked
from calibrant.summaries.ranks import Ranks

RankVerb = Callable[..., NDArray[np.int64]]


@dataclass(frozen=True)
class Ranking:
    """What the catalogue knows of a verb that returns ranks; `rank` is the function of checked rows and options."""

    name: str
    predictions: tuple[str, ...]
    verb: RankVerb
    rank: Callable[..., Ranked]
    instead: Mapping[str, str]

    def ranked(self, y: Any, prediction: Any, options: Mapping[str, Any]) -> Ranked:
        """Rank outcomes; every row, so that options with a value for each of them fit."""
        rows: AnyRows = read(self.name, self.predictions, y, prediction, instead=self.instead)
        return self.rank(rows, **options)

    def summary(self, y: Any, prediction: Any, weights: Any, options: Mapping[str, Any]) -> Ranks:
        """Count the ranks; rows of weight 0 are dropped."""
        found = self.ranked(y, prediction, options)
        return Ranks.of_ranked(found, read_weights(weights, len(found.rank)))


RANKINGS: dict[str, Ranking] = {}


def rank_verb(
    *, predictions: tuple[str, ...], instead: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Ranked]], RankVerb]:
    """Make the public verb of a function from checked rows to ranks; `summarize` finds it by its name.

    The function's first argument is the rows and its keyword-only arguments are the options.
    """

    def decorate(rank: Callable[..., Ranked]) -> RankVerb:
        own = list(inspect.signature(rank).parameters.values())[1:]

        @functools.wraps(rank)
        def public(y: Any, prediction: Any, **options: Any) -> NDArray[np.int64]:
            for name in options:
                if name not in known:
                    raise InputError(f"{rank.__name__} has no option {name}. Its options are {', '.join(known)}")
            return ranking.ranked(y, prediction, options).rank

        known = [parameter.name for parameter in own]
        first = [
            inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any) for n in ("y", "prediction")
        ]
        public.__signature__ = inspect.Signature([*first, *own], return_annotation="NDArray[np.int64]")  # type: ignore[attr-defined]
        ranking = Ranking(rank.__name__, predictions, public, rank, instead or {})
        RANKINGS[ranking.name] = ranking
        return public

    return decorate
