"""The result of a test."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest

from calibrant import TestResult, kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test

VERBS = [kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test]


@pytest.mark.parametrize("null", ["asymptotic", "monte-carlo"])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_numbers_are_plain(verb, null):
    result = verb([0, 1, 1], [0.2, 0.4, 0.9], null=null, resamples=19)
    assert isinstance(result, TestResult)
    assert [type(value) for value in (result.statistic, result.pvalue, result.estimate, result.n)] == [float] * 3 + [
        int
    ]
    assert all(type(value) is float for value in result.details.values())


def test_is_frozen():
    result = TestResult(1.0, 0.5, 0.1, "by hand", 3, {"scale": 2.0})
    with pytest.raises(FrozenInstanceError):
        result.pvalue = 0.0
    with pytest.raises(TypeError):
        result.details["scale"] = 3.0


def test_details_do_not_share_memory():
    details = {"scale": 2.0}
    result = TestResult(1.0, 0.5, 0.1, "by hand", 3, details)
    details["scale"] = 3.0
    assert result.details["scale"] == 2.0


def test_equal_by_value():
    one, same, other = (TestResult(1.0, p, 0.1, "by hand", 3, {"scale": 2.0}) for p in (0.5, 0.5, 0.6))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))],
    ids=["copy", "deep", "pickle"],
)
def test_travels_between_processes(duplicate):
    result = kuiper_test([0, 1, 1], [0.2, 0.4, 0.9], null="asymptotic")
    assert duplicate(result) == result


def test_pytest_does_not_take_it_for_a_test_case():
    assert TestResult.__test__ is False
