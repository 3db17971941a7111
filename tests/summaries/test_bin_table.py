"""Columns of a table of bins by hand."""

import numpy as np
import pytest

from calibrant.inputs import read_binary
from calibrant.summaries import Grid, Ordered
from calibrant.summaries.binned import bin_table

# Two of four bins hold rows: (0, 0.25] has p 0.125 (w 1, y 0) and 0.25 (w 3, y 1); (0.75, 1] has p 1 (w 2, y 1).
ROWS = read_binary([0, 1, 1], [0.125, 0.25, 1.0], verb="a test", weights=[1, 3, 2])


@pytest.fixture(params=[Grid, Ordered], ids=lambda kind: kind.__name__)
def table(request):
    return bin_table(request.param.of(ROWS), bins=4, strategy="width")


def test_edges(table):
    assert table.lower.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert table.upper.tolist() == [0.25, 0.5, 0.75, 1.0]


def test_sums(table):
    assert table.count.tolist() == [2, 0, 0, 1]
    assert table.count.dtype == np.int64
    assert table.w.tolist() == [4.0, 0.0, 0.0, 2.0]
    assert table.w2.tolist() == [10.0, 0.0, 0.0, 4.0]
    assert table.wp.tolist() == [0.125 + 0.75, 0.0, 0.0, 2.0]
    assert table.wy.tolist() == [3.0, 0.0, 0.0, 2.0]
    assert table.w2v.tolist() == [0.109375 + 9 * 0.1875, 0.0, 0.0, 0.0]
    assert table.w2r2.tolist() == [0.015625 + 9 * 0.5625, 0.0, 0.0, 0.0]
    assert table.w2v2.tolist() == [0.109375**2 + 9 * 0.1875**2, 0.0, 0.0, 0.0]


def test_rise_and_fall(table):
    # Within (0, 0.25] the event raises Σwr by 3 · 0.75, the other row lowers it by 0.125.
    assert table.rise.tolist() == [2.25, 0.0, 0.0, 0.0]
    assert table.fall.tolist() == [0.125, 0.0, 0.0, 0.0]


def test_means_are_nan_where_there_are_no_rows(table):
    np.testing.assert_array_equal(table.mean_predicted, [0.875 / 4, np.nan, np.nan, 1.0])
    np.testing.assert_array_equal(table.mean_observed, [0.75, np.nan, np.nan, 1.0])


def test_shares_and_gaps(table):
    assert table.share.tolist() == [4 / 6, 0.0, 0.0, 2 / 6]
    assert table.gap.tolist() == [0.75 - 0.875 / 4, 0.0, 0.0, 0.0]


def test_event_spread(table):
    # Around 1/2 every row has the square 1/4; around 0 only events count: w²y = 9 and 4.
    assert table.event_spread(np.full(4, 0.5)).tolist() == [2.5, 0.0, 0.0, 1.0]
    assert table.event_spread(np.zeros(4)).tolist() == [9.0, 0.0, 0.0, 4.0]
