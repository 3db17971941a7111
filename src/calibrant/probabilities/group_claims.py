"""What an audit says about groups and classes: claims, and the words made from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from calibrant.core.claims import USUAL_TOLERANCES, Claim, ClaimKind, Subject
from calibrant.core.findings import Setting
from calibrant.core.words import means_words
from calibrant.inputs.arrays import FloatArray
from calibrant.probabilities.group_test import GroupFindings
from calibrant.probabilities.verdict import RARE, Scale, size, usual_tolerances

Noun: TypeAlias = Literal["group", "class"]
TEST = "smaller p-value of Kuiper's and Cox's statistic, adjusted for all of them"
ERROR = "cutoff_error"
LIMITS = "limits that cover in all of them together"


def group_claims(found: GroupFindings, setting: Setting, noun: Noun = "group") -> tuple[Claim, ...]:
    """Return what can be said about groups or classes, the most surprising first.

    Each group whose adjusted p-value, times the number of families, is below the error rate has a claim about its
    cutoff error: "miscalibrated", or "within" if its upper limit is at most the tolerance; without one, at most what is
    negligible (`usual_tolerances`). If the limits of the bias of a miscalibrated group exclude 0, a claim "above" or
    "below" about the bias follows, the observed less the predicted frequency. The limits must have been found with the
    error rate of this family, (1 - level) / families.
    """
    pvalue = setting.adjusted(found.pvalue_adjusted)
    off = [g for g in surprising_first(found) if setting.rejects(pvalue[g])]
    return tuple(claim for g in off for claim in _claims(found, g, noun, float(pvalue[g]), setting))


def surprising_first(found: GroupFindings) -> list[int]:
    """Return the order of the groups in tables: by adjusted p-value, lower limit of the error, p-value, statistic."""
    order: list[int] = np.lexsort([-found.statistic, found.pvalue, -found.low, found.pvalue_adjusted]).tolist()
    return order


def stated_low(found: GroupFindings, setting: Setting) -> FloatArray:
    """Return the lower limits of the errors, 0 where the test does not reject."""
    rejected = [setting.rejects(p) or math.isnan(p) for p in setting.adjusted(found.pvalue_adjusted).tolist()]
    return np.where(rejected, found.low, 0.0)


def _claims(found: GroupFindings, g: int, noun: Noun, pvalue: float, setting: Setting) -> list[Claim]:
    subject, rows, level = Subject(noun, name=found.names[g]), int(found.n[g]), setting.level
    estimate, least, most = float(found.estimate[g]), float(found.low[g]), float(found.high[g])
    low, high = float(found.bias_low[g]), float(found.bias_high[g])
    accepted = usual_tolerances(float(found.predicted[g]))[0] if setting.tolerance is None else setting.tolerance
    unit, share_of = _scale(found, float(found.predicted[g]), setting).unit_of(most, setting)
    first = Claim(
        "miscalibrated",
        subject,
        ERROR,
        estimate,
        least,
        most,
        level,
        rows,
        test=TEST,
        pvalue=pvalue,
        unit=unit,
        share_of=share_of,
    )
    if most <= accepted:
        return [replace(first, kind="within", tolerance=accepted)]
    if not (low > 0 or high < 0):
        return [first]
    side: ClaimKind = "above" if low > 0 else "below"
    return [first, Claim(side, subject, "bias", float(found.bias[g]), low, high, level, rows, test=LIMITS)]


def group_words(found: GroupFindings, claims: Sequence[Claim]) -> dict[Subject, str]:
    """Say how each group or class with a claim is off.

    Such as "off by 6.1 percentage points (95 % limits: 3.2 to 9.0), observed 41 %, predicted 30 %".
    """
    place = {name: g for g, name in enumerate(found.names)}
    texts = {}
    for claim in claims:
        if claim.quantity == ERROR:
            g = place[claim.subject.name]
            predicted = float(found.predicted[g])
            observed = min(1.0, max(0.0, predicted + float(found.bias[g])))  # rounding may leave [0, 1]
            means = means_words(observed, predicted, claim.estimate)
            texts[claim.subject] = f"off by {size(claim)}, {means}"
    return texts


def _scale(found: GroupFindings, predicted: float, setting: Setting) -> Scale:
    """Return how the error of a group is stated: as a share of what the tolerance is a share of.

    A relative tolerance is a share of the mean prediction of all rows, whatever the group. Without a tolerance rare
    events of a group are counted in those that were predicted for it.
    """
    if setting.relative:
        mean = float(np.average(found.predicted, weights=found.weight))
        return Scale(mean, usual_tolerances(mean), "events", whole="the mean prediction of all rows")
    if setting.tolerance is None and 0 < predicted < RARE:
        return Scale(predicted, usual_tolerances(predicted), "events")
    return Scale(1.0, USUAL_TOLERANCES)
