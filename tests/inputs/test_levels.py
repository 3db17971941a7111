"""Nominal levels: strictly inside (0, 1), no value twice, compared after rounding."""

import numpy as np
import pytest

from calibrant.inputs.levels import levels_shown, place_of, read_levels


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
        assert refusal(read_levels, levels).startswith("level must not hold a value twice; got [")

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
