"""`recalibrate`: fit a map on calibration rows."""

from __future__ import annotations

import warnings as python_warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels
from calibrant.core.catalogue import public
from calibrant.inputs.arrays import kept_mask
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.recalibrating.choice import fit_chosen
from calibrant.recalibrating.fitting import check_method, fit, read_calibration
from calibrant.recalibrating.folds import read_dealing
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibration import Recalibration


@public
def recalibrate(
    y: ArrayLike | None,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues,
    *,
    method: str = "auto",
    score: str | None = None,
    weights: ArrayLike | None = None,
    groups: Any = None,
    clusters: Any = None,
    time: Any = None,
    smoothing: str | None = None,
    ridge: float | tuple[float, float] | None = None,
    clip: float | None = None,
    inner: str = "logistic",
    folds: int = 5,
    classes: Labels | None = None,
    pos_label: object = None,
    rng: int | np.random.Generator = 0,
) -> Recalibration:
    """Fit a map that recalibrates predictions."""
    options = FitOptions(score, smoothing, ridge, clip, inner)  # type: ignore[arg-type]
    data = read_calibration(y, prediction, weights=weights, classes=classes, pos_label=pos_label, groups=groups)
    options = check_method(data, method, options)
    if method == "auto":
        dealing = read_dealing(data.n, folds, clusters=clusters, time=time, keep=kept_mask(weights))
        found = fit_chosen(data, options, dealing, generator(rng))
    else:
        found = fit(data, method, options)
    for sentence in found.warnings:
        python_warnings.warn(sentence, stacklevel=3)
    return found
