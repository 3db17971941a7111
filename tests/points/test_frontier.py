"""Precision against recall: by hand, what each end shows, clusters, and what is refused."""

import numpy as np
import pytest

from calibrant.points import precision_recall_curve
from calibrant.points.frontier import k_means

RNG = np.random.default_rng(0)
CENTRES = 10.0 * np.eye(4)


def modes(n, of=range(4)):
    return CENTRES[np.resize(list(of), n)] + 0.1 * RNG.normal(size=(n, 4))


def test_a_missing_mode():
    """Three of four modes: recall reaches 3/4, precision is 1."""
    found = precision_recall_curve(modes(80), modes(60, range(3)), clusters=4)
    assert found.recall.max() == pytest.approx(0.75, abs=1e-6)
    assert found.precision.max() == pytest.approx(1.0)
    assert found.overlap == pytest.approx(0.75)
    assert found.precision[100] == pytest.approx(found.recall[100], rel=1e-9)  # slope 1


def test_an_invented_mode_is_the_mirror_of_a_missing_one():
    y, points = modes(80), modes(60, range(3))
    there, back = (precision_recall_curve(*sets, clusters=4) for sets in ((y, points), (points, y)))
    np.testing.assert_allclose(back.recall, there.precision[::-1], atol=1e-9)
    assert back.f_recall == pytest.approx(there.f_precision, abs=1e-9)


def test_sets_of_one_distribution_lie_on_the_expected_curve():
    y, points = RNG.normal(size=(2, 400, 2))
    found = precision_recall_curve(y, points)
    assert np.abs(found.precision - found.expected_precision).max() < 0.06
    assert found.overlap < 0.99  # by chance


def test_a_curve():
    found = precision_recall_curve(RNG.normal(size=(50, 2)), RNG.normal(size=(60, 2)) + 1)
    assert (np.diff(found.recall) >= -1e-12).all()
    assert (np.diff(found.precision) <= 1e-12).all()
    for name in ("recall", "precision", "expected_recall", "expected_precision"):
        assert (found.columns[name] >= 0).all()
        assert (found.columns[name] <= 1 + 1e-12).all()


def test_disjoint_and_equal_sets():
    y = modes(40)
    assert precision_recall_curve(y, y + 100).overlap == 0
    assert precision_recall_curve(y, y).overlap == pytest.approx(1)


def test_clusters_of_few_distinct_points():
    found = k_means(np.repeat([[0.0], [5.0]], 10, axis=0), 5, np.random.default_rng(0))
    assert len(set(found[:10])) == len(set(found[10:])) == 1
    assert found[0] != found[10]


def test_refused(refusal):
    for clusters in (81, 10**9):
        message = refusal(precision_recall_curve, modes(40), modes(40), clusters=clusters)
        assert f"clusters must be at most 80, with 80 points of both sets together; got {clusters:,}" in message
