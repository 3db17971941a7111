"""Cumulative differences, by hand and by a loop."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import cumulative_differences, summarize
from calibrant.catalogue import find


def test_by_hand():
    # Residuals -1/4 at 0.25, 1/2 and -1/2 at 0.5 (tied), -1 at 1; four rows.
    curve = cumulative_differences([0, 1, 0, 0], [0.25, 0.5, 0.5, 1.0])
    assert curve.abscissa.tolist() == [0.0, 0.25, 0.75, 1.0]
    assert curve.difference.tolist() == [0.0, -1 / 16, -1 / 16, -5 / 16]
    np.testing.assert_array_equal(curve.score, [np.nan, 0.25, 0.5, 1.0])
    assert curve.scale == pytest.approx(math.sqrt(3 / 16 + 1 / 4 + 1 / 4) / 4)
    assert (curve.kind, curve.n) == ("cumulative", 4)


def test_weights_by_hand():
    # Weights 1, 3: W = 4; w²v = 3/16 + 9 * 3/16.
    curve = cumulative_differences([0, 1], [0.25, 0.75], weights=[1, 3])
    assert curve.abscissa.tolist() == [0.0, 0.25, 1.0]
    assert curve.difference.tolist() == [0.0, -1 / 16, 2 / 16]
    assert curve.scale == pytest.approx(math.sqrt(30 / 16) / 4)


def test_one_row():
    curve = cumulative_differences([1], [0.25])
    assert (curve.abscissa.tolist(), curve.difference.tolist()) == ([0.0, 1.0], [0.0, 0.75])


def test_row_order_does_not_matter():
    y, p = np.array([0, 1, 1, 0]), np.array([0.5, 0.5, 0.25, 0.5])
    expected = cumulative_differences(y, p).difference.tolist()
    for order in itertools.permutations(range(4)):
        assert cumulative_differences(y[list(order)], p[list(order)]).difference.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8), st.floats(0.1, 9)), min_size=1, max_size=30))
def test_loop(drawn):
    rows = [(p / 8, y, w) for y, p, w in drawn]
    total = sum(w for *_, w in rows)
    curve = cumulative_differences(*zip(*[(y, p) for p, y, _ in rows], strict=True), weights=[w for *_, w in rows])
    for g, score in enumerate(sorted({p for p, *_ in rows}), start=1):
        until = [(p, y, w) for p, y, w in rows if p <= score]
        assert curve.score[g] == score
        assert curve.abscissa[g] == pytest.approx(sum(w for *_, w in until) / total, abs=1e-12)
        assert curve.difference[g] == pytest.approx(sum(w * (y - p) for p, y, w in until) / total, abs=1e-12)
    assert curve.scale == pytest.approx(math.sqrt(sum(w * w * p * (1 - p) for p, _, w in rows)) / total, abs=1e-12)


def test_refuses_a_matrix(refusal, D2):
    assert "top_label(y, P)" in refusal(cumulative_differences, *D2)


def test_of_a_grid_by_hand():
    # 0.501 and 0.503 share a cell; in it C can rise by 0.497/4 at most and fall by 0.501/4.
    grid = summarize("ece", [0, 1, 0, 1], [0.25, 0.503, 0.501, 1.0])
    curve = cumulative_differences(grid)
    assert curve.abscissa.tolist() == [0.0, 0.25, 0.75, 1.0]
    np.testing.assert_allclose(curve.difference, [0.0, -0.0625, -0.0635, -0.0635], rtol=1e-13)
    np.testing.assert_allclose(curve.score, [np.nan, 0.25, 0.502, 1.0], rtol=1e-14)
    assert find("cumulative_differences").rounding(grid)["difference"] == pytest.approx(0.501 / 4)
