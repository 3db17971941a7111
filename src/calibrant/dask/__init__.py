"""Measurements of Dask arrays and frames: partitions are summarised where they are, and the summaries merged.

>>> import calibrant.dask as cd
>>> import dask.array as da
>>> y, p = da.from_array([0, 1, 1, 1], chunks=2), da.from_array([0.2, 0.6, 0.8, 0.4], chunks=2)
>>> round(cd.measure("brier_score", (y, p))["brier_score"].value, 3)
0.15
"""

from calibrant.dask.jobs import audit, measure, summarize

__all__ = ["audit", "measure", "summarize"]
