"""Where intervals, sets or quantiles lie and whether they held the outcome, row by row."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from calibrant import Intervals, Quantiles, Sets, Summary, SummaryError, skce, skce_test, summarize
from calibrant.inputs.judged import read_judged
from calibrant.inputs.weights import is_unit
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.summaries import KeptCoverage

RNG = np.random.default_rng(0)
n = 12
CENTRE = RNG.normal(size=n)
Y = CENTRE + RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)
LEVELS = [0.9, 0.5]
MASK = RNG.random((n, 3)) < 0.6
CASES = {
    "intervals": (Y, Intervals(CENTRE - 1, CENTRE + 1.5, 0.8)),
    "two levels": (Y, Intervals(CENTRE[:, None] - [2, 1], CENTRE[:, None] + [2, 1], LEVELS)),
    "sets": (RNG.integers(0, 3, n), Sets(MASK, 0.8)),
    "quantiles": (Y, Quantiles(CENTRE[:, None] + [-1, 0, 1], [0.1, 0.5, 0.9])),
}


def of(name, rows=slice(None), weights=None):
    y, prediction = CASES[name]
    w = None if weights is None else weights[rows]
    return KeptCoverage.of(CoverageRows.of(read_judged(y[rows], prediction.take(rows), weights=w)))


def test_fields():
    found = of("two levels", weights=W)
    assert found.points.shape == (n, 2, 2)
    np.testing.assert_array_equal(found.points[:, 1], np.column_stack([CENTRE - 1, CENTRE + 1]))
    np.testing.assert_allclose(found.e[:, 0], (np.abs(Y - CENTRE) <= 2) - 0.9)
    assert found.levels.tolist() == LEVELS
    assert (found.kind, of("sets").kind, of("quantiles").kind) == ("Intervals", "Sets", "Quantiles")
    np.testing.assert_array_equal(found.w, W)
    assert found.n == found.rows.n == n
    assert repr(found) == "KeptCoverage(n=12)"


def test_the_verbs_make_it():
    for verb in (skce, skce_test):
        assert summarize(verb, *CASES["sets"]) == of("sets")


@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_merging_is_one_after_the_other(name, weights):
    first, second = of(name, slice(0, 5), weights), of(name, slice(5, n), weights)
    whole = of(name, weights=weights)
    assert first + second == whole != second + first
    assert is_unit((first + second).w) == (weights is None)
    assert skce(first + second) == pytest.approx(skce(*CASES[name], weights=weights), rel=1e-11)


def test_rows_with_and_without_weights():
    both = of("sets", slice(0, 2)) + of("sets", slice(2, 4), W)
    assert both.w.tolist() == [1.0, 1.0, *W[2:4]]


def test_zero():
    zero, some = KeptCoverage.zero(), of("two levels")
    assert zero.n == 0
    assert zero + some == some + zero == some
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_bytes_and_pickle(name, weights):
    found = of(name, weights=weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found
        assert skce(back) == pytest.approx(skce(found), rel=1e-12)
    assert is_unit(KeptCoverage.from_bytes(found.to_bytes()).w) == (weights is None)


def test_is_frozen():
    found = of("two levels", weights=W)
    for field in fields(found):
        with pytest.raises(FrozenInstanceError):
            setattr(found, field.name, None)
        if field.name == "kind":
            continue
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, field.name)[...] = 0


def test_levels_do_not_mix(refusal):
    other = summarize(skce, Y, Intervals(CENTRE - 1, CENTRE + 1, 0.9))
    message = refusal(lambda: of("intervals") + other, error=SummaryError)
    assert message == "predictions of levels [0.8] do not merge with those of [0.9]"


@pytest.mark.parametrize("name", ["intervals", "sets"])
def test_kinds_of_prediction_do_not_mix(name, refusal):
    # The size of a set and a quantile are one number each; levels and shapes alone do not tell them apart.
    found, other = of(name), summarize(skce, Y, Quantiles(CENTRE, 0.8))
    message = refusal(lambda: found + other, error=SummaryError)
    assert message == (
        f"rows of {name.title()} do not merge with rows of Quantiles; summarize each kind of prediction alone"
    )


@pytest.mark.parametrize("kind", ["Intervals", "Normal", "", 3])
def test_bytes_of_another_kind(kind, refusal):
    message = refusal(replace, of("sets"), error=SummaryError, kind=kind)
    assert f"got {kind!r} by 1" in message


@pytest.mark.parametrize("name", CASES)
def test_shapes_must_belong_together(name, refusal):
    found = of(name, weights=W)
    changes = [
        {"e": found.e[:3]},
        {"e": found.e[:, :0]},
        {"points": found.points[:3]},
        {"points": found.points[:, 0]},
        {"levels": np.append(found.levels, 0.99)},
        {"w": found.w[:3]},
        {"w": np.array(2.0)},
    ]
    for change in changes:
        assert "KeptCoverage" in refusal(replace, found, error=SummaryError, **change)


def test_blocks_of_coverage():
    # 7 + 5 rows in blocks of 4: the three and the one left over fill a third block.
    whole = summarize(skce, *CASES["two levels"], blocksize=4)
    y, prediction = CASES["two levels"]
    parts = [
        summarize(skce, y[rows], prediction.take(rows), blocksize=4, kernel=whole.kernel)
        for rows in (slice(0, 7), slice(7, n))
    ]
    assert whole.kind == "coverage of Intervals at 0.9, 0.5"
    total = sum(parts)
    assert (total.n, total.blocks, total.left) == (12, 3, ())
    order = np.array([0, 1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11])
    expected = skce(y[order], prediction.take(order), blocksize=4, kernel=whole.kernel)
    assert skce(total) == pytest.approx(expected, rel=1e-12)
    assert isinstance(parts[0].left[0], KeptCoverage)
    assert Summary.from_bytes(parts[0].to_bytes()) == parts[0]
    assert whole.variance == pytest.approx(12 * (0.09 + 0.25) / 2)
