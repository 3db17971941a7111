"""What is promised to programs that read our JSON: results and maps keep to the schema files of the documentation."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import calibrant as cb
from calibrant.report.files import read
from calibrant.testing.data import DATA

KEPT = Path(__file__).parent / "kept"  # files that version 0.2.0 wrote, which later versions must still read
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
AUDITED = ("binary", "classes", "intervals", "sets", "quantiles", "distributions", "samples", "vectors")


def valid(name, tree):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tree, schema, jsonschema.Draft202012Validator)
    return tree


@pytest.mark.parametrize("name", AUDITED)
def test_results(name):
    case = DATA[name].make(np.random.default_rng(0), 120)
    groups = {"site": np.arange(120) % 2}
    audit = cb.audit(case.y, case.prediction, groups=groups, resamples=99, tolerance=0.2)
    valid("report", json.loads(json.dumps(audit.findings.to_dict(), allow_nan=False)))


def test_results_of_points_and_of_two_models(tmp_path):
    real, made = np.random.default_rng(0).normal(size=(2, 60, 2))
    valid("report", cb.points.compare(real, made, resamples=399).findings.to_dict())
    case = DATA["binary"].make(np.random.default_rng(0), 120)
    found = cb.compare_predictions(case.y, {"a": case.prediction, "b": case.prediction**2})
    valid("report", read(found.to_json(tmp_path / "found.json")))


def test_results_without_a_claim_are_refused():
    tree = read(KEPT / "results.json")
    del tree["verdict"]["claims"][0]["quantity"]
    with pytest.raises(jsonschema.ValidationError, match="quantity"):
        valid("report", tree)


def test_kept_results_are_read():
    assert valid("report", read(KEPT / "results.json"))["verdict"]["status"] == "miscalibrated"


@pytest.mark.parametrize("method", ["logistic", "isotonic", "beta", "temperature"])
def test_maps(method):
    case = DATA["binary"].make(np.random.default_rng(0), 120)
    valid("map", json.loads(cb.recalibrate(case.y, case.prediction, method=method).to_json()))


def test_kept_maps_are_applied():
    tree = valid("map", json.loads((KEPT / "map.json").read_text()))
    slope, intercept = (tree["parameters"][name] for name in ("slope", "intercept"))
    expected = 1 / (1 + np.exp(-(intercept + slope * np.log(0.2 / 0.8))))
    assert cb.results.Recalibration.from_json(KEPT / "map.json").apply(np.array([0.2]))[0] == pytest.approx(expected)


def test_the_citation_has_the_version():
    citation = (SCHEMAS.parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {cb.__version__}\n" in citation
