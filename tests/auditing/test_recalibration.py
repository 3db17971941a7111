"""What an audit says on recalibration: claims, notes, the curve after, code, and refusals."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from tests.auditing.found import notes

import calibrant as cb
from calibrant.auditing.recalibration import calibration_sample, gain_claims, map_note
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.recalibrating.cross_fitting import CrossFitted
from calibrant.recalibrating.fitting import CalibrationRows
from calibrant.recalibrating.gain import GainAndMap, RecalibrationGain
from calibrant.recalibrating.recalibration import Recalibration

RNG = np.random.default_rng(3)
N = 1500
P = expit(1.5 * RNG.normal(size=N))
OVERCONFIDENT = (RNG.random(N) < expit(0.5 * logit(P))).astype(int)
CALIBRATED = (RNG.random(N) < P).astype(int)
VECTORS = softmax(2.0 * RNG.normal(size=(N, 4)), axis=1)
LABELS = (RNG.random((N, 1)) > softmax(0.5 * np.log(VECTORS), axis=1).cumsum(axis=1)).sum(axis=1)


def audited(y, prediction, **options):
    return cb.audit(y, prediction, resamples=19, **options)


@pytest.fixture(scope="module")
def found():
    return audited(OVERCONFIDENT, P)


def gains(result):
    return [claim for claim in result.verdict.claims if claim.quantity == "recalibration_gain"]


def section(result):
    return next(section for section in result.findings.sections if section.name == "recalibration")


def test_a_gain_is_a_claim_with_its_own_level(found):
    (claim,) = gains(found)
    assert claim.kind == "gain"
    assert claim.level == pytest.approx(0.99)
    assert 0 < claim.low < claim.estimate < claim.high
    assert claim.is_false(claim.low / 2)
    assert not claim.is_false(claim.estimate)
    same = cb.recalibration_gain(OVERCONFIDENT, P, method="logistic", level=0.99)
    assert claim.estimate == pytest.approx(same.estimate, rel=0.1)  # other folds


def test_the_note_is_made_from_the_claim_and_takes_the_place_of_general_advice(found):
    (claim,) = gains(found)
    values = notes(found)["map helps"]
    slope = next(line.value for line in section(found).measurements if line.name == "recalibrate.slope")
    assert values["map"].startswith(f"logistic map, slope {slope:.2f}, ")
    assert (values["gain"], values["limits"], values["level"]) == (claim.estimate, (claim.low, claim.high), claim.level)
    assert "recalibrate" not in notes(found)


def test_calibrated_predictions_show_no_gain():
    result = audited(CALIBRATED, P)
    (claim,) = gains(result)
    assert claim.kind == "limits"
    assert "no gain shown" in notes(result)
    assert section(result).code == ""  # nothing to copy where nothing is gained


def test_the_section_shows_before_and_after_and_the_code(found, tmp_path):
    shown = section(found)
    values = {line.name: line.value for line in shown.measurements}
    (claim,) = gains(found)
    assert (values["recalibration_gain.low"], values["recalibration_gain.high"]) == (claim.low, claim.high)
    labels = [one.label for one in shown.measurements if one.name == "recalibration_gain.low"]
    assert labels == ["lower limit of the gain, at 99 %"]
    assert all(one.interval is None for one in shown.measurements)  # which a page heads with its own level
    before, after = (values[f"recalibration_gain.{when}"] for when in ("before", "after"))
    assert values["recalibration_gain"] == pytest.approx(before - after)
    curve = shown.figures[0].curve
    assert curve.details["names"] == ("as predicted", "recalibrated")
    x, y, model = (np.asarray(curve.columns[name]) for name in ("mean_predicted", "mean_observed", "model"))
    off = [np.abs(x - y)[model == k].mean() for k in (0, 1)]
    assert off[1] < off[0] / 2
    scope = {"y": OVERCONFIDENT, "p": P, "p_new": P[:5]}
    exec(shown.code, scope)
    assert scope["m"].parameters["slope"] == pytest.approx(values["recalibrate.slope"])
    assert scope["better"].shape == (5,)
    assert "    m = recalibrate(" in str(found)
    found.to_html(tmp_path / "page.html")
    assert "<code>from calibrant import recalibrate" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.findings.to_dict()["sections"][-1]["code"] == shown.code


def test_class_vectors_have_a_lower_limit_of_their_error():
    result = audited(LABELS, VECTORS)
    (gain,) = gains(result)
    error = next(claim for claim in result.verdict.claims if claim.quantity == "calibration_error")
    assert (gain.kind, error.kind) == ("gain", "limits")
    assert (error.low, error.high) == (gain.low, math.inf)
    Q = softmax(0.5 * np.log(VECTORS), axis=1)
    true = float((Q * np.log(Q / VECTORS)).sum(axis=1).mean())
    assert 0 < error.low < true
    assert notes(result)["map helps"]["map"].startswith("temperature ")
    values = {line.name: line.value for line in section(result).measurements}
    assert values["recalibrate.argmax"] == 0  # a temperature keeps the ranking
    assert values["recalibrate.temperature"] == pytest.approx(2.0, rel=0.2)


def test_without_limits_nothing_is_claimed():
    p, y = P[:400].copy(), OVERCONFIDENT[:400].copy()
    p[:3], y[:3] = 0.0, 0
    result = audited(y, p)
    (claim,) = gains(result)
    assert (claim.kind, claim.level) == ("description", None)
    assert math.isnan(claim.low)
    assert "gain without limits" in notes(result)


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        ([0, 1] * 10, [0.4, 0.6] * 10, "it takes 30 rows"),
        ([1] * 3 + [0] * 57, [0.4, 0.6] * 30, "5 of the rarer outcome"),
        ([0, 1] * 30, [0.5] * 60, "constant"),
        ([1] + [0, 1] * 30, [0.0] + [0.4, 0.6] * 30, "as predicted is infinite"),
    ],
)
def test_what_cannot_be_fitted_is_a_caveat(y, p, words):
    result = audited(y, p)
    assert not gains(result)
    (said,) = [
        text for text in result.findings.caveats if text.startswith("Whether recalibration helps is not measured")
    ]
    assert words in said


def test_clusters_are_dealt_whole():
    cluster = np.arange(N) // 10
    result = audited(OVERCONFIDENT, P, clusters=cluster)
    (claim,) = gains(result)
    assert claim.kind in ("gain", "limits", "description")
    few = audited(OVERCONFIDENT, P, clusters=np.arange(N) % 25)
    assert gains(few)[0].level is None


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("calibrant.auditing.recalibration.MAX_NUMBERS", 600)
    result = audited(OVERCONFIDENT, P)
    assert gains(result)[0].rows == 600
    assert "Recalibration is measured on 600 rows, drawn at random." in result.findings.caveats
    data, _ = calibration_sample(Classes(LABELS, VECTORS, np.ones(N)), None)
    assert data.n == 150
    clusters = np.arange(N) // 7
    data, codes = calibration_sample(Binary(OVERCONFIDENT, P, np.ones(N)), clusters)
    assert data.n <= 600
    assert (np.bincount(codes) >= 2).all()


def measured(estimate, low, high):
    gain = RecalibrationGain(
        0.6, 0.6 - estimate, estimate, low, high, 0.99, 0.1, 0.0, np.zeros(0), "temperature", "log", 500, ("x",), ""
    )
    fitted = Recalibration("classes", "temperature", {"slope": 0.5, "temperature": 2.0}, 500)
    return GainAndMap(gain, fitted, CrossFitted(np.zeros(0), np.zeros(0)))


@pytest.mark.parametrize(
    ("numbers", "kind", "key"),
    [
        ((0.034, 0.0281, 0.0399), "gain", "map helps"),
        ((-0.002, -0.006, 0.001), "limits", "no gain shown"),
        ((-0.03, -0.05, -0.01), "harm", "map harms"),
    ],
)
def test_what_a_map_does(numbers, kind, key):
    found = measured(*numbers)
    claim, *_ = gain_claims(found, CalibrationRows(None, "classes"))
    said = map_note(claim, found)
    assert (claim.kind, said.key) == (kind, key)
    assert (said.values["map"], said.values["limits"]) == ("temperature 2.00", numbers[1:])


def test_probabilities_of_the_other_outcome_are_not_recalibrated():
    result = audited(CALIBRATED, 1 - P)
    assert {"other outcome?", "inverted"} < set(notes(result))
    assert "map helps" not in notes(result)
    assert section(result).code == ""


def test_no_map_is_advised_for_labels():
    said = notes(audited(CALIBRATED, (P > 0.5).astype(float)))
    assert "labels?" in said
    assert not any("recalibrate" in key or "map" in key for key in said)


def test_rows_of_an_audit_are_not_named_because_they_are_sorted():
    """Five events at 0.001 carry the mean gain."""
    k = np.arange(1000)
    said = notes(audited((k < 5) | ((k >= 960) & (k % 2 == 0)), np.where(k < 960, 0.001, 0.5)))
    assert said["gain without limits"]["why"].endswith("and limits that cover need 25. Use more rows")


class TestMapsOfGroups:
    """One of three groups of 1,000 rows has logits that are 1 higher."""

    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b", "c"], 1000)
    p = rng.uniform(0.1, 0.9, 3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-np.log(p / (1 - p)) - (group == "b")))).astype(int)

    def claims(self, y, p, **given):
        verdict = cb.audit(y, p, resamples=99, **given).verdict
        found = [each for each in verdict.claims if each.subject.name.startswith("maps by")]
        return found, [line.text for line in verdict.lines if "one map for each group" in line.text]

    def test_what_they_gain_is_said_where_a_group_is_off(self):
        groups = {"plan": self.group, "other": np.arange(3000) % 2}
        (claim,), (line,) = self.claims(self.y, self.p, groups=groups)
        same = {"method": "logistic", "groups": self.group, "baseline": "common", "level": 0.995}
        gain = cb.recalibration_gain(self.y, self.p, **same)
        assert (claim.kind, claim.subject.name, claim.level) == ("gain", "maps by plan", pytest.approx(0.995))
        assert claim.estimate == pytest.approx(gain.estimate, rel=0.1)  # other folds
        assert line.startswith(
            "one map for each group, recalibrate with groups=plan (--by plan), beyond the common map:"
        )
        order = np.random.default_rng(0).permutation(3000)
        again, _ = self.claims(self.y[order], self.p[order], groups={k: v[order] for k, v in groups.items()})
        assert again == [claim]

    def test_the_command_can_be_typed(self):
        some = np.where(np.arange(3000) % 50, self.group.astype(object), None)
        _, (line,) = self.claims(self.y, self.p, groups={"my plan": some})
        assert "(--by 'my plan', once each row has a label), beyond the common map" in line

    def test_nothing_is_said_of_groups_that_are_right_and_of_classes(self):
        right = (self.rng.random(3000) < self.p).astype(int)
        assert self.claims(right, self.p, groups=self.group) == ([], [])
        P = np.stack([1 - self.p, self.p], axis=1)
        assert self.claims(self.y, P, groups=self.group) == ([], [])
