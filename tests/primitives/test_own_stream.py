"""A second source of chance."""

import numpy as np
import pytest

from calibrant.primitives.own_stream import own_stream


def test_a_whole_number_gives_chance_of_its_own():
    first, second = np.random.default_rng(5).random(1000), own_stream(5).random(1000)
    assert not np.isin(first, second).any()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_repeats_itself():
    assert own_stream(5).random() == own_stream(np.int64(5)).random()
    assert own_stream(None).random() == own_stream(0).random()
    assert own_stream(5).random() != own_stream(6).random()


def test_a_generator_goes_on():
    source = np.random.default_rng(5)
    assert own_stream(source) is source


@pytest.mark.parametrize("rng", [True, -1, "5", 0.5], ids=repr)
def test_refused(rng, refusal):
    assert "rng must be" in refusal(own_stream, rng)
