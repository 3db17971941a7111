"""The decorator that makes a public verb of a function that ranks outcomes among what was predicted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import LOOKALIKES, AnyRows, options_hint, read
from calibrant.core.summary import Summary
from calibrant.errors import InputError
from calibrant.inputs.options import generator
from calibrant.ranking.counting import Ranked
from calibrant.ranking.summary import Ranks

RankVerb = Callable[..., NDArray[np.int64]]


@dataclass(frozen=True)
class Ranking:
    """What the catalogue knows of a verb that returns ranks.

    Attributes
    ----------
    name, verb
        The public name and function.
    predictions, instead
        Which kinds of prediction it judges, and what to do with others, in words.
    rank
        The function from checked rows and options to ranks.
    options
        The options and their defaults; `inspect.Parameter.empty` where there is none.
    """

    name: str
    predictions: tuple[str, ...]
    verb: RankVerb
    rank: Callable[..., Ranked]
    options: Mapping[str, Any]
    instead: Mapping[str, str]

    def read(
        self, y: Any, prediction: Any, *, weights: Any = None, classes: Any = None, pos_label: Any = None
    ) -> AnyRows:
        """Take data through the boundary; rows of weight 0 are dropped, and `keep` of the rows tells which."""
        if isinstance(y, Summary):
            raise InputError(f"{self.name} needs outcomes and predictions; a summary no longer holds the single rows")
        labels = {"classes": classes, "pos_label": pos_label}
        return read(self.name, self.predictions, y, prediction, weights=weights, instead=self.instead, **labels)

    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, the given ones over the defaults."""
        for name in options:
            if name not in self.options:
                raise InputError(f"{self.name} has no option {name}. {self._hint(name)}")
        found = {**self.options, **options}
        for name, value in found.items():
            if value is inspect.Parameter.empty:
                raise InputError(f"{self.name} needs the option {name}=, which has no default")
        if found.get("rng") is not None:
            generator(found["rng"])  # refuses what is none, whether it is needed or not
        return found

    def _hint(self, name: str) -> str:
        if LOOKALIKES.get(name, name) == "weights":
            return f"A rank is that of one row; weights go to summarize({self.name}, y, prediction, weights=...)"
        return options_hint(name, list(self.options))

    def summary(self, rows: AnyRows, options: Mapping[str, Any]) -> Ranks:
        """Count the ranks of checked rows."""
        return Ranks.of_ranked(self.rank(rows, **self.completed(options)), rows.w)


RANKINGS: dict[str, Ranking] = {}


def find_ranking(measurement: Any) -> Ranking | None:
    """Return what is known of a rank verb, given as the function or its name; None if it is no such verb."""
    name = measurement if isinstance(measurement, str) else getattr(measurement, "__name__", None)
    ranking = RANKINGS.get(name) if isinstance(name, str) else None
    if ranking is None or (measurement is not ranking.verb and measurement is not name):
        return None  # also a function of the user's that has the name of a verb
    return ranking


def rank_verb(
    *, predictions: tuple[str, ...], instead: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Ranked]], RankVerb]:
    """Make the public verb of a function from checked rows to ranks; `summarize` finds it by its name.

    The function's first argument is the rows and its keyword-only arguments are the options. An option with a value
    for each row is to be cut by `rows.keep`.
    """

    def decorate(rank: Callable[..., Ranked]) -> RankVerb:
        own = list(inspect.signature(rank).parameters.values())[1:]

        @functools.wraps(rank)
        def public(y: Any, prediction: Any = None, **options: Any) -> NDArray[np.int64]:
            completed = ranking.completed(options)
            return ranking.rank(ranking.read(y, prediction), **completed).rank

        public.__signature__ = _signature(own)  # type: ignore[attr-defined]
        options = {parameter.name: parameter.default for parameter in own}
        ranking = Ranking(rank.__name__, predictions, public, rank, options, instead or {})
        RANKINGS[ranking.name] = ranking
        return public

    return decorate


def _signature(own: list[inspect.Parameter]) -> inspect.Signature:
    """Return the signature people see: y, prediction, then the options."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [inspect.Parameter(name, either, annotation=Any) for name in ("y", "prediction")]
    return inspect.Signature([*first, *own], return_annotation="NDArray[np.int64]")
