"""calibrant tells whether probabilistic predictions can be trusted.

Outcome first, prediction second, options by keyword: ``ece(y, p, bins=15)``. A metric returns a number or a record of
numbers, a test a `TestResult`, a curve a `Curve`. Every verb of the catalogue also takes the summary that
`summarize` makes, and summaries of batches add up.
"""

from calibrant import examples
from calibrant.audit import Audit, audit
from calibrant.audit.compare_samples import compare_samples
from calibrant.catalogue import summarize
from calibrant.curves.coverage_curve import coverage_curve
from calibrant.curves.cumulative_differences import cumulative_differences
from calibrant.curves.ecdf_difference import ecdf_difference
from calibrant.curves.expected_coverage import expected_coverage
from calibrant.curves.pit_histogram import pit_histogram
from calibrant.curves.rank_histogram import rank_histogram
from calibrant.curves.reliability_curve import reliability_curve
from calibrant.engines.fold import fold
from calibrant.engines.measure import measure
from calibrant.engines.measuring import Measured
from calibrant.errors import CalibrantError, InputError, MissingExtraError, NotApplicableError, SummaryError
from calibrant.files.scan import scan
from calibrant.inference.c2st import c2st
from calibrant.inference.cme_test import cme_test
from calibrant.inference.consistency_test import consistency_test
from calibrant.inference.coverage_test import coverage_test
from calibrant.inference.explain import explain
from calibrant.inference.interval import interval
from calibrant.inference.kolmogorov_smirnov_test import kolmogorov_smirnov_test
from calibrant.inference.kuiper_test import kuiper_test
from calibrant.inference.mmd_test import mmd_test
from calibrant.inference.per_row import per_row
from calibrant.inference.skce_test import skce_test
from calibrant.inference.spiegelhalter_test import spiegelhalter_test
from calibrant.inference.uniformity_test import uniformity_test
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.from_columns import from_columns
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.laws import Laplace, Law, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.inputs.median_variance import MedianVariance
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.reductions import one_vs_rest, top_label
from calibrant.inputs.sets import Sets
from calibrant.kernels import (
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
from calibrant.metrics.brier_score import brier_score
from calibrant.metrics.contraction import contraction
from calibrant.metrics.coverage import coverage
from calibrant.metrics.coverage_gap import coverage_gap
from calibrant.metrics.coverage_hsic import coverage_hsic
from calibrant.metrics.coverage_width_criterion import coverage_width_criterion
from calibrant.metrics.crps import crps
from calibrant.metrics.decompose import decompose
from calibrant.metrics.density_coverage import density_coverage
from calibrant.metrics.direction import direction
from calibrant.metrics.ece import ece
from calibrant.metrics.energy_ranks import energy_ranks
from calibrant.metrics.energy_score import energy_score
from calibrant.metrics.frechet_distance import frechet_distance
from calibrant.metrics.interval_score import interval_score
from calibrant.metrics.joint_ranks import joint_ranks
from calibrant.metrics.kernel_distance import kernel_distance
from calibrant.metrics.log_score import log_score
from calibrant.metrics.mce import mce
from calibrant.metrics.mmce import mmce
from calibrant.metrics.mmd import mmd
from calibrant.metrics.pit import pit
from calibrant.metrics.quantile_score import quantile_score
from calibrant.metrics.ranks import ranks
from calibrant.metrics.sharpness import sharpness
from calibrant.metrics.size_stratified_coverage import size_stratified_coverage
from calibrant.metrics.skce import skce
from calibrant.metrics.tarp_ranks import tarp_ranks
from calibrant.metrics.ucme import ucme
from calibrant.metrics.vendi_score import vendi_score
from calibrant.metrics.weighted_interval_score import weighted_interval_score
from calibrant.metrics.width import width
from calibrant.metrics.worst_slab_coverage import worst_slab_coverage
from calibrant.metrics.z_scores import z_scores
from calibrant.results import (
    ConfidenceInterval,
    CrpsDecomposition,
    Curve,
    Decomposition,
    DensityCoverage,
    Direction,
    Explanation,
    QuantileDecomposition,
    Relabelled,
    TestResult,
)
from calibrant.summaries import (
    Blocks,
    ExchangedRanks,
    Grid,
    GroupCells,
    GroupedRanks,
    Hits,
    HitTable,
    IntervalMoments,
    Kept,
    KeptCoverage,
    KeptLaws,
    KeptQuantiles,
    KeptRanks,
    LabelsSeen,
    Moments,
    Ordered,
    PerLabel,
    PointBlocks,
    PointMoments,
    RankCovariates,
    Ranks,
    Several,
    SimplexCells,
    Sizes,
    SizeWeights,
    Summary,
)
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
    "DensityCoverage",
    "Direction",
    "ExchangedRanks",
    "Explanation",
    "Exponential",
    "Gaussian",
    "Grid",
    "GroupCells",
    "GroupedRanks",
    "HitTable",
    "Hits",
    "InputError",
    "IntervalMoments",
    "Intervals",
    "JointKernel",
    "Kept",
    "KeptCoverage",
    "KeptLaws",
    "KeptQuantiles",
    "KeptRanks",
    "Kernel",
    "LabelsSeen",
    "Laplace",
    "Law",
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
    "PointBlocks",
    "PointMoments",
    "Product",
    "QuantileDecomposition",
    "Quantiles",
    "RankCovariates",
    "Ranks",
    "RationalQuadratic",
    "Relabelled",
    "Samples",
    "ScipyLaw",
    "Sets",
    "Several",
    "SimplexCells",
    "SizeWeights",
    "Sizes",
    "Summary",
    "SummaryError",
    "TestResult",
    "__version__",
    "audit",
    "brier_score",
    "c2st",
    "cme_test",
    "compare_samples",
    "consistency_test",
    "contraction",
    "coverage",
    "coverage_curve",
    "coverage_gap",
    "coverage_hsic",
    "coverage_test",
    "coverage_width_criterion",
    "crps",
    "cumulative_differences",
    "decompose",
    "density_coverage",
    "direction",
    "ecdf_difference",
    "ece",
    "energy_ranks",
    "energy_score",
    "examples",
    "expected_coverage",
    "explain",
    "fold",
    "frechet_distance",
    "from_columns",
    "interval",
    "interval_score",
    "joint_ranks",
    "kernel_distance",
    "kolmogorov_smirnov_test",
    "kuiper_test",
    "log_score",
    "mce",
    "measure",
    "mmce",
    "mmd",
    "mmd_test",
    "one_vs_rest",
    "per_row",
    "pit",
    "pit_histogram",
    "quantile_score",
    "rank_histogram",
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
    "vendi_score",
    "weighted_interval_score",
    "width",
    "worst_slab_coverage",
    "z_scores",
]
