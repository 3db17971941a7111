"""An audit in MLflow: its numbers as metrics, its verdict as tags, its report as an artifact."""

from __future__ import annotations

import math
import re
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from calibrant.core.findings import Measurement
from calibrant.errors import InputError, MissingExtraError, shown
from calibrant.report.audit import Reported

_NOT_ALLOWED = re.compile(r"[^\w.\- /]")  # colons are allowed too, but not on Windows


def log_audit(audit: Reported, *, prefix: str = "calibrant.", artifact: str = "calibration.html") -> None:
    """Log what an audit found to the active MLflow run (a new one if there is none).

    Metrics are ``calibrant.ece`` and so on, with ``.expected`` (if calibrated), ``.pvalue``, ``.low`` and ``.high``
    where they exist, ``calibrant.verdict.estimate``, ``.low`` and ``.high`` of the headline, and ``calibrant.n``. Tags
    are ``calibrant.verdict`` ("miscalibrated", "within" or "cannot tell"), ``calibrant.headline``, and
    ``calibrant.not_finite`` with the metrics that were left out because MLflow's databases cannot store infinite
    values. Artifacts are the report and, beside it, everything as JSON.

    Parameters
    ----------
    audit
        Made by `calibrant.audit`.
    prefix
        Begins the names of metrics and tags. Characters that MLflow does not allow become ``_``.
    artifact
        Name of the report, with folders if wanted; it must end in ``.html``.
    """
    try:
        import mlflow
    except ImportError:
        raise MissingExtraError("logging to MLflow", extra="mlflow") from None

    place = PurePosixPath(artifact)
    if place.suffix != ".html":
        raise InputError(f"artifact must be the name of a file that ends in .html; got {shown(artifact)}")
    values = {"n": float(audit.findings.n)}
    for measurement in audit.findings.measurements:
        values |= _values(measurement)
    for claim in audit.verdict.claims[:1]:
        limits = {"estimate": claim.estimate, "low": claim.low, "high": claim.high}
        values |= {f"verdict.{name}": limit for name, limit in limits.items() if not math.isnan(limit)}
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    tags = {"verdict": audit.verdict.status, "headline": audit.verdict.headline}
    if len(finite) < len(values):
        tags["not_finite"] = ", ".join(f"{name} = {values[name]}" for name in values if name not in finite)
    with TemporaryDirectory() as folder:  # written first: what cannot be written leaves the run as it was
        page = Path(folder, place.name)
        files = [audit.to_html(page), audit.to_json(page.with_suffix(".json"))]
        mlflow.log_metrics({_allowed(prefix + name): value for name, value in finite.items()})
        mlflow.set_tags({_allowed(prefix + name): text for name, text in tags.items()})
        for file in files:
            mlflow.log_artifact(str(file), None if place.parent == PurePosixPath() else str(place.parent))


def _values(measurement: Measurement) -> dict[str, float]:
    low, high = measurement.interval or (None, None)
    parts: dict[str, Any] = {
        "": measurement.value,
        ".expected": measurement.expected,
        ".pvalue": measurement.pvalue,
        ".low": low,
        ".high": high,
    }
    return {measurement.name + part: float(value) for part, value in parts.items() if value is not None}


def _allowed(name: str) -> str:
    return _NOT_ALLOWED.sub("_", name)
