"""Options that many verbs share."""

from fractions import Fraction
from functools import partial

import numpy as np

from calibrant.inputs import options


def test_choice(refuses):
    for value in ("a", None, False):
        options.check_choice("option", value, "a", None, False)
    words = "option must be one of 'a', None, False; got "
    others = ("A", 0, True, np.array([1, 2]), 1.0)
    refuses(lambda value: options.check_choice("option", value, "a", None, False), [(value, words) for value in others])


def test_count(refuses):
    for value in (3, np.int8(3), np.uint64(3)):
        count = options.check_count("bins", value)
        assert (count, type(count)) == (3, int)
    words = "bins must be a whole number of at least 1"
    cases = [(value, [words, type(value).__name__]) for value in (10.0, True, np.True_, "10", None, [10])]
    cases += [(value, f"bins must be at least 1; got {value}") for value in (0, -5)]
    refuses(partial(options.check_count, "bins"), [*cases, (10**9 + 1, "bins must be at most 1,000,000,000")])
    assert options.check_count("bins", 10**9) == 10**9
    # Repeats are kept in memory, so fewer of them are accepted.
    assert options.check_count("resamples", 10**6) == 10**6
    refuses(options.check_count, [("resamples", 10**6 + 1, "resamples must be at most 1,000,000; got 1000001")])


def test_positive(refuses):
    for value in (3, 0.5, np.float32(0.5), np.int8(3), Fraction(1, 2), 1e-300):
        found = options.check_positive("bound", value, "such as 2.0")
        assert (found, type(found)) == (float(value), float)
    others = (0, -1.0, float("nan"), np.inf, True, np.True_, "2", None, [2.0], 1j, 10**400)
    words = "bound must be a number above 0, such as 2.0; got "
    refuses(lambda value: options.check_positive("bound", value, "such as 2.0"), [(value, words) for value in others])


def test_level(refuses):
    for level in (0.95, np.float32(0.5), 1 - 1e-9):
        assert options.check_level(level) == float(level)
    words, others = "strictly between 0 and 1, such as 0.95", (0, 1, 95, -0.1, float("nan"), True, "0.95", None)
    refuses(options.check_level, [(level, [words, repr(level)]) for level in others])
    rates = ((0.05, "0.95"), (0.1, "0.9"), (1e-300, "0.95"))
    refuses(options.check_level, [(a, f"never alpha; got {a:g}. Did you mean {meant}?") for a, meant in rates])


def test_generator(refuses):
    rng = np.random.default_rng(5)
    assert options.generator(rng) is rng
    for seed in (7, np.int64(7)):
        assert options.generator(seed).random() == np.random.default_rng(7).random()
    words, others = "a numpy Generator or a whole number of at least 0", (None, True, -1, 0.5, "seed")
    others = [*others, np.random.RandomState(0)]
    refuses(options.generator, [(value, [words, type(value).__name__]) for value in others])


LEVELS = [
    *((n, f"level must lie strictly between 0 and 1; got {n:.1f}. Divide perc") for n in (90, 95.0, 2, 100)),
    *(
        (level, ["level must lie strictly between 0 and 1; got ", "It is nominal coverage, such as 0.9, never alpha"])
        for level in (0, 1, -0.1, 0.0, 1.0, 101, np.nan, np.inf)
    ),
    ([0.5, 2], "levels", "levels must lie"),  # the name is that of the caller
    *(
        (levels, "level must not contain a value twice; got [")
        for levels in ([0.9, 0.9], [0.1, 1 - 0.9], [0.5, 0.2, 0.5 + 1e-12])
    ),
    *((levels, "level must be a number or a list of numbers; got shape") for levels in ([], [[0.5]], np.zeros((2, 2)))),
    *((levels, "level") for levels in (True, "0.9", ["0.9"], None, [None])),
]


def test_levels(refuses):
    for make in (list, tuple, np.array):
        levels, single = options.read_levels(make([0.9, 0.5]))
        assert (levels.tolist(), single) == ([0.9, 0.5], False)
    for number in (0.5, np.float64(0.5), np.array(0.5)):
        levels, single = options.read_levels(number)
        assert (levels.tolist(), single) == ([0.5], True)
    assert options.read_levels(np.array([0.5, 0.75], np.float32))[0].dtype == np.float64
    given = np.array([0.9, 0.5])
    levels, _ = options.read_levels(given)
    given[0] = 0.1
    assert levels[0] == 0.9
    assert not levels.flags.writeable
    refuses(options.read_levels, LEVELS)


def test_place(refuses):
    levels = np.array([0.1, 0.9, 0.5])
    assert (options.place_of(1 - 0.9, levels), options.place_of(0.5, levels)) == (0, 2)
    missing = (0.8, levels, "there is no level 0.8; there are 0.1, 0.9, 0.5")
    refuses(options.place_of, [missing, ([0.1, 0.9], levels, "level must be one number; got [0.1, 0.9]")])


def test_shown():
    assert options.levels_shown(np.array([0.9]), True) == "level=0.9"
    assert options.levels_shown(np.array([0.9]), False, "levels") == "levels=[0.9]"
    assert options.levels_shown(np.array([0.3, 1 - 0.9]), False) == "level=[0.3, 0.1]"
    assert options.levels_shown(np.linspace(0.999, 0.001, 999), False) == "999 levels from 0.001 to 0.999"
