"""Temperature, logistic, beta and quadratic maps: reference values, hand-worked cases, properties and refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logit

from calibrant.errors import InputError
from calibrant.recalibrating.recalibrate import recalibrate

BOOK = json.loads((Path(__file__).parents[1] / "references" / "recalibration.json").read_text())
SMOOTH = ("temperature", "logistic", "beta", "quadratic")


def cases(*methods, refused=False):
    """Return the reference cases of binary maps by these methods, those that are refused or the others."""
    found = [
        case
        for case in BOOK["cases"]
        if case["data"][0] in "BR"
        and not case["id"].startswith("gain")
        and case["options"]["method"] in methods
        and ("refused" in case["value"]) == refused
    ]
    assert found
    return pytest.mark.parametrize("case", found, ids=lambda case: case["id"])


def fitted(case):
    data, options = BOOK["data"][case["data"]], dict(case["options"])
    if options.pop("weights", False):
        options["weights"] = data["weights"]
    return recalibrate(data["y"], data["p"], **options)


@cases(*SMOOTH)
def test_reference_values(case):
    found, value, rtol = fitted(case), case["value"], case["rtol"]
    assert set(found.parameters) == set(value["parameters"])
    for name, expected in value["parameters"].items():
        assert found.parameters[name] == pytest.approx(expected, rel=rtol, abs=0)
    np.testing.assert_allclose(found.apply(value["grid"]), value["apply"], rtol=rtol)
    assert found.objective == pytest.approx(value["objective"], rel=rtol)
    assert found.boundary == tuple(value.get("boundary", ()))
    assert found.gradient <= 1e-10


@cases(*SMOOTH, refused=True)
def test_reference_refusals(case):
    with pytest.raises(InputError) as refused:
        fitted(case)
    for word in case["value"]["refused"]:
        assert word in str(refused.value)


class TestByHand:
    def test_temperature_of_two_scores(self):
        """At logits ±ln 3, 2 of 3 rows on the side of the score: expit(s ln 3) = 2/3, so s = ln 2 / ln 3."""
        found = recalibrate([1, 1, 0, 0, 0, 1], [0.75] * 3 + [0.25] * 3, method="temperature")
        assert found.parameters["slope"] == pytest.approx(math.log(2) / math.log(3), rel=1e-12)
        assert found.parameters["temperature"] == pytest.approx(math.log(3) / math.log(2), rel=1e-12)
        np.testing.assert_allclose(found.apply([0.25, 0.5, 0.75]), [1 / 3, 1 / 2, 2 / 3], rtol=1e-12)

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

    def test_temperature_of_inverted_scores_is_infinite(self):
        with pytest.warns(UserWarning, match=r"best temperature is infinite and every result is 0\.5"):
            found = recalibrate([1, 1, 0, 0], [0.1, 0.7, 0.6, 0.9], method="temperature")
        assert dict(found.parameters) == {"slope": 0.0, "temperature": math.inf}
        assert (found.boundary, found.gradient) == (("slope",), 0.0)
        assert found.objective == pytest.approx(math.log(2))
        np.testing.assert_array_equal(found.apply([0.0, 0.3, 1.0]), 0.5)
