"""calibrant tells whether probabilistic predictions can be trusted.

Outcome first, prediction second, options by keyword: ``ece(y, p, bins=15)``. A metric returns a number or a record of
numbers, a test a `TestResult`, a curve a `Curve`. Every verb of the catalogue also takes the summary that
`summarize` makes, and summaries of batches add up.
"""

from calibrant import examples, points
from calibrant.auditing.audit import audit
from calibrant.auditing.interval import interval, per_row
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.kept_rows import KeptRows
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.results import (
    ConfidenceInterval,
    CrpsDecomposition,
    Curve,
    Decomposition,
    Direction,
    QuantileDecomposition,
    TestResult,
)
from calibrant.core.several import LabelsSeen, PerLabel, Several
from calibrant.core.summarizing import summarize
from calibrant.core.summary import Summary
from calibrant.engines.jobs import Measured
from calibrant.engines.measure import fold, measure
from calibrant.errors import CalibrantError, InputError, MissingExtraError, NotApplicableError, SummaryError
from calibrant.files.scan import scan
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.columns import from_columns
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal, Normal
from calibrant.inputs.probabilities import one_vs_rest, top_label
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.samples import Samples
from calibrant.inputs.scipy_distribution import ScipyDistribution
from calibrant.inputs.sets import Sets
from calibrant.kernel_errors.blocks import Blocks
from calibrant.kernel_errors.cme_test import cme_test
from calibrant.kernel_errors.mmce import mmce
from calibrant.kernel_errors.skce import skce
from calibrant.kernel_errors.skce_test import skce_test
from calibrant.kernel_errors.ucme import ucme
from calibrant.kernels.kernel import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
)
from calibrant.probabilities.binned_errors import direction, ece, mce
from calibrant.probabilities.canonical import MedianVariance
from calibrant.probabilities.consistency_test import consistency_test
from calibrant.probabilities.cumulative import cumulative_differences, kolmogorov_smirnov_test, kuiper_test
from calibrant.probabilities.reliability_curve import reliability_curve
from calibrant.probabilities.simplex_cells import SimplexCells
from calibrant.probabilities.spiegelhalter_test import spiegelhalter_test
from calibrant.ranking.covariates import rank_permutation_test, rank_score_test
from calibrant.ranking.curves import ecdf_difference, rank_histogram
from calibrant.ranking.edf_tests import rank_cauchy_test, rank_edf_test
from calibrant.ranking.energy_ranks import energy_ranks
from calibrant.ranking.exchange_test import rank_exchange_test
from calibrant.ranking.expected_coverage import expected_coverage
from calibrant.ranking.explain import explain
from calibrant.ranking.explain_words import Explanation
from calibrant.ranking.joint_ranks import joint_ranks
from calibrant.ranking.pit import pit, pit_histogram
from calibrant.ranking.ranks import ranks
from calibrant.ranking.sharpness import sharpness
from calibrant.ranking.spread import contraction, z_scores
from calibrant.ranking.summary import Ranks
from calibrant.ranking.tarp_ranks import tarp_ranks
from calibrant.ranking.uniformity_test import rank_chi2_test, rank_smooth_test, uniformity_test
from calibrant.regions.christoffersen_test import christoffersen_test
from calibrant.regions.coverage import coverage, coverage_gap, coverage_width_criterion
from calibrant.regions.coverage_curve import coverage_curve
from calibrant.regions.coverage_hsic import coverage_hsic, coverage_hsic_test
from calibrant.regions.coverage_test import coverage_test, kupiec_test, multinomial_coverage_test
from calibrant.regions.hits import HitTable
from calibrant.regions.sizes import Sizes, size_stratified_coverage
from calibrant.regions.width import width
from calibrant.regions.worst_slab_coverage import worst_slab_coverage
from calibrant.report.audit import Audit
from calibrant.scores.brier_and_log import brier_score, log_score
from calibrant.scores.crps import crps
from calibrant.scores.decompose import decompose
from calibrant.scores.energy_score import energy_score
from calibrant.scores.interval_scores import interval_score, quantile_score, weighted_interval_score
from calibrant.version import __version__

__all__ = [
    "Audit",
    "Blocks",
    "CalibrantError",
    "CdfValues",
    "ConfidenceInterval",
    "CrpsDecomposition",
    "Curve",
    "Decomposition",
    "Delta",
    "Direction",
    "Distribution",
    "Explanation",
    "Exponential",
    "Gaussian",
    "Grid",
    "GroupCells",
    "HitTable",
    "InputError",
    "Intervals",
    "JointKernel",
    "KeptRows",
    "Kernel",
    "LabelsSeen",
    "Laplace",
    "Matern32",
    "Matern52",
    "Measured",
    "MedianVariance",
    "MissingExtraError",
    "Mixture",
    "Moments",
    "MvNormal",
    "Normal",
    "NotApplicableError",
    "Ordered",
    "PerLabel",
    "Product",
    "QuantileDecomposition",
    "Quantiles",
    "Ranks",
    "RationalQuadratic",
    "Samples",
    "ScipyDistribution",
    "Sets",
    "Several",
    "SimplexCells",
    "Sizes",
    "Summary",
    "SummaryError",
    "TestResult",
    "__version__",
    "audit",
    "brier_score",
    "christoffersen_test",
    "cme_test",
    "consistency_test",
    "contraction",
    "coverage",
    "coverage_curve",
    "coverage_gap",
    "coverage_hsic",
    "coverage_hsic_test",
    "coverage_test",
    "coverage_width_criterion",
    "crps",
    "cumulative_differences",
    "decompose",
    "direction",
    "ecdf_difference",
    "ece",
    "energy_ranks",
    "energy_score",
    "examples",
    "expected_coverage",
    "explain",
    "fold",
    "from_columns",
    "interval",
    "interval_score",
    "joint_ranks",
    "kolmogorov_smirnov_test",
    "kuiper_test",
    "kupiec_test",
    "log_score",
    "mce",
    "measure",
    "mmce",
    "multinomial_coverage_test",
    "one_vs_rest",
    "per_row",
    "pit",
    "pit_histogram",
    "points",
    "quantile_score",
    "rank_cauchy_test",
    "rank_chi2_test",
    "rank_edf_test",
    "rank_exchange_test",
    "rank_histogram",
    "rank_permutation_test",
    "rank_score_test",
    "rank_smooth_test",
    "ranks",
    "reliability_curve",
    "scan",
    "sharpness",
    "size_stratified_coverage",
    "skce",
    "skce_test",
    "spiegelhalter_test",
    "summarize",
    "tarp_ranks",
    "top_label",
    "ucme",
    "uniformity_test",
    "weighted_interval_score",
    "width",
    "worst_slab_coverage",
    "z_scores",
]
