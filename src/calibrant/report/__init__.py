"""The report: what an audit found, as one HTML page that needs nothing else, and the way back to its numbers."""

from calibrant.report.files import read, replace_text
from calibrant.report.page import render, write

__all__ = ["read", "render", "replace_text", "write"]
