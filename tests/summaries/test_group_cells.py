"""Grids of many groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Grid, SummaryError
from calibrant.inputs import Binary, read_binary
from calibrant.inputs.groups import read_groups
from calibrant.summaries.group_cells import GroupCells

RNG = np.random.default_rng(3)


def counted(rows, labels):
    return GroupCells.of(rows, read_groups({"region": labels}, rows.n, intersections=1, keep=None)[0])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), st.booleans())
def test_each_group_has_the_grid_of_its_rows(labels, weighted):
    n = len(labels)
    p, w = RNG.random(n).round(1), RNG.uniform(0.5, 2, n) if weighted else np.ones(n)
    rows = read_binary((RNG.random(n) < p) * 1, p, verb="a test", weights=w)
    found = dict(counted(rows, labels).grids())
    assert list(found) == [f"region = {label}" for label in sorted(set(labels))]
    for label in set(labels):
        own = np.flatnonzero(np.array(labels) == label)
        expected = Grid.of(Binary(rows.y[own], rows.p[own], rows.w[own]))
        np.testing.assert_allclose(found[f"region = {label}"].sums, expected.sums, rtol=1e-12, atol=1e-15)
        assert found[f"region = {label}"].weight_max == expected.weight_max


def test_groups_that_only_one_batch_has():
    rows = read_binary([0, 1], [0.2, 0.7], verb="a test")
    both = counted(rows, ["b", "c"]) + counted(rows, ["a", "c"])
    assert both.names == ("region = a", "region = b", "region = c")
    assert [grid.n for _, grid in both.grids()] == [1, 1, 2]


def test_only_cells_in_use_are_kept():
    rows = read_binary([0, 1], [0.2, 0.7], verb="a test")
    assert counted(rows, ["b", "c"]).sums.shape[1] == 2


def test_damaged():
    found = counted(read_binary([0, 1], [0.2, 0.7], verb="a test"), ["b", "c"])
    with pytest.raises(SummaryError, match="does not know"):
        GroupCells(found.names, found.group + 5, found.cell, found.sums, found.weight_max)
    with pytest.raises(SummaryError, match="as many weights"):
        GroupCells(found.names[:1], found.group, found.cell, found.sums, found.weight_max)
    with pytest.raises(SummaryError, match="shape"):
        GroupCells(found.names, found.group, found.cell, found.sums[:3], found.weight_max)
