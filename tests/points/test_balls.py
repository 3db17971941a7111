"""Precision, recall, density and coverage of generated points."""

import pickle
from dataclasses import FrozenInstanceError, fields
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.references.books import arrays, by_id

from calibrant.points import balls as module
from calibrant.points import neighbours
from calibrant.points.inputs import distinct
from calibrant.points.neighbours import Neighbours
from calibrant.points.sums import relabellings

BOOK = by_id("samples")
BODIES = pytest.mark.parametrize("body", ["tree", "products"])


def only(body):
    return mock.patch.object(neighbours, "takes_tree", return_value=body == "tree")


def four(found):
    return tuple(getattr(found, name) for name in module.NAMES)


def sets(n=40, m=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 1.2 * rng.normal(size=(m, d))


@BODIES
@pytest.mark.parametrize("k", [1, 3, 5])
def test_reference_values(k, body):
    name = f"prdc/{k}"
    y, points = (arrays("samples")[array] for array in BOOK[name]["inputs"])
    with only(body):
        found = module.density_coverage(y, points, k=k)
    for field, value in BOOK[name]["value"].items():
        assert getattr(found, field) == pytest.approx(value, rel=BOOK[name]["rtol"])
    assert (found.k, found.n, found.m) == (k, len(y), len(points))
    assert found.relabelled is None
    assert all(type(getattr(found, field)) is float for field in BOOK[name]["value"])


@pytest.mark.parametrize(("k", "expected"), [(1, 0.5003), (3, 0.8754), (5, 0.9690), (10, 0.9991)])
def test_expected_coverage(k, expected):
    assert module.mean_coverage(1000, 1000, k) == pytest.approx(expected, abs=5e-5)


class TestHandWorked:
    def test_a_line(self):
        # real balls [-1, 1], [0, 2], [1, 5]; generated [2, 2] twice, and [2, 8] about 5
        found = module.density_coverage([[0.0], [1.0], [3.0]], [[2.0], [2.0], [5.0]], k=1)
        assert four(found) == (1.0, 1 / 3, 5 / 3, 2 / 3)

    def test_the_edge_of_a_ball_belongs_to_it(self):
        y = [[0.0, 0.0], [3.0, 4.0]]
        assert module.density_coverage(y, [[-3.0, -4.0], [100.0, 0.0]], k=1).precision == 0.5
        assert module.density_coverage(y, [[-3.0, np.nextafter(-4, -5)], [100.0, 0.0]], k=1).precision == 0.0

    def test_equal_points_are_neighbours(self):
        # the two points at 0 have radius 0, 5 and 7 have radius 2
        y = [[0.0], [0.0], [5.0], [7.0]]
        found = module.density_coverage(y, [[0.0], [1e-9], [6.0]], k=1)
        assert four(found)[2:] == (4 / 3, 1.0)
        assert found.precision == 2 / 3

    def test_constant_sets(self):
        for value, expected in ((3.0, (1.0, 1.0, 9 / 2, 1.0)), (3.1, (0.0,) * 4)):
            assert four(module.density_coverage(np.full((9, 2), 3.0), np.full((7, 2), value), k=2)) == expected

    def test_a_missing_mode(self, rng):
        y = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 50])
        found = module.density_coverage(y, rng.normal(size=(400, 2)))
        assert found.coverage < 0.55
        assert found.precision > 0.95
        back = module.density_coverage(rng.normal(size=(400, 2)), y)
        assert back.precision < 0.55
        assert back.recall > 0.95


@BODIES
@pytest.mark.parametrize("d", [1, 4, 40])
@pytest.mark.parametrize("k", [1, 5])
def test_a_copy_scores_exactly(body, d, k):
    X = np.random.default_rng(0).standard_cauchy((100, d))
    with only(body):
        assert four(module.density_coverage(X, X[::-1], k=k)) == (1.0, 1.0, (k + 1) / k, 1.0)


def test_unequal_sets_from_one_distribution():
    """The mean density is 1, and the mean coverage what is expected, whatever the distribution and the sizes."""
    rng, found = np.random.default_rng(0), {}
    for n, m, d in ((30, 60, 1), (50, 20, 3)):
        drawn = rng.standard_exponential((400, n + m, d))
        found[n, m, d] = np.array([four(module.density_coverage(Z[:n], Z[n:], k=3))[2:] for Z in drawn])
    for (n, m, _), values in found.items():
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=0) - (1.0, module.mean_coverage(n, m, 3))) < 3.5 * error)
        assert np.all(error < 0.015)


class TestRelabelled:
    def test_is_the_verb_on_relabelled_sets(self):
        y, points = sets()
        found = module.density_coverage(y, points, k=3, resamples=7, rng=11)
        pooled = np.concatenate([y, points])
        pooled = pooled[np.lexsort(pooled.T[::-1])]
        labels = relabellings(len(y), len(points), 7, np.random.default_rng(11)).astype(bool)
        expected = [four(module.density_coverage(pooled[first], pooled[~first], k=3)) for first in labels]
        drawn = np.stack([found.relabelled[name].draws for name in module.NAMES], axis=1)
        np.testing.assert_array_equal(drawn, expected)
        assert four(found) == four(module.density_coverage(y, points, k=3))
        assert list(found.relabelled) == list(module.NAMES)

    def test_mean_is_what_is_expected(self):
        y, points = sets(60, 30)
        chance = module.density_coverage(y, points + 5, resamples=2000).relabelled
        assert chance["density"].mean == pytest.approx(1.0, abs=0.02)
        assert chance["coverage"].mean == pytest.approx(module.mean_coverage(60, 30, 5), abs=0.005)
        for each in chance.values():
            assert each.low <= each.mean <= each.high
            assert np.mean((each.draws >= each.low) & (each.draws <= each.high)) >= 0.95
            assert each.draws.shape == (2000,)

    def test_duplicates(self):
        y = np.repeat(np.arange(6.0), 5)[:, None]
        found = module.density_coverage(y, y, k=3, resamples=50)
        assert four(found) == (1.0, 1.0, 5 / 3, 1.0)
        assert found.relabelled["density"].mean == pytest.approx(5 / 3, abs=0.2)


@given(seed=st.integers(0, 10**6), power=st.sampled_from([-600, -490, -40, 30, 400]))
def test_units_change_nothing(seed, power):
    y, points = sets(seed=seed)
    assert module.density_coverage(np.ldexp(y, power), np.ldexp(points, power)) == module.density_coverage(y, points)


class TestRefusals:
    @pytest.mark.parametrize(("n", "m", "name"), [(5, 6, "y"), (6, 5, "points"), (2, 9, "y")])
    def test_too_few_points(self, refusal, n, m, name):
        message = refusal(module.density_coverage, np.zeros((n, 1)), np.zeros((m, 1)))
        assert message.startswith(f"{name} must have more than k = 5 points")
        assert f"got {min(n, m)}. Pass more points, or a smaller k" in message


def by_definition(clouds, Z, n, k, resamples, seed):
    Z = Z[np.lexsort(Z.T[::-1])]
    labels = relabellings(n, len(Z) - n, resamples, np.random.default_rng(seed)).astype(bool)
    return [clouds.counts(Z[first], Z[~first], k) for first in labels]


@pytest.mark.parametrize("longest", [1, 4, 256])
@given(data=st.data())
def test_are_those_of_the_relabelled_sets(clouds, longest, data):
    X, Y = data.draw(clouds.two_sets(most=60))
    Z, n = np.concatenate([X, Y]), len(X)
    k = data.draw(st.integers(1, min(n, len(Y)) - 1))
    with mock.patch.object(module, "MAX_LISTED", longest), mock.patch.object(module, "MAX_ALL_LISTED", longest):
        found = module.relabelled_counts(Z, n, k, 5, np.random.default_rng(3))
    assert [tuple(row) for row in found.tolist()] == by_definition(clouds, Z, n, k, 5, 3)


def test_order_and_batches_change_nothing(monkeypatch, rng):
    Z = np.round(rng.normal(size=(80, 2)), 1)
    whole = module.relabelled_counts(Z, 30, 2, 9, np.random.default_rng(1))
    found = module.relabelled_counts(Z[rng.permutation(80)], 30, 2, 9, np.random.default_rng(1))
    np.testing.assert_array_equal(found, whole)
    for batch in (1, 170):
        monkeypatch.setattr(module, "LABELS_TOGETHER", batch)
        np.testing.assert_array_equal(module.relabelled_counts(Z, 30, 2, 9, np.random.default_rng(1)), whole)


def test_more_divisions_than_are_held(refusal):
    message = refusal(module.relabelled_counts, np.zeros((9, 1)), 4, 1, 10**9, np.random.default_rng(0))
    assert "1,000,000,000 random divisions of the points would take 1,024.0 GB of memory" in message


@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
@pytest.mark.parametrize("k", [1, 5, 50])
def test_lists_are_long_enough(k, share):
    K = module.list_length(k, share)
    assert stats.binom.cdf(k - 1, K, share) < 1e-5
    assert k / share < K < 40 * k / share


def search(points):
    found = distinct(points)
    return Neighbours(found.points, found.count)


@BODIES
@given(data=st.data())
def test_are_the_definition(clouds, body, data):
    X, Y = data.draw(clouds.two_sets())
    k = data.draw(st.integers(1, min(len(X), len(Y)) - 1))
    with only(body):
        assert module.ball_counts(search(X), search(Y), k) == clouds.counts(X, Y, k)


def test_some_balls():
    line = search(np.array([[0.0], [1.0], [3.0], [10.0]]))
    other = search(np.array([[0.5], [0.5], [4.0]]))
    found = module.balls(line, other, 1, np.array([2, 0]))  # [1, 5] and [-1, 1]
    assert found.inside.tolist() == [1, 2]
    assert found.hit.tolist() == [True, True]
    assert module.balls(line, other, 1, np.array([1])).hit.tolist() == [True, False]  # [0, 2]


def record(**changes):
    values = {f.name: 0.5 for f in fields(module.DensityCoverage)} | {"k": 5, "n": 20, "m": 30, "relabelled": None}
    return module.DensityCoverage(**(values | changes))


def test_mean_and_range_of_draws_that_are_kept():
    draws = np.arange(0.0, 201.0)
    found = module.Relabelled.of(draws)
    assert (found.mean, found.low, found.high) == (100.0, 5.0, 195.0)
    assert all(type(value) is float for value in (found.mean, found.low, found.high))
    draws[0] = 9.0
    assert found.draws[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        found.draws[0] = 1.0
    frozen = record(relabelled={"recall": found})
    with pytest.raises(FrozenInstanceError):
        frozen.recall = 1.0
    with pytest.raises(TypeError):
        frozen.relabelled["recall"] = None


def test_equal_by_value_and_through_a_pickle():
    one, other = (record(relabelled={"recall": module.Relabelled.of(np.array(v))}) for v in ([0.1, 0.2], [0.2, 0.1]))
    assert pickle.loads(pickle.dumps(one)) == one
    assert pickle.loads(pickle.dumps(record())) == record()
    assert one != other
    assert one != record()
    assert record() != record(recall=0.6)
    assert module.Relabelled.of(np.ones(2)) != 1.0
    assert module.Relabelled(0.0, 0.0, 0.0, np.ones(2)) != module.Relabelled.of(np.ones(2))
