"""Temperature, logistic, beta and quadratic maps: reference values, hand-worked cases, properties and refusals."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from tests.references.books import book

from calibrant.inputs.probabilities import read_probabilities
from calibrant.recalibrating import mean_log_score
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.methods import METHODS
from calibrant.recalibrating.recalibrate import recalibrate

BOOK = book("recalibration")
BINARY = METHODS["binary"]
SMOOTH = ("temperature", "logistic", "beta", "quadratic")


def fitted(case):
    data, options = BOOK["data"][case["data"]], dict(case["options"])
    if options.pop("weights", False):
        options["weights"] = data["weights"]
    return recalibrate(data["y"], data["p"], **options)


@pytest.mark.parametrize("name", ["B2-beta", "B4-beta"])
def test_on_a_bound_the_gradient_points_outwards(name):
    """A shape that is 0 would lower the score only by becoming negative: the proof that the face is the optimum."""
    (case,) = (case for case in BOOK["cases"] if case["id"] == name)
    data, m = BOOK["data"][case["data"]], fitted(case).parameters
    y, p = np.array(data["y"]), np.array(data["p"])
    w = np.array(data["weights"]) if case["options"].get("weights") else np.ones(len(y))
    score = mean_log_score.LogScore((np.log(p), -np.log1p(-p)), y, w, w.sum())
    gradient = dict(zip("cab", score(np.array([m["c"], m["a"], m["b"]])).gradient, strict=True))
    for shape, expected in case["value"]["gradient_at_boundary"].items():
        assert gradient.pop(shape) == pytest.approx(expected, rel=1e-8)
    assert max(map(abs, gradient.values())) <= 1e-10


class TestByHand:
    def test_logistic_through_two_frequencies(self):
        """Two scores and two parameters: the map gives each score its frequency, 1/4 and 2/3."""
        y, p = [1, 0, 0, 0, 1, 1, 0], [0.2] * 4 + [0.6] * 3
        found = recalibrate(y, p, method="logistic")
        slope = (logit(2 / 3) - logit(1 / 4)) / (logit(0.6) - logit(0.2))
        assert found.parameters["slope"] == pytest.approx(slope, rel=1e-12)
        np.testing.assert_allclose(found.apply([0.2, 0.6]), [1 / 4, 2 / 3], rtol=1e-12)

    @pytest.mark.parametrize("method", ["beta", "quadratic"])
    def test_three_frequencies(self, method):
        """Three scores and three parameters: the map gives each score its frequency, 1/4, 1/2 and 4/5."""
        y, p = [1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0], [0.2] * 4 + [0.5] * 2 + [0.8] * 5
        found = recalibrate(y, p, method=method)
        np.testing.assert_allclose(found.apply([0.2, 0.5, 0.8]), [1 / 4, 1 / 2, 4 / 5], rtol=1e-11)

    def test_platt_targets(self):
        """Two events of two at 0.8 have the target 3/4, two non-events of two at 0.2 have 1/4."""
        found = recalibrate([1, 1, 0, 0], [0.8, 0.8, 0.2, 0.2], method="logistic", smoothing="platt")
        np.testing.assert_allclose(found.apply([0.8, 0.2]), [3 / 4, 1 / 4], rtol=1e-12)

    def test_beta_on_a_face_where_the_free_fit_diverges(self):
        """A free map sends low and high scores to 0; with a, b >= 0 the optimum has b = 0."""
        p = [0.05, *np.arange(1, 10) / 10, 0.95]
        y = np.isin(np.round(p, 2), [0.3, 0.4, 0.5, 0.6]).astype(int)
        found = recalibrate(y, p, method="beta")
        assert found.parameters["a"] == pytest.approx(0.332888, abs=5e-7)
        assert found.parameters["c"] == pytest.approx(-0.241732, abs=5e-7)
        assert found.parameters["b"] == 0
        assert found.boundary == ("b",)

    def test_beta_of_inverted_scores_is_constant(self):
        with pytest.warns(UserWarning, match="no or inverted information"):
            found = recalibrate([1, 1, 0, 0, 0], [0.1, 0.2, 0.5, 0.7, 0.9], method="beta")
        assert found.boundary == ("a", "b")
        assert found.parameters["c"] == pytest.approx(logit(0.4))
        np.testing.assert_allclose(found.apply([0.0, 0.3, 1.0]), 0.4)
        with pytest.warns(UserWarning, match="no or inverted information"):  # the mean rounds to 1
            found = recalibrate([1, 1, 1, 0], [0.2, 0.3, 0.4, 0.9], method="beta", weights=[1, 1, 1, 1e-20])
        assert found.parameters["c"] == pytest.approx(math.log(3e20))

    def test_temperature_of_inverted_scores_is_infinite(self):
        with pytest.warns(UserWarning, match=r"best temperature is infinite and every result is 0\.5"):
            found = recalibrate([1, 1, 0, 0], [0.1, 0.7, 0.6, 0.9], method="temperature")
        assert dict(found.parameters) == {"slope": 0.0, "temperature": math.inf}
        assert (found.boundary, found.gradient) == (("slope",), 0.0)
        assert found.objective == pytest.approx(math.log(2))
        np.testing.assert_array_equal(found.apply([0.0, 0.3, 1.0]), 0.5)

    def test_temperature_of_two_scores(self):
        """At logits ±ln 3, 2 of 3 rows on the side of the score: expit(s ln 3) = 2/3, so s = ln 2 / ln 3."""
        found = recalibrate([1, 1, 0, 0, 0, 1], [0.75] * 3 + [0.25] * 3, method="temperature")
        assert found.parameters["slope"] == pytest.approx(math.log(2) / math.log(3), rel=1e-12)
        assert found.parameters["temperature"] == pytest.approx(math.log(3) / math.log(2), rel=1e-12)
        np.testing.assert_allclose(found.apply([0.25, 0.5, 0.75]), [1 / 3, 1 / 2, 2 / 3], rtol=1e-12)


class TestScoresOfZeroAndOne:
    """Rows at 0 that did not happen and at 1 that did count in the mean, and keep their scores."""

    Y, P = [0, 1, 0, 1, 1, 0], [0.1, 0.2, 0.4, 0.7, 0.9, 0.8]

    @pytest.mark.parametrize("method", ["temperature", "logistic", "beta"])
    def test_they_add_nothing_but_their_weight(self, method):
        inside = recalibrate(self.Y, self.P, method=method)
        with_ends = recalibrate([0, *self.Y, 1], [0.0, *self.P, 1.0], method=method)
        for name, value in inside.parameters.items():
            assert with_ends.parameters[name] == pytest.approx(value, rel=1e-9)
        assert with_ends.objective == pytest.approx(inside.objective * 6 / 8)
        np.testing.assert_array_equal(with_ends.apply([0.0, 1.0]), [0.0, 1.0])
        assert with_ends.n == 8

    @pytest.mark.parametrize("clip", [1e-9, 0.01])
    def test_clip_limits_them_in_fit_and_apply(self, clip):
        y, p = [0, *self.Y, 1, 1], [0.0, *self.P, 1.0, 0.0]
        found = recalibrate(y, p, method="logistic", clip=clip)
        again = recalibrate(y, np.clip(p, clip, 1 - clip), method="logistic")
        np.testing.assert_allclose(found.parameters["slope"], again.parameters["slope"])
        np.testing.assert_allclose(found.apply([0.0, 1.0]), again.apply([clip, 1 - clip]))
        assert found.options.clip == clip

    def test_scores_that_round_to_one_keep_their_log_score(self):
        """At p = 1 - 1e-13 and slope 1.3 η is 39, and q rounds to 1; the log score of a miss is still 39."""
        rows = read_probabilities([0, 1], [1 - 1e-13, 1 - 1e-13])
        m, options = {"intercept": 0.0, "slope": 1.3}, FitOptions()
        rule = BINARY["logistic"]
        assert rule.apply(m, rows.p, options)[0] == 1.0
        eta = 1.3 * (math.log(1 - 1e-13) - math.log(1 - (1 - 1e-13)))
        np.testing.assert_allclose(rule.log_scores(m, rows, options), [eta, math.exp(-eta)], rtol=1e-12)


class TestWords:
    def test_an_inverted_ranking_is_reported(self):
        with pytest.warns(UserWarning, match=r"the ranking is inverted: the slope is -1\.98"):
            found = recalibrate([1, 0, 1, 0, 0], [0.2, 0.3, 0.4, 0.6, 0.9], method="logistic")
        assert found.warnings[0].startswith("the ranking is inverted")
        assert found.apply([0.0])[0] == 1.0

    def test_scores_without_information_are_reported(self):
        """One of two happened at either score: the gradient is 0 at the slope 0."""
        with pytest.warns(UserWarning, match="the scores carry no information: the slope is 0"):
            found = recalibrate([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.6], method="logistic")
        np.testing.assert_array_equal(found.apply([0.0, 0.4, 1.0]), 0.5)


def test_many_rows_start_at_the_optimum_of_a_sample(monkeypatch):
    """A sample saves passes over all rows, and does not change the optimum; a separated sample is no harm."""
    rng = np.random.default_rng(2)
    p = rng.random(4000)
    y = rng.random(4000) < expit(0.4 + 0.7 * logit(p))
    y[::100] = p[::100] > 0.5
    slow = {method: recalibrate(y, p, method=method) for method in SMOOTH}
    for rows in (400, 40):
        monkeypatch.setattr(mean_log_score, "SAMPLE_ROWS", rows)
        for method, found in slow.items():
            again = recalibrate(y, p, method=method)
            assert again.gradient <= 1e-10
            for name, value in found.parameters.items():
                assert again.parameters[name] == pytest.approx(value, rel=1e-9)


def test_parts_of_the_rows_are_summed(monkeypatch):
    """Sums over chunks of rows are those of all rows."""
    data = BOOK["data"]["B2"]
    whole = recalibrate(data["y"], data["p"], method="beta", weights=data["weights"])
    monkeypatch.setattr(mean_log_score, "CHUNK_ROWS", 7)
    parts = recalibrate(data["y"], data["p"], method="beta", weights=data["weights"])
    assert parts.parameters["a"] == pytest.approx(whole.parameters["a"], rel=1e-12)
    assert parts.objective == pytest.approx(whole.objective, rel=1e-14)


def test_expit_is_that_of_scipy():
    x = np.linspace(-700, 800, 10_001)
    np.testing.assert_allclose(mean_log_score.expit(x), expit(x), rtol=1e-15)
    assert mean_log_score.expit(np.array([-np.inf, -1e4, 0.0, 1e4, np.inf])).tolist() == [0, 0, 0.5, 1, 1]
