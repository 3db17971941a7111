"""Modules whose names are imported when they are first used.

The stub beside a module (``__init__.pyi`` of a package) lists what it exports, as ``from module import name as name``.
Type checkers and editors read it, and so does `lazy`: there is one list. This is the way of Scientific Python's SPEC 1.
A name that stands in another namespace, or is that of another package, is refused with a pointer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a module that has a stub."""
    known = exported(f"{file.removesuffix('.py')}.pyi")
    names = sorted(known)

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{pointer(name) or _near(name, known)}")
        module, original = known[name]
        if module == package:
            return import_module(f"{package}.{original}")
        found = getattr(import_module(module), original)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:  # without the packages that were imported on the way, which are not public
        return sorted({*names, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return find, listed, names


def _near(name: str, known: dict[str, tuple[str, str]]) -> str:
    from calibrant.errors import did_you_mean

    alike = [other for other in known if other[0].isupper() == name[0].isupper()]  # a class, or a function
    hint = "" if name.startswith("_") else did_you_mean(name, alike, spelled=str)
    return f". {hint}" if hint else ""


def exported(stub: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of everything that a stub exports."""
    known: dict[str, tuple[str, str]] = {}
    with open(stub, encoding="utf-8") as lines:  # noqa: PTH123 (pathlib is slow to import)
        for line in lines:
            if line.startswith("from "):
                _, module, _, name, _, public = line.split()
                known[public] = module, name
    return known


PEERS = {
    # scikit-learn
    "brier_score_loss": "brier_score",
    "d2_brier_score": "not here: it is 1 - score / unc of calibrant.decompose(y, p)",
    "d2_log_loss_score": "not here: it is 1 - score / unc of calibrant.decompose(y, p, score='log')",
    "log_loss": "log_score",
    "calibration_curve": "reliability_curve",
    "CalibrationDisplay": "reliability_curve",
    "CalibratedClassifierCV": "recalibrate",
    "IsotonicRegression": "recalibrate(y, p, method='isotonic')",
    "mean_pinball_loss": "quantile_score",
    "roc_auc_score": "not here, as it judges the order of scores: sklearn.metrics.roc_auc_score",
    "average_precision_score": "not here, as it judges the order of scores: sklearn.metrics.average_precision_score",
    "accuracy_score": "not here, as it judges decisions, not probabilities: sklearn.metrics.accuracy_score",
    # torchmetrics
    "calibration_error": "ece",
    "CalibrationError": "ece",
    "binary_calibration_error": "ece",
    "BinaryCalibrationError": "ece",
    "multiclass_calibration_error": "ece",
    "MulticlassCalibrationError": "ece",
    "ContinuousRankedProbabilityScore": "crps",
    "FrechetInceptionDistance": "frechet_distance",
    "KernelInceptionDistance": "kernel_distance",
    "InceptionScore": "not here, as it sees no real points: calibrant.points.frechet_distance",
    # netcal, and the papers on networks
    "ECE": "ece",
    "ECELoss": "ece",
    "expected_calibration_error": "ece",
    "classwise_ece": "ece(y, P, notion='classwise')",
    "static_calibration_error": "ece(y, P, notion='classwise')",
    "adaptive_calibration_error": "ece(y, P, notion='classwise', strategy='mass')",
    "ACE": "not here, as it weighs bins of few rows like those of many: calibrant.ece(y, p, strategy='mass')",
    "MCE": "mce",
    "maximum_calibration_error": "mce",
    "MMCE": "mmce",
    "NLL": "log_score",
    "nll": "log_score",
    "cross_entropy": "log_score",
    "PICP": "coverage",
    "MPIW": "width",
    "PinballLoss": "quantile_score",
    "ENCE": "not here, as it judges spreads in bins alone: calibrant.uniformity_test, or calibrant.conditional_test",
    "QCE": "not here: calibrant.coverage of quantiles, and calibrant.coverage_test",
    "ReliabilityDiagram": "reliability_curve",
    "reliability_diagram": "reliability_curve",
    "TemperatureScaling": "recalibrate(y, P, method='temperature')",
    "temperature_scaling": "recalibrate(y, P, method='temperature')",
    "LogisticCalibration": "recalibrate(y, p, method='logistic')",
    "platt_scaling": "recalibrate(y, p, method='logistic', smoothing='platt')",
    "PlattScaling": "recalibrate(y, p, method='logistic', smoothing='platt')",
    "BetaCalibration": "recalibrate(y, p, method='beta')",
    "VectorScaling": "recalibrate(y, P, method='vector')",
    "MatrixScaling": "recalibrate(y, P, method='matrix')",
    "DirichletCalibrator": "recalibrate(y, P, method='dirichlet')",
    "HistogramBinning": "not here, as its bins are arbitrary: calibrant.recalibrate(y, p, method='isotonic')",
    "histogram_binning": "not here, as its bins are arbitrary: calibrant.recalibrate(y, p, method='isotonic')",
    "BBQ": "not here: calibrant.recalibrate(y, p, method='isotonic')",
    "ENIR": "not here: calibrant.recalibrate(y, p, method='centred-isotonic')",
    # MAPIE
    "top_label_ece": "ece(y, P, notion='top-label')",
    "spiegelhalter_p_value": "spiegelhalter_test",
    "spiegelhalter_statistic": "spiegelhalter_test",
    "kolmogorov_smirnov_p_value": "kolmogorov_smirnov_test",
    "kolmogorov_smirnov_statistic": "kolmogorov_smirnov_test",
    "kuiper_p_value": "kuiper_test",
    "kuiper_statistic": "kuiper_test",
    "regression_coverage_score": "coverage",
    "classification_coverage_score": "coverage",
    "regression_mean_width_score": "width",
    "classification_mean_width_score": "width",
    "regression_mwi_score": "interval_score",
    "regression_ssc": "coverage_curve(y, prediction, groups='size')",
    "classification_ssc": "coverage_curve(y, prediction, groups='size')",
    "regression_ssc_score": "size_stratified_coverage",
    "classification_ssc_score": "size_stratified_coverage",
    "coverage_width_based": "coverage_width_criterion",
    "hsic": "coverage_hsic",
    "VennAbersCalibrator": "recalibrate(y, p, method='venn-abers')",
    "TopLabelCalibrator": "not here: calibrant.recalibrate(y, P, method='one-vs-rest')",
    "MapieRegressor": "not here: calibrant.recalibrate(y, intervals) corrects the intervals that MAPIE makes",
    "SplitConformalRegressor": "not here: calibrant.recalibrate(y, intervals) corrects the intervals that MAPIE makes",
    "ConformalizedQuantileRegressor": "not here: calibrant.recalibrate(y, intervals) corrects what MAPIE makes",
    "MapieClassifier": "not here: calibrant.recalibrate(y, sets) corrects the sets that MAPIE makes",
    "SplitConformalClassifier": "not here: calibrant.recalibrate(y, sets) corrects the sets that MAPIE makes",
    # sbi and arviz
    "sbc": "simulate_calibration",
    "run_sbc": "simulate_calibration",
    "check_sbc": "uniformity_test",
    "sbc_rank_plot": "rank_histogram",
    "plot_rank": "rank_histogram",
    "run_tarp": "tarp_ranks",
    "plot_tarp": "ecdf_difference",
    "lc2st": "not here: calibrant.conditional_test finds where a posterior is off",
    "loo_pit": "pit(y, Samples(draws, draw_weights=weights), rng=0)",
    "plot_loo_pit": "ecdf_difference",
    "plot_ecdf_pit": "ecdf_difference",
    "plot_ppc_pit": "ecdf_difference",
    "plot_ppc_pava": "reliability_curve(y, p, strategy='isotonic')",
    "rhat": "not here, as it judges the sampler: arviz.rhat, and calibrant.ranking.draw_dependence for its draws",
    "ess": "not here, as it judges the sampler: arviz.ess, and calibrant.ranking.draw_dependence for its draws",
    # scoringrules, properscoring and uncertainty-toolbox
    "crps_ensemble": "crps",
    "crps_normal": "crps",
    "crps_gaussian": "crps",
    "logs_normal": "log_score",
    "nll_gaussian": "log_score",
    "es_ensemble": "energy_score",
    "vs_ensemble": "not here: calibrant.energy_score, or scoringrules.vs_ensemble",
    "twcrps_ensemble": "not here: calibrant.crps, or scoringrules.twcrps_ensemble",
    "rps_score": "not here: calibrant.brier_score, or scoringrules.rps_score for ordered classes",
    "threshold_brier_score": "brier_score(y > t, 1 - distribution.cdf(t))",
    "pinball_loss": "quantile_score",
    "quantile_loss": "quantile_score",
    "check_score": "quantile_score",
    "winkler_score": "interval_score",
    "root_mean_squared_calibration_error": "not here: calibrant.expected_coverage, and calibrant.uniformity_test",
    "mean_absolute_calibration_error": "not here: calibrant.expected_coverage, and calibrant.uniformity_test",
    "miscalibration_area": "not here: calibrant.expected_coverage, and calibrant.uniformity_test",
    "adversarial_group_calibration": "not here: calibrant.conditional_test finds where predictions are off",
    "get_all_metrics": "audit",
    "plot_calibration": "expected_coverage",
    # CalibrationErrors.jl, R and relplot
    "SKCE": "skce",
    "UnbiasedSKCE": "skce",
    "BiasedSKCE": "skce(y, prediction, unbiased=False)",
    "AsymptoticSKCETest": "skce_test",
    "DistributionFreeSKCETest": "skce_test",
    "AsymptoticCMETest": "cme_test",
    "ConsistencyTest": "consistency_test",
    "UCME": "ucme",
    "MedianVarianceBinning": "MedianVariance",
    "hosmer_lemeshow": "not here, as it depends on the bins: calibrant.calibration_test",
    "hosmer_lemeshow_test": "not here, as it depends on the bins: calibrant.calibration_test",
    "hoslem_test": "not here, as it depends on the bins: calibrant.calibration_test",
    "val_prob": "audit",
    "calibration_belt": "not here: calibrant.reliability_curve(y, p, strategy='isotonic', simultaneous=True)",
    "integrated_calibration_index": "not here: calibrant.smooth_ece",
    "reliabilitydiag": "reliability_curve(y, p, strategy='isotonic')",
    "cal_plot_breaks": "reliability_curve",
    "smECE": "smooth_ece",
    "rel_diagram": "reliability_curve",
    # other habits
    "bootstrap": "interval",
    "Interval": "Intervals",
    "PredictionSet": "Sets",
    "Ensemble": "Samples",
}
"""What other packages call a measurement, and the name or the call here; else that it is not here, and what to use."""


@cache
def homes() -> dict[str, str]:
    """Return the namespace of every public name."""
    from pathlib import Path

    root = Path(__file__).parent
    found: dict[str, str] = {}
    for stub in [*root.glob("*.pyi"), *root.glob("*/__init__.pyi")]:
        folders = stub.relative_to(root.parent).with_suffix("").parts
        found |= dict.fromkeys(exported(str(stub)), ".".join(part for part in folders if part != "__init__"))
    return found


def ours(name: str) -> str:
    """Return the name here of what another package calls by this name, or the name as it is."""
    return PEERS.get(name, name).partition("(")[0]


def pointer(name: str) -> str:
    """Say what a name is called here, or where it is; nothing of unknown names.

    >>> pointer("tarp_ranks"), pointer("brier_score_loss"), pointer("elsewhere")
    ('; it is calibrant.ranking.tarp_ranks', '; it is calibrant.brier_score', '')
    >>> pointer("integrated_calibration_index")
    '; it is not here: calibrant.smooth_ece'
    """
    home = homes().get(ours(name))
    if home is None and name not in PEERS:
        return ""
    return f"; it is {f'{home}.' if home else ''}{PEERS.get(name, name)}"


def import_named(name: str) -> None:
    """Import what has this public name, and with it its entry in the catalogue or its kind of summary."""
    if name in homes():
        getattr(import_module(homes()[name]), name)


def import_all() -> None:
    """Import every public name, and with it every verb and every kind of summary."""
    for name in homes():
        import_named(name)
