"""Every verb of the catalogue, with its important options, against every law."""

import numpy as np
import pytest

from calibrant.catalogue import ENTRIES, find
from calibrant.testing import LAWS

VARIANTS = [
    ("ece", {"strategy": "mass"}),
    ("ece", {"bins": 101}),
    ("ece", {"bins": "cube-root", "norm": "l2"}),
    ("ece", {"bins": "sweep"}),
    ("ece", {"norm": "l2-squared", "debias": True, "bins": 3}),
    ("mce", {"strategy": "mass"}),
    ("log_score", {"clip": 0.01}),
    ("decompose", {"score": "log"}),
    ("decompose", {"method": "bins", "strategy": "mass"}),
    ("direction", {"strategy": "mass"}),
    ("kuiper_test", {"null": "monte-carlo", "resamples": 99}),
    ("kolmogorov_smirnov_test", {"null": "monte-carlo", "resamples": 99}),
    ("spiegelhalter_test", {"null": "monte-carlo", "resamples": 99}),
    ("reliability_curve", {"strategy": "mass", "resamples": 99}),
    ("reliability_curve", {"strategy": "isotonic", "resamples": 99}),
]
EXEMPT = {
    # a pair estimator does not count two copies of a row as a pair, and ⌈n^(1/3)⌉ counts rows
    ("debias", "weight two is a row twice"),
    ("cube-root", "weight two is a row twice"),
    # unbiased for a square that may be 0, so it may be negative
    ("debias", "numbers stay in the declared range"),
    # a clipped probability is no longer certain
    ("clip", "certain and right is perfect"),
}
SUBJECTS = [(name, {}) for name in sorted(ENTRIES)] + VARIANTS


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "options"), SUBJECTS, ids=str)
def test_law(name, options, law):
    if any(word in str(options) and law == exempt for word, exempt in EXEMPT):
        return
    LAWS[law](find(name), options, np.random.default_rng(0))
