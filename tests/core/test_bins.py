"""Edges: correctly rounded, the same bin in every precision, and tied scores never split."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ece
from calibrant.core.binned import bin_table
from calibrant.core.bins import bin_of, grid_edges, grid_starts, grid_uppers, joined_edges, mass_edges, width_edges
from calibrant.core.grid import Grid
from calibrant.core.ordered import Ordered
from calibrant.inputs.probabilities import read_binary

DTYPES = ["float16", "float32", "float64"]


def rows_per_bin(kind, p, m):
    """Return how many scores fall into each of m width bins, as a kind of summary sees them."""
    summary = kind.of(read_binary(np.zeros(len(p), int), p, verb="a test"))
    return bin_table(summary, bins=m, strategy="width").count.tolist()


class TestWidth:
    def test_edges_are_the_decimals(self):
        # linspace(0, 1, 11)[3] is 0.30000000000000004.
        assert width_edges(10).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]

    @pytest.mark.parametrize("m", range(1, 101))
    def test_edges_are_correctly_rounded_quotients(self, m):
        assert width_edges(m).tolist() == [float(Fraction(k, m)) for k in range(m + 1)]

    @pytest.mark.parametrize("kind", [Grid, Ordered])
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("m", [1, 2, 3, 7, 10, 15, 100])
    def test_a_score_on_an_edge_belongs_to_the_bin_below(self, m, dtype, kind):
        assert rows_per_bin(kind, (np.arange(1, m + 1) / m).astype(dtype), m) == [1] * m

    @pytest.mark.parametrize("kind", [Grid, Ordered])
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("m", [2, 3, 10, 15])
    def test_the_next_number_belongs_to_the_bin_above(self, m, dtype, kind):
        lower = (np.arange(m) / m).astype(dtype)
        assert rows_per_bin(kind, np.nextafter(lower, np.ones((), dtype)), m) == [1] * m
        assert rows_per_bin(kind, np.append(lower[1:], lower[1:]), m) == [2] * (m - 1) + [0]

    @pytest.mark.parametrize("m", [1, 2, 10])
    def test_zero_belongs_to_the_first_and_one_to_the_last(self, m):
        assert bin_of(np.array([0.0, 1.0]), width_edges(m)).tolist() == [0, m - 1]

    def test_edges_are_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            width_edges(4)[0] = 1


class TestGrid:
    def test_holds_every_fraction_up_to_order_100_once(self):
        fractions = sorted({Fraction(k, m) for m in range(1, 101) for k in range(m + 1)})
        edges = grid_edges()[(grid_edges() >= 0.01) & (grid_edges() <= 0.99)]
        assert [0.0, *edges.tolist(), 1.0] == [float(fraction) for fraction in fractions]

    def test_cells_are_finer_and_finer_near_0_and_1(self):
        near_zero = grid_edges()[(grid_edges() > 0) & (grid_edges() < 0.01)].tolist()
        parts = [Fraction(32 + j, 32) * Fraction(1, 2**k) for k in range(24, 6, -1) for j in range(32)]
        assert near_zero == [float(part) for part in parts if part < Fraction(1, 100)]
        assert grid_edges()[grid_edges() > 0.99].tolist() == [1 - edge for edge in [*near_zero[::-1], 0.0]]
        assert grid_edges().size == 4151

    @pytest.mark.parametrize("m", [1, 2, 3, 10, 15, 97, 100])
    def test_starts_are_the_edges_of_width_bins(self, m):
        assert grid_edges()[grid_starts(m)].tolist() == width_edges(m)[:-1].tolist()

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_uppers_are_rounded_to_the_precision(self, dtype):
        uppers = grid_uppers(dtype)
        assert uppers.tolist() == grid_edges()[1:].astype(dtype).astype(float).tolist()
        assert uppers[-1] == 1.0


def slow_mass_edges(score, weights, m):
    """Return the edges by the definition, in exact arithmetic: the first score with m c >= k W, duplicates dropped."""
    cumulative = [sum(weights[: i + 1]) for i in range(len(weights))]
    inner = {next(i for i, c in enumerate(cumulative) if m * c >= k * cumulative[-1]) for k in range(1, m)}
    return [0.0, *(score[i] for i in sorted(inner) if i < len(weights) - 1), 1.0]


class TestMass:
    def assert_definition(self, weights, m, floats):
        score = np.arange(1, len(weights) + 1) / (len(weights) + 1)
        assert mass_edges(score, np.array(floats), m).tolist() == slow_mass_edges(score.tolist(), weights, m)

    @given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 40))
    def test_counts_follow_the_definition(self, counts, m):
        self.assert_definition(counts, m, counts)

    @given(
        st.lists(st.integers(1, 9), min_size=1, max_size=30),
        st.integers(1, 40),
        st.sampled_from([0.1, 1 / 3, 0.7, 1e-3, 123.456]),
    )
    def test_a_common_factor_of_the_weights_moves_no_edge(self, counts, m, factor):
        # The rounding of a cumulative weight must not decide: 0.1 + 0.1 + 0.1 > 3 * 0.1.
        self.assert_definition(counts, m, [count * factor for count in counts])

    @given(st.lists(st.fractions(Fraction(1, 64), 8, max_denominator=64), min_size=1, max_size=20), st.integers(1, 20))
    def test_unequal_weights_follow_the_definition(self, weights, m):
        self.assert_definition(weights, m, [float(weight) for weight in weights])

    @pytest.mark.parametrize(
        ("score", "weight", "m", "edges"),
        [
            # Six rows, three bins of two: {0.1, 0.2}, {0.3, 0.4}, {0.5, 0.6}; the largest score is no inner edge.
            ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1] * 6, 3, [0.0, 0.2, 0.4, 1.0]),
            ([0.25, 0.5], [1, 1], 100, [0.0, 0.25, 1.0]),  # more bins than rows
            ([0.25], [7], 3, [0.0, 1.0]),
            ([0.5, 0.75], [5, 1], 3, [0.0, 0.5, 1.0]),  # the five rows of 0.5 end the first and the second of three
            ([0.0, 0.5, 1.0], [2, 2, 2], 3, [0.0, 0.0, 0.5, 1.0]),  # scores of 0 that fill a bin are one
            ([0.0, 0.5, 1.0], [1, 3, 2], 3, [0.0, 0.5, 1.0]),  # and share it where they do not
        ],
    )
    def test_edges_by_hand(self, score, weight, m, edges):
        assert mass_edges(np.array(score), np.array(weight), m).tolist() == edges

    def test_the_bin_of_zero(self):
        edges = np.array([0.0, 0.0, 0.5, 1.0])
        assert bin_of(np.array([-0.0, 0.0, 5e-324, 0.5, 1.0]), edges).tolist() == [0, 0, 1, 1, 2]

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("weights", [None, [0.3] * 8], ids=["unit", "weighted"])
    def test_no_row_of_zero_shares_a_bin_with_others(self, dtype, weights):
        rows = read_binary(
            [0, 0, 1, 0, 0, 1, 0, 1],
            np.array([0, -0.0, 0, 0, 0.1, 0.2, 0.3, 0.4], dtype),
            weights=weights,
            verb="a test",
        )
        table = bin_table(Ordered.of(rows), bins=4, strategy="mass")
        assert table.count.tolist() == [4, 2, 2]
        assert table.upper.tolist() == [0.0, float(np.array(0.2, dtype)), 1.0]

    @pytest.mark.parametrize("bins", [2, "cube-root"])
    def test_by_hand(self, bins):
        # Two events in four rows of 0, none in two rows of 1: 2/3 · 1/2 + 1/3 · 1.
        found = ece([1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1.0, 1.0], bins=bins, strategy="mass")
        assert found == pytest.approx(2 / 3, rel=1e-15)

    def test_a_sweep_sees_the_bin_of_zero(self):
        # Two bins have the frequencies 2/4 and 1/4, which fall, so that all rows are one bin.
        found = ece([1, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0.1, 0.2, 0.3, 0.9], bins="sweep")
        assert found == pytest.approx(3 / 8 - 1.5 / 8, rel=1e-14)

    def test_joined_edges_keep_the_bin_of_zero(self):
        assert joined_edges(np.array([0.0, 0.0, 0.4, 1.0]), width_edges(2)).tolist() == [0.0, 0.0, 0.4, 0.5, 1.0]
        assert joined_edges(np.array([0.0, 0.4, 1.0]), width_edges(2)).tolist() == [0.0, 0.4, 0.5, 1.0]

    def test_redraws_on_cells_keep_the_bin_of_zero(self):
        p = np.concatenate([np.zeros(50), np.linspace(0.01, 0.99, 50)])
        cells = Ordered.of(read_binary(np.zeros(100, int), p, verb="a test")).at_most(10, width_bins=2)
        assert (cells.score[0], cells.count[0]) == (0.0, 50)
        assert cells.score[1] > 0


# Two of four bins hold rows: (0, 0.25] has p 0.125 (w 1, y 0) and 0.25 (w 3, y 1); (0.75, 1] has p 1 (w 2, y 1).
ROWS = read_binary([0, 1, 1], [0.125, 0.25, 1.0], verb="a test", weights=[1, 3, 2])


@pytest.fixture(params=[Grid, Ordered], ids=lambda kind: kind.__name__)
def table(request):
    return bin_table(request.param.of(ROWS), bins=4, strategy="width")


def test_edges_and_sums(table):
    assert table.lower.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert table.upper.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert table.count.dtype == np.int64
    first = {"count": 2, "w": 4.0, "w2": 10.0, "wp": 0.125 + 0.75, "wy": 3.0, "w2v": 0.109375 + 9 * 0.1875}
    first |= {"w2r2": 0.015625 + 9 * 0.5625, "w2v2": 0.109375**2 + 9 * 0.1875**2}
    last = {"count": 1, "w": 2.0, "w2": 4.0, "wp": 2.0, "wy": 2.0, "w2v": 0.0, "w2r2": 0.0, "w2v2": 0.0}
    for name, value in first.items():
        assert getattr(table, name).tolist() == [value, 0, 0, last[name]], name


def test_rise_and_fall(table):
    # Within (0, 0.25] the event raises Σwr by 3 · 0.75, the other row lowers it by 0.125.
    assert table.rise.tolist() == [2.25, 0.0, 0.0, 0.0]
    assert table.fall.tolist() == [0.125, 0.0, 0.0, 0.0]


def test_means_shares_and_gaps(table):
    np.testing.assert_array_equal(table.mean_predicted, [0.875 / 4, np.nan, np.nan, 1.0])
    np.testing.assert_array_equal(table.mean_observed, [0.75, np.nan, np.nan, 1.0])
    assert table.share.tolist() == [4 / 6, 0.0, 0.0, 2 / 6]
    assert table.gap.tolist() == [0.75 - 0.875 / 4, 0.0, 0.0, 0.0]


def test_event_spread(table):
    # Around 1/2 every row has the square 1/4; around 0 only events count: w²y = 9 and 4.
    assert table.event_spread(np.full(4, 0.5)).tolist() == [2.5, 0.0, 0.0, 1.0]
    assert table.event_spread(np.zeros(4)).tolist() == [9.0, 0.0, 0.0, 4.0]
