"""Batches measured, or folded into a summary."""

import inspect
import weakref
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cb
from calibrant import Intervals, Normal
from calibrant.engines.measure import fold
from calibrant.errors import SummaryError
from calibrant.inputs.columns import Batch

RNG = np.random.default_rng(0)
P = RNG.random(1000)
Y = RNG.random(1000) < P
W = RNG.uniform(0.5, 2.0, 1000)


def batches(size=37, *columns):
    for k in range(0, 1000, size):
        yield tuple(column[k : k + size] for column in columns or (Y, P))


@pytest.mark.parametrize("verb", ["ece", "brier_score", "kuiper_test", "decompose", "mmce", "spiegelhalter_test"])
def test_the_value_of_all_rows(verb):
    measure = getattr(cb, verb)
    found, whole = measure(fold(verb, batches(), exact=True)), measure(Y, P)
    for name in ("statistic", "pvalue", "mcb", "dsc"):
        if hasattr(whole, name):
            assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    if isinstance(whole, float):
        assert found == pytest.approx(whole, rel=1e-12)


def test_weights_options_and_labels():
    found = fold(cb.ece, batches(100, Y, P, W), bins=7, norm="l2")
    assert cb.ece(found, bins=7, norm="l2") == pytest.approx(cb.ece(Y, P, weights=W, bins=7, norm="l2"), rel=1e-12)
    named = np.where(Y, "yes", "no")
    found = fold("ece", batches(200, named, P), pos_label="yes")
    assert cb.ece(found) == pytest.approx(cb.ece(named, P, pos_label="yes"), rel=1e-12)


def test_every_kind_of_prediction():
    y = RNG.normal(size=60)
    distributions = ((y[k : k + 20], Normal(np.zeros(20), 1.0)) for k in range(0, 60, 20))
    assert cb.crps(fold("crps", distributions)) == pytest.approx(cb.crps(y, Normal(np.zeros(60), 1.0)), rel=1e-12)
    bounds = [[y[k : k + 20], Intervals(np.full(20, -1.0), np.full(20, 1.0), 0.68)] for k in range(0, 60, 20)]
    whole = cb.coverage(y, Intervals(np.full(60, -1.0), np.full(60, 1.0), 0.68))
    assert cb.coverage(fold(cb.coverage, bounds)) == whole


def test_the_same_batches_give_the_same_bits_and_series_the_value_of_arrays():
    first, second = (fold("ece", batches(13, Y, P, W)).to_bytes() for _ in range(2))
    assert first == second
    frame = pd.DataFrame({"y": Y, "p": P})
    found = fold("ece", ((part.y, part.p) for part in (frame[:300], frame[300:])))
    assert cb.ece(found) == pytest.approx(cb.ece(Y, P), rel=1e-12)


def test_one_batch_at_a_time():
    """When a batch is asked for, the one before the last is gone."""
    made = []

    def source():
        for k in range(0, 1000, 100):
            assert all(batch() is None for batch in made[:-1])
            batch = P[k : k + 100].copy()
            made.append(weakref.ref(batch))
            yield Y[k : k + 100], batch
            del batch

    fold("ece", source())
    assert len(made) == 10


def test_a_batch_of_weight_0_counts_as_none():
    some = [(Y[:10], P[:10], W[:10]), (Y[10:20], P[10:20], np.zeros(10)), (Y[20:], P[20:], W[20:])]
    kept = np.delete(np.arange(1000), range(10, 20))
    assert cb.ece(fold("ece", some)) == pytest.approx(cb.ece(Y[kept], P[kept], weights=W[kept]), rel=1e-12)


def test_refused(refuses, refusal):
    spoilt = P.copy()
    spoilt[250] = 1.5
    cases = [
        (batches(100, Y, spoilt), ["batch 2: ", "row 50 is 1.5"]),
        *((given, "batches must be an iterable") for given in (5, None)),
        *(([b], "batch 0 must be a tuple (y, prediction)") for b in (Y, (Y,), (Y, P, W, W), "ab", {"y": Y, "p": P})),
        (iter(()), "there are no batches"),
        ([(Y[:10], P[:10], np.zeros(10))] * 2, "weights must not all be 0; those of all 2 batches are"),
    ]
    refuses(partial(fold, "ece"), cases)
    assert "expected a verb" in refusal(fold, "eec", batches())
    assert "has no option bin" in refusal(fold, "ece", batches(), bin=3)
    mixed = [(Y[:10], P[:10]), (Y[:10], P[:10].astype(np.float32))]
    assert "float64 and float32" in refusal(fold, "kuiper_test", mixed, exact=True, error=SummaryError)


def test_one_signature_on_iterators_dask_and_spark():
    import calibrant.dask
    import calibrant.spark

    expected = inspect.signature(cb.measure)
    for found in (calibrant.dask.measure, calibrant.spark.measure):
        signature = inspect.signature(found)
        assert [(p.name, p.kind, p.default) for p in signature.parameters.values()] == [
            (p.name, p.kind, p.default) for p in expected.parameters.values()
        ]
        assert signature.return_annotation == expected.return_annotation == "dict[str, Measured]"


class TestNamedColumns:
    @pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
    def test_batches_are_tables(self, make):
        parts = [make({"y": Y[k : k + 300], "p": P[k : k + 300], "w": W[k : k + 300]}) for k in range(0, 1000, 300)]
        found = cb.measure(["ece", "brier_score"], iter(parts), y="y", prediction="p", weights="w")
        assert found["ece"].value == pytest.approx(cb.ece(Y, P, weights=W), rel=1e-12)
        assert found["brier_score"].value == pytest.approx(cb.brier_score(Y, P, weights=W), rel=1e-12)

    def test_groups(self, refuses):
        bounds = cb.from_columns(cb.Intervals, "low", "high", level=0.5)
        table = {"y": Y * 1.0, "low": P - 0.5, "high": P + 0.4, "side": np.arange(1000) % 3}
        parts = [{name: values[k : k + 250] for name, values in table.items()} for k in range(0, 1000, 250)]
        found = cb.measure("coverage_gap", parts, y="y", prediction=bounds, groups="side")["coverage_gap"].value
        whole = cb.coverage_gap(table["y"], cb.Intervals(table["low"], table["high"], 0.5), groups=table["side"])
        assert found == pytest.approx(whole, rel=1e-12)
        cases = [
            (partial(cb.coverage_gap, groups=table["side"]), "groups are given twice: as 'side', and as an option"),
            ("coverage", "none of the verbs compares groups: 'coverage'"),
        ]
        refuses(lambda verb: cb.measure(verb, parts, y="y", prediction=bounds, groups="side"), cases)

    def test_refused(self, refuses):
        cases = [
            ([{"y": Y, "score": P}], "batch 0: the table has no column 'p'"),
            ([(Y, P)], "batch 0 must be a data frame or a mapping"),
            ([{"y": Y, "p": P}, {"y": Y, "p": P[1:]}], "batch 1: y has 1000 rows and p has 999"),
        ]
        refuses(partial(cb.measure, "ece", y="y", prediction="p"), cases)


def test_batches_without_rows_are_skipped(refuses):
    none = (Y[:0], P[:0])
    found = cb.measure("ece", [none, (Y[:500], P[:500]), ([], []), (Y[500:], P[500:]), none])["ece"].value
    assert found == pytest.approx(cb.ece(Y, P), rel=1e-12)
    tables = [{"y": Y, "p": P}, {"y": Y[:0], "p": P[:0]}, pd.DataFrame({"y": [], "p": []})]
    assert cb.measure("ece", tables, y="y", prediction="p")["ece"].value == pytest.approx(cb.ece(Y, P), rel=1e-12)
    empty = ([none, none], "there are no rows: each of the 2 batches is empty")
    refuses(partial(cb.measure, "ece"), [empty, ([(Y[:0], P)], "batch 0: y and prediction must have the same number")])


def test_groups_of_different_names_do_not_merge(refusal):
    bounds = cb.Intervals(P[:500] - 0.5, P[:500] + 0.4, 0.5)
    batches = [Batch(Y[:500] * 1.0, bounds, groups={name: np.arange(500) % 2}) for name in ("region", "zone")]
    words = "batch 1 has groups ['zone'], and earlier batches ['region']"
    assert words in refusal(cb.measure, "coverage_gap", batches)
    assert cb.measure("coverage_gap", batches[:1])["coverage_gap"].value >= 0


def test_one_batch_has_the_locations_of_all_rows():
    """`rng` draws the locations of ucme, not the batch; rows of several batches have no locations in common."""
    assert cb.measure("ucme", [(Y, P)])["ucme"].value == cb.kernel_errors.ucme(Y, P)
    with pytest.raises(SummaryError, match=r"Pass the same options to all batches, .*such as locations="):
        cb.measure("ucme", [(Y[:500], P[:500]), (Y[500:], P[500:])])
    given = partial(cb.kernel_errors.ucme, locations=([0.2, 0.7], [1, 0]), kernel=cb.kernels.Exponential(0.5))
    (found,) = cb.measure(given, [(Y[:500], P[:500]), (Y[500:], P[500:])]).values()
    assert found.value == pytest.approx(given(Y, P), rel=1e-12)


@pytest.mark.parametrize("width", [1e-6, 1e-5, 1e-4, 1e-2])
def test_scores_near_a_half_have_a_rounding_that_is_kept(width):
    """There the sums of a grid cancel."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y, p = rng.random(1000) < 0.5, 0.5 + width * rng.uniform(-1, 1, 1000)
        whole = cb.spiegelhalter_test(y, p, null="asymptotic")
        test = partial(cb.spiegelhalter_test, null="asymptotic")
        ((value, rounding),) = cb.measure(test, [(y[:400], p[:400]), (y[400:], p[400:])]).values()
        bounds = rounding if rounding else dict.fromkeys(("statistic", "pvalue", "estimate"), 1e-8)
        for name, bound in bounds.items():
            assert abs(getattr(value, name) - getattr(whole, name)) <= bound
        assert (rounding == 0.0) == (width >= 1e-2)
