"""What differs from batch to batch: random generators, labels."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cb
from calibrant.engines.batches import picklable_options, with_batch_rng
from calibrant.inputs.columns import Batch
from calibrant.inputs.groups import read_groups
from calibrant.inputs.options import seed_of
from calibrant.integrations.stream import StreamingMetric

N, ROWS, M = 200, 10, 9
TIED = (np.zeros(ROWS), cb.Samples(np.zeros((ROWS, M))))  # chance alone decides the ranks


def chi2(counts):
    expected = N * ROWS / (M + 1)
    return ((counts.ravel() - expected) ** 2 / expected).sum()


def test_ties_of_equal_batches_are_broken_differently():
    counts = cb.summaries.fold("ranks", [TIED] * N, rng=0).counts
    assert counts.sum() == N * ROWS
    assert chi2(counts) < 30  # had all batches one stream, counts would be multiples of 200
    assert np.array_equal(counts, cb.summaries.fold("ranks", [TIED] * N, rng=0).counts)
    assert not np.array_equal(counts, cb.summaries.fold("ranks", [TIED] * N, rng=1).counts)
    stream = StreamingMetric("uniformity_test", rng=0)
    for _ in range(N):
        stream.update(*TIED)
    assert chi2(stream.summary.counts) < 30


@pytest.mark.parametrize("rng", [None, np.random.default_rng(3)], ids=["none", "generator"])
def test_what_is_no_number_stays(rng):
    assert with_batch_rng({"rng": rng}, Batch(*TIED))["rng"] is rng


def test_a_generator_travels_as_a_number():
    first, second = (picklable_options({"rng": np.random.default_rng(3), "bins": 4}) for _ in range(2))
    assert first == second
    assert isinstance(first["rng"], int)
    assert picklable_options({"bins": 4}) == {"bins": 4}
    assert picklable_options({"rng": None}) == {"rng": None}


def test_a_generator_gives_one_number_and_goes_on(refusal):
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    first = seed_of(rng)
    assert first == int(same.integers(2**63))
    assert seed_of(rng) != first
    assert seed_of(np.int8(4)) == 4
    assert "rng must be" in refusal(seed_of, "soon")
    assert "rng must be" in refusal(picklable_options, {"rng": True})


def test_a_day_is_one_label_as_date_datetime_and_moment():
    """Engines and libraries give the days of a column as different types."""
    day, other = date(2024, 1, 1), date(2024, 1, 2)
    forms = [
        [day, other],
        [datetime(2024, 1, 1), datetime(2024, 1, 2)],
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"),
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]"),
        pd.to_datetime(pd.Series(["2024-01-01", "2024-01-02"])),
        pl.Series([day, other]),
        pl.Series([datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        [day, datetime(2024, 1, 2)],
    ]
    groupings = [read_groups({"day": labels}, 2, intersections=1, keep=None)[0] for labels in forms]
    assert {tuple(grouping.names) for grouping in groupings} == {("day = 2024-01-01", "day = 2024-01-02")}
    noon = read_groups({"t": [datetime(2024, 1, 1, 12), day]}, 2, intersections=1, keep=None)[0]
    assert noon.names == ["t = 2024-01-01", "t = 2024-01-01T12:00:00"]
    bounds = cb.Intervals([0.0, 0.0], [1.0, 1.0], 0.5)
    batches = [Batch([0.5, 2.0], bounds, groups={"day": labels}) for labels in forms]
    assert cb.measure("coverage_gap", batches)["coverage_gap"].value == 0.5
