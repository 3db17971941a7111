"""`recalibrate`: fit a map on calibration rows."""

from __future__ import annotations

import warnings as python_warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.core.annotations import Labels
from calibrant.core.catalogue import public
from calibrant.core.grid import Grid
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.cdf_values import CdfValues
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.intervals import Intervals
from calibrant.inputs.options import check_count, generator
from calibrant.inputs.quantiles import Quantiles
from calibrant.inputs.sets import Sets
from calibrant.recalibrating.choice import fit_chosen
from calibrant.recalibrating.cross_fitting import read_dealing
from calibrant.recalibrating.fitting import CalibrationRows, check_method, fit, read_calibration, read_parts
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibration import Recalibration


@public
def recalibrate(
    y: ArrayLike | Grid | None,
    prediction: ArrayLike | Intervals | Sets | Quantiles | Distribution | CdfValues | None = None,
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
    """Fit a map that recalibrates predictions.

    The formulas of the maps, and what each is good for, stand on the page of this verb in the documentation.

    Parameters
    ----------
    y
        Outcomes of the calibration rows; None for `CdfValues`. In place of outcomes and predictions a `Grid` summary of
        one probability per row: every row then has the mean score of its cell.
    prediction
        Predictions of any kind for the same rows: probabilities (n,) or (n, K), `Intervals`, `Sets`, `Quantiles`,
        `Samples`, a distribution or `CdfValues`.
    method
        Of probabilities ``"temperature"``, ``"logistic"``, ``"beta"``, ``"quadratic"``, ``"isotonic"``,
        ``"centred-isotonic"`` or ``"venn-abers"``; of class probabilities ``"temperature"``, ``"vector"``,
        ``"matrix"``, ``"dirichlet"`` or ``"one-vs-rest"``; of intervals ``"shift"``, ``"shift-each-end"`` or
        ``"scale"``, of sets ``"relevel"``, of quantiles ``"shift"`` or ``"pit"``, of samples ``"location-scale"`` or
        ``"pit"``, of distributions ``"location-scale"``, of `CdfValues` ``"pit"``; ``"identity"`` changes nothing.
        ``"auto"`` compares the simpler ones out of sample and takes the simplest that is better than doing nothing by
        one standard error; it leaves predictions alone if none is.
    score
        What ``"auto"`` compares by and what ``location-scale`` minimises; by default the log score of probabilities
        and distributions, the interval score, the quantile score, the CRPS of samples (or ``"fair-crps"``, which
        makes small ensembles too wide).
    weights
        Weight of each row; a common factor does not matter, except with `smoothing` and for logistic and beta maps of
        `groups`, where weights count rows.
    groups
        Group of each row, for one map per group: of intervals on its own, of one probability per row (logistic and
        beta maps) shrunk to the common map of all rows by as much as the groups are alike.
    clusters, time
        For ``"auto"``: whole clusters are dealt to folds, and no row is predicted by a map that saw its future.
    smoothing
        ``"platt"``: logistic maps with Platt's targets (N₁ + 1) / (N₁ + 2) and 1 / (N₀ + 2) in place of 1 and 0. The
        map then exists for separated outcomes too.
    ridge
        Penalty of ``matrix`` (default 1) and ``dirichlet`` (default 0.01, or one for the matrix and one for the bias).
    clip
        Limit scores to [clip, 1 - clip], and mix class probabilities with the uniform vector (``one-vs-rest`` limits
        each of them), in the fit and in `apply`; it is stored in the map. Nothing is clipped by default.
    inner
        The binary method of ``one-vs-rest``.
    folds
        Number of folds of ``"auto"``.
    classes, pos_label
        As in `ece`.
    rng
        Seed or generator that deals rows to the folds of ``"auto"``.

    Returns
    -------
    Recalibration
        The map with its parameters; `apply` maps new predictions.

    Examples
    --------
    Two of three rows with a score of 0.75 happened, and one of three with 0.25. The logits are ±ln 3 and those of the
    frequencies are ±ln 2: the slope is ln 2 / ln 3.

    >>> y, p = [1, 1, 0, 1, 0, 0], [0.75, 0.75, 0.75, 0.25, 0.25, 0.25]
    >>> found = recalibrate(y, p, method="temperature")
    >>> round(found.parameters["slope"], 4), round(found.parameters["temperature"], 3)
    (0.6309, 1.585)
    >>> found.apply([0.25, 0.5, 0.75]).round(4).tolist()
    [0.3333, 0.5, 0.6667]

    Outcomes lie 1, -1 and 3 outside their intervals. At the level 0.7 the third smallest of these counts,
    ⌈4 · 0.7⌉ = 3, and every interval grows by 3 on both sides.

    >>> from calibrant import Intervals
    >>> found = recalibrate([1, 2, 3], Intervals([2, 1, -4], [3, 3, 0], 0.7), method="shift")
    >>> wider = found.apply(Intervals([0.0], [1.0], 0.7))
    >>> found.parameters["shift"], wider.lower[0, 0].item(), wider.upper[0, 0].item()
    (3.0, -3.0, 4.0)
    """
    options = FitOptions(score, smoothing, ridge, clip, inner)  # type: ignore[arg-type]
    given = {"weights": weights, "classes": classes, "pos_label": pos_label, "groups": groups}
    if isinstance(y, Grid):
        data = _read_summary(y, method, {"prediction": prediction, **given})
    else:
        data = read_calibration(y, prediction, **given)
    options = check_method(data, method, options)
    chance = generator(rng)
    if method == "auto":
        dealing = read_dealing(data.n, folds, clusters=clusters, time=time, keep=data.keep)
        found = fit_chosen(data, options, dealing, chance)
    else:
        check_count("folds", folds, least=2)
        for name, value in {"clusters": clusters, "time": time}.items():
            if value is not None:
                words = f"{{{name}=}} deals rows to the folds of {{method='auto'}}; leave it out with {{method=given}}"
                raise InputError(words, option=name, given=method)
        found = fit(data, method, options)
    for sentence in found.warnings:
        python_warnings.warn(sentence, stacklevel=3)
    return found


def _read_summary(summary: Grid, method: str, given: dict[str, Any]) -> CalibrationRows:
    """Return the cells of a grid as rows; refuse what belongs to rows, and a comparison, which needs parts."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"a Grid has its rows already counted; leave {name}= out", option=name)
    if method == "auto":
        raise NotApplicableError(
            "method='auto' compares methods out of sample, which needs rows; name a method for a Grid"
        )
    return read_parts([summary])[0]
