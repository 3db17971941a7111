"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.summaries.base import Summary
from calibrant.summaries.bin_table import BinTable
from calibrant.summaries.blocks import Blocks
from calibrant.summaries.grid import Grid
from calibrant.summaries.kept import Kept
from calibrant.summaries.kept_coverage import KeptCoverage
from calibrant.summaries.kept_laws import KeptLaws
from calibrant.summaries.moments import Moments
from calibrant.summaries.ordered import Ordered
from calibrant.summaries.per_label import PerLabel
from calibrant.summaries.simplex_cells import SimplexCells

__all__ = [
    "BinTable",
    "Blocks",
    "Grid",
    "Kept",
    "KeptCoverage",
    "KeptLaws",
    "Moments",
    "Ordered",
    "PerLabel",
    "SimplexCells",
    "Summary",
]
