"""A measurement that is fed batch by batch: in a training loop, on several machines, over days."""

from __future__ import annotations

from typing import Any

from calibrant.core.catalogue import find
from calibrant.core.summarizing import summarize
from calibrant.core.summary import Summary
from calibrant.engines.own_chance import with_own_chance
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

    Notes
    -----
    Outcomes come first, predictions second. CPU tensors are read as they are, and need no ``detach()``; class
    probabilities must sum to 1 within 1e-6, so take softmax in float32 or better.

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
        self._labels = {"classes": classes, "pos_label": pos_label}
        self._options = options
        self._summary: Summary | None = None
        self._updates = 0

    def update(self, y: Any, prediction: Any, weights: Any = None) -> None:
        """Take in a batch; one that is refused changes nothing."""
        options = with_own_chance(self._options, Batch(y, prediction, number=self._updates))
        self._add(summarize(self._entry.verb, y, prediction, weights=weights, **self._labels, **options))
        self._updates += 1

    def compute(self) -> Any:
        """Return what the verb returns for all rows so far."""
        return self._entry.verb(self.summary, **self._options)

    def reset(self) -> None:
        """Forget all rows."""
        self._summary = None

    def merge(self, other: StreamingMetric | bytes) -> None:
        """Take in all rows of another stream, given itself or as its `state`."""
        if not isinstance(other, StreamingMetric):
            if other:
                self._add(Summary.from_bytes(other))
        elif other._summary is not None:
            self._add(other._summary)

    @property
    def state(self) -> bytes:
        """All that is known of the rows, as bytes without pickle in them; empty if there are no rows."""
        return b"" if self._summary is None else self._summary.to_bytes()

    def load(self, state: bytes) -> None:
        """Go on from a `state`, forgetting all rows so far."""
        loaded = StreamingMetric(self._entry.verb)
        loaded.merge(state)
        self._summary = loaded._summary

    @property
    def summary(self) -> Summary:
        """The summary of all rows so far, for other verbs that read it."""
        if self._summary is None:
            raise InputError("there are no rows yet; call update(y, prediction) first")
        return self._summary

    @property
    def n(self) -> int:
        """Number of rows so far."""
        return 0 if self._summary is None else self._summary.n

    def __repr__(self) -> str:
        return f"StreamingMetric({self._entry.name!r}, n={self.n})"

    def _add(self, summary: Summary) -> None:
        if not isinstance(summary, self._entry.reads):
            expected = " or ".join(kind.__name__ for kind in self._entry.reads)
            raise SummaryError(f"{self._entry.name} reads summaries of kind {expected}; got {summary!r}")
        self._summary = summary if self._summary is None else self._summary + summary
