"""What an audit says about groups and classes: claims, and the words made from them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from calibrant.core.claims import Claim, ClaimKind, Subject
from calibrant.core.findings import Setting
from calibrant.core.words import means_words
from calibrant.probabilities.group_test import GroupFindings

Noun: TypeAlias = Literal["group", "class"]
TEST = "smaller p-value of Kuiper's and Cox's statistic, adjusted for all of them"
LIMITS = "limits that cover in all of them together"


def group_claims(found: GroupFindings, setting: Setting, noun: Noun = "group") -> tuple[Claim, ...]:
    """Return what can be said about groups or classes, the most surprising first.

    Each group whose adjusted p-value, times the number of families, is below the error rate has a claim
    "miscalibrated" about its cutoff error. If the limits of its bias exclude 0, a claim "above" or "below" about the
    bias follows, the observed less the predicted frequency. The limits must have been found with the error rate of
    this family, (1 - level) / families.
    """
    pvalue = setting.adjusted(found.pvalue_adjusted)
    off = [g for g in surprising_first(found) if setting.rejects(pvalue[g])]
    return tuple(claim for g in off for claim in _claims(found, g, noun, float(pvalue[g]), setting.level))


def surprising_first(found: GroupFindings) -> list[int]:
    """Return the order of the groups in tables: by adjusted p-value, p-value and statistic."""
    order: list[int] = np.lexsort([-found.statistic, found.pvalue, found.pvalue_adjusted]).tolist()
    return order


def _claims(found: GroupFindings, g: int, noun: Noun, pvalue: float, level: float) -> list[Claim]:
    subject, rows = Subject(noun, name=found.names[g]), int(found.n[g])
    estimate, bias = float(found.estimate[g]), float(found.bias[g])
    low, high = float(found.bias_low[g]), float(found.bias_high[g])
    first = Claim("miscalibrated", subject, "cutoff_error", estimate, level=level, rows=rows, test=TEST, pvalue=pvalue)
    if not (low > 0 or high < 0):
        return [first]
    side: ClaimKind = "above" if low > 0 else "below"
    return [first, Claim(side, subject, "bias", bias, low, high, level, rows, test=LIMITS)]


def group_words(found: GroupFindings, noun: Noun = "group") -> dict[Subject, str]:
    """Say how each group or class is off, such as "observed 41 %, predicted 30 %"."""
    observed = np.clip(found.predicted + found.bias, 0, 1)  # rounding may leave [0, 1]
    means = zip(observed.tolist(), found.predicted.tolist(), found.estimate.tolist(), strict=True)
    subjects = (Subject(noun, name=name) for name in found.names)
    return dict(zip(subjects, (means_words(*line) for line in means), strict=True))
