"""Every kind of row has one summary that keeps it as it is."""

import numpy as np
import pytest

from calibrant import Intervals, Normal
from calibrant.inputs import read_probabilities
from calibrant.inputs.judged import read_judged
from calibrant.inputs.outcomes import read_outcomes
from calibrant.kernels.coverage_rows import CoverageRows
from calibrant.summaries import Kept, KeptCoverage, KeptLaws
from calibrant.summaries.keeping import kept
from calibrant.summaries.kept import OneColumn

W = [1.0, 2.0, 0.5]
CASES = [
    (read_probabilities([0, 1, 1], [0.25, 0.5, 1.0], weights=W), OneColumn, "y"),
    (read_probabilities([0, 2, 1], np.full((3, 4), 0.25), weights=W), Kept, "y"),
    (read_outcomes([0.0, 1.0, 2.0], Normal([0.0, 1.0, 5.0], 1.0), weights=W), KeptLaws, "y"),
    (CoverageRows.of(read_judged([0.0, 9.0, 2.0], Intervals([0.0] * 3, [3.0] * 3, 0.9), weights=W)), KeptCoverage, "e"),
]


@pytest.mark.parametrize(("rows", "kind", "outcomes"), CASES, ids=["binary", "classes", "laws", "coverage"])
def test_rows_are_kept_in_their_order(rows, kind, outcomes):
    found = kept(rows)
    assert type(found) is kind
    assert found == kind.of(rows)
    assert found.n == 3
    np.testing.assert_array_equal(getattr(found, outcomes), rows.y)
    assert found.w.tolist() == W
    np.testing.assert_array_equal(found.rows.y, rows.y)
