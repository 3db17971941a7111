"""Records of named numbers."""

from dataclasses import FrozenInstanceError

import pytest

from calibrant import Decomposition, Direction, decompose, direction


@pytest.mark.parametrize(
    ("verb", "kind", "names"),
    [
        (decompose, Decomposition, ["score", "mcb", "dsc", "unc", "within"]),
        (direction, Direction, ["over", "under", "bias", "over_bin", "under_bin"]),
    ],
)
def test_records(verb, kind, names):
    record = verb([0, 1, 1], [0.2, 0.4, 0.9])
    assert type(record) is kind
    assert list(vars(record)) == names
    assert record == verb([0, 1, 1], [0.2, 0.4, 0.9])
    assert all(type(getattr(record, name)) is float for name in names[:3])
    with pytest.raises(FrozenInstanceError):
        setattr(record, names[0], 0.0)


def test_edges_are_plain_numbers():
    found = direction([0, 1], [0.2, 0.9])
    assert [type(edge) for edge in (*found.over_bin, *found.under_bin)] == [float] * 4
