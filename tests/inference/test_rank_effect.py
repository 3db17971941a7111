"""Shift and spread that uneven ranks stand for."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calibrant import Ranks
from calibrant.inference.rank_effect import rank_effect

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = [
    value
    for value in json.loads((REFERENCES / "samples.json").read_text())["values"]
    if value["id"].startswith("components/")
]
M = 999
ranks = st.lists(st.integers(0, 9), min_size=1, max_size=30)


def predicted(shift=0.0, scale=1.0):
    """Return the ranks of standard normal outcomes under N(shift, scale), as weights of the ranks 0 to M."""
    ends = norm.cdf(norm.ppf(np.arange(M + 2) / (M + 1)) * scale + shift)
    return Ranks.of(np.arange(M + 1), M, weights=np.diff(ends))


@pytest.mark.parametrize("value", BOOK, ids=lambda value: value["id"])
def test_reference(value):
    with np.load(REFERENCES / "samples.npz") as arrays:
        rank = arrays[value["inputs"][0]]
        draws = arrays[value["inputs"][0].replace("ranks", "samples")].shape[1]
    found, expected = rank_effect(Ranks.of(rank, draws)), value["value"]
    np.testing.assert_allclose(found.Z.T, expected["Z"], rtol=value["rtol"], atol=1e-12)
    np.testing.assert_allclose(found.shift, expected["shift_sd"], rtol=value["rtol"])
    np.testing.assert_allclose(found.spread, expected["spread_multiplier"], rtol=value["rtol"])


@pytest.mark.parametrize(("scale", "needed"), [(0.7, 1.44), (1.4, 0.73)])
def test_spread_is_the_factor_that_predictions_need(scale, needed):
    assert rank_effect(predicted(scale=scale)).spread[0] == pytest.approx(needed, abs=0.005)


@pytest.mark.parametrize("shift", [-0.2, 0.05, 0.2])
def test_shift_is_positive_if_predictions_are_too_high(shift):
    assert rank_effect(predicted(shift=shift)).shift[0] == pytest.approx(shift, rel=0.02)


def test_small_departures_are_found_to_first_order():
    assert rank_effect(predicted(scale=0.99)).spread[0] == pytest.approx(1 / 0.99, abs=2e-4)


def test_by_hand():
    found = rank_effect(Ranks.of([1, 1, 1, 0], M=1))  # φ_1 = -1, 1
    assert found.Z.tolist() == [[1.0]]  # (3 - 1) / sqrt(4)
    assert found.shift[0] == pytest.approx(-np.sqrt(np.pi / 3) / 2)
    assert np.isnan(found.spread[0])


def test_variance_of_the_components_is_1():
    rng = np.random.default_rng(0)
    Z = rank_effect(Ranks.of(rng.integers(0, 10, (40, 4000)), M=9)).Z
    np.testing.assert_allclose(Z @ Z.T / 4000, np.eye(4), atol=0.1)


@given(ranks)
def test_mirrored_ranks_mirror_the_shift(rank):
    found, mirrored = (rank_effect(Ranks.of(r, M=9)) for r in (rank, [9 - r for r in rank]))
    np.testing.assert_allclose(mirrored.shift, -found.shift, atol=1e-12)
    np.testing.assert_allclose(mirrored.spread, found.spread, rtol=1e-12)


@given(ranks, st.floats(0.01, 100))
def test_a_common_factor_of_weights_changes_nothing(rank, factor):
    weights = np.linspace(1, 2, len(rank))
    found, scaled = (rank_effect(Ranks.of(rank, M=9, weights=w)) for w in (weights, weights * factor))
    for ours, theirs in zip(scaled, found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@given(ranks)
def test_weights_count_as_repeated_rows_in_the_effect(rank):
    times = np.arange(1, len(rank) + 1)
    weighted, repeated = Ranks.of(rank, M=9, weights=times), Ranks.of(np.repeat(rank, times), M=9)
    np.testing.assert_allclose(rank_effect(weighted).shift, rank_effect(repeated).shift, atol=1e-12)
