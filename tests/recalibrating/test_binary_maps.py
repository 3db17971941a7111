"""What all maps of one probability per row have in common: order, weights, precision, and what they do to scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

import calibrant as cb
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibrate import recalibrate

METHODS_OF_BINARY = [method for method in METHODS["binary"] if method != "identity"]
MONOTONE = [method for method in METHODS_OF_BINARY if method != "quadratic"]
GRID = np.concatenate([[1e-300, 1e-9], np.linspace(0.001, 0.999, 400), [1 - 1e-9]])


@st.composite
def data(draw):
    """Return outcomes, scores and weights: scores with and without ties, any slope, both outcomes at three scores."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(6, 60))
    p = rng.uniform(0.02, 0.98, n)
    p = p.round(1).clip(0.1, 0.9) if draw(st.booleans()) else p
    y = rng.random(n) < expit(draw(st.floats(-1, 1)) + draw(st.floats(-0.5, 2)) * logit(p))
    y, p = np.append(y, [0, 1] * 3).astype(int), np.append(p, [0.3, 0.3, 0.5, 0.5, 0.8, 0.8])  # never separated
    return y, p, rng.integers(1, 4, n + 6).astype(float)


few = settings(max_examples=20)


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of inverted rankings


def same(one, other, rtol=1e-9):
    np.testing.assert_allclose(one.apply(GRID), other.apply(GRID), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("method", MONOTONE)
@few
@given(data())
def test_monotone(method, found):
    y, p, w = found
    q = recalibrate(y, p, method=method, weights=w).apply(np.concatenate([[0.0], GRID, [1.0]]))
    assert ((q >= 0) & (q <= 1)).all()
    step = np.diff(q)
    assert (step >= 0).all() or (method == "logistic" and (step <= 0).all())


def test_smoothing_counts_rows():
    """The targets of Platt depend on the sums of the weights: a factor changes the map, repeated rows do not."""
    y, p, w = [0, 1, 0, 1, 1], [0.2, 0.3, 0.6, 0.7, 0.9], np.array([1, 2, 1, 3, 1])
    platt = {"method": "logistic", "smoothing": "platt"}
    one, ten = (recalibrate(y, p, **platt, weights=factor * w) for factor in (1, 10))
    same(one, recalibrate(np.repeat(y, w), np.repeat(p, w), **platt))
    assert one.parameters["slope"] < ten.parameters["slope"]


@pytest.mark.parametrize("method", METHODS_OF_BINARY[:4])
@few
@given(data())
def test_the_optimum_has_its_certificate_and_never_raises_the_score(method, found):
    y, p, w = found
    fit = recalibrate(y, p, method=method, weights=w)
    assert fit.gradient <= 1e-10
    assert fit.objective <= cb.log_score(y, p, weights=w) + 1e-12
    assert fit.objective == pytest.approx(cb.log_score(y, fit.apply(p), weights=w), rel=1e-9)


@few
@given(data())
def test_isotonic_never_raises_the_brier_score(found):
    y, p, w = found
    fit = recalibrate(y, p, method="isotonic", weights=w)
    assert cb.brier_score(y, fit.apply(p), weights=w) <= cb.brier_score(y, p, weights=w) + 1e-12


@few
@given(data())
def test_refitting_the_own_output_is_the_identity(found):
    y, p, w = found
    first = recalibrate(y, p, method="temperature", weights=w)
    if not first.boundary:
        again = recalibrate(y, first.apply(p), method="temperature", weights=w)
        assert again.parameters["slope"] == pytest.approx(1, abs=1e-7)
    first = recalibrate(y, p, method="logistic", weights=w)
    if abs(first.parameters["slope"]) > 0.05:
        again = recalibrate(y, first.apply(p), method="logistic", weights=w)
        assert again.parameters["intercept"] == pytest.approx(0, abs=1e-6)
        assert again.parameters["slope"] == pytest.approx(1, abs=1e-6)
    first = recalibrate(y, p, method="isotonic", weights=w).apply(p)
    np.testing.assert_allclose(recalibrate(y, first, method="isotonic", weights=w).apply(first), first, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS_OF_BINARY)
class TestInputs:
    RNG = np.random.default_rng(7)
    P = RNG.uniform(0.05, 0.95, 200)
    Y = (RNG.random(200) < expit(0.6 * logit(P))).astype(int)

    def test_labels(self, method):
        found = recalibrate(np.where(self.Y, "yes", "no"), self.P, method=method, pos_label="yes")
        same(found, recalibrate(self.Y, self.P, method=method))

    def test_clip(self, method):
        found = recalibrate(self.Y, self.P, method=method, clip=0.1)
        same(found, recalibrate(self.Y, self.P.clip(0.1, 0.9), method=method, clip=0.1))
        assert found.apply([0.0])[0] == found.apply([0.1])[0]
