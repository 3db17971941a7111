"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.core.bins import BinTable
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.quantile_rows import KeptQuantiles
from calibrant.core.several import LabelsSeen, PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.kernel_errors.blocks import Blocks
from calibrant.kernels.kept import Kept, KeptCoverage, KeptDistributions
from calibrant.probabilities.simplex_cells import SimplexCells
from calibrant.ranking.covariates import ExchangedRanks, KeptRanks, RankCovariates
from calibrant.ranking.summary import GroupedRanks, Ranks
from calibrant.regions.coverage import IntervalMoments
from calibrant.regions.hits import Hits, HitTable
from calibrant.regions.sizes import Sizes
from calibrant.regions.width import SizeWeights

__all__ = [
    "BinTable",
    "Blocks",
    "ExchangedRanks",
    "Grid",
    "GroupCells",
    "GroupedRanks",
    "HitTable",
    "Hits",
    "IntervalMoments",
    "Kept",
    "KeptCoverage",
    "KeptDistributions",
    "KeptQuantiles",
    "KeptRanks",
    "LabelsSeen",
    "Moments",
    "Ordered",
    "PerLabel",
    "RankCovariates",
    "Ranks",
    "Several",
    "SimplexCells",
    "SizeWeights",
    "Sizes",
    "Summary",
]
