"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.summaries.base import Summary
from calibrant.summaries.bin_table import BinTable
from calibrant.summaries.grid import Grid
from calibrant.summaries.moments import Moments
from calibrant.summaries.ordered import Ordered
from calibrant.summaries.per_label import PerLabel

__all__ = ["BinTable", "Grid", "Moments", "Ordered", "PerLabel", "Summary"]
