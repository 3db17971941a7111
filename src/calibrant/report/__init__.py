"""The report: the findings of an audit as one self-contained HTML page, and reading its numbers back."""

from calibrant.report.files import read
from calibrant.report.page import render

__all__ = ["read", "render"]
