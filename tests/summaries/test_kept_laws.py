"""Outcomes and laws as they are."""

import pickle

import numpy as np
import pytest
from scipy import stats

from calibrant import Laplace, MvNormal, Normal, Samples, ScipyLaw, Summary, SummaryError, skce, summarize
from calibrant.inputs.outcomes import read_outcomes
from calibrant.inputs.weights import is_unit
from calibrant.summaries import KeptLaws

Y, MEAN, STD, W = [0.5, -1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 2.0, 0.5], [1.0, 2.0, 0.5]


def of(y, law, weights=None):
    return KeptLaws.of(read_outcomes(y, law, weights=weights))


def test_rows_stay_in_order():
    found = of(Y, Normal(MEAN, STD), W)
    assert (found.y.tolist(), found.law.mean.tolist(), found.law.std.tolist(), found.w.tolist()) == (Y, MEAN, STD, W)
    assert found.n == found.rows.n == 3
    assert repr(found) == "KeptLaws(n=3)"


def test_merging_is_one_after_the_other():
    law, y, w = Normal(MEAN, STD), np.array(Y), np.array(W)
    for cut in (1, 2):
        parts = [of(y[rows], law.take(rows), w[rows]) for rows in (slice(cut), slice(cut, None))]
        assert parts[0] + parts[1] == of(Y, law, W)
        assert parts[1] + parts[0] != of(Y, law, W)
    assert is_unit((of([0.0], Normal([0.0], 1.0)) + of([1.0], Normal([1.0], 1.0))).w)
    assert (of([0.0], Normal([0.0], 1.0)) + of([1.0], Normal([1.0], 1.0), [3])).w.tolist() == [1.0, 3.0]


def test_zero():
    zero, some = KeptLaws.zero(), of(Y, Normal(MEAN, STD))
    assert zero.n == zero.rows.n == 0
    assert zero + some == some + zero == some
    assert zero + zero == zero == Summary.from_bytes(zero.to_bytes())


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize(
    "law",
    [
        Normal(MEAN, STD),
        Laplace(MEAN, STD),
        Samples(np.arange(12.0).reshape(3, 4)),
        MvNormal(np.zeros((3, 2)), np.eye(2)),
    ],
    ids=lambda law: type(law).__name__,
)
def test_bytes_and_pickle(law, weights):
    y = np.arange(3.0 * np.prod(law.shape, dtype=int)).reshape(3, *law.shape)
    found = of(y, law, weights)
    for back in (Summary.from_bytes(found.to_bytes()), pickle.loads(pickle.dumps(found))):
        assert back == found
        assert back + found == found + found
        np.testing.assert_array_equal(back.y, y)
        assert type(back.law) is type(law)
    assert is_unit(KeptLaws.from_bytes(found.to_bytes()).w) == (weights is None)


def test_differences_are_seen():
    base = of(Y, Normal(MEAN, STD), W)
    others = [
        of([0.5, -1.0, 2.1], Normal(MEAN, STD), W),
        of(Y, Normal(MEAN, [1.0, 2.0, 0.6]), W),
        of(Y, Laplace(MEAN, STD), W),
        of(Y, Normal(MEAN, STD), [1.0, 2.0, 0.6]),
        of(Y, Normal(MEAN, STD)),
    ]
    assert all(other != base for other in others)
    assert base != "rows"


def test_kinds_do_not_mix(refusal):
    message = refusal(lambda: of(Y, Normal(MEAN, STD)) + of(Y, Laplace(MEAN, STD)), error=SummaryError)
    assert message == "rows of Normal do not merge with rows of Laplace"


def test_laws_without_a_table(refusal):
    found = of(Y, ScipyLaw(stats.norm(MEAN, STD)))
    for call in (found.to_bytes, lambda: found + found):
        assert "ScipyLaw has no table of parameters" in refusal(call, error=SummaryError)
    # What is kept is still measured.
    assert skce(found) == pytest.approx(skce(Y, ScipyLaw(stats.norm(MEAN, STD))), rel=1e-11)


def test_half_of_the_fields(refusal):
    from calibrant.summaries import codec

    data = codec.encode("KeptLaws", {"kind": "", "y": np.zeros(0)})
    assert "do not hold a whole KeptLaws" in refusal(KeptLaws.from_bytes, data, error=SummaryError)


def test_batches_give_the_value_of_all_rows():
    rng = np.random.default_rng(0)
    y, law = rng.normal(size=30), Normal(rng.normal(size=30), 1.0)
    parts = [summarize(skce, y[rows], law.take(rows)) for rows in (slice(0, 7), slice(7, 30))]
    assert skce(sum(parts)) == pytest.approx(skce(y, law), rel=1e-12)


def test_outcomes_are_read_only_and_not_the_callers():
    y = np.array(Y)
    found = of(y, Normal(MEAN, STD))
    with pytest.raises(ValueError, match="read-only"):
        found.y[0] = 9
    y[0] = 9
    assert found.y[0] == 0.5
