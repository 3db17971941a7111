"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.summaries.base import Summary
from calibrant.summaries.bin_table import BinTable
from calibrant.summaries.blocks import Blocks
from calibrant.summaries.exchanged_ranks import ExchangedRanks
from calibrant.summaries.grid import Grid
from calibrant.summaries.group_cells import GroupCells
from calibrant.summaries.grouped_ranks import GroupedRanks
from calibrant.summaries.hit_table import HitTable
from calibrant.summaries.hits import Hits
from calibrant.summaries.interval_moments import IntervalMoments
from calibrant.summaries.kept import Kept
from calibrant.summaries.kept_coverage import KeptCoverage
from calibrant.summaries.kept_laws import KeptLaws
from calibrant.summaries.kept_quantiles import KeptQuantiles
from calibrant.summaries.kept_ranks import KeptRanks
from calibrant.summaries.labels_seen import LabelsSeen
from calibrant.summaries.moments import Moments
from calibrant.summaries.ordered import Ordered
from calibrant.summaries.per_label import PerLabel
from calibrant.summaries.point_blocks import PointBlocks
from calibrant.summaries.point_moments import PointMoments
from calibrant.summaries.rank_covariates import RankCovariates
from calibrant.summaries.ranks import Ranks
from calibrant.summaries.several import Several
from calibrant.summaries.simplex_cells import SimplexCells
from calibrant.summaries.size_weights import SizeWeights
from calibrant.summaries.sizes import Sizes

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
    "KeptLaws",
    "KeptQuantiles",
    "KeptRanks",
    "LabelsSeen",
    "Moments",
    "Ordered",
    "PerLabel",
    "PointBlocks",
    "PointMoments",
    "RankCovariates",
    "Ranks",
    "Several",
    "SimplexCells",
    "SizeWeights",
    "Sizes",
    "Summary",
]
