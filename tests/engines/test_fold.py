"""Folding batches into a summary."""

import weakref

import numpy as np
import pandas as pd
import pytest

import calibrant as cb
from calibrant import InputError, Intervals, Normal, SummaryError
from calibrant.engines.fold import fold

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


def test_weights_and_options():
    found = fold(cb.ece, batches(100, Y, P, W), bins=7, norm="l2")
    assert cb.ece(found, bins=7, norm="l2") == pytest.approx(cb.ece(Y, P, weights=W, bins=7, norm="l2"), rel=1e-12)


def test_labels():
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


def test_the_same_batches_give_the_same_bits():
    first, second = (fold("ece", batches(13, Y, P, W)).to_bytes() for _ in range(2))
    assert first == second


def test_frames():
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
    with pytest.raises(InputError, match="weights must not all be 0; those of all 2 batches are"):
        fold("ece", [(Y[:10], P[:10], np.zeros(10)), (Y[:10], P[:10], np.zeros(10))])


class TestRefused:
    def test_a_bad_batch_is_named(self):
        spoilt = P.copy()
        spoilt[250] = 1.5
        with pytest.raises(InputError, match=r"batch 2: .*row 50 is 1.5"):
            fold("ece", batches(100, Y, spoilt))

    def test_batches_that_do_not_merge(self):
        mixed = [(Y[:10], P[:10]), (Y[:10], P[:10].astype(np.float32))]
        with pytest.raises(SummaryError, match="float64 and float32"):
            fold("kuiper_test", mixed, exact=True)

    @pytest.mark.parametrize("given", [5, None])
    def test_no_iterable(self, given):
        with pytest.raises(InputError, match="batches must be an iterable"):
            fold("ece", given)

    @pytest.mark.parametrize("batch", [Y, (Y,), (Y, P, W, W), "ab", {"y": Y, "p": P}])
    def test_no_batch(self, batch):
        with pytest.raises(InputError, match=r"batch 0 must be a tuple \(y, prediction\)"):
            fold("ece", [batch])

    def test_no_batches(self):
        with pytest.raises(InputError, match="there are no batches"):
            fold("ece", iter(()))

    def test_no_verb_and_no_option(self):
        with pytest.raises(InputError, match="expected a verb"):
            fold("eec", batches())
        with pytest.raises(InputError, match="has no option bin"):
            fold("ece", batches(), bin=3)
