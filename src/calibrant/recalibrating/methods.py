"""The methods of each kind of prediction, simplest first. A new method is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.core.catalogue import Entry
from calibrant.errors import did_you_mean
from calibrant.recalibrating.class_maps import ONE_VS_REST
from calibrant.recalibrating.class_maps import TEMPERATURE as CLASS_TEMPERATURE
from calibrant.recalibrating.distribution_maps import LOCATION_SCALE
from calibrant.recalibrating.method import IDENTITY, Method
from calibrant.recalibrating.pit_maps import CDF_PIT, QUANTILE_PIT, SAMPLE_PIT
from calibrant.recalibrating.region_maps import QUANTILE_SHIFT, RELEVEL, SCALE, SHIFT, SHIFT_EACH_END
from calibrant.recalibrating.sample_maps import SAMPLE_LOCATION_SCALE
from calibrant.recalibrating.smooth_maps import BETA, LOGISTIC, QUADRATIC, TEMPERATURE
from calibrant.recalibrating.softmax_maps import DIRICHLET, MATRIX, VECTOR
from calibrant.recalibrating.step_maps import CENTRED_ISOTONIC, ISOTONIC, VENN_ABERS
from calibrant.scores.brier_and_log import BRIER_SCORE, LOG_SCORE
from calibrant.scores.crps import CRPS
from calibrant.scores.interval_scores import INTERVAL_SCORE, QUANTILE_SCORE

METHODS: Mapping[str, Mapping[str, Method]] = {
    "binary": {
        "identity": IDENTITY,
        "temperature": TEMPERATURE,
        "logistic": LOGISTIC,
        "beta": BETA,
        "quadratic": QUADRATIC,
        "isotonic": ISOTONIC,
        "centred-isotonic": CENTRED_ISOTONIC,
        "venn-abers": VENN_ABERS,
    },
    "classes": {
        "identity": IDENTITY,
        "temperature": CLASS_TEMPERATURE,
        "vector": VECTOR,
        "matrix": MATRIX,
        "dirichlet": DIRICHLET,
        "one-vs-rest": ONE_VS_REST,
    },
    "intervals": {"identity": IDENTITY, "shift": SHIFT, "shift-each-end": SHIFT_EACH_END, "scale": SCALE},
    "sets": {"identity": IDENTITY, "relevel": RELEVEL},
    "quantiles": {"identity": IDENTITY, "shift": QUANTILE_SHIFT, "pit": QUANTILE_PIT},
    "samples": {"identity": IDENTITY, "location-scale": SAMPLE_LOCATION_SCALE, "pit": SAMPLE_PIT},
    "distributions": {"identity": IDENTITY, "location-scale": LOCATION_SCALE},
    "cdf": {"identity": IDENTITY, "pit": CDF_PIT},
}

PLATT = ". The method of Platt is {method='logistic'}, {smoothing='platt'}, here on the logit of the score"
INSTEAD: Mapping[tuple[str, str], str] = {
    ("binary", "platt"): PLATT,
    ("binary", "sigmoid"): PLATT,
    ("distributions", "pit"): ". A recalibrated Normal is not a Normal: use location-scale, or pit on "
    "distribution.quantiles(levels)",
}
"""What is advised for methods that a kind of prediction does not have under this name."""

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "temperature": ("ts", "temp"),
    "logistic": ("lr", "logit"),
    "isotonic": ("pav", "pava", "ir"),
    "centred-isotonic": ("centered-isotonic", "cir"),
    "venn-abers": ("ivap", "va", "vennabers"),
    "vector": ("vs",),
    "matrix": ("ms", "sms", "structured-matrix"),
    "dirichlet": ("odir",),
    "one-vs-rest": ("ovr", "one-versus-rest", "classwise"),
    "shift": ("cqr", "conformal", "conformalised", "conformalized"),
    "location-scale": ("emos", "affine"),
    "pit": ("kuleshov",),
    "identity": ("none",),
}
"""What other tools call a method, in small letters, with dashes, and without an ending such as ``-scaling``."""

ENDINGS = ("-scaling", "-calibration", "-regression")


def advice(kind: str, method: str) -> str:
    """Return what to use in place of a name that is not a method of this kind; nothing if that is not known."""
    name = method.strip().casefold().replace("_", "-").replace(" ", "-")
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    if (kind, name) in INSTEAD:
        return INSTEAD[kind, name]
    called = (one for one, others in OTHER_NAMES.items() if name in (one, *others) and one in METHODS[kind])
    known = next(called, name if name in METHODS[kind] else "")
    question = did_you_mean(name, METHODS[kind])
    return f". It is called {known} here" if known else f". {question}" if question else ""


SCORES: Mapping[str, Mapping[str, Entry[Any, Any]]] = {
    "binary": {"log": LOG_SCORE, "brier": BRIER_SCORE},
    "classes": {"log": LOG_SCORE, "brier": BRIER_SCORE},
    "intervals": {"interval": INTERVAL_SCORE},
    "quantiles": {"quantile": QUANTILE_SCORE},
    "samples": {"crps": CRPS, "fair-crps": CRPS},
    "distributions": {"log": LOG_SCORE, "crps": CRPS},
    "sets": {},
    "cdf": {},
}
"""The scores by which a gain is measured for each kind of prediction, the default first, and their entries."""
