"""Audits in a real MLflow store."""

import json
import sys

import numpy as np
import pytest

from calibrant import audit, examples
from calibrant.errors import MissingExtraError
from calibrant.integrations.mlflow import log_audit


@pytest.fixture
def mlflow(require, tmp_path, monkeypatch):
    """Return MLflow with a new store in a folder, and a run in it."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the store that needs no database library
    library = require("mlflow")
    library.set_tracking_uri((tmp_path / "runs").as_uri())
    library.set_experiment("calibration")
    with library.start_run():
        yield library
    library.set_tracking_uri(None)


@pytest.fixture(scope="module")
def churn():
    example = examples.churn()
    return audit(example.y, example.p, resamples=99)


def logged(mlflow):
    return mlflow.get_run(mlflow.active_run().info.run_id).data


def paths(mlflow, folder=None):
    files = mlflow.MlflowClient().list_artifacts(mlflow.active_run().info.run_id, folder)
    return sorted(file.path for file in files)


def test_measurements_are_metrics_and_the_verdict_is_a_tag(mlflow, churn):
    log_audit(churn)
    metrics = logged(mlflow).metrics
    assert metrics["calibrant.n"] == 4000
    for row in churn.findings.measurements:
        assert metrics[f"calibrant.{row.name}"] == row.value
        assert metrics.get(f"calibrant.{row.name}.pvalue") == row.pvalue
        assert metrics.get(f"calibrant.{row.name}.expected") == row.expected
    assert metrics["calibrant.ece"] == pytest.approx(0.0786, abs=1e-4)
    assert metrics["calibrant.kuiper_test.pvalue"] < 0.001
    size = churn.verdict.claims[0]
    expected = [size.estimate, size.low, size.high]
    assert [metrics[f"calibrant.verdict.{part}"] for part in ("estimate", "low", "high")] == expected
    tags = logged(mlflow).tags
    assert tags["calibrant.verdict"] == churn.verdict.status == "miscalibrated"
    assert tags["calibrant.headline"] == churn.verdict.headline
    assert "calibrant.not_finite" not in tags
    assert paths(mlflow) == ["calibration.html", "calibration.json"]


def test_report_and_json_are_artifacts(mlflow, churn, tmp_path):
    log_audit(churn, artifact="reports/march/churn.html")
    assert paths(mlflow, "reports/march") == ["reports/march/churn.html", "reports/march/churn.json"]
    folder = mlflow.artifacts.download_artifacts(run_id=mlflow.active_run().info.run_id, dst_path=str(tmp_path))
    page = (tmp_path / "reports/march/churn.html").read_text(encoding="utf-8")
    assert folder
    assert page.lower().startswith("<!doctype html>")
    assert churn.verdict.lines[0].text in page
    results = json.loads((tmp_path / "reports/march/churn.json").read_text(encoding="utf-8"))
    assert (results["verdict"]["status"], results["n"]) == ("miscalibrated", 4000)


def test_class_probabilities(mlflow):
    digits = examples.digits()
    found = audit(digits.y[:600], digits.P[:600], resamples=19)
    log_audit(found)
    metrics = logged(mlflow).metrics
    assert metrics["calibrant.ece.top-label"] > metrics["calibrant.ece.classwise"] > 0
    assert metrics["calibrant.classes.brier_score"] > 0
    assert all(np.isfinite(value) for value in metrics.values())


def test_infinite_values_are_left_out_and_named(mlflow):
    p = np.linspace(0, 1, 101)
    y = np.arange(101) % 2 == 0  # the first row happened though it was given probability 0
    log_audit(audit(y, p, resamples=19))
    data = logged(mlflow)
    assert data.tags["calibrant.not_finite"] == "log_score = inf"
    assert "calibrant.log_score" not in data.metrics
    assert data.metrics["calibrant.brier_score"] > 0


def test_names_keep_to_what_mlflow_allows(mlflow, churn):
    log_audit(churn, prefix="model[7]: ")
    data = logged(mlflow)
    assert "model_7__ ece" in data.metrics
    assert data.tags["model_7__ verdict"] == "miscalibrated"


def test_refused_before_anything_is_logged(mlflow, churn, refusal):
    for artifact in ("calibration", "calibration.json", ""):
        assert "ends in .html" in refusal(log_audit, churn, artifact=artifact)
    assert logged(mlflow).metrics == {}
    assert paths(mlflow) == []


def test_without_mlflow(churn, monkeypatch, refusal):
    monkeypatch.setitem(sys.modules, "mlflow", None)  # makes its import fail
    message = refusal(log_audit, churn, error=MissingExtraError)
    expected = "logging to MLflow needs an optional library that is not installed; pip install 'calibrant[mlflow]'"
    assert message == expected
