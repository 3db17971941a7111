"""A measurement over rows that come in batches: in a training loop, on several machines, over days."""

from __future__ import annotations

from typing import Any

from calibrant.core.catalogue import find
from calibrant.core.several import Several
from calibrant.core.summary import Summary
from calibrant.engines.batches import SEEN, is_empty
from calibrant.engines.jobs import OWN, Summarizing
from calibrant.errors import InputError, SummaryError
from calibrant.inputs.columns import Batch


class StreamingMetric:
    """A verb over rows that come in batches: `update`, `compute`, `reset`, `merge`.

    No row is kept, only the verb's summary of them. It has a constant size for verbs of a `Moments` (`brier_score`,
    `log_score`) and of a `Grid` (`ece`, `mce`, `direction` with up to 100 width bins); an `Ordered` grows with the
    number of different scores.

    Parameters
    ----------
    metric
        A verb of calibrant, or its name; tests and curves work too.
    classes, pos_label
        As for the verb itself.
    **options
        Options of the verb.

    Examples
    --------
    >>> stream = StreamingMetric("ece", bins=2)
    >>> stream.update([0, 1], [0.2, 0.6])
    >>> stream.update([1, 1], [0.8, 0.4])
    >>> stream
    StreamingMetric('ece', n=4)
    >>> round(stream.compute(), 3)
    0.25

    What another process saw arrives as bytes:

    >>> total = StreamingMetric("ece", bins=2)
    >>> total.merge(stream.state)
    >>> total.n
    4
    """

    def __init__(self, metric: Any = "ece", *, classes: Any = None, pos_label: Any = None, **options: Any) -> None:
        self._entry = find(metric)
        self._entry.parse(options)
        self._job = Summarizing(self._entry.name, options, {"classes": classes, "pos_label": pos_label})
        self._options = options
        self._summary: Summary | None = None
        self._seen: Summary | None = None  # the labels of y, where pos_label names one
        self._updates = 0

    def update(self, y: Any, prediction: Any, weights: Any = None) -> None:
        """Add a batch, which may be empty; one that is refused changes nothing."""
        batch = Batch(y, prediction, weights, number=self._updates)
        if not is_empty(batch):
            self._add(self._job.part(batch))
        self._updates += 1

    def compute(self) -> Any:
        """Return what the verb returns for all rows so far."""
        return self._entry.verb(self.summary, **self._options)

    def reset(self) -> None:
        """Forget all rows."""
        self._summary = self._seen = None

    def merge(self, other: StreamingMetric | bytes) -> None:
        """Add all rows of another stream, given itself or as its `state`."""
        if not isinstance(other, StreamingMetric):
            if other:
                self._add(Summary.from_bytes(other))
        elif other._summary is not None:
            self._add(other._whole)

    @property
    def state(self) -> bytes:
        """The whole state as bytes, without pickle; empty if there are no rows."""
        return b"" if self._summary is None else self._whole.to_bytes()

    def load(self, state: bytes) -> None:
        """Continue from a `state`, forgetting all rows so far."""
        loaded = StreamingMetric(self._entry.verb)
        loaded.merge(state)
        self._summary, self._seen = loaded._summary, loaded._seen

    @property
    def summary(self) -> Summary:
        """The summary of all rows so far, for other verbs that read it."""
        if self._summary is None:
            raise InputError("there are no rows yet; call update(y, prediction) first")
        if self._seen is not None:
            self._job.finish(self._whole)  # refuses a pos_label that no row has
        return self._summary

    @property
    def n(self) -> int:
        """Number of rows so far."""
        return 0 if self._summary is None else self._summary.n

    def __repr__(self) -> str:
        return f"StreamingMetric({self._entry.name!r}, n={self.n})"

    @property
    def _whole(self) -> Summary:
        assert self._summary is not None
        return self._summary if self._seen is None else Several.of({OWN: self._summary, SEEN: self._seen})

    def _add(self, part: Summary) -> None:
        inside = dict(zip(part.names, part.parts, strict=True)) if isinstance(part, Several) else {}
        summary, seen = inside.get(OWN, part), inside.get(SEEN)
        if not isinstance(summary, self._entry.reads):
            expected = " or ".join(kind.__name__ for kind in self._entry.reads)
            raise SummaryError(f"{self._entry.name} reads summaries of kind {expected}; got {summary!r}")
        self._summary = summary if self._summary is None else self._summary + summary
        if seen is not None:
            self._seen = seen if self._seen is None else self._seen + seen
