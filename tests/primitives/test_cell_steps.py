"""What the table of steps tells of a score is true, and it tells of nearly all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.primitives.bins import grid_edges, grid_uppers
from calibrant.primitives.cell_steps import LAST_STEP, STEP_BITS, UNSURE, cell_steps, place_of

DTYPES = ["float16", "float32", "float64"]


def told(p):
    """Return which scores the table tells of, and what it tells."""
    entries, beyond = cell_steps(p.dtype.name)
    q = p.astype(float)
    place = place_of(np.minimum(q, 1 - q)) + beyond * (q > 0.5)
    entry, step = entries[place >> STEP_BITS].astype(int), place & LAST_STEP
    edges, one, other = entry >> 2 * STEP_BITS, entry >> STEP_BITS & LAST_STEP, entry & LAST_STEP
    sure = (edges != UNSURE) & (step != one) & (step != other)
    passed = edges + (step > one) + (step > other)
    return sure, np.where(q > 0.5, grid_edges().size - 2 - passed, passed)


def check(p):
    sure, cell = told(p)
    assert cell[sure].tolist() == np.searchsorted(grid_uppers(p.dtype.name), p[sure].astype(float)).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_near_every_edge_and_every_bucket(dtype):
    one = np.ones((), dtype)
    marks = np.concatenate([grid_edges(), np.arange(0, 2**12) / 2**13, 1 - np.arange(0, 2**12) / 2**13]).astype(dtype)
    away = marks.astype(float)[:, None] + [-(2.0**-23), 2.0**-23]
    near = [marks, np.nextafter(marks, one), np.nextafter(marks, -one), np.clip(away, 0, 1).ravel().astype(dtype)]
    scores = np.concatenate(near)
    check(scores[(scores >= 0) & (scores <= 1)])


def test_every_float16_there_is():
    check(np.arange(0x3C00 + 1, dtype="uint16").view("float16"))


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_any_score(dtype, data):
    width = int(dtype[5:])
    scores = data.draw(st.lists(st.floats(0, 1, width=width, allow_subnormal=True), min_size=1, max_size=50))
    check(np.array(scores, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_scores_are_left_to_look_at(dtype):
    rng = np.random.default_rng(0)
    tiny = 2.0 ** -rng.uniform(0, 24, 100_000)
    scores = np.concatenate([rng.random(100_000), tiny]).astype(dtype)
    assert np.mean(~told(scores)[0]) < 0.003


def test_both_halves_of_double_precision_share_one_table():
    assert cell_steps("float64").beyond == 0
    assert cell_steps("float64").entries.nbytes < 20_000  # the nearest cache holds 32 kB or more
