"""Worst-slab coverage."""

from fractions import Fraction

import numpy as np
import pytest
from tests.references.intervals import CASES, DATA, judged

from calibrant import Intervals, Sets
from calibrant.errors import NotApplicableError
from calibrant.regions.slabs import projected, worst_slab, worst_slab_coverage, worst_slabs

SLAB = DATA["slab20"]
DEFAULTS = {
    "mass": 0.1,
    "directions": 1000,
    "search": 0.25,
    "standardize": True,
    "weights": None,
    "classes": None,
    "rng": None,
}


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    return *judged(rng.random(300) < np.where(x[:, 1] > 0.5, 0.5, 0.95)), x


def test_in_sample_of_the_reference():
    given = DATA["gap4"]
    prediction = Intervals(given["lower"], given["upper"], given["level"])
    found = worst_slab_coverage(given["y"], prediction, features=given["x"], mass=0.5, search=None)
    assert found == CASES["wsc-doc"]
    y, prediction = judged(SLAB["covered"])
    options = {"mass": 0.25, "search": None, "standardize": False}
    assert worst_slab_coverage(y, prediction, features=SLAB["x"], **options) == CASES["wsc-in-sample"]
    y, prediction = judged([1] * 9 + [0])
    assert worst_slab_coverage(y, prediction, features=np.zeros((10, 1)), mass=0.1, search=None) == CASES["wsc-ties"]


@pytest.mark.parametrize("seed", range(3))
def test_split_of_the_reference(seed):
    order = np.random.default_rng(seed).permutation(20)
    y, prediction = judged(np.array(SLAB["covered"])[order])
    search = np.array(SLAB["search"])[order]
    options = {"features": np.array(SLAB["x"])[order], "mass": 0.3, "search": search, "standardize": False}
    expected = CASES["wsc-split"]
    assert worst_slab_coverage(y, prediction, **options) == pytest.approx(expected["value"], rel=1e-10)
    (found,) = worst_slabs(y, prediction, **DEFAULTS | options)
    assert [found.slab.low, found.slab.high] == expected["slab"]
    assert found.slab.hits / found.slab.rows == expected["search_coverage"]
    assert found.rows == expected["evaluation_rows"]


def test_chance_needs_rng(refusal):
    y, prediction = judged(SLAB["covered"])
    assert "rng" in refusal(worst_slab_coverage, y, prediction, features=SLAB["x"])
    two = np.array(SLAB["x"]) * [1.0, -2.0]
    message = refusal(worst_slab_coverage, y, prediction, features=two, search=None)
    assert "draws directions at random; pass rng=0" in message
    assert worst_slab_coverage(y, prediction, features=two, search=None, directions=2) == 0.0


def test_the_same_rng_gives_the_same_value_in_any_order_of_the_rows(drawn):
    y, prediction, x = drawn
    options = {"directions": 20, "rng": 3}
    found = worst_slab_coverage(y, prediction, features=x, **options)
    assert found == worst_slab_coverage(y, prediction, features=x, **options)
    order = np.random.default_rng(1).permutation(300)
    assert found == worst_slab_coverage(y[order], prediction.take(order), features=x[order], **options)
    others = {worst_slab_coverage(y, prediction, features=x, directions=20, rng=seed) for seed in range(5)}
    assert len(others) > 1


def test_finds_the_slab(drawn):
    y, prediction, x = drawn
    (found,) = worst_slabs(y, prediction, **DEFAULTS | {"features": x, "directions": 3, "rng": 0, "search": 0.5})
    assert found.direction.tolist() == [0.0, 1.0, 0.0]
    assert found.hits / found.rows < 0.75


def test_units_of_features_do_not_matter(drawn):
    y, prediction, x = drawn
    options = {"directions": 30, "rng": 1}
    scaled = x * [1024.0, 0.5, 8.0]
    expected = worst_slab_coverage(y, prediction, features=x, **options)
    assert worst_slab_coverage(y, prediction, features=scaled, **options) == expected
    constant = np.column_stack([x, np.full(300, 0.1)])
    assert 0 <= worst_slab_coverage(y, prediction, features=constant, **options) <= 1


def test_directions_as_given():
    # Along (1, 1) the missed rows are next to each other; along both axes the others lie between them.
    x = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0]])
    y, prediction = judged([0, 1, 1, 0])
    options = {"features": x, "mass": 0.5, "search": None, "standardize": False}
    assert worst_slab_coverage(y, prediction, directions=[[1.0, 1.0]], **options) == 0.0
    assert worst_slab_coverage(y, prediction, directions=2, **options) == 0.5


def test_the_split_takes_the_bias_away():
    rng = np.random.default_rng(0)
    within, split = [], []
    for _ in range(30):
        x, (y, prediction) = rng.normal(size=(400, 4)), judged(rng.random(400) < 0.9)
        within.append(worst_slab_coverage(y, prediction, features=x, directions=20, search=None, rng=0))
        split.append(worst_slab_coverage(y, prediction, features=x, directions=20, rng=0))
    assert np.mean(within) < 0.8
    assert abs(np.mean(split) - 0.9) < 0.04


def test_several_levels_and_sets(drawn):
    y, prediction, x = drawn
    both = Intervals(np.tile(prediction.lower, 2) * [1, 20], np.tile(prediction.upper, 2) * [1, 20], [0.9, 0.99])
    found = worst_slab_coverage(y, both, features=x, directions=5, rng=0)
    assert found.shape == (2,)
    assert found[0] == worst_slab_coverage(y, prediction, features=x, directions=5, rng=0)
    assert found[1] == 1.0
    mask = np.array([[True, False], [False, True], [True, False], [True, True]])
    options = {"features": [0.0, 1.0, 2.0, 3.0], "mass": 0.5, "search": None, "classes": ["no", "yes"]}
    assert worst_slab_coverage(["no", "yes", "yes", "no"], Sets(mask), **options) == 0.5


def test_shares_are_rounded_before_the_ceiling():
    # 0.1 · 30 is 3.0000000000000004, and three rows are enough.
    covered = np.ones(30, bool)
    covered[10:13] = False
    y, prediction = judged(covered)
    assert worst_slab_coverage(y, prediction, features=np.arange(30.0), mass=0.1, search=None) == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": 0}, "mass must be a share"),
        ({"mass": 1.5}, "mass must be a share"),
        ({"directions": 0}, "directions must be at least 1"),
        ({"directions": 2.0}, "directions must be a whole number"),
        ({"directions": [[1.0, 2.0]]}, "an array (M, 1) for 1 features; got shape (1, 2)"),
        ({"directions": [[np.nan]]}, "directions must be finite; row 0, column 0 is nan"),
        ({"search": 1.0}, "strictly between 0 and 1"),
        ({"search": True}, "search must be a share of the rows"),
        ({"search": "half"}, "search must be a share of the rows"),
        ({"search": [True]}, "got an array of shape (1,)"),
        ({"search": [1, 0, 1, 0]}, "of type int64"),
        ({"search": [True] * 4}, "rows on both sides"),
        ({"features": [1.0, 2.0]}, "one row for each of the 4 outcomes; got shape (2, 1)"),
        ({"features": np.zeros((4, 2, 2))}, "features must have shape (n, D)"),
        ({"features": np.zeros((4, 0))}, "features must have shape (n, D)"),
        ({"features": [[0.0], [np.nan], [1.0], [2.0]]}, "features must be finite; row 1, column 0 is nan"),
        ({"features": [1e308, 0, 1, 2], "directions": [[1e10]], "standardize": False}, "too large"),
        ({"rng": "seed"}, "rng must be a numpy Generator"),
    ],
)
def test_refusals(refusal, options, words):
    y, prediction = judged([1, 0, 1, 1])
    given = {"features": [0.0, 1.0, 2.0, 3.0], "rng": 0} | options
    assert words in refusal(worst_slab_coverage, y, prediction, **given)
    assert "judges Intervals or Sets" in refusal(worst_slab_coverage, y, [0.1, 0.2, 0.1, 0.2], **given)


@pytest.mark.parametrize(
    ("covered", "options", "words"),
    [
        ([1, 0], {"features": [0.0, 1.0], "weights": [1, 2]}, "takes no weights"),
        ([1], {"features": [0.0]}, "one row cannot be split"),
        (
            [0, 0, 1, 1],
            {"features": [0.0, 1.0, 8.0, 9.0], "search": np.array([True, True, False, False])},
            "none of the 2 evaluation rows lies in the worst slab, which has 2 of 2 rows",
        ),
    ],
)
def test_what_does_not_apply(refusal, covered, options, words):
    assert words in refusal(worst_slab_coverage, *judged(covered), rng=0, error=NotApplicableError, **options)


def exhaustive(x, covered, directions, least):
    """Return the worst of all slabs, tried one by one."""
    found = []
    for number, v in enumerate(directions):
        z = projected(x, v)
        ends = np.unique(z)
        for a in ends:
            for b in ends[ends >= a]:
                inside = (a <= z) & (z <= b)
                rows, hits = int(inside.sum()), int(covered[inside].sum())
                if rows >= least:
                    found.append((Fraction(hits, rows), -rows, number, a, b, hits))
    _, rows, number, a, b, hits = min(found)
    return number, a, b, hits, -rows


@pytest.mark.parametrize("seed", range(150))
def test_is_the_worst_of_all(seed):
    rng = np.random.default_rng(seed)
    n, D = int(rng.integers(1, 18)), int(rng.integers(1, 4))
    x = rng.integers(0, 6, (n, D)).astype(float) if seed % 2 else rng.normal(size=(n, D))
    covered = rng.random(n) < rng.random()
    directions = np.concatenate([np.eye(D), rng.normal(size=(3, D))])
    least = int(rng.integers(1, n + 1))
    assert tuple(worst_slab(x, covered, directions, least)) == exhaustive(x, covered, directions, least)


def test_equal_coverage_is_settled_by_rows_then_direction_then_the_lower_end():
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    covered = np.array([False, True, True, True, False, False])
    assert worst_slab(x, covered, [np.ones(1)], 1)[1:3] == (4.0, 5.0)  # two rows rather than one
    covered = np.array([False, True, True, True, True, False])
    assert worst_slab(x, covered, [np.ones(1), -np.ones(1)], 1)[:3] == (0, 0.0, 0.0)
    assert worst_slab(np.zeros((10, 1)), np.arange(10) != 3, [np.ones(1)], 1)[1:] == (0.0, 0.0, 9, 10)  # all tied


def test_equal_rows_have_equal_projections():
    rng = np.random.default_rng(0)
    x = np.tile(rng.normal(size=(1, 7)), (1001, 1))
    assert np.unique(projected(x, rng.normal(size=7))).size == 1
    assert projected(x, np.eye(7)[2]).tolist() == x[:, 2].tolist()
