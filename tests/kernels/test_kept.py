"""The rows as they are."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from scipy import stats

from calibrant import (
    Intervals,
    Laplace,
    MvNormal,
    Normal,
    Quantiles,
    Samples,
    ScipyDistribution,
    Sets,
    Summary,
    SummaryError,
    skce,
    skce_test,
    summarize,
)
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.probabilities import read_probabilities
from calibrant.inputs.rows import read_judged, read_outcomes
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.kernels.kept import Kept, KeptCoverage, KeptDistributions, OneColumn, kept

Y, P, W = [0, 2, 1], [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.75, 0.25, 0.0]], [1.0, 2.0, 0.5]


def of(y, prediction, weights=None):
    return Kept.of(read_probabilities(y, prediction, weights=weights))


def test_rows_stay_in_order():
    found = of(Y, P, W)
    assert (found.y.tolist(), found.P.tolist(), found.w.tolist()) == (Y, P, W)
    assert (found.n, found.K, found.dtype) == (3, 3, "float64")
    assert found.y.dtype == np.int64
    assert repr(found) == "Kept(n=3)"


def test_one_probability_is_two_columns():
    found = of([0, 1], np.array([0.25, 1.0], "float32"))
    assert found.P.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert found.P.dtype == np.float64
    assert found.dtype == "float32"
    assert found == of([0, 1], np.array([[0.75, 0.25], [0.0, 1.0]], "float32"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_it_is_a_copy(order):
    y, prediction, w = np.array(Y), np.array(P, order=order), np.array(W)
    found = of(y, prediction, w)
    y[:], prediction[:], w[:] = 0, 0, 9
    assert (found.y.tolist(), found.P.tolist(), found.w.tolist()) == (Y, P, W)
    assert found.P.flags.c_contiguous


def test_merging_is_one_after_the_other():
    y, prediction, w = np.array(Y), np.array(P), np.array(W)
    for cut in (1, 2):
        assert of(y[:cut], prediction[:cut], w[:cut]) + of(y[cut:], prediction[cut:], w[cut:]) == of(Y, P, W)
        assert is_unit((of(y[:cut], prediction[:cut]) + of(y[cut:], prediction[cut:])).w)
    assert (of([0], [0.5]) + of([1], [0.5], [3])).w.tolist() == [1.0, 3.0]


def test_zero():
    zero = Kept.zero()
    assert zero.n == 0
    assert zero + of(Y, P) == of(Y, P) + zero == of(Y, P)
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W])
def test_bytes_and_pickle(weights):
    found = of(Y, P, weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found


def test_weights_of_one_take_no_memory_after_a_journey():
    assert is_unit(Kept.from_bytes(of(Y, P).to_bytes()).w)


def test_is_frozen():
    found = of(Y, P, W)
    for field in fields(found):
        with pytest.raises(FrozenInstanceError):
            setattr(found, field.name, None)
    for array in (found.y, found.P, found.w):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_precisions_do_not_mix(refusal):
    single = of([0], np.array([[0.5, 0.5]], "float32"))
    message = refusal(lambda: single + of([0], [[0.5, 0.5]]), error=SummaryError)
    assert "float32 and float64" in message
    assert "convert all batches to one type" in message


def test_classes_do_not_mix(refusal):
    message = refusal(lambda: of(Y, P) + of([0], [0.5]), error=SummaryError)
    assert message == "rows of 3 classes do not merge with rows of 2 classes"


def test_columns_of_one_length(refusal):
    found = of(Y, P, W)
    for change in ({"y": found.y[:1]}, {"w": found.w[:1]}, {"P": found.P[:1]}, {"P": found.P[:, 0]}):
        assert "one length" in refusal(replace, found, error=SummaryError, **change)


RNG = np.random.default_rng(0)
n = 12
CENTRE = RNG.normal(size=n)
Y_KEPT_COVERAGE = CENTRE + RNG.normal(size=n)
W_KEPT_COVERAGE = RNG.uniform(0.5, 3, n)
LEVELS = [0.9, 0.5]
MASK = RNG.random((n, 3)) < 0.6
CASES = {
    "intervals": (Y_KEPT_COVERAGE, Intervals(CENTRE - 1, CENTRE + 1.5, 0.8)),
    "two levels": (Y_KEPT_COVERAGE, Intervals(CENTRE[:, None] - [2, 1], CENTRE[:, None] + [2, 1], LEVELS)),
    "sets": (RNG.integers(0, 3, n), Sets(MASK, 0.8)),
    "quantiles": (Y_KEPT_COVERAGE, Quantiles(CENTRE[:, None] + [-1, 0, 1], [0.1, 0.5, 0.9])),
}


def of_kept_coverage(name, rows=slice(None), weights=None):
    y, prediction = CASES[name]
    w = None if weights is None else weights[rows]
    return KeptCoverage.of(CoverageRows.of(read_judged(y[rows], prediction.take(rows), weights=w)))


def test_fields():
    found = of_kept_coverage("two levels", weights=W_KEPT_COVERAGE)
    assert found.points.shape == (n, 2, 2)
    np.testing.assert_array_equal(found.points[:, 1], np.column_stack([CENTRE - 1, CENTRE + 1]))
    np.testing.assert_allclose(found.e[:, 0], (np.abs(Y_KEPT_COVERAGE - CENTRE) <= 2) - 0.9)
    assert found.levels.tolist() == LEVELS
    assert (found.kind, of_kept_coverage("sets").kind, of_kept_coverage("quantiles").kind) == (
        "Intervals",
        "Sets",
        "Quantiles",
    )
    np.testing.assert_array_equal(found.w, W_KEPT_COVERAGE)
    assert found.n == found.rows.n == n
    assert repr(found) == "KeptCoverage(n=12)"


def test_the_verbs_make_it():
    for verb in (skce, skce_test):
        assert summarize(verb, *CASES["sets"]) == of_kept_coverage("sets")


@pytest.mark.parametrize("weights", [None, W_KEPT_COVERAGE], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_merging_is_one_after_the_other_kept_coverage(name, weights):
    first, second = of_kept_coverage(name, slice(0, 5), weights), of_kept_coverage(name, slice(5, n), weights)
    whole = of_kept_coverage(name, weights=weights)
    assert first + second == whole != second + first
    assert is_unit((first + second).w) == (weights is None)
    assert skce(first + second) == pytest.approx(skce(*CASES[name], weights=weights), rel=1e-11)


def test_rows_with_and_without_weights():
    both = of_kept_coverage("sets", slice(0, 2)) + of_kept_coverage("sets", slice(2, 4), W_KEPT_COVERAGE)
    assert both.w.tolist() == [1.0, 1.0, *W_KEPT_COVERAGE[2:4]]


def test_zero_kept_coverage():
    zero, some = KeptCoverage.zero(), of_kept_coverage("two levels")
    assert zero.n == 0
    assert zero + some == some + zero == some
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W_KEPT_COVERAGE], ids=["", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_bytes_and_pickle_kept_coverage(name, weights):
    found = of_kept_coverage(name, weights=weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found
        assert skce(back) == pytest.approx(skce(found), rel=1e-12)
    assert is_unit(KeptCoverage.from_bytes(found.to_bytes()).w) == (weights is None)


def test_is_frozen_kept_coverage():
    found = of_kept_coverage("two levels", weights=W_KEPT_COVERAGE)
    for field in fields(found):
        with pytest.raises(FrozenInstanceError):
            setattr(found, field.name, None)
        if field.name == "kind":
            continue
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, field.name)[...] = 0


def test_levels_do_not_mix(refusal):
    other = summarize(skce, Y_KEPT_COVERAGE, Intervals(CENTRE - 1, CENTRE + 1, 0.9))
    message = refusal(lambda: of_kept_coverage("intervals") + other, error=SummaryError)
    assert message == "predictions of levels [0.8] do not merge with those of [0.9]"


@pytest.mark.parametrize("name", ["intervals", "sets"])
def test_kinds_of_prediction_do_not_mix(name, refusal):
    # The size of a set and a quantile are one number each; levels and shapes alone do not tell them apart.
    found, other = of_kept_coverage(name), summarize(skce, Y_KEPT_COVERAGE, Quantiles(CENTRE, 0.8))
    message = refusal(lambda: found + other, error=SummaryError)
    assert message == (
        f"rows of {name.title()} do not merge with rows of Quantiles; summarize each kind of prediction alone"
    )


@pytest.mark.parametrize("kind", ["Intervals", "Normal", "", 3])
def test_bytes_of_another_kind(kind, refusal):
    message = refusal(replace, of_kept_coverage("sets"), error=SummaryError, kind=kind)
    assert f"got {kind!r} by 1" in message


@pytest.mark.parametrize("name", CASES)
def test_shapes_must_belong_together(name, refusal):
    found = of_kept_coverage(name, weights=W_KEPT_COVERAGE)
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


Y_KEPT_DISTRIBUTIONS, MEAN, STD, W_KEPT_DISTRIBUTIONS = (
    [0.5, -1.0, 2.0],
    [0.0, 1.0, 2.0],
    [1.0, 2.0, 0.5],
    [1.0, 2.0, 0.5],
)


def of_kept_distributions(y, distribution, weights=None):
    return KeptDistributions.of(read_outcomes(y, distribution, weights=weights))


def test_rows_stay_in_order_kept_distributions():
    found = of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD), W_KEPT_DISTRIBUTIONS)
    assert (found.y.tolist(), found.distribution.mean.tolist(), found.distribution.std.tolist(), found.w.tolist()) == (
        Y_KEPT_DISTRIBUTIONS,
        MEAN,
        STD,
        W_KEPT_DISTRIBUTIONS,
    )
    assert found.n == found.rows.n == 3
    assert repr(found) == "KeptDistributions(n=3)"


def test_merging_is_one_after_the_other_kept_distributions():
    distribution, y, w = Normal(MEAN, STD), np.array(Y_KEPT_DISTRIBUTIONS), np.array(W_KEPT_DISTRIBUTIONS)
    for cut in (1, 2):
        parts = [
            of_kept_distributions(y[rows], distribution.take(rows), w[rows]) for rows in (slice(cut), slice(cut, None))
        ]
        assert parts[0] + parts[1] == of_kept_distributions(Y_KEPT_DISTRIBUTIONS, distribution, W_KEPT_DISTRIBUTIONS)
        assert parts[1] + parts[0] != of_kept_distributions(Y_KEPT_DISTRIBUTIONS, distribution, W_KEPT_DISTRIBUTIONS)
    assert is_unit(
        (of_kept_distributions([0.0], Normal([0.0], 1.0)) + of_kept_distributions([1.0], Normal([1.0], 1.0))).w
    )
    assert (
        of_kept_distributions([0.0], Normal([0.0], 1.0)) + of_kept_distributions([1.0], Normal([1.0], 1.0), [3])
    ).w.tolist() == [
        1.0,
        3.0,
    ]


def test_zero_kept_distributions():
    zero, some = KeptDistributions.zero(), of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD))
    assert zero.n == zero.rows.n == 0
    assert zero + some == some + zero == some
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W_KEPT_DISTRIBUTIONS])
@pytest.mark.parametrize(
    "law",
    [
        Normal(MEAN, STD),
        Laplace(MEAN, STD),
        Samples(np.arange(12.0).reshape(3, 4)),
        MvNormal(np.zeros((3, 2)), np.eye(2)),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_bytes_and_pickle_kept_distributions(distribution, weights):
    y = np.arange(3.0 * np.prod(distribution.shape, dtype=int)).reshape(3, *distribution.shape)
    found = of_kept_distributions(y, distribution, weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found
        np.testing.assert_array_equal(back.y, y)
        assert type(back.distribution) is type(distribution)
    assert is_unit(KeptDistributions.from_bytes(found.to_bytes()).w) == (weights is None)


def test_differences_are_seen():
    base = of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD), W_KEPT_DISTRIBUTIONS)
    others = [
        of_kept_distributions([0.5, -1.0, 2.1], Normal(MEAN, STD), W_KEPT_DISTRIBUTIONS),
        of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, [1.0, 2.0, 0.6]), W_KEPT_DISTRIBUTIONS),
        of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Laplace(MEAN, STD), W_KEPT_DISTRIBUTIONS),
        of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD), [1.0, 2.0, 0.6]),
        of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD)),
    ]
    assert all(other != base for other in others)
    assert base != "rows"


def test_kinds_do_not_mix(refusal):
    message = refusal(
        lambda: (
            of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Normal(MEAN, STD))
            + of_kept_distributions(Y_KEPT_DISTRIBUTIONS, Laplace(MEAN, STD))
        ),
        error=SummaryError,
    )
    assert message == "rows of Normal do not merge with rows of Laplace"


def test_distributions_without_a_table(refusal):
    found = of_kept_distributions(Y_KEPT_DISTRIBUTIONS, ScipyDistribution(stats.norm(MEAN, STD)))
    for call in (found.to_bytes, lambda: found + found):
        assert "ScipyDistribution has no table of parameters" in refusal(call, error=SummaryError)
    # What is kept is still measured.
    assert skce(found) == pytest.approx(skce(Y_KEPT_DISTRIBUTIONS, ScipyDistribution(stats.norm(MEAN, STD))), rel=1e-11)


def test_half_of_the_fields(refusal):
    from calibrant.core import summary as codec

    data = codec.encode("KeptDistributions", {"kind": "", "y": np.zeros(0)})
    assert "do not hold a whole KeptDistributions" in refusal(KeptDistributions.from_bytes, data, error=SummaryError)


def test_batches_give_the_value_of_all_rows():
    rng = np.random.default_rng(0)
    y, distribution = rng.normal(size=30), Normal(rng.normal(size=30), 1.0)
    parts = [summarize(skce, y[rows], distribution.take(rows)) for rows in (slice(0, 7), slice(7, 30))]
    assert skce(sum(parts)) == pytest.approx(skce(y, distribution), rel=1e-12)


def test_outcomes_are_read_only_and_not_the_callers():
    y = np.array(Y_KEPT_DISTRIBUTIONS)
    found = of_kept_distributions(y, Normal(MEAN, STD))
    with pytest.raises(ValueError, match="read-only"):
        found.y[0] = 9
    y[0] = 9
    assert found.y[0] == 0.5


W_KEEPING = [1.0, 2.0, 0.5]
CASES_KEEPING = [
    (read_probabilities([0, 1, 1], [0.25, 0.5, 1.0], weights=W_KEEPING), OneColumn, "y"),
    (read_probabilities([0, 2, 1], np.full((3, 4), 0.25), weights=W_KEEPING), Kept, "y"),
    (read_outcomes([0.0, 1.0, 2.0], Normal([0.0, 1.0, 5.0], 1.0), weights=W_KEEPING), KeptDistributions, "y"),
    (
        CoverageRows.of(read_judged([0.0, 9.0, 2.0], Intervals([0.0] * 3, [3.0] * 3, 0.9), weights=W_KEEPING)),
        KeptCoverage,
        "e",
    ),
]


@pytest.mark.parametrize(
    ("rows", "kind", "outcomes"), CASES_KEEPING, ids=["binary", "classes", "distributions", "coverage"]
)
def test_rows_are_kept_in_their_order(rows, kind, outcomes):
    found = kept(rows)
    assert type(found) is kind
    assert found == kind.of(rows)
    assert found.n == 3
    np.testing.assert_array_equal(getattr(found, outcomes), rows.y)
    assert found.w.tolist() == W_KEEPING
    np.testing.assert_array_equal(found.rows.y, rows.y)
