"""What `calibrant.summaries` exports; every name is imported when it is first used."""

from calibrant.conditional.kept import KeptCovariates as KeptCovariates
from calibrant.core.binned import LabelBins as LabelBins
from calibrant.core.bins import BinTable as BinTable
from calibrant.core.grid import Grid as Grid
from calibrant.core.grid import GroupCells as GroupCells
from calibrant.core.kept_rows import KeptRows as KeptRows
from calibrant.core.moments import Moments as Moments
from calibrant.core.ordered import Ordered as Ordered
from calibrant.core.several import LabelsSeen as LabelsSeen
from calibrant.core.several import PerLabel as PerLabel
from calibrant.core.several import Several as Several
from calibrant.core.summary import Summary as Summary
from calibrant.engines.measure import fold as fold
from calibrant.kernel_errors.blocks import Blocks as Blocks
from calibrant.probabilities.canonical import SimplexCells as SimplexCells
from calibrant.ranking.summary import Ranks as Ranks
from calibrant.regions.hits import HitTable as HitTable
from calibrant.regions.sizes import Sizes as Sizes
