"""The cell of every score, and sums per cell: two bodies that agree."""

from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant.core import cells as module
from calibrant.core import dispatch
from calibrant.core.bins import COLUMNS, grid_edges, grid_uppers
from calibrant.core.cells import UnitRows, cell_of, cell_sums, cell_sums_of_pieces
from calibrant.inputs.arrays import unit_weights

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
    def test_the_first_and_last_score_of_every_key(self, dtype):
        one = np.ones((), dtype)
        distance = (np.arange(998 << 12, (1022 << 12) + 1) << 40).view(float)  # from 2^-25 to 1/2
        starts = np.concatenate([distance, 1 - distance]).astype(dtype)
        away = np.clip(starts.astype(float)[:, None] + [-(2.0**-23), 2.0**-23], 0, 1).ravel().astype(dtype)
        scores = np.concatenate([starts, np.nextafter(starts, one), np.nextafter(starts, -one), away])
        assert cell_of(scores).tolist() == by_search(scores)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_many_scores(self, dtype, rng):
        tiny = 2.0 ** -rng.uniform(0, 40, 20_000)
        scores = np.concatenate([rng.random(20_000), tiny, 1 - tiny]).astype(dtype)
        assert cell_of(scores).tolist() == by_search(scores)

    def test_every_float16_there_is(self):
        scores = np.arange(0x3C00 + 1, dtype="uint16").view("float16")  # from 0 to 1
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


def slow_sums(y, p, w):
    """Return the sums by their definitions, row by row."""
    sums = np.zeros((len(COLUMNS), grid_edges().size - 1))
    cells = np.searchsorted(grid_uppers(p.dtype.name), p.astype(float), side="left").tolist()
    for cell, y_i, p_i, w_i in zip(cells, y.tolist(), p.astype(float).tolist(), w.tolist(), strict=True):
        v, r2 = p_i * (1 - p_i), (y_i - p_i) ** 2
        sums[:, cell] += [
            *(1, w_i, w_i**2, w_i * p_i, w_i * y_i),
            *(w_i**2 * y_i, w_i * v, w_i**2 * v, w_i * r2, w_i**2 * r2, w_i**2 * v**2),
        ]
    return sums


rows = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.one_of(st.floats(0, 1), st.sampled_from([-0.0, 0.0, 0.1, 0.3, 0.5, 1.0])),
        st.floats(1e-3, 1e3),
    ),
    min_size=1,
    max_size=60,
)


def arrays(drawn, dtype, weighted):
    y, p, w = (np.array(column) for column in zip(*drawn, strict=True))
    return y.astype(np.uint8), p.astype(dtype), w if weighted else unit_weights(len(y))


@given(rows, st.sampled_from(DTYPES), st.booleans())
@example([(1, 0.0, 1.0), (0, 1.0, 2.0), (1, 1.0, 3.0), (0, 0.0, 4.0)], "float64", True)
def test_reference_follows_the_definitions(drawn, dtype, weighted):
    y, p, w = arrays(drawn, dtype, weighted)
    np.testing.assert_allclose(cell_sums(y, p, w), slow_sums(y, p, w), rtol=1e-11, atol=1e-12 * float(w.max()) ** 2)


def test_reference_adds_up_over_chunks(rng):
    y, p, w = rng.integers(0, 2, 40).astype(np.uint8), rng.random(40), rng.random(40)
    with mock.patch.object(module, "chunks", lambda n: dispatch.chunks(n, 7)):
        in_chunks = cell_sums(y, p, w)
    np.testing.assert_allclose(in_chunks, cell_sums(y, p, w), rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unit", "weighted"])
def test_fast_body_equals_reference(require, dtype, weighted):
    require("numba")
    rng = np.random.default_rng(1)
    edges = grid_edges()[1:].astype(dtype)
    one, zero, tiny = np.ones((), dtype), np.zeros((), dtype), 2.0 ** -rng.uniform(0, 30, 2000)
    near = [edges, np.nextafter(edges, one), np.nextafter(edges, zero)]
    p = np.concatenate([[0.0, 1.0], *near, rng.random(5000), tiny, 1 - tiny]).astype(dtype)
    y = rng.integers(0, 2, p.size).astype(np.uint8)
    w = rng.random(p.size) + 0.5 if weighted else unit_weights(p.size)
    with mock.patch.object(module, "FAST_CHUNK", 2999):  # several threads, and a last chunk that is not full
        fast = module._fast(y, p, w)
    reference = module._reference(y, p, w)
    np.testing.assert_array_equal(fast[0], reference[0])
    np.testing.assert_allclose(fast, reference, rtol=1e-12)


@given(rows, st.sampled_from(DTYPES), st.booleans())
def test_fast_body_equals_reference_for_any_rows(require, drawn, dtype, weighted):
    require("numba")
    y, p, w = arrays(drawn * 40, dtype, weighted)  # more than one block of the compiled loop
    fast, reference = module._fast(y, p, w), module._reference(y, p, w)
    np.testing.assert_array_equal(fast[0], reference[0])
    np.testing.assert_allclose(fast, reference, rtol=1e-12, atol=1e-300)


def test_fast_body_at_the_borders(require):
    require("numba")
    p, y = np.linspace(0, 1, 40)[::-2], np.arange(40, dtype=np.uint8)[::2] % 3 % 2  # not contiguous
    np.testing.assert_allclose(module._fast(y, p, p + 1), module._reference(y, p, p + 1), rtol=1e-12)
    for zero in (0.0, -0.0):  # of either sign, in the first cell
        y, p = np.zeros(200, np.uint8), np.full(200, zero)
        assert module._fast(y, p, unit_weights(200))[0].nonzero()[0].tolist() == [0]


@pytest.mark.parametrize("weights", [unit_weights(0), np.zeros(0)], ids=["unit", "weighted"])
def test_no_rows(require, weights):
    """Rows that predict a class which is never predicted."""
    require("numba")
    for body in (module._fast, module._reference):
        with mock.patch.object(module, "takes_fast_body", return_value=body is module._fast):
            assert not cell_sums(np.zeros(0, np.uint8), np.zeros(0), weights).any()


@pytest.mark.parametrize(("enough", "body"), [(True, "_fast"), (False, "_reference")])
def test_dispatch_decides_which_body_runs(enough, body):
    ran = np.zeros((8, 2 * (grid_edges().size - 1)))
    with (
        mock.patch.object(module, "takes_fast_body", return_value=enough),
        mock.patch.object(module, body, return_value=ran) as called,
    ):
        cell_sums(np.zeros(3, np.uint8), np.zeros(3), unit_weights(3))
    called.assert_called_once()


class TestPieces:
    @given(
        cuts=st.lists(st.integers(0, 300), max_size=5).map(sorted),
        dtype=st.sampled_from(DTYPES),
        chunk=st.sampled_from([7, 64, 1000]),
    )
    @example(cuts=[], dtype="float64", chunk=64)
    @example(cuts=[0, 64, 64, 128, 300], dtype="float64", chunk=64)
    def test_the_same_bits_wherever_they_are_cut(self, require, cuts, dtype, chunk):
        require("numba")
        rng = np.random.default_rng(3)
        p = rng.beta(0.3, 0.3, 300).astype(dtype)
        y = (rng.random(300) < p).astype(np.uint8)
        ends = [0, *cuts, 300]
        pieces = (UnitRows(y[a:b], p[a:b]) for a, b in pairwise(ends))
        with mock.patch.object(dispatch, "FAST_ROWS", 1), mock.patch.object(module, "FAST_CHUNK", chunk):
            assert cell_sums_of_pieces(pieces).tolist() == cell_sums(y, p, unit_weights(300)).tolist()

    @pytest.mark.parametrize("n", [1, 7, 64, 73, 136, 1030])
    def test_rows_that_are_not_legal(self, require, n):
        """Wherever such a row is among those that are looked at together, or after them."""
        require("numba")
        y, p = np.ones(n, np.uint8), np.full(n, 0.25)
        assert cell_sums_of_pieces([UnitRows(y, p)]).tolist() == cell_sums(y, p, unit_weights(n)).tolist()
        for j in range(n) if n < 1000 else (0, 1023, 1024, 1029):
            for bad in (np.nan, -0.1, -5e-324, np.nextafter(1, 2), np.inf, -np.inf, 1e300):
                spoilt = p.copy()
                spoilt[j] = bad
                assert cell_sums_of_pieces([UnitRows(y, spoilt)]) is None
            for bad in (2, 128, 255):
                spoilt = y.copy()
                spoilt[j] = bad
                assert cell_sums_of_pieces([UnitRows(spoilt, p)]) is None
