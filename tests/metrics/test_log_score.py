"""Logarithmic score."""

import math

import numpy as np
import pytest
from scipy import stats

from calibrant import Law, Mixture, MvNormal, Normal, NotApplicableError, Samples, ScipyLaw, log_score, summarize


def test_binary_by_hand():
    assert log_score([1, 0], [0.5, 0.75]) == pytest.approx((math.log(2) + math.log(4)) / 2, rel=1e-15)


def test_classes_by_hand():
    P = [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]
    assert log_score([2, 0], P) == pytest.approx(math.log(4) / 2, rel=1e-15)


def test_weights():
    assert log_score([1, 0], [0.5, 0.75], weights=[1, 3]) == pytest.approx((math.log(2) + 3 * math.log(4)) / 4)


def test_certain_and_right_is_zero():
    assert log_score([1, 0], [1.0, 0.0]) == 0.0
    assert math.copysign(1, log_score([1], [1.0])) == 1.0
    assert log_score([0, 1], np.eye(2)) == 0.0


@pytest.mark.parametrize(
    ("y", "p"),
    [([1, 0], [0.0, 0.5]), ([0, 0], [1.0, 0.5]), ([1, 0], [[1.0, 0.0], [0.5, 0.5]])],
)
def test_an_outcome_that_was_ruled_out(y, p):
    assert log_score(y, p) == math.inf


def test_scores_near_one_keep_their_digits():
    p = 1 - 2**-50
    assert log_score([0], [p]) == pytest.approx(50 * math.log(2), rel=1e-15)
    assert log_score([1], [p]) == pytest.approx(2**-50, rel=1e-12)
    assert log_score([0], [1e-20]) == pytest.approx(1e-20, rel=1e-12)


class TestClip:
    @pytest.mark.parametrize(("y", "p"), [([1], [0.0]), ([0], [1.0]), ([1], [[1.0, 0.0]])])
    @pytest.mark.parametrize("clip", [0.01, 2**-52, 1e-20, np.float32(0.25)])
    def test_is_the_probability_of_what_was_ruled_out(self, y, p, clip):
        assert log_score(y, p, clip=clip) == pytest.approx(-math.log(clip), rel=1e-12)

    def test_also_limits_what_was_certain(self):
        assert log_score([1, 0], [1.0, 0.0], clip=0.25) == pytest.approx(-math.log(0.75))

    def test_leaves_others_alone(self):
        assert log_score([1, 0], [0.5, 0.75], clip=0.1) == log_score([1, 0], [0.5, 0.75])

    @pytest.mark.parametrize("clip", [0, 0.5, 1, -0.1, True, "auto", float("nan")])
    def test_refused(self, refusal, clip):
        message = refusal(log_score, [0, 1], [0.25, 0.5], clip=clip)
        assert message == f"clip must be None or lie strictly between 0 and 0.5; got {clip!r}"


class TestLaws:
    def test_by_hand(self):
        # -ln φ(z) + ln σ
        root = math.log(math.sqrt(2 * math.pi))
        found = log_score([1.0, 4.0], Normal([0.0, 4.0], [1.0, math.e]))
        assert found == pytest.approx((0.5 + root + 1 + root) / 2, rel=1e-15)

    def test_a_narrow_law_scores_below_zero(self):
        assert log_score([0.0], Normal(0.0, 1e-3)) < -5

    def test_weights(self):
        law = Normal([0.0, 0.0], [1.0, 2.0])
        each = -law.log_density([1.0, 1.0])
        assert log_score([1.0, 1.0], law, weights=[1, 3]) == pytest.approx((each[0] + 3 * each[1]) / 4, rel=1e-15)

    def test_vectors(self):
        mean, cov = np.zeros((3, 2)), np.array([[2.0, 0.5], [0.5, 1.0]])
        y = np.array([[0.0, 0.0], [1.0, 2.0], [-3.0, 0.5]])
        expected = -stats.multivariate_normal.logpdf(y, [0, 0], cov).mean()
        assert log_score(y, MvNormal(mean, cov)) == pytest.approx(expected, rel=1e-13)

    def test_an_outcome_outside_the_support(self):
        assert log_score([0.5, 2.0], ScipyLaw(stats.uniform(loc=[0.0, 0.0]))) == math.inf

    def test_climatology_and_the_truth(self):
        rng = np.random.default_rng(0)
        mean = rng.normal(size=20_000)
        y = rng.normal(mean)
        assert log_score(y, Normal(mean, 1.0)) == pytest.approx(1.4189, rel=0.02)
        assert log_score(y, Normal(np.zeros(20_000), np.sqrt(2))) == pytest.approx(1.7655, rel=0.02)

    def test_batches_add_up(self):
        y, law = np.array([0.0, 1.0, 5.0]), Normal([0.0, 0.0, 1.0], 1.0)
        parts = [summarize(log_score, y[rows], law.take(rows)) for rows in (slice(0, 1), slice(1, 3))]
        assert log_score(sum(parts)) == pytest.approx(log_score(y, law), rel=1e-15)

    def test_no_clipping(self, refusal):
        assert "clip= is for probabilities" in refusal(log_score, [0.0], Normal(0.0, 1.0), clip=0.1)

    def test_draws_have_no_density(self, refusal):
        message = refusal(log_score, [0.0], Samples([[0.0, 1.0]]))
        assert message.endswith("got Samples. Draws have no density; crps and energy_score judge them")
        mixed = Mixture([Samples([[0.0]]), Normal([0.0], 1.0)], [0.5, 0.5])
        assert "draws do not tell a density" in refusal(log_score, [0.0], mixed, error=NotApplicableError)

    def test_laws_that_do_not_tell(self, refusal):
        class Silent(Law):
            n = 1

            def take(self, rows):
                return self

        assert "Silent has no log_density" in refusal(log_score, [0.0], Silent(), error=NotApplicableError)

    def test_an_infinite_density(self, refusal):
        law = ScipyLaw(stats.beta(a=[0.5, 2.0], b=2.0))
        message = refusal(log_score, [0.0, 0.5], law, error=NotApplicableError)
        assert "the density of ScipyLaw at the outcome 0.0 is infinite" in message
