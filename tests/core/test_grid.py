"""The grid: constant size, exact width bins up to 100, nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ece, mce, summarize
from calibrant.core.bins import grid_edges
from calibrant.core.grid import CELLS, GroupCells
from calibrant.errors import SummaryError
from calibrant.inputs.groups import read_groups
from calibrant.inputs.probabilities import Binary, read_binary
from calibrant.summaries import Grid


def grid(y, p, weights=None):
    return Grid.of(read_binary(y, p, verb="a test", weights=weights))


def test_size_does_not_depend_on_the_rows(rng):
    small, large = (grid(rng.integers(0, 2, n), rng.random(n)) for n in (3, 3000))
    assert small.sums.shape == large.sums.shape == (11, CELLS) == (11, grid_edges().size - 1)
    assert len(small.to_bytes()) < 400_000


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


def test_any_number_of_bins_up_to_100_can_be_asked_of_one_grid(refusal):
    y, p = [0, 1, 1, 0], [0.1, 0.3, 0.5, 0.9]
    summary, numbers = summarize(ece, y, p), (1, 2, 10, 100)
    assert [ece(summary, bins=m) for m in numbers] == pytest.approx([ece(y, p, bins=m) for m in numbers], rel=1e-12)
    for verb in (ece, mce):
        message = refusal(verb, summary, bins=101, error=SummaryError)
        assert "width bins up to 100; got bins=101" in message
        assert message.endswith("with these bins instead")


class TestRareEvents:
    def test_scores_that_differ_by_a_thirtieth_are_told_apart(self):
        p = 2e-7 * 1.04 ** np.arange(270)
        assert p.max() < 0.01
        for scores in (p, 1 - p):
            assert grid(np.zeros(270, int), scores).cells().count.max() == 1

    def test_sums_near_0_and_1_lose_no_digits(self):
        p = np.array([1e-6, 3e-6, 1e-6, 1e-3])
        for scores, y in ((p, 0), (1 - p, 1)):
            table = grid([y] * 4, scores).bins(1)
            assert table.wr2[0] == pytest.approx(float(((1 - scores if y else p) ** 2).sum()), rel=1e-14)
            assert table.wv[0] == pytest.approx(float((scores * (1 - scores)).sum()), rel=1e-14)


def rows_of(drawn):
    return (np.array(column) for column in zip(*drawn, strict=True))


rows = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0.1, 10)), min_size=1, max_size=40)


class TestOrdered:
    @given(rows, st.sampled_from(["float16", "float32", "float64"]))
    def test_sums_are_those_of_the_grid(self, drawn, dtype):
        y, p, w = rows_of(drawn)
        summary = grid(y, p.astype(dtype), w)
        pooled, cells = summary.ordered(), summary.cells()
        filled = cells.count > 0
        assert (np.diff(pooled.score) >= 0).all()
        assert ((pooled.score >= 0) & (pooled.score <= 1)).all()
        weight = pooled.weight * pooled.count
        np.testing.assert_allclose(weight, cells.w[filled], rtol=1e-14)
        np.testing.assert_allclose(weight * pooled.score, cells.wp[filled], rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(pooled.weight * pooled.events, cells.wy[filled], rtol=1e-14)
        assert summary.total_weight == pytest.approx(float(w.sum()))

    @given(rows, st.sampled_from([1.0, 0.1, 3.0]))
    def test_equal_weights_stay_what_they_are(self, drawn, weight):
        y, p, _ = rows_of(drawn)
        summary = grid(y, p, np.full(len(y), weight))
        pooled = summary.ordered()
        assert summary.has_equal_weights
        assert pooled.has_equal_weights
        assert pooled.weight_max == weight
        assert pooled.count.tolist() == summary.cells().count[summary.cells().count > 0].tolist()

    def test_one_lighter_row_is_seen(self):
        assert not grid([0, 1, 1], [0.5, 0.5, 0.2], [1, 1 - 1e-9, 1]).has_equal_weights

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    @pytest.mark.parametrize("m", [1, 3, 10, 100])
    def test_entries_belong_to_the_bins_of_the_grid(self, m, dtype):
        # 0.3 in float32 lies above 0.3, and still in the bin (0.2, 0.3].
        p = np.concatenate([np.arange(m + 1) / m, np.linspace(0, 1, 57)]).astype(dtype)
        summary = grid(np.zeros(p.size, int), p)
        starts = summary.entry_starts(m)
        ends = np.cumsum(np.append(0, summary.ordered().count))[starts]
        assert np.diff(ends).tolist() == summary.bins(m).count.tolist()


RNG = np.random.default_rng(3)


def counted(rows, labels):
    return GroupCells.of(rows, read_groups({"region": labels}, rows.n, intersections=1, keep=None)[0])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40), st.booleans())
def test_each_group_has_the_grid_of_its_rows(labels, weighted):
    n = len(labels)
    p, w = RNG.random(n).round(1), RNG.uniform(0.5, 2, n) if weighted else np.ones(n)
    rows = read_binary((RNG.random(n) < p) * 1, p, verb="a test", weights=w)
    found = counted(rows, labels)
    assert list(found.names) == [f"region = {label}" for label in sorted(set(labels))]
    for g, label in enumerate(sorted(set(labels))):
        own = np.flatnonzero(np.array(labels) == label)
        expected = Grid.of(Binary(rows.y[own], rows.p[own], rows.w[own]))
        cells = np.flatnonzero(expected.sums[0])
        assert found.cell[found.group == g].tolist() == cells.tolist()
        np.testing.assert_allclose(found.sums[:, found.group == g], expected.sums[:, cells], rtol=1e-12, atol=1e-15)
        assert found.weight_max[g] == expected.weight_max


def test_groups_that_only_one_batch_has():
    rows = read_binary([0, 1], [0.2, 0.7], verb="a test")
    both = counted(rows, ["b", "c"]) + counted(rows, ["a", "c"])
    assert both.names == ("region = a", "region = b", "region = c")
    assert np.bincount(both.group, both.sums[0]).tolist() == [1, 1, 2]
    assert both.starts.tolist() == [0, 1, 2]
    assert both.sums.shape[1] == 3  # only cells in use are kept
