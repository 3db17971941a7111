"""Sliced Wasserstein distance and its test: references, closed forms, the definition, level, cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.references.books import book, by_id

from calibrant.points import sliced as module
from calibrant.points import sliced_wasserstein, sliced_wasserstein_test

CASES = by_id("points")
A, B = (np.array(book("points")["data"]["points"][name]) for name in "ab")


def along(case, a, b, power):
    directions = np.array(CASES[case]["options"]["directions"])
    return np.mean([sliced_wasserstein((a @ t)[:, None], (b @ t)[:, None], power=power) for t in directions])


class TestReferences:
    def test_given_directions(self):
        case = CASES["sliced, given directions"]
        found = [along(case["id"], A, B, power) for power in (1, 2)]
        np.testing.assert_allclose(found, case["value"], rtol=case["rtol"])

    def test_unequal_sizes(self):
        case = CASES["sliced, unequal n"]
        assert along(case["id"], A[:17], B, 1) == pytest.approx(case["value"], rel=case["rtol"])


@settings(max_examples=50)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 10**6))
def test_on_a_line_it_is_that_of_scipy(n, m, seed):
    rng = np.random.default_rng(seed)
    y, x = rng.integers(-3, 4, n) * 1.0, rng.normal(size=m)
    found = sliced_wasserstein(y[:, None], x[:, None], power=1, directions=7)
    assert found == pytest.approx(stats.wasserstein_distance(y, x), abs=1e-12)
    repeated = np.sort(np.repeat(y, m)), np.sort(np.repeat(x, n))  # the same distributions with equal sizes
    squared = sliced_wasserstein(y[:, None], x[:, None])
    assert squared == pytest.approx(np.mean((repeated[0] - repeated[1]) ** 2), abs=1e-12)


def test_closed_forms():
    y = np.random.default_rng(0).normal(size=(500, 8))
    shift = np.zeros(8)
    shift[0] = 2
    assert sliced_wasserstein(y, y + shift, directions=2000) == pytest.approx(0.5, rel=0.08)
    assert sliced_wasserstein(y, 2 * y) == pytest.approx(1.0, rel=0.1)
    assert sliced_wasserstein(y, y) == 0


def test_parts_change_nothing(monkeypatch):
    whole = sliced_wasserstein_test(A, B[:20], directions=9, resamples=19)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 100)
    parts = sliced_wasserstein_test(A, B[:20], directions=9, resamples=19)
    assert (parts.pvalue, parts.statistic) == (whole.pvalue, pytest.approx(whole.statistic, rel=1e-12))


class TestTest:
    def test_is_the_distance_and_what_chance_gives(self):
        """Every division by itself gives what the test finds for it."""
        found = sliced_wasserstein_test(A[:6, :1], B[:4, :1], resamples=400)
        assert found.statistic == pytest.approx(sliced_wasserstein(A[:6, :1], B[:4, :1]), rel=1e-12)
        assert found.estimate == pytest.approx(found.statistic - found.details["expected"])
        pooled, rng = np.concatenate([A[:6, :1], B[:4, :1]]), np.random.default_rng(3)
        drawn = [sliced_wasserstein(part[:6], part[6:]) for part in (rng.permutation(pooled) for _ in range(400))]
        error = np.std(drawn) * np.sqrt(2 / 400)
        assert abs(found.details["expected"] - np.mean(drawn)) < 4 * error
        share = np.mean(np.array(drawn) >= found.statistic * (1 - 1e-12))
        assert abs(found.pvalue - share) < 4 * np.sqrt(0.5 / 400)

    def test_a_shift_is_found(self):
        y, x = np.random.default_rng(0).normal(size=(2, 100, 3))
        assert sliced_wasserstein_test(y, x + 0.5, directions=50).pvalue == 1 / 200

    def test_one_point(self):
        assert sliced_wasserstein_test(np.ones((3, 2)), np.ones((4, 2))).pvalue == 1.0
