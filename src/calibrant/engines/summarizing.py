"""The summary that a verb reads, as a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from calibrant.core.catalogue import find
from calibrant.core.several import Several
from calibrant.core.summarizing import summarize
from calibrant.core.summary import Summary
from calibrant.engines.label_of_event import check_seen, told
from calibrant.engines.own_chance import that_travels, with_own_chance
from calibrant.inputs.columns import Batch

OWN = "own"


@dataclass(frozen=True)
class Summarizing:
    """A job: the summary of a verb, also of one that returns ranks, exactly as `summarize` makes it."""

    verb: str
    options: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, metric: Any, options: Mapping[str, Any], *, classes: Any = None, pos_label: Any = None) -> Summarizing:
        """Read what a user asks for; a misspelt option is told before rows are read."""
        found = find(metric, ranks=True)
        found.parse(options)
        return cls(found.name, that_travels(options), {"classes": classes, "pos_label": pos_label})

    def part(self, batch: Batch) -> Several:
        """Return the summary of a batch, and what was seen of labels."""
        options = with_own_chance(self.options, batch)
        (y, prediction, weights, *_), labels, seen = told(batch, self.labels)
        return Several.of({OWN: summarize(self.verb, y, prediction, weights=weights, **labels, **options), **seen})

    def finish(self, total: Summary) -> Summary:
        """Return the summary of all rows, unless no row of all has the label of the event."""
        parts = cast(Several, total)
        check_seen(parts, self.labels)
        return parts[OWN]
