"""Calibration rows of every kind, and fitting one method on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.grid import Grid
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import kept_mask
from calibrant.inputs.groups import Label, is_outcome, read_row_labels
from calibrant.inputs.kinds import KINDS, read
from calibrant.inputs.labels import read_classes
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.options import check_choice
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.recalibrating.group_maps import fit_shrunken
from calibrant.recalibrating.method import Fit, FitOptions, Method
from calibrant.recalibrating.methods import METHODS, SCORES, advice
from calibrant.recalibrating.recalibration import Recalibration

MAX_ROUNDING_SHARE = 1e-12  # share of the weight of a cell that is rounding


@dataclass(frozen=True)
class CalibrationRows:
    """Checked calibration rows, their kind, and what a map must know about them besides."""

    rows: Any
    kind: str
    classes: tuple[Any, ...] | None = None
    groups: tuple[Label, ...] | None = None
    group: Any = None  # the number of each row's group
    count: Any = None  # how many rows each entry stands for, if the rows come from a summary
    keep: NDArray[np.bool_] | None = None  # which of the caller's rows these are; None: all
    is_sample: bool = False  # whether rows come in an order of their own, so that their numbers tell the caller nothing

    @property
    def n(self) -> int:
        return int(self.rows.n if self.count is None else round(float(self.count.sum())))

    @property
    def levels(self) -> Any:
        """The levels of intervals, sets and quantiles; None for other predictions."""
        return getattr(self.rows.prediction, "levels", None)

    @property
    def columns(self) -> int:
        """Number of classes or levels; 1 if predictions have neither."""
        return int(np.size(self.levels)) if self.classes is None else len(self.classes)

    @property
    def caller_rows(self) -> NDArray[np.intp]:
        """The numbers of these rows among the caller's."""
        return np.arange(self.rows.n) if self.keep is None else np.flatnonzero(self.keep)

    @property
    def prediction(self) -> Any:
        """The predictions: an array of float64 for probabilities, and the typed prediction for other kinds."""
        return self.rows.part(slice(None)).prediction

    def take(self, chosen: Any) -> CalibrationRows:
        group, count = (None if column is None else column[chosen] for column in (self.group, self.count))
        return replace(self, rows=self.rows.take(chosen), group=group, count=count, keep=None)

    def predicting(self, prediction: Any) -> CalibrationRows:
        field = {"binary": "p", "classes": "P", "samples": "distribution", "distributions": "distribution"}
        return replace(self, rows=replace(self.rows, **{field.get(self.kind, "prediction"): prediction}))


def fit(data: CalibrationRows, method: str, options: FitOptions) -> Recalibration:
    rule = METHODS[data.kind][method]
    try:
        found = _found(data, rule, options)
    except InputError as problem:
        raise _among(problem, data.caller_rows) from None
    described = {"classes": data.classes, "levels": data.levels, "groups": data.groups}
    return Recalibration(data.kind, method, n=data.n, options=options, **described, **vars(found))


def _found(data: CalibrationRows, rule: Method, options: FitOptions) -> Fit:
    if data.groups is None:
        return rule.fit(data.rows, options)
    if rule.on_logit is None:
        return _fit_groups(data, rule, options)
    return fit_shrunken(data.rows, data.group, data.groups, rule, options)


def _among(problem: InputError, rows: NDArray[np.intp]) -> InputError:
    """Return an error on one of these rows with the number of that row among all of them."""
    return problem if problem.row is None else problem.within(row=int(rows[problem.row]))


def _fit_groups(data: CalibrationRows, rule: Method, options: FitOptions) -> Fit:
    parameters, said = [], []
    for g, label in enumerate(data.groups or ()):
        rows = np.flatnonzero(data.group == g)
        try:
            found = rule.fit(data.rows.take(rows), options)
        except InputError as problem:
            raise _among(problem, rows) from None
        parameters.append(found.parameters)
        said += [f"group {label}: {sentence}" for sentence in found.warnings]
    return Fit({"groups": tuple(parameters)}, warnings=tuple(said))


def read_calibration(
    y: Any,
    prediction: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    groups: Any = None,
    verb: str = "recalibrate",
) -> CalibrationRows:
    rows = read(verb, tuple(KINDS), y, prediction, weights=weights, classes=classes, pos_label=pos_label)
    data = CalibrationRows(rows, rows.kind, keep=kept_mask(weights))
    if isinstance(rows, Classes):
        names = range(rows.K) if classes is None else read_classes(classes, expected=rows.K, given_by="columns")
        data = replace(data, classes=tuple(names))
    if groups is None:
        return data
    labels = read_row_labels(groups, rows.n, keep=data.keep)
    if is_outcome(labels.code, rows.y):
        raise InputError("groups are the outcomes, which new rows do not have; leave {groups=} out", option="groups")
    return replace(data, groups=labels.values, group=labels.code)


def read_parts(parts: Sequence[Grid]) -> tuple[CalibrationRows, NDArray[np.intp]]:
    """Return the cells of grids as entries, events and others apart, and the number of each entry's grid.

    An entry has the mean score of its cell, and the weight and the number of rows that it stands for.
    """
    columns = []
    for number, part in enumerate(parts):
        table = part.cells()
        used = table.count > 0
        n, w, wp, wy = (column[used] for column in (table.count, table.w, table.wp, table.wy))
        for outcome, weight in ((1, wy), (0, w - wy)):
            there = weight > w * MAX_ROUNDING_SHARE
            size = there.sum()
            p = np.minimum(wp / w, 1.0)[there]
            columns.append((np.full(size, outcome), p, weight[there], (n * weight / w)[there], np.full(size, number)))
    y, p, w, count, part_number = (np.concatenate(column) for column in zip(*columns, strict=True))
    rows = Binary(y.astype(np.uint8), p, w.astype(np.float64))
    return CalibrationRows(rows, "binary", count=count), part_number.astype(np.intp)


def check_method(data: CalibrationRows, method: Any, options: FitOptions) -> FitOptions:
    """Refuse a method that this kind of prediction does not have, and options that the method does not use.

    Returns the options with the score that is minimised or compared.
    """
    known, words = METHODS[data.kind], KINDS[data.kind].words
    if not isinstance(method, str) or (method != "auto" and method not in known):
        instead = advice(data.kind, method) if isinstance(method, str) else ""
        raise InputError(
            f"{words} can be recalibrated by {', '.join(known)} or auto; got {{value}}{instead}",
            option="method",
            value=method,
        )
    rule = known.get(method)  # None for auto, which takes what its methods share
    if data.count is not None and rule is not None and rule.counts_rows:
        raise NotApplicableError(f"{method} counts rows and cannot be fitted on cells; pass the rows")
    uses = ("groups", "clip") if rule is None else rule.uses
    for name in [*options.given, *([] if data.groups is None else ["groups"])]:
        takers = [other for other, one in known.items() if name in one.uses]
        if name not in uses or not takers:
            where = f"it belongs to {', '.join(takers)}" if takers else f"no method for {words} does"
            raise InputError(f"{{method=given}} does not use {{{name}=}}; {where}", option=name, given=method)
    if "inner" in uses:
        _check_inner(options)
    scores = list(SCORES[data.kind])
    if options.score is None:
        is_mixture = isinstance(data.rows.prediction, Mixture)  # whose log score is not convex
        return replace(options, score="crps" if is_mixture else next(iter(scores), None))
    if not scores:
        raise InputError(f"maps of {words} are not fitted by a score; leave score= out", option="score")
    check_choice("score", options.score, *scores)
    if rule is None:
        refuse_fair(options)
    return options


def _check_inner(options: FitOptions) -> None:
    check_choice("inner", options.inner, *METHODS["binary"])
    for name in options.given:
        if name != "inner" and name not in METHODS["binary"][options.inner].uses:
            raise InputError(f"{{inner=given}} does not use {{{name}=}}", option=name, given=options.inner)


def refuse_fair(options: FitOptions) -> None:
    """Refuse the fair CRPS as a judge of maps: it rewards draws that are stretched too far about their own mean."""
    if options.score == "fair-crps":
        raise InputError(
            "{score='fair-crps'} does not judge draws that a map stretched about their mean: it would prefer too wide "
            "ones. Use {score='crps'}",
            option="score",
        )
