"""Chance travels as whole numbers."""

import numpy as np

from calibrant.dask.chance import whole


def test_a_generator_gives_one_number_and_goes_on():
    rng, same = np.random.default_rng(5), np.random.default_rng(5)
    first = whole(rng)
    assert first == int(same.integers(2**63))
    assert whole(rng) != first
    assert whole(4) == 4


def test_what_is_no_chance_is_refused(refusal):
    assert "rng must be" in refusal(whole, "soon")
