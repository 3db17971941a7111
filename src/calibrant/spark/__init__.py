"""Measurements of Spark frames: partitions are summarised where they are, and the summaries merged."""

from calibrant.spark.measure import audit, measure, summarize

__all__ = ["audit", "measure", "summarize"]
