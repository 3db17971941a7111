"""The rows as they are."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from calibrant import Summary, SummaryError
from calibrant.inputs import read_probabilities
from calibrant.inputs.weights import is_unit
from calibrant.summaries import Kept

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
