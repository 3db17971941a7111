"""Which summary holds which bins, and the rules that choose a number of bins."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calibrant import ece, reliability_curve, summarize
from calibrant.core import binned
from calibrant.core.binned import LabelBins, bin_table, summarise_bins
from calibrant.core.grid import Grid
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.errors import SummaryError
from calibrant.inputs.options import check_bins
from calibrant.inputs.probabilities import read_binary, read_probabilities


def rows(y, p, weights=None):
    return read_binary(y, p, verb="a test", weights=weights)


def bins_of(y, p, weights=None, **options):
    """Return how many bins there are."""
    return bin_table(Ordered.of(rows(y, p, weights)), strategy="mass", **options).count.size


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        *((bins, None) for bins in (1, 15, 10**6, np.int64(3), "sweep", "cube-root")),
        (0, "bins must be at least 1; got 0"),
        (-1, "bins must be at least 1; got -1"),
        *((bins, "bins must be a whole number") for bins in (2.0, True, None, [0, 0.5, 1])),
        ("fd", 'bins must be a whole number, "auto", "cube-root" or "sweep"; got \'fd\''),
    ],
    ids=str,
)
def test_numbers_of_bins(bins, words, refusal):
    if words is None:
        check_bins(bins)
    else:
        assert refusal(check_bins, bins).startswith(words)


class TestSummary:
    @pytest.mark.parametrize(
        ("bins", "strategy", "kind"),
        [
            (15, "width", Grid),
            (100, "width", Grid),
            (101, "width", Ordered),
            (15, "mass", Ordered),
            ("sweep", "width", Ordered),
            ("cube-root", "width", Ordered),
        ],
    )
    def test_the_smallest_that_holds_the_bins(self, bins, strategy, kind):
        assert type(summarise_bins(rows([0, 1], [0.2, 0.7]), bins=bins, strategy=strategy)) is kind

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0.1, 10)), min_size=1, max_size=30),
        st.integers(1, 100),
    )
    def test_grid_and_ordered_hold_the_same_bins(self, drawn, m):
        data = rows(*zip(*drawn, strict=True))
        a, b = (bin_table(kind.of(data), bins=m, strategy="width") for kind in (Grid, Ordered))
        np.testing.assert_array_equal(a.count, b.count)
        np.testing.assert_allclose(a.sums, b.sums, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(a.edges, b.edges)

    @pytest.mark.parametrize(("bins", "strategy"), [(15, "mass"), ("sweep", "width"), ("cube-root", "mass")])
    def test_a_grid_refuses_mass_bins(self, refusal, bins, strategy):
        grid = summarize(ece, [0, 1], [0.2, 0.7])
        assert "a Grid has width bins only" in refusal(ece, grid, bins=bins, strategy=strategy, error=SummaryError)

    def test_other_summaries_hold_no_bins(self, refusal):
        message = refusal(bin_table, Moments.zero(), bins=2, strategy="width", error=SummaryError)
        assert message.startswith("bins need a Grid or an Ordered")
        assert message.endswith("Moments")


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 26, 27, 28, 63, 64, 65, 124, 125, 126, 1000, 1001])
def test_the_cube_root_is_rounded_up(n):
    root = next(m for m in range(1, n + 1) if m**3 >= n)
    assert bins_of(np.zeros(n, int), np.arange(1, n + 1) / n, bins="cube-root") == root


def by_definition(y, p, weights=None):
    """Return the largest m for which 2, 3, .., m mass bins have non-decreasing observed means."""
    summary = Ordered.of(rows(y, p, weights))
    for m in range(2, len(y) + 1):
        means = bin_table(summary, bins=m, strategy="mass").mean_observed
        if (np.diff(means) < -1e-12).any():
            return m - 1
    return len(y)


class TestSweep:
    def test_by_hand(self):
        # Two bins: means 1/2 and 1. Three bins of two rows: 0, 1, 1. Four: {0.1, 0.2}, {0.3}, {0.4, 0.5}, {0.6} with
        # means 0, 1, 1, 1. Five: ends at c >= 6/5, 12/5, 18/5, 24/5: {0.1, 0.2}, {0.3}, {0.4}, {0.5}, {0.6}.
        assert bins_of([0, 0, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], bins="sweep") == 6
        # Two bins of two rows: means 1/2, 1/2. Three: {0.1, 0.2}, {0.3}, {0.4} with means 1/2, 1, 0, so m = 2.
        assert bins_of([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], bins="sweep") == 2

        assert bins_of([1, 0], [0.2, 0.7], bins="sweep") == 1  # outcomes that fall

    def test_reference(self, D1):
        assert bins_of(*D1, bins="sweep") == 7

    @given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=1, max_size=20))
    @example([(1, 0), (0, 0), (1, 2), (0, 3), (1, 4), (1, 4), (1, 5)])
    def test_definition(self, drawn):
        # Zeros never have a bin of their own: an edge at 0 is the outer one.
        y, p = np.array(drawn).T
        m = by_definition(y, p / 8)
        assert ece(y, p / 8, bins="sweep") == pytest.approx(ece(y, p / 8, bins=m, strategy="mass"), abs=1e-12)

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), min_size=1, max_size=30),
        st.sampled_from([0.1, 1 / 3, 0.7, 3.0]),
    )
    def test_a_common_factor_of_the_weights_changes_nothing(self, drawn, factor):
        y, p = np.array(drawn).T
        assert bins_of(y, p / 30, np.full(len(y), factor), bins="sweep") == bins_of(y, p / 30, bins="sweep")

    def test_equal_weights_of_a_tenth(self):
        # The same, found once: bin means of 1 computed from sums of 0.1 must not look like a fall.
        y, p = [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1], [0.9, 0.13, 0.88, 0.01, 0.4, 0.43, 0.78, 0.9, 0.94, 0.66, 0.91]
        curves = [reliability_curve(y, p, bins="sweep", weights=weights) for weights in (None, [0.1] * 11)]
        assert curves[0].count.tolist() == curves[1].count.tolist()


class TestLabelBins:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(6), 300)
    y = rng.integers(0, 6, 300)

    @pytest.mark.parametrize("notion", ["classwise", "top-label"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_are_the_bins_of_each_binary_problem(self, notion, weighted, dtype, monkeypatch):
        w = np.linspace(0.5, 2, 300) if weighted else None
        data = read_probabilities(self.y, self.P.astype(dtype), weights=w)
        parts = [data.one_vs_rest(k) for k in range(6)] if notion == "classwise" else data.by_predicted_label()
        expected = np.stack([Grid.of(part).bins(10).sums for part in parts], axis=1)
        found = LabelBins.of(data, notion, 10)
        assert (found.n, found.labels, found.bins) == (300, 6, 10)
        np.testing.assert_allclose(found.sums, expected, rtol=1e-12, atol=1e-12)
        monkeypatch.setattr(binned, "MAX_ROWS_ALONE", 100)
        np.testing.assert_allclose(LabelBins.of(data, notion, 10).sums, expected, rtol=1e-12, atol=1e-12)

    def test_batches_add_up(self):
        options = {"notion": "top-label", "bins": 7}
        parts = [summarize(ece, self.y[part], self.P[part], **options) for part in (slice(100), slice(100, None))]
        assert ece(sum(parts), **options) == pytest.approx(ece(self.y, self.P, **options), rel=1e-12)

    def test_other_bins_are_refused(self, refusal):
        summary = summarize(ece, self.y, self.P, notion="classwise", bins=7)
        message = refusal(ece, summary, notion="classwise", error=SummaryError)
        assert "this summary has 7 width bins of each label; got bins=15" in message
        assert "7 width bins" in refusal(ece, summary, notion="classwise", bins=7, strategy="mass", error=SummaryError)
        other = summarize(ece, self.y, self.P, notion="classwise")
        words = "a classwise summary of 6 labels and 7 bins does not merge with a classwise summary of 6 labels and 15"
        assert words in refusal(lambda: summary + other, error=SummaryError)

    def test_memory_does_not_grow_by_a_grid_for_each_label(self):
        # A Grid takes 365 kB; these bins take 1.3 kB for each of 5,000 labels.
        K = 5000
        data = read_probabilities(np.arange(20), np.full((20, K), 1 / K))
        tracemalloc.start()
        summary = LabelBins.of(data, "classwise", 15)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert summary.labels == K
        assert peak < 100e6
