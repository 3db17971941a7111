"""Measurements of Spark frames: partitions are summarised where they are, and the summaries merged."""

from calibrant.spark.jobs import audit, measure, summarize

__all__ = ["audit", "measure", "summarize"]
