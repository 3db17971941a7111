"""Labels of rows that come with a batch, for verbs that compare groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.core.catalogue import Entry
from calibrant.errors import InputError, shown
from calibrant.inputs.columns import Batch

GROUPS = "groups"


def with_own_groups(entry: Entry[Any, Any], options: Mapping[str, Any], batch: Batch) -> Mapping[str, Any]:
    """Return all options of a verb, with the labels of the batch where it compares groups and was given none.

    >>> from calibrant.catalogue import find
    >>> batch = Batch([0, 1], [0.25, 0.5], groups={"region": ["north", "south"]})
    >>> with_own_groups(find("coverage_gap"), {"groups": None, "average": "max"}, batch)
    {'groups': ['north', 'south'], 'average': 'max'}
    >>> with_own_groups(find("ece"), {"bins": 15}, batch)
    {'bins': 15}
    """
    if batch.groups is None or not takes_groups(entry, options):
        return options
    if not isinstance(batch.groups, Mapping) or not batch.groups:
        raise InputError(f"groups of a batch must be a mapping from a name to labels; got {shown(batch.groups)}")
    check_one(list(batch.groups))
    (labels,) = batch.groups.values()
    return {**options, GROUPS: labels}


def takes_groups(entry: Entry[Any, Any], options: Mapping[str, Any]) -> bool:
    """Tell whether a verb with these options, all it has, is still to be told of groups."""
    return GROUPS in options and options[GROUPS] is None and entry.by_group(entry.parse(options))


def check_one(names: Sequence[str]) -> None:
    """Refuse more than one column of labels."""
    if len(names) > 1:
        raise InputError(
            f"verbs compare the groups of one column; got {shown(list(names))}. Measure once for each of them"
        )
