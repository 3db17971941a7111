"""Exact bands of histograms: reference values, whole numbers, a simulation."""

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.binomial_tails import binomial_tails
from calibrant.primitives.histogram_band import histogram_band, probability_inside

REFERENCES = Path(__file__).parents[1] / "references" / "samples.json"
BOOK = {entry["id"]: entry for entry in json.loads(REFERENCES.read_text())["values"]}


def share_inside(N, sizes, lower, upper):
    """Return the share of all vectors of N ranks whose bins, of so many ranks each, have counts within limits."""
    ways = {0: 1}
    for size, low, high in zip(sizes, lower, upper, strict=True):
        arrived = {}
        for k, way in ways.items():
            for c in range(low, min(high, N - k) + 1):
                arrived[k + c] = arrived.get(k + c, 0) + way * comb(N - k, c) * size**c
        ways = arrived
    return Fraction(ways.get(N, 0), sum(sizes) ** N)


@pytest.mark.parametrize("row", BOOK["histogram_band"]["value"], ids=lambda row: f"{row['N']}-{row['bins']}")
def test_reference_bands(row):
    band = histogram_band(row["N"], np.array(row["sizes"]) / row["ranks"], row["level"])
    assert band.gamma == pytest.approx(row["gamma"], rel=1e-12, abs=0)
    assert band.coverage == pytest.approx(row["coverage"], abs=1e-11)
    assert band.lower.tolist() == row["lower"]
    assert band.upper.tolist() == row["upper"]


@given(
    N=st.integers(1, 60),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    limits=st.dictionaries(st.integers(1, 5), st.tuples(st.integers(0, 30), st.integers(0, 60)), min_size=5),
)
def test_whole_numbers(N, sizes, limits):
    different, which, bins = np.unique(sizes, return_inverse=True, return_counts=True)
    lower, upper = np.array([limits[size] for size in different]).T
    exact = share_inside(N, sizes, lower[which].tolist(), upper[which].tolist())
    found = probability_inside(N, different / sum(sizes), bins, lower, upper)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("level", [0.3, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(("N", "sizes"), [(40, [1] * 5), (25, [3, 2, 3, 2]), (60, [1, 7]), (7, [2, 1, 1, 2, 1])])
def test_no_other_g_will_do(N, sizes, level):
    """All attained tail values are tried."""
    m = sum(sizes)
    mass = [[comb(N, c) * b**c * (m - b) ** (N - c) for c in range(N + 1)] for b in sizes]
    values = [[2 * min(sum(row[: c + 1]), sum(row[c:])) for c in range(N + 1)] for row in mass]
    best = None
    for g in sorted({v for row in values for v in row}):
        inside = [[c for c, v in enumerate(row) if v >= g] for row in values]
        if all(inside) and share_inside(N, sizes, [c[0] for c in inside], [c[-1] for c in inside]) >= Fraction(level):
            best = g, inside
    band = histogram_band(N, np.array(sizes) / m, level)
    assert band.gamma == pytest.approx(float(Fraction(best[0], m**N)), rel=1e-12, abs=0)
    assert band.lower.tolist() == [c[0] for c in best[1]]
    assert band.upper.tolist() == [c[-1] for c in best[1]]
    exact = share_inside(N, sizes, band.lower.tolist(), band.upper.tolist())
    assert band.coverage == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_share_of_simulated_histograms_in_the_band():
    sizes, N, repeats = np.array([14, 14, 14, 15, 14, 14, 15]), 300, 20_000
    band = histogram_band(N, sizes / 100, 0.9)
    counts = np.random.default_rng(1).multinomial(N, sizes / 100, repeats)
    inside = ((counts >= band.lower) & (counts <= band.upper)).all(axis=1).mean()
    assert inside == pytest.approx(band.coverage, abs=4 * np.sqrt(0.09 / repeats))


def test_many_rows_and_bins():
    """Bins are almost independent: P(inside) is near the product of theirs."""
    N, bins = 10**6, 1000
    band = histogram_band(N, np.full(bins, 1 / bins), 0.95)
    low, _ = binomial_tails(band.lower[0] - 1, N, 1 / bins)
    _, high = binomial_tails(band.upper[0] + 1, N, 1 / bins)
    assert 0.95 <= band.coverage < 0.951
    assert band.coverage == pytest.approx((1 - low - high) ** bins, abs=3e-4)


def test_one_bin_holds_all():
    band = histogram_band(9, [1.0], 0.95)
    assert (band.lower.tolist(), band.upper.tolist(), band.coverage) == ([9], [9], pytest.approx(1))


def test_bands_are_remembered_and_read_only():
    band = histogram_band(30, [0.25, 0.75], 0.9)
    assert histogram_band(30, np.array([0.25, 0.75]), 0.9) is band
    with pytest.raises(ValueError, match="read-only"):
        band.upper[0] = 3
    assert band.lower.dtype == band.upper.dtype == np.int64
