"""Measurements of Spark frames: partitions are summarised where they are, and the summaries merged."""

from calibrant.spark.audit import audit
from calibrant.spark.measure import measure
from calibrant.spark.summarize import summarize

__all__ = ["audit", "measure", "summarize"]
