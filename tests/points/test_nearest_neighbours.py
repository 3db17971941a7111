"""The default classifier: units and places of columns do not matter, constant ones count for nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calibrant.points import nearest_neighbours as module
from calibrant.points.nearest_neighbours import (
    NearestNeighbours,
    by_rows,
    by_tree,
    nearest_shares,
    number_of_neighbours,
)

RNG = np.random.default_rng(0)
X, LABELS, Q = (
    RNG.normal(size=(200, 3)) * [1, 50, 0.01],
    RNG.integers(0, 2, 200),
    RNG.normal(size=(80, 3)) * [1, 50, 0.01],
)


def shares(X, labels, Q):
    return NearestNeighbours().fit(X, labels).predict_proba(Q)[:, 1]


def test_scikit_learn():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(14)).fit(X, LABELS)
    found = NearestNeighbours().fit(X, LABELS)
    assert found.k == 14
    np.testing.assert_allclose(found.predict_proba(Q), model.predict_proba(Q), rtol=1e-14)


@pytest.mark.parametrize(("N", "k"), [(1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (100, 10), (1980, 44), (1981, 45)])
def test_number_of_neighbours(N, k):
    assert number_of_neighbours(N) == k


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-3, 1e3, 1e140])
def test_units_do_not_matter(unit):
    np.testing.assert_array_equal(shares(X * unit, LABELS, Q * unit), shares(X, LABELS, Q))


def test_places_do_not_matter():
    np.testing.assert_array_equal(shares(X + 1e6, LABELS, Q + 1e6), shares(X, LABELS, Q))


def test_a_column_without_spread_counts_for_nothing():
    constant = [np.column_stack([rows, np.full(len(rows), 0.1)]) for rows in (X, Q)]
    np.testing.assert_array_equal(shares(constant[0], LABELS, constant[1]), shares(X, LABELS, Q))
    constant[1][:, 3] = RNG.normal(size=len(Q)) * 1e9  # nor where others differ from it
    np.testing.assert_array_equal(shares(constant[0], LABELS, constant[1]), shares(X, LABELS, Q))
    one = shares(np.full((10, 2), 0.3), LABELS[:10], np.array([[0.3, 0.3], [1.0, 2.0]]))
    assert one.tolist() == [LABELS[:10].mean()] * 2


def test_far_outside_of_all_points():
    found = shares(X * 1e-250, LABELS, np.full((1, 3), 1e150))
    assert 0 <= found[0] <= 1


def test_a_new_fit_forgets_the_old():
    model = NearestNeighbours().fit(X[:50], LABELS[:50])
    np.testing.assert_array_equal(model.fit(X, LABELS).predict_proba(Q)[:, 1], shares(X, LABELS, Q))


def defined(X, labels, q, k):
    """Return the share for one row of whole numbers, exactly."""
    squares = [sum((int(a) - int(b)) ** 2 for a, b in zip(x, q, strict=True)) for x in X]
    kth = sorted(squares)[k - 1]
    nearer = [label for label, square in zip(labels, squares, strict=True) if square < kth]
    as_far = [label for label, square in zip(labels, squares, strict=True) if square == kth]
    return (sum(nearer) + (k - len(nearer)) * Fraction(int(sum(as_far)), len(as_far))) / k


@st.composite
def lattices(draw):
    d, N, rows = draw(st.integers(1, 12)), draw(st.integers(1, 40)), draw(st.integers(1, 8))
    rng, top = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.sampled_from([1, 2, 5, 1000]))
    X, Q = rng.integers(-top, top + 1, (N, d)), rng.integers(-top, top + 1, (rows, d))
    return X * 1.0, rng.integers(0, 2, N), Q * 1.0, draw(st.integers(1, N))


class TestByHand:
    X, labels = np.array([[0.0, 0.0], [3.0, 4.0], [-3.0, 4.0], [6.0, 8.0]]), np.array([0, 1, 0, 1])

    @pytest.mark.parametrize(("k", "share"), [(1, 0), (2, 1 / 4), (3, 1 / 3), (4, 1 / 2)])
    def test_distances_0_5_5_10(self, k, share):
        assert nearest_shares(self.X, self.labels, np.zeros((1, 2)), k)[0] == share

    def test_all_points_are_one(self):
        labels = np.array([0, 1, 1, 1, 0, 0, 0])
        found = nearest_shares(np.ones((7, 3)), labels, np.array([[1.0, 1.0, 1.0], [5.0, 0.0, 0.0]]), 2)
        assert found.tolist() == [3 / 7, 3 / 7]


@given(lattices())
def test_the_definition(drawn):
    X, labels, Q, k = drawn
    expected = [float(defined(X, labels, q, k)) for q in Q]
    assert nearest_shares(X, labels, Q, k).tolist() == expected  # correctly rounded, so equal to the bit


@given(lattices(), st.floats(0.1, 10))
def test_ties_survive_rounding(drawn, unit):
    X, labels, Q, k = drawn
    expected = nearest_shares(X, labels, Q, k)
    np.testing.assert_array_equal(nearest_shares(X / unit, labels, Q / unit, k), expected)
    np.testing.assert_array_equal(nearest_shares(X / unit + 0.1, labels, Q / unit + 0.1, k), expected)


@given(lattices(), st.integers(0, 10**6))
def test_both_bodies_agree_whatever_the_order(drawn, seed):
    X, labels, Q, k = drawn
    order = np.random.default_rng(seed).permutation(len(X))
    expected = by_rows(X, labels, Q, k)
    np.testing.assert_array_equal(by_tree(X, labels, Q, k), expected)
    np.testing.assert_array_equal(by_tree(X[order], labels[order], Q, k), expected)
    np.testing.assert_array_equal(by_rows(X[order], labels[order], Q, k), expected)


@pytest.mark.parametrize("d", [1, 3, 10, 11, 16, 17, 40])
def test_both_bodies_agree_on_many_rows(d):
    rng = np.random.default_rng(d)
    X, labels, Q = rng.normal(size=(1500, d)), rng.integers(0, 2, 1500), rng.normal(size=(700, d))
    Q[:300] = X[:300]  # distance 0 too
    np.testing.assert_array_equal(by_tree(X, labels, Q, 39), by_rows(X, labels, Q, 39))


def test_copies_of_few_points_on_one_side():
    rng = np.random.default_rng(0)
    smooth, rounded = rng.normal(size=(400, 1)), np.round(rng.normal(size=(400, 1)))
    X, labels = np.concatenate([smooth, rounded]), np.repeat([0, 1], 400)
    Q = rng.normal(size=(200, 1))
    np.testing.assert_array_equal(by_tree(X, labels, Q, 28), by_rows(X, labels, Q, 28))


def test_more_points_at_one_distance_than_neighbours():
    """All 2¹⁰ corners of a cube are as far from its centre: the tree is asked again and again."""
    corners = 2.0 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1) - 1
    labels = (np.arange(1024) < 256).astype(int)
    assert nearest_shares(corners, labels, np.zeros((1, 10)), 3).tolist() == [0.25]
    assert nearest_shares(corners * 0.1, labels, np.zeros((1, 10)), 1000).tolist() == [0.25]


def test_wide_rows_that_are_copies():
    """With products in place of differences the copies of a row may differ in the last digit of their distance."""
    rng = np.random.default_rng(1)
    few = rng.normal(size=(5, 100))
    X, labels = few[rng.integers(0, 5, 300)], rng.integers(0, 2, 300)
    for k in (1, 17, 200):
        found = nearest_shares(X, labels, few, k)
        order = rng.permutation(300)
        np.testing.assert_array_equal(nearest_shares(X[order], labels[order], few, k), found)
        for q, share in zip(few, found, strict=True):
            at = (q == X).all(axis=1)
            if at.sum() >= k:
                assert share == labels[at].sum() / at.sum()


@pytest.mark.parametrize("body", [by_tree, by_rows])
def test_pieces(body, monkeypatch):
    rng = np.random.default_rng(2)
    X, labels, Q = rng.integers(0, 4, (90, 3)) * 1.0, rng.integers(0, 2, 90), rng.integers(0, 4, (50, 3)) * 1.0
    expected = body(X, labels, Q, 9)
    monkeypatch.setattr(module, "DISTANCES_HELD", 200)
    np.testing.assert_array_equal(body(X, labels, Q, 9), expected)


def test_scikit_learn_nearest_shares():
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(3)
    X, labels, Q = rng.normal(size=(300, 4)), rng.integers(0, 2, 300), rng.normal(size=(100, 4))
    model = KNeighborsClassifier(17).fit(X, labels)
    np.testing.assert_allclose(nearest_shares(X, labels, Q, 17), model.predict_proba(Q)[:, 1], rtol=1e-15)


def test_input_is_left_alone():
    rng = np.random.default_rng(4)
    for d in (2, 20):
        given_ = rng.normal(size=(30, d)), rng.integers(0, 2, 30), rng.normal(size=(5, d))
        copies = [array.copy() for array in given_]
        for array in given_:
            array.flags.writeable = False
        nearest_shares(*given_, 5)
        for array, copy in zip(given_, copies, strict=True):
            np.testing.assert_array_equal(array, copy)
