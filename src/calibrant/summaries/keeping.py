"""The summary that keeps rows of a kind as they are."""

from __future__ import annotations

from calibrant.inputs import Binary
from calibrant.inputs.outcomes import LawRows
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.kernels.fitted import KernelRows
from calibrant.summaries.kept import Kept, OneColumn
from calibrant.summaries.kept_coverage import KeptCoverage
from calibrant.summaries.kept_laws import KeptLaws


def kept(rows: KernelRows) -> Kept | KeptLaws | KeptCoverage:
    """Keep these rows."""
    if isinstance(rows, CoverageRows):
        return KeptCoverage.of(rows)
    if isinstance(rows, LawRows):
        return KeptLaws.of(rows)
    return OneColumn.of(rows) if isinstance(rows, Binary) else Kept.of(rows)
