"""Options that many verbs share."""

from fractions import Fraction

import numpy as np
import pytest

from calibrant.inputs import check_choice, check_count, check_level, check_positive, generator


class TestChoice:
    @pytest.mark.parametrize("value", ["a", None, False])
    def test_accepts(self, value):
        check_choice("option", value, "a", None, False)

    @pytest.mark.parametrize("value", ["A", 0, True, np.array([1, 2]), 1.0])
    def test_refuses(self, refusal, value):
        message = refusal(check_choice, "option", value, "a", None, False)
        assert message.startswith("option must be one of 'a', None, False; got ")


class TestCount:
    @pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
    def test_accepts(self, value):
        count = check_count("bins", value)
        assert count == 3
        assert type(count) is int

    @pytest.mark.parametrize("value", [10.0, True, np.True_, "10", None, [10]])
    def test_refuses_what_is_no_whole_number(self, refusal, value):
        message = refusal(check_count, "bins", value)
        assert "bins must be a whole number of at least 1" in message
        assert type(value).__name__ in message

    @pytest.mark.parametrize("value", [0, -5])
    def test_refuses_too_few(self, refusal, value):
        assert refusal(check_count, "bins", value) == f"bins must be at least 1; got {value}"


class TestPositive:
    @pytest.mark.parametrize("value", [3, 0.5, np.float32(0.5), np.int8(3), Fraction(1, 2), 1e-300])
    def test_accepts(self, value):
        found = check_positive("bound", value, "such as 2.0")
        assert found == float(value)
        assert type(found) is float

    @pytest.mark.parametrize(
        "value", [0, -1.0, float("nan"), np.inf, True, np.True_, "2", None, [2.0], 1j, pytest.param(10**400, id="huge")]
    )
    def test_refuses(self, refusal, value):
        message = refusal(check_positive, "bound", value, "such as 2.0")
        assert message.startswith("bound must be a number above 0, such as 2.0; got ")


class TestLevel:
    @pytest.mark.parametrize("level", [0.95, np.float32(0.5), 1e-9])
    def test_accepts(self, level):
        assert check_level(level) == float(level)

    @pytest.mark.parametrize("level", [0, 1, 95, -0.1, float("nan"), True, "0.95", None])
    def test_refuses(self, refusal, level):
        message = refusal(check_level, level)
        assert "strictly between 0 and 1, such as 0.95" in message
        assert repr(level) in message


class TestGenerator:
    def test_a_generator_is_used_as_it_is(self):
        rng = np.random.default_rng(5)
        assert generator(rng) is rng

    @pytest.mark.parametrize("seed", [7, np.int64(7)])
    def test_a_number_seeds_a_new_one(self, seed):
        assert generator(seed).random() == np.random.default_rng(7).random()

    @pytest.mark.parametrize("rng", [None, True, -1, 0.5, "seed", np.random.RandomState(0)])
    def test_refuses(self, refusal, rng):
        message = refusal(generator, rng)
        assert "a numpy Generator or a whole number of at least 0" in message
        assert type(rng).__name__ in message
