"""Balls of points that are divided anew: what lists say is what all points say."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrant.primitives import relabelled_balls as module
from calibrant.primitives.relabelled_balls import list_length, relabelled_counts
from calibrant.primitives.relabellings import relabellings


def by_definition(clouds, Z, n, k, resamples, seed):
    Z = Z[np.lexsort(Z.T[::-1])]
    labels = relabellings(n, len(Z) - n, resamples, np.random.default_rng(seed)).astype(bool)
    return [clouds.counts(Z[first], Z[~first], k) for first in labels]


@pytest.mark.parametrize("longest", [1, 4, 256])
@given(data=st.data())
def test_are_those_of_the_relabelled_sets(clouds, longest, data):
    X, Y = data.draw(clouds.two_sets(most=60))
    Z, n = np.concatenate([X, Y]), len(X)
    k = data.draw(st.integers(1, min(n, len(Y)) - 1))
    with mock.patch.object(module, "LONGEST", longest), mock.patch.object(module, "WHOLE", longest):
        found = relabelled_counts(Z, n, k, 5, np.random.default_rng(3))
    assert [tuple(row) for row in found.tolist()] == by_definition(clouds, Z, n, k, 5, 3)


@pytest.mark.parametrize("d", [2, 20])
def test_many_points(clouds, d):
    Z = np.random.default_rng(0).normal(size=(900, d))
    found = relabelled_counts(Z, 300, 3, 4, np.random.default_rng(0))
    assert [tuple(row) for row in found.tolist()] == by_definition(clouds, Z, 300, 3, 4, 0)


def test_order_and_batches_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(80, 2)), 1)
    whole = relabelled_counts(Z, 30, 2, 9, np.random.default_rng(1))
    np.testing.assert_array_equal(relabelled_counts(Z[rng.permutation(80)], 30, 2, 9, np.random.default_rng(1)), whole)
    for batch in (1, 170):
        monkeypatch.setattr(module, "BATCH", batch)
        np.testing.assert_array_equal(relabelled_counts(Z, 30, 2, 9, np.random.default_rng(1)), whole)


def test_more_divisions_than_are_held(refusal):
    message = refusal(relabelled_counts, np.zeros((9, 1)), 4, 1, 10**9, np.random.default_rng(0))
    assert "1,000,000,000 random divisions of the points are more than are held" in message


@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
@pytest.mark.parametrize("k", [1, 5, 50])
def test_lists_are_long_enough(k, share):
    K = list_length(k, share)
    assert stats.binom.cdf(k - 1, K, share) < 1e-5
    assert k / share < K < 40 * k / share
