"""Random divisions of pooled points."""

import numpy as np
import pytest

from calibrant.primitives import relabellings as module
from calibrant.primitives.relabellings import MOST_BYTES, NUMBERS, check_divisions, relabellings


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 9), (9, 1), (30, 40)])
def test_sizes(n, m):
    found = relabellings(n, m, 50, np.random.default_rng(0))
    assert found.shape == (50, n + m)
    assert (found.sum(axis=1) == n).all()
    assert set(np.unique(found)) <= {0, 1}


def test_every_division_is_equally_likely():
    found = relabellings(2, 2, 60_000, np.random.default_rng(0))
    codes, counts = np.unique(found @ [8, 4, 2, 1], return_counts=True)
    assert len(codes) == 6
    assert (abs(counts - 10_000) < 5 * np.sqrt(10_000 * 5 / 6)).all()


def test_memory_is_cut_but_not_the_stream(monkeypatch):
    whole = relabellings(3, 4, 20, np.random.default_rng(0))
    monkeypatch.setattr(module, "MOST_KEYS", 7)
    np.testing.assert_array_equal(relabellings(3, 4, 20, np.random.default_rng(0)), whole)


@pytest.mark.parametrize("N", [4, 10_000])
def test_no_more_than_memory_holds(N, refusal):
    most = MOST_BYTES // (N + NUMBERS)
    check_divisions(most, N)
    message = refusal(relabellings, 2, N - 2, most + 1, np.random.default_rng(0))
    assert f"{most + 1:,} random divisions of the points are more than are held at once, {most:,}" in message
    assert "Pass fewer resamples" in message
