"""What an audit says on the remedy: whether a recalibration map lowers the log score on new rows, and by how much.

The map is logistic for one probability per row and a temperature for class vectors: two parameters or one, fitted in
milliseconds. Where a group is off, so is one map for each group, shrunk to the common one. A map is judged by rows it
was not fitted on (`recalibration_gain`). Whether it helps is another question than whether predictions are calibrated,
so its claims have a level of their own: they are false with a fifth of the error rate of the page. The limits of the
gain and the lower limit of the calibration error fail together, because the second follows from the first. What maps of
groups gain has another fifth, divided by the number of columns of groups: whichever of them is chosen because a group
is off, its claim has the level of all.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibrant.core.claims import Claim
from calibrant.core.evidence import Note, Subject, note
from calibrant.core.findings import Facts, Figure, Grouped, KindFindings, Measurement, Section, Setting
from calibrant.core.words import confidence_words, minus
from calibrant.errors import CalibrantError
from calibrant.inputs.groups import MISSING, Grouping
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.probabilities.evidence import ADVICE
from calibrant.probabilities.reliability_curve import reliability_curves
from calibrant.recalibrating.choice import MIN_RARER, MIN_ROWS
from calibrant.recalibrating.cross_fitting import Dealing, Numbers
from calibrant.recalibrating.fitting import CalibrationRows
from calibrant.recalibrating.gain import MAX_ROWS_REPEATED, REPEATS, GainAndMap, Plan, measured_gain
from calibrant.recalibrating.gain_claims import QUANTITY, error_claim, gain_claim, gain_note
from calibrant.recalibrating.method import FitOptions
from calibrant.recalibrating.recalibration import Recalibration

SHARE_OF_ERRORS = 0.2  # of the error rate of the page, for the claims on recalibration
MAX_NUMBERS = 500_000  # rows times columns that are measured; of more a random sample is
MAX_GROUPED = 100_000  # rows on which maps of groups are measured
FOLDS, SEED = 5, 0
OPTIONS = FitOptions(score="log")
METHOD = {"binary": "logistic", "classes": "temperature"}
GROUPED = ("binary",)  # the kinds whose method has maps of groups that are shrunk to a common one
CODE = """from calibrant import recalibrate

m = recalibrate(y, p, method="{method}")  # rows that did not train the model
better = m.apply(p_new)"""


def with_recalibration(found: KindFindings, facts: Facts, setting: Setting) -> KindFindings:
    """Return the findings with what a map gains: a section, claims, and a sentence in place of general advice."""
    data, clusters = calibration_sample(facts.rows, setting.clusters)
    level = 1 - SHARE_OF_ERRORS * (1 - setting.level)
    try:
        measured = audited_gain(data, clusters, level)
    except CalibrantError as reason:
        why = f"Whether recalibration helps is not measured: {str(reason).rstrip('.')}."
        return replace(found, caveats=(*found.caveats, why))
    claims = gain_claims(measured, data)
    notes = (*(each for each in found.case.notes if each.key != ADVICE), map_note(claims[0], measured))
    sampled = () if data.n == facts.n else (note("sampled gain", n=data.n),)
    return KindFindings(
        (*found.sections, _section(measured, claims[0], data, setting)),
        replace(found.case, notes=notes),
        (*found.caveats, *sampled),
        (*found.further, *claims),
    )


def with_group_maps(found: Grouped, rows: Binary | Classes, groups: Sequence[Grouping], setting: Setting) -> Grouped:
    """Return what was found about groups with what maps of groups gain, by the groups of the one that is clearest off.

    Class probabilities have no such maps.
    """
    off = [each.subject.name for each in found.family.evidence if setting.rejects(each.pvalue)]
    if not off or rows.kind not in GROUPED:
        return found
    data, clusters = calibration_sample(rows, setting.clusters, next(each for each in groups if off[0] in each.names))
    level = 1 - SHARE_OF_ERRORS * (1 - setting.level) / len(groups)
    by = ", ".join(part.partition(" = ")[0] for part in off[0].split(", ") if " = " in part)
    try:
        gain = audited_gain(data, clusters, level).gain
    except CalibrantError:  # the map of all rows says why
        return found
    claim = replace(gain_claim(gain), subject=Subject("covariates", name=f"maps by {by}"))
    flags = " ".join(f"--by {shlex.quote(name)}" for name in by.split(", "))
    if any(each.subject.name.endswith(f" = {MISSING}") for each in found.family.evidence):
        flags += ", once each row has a label"
    of_maps = f"one map for each group, recalibrate with groups={by} ({flags}), beyond the common map"
    return found._replace(notes=(gain_note(claim, of_maps, gain.score, gain.note),), further=(claim,))


def calibration_sample(
    rows: Binary | Classes, clusters: Numbers | None, groups: Grouping | None = None
) -> tuple[CalibrationRows, Numbers | None]:
    """Return the rows on which a map is measured, and their clusters: all, or a random sample of whole clusters.

    Rows are sorted, so the folds do not depend on the order in which they came. The choice of a sample does.
    """
    columns = rows.K
    most = MAX_NUMBERS // columns if groups is None else MAX_GROUPED
    rng = np.random.default_rng(SEED)
    chosen = np.arange(rows.n)
    if rows.n > most and clusters is None:
        chosen = rng.choice(rows.n, most, replace=False, shuffle=False)
    elif rows.n > most:
        assert clusters is not None
        size = np.bincount(clusters)
        order = rng.permutation(size.size)
        used = np.zeros(size.size, np.bool_)
        used[order[np.cumsum(size[order]) <= most]] = True
        chosen = np.flatnonzero(used[clusters])
    some = rows.take(chosen)
    group = np.zeros(some.n, np.intp) if groups is None else groups.code[chosen]
    order = np.lexsort((group, some.w, some.y, *np.atleast_2d(some.prediction.T)))
    some = some.take(order)
    data = CalibrationRows(some, some.kind, None if columns == 1 else tuple(range(columns)), is_sample=True)
    if groups is not None:
        data = replace(data, groups=tuple(groups.names), group=group[order])
    if clusters is None:
        return data, None
    return data, np.unique(clusters[chosen[order]], return_inverse=True)[1].astype(np.intp)


def audited_gain(data: CalibrationRows, clusters: Numbers | None, level: float) -> GainAndMap:
    rarer = data.n
    if data.kind == "binary":
        events = int(np.count_nonzero(data.rows.y))
        rarer = min(events, data.n - events)
    units = data.n if clusters is None else int(clusters.max(initial=-1)) + 1
    if data.n < MIN_ROWS or rarer < MIN_RARER or units < FOLDS:
        raise CalibrantError(
            f"it takes {MIN_ROWS} rows, {MIN_RARER} of the rarer outcome, and {FOLDS} clusters if rows depend on each "
            "other"
        )
    by_group = data.groups is not None
    repeats = REPEATS if data.n <= MAX_ROWS_REPEATED and not by_group else 1
    rng = np.random.default_rng(SEED)
    plan = Plan(METHOD[data.kind], Dealing(data.n, FOLDS, clusters), repeats, level, rng, over_common=by_group)
    return measured_gain(data, OPTIONS, plan, recalibrated=not by_group)


def gain_claims(measured: GainAndMap, data: CalibrationRows) -> tuple[Claim, ...]:
    """Return the claim on the gain, and for class vectors the lower limit of the calibration error that follows."""
    claim = gain_claim(measured.gain)
    return (claim,) if data.kind == "binary" or claim.kind != "gain" else (claim, error_claim(claim))


def is_inverted(found: Recalibration) -> bool:
    return found.method == "logistic" and float(found.parameters["slope"]) < 0


def map_note(claim: Claim, measured: GainAndMap) -> Note:
    """Return what the map does: it helps, does harm, turns the ranking round, or is not shown to do any of that."""
    found = measured.fitted_map
    if is_inverted(found):
        return note("inverted", map=map_words(found))
    return gain_note(claim, map_words(found), measured.gain.score, measured.gain.note)


def map_words(found: Recalibration) -> str:
    """Name a map with its parameters.

    >>> map_words(Recalibration("classes", "temperature", {"slope": 0.5882, "temperature": 1.7}, 100))
    'temperature 1.70'
    """
    numbers = found.parameters.items()
    values = {name: minus(f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}") for name, value in numbers}
    if found.method == "temperature":
        infinite = np.isinf(found.parameters["temperature"])
        return "temperature ∞" if infinite else f"temperature {values['temperature']}"
    return f"logistic map, slope {values['slope']}, intercept {values['intercept']}"


def _section(measured: GainAndMap, claim: Claim, data: CalibrationRows, setting: Setting) -> Section:
    gain, found = measured.gain, measured.fitted_map
    partitions = len(gain.chosen) // FOLDS
    fits = f"{gain.method} map of {FOLDS} folds, {partitions} partition{'' if partitions == 1 else 's'} of the rows"
    noted = f"{fits}. {gain.note}" if gain.note else fits
    lines = [Measurement(QUANTITY, "gain of the log score on new rows", gain.estimate, method=noted)]
    if claim.level is not None:  # in lines of their own, because the column of intervals has the level of the page
        at = f"limit of the gain, at {confidence_words(claim.level)}"
        lines += [Measurement(f"{QUANTITY}.low", f"lower {at}", claim.low)]
        lines += [Measurement(f"{QUANTITY}.high", f"upper {at}", claim.high)]
    lines += [
        Measurement(f"{QUANTITY}.before", "log score as predicted", gain.before),
        Measurement(f"{QUANTITY}.after", "log score after recalibration, cross-fitted", gain.after, method=fits),
        *(Measurement(f"recalibrate.{name}", f"{name} of the map", float(x)) for name, x in found.parameters.items()),
    ]
    before, after = data.rows, measured.first.recalibrated
    assert after is not None  # asked for
    if isinstance(before, Classes):
        changed = float((before.P.argmax(axis=1) != after.argmax(axis=1)).mean())
        lines.append(Measurement("recalibrate.argmax", "share of rows whose most probable class changes", changed))
        pairs = {"as predicted": before.top_label(), "recalibrated": replace(before, P=after).top_label()}
    else:
        pairs = {"as predicted": before, "recalibrated": replace(before, p=after)}
    figure = Figure(
        "recalibrated",
        "Before and after",
        "Both lines are of the same rows. Each recalibrated row has a map that was fitted on other rows, so the line "
        "shows what to expect of new ones. On the diagonal predictions are calibrated.",
        reliability_curves(pairs, setting.level),
    )
    return Section(
        "recalibration",
        "Recalibration",
        "Would a simple map of the probabilities lower the log score on new rows?",
        tuple(lines),
        (figure,),
        code=CODE.format(method=METHOD[data.kind]) if claim.kind == "gain" and not is_inverted(found) else "",
    )
