"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.core.binned import LabelBins
from calibrant.core.bins import BinTable
from calibrant.core.grid import Grid, GroupCells
from calibrant.core.kept_rows import KeptRows
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.several import LabelsSeen, PerLabel, Several
from calibrant.core.summary import Summary
from calibrant.engines.measure import fold
from calibrant.kernel_errors.blocks import Blocks
from calibrant.probabilities.canonical import SimplexCells
from calibrant.ranking.kept_ranks import KeptRanks
from calibrant.ranking.summary import Ranks
from calibrant.regions.hits import HitTable
from calibrant.regions.sizes import Sizes

__all__ = [
    "BinTable",
    "Blocks",
    "Grid",
    "GroupCells",
    "HitTable",
    "KeptRanks",
    "KeptRows",
    "LabelBins",
    "LabelsSeen",
    "Moments",
    "Ordered",
    "PerLabel",
    "Ranks",
    "Several",
    "SimplexCells",
    "Sizes",
    "Summary",
    "fold",
]
