"""What an audit says about groups: claims, and the words made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.findings import Setting
from calibrant.core.words import NAMED, means_words
from calibrant.probabilities.group_test import GroupFindings

TEST = "smaller p-value of Kuiper's and Cox's statistic, adjusted for all groups"
LIMITS = "limits that cover in all groups together"


def group_claims(found: GroupFindings, setting: Setting) -> tuple[Claim, ...]:
    """Return what can be said about groups, the most surprising group first.

    Each group whose adjusted p-value, times the number of families, is below the error rate has a claim
    "miscalibrated" about its cutoff error. If the limits of its bias exclude 0, a claim "above" or "below" about the
    bias follows, the observed less the predicted frequency. The limits must have been found with the error rate of
    this family, (1 - level) / families.
    """
    pvalue = np.minimum(1.0, setting.families * found.pvalue_adjusted)
    off = [g for g in surprising_first(found) if pvalue[g] < 1 - setting.level]
    return tuple(claim for g in off for claim in _claims(found, g, float(pvalue[g]), setting.level))


def surprising_first(found: GroupFindings) -> list[int]:
    """Return the order of the groups in tables: by adjusted p-value, p-value and statistic."""
    order: list[int] = np.lexsort([-found.statistic, found.pvalue, found.pvalue_adjusted]).tolist()
    return order


def _claims(found: GroupFindings, g: int, pvalue: float, level: float) -> list[Claim]:
    subject, rows = f"group {found.names[g]}", int(found.n[g])
    estimate, bias = float(found.estimate[g]), float(found.bias[g])
    low, high = float(found.bias_low[g]), float(found.bias_high[g])
    first = Claim("miscalibrated", subject, "cutoff_error", estimate, level=level, rows=rows, test=TEST, pvalue=pvalue)
    if not (low > 0 or high < 0):
        return [first]
    side: ClaimKind = "above" if low > 0 else "below"
    return [first, Claim(side, subject, "bias", bias, low, high, level, rows, test=LIMITS)]


def group_words(found: GroupFindings) -> dict[str, str]:
    """Say how each group is off, such as "observed 41 %, predicted 30 %"."""
    observed = np.clip(found.predicted + found.bias, 0, 1)  # rounding may leave [0, 1]
    means = zip(observed.tolist(), found.predicted.tolist(), found.estimate.tolist(), strict=True)
    return dict(zip(found.names, (means_words(*line) for line in means), strict=True))


def groups_sentence(claims: Sequence[Claim], how: Mapping[str, str], groups: int) -> str:
    """Say which groups are off, and how.

    >>> off = Claim("miscalibrated", "group plan = basic", "cutoff_error", 0.11, level=0.95, rows=900, pvalue=0.002)
    >>> groups_sentence([off], {"plan = basic": "observed 41 %, predicted 30 %"}, 3)
    '1 of 3 groups is off by more than chance: plan = basic (observed 41 %, predicted 30 %).'
    >>> groups_sentence([], {}, 3)
    'No evidence that any of 3 groups is off.'
    """
    off = [claim.subject.removeprefix("group ") for claim in claims if claim.kind == "miscalibrated"]
    if not off:
        return (
            f"No evidence that any of {groups:,} groups is off." if groups > 1 else "No evidence that the group is off."
        )
    named = "; ".join(f"{name} ({how[name]})" for name in off[:NAMED])
    more = f" and {len(off) - NAMED:,} more" if len(off) > NAMED else ""
    return (
        f"{len(off):,} of {groups:,} groups {'is' if len(off) == 1 else 'are'} off by more than chance: {named}{more}."
    )
