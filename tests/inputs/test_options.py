"""Options that many verbs share."""

from fractions import Fraction

import numpy as np
import pytest

from calibrant.inputs.options import (
    check_choice,
    check_count,
    check_level,
    check_positive,
    generator,
    levels_shown,
    place_of,
    read_levels,
)


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

    def test_refuses_too_many(self, refusal):
        """Repeats are kept in memory, so fewer of them are accepted."""
        assert check_count("bins", 10**9) == 10**9
        assert "bins must be at most 1,000,000,000" in refusal(check_count, "bins", 10**9 + 1)
        assert "resamples must be at most 1,000,000" in refusal(check_count, "resamples", 10**9)


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
    @pytest.mark.parametrize("level", [0.95, np.float32(0.5), 1 - 1e-9])
    def test_accepts(self, level):
        assert check_level(level) == float(level)

    @pytest.mark.parametrize("level", [0, 1, 95, -0.1, float("nan"), True, "0.95", None])
    def test_refuses(self, refusal, level):
        message = refusal(check_level, level)
        assert "strictly between 0 and 1, such as 0.95" in message
        assert repr(level) in message

    @pytest.mark.parametrize(("alpha", "meant"), [(0.05, "0.95"), (0.1, "0.9"), (1e-300, "0.95")])
    def test_error_rates_are_refused_with_a_question(self, refusal, alpha, meant):
        assert refusal(check_level, alpha).endswith(f"never alpha; got {alpha:g}. Did you mean {meant}?")


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


class TestRead:
    def test_a_number(self):
        levels, single = read_levels(0.9)
        assert levels.tolist() == [0.9]
        assert single

    @pytest.mark.parametrize("given", [[0.9, 0.5], (0.9, 0.5), np.array([0.9, 0.5])])
    def test_a_list_keeps_its_order(self, given):
        levels, single = read_levels(given)
        assert levels.tolist() == [0.9, 0.5]
        assert not single

    def test_a_numpy_number_is_a_number(self):
        assert read_levels(np.float64(0.5))[1]
        assert read_levels(np.array(0.5))[1]

    def test_float32(self):
        assert read_levels(np.array([0.5, 0.75], np.float32))[0].dtype == np.float64

    def test_nobody_can_write_to_them(self):
        given = np.array([0.9, 0.5])
        levels, _ = read_levels(given)
        assert not levels.flags.writeable
        given[0] = 0.1
        assert levels[0] == 0.9


class TestRefused:
    @pytest.mark.parametrize("level", [90, 95.0, 2, 100])
    def test_percentages(self, level, refusal):
        message = refusal(read_levels, level)
        assert message == f"level must lie strictly between 0 and 1; got {level:.1f}. Divide percentages by 100"

    @pytest.mark.parametrize("level", [0, 1, -0.1, 0.0, 1.0, 101, np.nan, np.inf])
    def test_outside(self, level, refusal):
        message = refusal(read_levels, level)
        assert message.startswith("level must lie strictly between 0 and 1; got ")
        assert message.endswith("It is nominal coverage, such as 0.9, never alpha")

    def test_the_name_is_that_of_the_caller(self, refusal):
        assert refusal(read_levels, [0.5, 2], "levels").startswith("levels must lie")

    @pytest.mark.parametrize("levels", [[0.9, 0.9], [0.1, 1 - 0.9], [0.5, 0.2, 0.5 + 1e-12]])
    def test_a_value_twice(self, levels, refusal):
        assert refusal(read_levels, levels).startswith("level must not contain a value twice; got [")

    @pytest.mark.parametrize("levels", [[], [[0.5]], np.zeros((2, 2))])
    def test_shapes(self, levels, refusal):
        assert refusal(read_levels, levels).startswith("level must be a number or a list of numbers; got shape")

    @pytest.mark.parametrize("levels", [True, "0.9", ["0.9"], None, [None]])
    def test_no_numbers(self, levels, refusal):
        assert "level" in refusal(read_levels, levels)


class TestPlace:
    LEVELS = np.array([0.1, 0.9, 0.5])

    def test_found_after_rounding(self):
        assert place_of(1 - 0.9, self.LEVELS) == 0
        assert place_of(0.5, self.LEVELS) == 2

    def test_not_there(self, refusal):
        assert refusal(place_of, 0.8, self.LEVELS) == "there is no level 0.8; there are 0.1, 0.9, 0.5"

    def test_one_at_a_time(self, refusal):
        assert refusal(place_of, [0.1, 0.9], self.LEVELS) == "level must be one number; got [0.1, 0.9]"


class TestShown:
    def test_a_few_one_by_one(self):
        assert levels_shown(np.array([0.9]), True) == "level=0.9"
        assert levels_shown(np.array([0.9]), False, "levels") == "levels=[0.9]"
        assert levels_shown(np.array([0.3, 1 - 0.9]), False) == "level=[0.3, 0.1]"

    def test_many_by_their_ends(self):
        assert levels_shown(np.linspace(0.999, 0.001, 999), False) == "999 levels from 0.001 to 0.999"
