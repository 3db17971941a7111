"""Every verb of the catalogue, with its important options, on data of every kind it judges, against every law."""

import numpy as np
import pytest

from calibrant import CalibrantError, Delta, Exponential, Gaussian, Matern32, Normal
from calibrant.catalogue import ENTRIES, KINDS, find
from calibrant.testing import LAWS, PerRow, Subject
from calibrant.testing.data import DATA, names_of

GROUPS = PerRow(("a", "b", "c"))
MEDIANS = PerRow((-0.5, 0.0, 0.5))
LOCATIONS_OF_LAWS = (Normal([0.0, 1.0], 1.0), [0.5, 0.0])
ONE_LEVEL = ("one interval", "one set", "one quantile")
SEVERAL_LEVELS = ("intervals", "sets", "quantiles")
WITHOUT_LAW = ("binary", "classes", *SEVERAL_LEVELS, *ONE_LEVEL)
OF_SETS = ("sets", "one set", "sets without level")

# As many redraws as the laws need. The number of locations is the default, written out so that it can be exempted.
DEFAULTS = {
    "cme_test": {"locations": 10, "resamples": 19},
    "skce_test": {"resamples": 49},
    "ucme": {"locations": 10},
    "coverage_gap": {"groups": GROUPS},
}
# Options, and the names of data they are for; without names all data of the kinds that the verb judges.
VARIANTS = [
    ("ece", {"strategy": "mass"}),
    ("ece", {"bins": 101}),
    ("ece", {"bins": "cube-root", "norm": "l2"}),
    ("ece", {"bins": "sweep"}),
    ("ece", {"norm": "l2-squared", "debias": True, "bins": 3}),
    ("mce", {"strategy": "mass"}),
    ("log_score", {"clip": 0.01}, "binary", "classes"),
    ("decompose", {"score": "log"}, "binary"),
    ("decompose", {"method": "bins", "strategy": "mass"}, "binary"),
    ("decompose", {"method": "hersbach"}, "samples"),
    ("decompose", {"levels": [0.1, 0.5, 0.9]}, "laws"),
    ("direction", {"strategy": "mass"}),
    ("kuiper_test", {"null": "monte-carlo", "resamples": 99}),
    ("kolmogorov_smirnov_test", {"null": "monte-carlo", "resamples": 99}),
    ("spiegelhalter_test", {"null": "monte-carlo", "resamples": 99}),
    ("reliability_curve", {"strategy": "mass", "resamples": 99}, "binary"),
    ("reliability_curve", {"strategy": "isotonic", "resamples": 99}, "binary"),
    ("mmce", {"bandwidth": 0.4, "balanced": True}),
    ("width", {"statistic": "median"}),
    ("width", {"statistic": "finite_mean"}),
    ("width", {"statistic": "finite_fraction"}),
    ("width", {"statistic": "empty_fraction"}, *OF_SETS),
    ("width", {"statistic": "singleton_fraction"}, *OF_SETS),
    ("interval_score", {"part": "width"}),
    ("interval_score", {"part": "below"}),
    ("interval_score", {"part": "above"}),
    ("weighted_interval_score", {"part": "dispersion"}, "intervals", "quantiles"),
    ("weighted_interval_score", {"part": "below"}, "intervals", "quantiles"),
    ("weighted_interval_score", {"part": "above"}, "intervals", "quantiles"),
    ("weighted_interval_score", {"median": MEDIANS}, "intervals", "one interval"),
    ("coverage_width_criterion", {"variant": "khosravi"}),
    ("coverage_width_criterion", {"variant": "jensen", "eta": 5.0, "normalizer": 4.0}),
    ("size_stratified_coverage", {"bins": 5}),
    ("size_stratified_coverage", {"bins": [(0, 1), (2, 4)], "empty": "own"}, *OF_SETS),
    ("size_stratified_coverage", {"summary": "violation", "min_count": 3}, *SEVERAL_LEVELS[:2], *ONE_LEVEL[:2]),
    ("coverage_gap", {}, "sets", "one set"),
    ("coverage_gap", {"groups": GROUPS, "average": "weighted"}, *SEVERAL_LEVELS),
    ("coverage_gap", {"groups": GROUPS, "average": "max"}, *SEVERAL_LEVELS),
    ("coverage_hsic", {"scale": 0.5, "root": True}),
    ("coverage_hsic", {"kernel": "exponential", "coverage_scale": 0.5}),
    ("coverage_curve", {"groups": GROUPS, "simultaneous": True}),
    ("coverage_curve", {"groups": "size", "bins": 4}, "intervals", "one interval"),
    ("coverage_curve", {"groups": "size", "empty": "own"}, *OF_SETS),
    ("coverage_curve", {"method": "wilson"}),
    ("coverage_curve", {"method": "clopper-pearson"}),
    ("coverage_test", {"method": "binomial", "alternative": "less", "calibration_size": 50}, *ONE_LEVEL),
    ("coverage_test", {"method": "kupiec"}, *ONE_LEVEL),
    ("coverage_test", {"method": "kupiec", "null": "asymptotic"}, *ONE_LEVEL),
    ("coverage_test", {"method": "independence"}, *ONE_LEVEL),
    ("coverage_test", {"method": "conditional"}, *ONE_LEVEL),
    ("coverage_test", {"method": "conditional", "series": GROUPS, "resamples": 99}, *ONE_LEVEL),
    ("coverage_test", {"method": "joint"}, *SEVERAL_LEVELS, *ONE_LEVEL),
    ("coverage_test", {"method": "groups", "groups": GROUPS}, *ONE_LEVEL),
    ("coverage_test", {"method": "hsic", "resamples": 99}, *ONE_LEVEL[:2]),
    ("crps", {"fair": True}, "samples", "vectors"),
    ("energy_score", {"fair": True, "beta": 0.5}),
    ("sharpness", {"statistic": "rms"}),
    ("sharpness", {"statistic": "log_det"}),
    ("sharpness", {"statistic": "width", "level": 0.9}, "laws", "samples"),
    ("sharpness", {"statistic": "width", "level": [0.5, 0.9]}, "laws", "samples"),
    ("pit_histogram", {"bins": 7}),
    ("skce", {"unbiased": False, "kernel": Exponential(0.25)}),
    ("skce", {"kernel": Exponential(0.25), "blocksize": 5}, *WITHOUT_LAW),
    ("skce", {"kernel": Exponential(0.25), "blocksize": 7, "unbiased": False}, "binary", "classes", "intervals"),
    ("skce", {"kernel": Exponential(0.25) * Gaussian(1.0), "blocksize": 5}, "laws", "samples", "vectors"),
    ("skce", {"kernel": Gaussian(0.25) * Gaussian(1.0, "labels"), "unbiased": False}, "binary"),
    ("skce", {"kernel": Matern32(distance="euclidean") * Delta()}, "classes"),
    ("skce", {"kernel": Exponential(distance="embedding") * Exponential()}, "laws"),
    ("ucme", {"locations": 3}),
    ("ucme", {"locations": ([0.2, 0.7], [1, 0]), "kernel": Exponential(0.25)}, "binary"),
    ("ucme", {"locations": ([[0.1, 0.2, 0.3, 0.4]], [2]), "kernel": Exponential(0.25)}, "classes"),
    ("ucme", {"locations": LOCATIONS_OF_LAWS, "kernel": Exponential(1.0) * Gaussian(1.0)}, "laws"),
    ("skce_test", {"method": "block", "kernel": Exponential(0.25)}, *WITHOUT_LAW),
    ("skce_test", {"method": "block", "kernel": Exponential(0.25) * Gaussian(1.0)}, "laws", "samples", "vectors"),
    ("skce_test", {"method": "bound", "kernel": Exponential(0.25)}, *WITHOUT_LAW),
    ("skce_test", {"method": "bootstrap", "resamples": 49}, "laws"),
    ("skce_test", {"method": "resample", "resamples": 3}, "laws", "samples"),
    ("cme_test", {"locations": 3, "resamples": 19}),
    ("cme_test", {"locations": ([0.2, 0.7], [1, 0]), "resamples": 19}, "binary"),
]
# Data that a verb refuses whatever its options are, and a word of the message.
REFUSED = {
    ("coverage_gap", "sets without level"): "have no level",
    ("coverage_test", "sets without level"): "do not have",
    ("skce", "sets without level"): "without a level",
    ("skce_test", "sets without level"): "without a level",
    ("coverage_test", "intervals"): "one level at a time",
    ("coverage_test", "sets"): "one level at a time",
    ("coverage_test", "quantiles"): "one level at a time",
    ("decompose", "vectors"): "one coordinate",
    ("pit_histogram", "vectors"): "one coordinate",
    ("weighted_interval_score", "one quantile"): "needs its mirror",
}
EXEMPT = {}


def takes_equal_weights_only(name, options):
    return name == "coverage_test" or options.get("method") in ("hersbach", "clopper-pearson", "bound")


def rows_needed(name, options, data):
    """Return how many rows are enough for the limit laws of skce_test, which refuses fewer."""
    return 800 if name == "skce_test" and (options.get("method") == "block" or data in WITHOUT_LAW[2:]) else 210


def names_for(name):
    return [data for kind in find(name).predictions for data in names_of(kind)]


def subjects():
    """Yield every verb with its defaults, then the variants."""
    listed = [(name, DEFAULTS.get(name, {})) for name in sorted(ENTRIES)] + VARIANTS
    for name, options, *names in listed:
        for data in names or names_for(name):
            if (name, data) not in REFUSED or names:
                yield Subject(find(name), data, options, takes_equal_weights_only(name, options), rows_needed(name, options, data))


def circumstances(subject):
    options = {word for name, value in subject.options.items() for word in (name, f"{name}={value}")}
    return {"always", subject.data, *options}


def exemption(subject, law):
    keys = ((subject.entry.name, one, law) for one in circumstances(subject))
    return next((key for key in keys if key in EXEMPT), None)


def tried():
    """Yield a law that a verb obeys, or is known to break: then it must break it."""
    for subject in subjects():
        for name in (law.name for law in LAWS.values() if law.applies(subject)):
            key = exemption(subject, name)
            broken = [] if key is None else [pytest.mark.xfail(reason=EXEMPT[key], raises=(AssertionError, CalibrantError))]
            words = ", ".join(f"{option}={value}" for option, value in subject.options.items())
            yield pytest.param(subject, LAWS[name], id=f"{subject.entry.name}({words}) of {subject.data}: {name}", marks=broken)


@pytest.mark.parametrize(("subject", "law"), list(tried()))
def test_law(subject, law):
    law(subject, np.random.default_rng(0))
