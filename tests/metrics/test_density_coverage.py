"""Precision, recall, density and coverage of generated points."""

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.metrics.density_coverage import NAMES, density_coverage, expected_coverage
from calibrant.primitives import dispatch, neighbours
from calibrant.primitives.relabellings import relabellings

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = {value["id"]: value for value in json.loads((REFERENCES / "samples.json").read_text())["values"]}
BODIES = pytest.mark.parametrize("body", ["differences", "tree", "products"])


def only(body):
    return mock.patch.object(neighbours, "neighbour_body", return_value=body)


def four(found):
    return tuple(getattr(found, name) for name in NAMES)


def sets(n=40, m=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 1.2 * rng.normal(size=(m, d))


@BODIES
@pytest.mark.parametrize("k", [1, 3, 5])
def test_reference_values(k, body):
    name = f"prdc/{k}"
    with np.load(REFERENCES / "samples.npz") as arrays:
        y, points = (arrays[array] for array in BOOK[name]["inputs"])
    with only(body):
        found = density_coverage(y, points, k=k)
    for field, value in BOOK[name]["value"].items():
        assert getattr(found, field) == pytest.approx(value, rel=BOOK[name]["rtol"])
    assert (found.k, found.n, found.m) == (k, len(y), len(points))
    assert found.relabelled is None
    assert all(type(getattr(found, field)) is float for field in BOOK[name]["value"])


@pytest.mark.parametrize(("k", "expected"), [(1, 0.5003), (3, 0.8754), (5, 0.9690), (10, 0.9991)])
def test_expected_coverage(k, expected):
    assert expected_coverage(1000, 1000, k) == pytest.approx(expected, abs=5e-5)


def test_expected_coverage_is_one_where_every_ball_is_hit():
    assert expected_coverage(3, 10**9, 2) == pytest.approx(1.0, abs=1e-17)
    assert expected_coverage(2, 1, 1) == 0.5


class TestHandWorked:
    def test_a_line(self):
        # real balls [-1, 1], [0, 2], [1, 5]; generated [2, 2] twice, and [2, 8] about 5
        found = density_coverage([[0.0], [1.0], [3.0]], [[2.0], [2.0], [5.0]], k=1)
        assert four(found) == (1.0, 1 / 3, 5 / 3, 2 / 3)

    def test_the_edge_of_a_ball_belongs_to_it(self):
        y = [[0.0, 0.0], [3.0, 4.0]]
        assert density_coverage(y, [[-3.0, -4.0], [100.0, 0.0]], k=1).precision == 0.5
        assert density_coverage(y, [[-3.0, np.nextafter(-4, -5)], [100.0, 0.0]], k=1).precision == 0.0

    def test_equal_points_are_neighbours(self):
        # the two points at 0 have radius 0, 5 and 7 have radius 2
        y = [[0.0], [0.0], [5.0], [7.0]]
        found = density_coverage(y, [[0.0], [1e-9], [6.0]], k=1)
        assert four(found)[2:] == (4 / 3, 1.0)
        assert found.precision == 2 / 3

    def test_constant_sets(self):
        same = density_coverage(np.full((9, 2), 3.0), np.full((7, 2), 3.0), k=2)
        assert four(same) == (1.0, 1.0, 9 / 2, 1.0)
        apart = density_coverage(np.full((9, 2), 3.0), np.full((7, 2), 3.1), k=2)
        assert four(apart) == (0.0, 0.0, 0.0, 0.0)

    def test_far_apart(self):
        y, points = sets()
        assert four(density_coverage(y, points + 1e3)) == (0.0, 0.0, 0.0, 0.0)

    def test_a_missing_mode(self):
        rng = np.random.default_rng(0)
        y = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 50])
        found = density_coverage(y, rng.normal(size=(400, 2)))
        assert found.coverage < 0.55
        assert found.precision > 0.95
        back = density_coverage(rng.normal(size=(400, 2)), y)
        assert back.precision < 0.55
        assert back.recall > 0.95


@BODIES
@pytest.mark.parametrize("d", [1, 4, 40])
@pytest.mark.parametrize("k", [1, 5])
def test_a_copy_scores_exactly(body, d, k):
    X = np.random.default_rng(0).standard_cauchy((100, d))
    with only(body):
        assert four(density_coverage(X, X[::-1], k=k)) == (1.0, 1.0, (k + 1) / k, 1.0)


def test_unequal_sets_from_one_law():
    """The mean density is 1, and the mean coverage what is expected, whatever the law and the sizes."""
    rng, found = np.random.default_rng(0), {}
    for n, m, d in ((30, 60, 1), (50, 20, 3)):
        drawn = rng.standard_exponential((800, n + m, d))
        found[n, m, d] = np.array([four(density_coverage(Z[:n], Z[n:], k=3))[2:] for Z in drawn])
    for (n, m, _), values in found.items():
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=0) - (1.0, expected_coverage(n, m, 3))) < 3.5 * error)
        assert np.all(error < 0.01)


class TestRelabelled:
    def test_is_the_verb_on_relabelled_sets(self):
        y, points = sets()
        found = density_coverage(y, points, k=3, resamples=7, rng=11)
        pooled = np.concatenate([y, points])
        pooled = pooled[np.lexsort(pooled.T[::-1])]
        labels = relabellings(len(y), len(points), 7, np.random.default_rng(11)).astype(bool)
        expected = [four(density_coverage(pooled[first], pooled[~first], k=3)) for first in labels]
        drawn = np.stack([found.relabelled[name].draws for name in NAMES], axis=1)
        np.testing.assert_array_equal(drawn, expected)
        assert four(found) == four(density_coverage(y, points, k=3))
        assert list(found.relabelled) == list(NAMES)

    def test_mean_is_what_is_expected(self):
        y, points = sets(60, 30)
        chance = density_coverage(y, points + 5, resamples=2000).relabelled
        assert chance["density"].mean == pytest.approx(1.0, abs=0.02)
        assert chance["coverage"].mean == pytest.approx(expected_coverage(60, 30, 5), abs=0.005)
        for each in chance.values():
            assert each.low <= each.mean <= each.high
            assert np.mean((each.draws >= each.low) & (each.draws <= each.high)) >= 0.95
            assert each.draws.shape == (2000,)

    def test_the_generator_decides(self):
        y, points = sets()
        one, same, other = (density_coverage(y, points, resamples=5, rng=rng) for rng in (1, 1, 2))
        assert one == same
        assert one != other
        assert one == density_coverage(y, points, resamples=5, rng=np.random.default_rng(1))

    def test_duplicates(self):
        y = np.repeat(np.arange(6.0), 5)[:, None]
        found = density_coverage(y, y, k=3, resamples=50)
        assert four(found) == (1.0, 1.0, 5 / 3, 1.0)
        assert found.relabelled["density"].mean == pytest.approx(5 / 3, abs=0.2)


@given(seed=st.integers(0, 10**6), n=st.integers(4, 40), m=st.integers(4, 40), d=st.integers(1, 12))
def test_order_of_rows_changes_nothing(seed, n, m, d):
    y, points = (np.round(part, 1) for part in sets(n, m, d, seed))
    order = np.random.default_rng(seed)
    found = density_coverage(y, points, k=3, resamples=3)
    assert density_coverage(order.permutation(y), order.permutation(points), k=3, resamples=3) == found


@given(seed=st.integers(0, 10**6), power=st.sampled_from([-600, -490, -40, 30, 400]))
def test_units_change_nothing(seed, power):
    y, points = sets(seed=seed)
    assert density_coverage(np.ldexp(y, power), np.ldexp(points, power)) == density_coverage(y, points)


def test_narrow_numbers():
    y, points = (part.astype(np.float32) for part in sets())
    assert density_coverage(y, points) == density_coverage(y.astype(float), points.astype(float))
    whole = (np.round(10 * part) for part in (y, points))
    assert density_coverage(*whole) == density_coverage(*(np.round(10 * part).astype(np.int16) for part in (y, points)))


@pytest.mark.parametrize("resamples", [0, 3])
def test_inputs_are_left_alone(resamples):
    y, points = sets()
    before = y.copy(), points.copy()
    y.flags.writeable = points.flags.writeable = False
    density_coverage(y, points, resamples=resamples)
    density_coverage(y * 1e-200, points * 1e-200, resamples=resamples)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(points, before[1])


def test_no_global_seed_and_nothing_printed(capfd):
    y, points = sets()
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    density_coverage(y, points, resamples=3)
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("d", "body"), [(10, "tree"), (11, "products")])
def test_large_sets_take_the_fast_bodies(d, body):
    few = dispatch.FEW_DIFFERENCES // d
    assert dispatch.neighbour_body(few, d) == "differences"
    assert dispatch.neighbour_body(few + 1, d) == body


class TestRefusals:
    @pytest.mark.parametrize(("n", "m", "name"), [(5, 6, "y"), (6, 5, "points"), (2, 9, "y")])
    def test_too_few_points(self, refusal, n, m, name):
        message = refusal(density_coverage, np.zeros((n, 1)), np.zeros((m, 1)))
        assert message.startswith(f"{name} must have more than k = 5 points")
        assert f"got {min(n, m)}. Give more points, or a smaller k" in message

    @pytest.mark.parametrize("k", [0, -1, 2.0, True, "5", None])
    def test_k(self, refusal, k):
        assert refusal(density_coverage, *sets(), k=k).startswith("k must be ")

    @pytest.mark.parametrize("resamples", [-1, 9.0, True, None])
    def test_resamples(self, refusal, resamples):
        assert refusal(density_coverage, *sets(), resamples=resamples).startswith("resamples must be ")

    @pytest.mark.parametrize("rng", [None, -1, 0.5, "0"])
    def test_rng(self, refusal, rng):
        assert refusal(density_coverage, *sets(), rng=rng).startswith("rng must be ")

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("which", [0, 1])
    def test_numbers_that_are_none(self, refusal, bad, which):
        both = list(sets())
        both[which][7, 2] = bad
        message = refusal(density_coverage, *both)
        assert message.startswith(("y ", "points ")[which])
        assert "7" in message
        assert str(bad) in message

    @pytest.mark.parametrize("wrong", [np.zeros(9), np.zeros((9, 2, 2)), np.zeros((9, 0)), np.zeros((0, 3)), [["a"]]])
    def test_shapes(self, refusal, wrong):
        assert refusal(density_coverage, wrong, np.zeros((9, 3))).startswith("y ")
        assert refusal(density_coverage, np.zeros((9, 3)), wrong).startswith("points ")

    def test_other_coordinates(self, refusal):
        message = refusal(density_coverage, np.zeros((9, 3)), np.zeros((9, 2)))
        assert "got 3 in y and 2 in points" in message

    def test_options_are_keywords(self):
        with pytest.raises(TypeError):
            density_coverage(*sets(), 5)
