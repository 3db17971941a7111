"""Unnormalised calibration mean embedding."""

import math

import numpy as np
import pytest

import calibrant as cb
from calibrant import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    MvNormal,
    Normal,
    Samples,
    SummaryError,
    summarize,
    ucme,
)
from calibrant.inputs.laws.columns import table_of
from calibrant.kernels.fitted import Chance
from calibrant.metrics.ucme import located

RNG = np.random.default_rng(0)
n = 40
P1 = RNG.integers(0, 17, n) / 16
Y1 = (RNG.random(n) < P1**0.7).astype(int)
P3 = RNG.dirichlet(np.ones(3), n)
Y3 = RNG.integers(0, 3, n)
LAW = Normal(RNG.normal(size=n), RNG.uniform(0.5, 2, n))
REAL = RNG.normal(size=n)
W = RNG.uniform(0.5, 3, n)
KERNEL = Exponential(0.3)


def test_by_hand():
    # residual 0.75 at 0.25 and -1 at 1, seen from 0.5 with u = 1 and from 1 with u = 0
    Z = np.array([[0.75, -0.75], [-1.0, 1.0]]) * np.exp(-np.array([[0.25, 0.75], [0.5, 0.0]]) / 0.3)
    found = ucme([1, 0], [0.25, 1.0], locations=([0.5, 1.0], [1, 0]), kernel=KERNEL)
    assert found == pytest.approx((Z.mean(axis=0) ** 2).mean(), rel=1e-12)
    w = np.array([1.0, 3.0])
    weighted = ucme([1, 0], [0.25, 1.0], locations=([0.5, 1.0], [1, 0]), kernel=KERNEL, weights=w)
    assert weighted == pytest.approx((np.average(Z, axis=0, weights=w) ** 2).mean(), rel=1e-12)


@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
def test_classes(w):
    t, u = P3[:4] ** 2 / (P3[:4] ** 2).sum(axis=1, keepdims=True), np.array([0, 1, 2, 0])
    k = np.exp(-np.abs(P3[:, None] - t[None]).sum(axis=2) / 2 / 0.3)
    Z = k * ((Y3[:, None] == u) - P3[:, u])
    found = ucme(Y3, P3, locations=(t, u), kernel=KERNEL, weights=w)
    assert found == pytest.approx((np.average(Z, axis=0, weights=w) ** 2).mean(), rel=1e-11)


def test_two_columns_are_one_probability():
    places = np.array([0.1, 0.6]), [1, 0]
    pair = [np.column_stack([1 - p, p]) for p in (P1, places[0])]
    assert ucme(Y1, pair[0], locations=(pair[1], places[1]), kernel=KERNEL) == pytest.approx(
        ucme(Y1, P1, locations=places, kernel=KERNEL), rel=1e-12
    )


def test_vectors():
    law = MvNormal(RNG.normal(size=(n, 2)), np.eye(2))
    y = RNG.normal(size=(n, 2))
    places = MvNormal(RNG.normal(size=(3, 2)), np.eye(2)), RNG.normal(size=(3, 2))
    assert 0 < ucme(y, law, locations=places, kernel=Exponential(1.0) * Gaussian(1.0)) < 1


def test_certain_and_right_is_zero():
    assert ucme([0, 1, 1], [0.0, 1.0, 1.0], locations=([0.5], [1]), kernel=KERNEL) == 0.0


class TestDrawn:
    @pytest.mark.parametrize(("y", "prediction"), [(Y1, P1), (Y3, P3), (REAL, LAW)], ids=["binary", "classes", "laws"])
    def test_repeatable_and_free_of_the_order(self, y, prediction):
        first = ucme(y, prediction, locations=5, rng=1)
        assert first == ucme(y, prediction, locations=5, rng=1) != ucme(y, prediction, locations=5, rng=2)
        order = RNG.permutation(n)
        moved = prediction.take(order) if isinstance(prediction, Normal) else prediction[order]
        assert ucme(y[order], moved, locations=5, rng=1) == pytest.approx(first, rel=1e-11)

    def test_ten_by_default(self):
        assert ucme(Y3, P3) == ucme(Y3, P3, locations=10)
        assert len(summarize(ucme, Y3, P3).names) == 10

    def test_targets_come_from_the_predictions(self):
        # Predictions that are certain have certain targets: class 0 only.
        P = np.tile([1.0, 0.0], (20, 1))
        P[0] = [0.5, 0.5]
        y = np.ones(20, dtype=int)
        found = [ucme(y, P, locations=1, kernel=Exponential(1e6), rng=seed) for seed in range(10)]
        # Z is -(1 - p_1) whenever u = 0
        assert found == pytest.approx([(19.5 / 20) ** 2] * 10, rel=1e-5)

    def test_draws(self):
        law = Samples(LAW.sample(6, 0))
        assert ucme(REAL, law, locations=4) > 0

    def test_more_than_rows(self, refusal):
        assert "locations=41 draws 41 different rows; there are 40" in refusal(ucme, Y3, P3, locations=41)


class TestRefusals:
    @pytest.mark.parametrize("locations", ["ten", [0.5, 0.2], ([0.5],), ([0.5], [1], [2])])
    def test_no_locations(self, locations, refusal):
        message = refusal(ucme, Y1, P1, locations=locations)
        assert "locations must be a whole number J or a pair (prediction, y)" in message

    @pytest.mark.parametrize("locations", [0, -1, 2.0, True, None, {"J": 3}])
    def test_no_number_of_locations(self, locations, refusal):
        assert "locations must be" in refusal(ucme, Y1, P1, locations=locations)

    def test_of_another_kind(self, refusal):
        assert "class probabilities with 3 columns" in refusal(ucme, Y3, P3, locations=([0.5], [1]))
        assert "class probabilities with 3 columns" in refusal(ucme, Y3, P3, locations=([[0.5, 0.5]], [1]))
        assert "a law like the prediction, Normal" in refusal(ucme, REAL, LAW, locations=([0.5], [1]))
        assert refusal(ucme, Y1, P1, locations=(Normal([0.0], 1.0), [1.0]))
        laplace = cb.Laplace([0.0], 1.0), [1.0]
        assert "a law like that of the prediction" in refusal(ucme, REAL, LAW, locations=laplace)

    def test_bad_locations_are_read_like_rows(self, refusal):
        assert "row 1" in refusal(ucme, Y1, P1, locations=([0.5, 1.5], [1, 0]))
        assert "row 0" in refusal(ucme, REAL, LAW, locations=(Normal([0.0], 1.0), [np.nan]))

    def test_a_joint_kernel(self, refusal):
        class Joint(JointKernel):
            pass

        assert "test locations need a product of kernels" in refusal(ucme, Y3, P3, kernel=Joint())

    def test_draws(self, refusal):
        assert "at least 2" in refusal(ucme, REAL, LAW, draws=-4)


class TestSummary:
    def test_chunks_with_given_locations(self):
        options = {"locations": (Normal([0.0, 1.0], 1.0), [0.5, 0.0]), "kernel": Exponential(1.0) * Gaussian(1.0)}
        parts = [
            summarize(ucme, REAL[rows], LAW.take(rows), weights=W[rows], **options)
            for rows in (slice(0, 9), slice(9, n))
        ]
        assert ucme(sum(parts), **options) == pytest.approx(ucme(REAL, LAW, weights=W, **options), rel=1e-12)

    def test_other_locations_or_kernels_do_not_merge(self, refusal):
        places = {"locations": ([0.5], [1])}
        base = summarize(ucme, Y1, P1, kernel=KERNEL, **places)
        for other in ({"kernel": KERNEL, "locations": ([0.25], [1])}, {"kernel": Exponential(0.2), **places}):
            more = summarize(ucme, Y1, P1, **other)
            assert refusal(lambda more=more: base + more, error=SummaryError)

    def test_moments_of_something_else(self, refusal):
        other = summarize("brier_score", Y1, P1)
        assert "not ucme" in refusal(ucme, other, error=SummaryError)


def test_many_rows_go_through_in_chunks(monkeypatch):
    from calibrant.primitives import dispatch

    expected = ucme(Y3, P3, locations=(P3[:3], [0, 1, 2]), kernel=KERNEL * Delta())
    monkeypatch.setattr(dispatch, "CHUNK_ROWS", 7)
    assert ucme(Y3, P3, locations=(P3[:3], [0, 1, 2]), kernel=KERNEL * Delta()) == pytest.approx(expected, rel=1e-12)
    assert math.isfinite(expected)


CENTRE = RNG.integers(0, 9, n).astype(float)
PREDICTIONS = {
    "binary": (RNG.integers(0, 2, n), RNG.integers(0, 9, n) / 8),
    "classes": (RNG.integers(0, 3, n), RNG.multinomial(4, np.ones(3) / 3, n) / 4),
    "Normal": (RNG.normal(size=n), Normal(CENTRE, RNG.uniform(0.5, 2, n))),
    "Laplace": (RNG.normal(size=n), cb.Laplace(CENTRE, 1.0)),
    "Mixture": (RNG.normal(size=n), cb.Mixture([Normal(CENTRE, 1.0), Normal(-CENTRE, 2.0)], [0.5, 0.5])),
    "MvNormal": (RNG.normal(size=(n, 2)), cb.MvNormal(np.column_stack([CENTRE, -CENTRE]), np.eye(2))),
}


class TestLocationsAndOutcomes:
    """Locations are chosen without a look at the outcomes."""

    def places(self, y, prediction, seed=1):
        entry = cb.catalogue.find("ucme")
        kernel = Exponential(0.3) if not isinstance(prediction, cb.Law) else Exponential(1.0) * Gaussian(1.0)
        chance = Chance(None, np.random.default_rng(seed))
        return located(entry.read(y, prediction), 6, kernel, chance)[1].rows

    def predictions(self, rows):
        if hasattr(rows, "law"):
            return table_of(rows.law)[1]
        return rows.p if hasattr(rows, "p") else rows.P

    @pytest.mark.parametrize("name", PREDICTIONS)
    def test_other_outcomes_give_the_same_locations(self, name):
        y, prediction = PREDICTIONS[name]
        first = self.places(y, prediction)
        for other in (y[::-1], np.zeros_like(y), np.roll(y, 7, axis=0)):
            second = self.places(other, prediction)
            np.testing.assert_array_equal(self.predictions(first), self.predictions(second))
            np.testing.assert_array_equal(first.y, second.y)  # drawn from the predictions
        another = self.places(y, prediction, seed=2)
        assert not np.array_equal(self.predictions(first), self.predictions(another))

    @pytest.mark.parametrize("name", PREDICTIONS)
    def test_the_order_of_the_rows_does_not_matter(self, name):
        y, prediction = PREDICTIONS[name]
        order = RNG.permutation(n)
        mixed = prediction.take(order) if isinstance(prediction, cb.Law) else prediction[order]
        for locations in (1, 6, 40):
            found = ucme(y[order], mixed, locations=locations, rng=4)
            assert found == pytest.approx(ucme(y, prediction, locations=locations, rng=4), rel=1e-10)
