"""Folds hold their share of both labels, and every row is as likely in each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.stratified_folds import stratified_folds


@given(st.integers(2, 30), st.integers(2, 30), st.data())
def test_shares(n, m, data):
    F = data.draw(st.integers(2, min(n, m)))
    labels = np.array(data.draw(st.permutations([0] * n + [1] * m)))
    fold = stratified_folds(labels, F, np.random.default_rng(0))
    for label, size in ((0, n), (1, m)):
        expected = [size // F + (f < size % F) for f in range(F)]
        assert np.bincount(fold[labels == label], minlength=F).tolist() == expected


def test_every_row_is_as_likely_in_each():
    labels, rng = np.array([0, 1, 0, 1, 0, 1, 0, 1]), np.random.default_rng(1)
    share = np.mean([stratified_folds(labels, 2, rng) for _ in range(4000)], axis=0)
    assert share == pytest.approx(0.5, abs=0.04)  # five standard errors


def test_it_repeats_itself():
    labels = np.arange(20) % 2
    found = [stratified_folds(labels, 3, np.random.default_rng(seed)).tolist() for seed in (0, 0, 1)]
    assert found[0] == found[1]
    assert found[0] != found[2]
