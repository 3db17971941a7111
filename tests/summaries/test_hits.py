"""Which rows hit, in their order."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import Summary, SummaryError
from calibrant.summaries.hits import Hits

COVERED = np.array([[True, True], [False, True], [False, False]])
LEVELS = np.array([0.5, 0.9])


def of(rows=slice(None), series=None, names=("",)):
    code = None if series is None else np.array(series)[rows]
    return Hits.of(COVERED[rows], LEVELS, "Intervals", code, names)


def test_rows_stay_in_order():
    found = of()
    assert found.hits.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert found.hits.dtype == np.int64
    assert (found.n, found.kind, found.levels.tolist()) == (3, "Intervals", [0.5, 0.9])
    assert found.series.tolist() == [0, 0, 0]
    assert repr(found) == "Hits(n=3)"
    assert not found.hits.flags.writeable


def test_merging_is_one_after_the_other():
    for cut in (1, 2):
        assert of(slice(0, cut)) + of(slice(cut, 3)) == of()
    assert of(slice(1, 3)) + of(slice(0, 1)) != of()


def test_series_are_matched_by_name():
    first = Hits.of(COVERED[:2], LEVELS, "Intervals", np.array([0, 1]), ("a", "b"))
    second = Hits.of(COVERED[2:], LEVELS, "Intervals", np.array([1]), ("0", "a"))
    total = first + second
    assert [total.names[k] for k in total.series] == ["a", "b", "a"]
    assert total.names == ("0", "a", "b")


def test_zero_and_bytes():
    zero = Hits.zero()
    assert zero.n == 0
    assert zero + of() == of() + zero == of()
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())
    named = Hits.of(COVERED, LEVELS, "Sets", np.array([0, 1, 0]), (3, "b"))
    assert Summary.from_bytes(named.to_bytes()) == named


def test_refusals():
    with pytest.raises(SummaryError, match="do not merge"):
        of() + replace(of(), kind="Sets")
    with pytest.raises(SummaryError, match="do not merge"):
        of() + replace(of(), levels=np.array([0.5, 0.8]))
    with pytest.raises(SummaryError, match="weight 1 do not merge with hits of weight 5"):
        of() + replace(of(), weight=5.0)
    with pytest.raises(SummaryError, match="one row per"):
        replace(of(), series=np.zeros(2, np.int64))
