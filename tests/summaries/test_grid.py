"""The grid: constant size, exact width bins up to 100, nothing else."""

import numpy as np
import pytest

from calibrant import Grid, SummaryError, ece, mce, summarize
from calibrant.inputs import read_binary
from calibrant.primitives.bins import grid_edges
from calibrant.summaries.grid import CELLS


def grid(y, p, weights=None):
    return Grid.of(read_binary(y, p, verb="a test", weights=weights))


def test_size_does_not_depend_on_the_rows():
    rng = np.random.default_rng(0)
    small, large = (grid(rng.integers(0, 2, n), rng.random(n)) for n in (3, 3000))
    assert small.sums.shape == large.sums.shape == (10, CELLS)
    assert len(small.to_bytes()) < 300_000
    assert grid_edges().size == CELLS + 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("m", [1, 7, 10, 15, 99, 100])
def test_every_edge_falls_into_its_bin(m, dtype):
    p = (np.arange(m + 1) / m).astype(dtype)
    assert grid(np.zeros(m + 1, int), p).bins(m).count.tolist() == [2] + [1] * (m - 1)  # 0 and 1/m share the first


def test_largest_weight():
    assert grid([0, 1], [0.2, 0.7], [3, 5]).weight_max == 5.0
    assert (grid([0], [0.2], [3]) + grid([1], [0.7], [5])).weight_max == 5.0
    assert grid([0, 1], [0.2, 0.7]).weight_max == 1.0


def test_cells_are_the_finest_bins():
    table = grid([0, 1, 1], [0.0, 0.505, 1.0]).cells()
    assert table.count.sum() == 3
    filled = np.flatnonzero(table.count)
    assert table.lower[filled[1]] < 0.505 <= table.upper[filled[1]]
    assert (filled[0], filled[2]) == (0, CELLS - 1)


@pytest.mark.parametrize("verb", [ece, mce])
def test_more_than_100_bins_are_refused(refusal, verb):
    message = refusal(verb, summarize(verb, [0, 1], [0.2, 0.7]), bins=101, error=SummaryError)
    assert "width bins up to 100; got bins=101" in message
    assert message.endswith("with these bins instead")


def test_any_number_of_bins_can_be_asked_of_one_grid():
    y, p = [0, 1, 1, 0], [0.1, 0.3, 0.5, 0.9]
    summary = summarize(ece, y, p)
    assert [ece(summary, bins=m) for m in (1, 2, 10, 100)] == [ece(y, p, bins=m) for m in (1, 2, 10, 100)]


def test_other_shapes_are_refused(refusal):
    message = refusal(Grid, np.zeros((10, 5)), 1.0, error=SummaryError)
    assert message == f"a Grid has sums of shape (10, {CELLS}); got (10, 5)"
