"""The result of a test."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
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


def several(p=0.25):
    """Return the result of a test of two columns."""
    estimate = (np.array([0.125, -1.0]), np.array([1.0, 2.0]))
    return TestResult(
        np.array([1.5, 2.5]), np.array([p, np.nan]), estimate, "by hand", 3, {"raw": np.array([0.1, 0.2])}
    )


class TestSeveralColumns:
    def test_repr(self):
        assert repr(several()) == (
            "TestResult(statistic=[1.5, 2.5], pvalue=[0.25, nan], estimate=([0.125, -1], [1, 2]), n=3, "
            "method='by hand')"
        )

    def test_repr_of_many_columns_is_short(self):
        many = TestResult(np.arange(500.0), np.zeros(500), np.zeros(500), "by hand", 3)
        assert "statistic=[0, 1, 2, 3, 4, 5, ... 500 in all]" in repr(many)

    def test_repr_of_groups_and_columns(self):
        assert "statistic=[[0, 1], [2, 3]]" in repr(TestResult(np.arange(4.0).reshape(2, 2), 0.5, 0.5, "by hand", 3))

    def test_equal_by_value(self):
        assert several() == several()
        assert several() != several(0.5)
        assert several() != TestResult(1.5, 0.25, 0.125, "by hand", 3)
        changed = several()
        assert changed != TestResult(changed.statistic, changed.pvalue, changed.estimate, "by hand", 3, {"raw": 0.1})

    def test_arrays_are_copied_and_locked(self):
        statistic = np.array([1.0, 2.0])
        result = TestResult(statistic, statistic, (statistic,), "by hand", 3, {"raw": statistic})
        statistic[0] = 9.0
        for value in (result.statistic, result.pvalue, result.estimate[0], result.details["raw"]):
            assert value[0] == 1.0
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 5.0

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
    def test_travels_between_processes(self, duplicate):
        assert duplicate(several()) == several()

    def test_has_no_hash(self):
        with pytest.raises(TypeError, match="unhashable"):
            hash(several())
