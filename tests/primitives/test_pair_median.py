"""The median difference of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives import pair_median as module
from calibrant.primitives.pair_median import pair_median


def of(values):
    return pair_median(*np.unique(values, return_counts=True))


def brute(values):
    i, j = np.triu_indices(len(values), 1)
    d = np.abs(np.asarray(values)[i] - np.asarray(values)[j])
    return np.median(d if np.median(d) > 0 else d[d > 0])


@pytest.fixture
def many_rounds(monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    monkeypatch.setattr(module, "LEAST_SAMPLE", 8)
    monkeypatch.setattr(module, "LARGEST_SAMPLE", 8)


def test_by_hand():
    assert of([1.0, 2.0, 4.0]) == 2.0
    assert of([1.0, 2.0, 3.0, 4.0]) == 1.5  # 1, 1, 1, 2, 2, 3
    assert of([5.0, 3.0]) == 2.0
    assert of([1.0, 1.0, 3.0, 7.0]) == 3.0  # 0, 2, 2, 4, 6, 6


def test_zero_gives_way_to_the_positive_differences():
    assert of([1, 1, 1, 1, 1, 1, 3, 6]) == 3.0
    assert of([0.0, 0.0, 0.0, 4.0]) == 2.0  # 0, 0, 0, 4, 4, 4: the mean of the two in the middle is above 0


def test_without_differences():
    assert of([1.0]) is None
    assert of([2.0, 2.0, 2.0]) is None
    assert pair_median(np.zeros(0), np.zeros(0, int)) is None


@given(st.lists(st.integers(0, 40), min_size=2, max_size=60).filter(lambda drawn: len(set(drawn)) > 1))
def test_every_pair(drawn):
    values = np.array(drawn) / 7
    assert of(values) == pytest.approx(brute(values), rel=1e-15)


@pytest.mark.usefixtures("many_rounds")
@pytest.mark.parametrize("seed", range(30))
def test_however_few_pairs_are_sampled(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    for values in (
        rng.normal(size=n),
        np.exp(20 * rng.normal(size=n)),
        rng.integers(0, 25, n) * 0.1,
        np.concatenate([np.full(n, 0.3), rng.random(n)]),
        1e308 * rng.random(n),
        5e-324 * rng.integers(1, 50, n),
    ):
        assert of(values) == pytest.approx(brute(values), rel=1e-15, abs=0)


def test_longer_lists():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=3000), np.arange(2500) * 0.1, np.exp(8 * rng.normal(size=2000))):
        assert of(values) == pytest.approx(brute(values), rel=1e-15)


def test_units():
    values = np.random.default_rng(1).random(500)
    assert of(values * 1024) == 1024 * of(values)
