"""Batches that are alike do not share their chance."""

import numpy as np
import pytest

import calibrant as cb
from calibrant.engines.own_chance import that_travels, with_own_chance
from calibrant.inputs.columns import Batch
from calibrant.inputs.options import seed_of
from calibrant.integrations.stream import StreamingMetric

N, ROWS, M = 200, 10, 9
TIED = (np.zeros(ROWS), cb.Samples(np.zeros((ROWS, M))))  # chance alone decides the ranks


def chi2(counts):
    expected = N * ROWS / (M + 1)
    return ((counts.ravel() - expected) ** 2 / expected).sum()


def test_ties_of_equal_batches_are_broken_differently():
    counts = cb.fold("ranks", [TIED] * N, rng=0).counts
    assert counts.sum() == N * ROWS
    assert chi2(counts) < 30  # had all batches one stream, counts would be multiples of 200
    assert np.array_equal(counts, cb.fold("ranks", [TIED] * N, rng=0).counts)
    assert not np.array_equal(counts, cb.fold("ranks", [TIED] * N, rng=1).counts)


def test_a_stream_too():
    stream = StreamingMetric("uniformity_test", rng=0)
    for _ in range(N):
        stream.update(*TIED)
    assert chi2(stream.summary.counts) < 30


@pytest.mark.parametrize("rng", [None, np.random.default_rng(3)], ids=["none", "generator"])
def test_what_is_no_number_stays(rng):
    assert with_own_chance({"rng": rng}, Batch(*TIED))["rng"] is rng


def test_a_generator_travels_as_a_number():
    first, second = (that_travels({"rng": np.random.default_rng(3), "bins": 4}) for _ in range(2))
    assert first == second
    assert isinstance(first["rng"], int)
    assert that_travels({"bins": 4}) == {"bins": 4}
    assert that_travels({"rng": None}) == {"rng": None}


def test_a_generator_gives_one_number_and_goes_on():
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    first = seed_of(rng)
    assert first == int(same.integers(2**63))
    assert seed_of(rng) != first
    assert seed_of(np.int8(4)) == 4


def test_what_is_no_chance_is_refused_before_rows_are_read(refusal):
    assert "rng must be" in refusal(seed_of, "soon")
    assert "rng must be" in refusal(that_travels, {"rng": True})
