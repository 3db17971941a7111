"""The benchmark of power computes many data sets at once; each has the p-value of `calibration_test` itself."""

import numpy as np
import pytest
from benchmarks.validity.power import Joint, Others, moved

import calibrant as cb


@pytest.mark.parametrize("n", [300, 1500])
def test_p_values_of_many_data_sets_are_those_of_each(n: int) -> None:
    rng = np.random.default_rng(0)
    p = np.sort(np.where(rng.random(n) < 0.3, 0.25, rng.random(n)))
    y = rng.random((3, n)) < p
    found = [result.pvalue for result in Joint(p, rng).results(y)]
    assert found == pytest.approx([cb.calibration_test(row, p).pvalue for row in y], abs=0.06)


def test_an_impossible_outcome() -> None:
    p = np.array([0.0, 0.5, 1.0])
    possible, *others = Joint(p, np.random.default_rng(0)).results(np.array([[0, 1, 1], [1, 1, 1], [0, 1, 0]], bool))
    assert possible.pvalue > 0
    assert [other.pvalue for other in others] == [0, 0]


def test_statistics_of_other_tests() -> None:
    rng = np.random.default_rng(1)
    p = np.sort(rng.integers(0, 11, 200) / 10)
    y = rng.random(200) < p
    found = Others(p, rng).statistics(y[None])
    assert found["ece"][0] / 200 == pytest.approx(cb.ece(y, p))
    assert found["kolmogorov_smirnov"][0] / 200 == pytest.approx(cb.kolmogorov_smirnov_test(y, p).estimate)
    assert 2 * found["skce"][0] / (200 * 199) == pytest.approx(cb.skce_test(y, p, method="resample").estimate)


def test_an_error_that_scores_leave_room_for() -> None:
    p = np.array([0.1, 0.5])
    assert moved(p, 0.2, -1) == pytest.approx([0.0, 0.2])  # 0.1 and 0.3, 0.2 on average
    assert moved(p, 0.4, -1) is None
