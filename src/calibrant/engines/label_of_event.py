"""A label that names the event, where outcomes come in batches: some may be without it, not all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from calibrant.core.kinds import kind_of
from calibrant.core.several import LabelsSeen, Several
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import as_array
from calibrant.inputs.columns import Batch
from calibrant.inputs.labels import check_label_seen, events_of_label

SEEN = "labels seen"


class Told(NamedTuple):
    """A batch, the labels that are still to be read, and what was seen of those that are not."""

    batch: Batch
    labels: Mapping[str, Any]
    seen: Mapping[str, Summary]


def told(batch: Batch, labels: Mapping[str, Any]) -> Told:
    """Turn outcomes into 1 where they have the label of the event, and 0; anything else stays as it is."""
    label = labels.get("pos_label")
    if label is None or labels.get("classes") is not None or kind_of(batch.prediction) is not None:
        return Told(batch, labels, {})
    y = as_array(batch.y, name="y")
    if y.ndim != 1 or np.ndim(batch.prediction) != 1:
        return Told(batch, labels, {})  # refused where the batch is read
    events = events_of_label(y, label)
    return Told(batch._replace(y=events), {**labels, "pos_label": None}, {SEEN: LabelsSeen.of(y, events)})


def check_seen(total: Several, labels: Mapping[str, Any]) -> None:
    """Refuse the label of an event that no row of all has."""
    if SEEN in total:
        seen = cast(LabelsSeen, total[SEEN])
        if not seen.events:
            check_label_seen(labels["pos_label"], seen.others)
