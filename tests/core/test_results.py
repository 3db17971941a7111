"""The result of a test."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import calibrant as cb
from calibrant import decompose, direction, kolmogorov_smirnov_test, kuiper_test, reliability_curve, spiegelhalter_test
from calibrant.core.results import ConfidenceInterval
from calibrant.results import Curve, Decomposition, Direction, TestResult

VERBS = [kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test]
COPIES = (copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result)))


@pytest.mark.parametrize("null", ["asymptotic", "monte-carlo"])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_numbers_are_plain(verb, null):
    result = verb([0, 1, 1], [0.2, 0.4, 0.9], null=null, resamples=19)
    assert isinstance(result, TestResult)
    assert [type(value) for value in (result.statistic, result.pvalue, result.estimate)] == [float] * 3
    assert type(result.n) is int
    assert all(type(value) is float for value in result.details.values())


def test_is_a_frozen_value():
    details = {"scale": 2.0}
    assert TestResult.__test__ is False  # pytest does not take it for a test case
    result, same, other = (TestResult(1.0, p, 0.1, "by hand", 3, details) for p in (0.5, 0.5, 0.6))
    assert result == same != other
    details["scale"] = 3.0
    assert result.details["scale"] == 2.0
    with pytest.raises(FrozenInstanceError):
        result.pvalue = 0.0
    with pytest.raises(TypeError):
        result.details["scale"] = 3.0


def several(p=0.25):
    """Return the result of a test of two columns."""
    estimate = (np.array([0.125, -1.0]), np.array([1.0, 2.0]))
    pvalue, details = np.array([p, np.nan]), {"raw": np.array([0.1, 0.2])}
    return TestResult(np.array([1.5, 2.5]), pvalue, estimate, "by hand", 3, details)


class TestSeveralColumns:
    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (
                several(),
                "TestResult(statistic=[1.5, 2.5], pvalue=[0.25, nan], estimate=([0.125, -1], [1, 2]), n=3, "
                "method='by hand')",
            ),
            (TestResult(np.arange(500.0), 0.5, 0.5, "by hand", 3), "statistic=[0, 1, 2, 3, 4, 5, ... 500 in all]"),
            (TestResult(np.arange(4.0).reshape(2, 2), 0.5, 0.5, "by hand", 3), "statistic=[[0, 1], [2, 3]]"),
        ],
    )
    def test_repr(self, result, words):
        assert words in repr(result)

    def test_equal_by_value(self):
        assert several() == several()
        assert several() != several(0.5)
        assert several() != TestResult(1.5, 0.25, 0.125, "by hand", 3)
        changed = several()
        assert changed != TestResult(changed.statistic, changed.pvalue, changed.estimate, "by hand", 3, {"raw": 0.1})

    def test_arrays_are_copied_and_locked(self, refusal):
        statistic = np.array([1.0, 2.0])
        result = TestResult(statistic, statistic, (statistic,), "by hand", 3, {"raw": statistic})
        interval = ConfidenceInterval(statistic, statistic, statistic, 0.9, "t", 2)
        statistic[0] = 9.0
        for value in (result.statistic, result.pvalue, result.estimate[0], result.details["raw"], interval.low):
            assert value[0] == 1.0
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 5.0
        assert "unhashable" in refusal(hash, result, error=TypeError)
        with pytest.raises(AttributeError):
            interval.level = 0.5


@pytest.mark.parametrize("duplicate", COPIES, ids=["copy", "deep", "pickle"])
def test_travels_between_processes(duplicate):
    of_test = kuiper_test([0, 1, 1], [0.2, 0.4, 0.9], null="asymptotic")
    assert (duplicate(of_test), duplicate(several())) == (of_test, several())
    assert repr(duplicate(SEVERAL)) == repr(SEVERAL)
    curve = reliability_curve([0, 1, 1], [0.2, 0.4, 0.9])
    twin = duplicate(curve)
    assert (twin.kind, twin.method, twin.n) == (curve.kind, curve.method, curve.n)
    assert dict(twin.details) == dict(curve.details)
    for name, column in curve.columns.items():
        np.testing.assert_array_equal(twin.columns[name], column)


@pytest.fixture
def curve():
    return Curve("cumulative", {"x": np.array([1.0, 2.0]), "k": [3, 4]}, "by hand", 7, {"level": 0.5})


def test_columns_and_details_are_attributes(curve):
    assert curve.x is curve.columns["x"]
    assert curve.k.tolist() == [3, 4]
    assert curve.level == 0.5
    assert {"x", "k", "level", "plot"} <= set(dir(curve))


def test_unknown_attribute_names_those_there_are(curve):
    with pytest.raises(AttributeError, match="a cumulative curve has x, k, level; not z"):
        _ = curve.z
    assert not hasattr(curve, "_private")


def test_a_curve_is_frozen_and_a_copy():
    column, details = np.array([1.0, 2.0]), {"level": 0.5}
    curve = Curve("cumulative", {"x": column}, "by hand", 2, details)
    column[0], details["level"] = 9.0, 0.9
    assert (curve.x[0], curve.level) == (1.0, 0.5)
    with pytest.raises(FrozenInstanceError):
        curve.n = 3
    with pytest.raises(ValueError, match="read-only"):
        curve.x[0] = 9
    for part, name in ((curve.columns, "x"), (curve.details, "level")):
        with pytest.raises(TypeError):
            part[name] = 1


def test_repr(curve):
    assert repr(curve) == "Curve(cumulative, 2 points of x, k; by hand; n=7)"


ONE = ConfidenceInterval(0.476229181, 0.927337962, 0.75, 0.95, "exact (Clopper-Pearson)", 16)
SEVERAL = ConfidenceInterval(np.array([0.25, 0.5]), np.array([0.75, np.inf]), np.array([0.5, 0.75]), 0.9, "t", 16)


def test_text():
    assert repr(ONE) == (
        "ConfidenceInterval(low=0.476229, high=0.927338, estimate=0.75, level=0.95, n=16, "
        "method='exact (Clopper-Pearson)')"
    )
    assert "low=[0.25, 0.5], high=[0.75, inf], estimate=[0.5, 0.75]" in repr(SEVERAL)
    each = ConfidenceInterval(np.zeros(2), np.ones(2), np.ones(2), 0.9, "t", np.array([3, 4]))
    assert "n=[3, 4]" in repr(each)


@pytest.mark.parametrize(
    ("verb", "kind", "names"),
    [
        (decompose, Decomposition, ["score", "mcb", "dsc", "unc", "within"]),
        (direction, Direction, ["over", "under", "bias", "over_bin", "under_bin"]),
    ],
)
def test_records(verb, kind, names, refusal):
    record = verb([0, 1, 1], [0.2, 0.4, 0.9])
    assert type(record) is kind
    assert list(vars(record)) == names
    assert record == verb([0, 1, 1], [0.2, 0.4, 0.9])
    assert all(type(getattr(record, name)) is float for name in names[:3])
    refusal(setattr, record, names[0], 0.0, error=FrozenInstanceError)
    if kind is Direction:
        assert [type(edge) for edge in (*record.over_bin, *record.under_bin)] == [float] * 4


class TestCurveAsTable:
    def test_frames(self):
        curve = cb.reliability_curve([0, 0, 1, 1], [0.125, 0.375, 0.625, 0.875], bins=2)
        for backend in ("pandas", "polars"):
            frame = curve.to_frame(backend)
            assert list(frame["count"]) == [2, 2]
            assert list(frame.columns) == list(curve.columns)

    def test_several_columns_are_split(self):
        draws = np.random.default_rng(0).normal(size=(50, 9, 2))
        curve = cb.ecdf_difference(np.zeros((50, 2)), cb.Samples(draws))
        assert "v, column 1" in curve.to_frame("polars").columns

    def test_notebook(self):
        shown = cb.coverage_curve([1.0, 2.0], cb.Intervals([0, 0], [3, 3], 0.9), groups=["<b>", "c"])._repr_html_()
        assert "&lt;b&gt;" in shown
        assert "<b>" not in shown
