"""The default classifier: units and places of columns do not matter, constant ones count for nothing."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calibrant.inference.nearest_neighbours import NearestNeighbours, number_of_neighbours

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
