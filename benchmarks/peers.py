"""Names of other packages beside ours, each called on the same rows: is it the same number?

    python -m benchmarks.peers      # scikit-learn, torchmetrics, netcal, relplot, mapie, uncertainty-toolbox, ...

A package that is not installed is left out, and the report says so. Probabilities are those of `examples.churn`, class
probabilities those of `examples.digits`, draws those of `examples.ensemble`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from benchmarks.runner import Report

import calibrant as cb

CHURN, DIGITS, WEATHER, HOUSES = (
    getattr(cb.examples, name)() for name in ("churn", "digits", "ensemble", "house_prices")
)
Y, P = CHURN.y.astype(int), CHURN.p
RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=2_000), RNG.uniform(0.5, 2.0, 2_000)
REAL = RNG.normal(MEAN, 1.2 * STD)
NORMAL = cb.Normal(MEAN, STD)
DRAWS = WEATHER.prediction.draws
BOUNDS = HOUSES.prediction.at(0.9)
LOWER, UPPER = (np.ravel(bound) for bound in (BOUNDS.lower, BOUNDS.upper))
MEDIAN = cb.Quantiles(MEAN[:, None], [0.3])


class Pair(NamedTuple):
    """A function of another package, what it is here, and why the numbers differ where they do."""

    package: str
    theirs: str
    ours: str
    call: Callable[[Any], Any]  # of their module
    value: Callable[[], Any]
    why: str = ""


def tensor(x: Any) -> Any:
    return import_module("torch").as_tensor(np.array(x))


PAIRS = (
    Pair("scikit-learn", "metrics.brier_score_loss", "brier_score", lambda m: m.brier_score_loss(Y, P),
         lambda: cb.brier_score(Y, P)),
    Pair("scikit-learn", "metrics.log_loss", "log_score", lambda m: m.log_loss(Y, P), lambda: cb.log_score(Y, P)),
    Pair("scikit-learn", "calibration.calibration_curve", "reliability_curve",
         lambda m: np.sum(import_module("sklearn.calibration").calibration_curve(Y, P, n_bins=10)[0]),
         lambda: np.nansum(cb.reliability_curve(Y, P, bins=10).mean_observed), "the sum of the observed frequencies"),
    Pair("scikit-learn", "metrics.mean_pinball_loss", "quantile_score",
         lambda m: m.mean_pinball_loss(REAL, MEAN, alpha=0.3), lambda: cb.quantile_score(REAL, MEDIAN)),
    Pair("torchmetrics", "binary_calibration_error, l1", "ece",
         lambda m: m.binary_calibration_error(tensor(P), tensor(Y), n_bins=15), lambda: cb.ece(Y, P, bins=15)),
    Pair("torchmetrics", "binary_calibration_error, max", "mce",
         lambda m: m.binary_calibration_error(tensor(P), tensor(Y), n_bins=15, norm="max"),
         lambda: cb.mce(Y, P, bins=15)),
    Pair("torchmetrics", "multiclass_calibration_error", "ece",
         lambda m: m.multiclass_calibration_error(tensor(DIGITS.P), tensor(DIGITS.y), num_classes=10, n_bins=15),
         lambda: cb.ece(DIGITS.y, DIGITS.P, bins=15), "counted in float32 there"),
    Pair("netcal", "metrics.ECE", "ece", lambda m: m.ECE(15).measure(P, Y), lambda: cb.ece(Y, P, bins=15)),
    Pair("netcal", "metrics.MCE", "mce", lambda m: m.MCE(15).measure(P, Y), lambda: cb.mce(Y, P, bins=15)),
    Pair("relplot", "smECE", "smooth_ece", lambda m: m.smECE(f=P, y=Y), lambda: cb.smooth_ece(Y, P),
         "a grid of scores there, all of them here"),
    Pair("mapie", "regression_coverage_score", "coverage",
         lambda m: m.regression_coverage_score(HOUSES.y, np.stack([LOWER, UPPER], 1)[..., None]),
         lambda: cb.coverage(HOUSES.y, BOUNDS)),
    Pair("mapie", "regression_mean_width_score", "width",
         lambda m: m.regression_mean_width_score(np.stack([LOWER, UPPER], 1)[..., None]), lambda: cb.width(BOUNDS)),
    Pair("mapie", "regression_mwi_score", "interval_score",
         lambda m: m.regression_mwi_score(HOUSES.y, np.stack([LOWER, UPPER], 1)[..., None], 0.9),
         lambda: cb.interval_score(HOUSES.y, BOUNDS)),
    Pair("uncertainty-toolbox", "crps_gaussian", "crps", lambda m: m.crps_gaussian(MEAN, STD, REAL),
         lambda: cb.crps(REAL, NORMAL)),
    Pair("uncertainty-toolbox", "sharpness", "sharpness(statistic='rms')", lambda m: m.sharpness(STD),
         lambda: cb.sharpness(NORMAL, statistic="rms")),
    Pair("scoringrules", "crps_ensemble", "crps",
         lambda m: np.mean(m.crps_ensemble(np.ravel(WEATHER.y), np.squeeze(DRAWS))),
         lambda: cb.crps(WEATHER.y, WEATHER.prediction)),
    Pair("scoringrules", "crps_normal", "crps", lambda m: np.mean(m.crps_normal(REAL, MEAN, STD)),
         lambda: cb.crps(REAL, NORMAL)),
    Pair("scoringrules", "interval_score", "interval_score",
         lambda m: np.mean(m.interval_score(HOUSES.y, LOWER, UPPER, 0.1)), lambda: cb.interval_score(HOUSES.y, BOUNDS)),
)  # fmt: skip
MODULES = {
    "scikit-learn": "sklearn.metrics",
    "torchmetrics": "torchmetrics.functional.classification",
    "netcal": "netcal.metrics",
    "relplot": "relplot",
    "mapie": "mapie.metrics.regression",
    "uncertainty-toolbox": "uncertainty_toolbox.metrics",
    "scoringrules": "scoringrules",
}
SAME = 1e-6  # relative: several peers count in float32


def shown(pair: Pair) -> list[str]:
    """Return a line of the table: both names, both numbers, and whether they are the same."""
    theirs, ours = (
        float(np.ravel(found)[0]) for found in (pair.call(import_module(MODULES[pair.package])), pair.value())
    )
    same = abs(theirs - ours) <= SAME * abs(ours)
    return [pair.theirs, pair.ours, f"{theirs:.10g}", f"{ours:.10g}", "same" if same else pair.why or "DIFFERENT"]


def main() -> int:
    report = Report("Names of other packages, and their numbers", packages=["numpy", "scipy"])
    for package in MODULES:
        try:
            installed = version(package)
        except PackageNotFoundError:
            report.section(f"{package}: not installed")
            continue
        report.section(f"{package} {installed}")
        lines = [shown(pair) for pair in PAIRS if pair.package == package]
        report.table(["there", "here", "there", "here", ""], lines)
    report.save("peers")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
