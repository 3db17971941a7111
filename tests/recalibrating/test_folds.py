"""Dealing rows to folds: sizes, whole clusters, time order, the caller's folds, and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.errors import InputError
from calibrant.recalibrating.cross_fitting import read_dealing


def partition(n, *args, seed=0, **options):
    return read_dealing(n, *args, **options).partition(np.random.default_rng(seed))


@given(st.integers(2, 60), st.integers(2, 12))
def test_random_folds_cover_all_rows_once_and_have_nearly_equal_sizes(n, folds):
    if folds > n:
        return
    found = partition(n, folds)
    sizes = [fold.test.size for fold in found]
    assert len(found) == folds
    assert max(sizes) - min(sizes) <= 1
    assert sorted(np.concatenate([fold.test for fold in found])) == list(range(n))
    for fold in found:
        assert sorted([*fold.train, *fold.test]) == list(range(n))


def test_another_seed_deals_otherwise():
    one, other = (partition(100, seed=seed)[0].test for seed in (0, 1))
    assert not np.array_equal(one, other)


@given(st.lists(st.integers(0, 9), min_size=30, max_size=60), st.integers(2, 4))
def test_no_cluster_is_divided(clusters, folds):
    if len(set(clusters)) < folds:
        return
    labels = np.array(clusters)
    found = partition(labels.size, folds, clusters=labels)
    assert sorted(np.concatenate([fold.test for fold in found])) == list(range(labels.size))
    for fold in found:
        assert not set(labels[fold.train]) & set(labels[fold.test])
    numbers = [len(set(labels[fold.test])) for fold in found]
    assert max(numbers) - min(numbers) <= 1


@pytest.mark.parametrize("given", [40, list(range(40))])
def test_inner_folds_do_not_grow_with_the_outer_ones(given):
    """A fold for each row would otherwise take the square of their number of fits; labels are not divided."""
    dealing = read_dealing(40, given)
    rows = np.arange(39)
    inner = dealing.take(rows).partition(np.random.default_rng(0))
    assert len(inner) == 10
    assert sorted(np.concatenate([fold.test for fold in inner])) == list(rows)
    assert not dealing.is_random


def test_clusters_that_are_a_fold_each_leave_nothing_to_chance():
    clusters = np.arange(40) // 4
    assert not read_dealing(40, 10, clusters=clusters).is_random
    assert read_dealing(40, 9, clusters=clusters).is_random


class TestTime:
    def test_each_block_is_predicted_by_all_earlier_ones(self):
        time = np.array([5, 0, 1, 4, 2, 3])
        found = partition(6, 2, time=time)
        expected = [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
        assert [(sorted(time[f.train]), sorted(time[f.test])) for f in found] == expected

    @given(st.lists(st.integers(0, 30), min_size=20, max_size=80), st.integers(2, 5))
    def test_no_map_sees_the_future_or_its_own_time(self, times, folds):
        when = np.array(times)
        if np.unique(when).size <= folds:
            return
        for fold in partition(when.size, folds, time=when):
            assert when[fold.train].max() < when[fold.test].min()

    def test_the_first_block_is_predicted_by_none(self):
        found = partition(60, 5, time=np.arange(60))
        assert sorted(np.concatenate([fold.test for fold in found])) == list(range(10, 60))

    def test_equal_times_are_in_one_block(self):
        time = np.repeat(np.arange(12), 5)
        for fold in partition(60, 5, time=time):
            assert not set(time[fold.train]) & set(time[fold.test])

    def test_a_cluster_belongs_to_the_block_of_its_first_row(self):
        clusters = np.arange(60)
        clusters[45] = 12  # a row of a later block than row 12
        found = partition(60, 5, time=np.arange(60), clusters=clusters)
        judged, used = (set(np.concatenate([getattr(fold, part) for fold in found])) for part in ("test", "train"))
        assert 45 not in judged | used
        assert {12, 44, 46} <= judged

    def test_dates(self):
        days = np.datetime64("2024-01-01") + np.arange(30)
        one, other = partition(30, 2, time=days), partition(30, 2, time=np.arange(30))
        assert all(np.array_equal(a.test, b.test) for a, b in zip(one, other, strict=True))


class TestInnerFolds:
    def test_of_given_folds_are_the_folds_that_are_left(self):
        labels = np.repeat(["a", "b", "c", "d"], 5)
        dealing = read_dealing(20, labels)
        train = np.flatnonzero(labels != "b")
        inner = dealing.take(train).partition(np.random.default_rng(0))
        assert [set(labels[train[fold.test]]) for fold in inner] == [{"a"}, {"c"}, {"d"}]

    def test_of_one_fold_that_is_left_are_dealt_at_random(self):
        labels = np.repeat([0, 1], 20)
        assert len(read_dealing(40, labels).take(np.arange(20)).partition(np.random.default_rng(0))) == 5

    def test_keep_clusters_and_time(self):
        dealing = read_dealing(40, 4, clusters=np.arange(40) // 4, time=np.arange(40))
        inner = dealing.take(np.arange(20)).partition(np.random.default_rng(0))
        assert inner
        for fold in inner:
            assert fold.train.max() < fold.test.min()


def test_rows_of_weight_zero_are_left_out():
    keep = np.array([True, False, True, True, False, True])
    found = read_dealing(4, [0, 7, 1, 0, 8, 1], keep=keep).partition(np.random.default_rng(0))
    assert [fold.test.tolist() for fold in found] == [[0, 2], [1, 3]]
    assert read_dealing(4, 2, clusters=list("axabya"), keep=keep).clusters.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 11}, "folds=11 needs at least 11 rows; got 10"),
        ({"folds": 1}, "folds must be at least 2; got 1"),
        ({"folds": 2.5}, "folds must be a whole number"),
        ({"folds": [0] * 10}, "at least two different labels"),
        ({"folds": [0, 1]}, "folds must have one label per row: expected 10 rows"),
        ({"folds": [0, 1] * 5, "clusters": [0, 1, 0, 1, 1, 0, 0, 1, 0, 1]}, "row 0 and other rows of its cluster"),
        ({"folds": [0, 1] * 5, "time": range(10)}, "folds is a number where time is given"),
        ({"clusters": [0, 1] * 5}, "folds=5 needs at least 5 clusters; got 2"),
        ({"time": [0, 1] * 5}, "folds=5 needs at least 6 different times"),
        ({"time": [np.nan] * 10}, "time must be finite numbers or dates; row 0 is nan"),
        ({"clusters": [None, *range(9)]}, "clusters must not be missing"),
        ({"folds": 2, "time": range(10), "clusters": [0] * 10}, "no block that is predicted by an earlier one"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(InputError) as refused:
        read_dealing(10, **options)
    assert words in str(refused.value)
