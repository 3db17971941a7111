"""Normal and Laplace laws by row number: units, shapes, symmetry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.inputs.laws import Laplace, Normal
from calibrant.kernels import Exponential, Gaussian
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expectations.line import LineMeans

RNG = np.random.default_rng(4)
CENTRE, SPREAD = RNG.normal(size=6) * 3, np.exp(RNG.normal(size=6))
SPREAD[3] = SPREAD[2] * (1 + 1e-8)
ROWS, COLUMNS = np.arange(6)[:, None], np.arange(6)[None, :]
CASES = [(law, kernel) for law in (Normal, Laplace) for kernel in (Gaussian, Exponential)]


@pytest.mark.parametrize(("law", "kernel"), CASES)
def test_tiles_and_pairs_agree(law, kernel):
    means = target_means(law(CENTRE, SPREAD), kernel(1.7))
    assert isinstance(means, LineMeans)
    tile = means.double(ROWS, COLUMNS)
    assert tile.shape == (6, 6)
    np.testing.assert_allclose(tile, tile.T, rtol=1e-13)
    assert ((tile > 0) & (tile < 1)).all()
    i, j = (rows.ravel() for rows in np.broadcast_arrays(ROWS, COLUMNS))
    np.testing.assert_allclose(means.double(i, j).reshape(6, 6), tile, rtol=1e-14)
    np.testing.assert_allclose(means.own, np.diag(tile), rtol=1e-13)
    np.testing.assert_allclose(means.alone(np.arange(6)), np.diag(tile), rtol=1e-13)
    t = RNG.normal(size=6)
    single = means.single(ROWS, t[None, :])
    np.testing.assert_allclose(means.single(COLUMNS, t[:, None]), single.T, rtol=1e-14)
    np.testing.assert_allclose(means.single(np.arange(6), t), np.diag(single), rtol=1e-13)


@pytest.mark.parametrize(("law", "kernel"), CASES)
def test_units_and_origin_do_not_matter(law, kernel):
    means = target_means(law(CENTRE, SPREAD), kernel(1.7))
    moved = target_means(law(8 * CENTRE + 64, 8 * SPREAD), kernel(8 * 1.7))
    np.testing.assert_allclose(moved.double(ROWS, COLUMNS), means.double(ROWS, COLUMNS), rtol=1e-12)
    np.testing.assert_allclose(
        moved.single(ROWS, 8 * CENTRE[COLUMNS] + 64), means.single(ROWS, CENTRE[COLUMNS]), rtol=1e-12
    )


@pytest.mark.parametrize(("law", "kernel"), CASES)
def test_embeddings_are_positive_semidefinite(law, kernel):
    tile = target_means(law(CENTRE, SPREAD), kernel(1.7)).double(ROWS, COLUMNS)
    assert np.linalg.eigvalsh(tile).min() > -1e-15


@given(st.sampled_from(CASES), st.floats(-300, 300), st.floats(-300, 300), st.floats(-150, 150))
def test_any_magnitude(case, place, spread, length):
    law, kernel = case
    means = target_means(law([10.0**place, -(10.0**place)], 10.0**spread), kernel(10.0**length))
    rows = np.arange(2)
    for value in (means.double(rows[:, None], rows[None]), means.single(rows, np.zeros(2)), means.alone(rows)):
        assert ((value >= 0) & (value <= 1 + 1e-15)).all()


@pytest.mark.parametrize(("law", "kernel"), CASES)
def test_against_draws(law, kernel):
    row = law(CENTRE[:2], SPREAD[:2])
    means = target_means(row, kernel(1.7))
    z = row.sample(200_000, 1)
    profile = kernel(1.7).of_distance
    assert means.double(np.array(0), np.array(1)) == pytest.approx(profile(np.abs(z[0] - z[1])).mean(), abs=5e-3)
    assert means.single(np.array(0), np.array(0.3)) == pytest.approx(profile(np.abs(z[0] - 0.3)).mean(), abs=5e-3)
