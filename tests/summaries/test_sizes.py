"""Sizes in order, with how many rows are covered."""

import numpy as np
import pytest

from calibrant import Intervals, NotApplicableError, Sets, SummaryError
from calibrant.inputs.judged import read_judged
from calibrant.inputs.weights import is_unit
from calibrant.summaries import Summary
from calibrant.summaries.sizes import Sizes


def of(y, prediction, weights=None):
    return Sizes.of(read_judged(y, prediction, weights=weights))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    lower = rng.integers(-40, 0, (60, 2)) / 8
    upper = lower + rng.integers(0, 20, (60, 2)) / 8
    upper[:3, 1] = np.inf
    return rng.integers(-40, 20, 60) / 8, Intervals(lower, upper, [0.5, 0.9])


def test_by_hand():
    found = of([0.5, 5.0, 0.5, 0.5], Intervals([0.0, 0.0, -1.0, 0.0], [1.0, 1.0, 1.0, np.inf], 0.9))
    table = found.tied(0)
    assert table.size.tolist() == [1.0, 2.0, np.inf]
    assert table.rows.tolist() == [2, 1, 1]
    assert table.hits.tolist() == [1, 1, 1]
    assert table.weight.dtype == table.hit_weight.dtype == np.int64
    assert (found.n, found.L, found.level(0)) == (4, 1, 0.9)


def test_weights():
    found = of([0.5, 5.0, 0.5], Intervals([0.0, 0.0, -1.0], [1.0, 1.0, 1.0], 0.9), [2.0, 3.0, 0.5]).tied(0)
    assert found.rows.tolist() == [2, 1]
    assert found.weight.tolist() == [5.0, 0.5]
    assert found.hit_weight.tolist() == [2.0, 0.5]


def test_widths_that_differ_by_rounding_are_one():
    centre = np.random.default_rng(0).normal(0, 10, 500)
    found = of(centre, Intervals(centre - 0.1, centre + 0.1, 0.9))
    assert found.parts[0].score.size > 1
    assert found.tied(0).rows.tolist() == [500]


def test_a_level_does_not_see_the_bounds_of_another():
    lower, upper = np.array([[0.0, -1e20], [0.0, 0.0]]), np.array([[1.0, 1.0], [1.001, 1.0]])
    found = of([0.5, 0.5], Intervals(lower, upper, [0.5, 0.9]))
    assert found.tied(0).size.tolist() == [1.0, 1.001]


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_add_up(drawn, weighted):
    y, intervals = drawn
    w = np.random.default_rng(1).integers(1, 4, 60) / 2 if weighted else None
    whole = of(y, intervals, w)
    cuts = [np.arange(0, 7), np.arange(7, 8), np.arange(8, 60)]
    parts = [of(y[rows], intervals.take(rows), None if w is None else w[rows]) for rows in cuts]
    assert sum(parts) == whole
    assert parts[2] + parts[0] + parts[1] == whole
    assert Sizes.zero() + whole == whole + Sizes.zero() == whole
    back = Summary.from_bytes(whole.to_bytes())
    assert back == whole
    assert is_unit(back.parts[0].weight) is not weighted
    assert Summary.from_bytes(Sizes.zero().to_bytes()) == Sizes.zero()


def test_row_order_does_not_matter(drawn):
    y, intervals = drawn
    order = np.random.default_rng(2).permutation(60)
    assert of(y[order], intervals.take(order)) == of(y, intervals)


def test_a_chunk_of_float32_brings_its_rounding_along():
    bounds = np.array([0.0, 0.1]), np.array([1.0, 1.1])
    single = of([0.5, 0.5], Intervals(*(b.astype("float32") for b in bounds), 0.9))
    double = of([0.5, 0.5], Intervals(*bounds, 0.9))
    assert (single + double).eps == single.eps > double.eps
    assert (single + double).tied(0).rows.tolist() == [4]


def test_what_does_not_merge(drawn, refusal):
    y, intervals = drawn
    whole, other = of(y, intervals), of(y, intervals.at(0.9))
    assert "Intervals at level 0.5, 0.9 do not merge with sizes of Intervals at level 0.9" in refusal(
        lambda: whole + other, error=SummaryError
    )
    mask = np.ones((2, 3), bool)
    three = of([0, 1], Sets(mask))
    assert "Sets of 3 labels with 1 columns without a level" in refusal(lambda: three + whole, error=SummaryError)
    assert "do not merge" in refusal(lambda: three + of([0], Sets(np.ones((1, 4), bool))), error=SummaryError)
    assert "no level" in refusal(lambda: three.level(0), error=NotApplicableError)


def test_damaged_bytes_are_refused(drawn, refusal):
    whole = of(*drawn)
    broken = Sizes.__new__(Sizes)
    for name in ("kind", "K", "levels", "single", "eps", "largest"):
        object.__setattr__(broken, name, getattr(whole, name))
    object.__setattr__(broken, "parts", whole.parts[:1])
    assert "one per level" in refusal(Summary.from_bytes, broken.to_bytes(), error=SummaryError)
