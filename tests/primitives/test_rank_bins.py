"""Ranks in bins: which bin a rank falls into, how many bins there are, and Pearson's statistic."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.rank_bins import bin_counts, chi2, default_bins, is_large, pearson, rank_bins, read_bins

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("histogram/")
]


def counted(value):
    with np.load(REFERENCES / "samples.npz") as arrays:
        rank = arrays[value["inputs"][0]].astype(int)
        M = arrays[value["inputs"][0].replace("ranks", "samples")].shape[1]
    return np.stack([np.bincount(column, minlength=M + 1) for column in rank.reshape(len(rank), -1).T], axis=1)


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    counts, expected = counted(value), value["value"]
    bins, n, M = int(value["id"].split("/")[1]), counts[:, 0].sum(), len(counts) - 1
    share = rank_bins(M, bins) / (M + 1)
    np.testing.assert_array_equal(bin_counts(counts, bins).T, expected["counts"])
    np.testing.assert_allclose(n * share, expected["expected"], rtol=value["rtol"])
    statistic, pvalue = chi2(bin_counts(counts, bins), n * share, None)
    np.testing.assert_allclose(statistic, expected["chi2"], rtol=value["rtol"])
    np.testing.assert_allclose(pvalue, expected["pvalue"], rtol=value["rtol"])


@given(M=st.integers(1, 80), data=st.data())
def test_a_rank_falls_into_its_bin_by_whole_numbers(M, data):
    bins = data.draw(st.integers(1, M + 1))
    place = ((np.arange(M + 1) + 1) * bins - 1) // (M + 1)
    np.testing.assert_array_equal(rank_bins(M, bins), np.bincount(place, minlength=bins))
    counts = np.arange(1, 2 * M + 3).reshape(M + 1, 2)
    expected = np.stack([np.bincount(place, column, minlength=bins) for column in counts.T], axis=1)
    np.testing.assert_array_equal(bin_counts(counts, bins), expected)


def test_bins_that_do_not_divide_the_ranks():
    assert rank_bins(99, 7).tolist() == [14, 14, 14, 15, 14, 14, 15]


@pytest.mark.parametrize(
    ("n", "M", "bins"),
    [
        (10**6, 999, 20),
        (200, 99, 10),  # 200 // 20 rows
        (40, 99, 5),  # never fewer than five
        (10**6, 99, 20),
        (10**6, 59, 20),
        (10**6, 32, 11),  # 33 = 3 · 11
        (10**6, 100, 20),  # 101 is prime
        (10**6, 12, 13),  # one bin per rank
        (10, 1, 2),
        (10, 2, 3),
    ],
)
def test_default(n, M, bins):
    assert default_bins(n, M) == read_bins(None, n, M) == bins


@given(n=st.integers(1, 10**5), M=st.integers(1, 500))
def test_default_divides_where_it_can(n, M):
    start, found = min(20, max(5, n // 20), M + 1), default_bins(n, M)
    divisors = [k for k in range(1, start + 1) if (M + 1) % k == 0 and k >= start / 2]
    assert found == (max(divisors) if divisors else start)


def test_bins_that_are_refused(refusal):
    assert "at most 10" in refusal(read_bins, 11, 100, 9)
    assert "at least 2" in refusal(read_bins, 1, 100, 9)
    assert "whole number" in refusal(read_bins, 2.5, 100, 9)


def test_few_expected_rows_are_simulated():
    counts, expected = np.array([[3, 1], [0, 1], [0, 1]]), np.full(3, 1.0)
    assert not is_large(expected)
    statistic, pvalue = chi2(counts, expected, 3, resamples=4999)
    assert statistic.tolist() == [6.0, 0.0]
    assert pvalue[0] == pytest.approx(3 / 27, abs=0.02)  # all three rows in one bin
    assert pvalue[1] == 1.0


def test_simulation_repeats_itself_and_is_never_0():
    counts, expected = np.array([[40], [0]]), np.array([4.0, 36.0])
    first, again = (chi2(counts, expected, rng)[1][0] for rng in (None, 0))
    assert first == again == 1 / 1000


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any))
def test_statistic_does_not_depend_on_the_order_of_equal_bins(counts):
    expected = np.full(len(counts), sum(counts) / len(counts))
    ours, theirs = (pearson(np.array(c)[:, None], expected)[0] for c in (counts, counts[::-1]))
    assert ours == pytest.approx(theirs, rel=1e-12)
