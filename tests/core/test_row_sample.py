"""A sample of the rows as a summary: every row is as likely to be in it, and it keeps the order."""

import numpy as np
import pytest

from calibrant.core import row_sample
from calibrant.core.row_sample import RowSample
from calibrant.core.summary import Summary
from calibrant.inputs.covariates import read_covariate_table
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.inputs.rows import read_outcomes
from calibrant.inputs.samples import Samples

RNG = np.random.default_rng(0)


def rows(start, stop):
    """Return rows with their numbers as scores."""
    p = (np.arange(start, stop) / 1024).astype(np.float32)
    return Binary(np.zeros(p.size, np.uint8), p, np.ones(p.size))


def drawn(*ends):
    """Return the numbers of the rows that are kept of some batches."""
    sample = RowSample.zero()
    for start, stop in zip((0, *ends), ends, strict=False):
        sample = sample + RowSample.of(rows(start, stop), RNG)
    assert sample.n == ends[-1]
    assert sample.rows.p.dtype == np.float32
    return np.rint(sample.rows.p * 1024).astype(int)


def test_few_rows_are_kept_as_they_came():
    assert drawn(3, 8, 20).tolist() == list(range(20))


def test_every_row_is_as_likely_to_be_kept(monkeypatch):
    monkeypatch.setattr(row_sample, "MAX_ROWS_KEPT", 50)
    counts, repeats = np.zeros(1000), 1000
    for _ in range(repeats):
        numbers = drawn(300, 320, 1000)
        assert numbers.size == 50
        assert (np.diff(numbers) > 0).all()
        counts[numbers] += 1
    expected = repeats * 50 / 1000
    assert ((counts - expected) ** 2 / (expected * 0.95)).sum() == pytest.approx(1000, abs=5 * np.sqrt(2 * 1000))
    for part in (slice(300), slice(300, 320), slice(320, None)):
        assert counts[part].mean() == pytest.approx(expected, abs=5 * np.sqrt(expected / counts[part].size))


def test_wide_rows_are_kept_in_smaller_numbers(monkeypatch):
    monkeypatch.setattr(row_sample, "MAX_NUMBERS_KEPT", 120)
    P, draws = np.full((60, 3), 1 / 3), RNG.normal(size=(60, 5))
    assert RowSample.of(Classes(np.zeros(60, np.intp), P, np.ones(60)), RNG).rows.n == 40
    assert RowSample.of(read_outcomes(np.zeros(60), Samples(draws)), RNG).rows.n == 24
    assert RowSample.of(rows(0, 60), RNG, known(0, 60)).rows.n == 40


def known(start, stop):
    """Return the numbers of the rows as a covariate, and as texts."""
    number = np.arange(start, stop)
    return read_covariate_table({"x": number, "name": number.astype(str)}, number.size, None, is_batch=True)


def test_covariates_stay_with_their_rows(monkeypatch):
    monkeypatch.setattr(row_sample, "MAX_ROWS_KEPT", 50)
    sample = RowSample.zero()
    for start, stop in ((0, 30), (30, 35), (35, 200)):
        sample = sample + RowSample.of(rows(start, stop), RNG, known(start, stop))
    assert Summary.from_bytes(sample.to_bytes()) == sample
    number, covariates = np.rint(sample.rows.p * 1024), sample.covariates
    assert number.size == 50
    assert (covariates.x[:, 0] == number).all()
    assert len(covariates.labels[1]) == 50
    assert [covariates.labels[1][int(code)] for code in covariates.x[:, 1]] == number.astype(int).astype(str).tolist()


def test_bytes():
    sample = RowSample.of(rows(0, 30), RNG)
    assert sample.covariates is None
    assert Summary.from_bytes(sample.to_bytes()) == sample
