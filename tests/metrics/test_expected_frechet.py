"""What the Fréchet distance of two sets of one law is on average."""

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.metrics import expected_frechet as module
from calibrant.metrics.expected_frechet import expected_frechet
from calibrant.metrics.frechet_distance import frechet_distance
from calibrant.summaries.point_moments import PointMoments

REFERENCES = Path(__file__).parents[1] / "references"
BOOK = {value["id"]: value for value in json.loads((REFERENCES / "samples.json").read_text())["values"]}
ARRAYS = np.load(REFERENCES / "samples.npz")


def moments(n, S, mean=0.0):
    return PointMoments.of_covariance(n, np.full(len(S), mean), S)


def test_reference():
    found = expected_frechet(PointMoments.of(ARRAYS["X"]), PointMoments.of(ARRAYS["Y"]))
    assert found == pytest.approx(BOOK["frechet_floor"]["value"], rel=BOOK["frechet_floor"]["rtol"])


def test_the_number_of_the_specification():
    # (1/1600 + 1/1600) (50 + (50² + 50) / 4)
    found = expected_frechet(moments(1600, np.eye(50)), moments(1600, np.eye(50), mean=3.0))
    assert found == pytest.approx(0.859375, rel=1e-12)


def test_two_variances_by_hand():
    # λ = 1, 3: (1/10 + 1/20) (4 + (2 · 1/2 + 2 · 9/6 + 2 · 3/4) / 2) = 0.15 · 6.75
    S = np.diag([1.0, 3.0])
    assert expected_frechet(moments(10, S), moments(20, S)) == pytest.approx(0.15 * 6.75, rel=1e-13)


def test_covariances_are_pooled_by_their_points():
    found = expected_frechet(moments(11, np.eye(1)), moments(31, 5 * np.eye(1)))
    assert found == pytest.approx((1 / 11 + 1 / 31) * 1.5 * (10 + 150) / 40, rel=1e-13)


def test_tiles_change_nothing(monkeypatch):
    first, second = PointMoments.of(ARRAYS["X"]), PointMoments.of(ARRAYS["Y"])
    whole = expected_frechet(first, second)
    monkeypatch.setattr(module, "TILE", 2)
    assert expected_frechet(first, second) == pytest.approx(whole, rel=1e-14)


def test_points_without_spread():
    same = PointMoments.of(np.ones((4, 3)))
    assert expected_frechet(same, same) == 0.0
    line = PointMoments.of(np.outer([0.0, 1.0, 2.0], [1.0, 0.0]))  # variance 1 along one axis, 0 along the other
    assert expected_frechet(line, line) == pytest.approx((2 / 3) * 1.5, rel=1e-14)


def test_units():
    first, second = PointMoments.of(ARRAYS["X"] * 1e140), PointMoments.of(ARRAYS["Y"] * 1e140)
    assert expected_frechet(first, second) / 1e280 == pytest.approx(BOOK["frechet_floor"]["value"], rel=1e-9)


def test_simulated():
    draw = np.random.default_rng(3)
    mix = draw.normal(size=(6, 6))
    sets = [(draw.normal(size=(300, 6)) @ mix, draw.normal(size=(200, 6)) @ mix) for _ in range(200)]
    found = np.array([frechet_distance(*pair) for pair in sets])
    expected = np.mean([expected_frechet(*map(PointMoments.of, pair)) for pair in sets])
    assert abs(found.mean() - expected) < 4 * found.std() / np.sqrt(200)
    assert found.std() / np.sqrt(200) < 0.05 * expected


def test_refused(refusal):
    one, two, wide = (PointMoments.of(np.zeros(shape)) for shape in ((1, 2), (2, 2), (2, 3)))
    assert "at least 2 points; got 1 and 2" in refusal(expected_frechet, one, two)
    assert "same number of columns; got 2 and 3" in refusal(expected_frechet, two, wide)
