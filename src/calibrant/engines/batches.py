"""Batches: tables of arrays, and what differs from batch to batch (random generators, labels of groups and events)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.several import LabelsSeen, Several
from calibrant.core.summary import Summary
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import as_array
from calibrant.inputs.columns import Batch
from calibrant.inputs.kinds import kind_of
from calibrant.inputs.labels import check_label_seen, events_of_label
from calibrant.inputs.options import seed_of

RNG = "rng"
LOCATIONS = "locations"


class NamedArrays(dict[str, Any]):
    """A table of arrays by name."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self)

    @property
    def rows(self) -> int:
        """Number of rows; columns of different lengths are refused."""
        for name, column in self.items():
            if getattr(column, "ndim", 1) == 0:
                raise InputError(f"{name} must have one value per row; got the single value {shown(column)}")
        (first, values), *others = self.items()
        for name, other in others:
            if len(other) != len(values):
                raise InputError(
                    f"{first} has {len(values)} rows and {name} has {len(other)}; take both from the same table"
                )
        return len(values)


def is_empty(batch: Batch) -> bool:
    """Tell whether a batch has no rows."""
    given = [values for values in (batch.y, batch.prediction) if values is not None]
    return all(getattr(values, "ndim", 1) > 0 and hasattr(values, "__len__") and len(values) == 0 for values in given)


def with_batch_rng(options: Mapping[str, Any], batch: Batch) -> Mapping[str, Any]:
    """Return the options with the random generator of this batch in place of a number as `rng`.

    With the same number for every batch, all batches would see the same random numbers, and their summaries would not
    be independent. The generator is seeded by that number, the number of the batch and a checksum of its rows, because
    batches of several processes may have the same number. Test locations must be the same in all batches: where `rng`
    draws them, it stays as it is.

    >>> batches = [Batch([0, 1], [0.25, 0.5], number=k) for k in (0, 0, 1)]
    >>> first, same, other = (with_batch_rng({"rng": 7}, batch)["rng"].random() for batch in batches)
    >>> first == same, first == other
    (True, False)
    """
    seed = options.get(RNG)
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        return options
    if isinstance(options.get(LOCATIONS), (int, np.integer)):
        return options
    digest = 0
    for array in _arrays(batch):
        digest = zlib.crc32(_bytes(array), digest)
    return {**options, RNG: np.random.default_rng([int(seed), batch.number, digest])}


def picklable_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that can be sent to other processes: a Generator is replaced by a number that it draws."""
    rng = options.get(RNG)
    return dict(options) if rng is None else {**options, RNG: seed_of(rng)}


def _arrays(batch: Batch) -> Iterator[NDArray[Any]]:
    if batch.y is not None:
        yield np.asarray(batch.y)
    prediction = batch.prediction
    if isinstance(prediction, (np.ndarray, list, tuple)) or not hasattr(prediction, "__dict__"):
        yield np.asarray(prediction)
    else:
        yield from (value for value in vars(prediction).values() if isinstance(value, np.ndarray))


def _bytes(array: NDArray[Any]) -> bytes:
    return repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes()


GROUPS = "groups"


def with_batch_groups(options: Mapping[str, Any], batch: Batch) -> Mapping[str, Any]:
    """Return all options of a verb, with the labels of the batch if it compares groups and has no labels yet.

    >>> batch = Batch([0, 1], [0.25, 0.5], groups={"region": ["north", "south"]})
    >>> with_batch_groups({"groups": None, "average": "max"}, batch)
    {'groups': ['north', 'south'], 'average': 'max'}
    >>> with_batch_groups({"bins": 15}, batch)
    {'bins': 15}
    """
    if batch.groups is None or not takes_groups(options):
        return options
    if not isinstance(batch.groups, Mapping) or not batch.groups:
        raise InputError(f"groups of a batch must be a mapping from a name to labels; got {shown(batch.groups)}")
    check_one_group_column(list(batch.groups))
    (labels,) = batch.groups.values()
    return {**options, GROUPS: labels}


def takes_groups(options: Mapping[str, Any]) -> bool:
    return GROUPS in options and options[GROUPS] is None


def check_one_group_column(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise InputError(
            f"verbs compare the groups of one column; got {shown(list(names))}. Measure once for each of them"
        )


SEEN = "labels seen"


def with_event_outcomes(
    batch: Batch, labels: Mapping[str, Any]
) -> tuple[Batch, Mapping[str, Any], Mapping[str, Summary]]:
    """Replace outcomes by 1 where they equal `pos_label` and 0 elsewhere; batches without that label are allowed.

    Return the batch, the options `classes` and `pos_label` that still apply to it, and the outcome labels it had.
    """
    label = labels.get("pos_label")
    if label is None or labels.get("classes") is not None or kind_of(batch.prediction) is not None:
        return batch, labels, {}
    y = as_array(batch.y, name="y")
    if y.ndim != 1 or np.ndim(batch.prediction) != 1:
        return batch, labels, {}  # refused where the batch is read
    events = events_of_label(y, label)
    return batch._replace(y=events), {**labels, "pos_label": None}, {SEEN: LabelsSeen.of(y, events)}


def check_event_seen(total: Several, labels: Mapping[str, Any]) -> None:
    if SEEN in total:
        seen = cast(LabelsSeen, total[SEEN])
        if not seen.events:
            check_label_seen(labels["pos_label"], seen.others)
