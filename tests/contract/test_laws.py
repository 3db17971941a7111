"""Every verb of the catalogue, with its important options, against every law."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant import Delta, Exponential, Gaussian, Matern32, Normal
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
    ("mmce", {"bandwidth": 0.4, "balanced": True}),
    ("skce", {"unbiased": False, "kernel": Exponential(0.25)}),
    ("skce", {"kernel": Exponential(0.25), "blocksize": 5}),
    ("skce", {"kernel": Exponential(0.25), "blocksize": 7, "unbiased": False}),
    ("ucme", {"locations": 3}),
    ("skce_test", {"method": "block", "kernel": Exponential(0.25)}),
    ("cme_test", {"locations": 3, "resamples": 19}),
]
OF_ONE_KIND = [
    ("skce_test", {"method": "bootstrap", "resamples": 49}, "laws"),
    ("skce_test", {"method": "resample", "resamples": 3}, "laws"),
    ("skce_test", {"method": "resample", "resamples": 3}, "samples"),
    ("skce", {"kernel": Gaussian(0.25) * Gaussian(1.0, "labels"), "unbiased": False}, "binary"),
    ("skce", {"kernel": Matern32(distance="euclidean") * Delta()}, "classes"),
    ("skce", {"kernel": Exponential(distance="embedding") * Exponential()}, "laws"),
    ("ucme", {"locations": ([0.2, 0.7], [1, 0]), "kernel": Exponential(0.25)}, "binary"),
    ("ucme", {"locations": ([[0.1, 0.2, 0.3, 0.4]], [2]), "kernel": Exponential(0.25)}, "classes"),
    ("ucme", {"locations": (Normal([0.0, 1.0], 1.0), [0.5, 0.0]), "kernel": Exponential(1.0) * Gaussian(1.0)}, "laws"),
    ("cme_test", {"locations": ([0.2, 0.7], [1, 0]), "resamples": 19}, "binary"),
]
EXEMPT = {
    # a pair estimator does not count two copies of a row as a pair, and ⌈n^(1/3)⌉ counts rows
    ("debias", "weight two is a row twice"),
    ("cube-root", "weight two is a row twice"),
    # unbiased for a square that may be 0, so it may be negative
    ("debias", "numbers stay in the declared range"),
    # a clipped probability is no longer certain
    ("clip", "certain and right is perfect"),
    # not a measure of calibration: certain and right rows have no wrong ones to be weighed against
    ("balanced", "certain and right is perfect"),
    # blocks are rows that follow each other; how chunks of them add up is in tests/summaries/test_blocks.py
    ("block", "row order does not matter"),
    ("block", "chunks add up to the whole"),
    # sixty rows with weights vary too little for the limit law of blocks, and seven certain ones not at all
    ("'block'", "containers are read by position"),
    ("'block'", "certain and right is perfect"),
    # ten locations are more than those data have rows
    ("'locations': 10", "certain and right is perfect"),
    # test locations of four classes
    ("[[0.1, 0.2, 0.3, 0.4]]", "certain and right is perfect"),
}
# Locations given as a number are rows drawn from those at hand, with targets drawn from them: other rows (a chunk, a
# row twice) or scores that differ by rounding are other locations.
OF_DRAWN_LOCATIONS = {
    "weight two is a row twice",
    "chunks add up to the whole",
    "scores on bin edges stay in their bin",
}
# as many redraws as the laws need; the number of locations is the default, written out so that it can be exempted
DEFAULTS = {"cme_test": {"locations": 10, "resamples": 19}, "ucme": {"locations": 10}}
SUBJECTS = [(name, DEFAULTS.get(name, {})) for name in sorted(ENTRIES)] + VARIANTS


def skipped(name, options, law):
    if name == "ucme" and isinstance(options.get("locations", 10), int) and law in OF_DRAWN_LOCATIONS:
        return True
    return any(word in str(options) and law == exempt for word, exempt in EXEMPT)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "options"), SUBJECTS, ids=str)
def test_law(name, options, law):
    if not skipped(name, options, law):
        LAWS[law](find(name), options, np.random.default_rng(0))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "options", "kind"), OF_ONE_KIND, ids=str)
def test_law_of_one_kind(name, options, kind, law):
    if not skipped(name, options, law):
        LAWS[law](replace(find(name), predictions=(kind,)), options, np.random.default_rng(0))
