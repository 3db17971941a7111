"""The cell of every score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.bins import grid_edges, grid_uppers
from calibrant.primitives.cell_lookup import cell_of

DTYPES = ["float16", "float32", "float64"]


def by_search(p):
    return np.searchsorted(grid_uppers(p.dtype.name), p.astype(float), side="left").tolist()


class TestCellOf:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_edge_and_its_neighbours(self, dtype):
        one = np.ones((), dtype)
        edges = grid_edges().astype(dtype)
        above, below = np.nextafter(edges, one), np.nextafter(edges, -one)
        scores = np.concatenate([edges, above, below, np.nextafter(above, one), np.nextafter(below, -one)])
        scores = scores[(scores >= 0) & (scores <= 1)]
        assert cell_of(scores).tolist() == by_search(scores)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_no_row_is_more_than_a_step_from_where_the_table_sends_it(self, dtype):
        rng = np.random.default_rng(0)
        tiny = 2.0 ** -rng.uniform(0, 40, 20_000)
        scores = np.concatenate([rng.random(20_000), tiny, 1 - tiny]).astype(dtype)
        assert cell_of(scores).tolist() == by_search(scores)

    def test_every_float16_there_is(self):
        scores = np.arange(0x3C00 + 1, dtype="uint16").view("float16")
        assert scores[0] == 0
        assert scores[-1] == 1
        assert cell_of(scores).tolist() == by_search(scores)

    @pytest.mark.parametrize("dtype", DTYPES)
    @given(data=st.data())
    def test_any_score(self, dtype, data):
        width = int(dtype[5:])
        scores = data.draw(st.lists(st.floats(0, 1, width=width, allow_subnormal=True), min_size=1, max_size=50))
        scores = np.array(scores, dtype)
        assert cell_of(scores).tolist() == by_search(scores)

    def test_ends(self):
        last = grid_edges().size - 2
        assert cell_of(np.array([0.0, -0.0, 5e-324, 1.0])).tolist() == [0, 0, 0, last]
