"""The gain of a map as a claim: what audits and the command line say about recalibration."""

from __future__ import annotations

import math
from dataclasses import replace

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS, Note, note
from calibrant.recalibrating.gain import RecalibrationGain

QUANTITY, ERROR = "recalibration_gain", "calibration_error"


def gain_claim(gain: RecalibrationGain) -> Claim:
    """Return what the limits of a gain support: that the map helps, that it does harm, or the limits alone.

    Without limits the claim is a description.
    """
    limited = math.isfinite(gain.low)
    kind: ClaimKind = "gain" if gain.low > 0 else "harm" if gain.high < 0 else "limits"
    low, high = (gain.low, gain.high) if limited else (math.nan, math.nan)
    return Claim(
        kind if limited else "description",
        ALL_ROWS,
        QUANTITY,
        gain.estimate,
        low,
        high,
        gain.level if limited else None,
        gain.n,
        test=f"recalibration_gain, {gain.method}",
    )


def error_claim(claim: Claim) -> Claim:
    """Return the lower limit of the calibration error that follows from a gain: no map removes more than there is."""
    return replace(claim, kind="limits", quantity=ERROR, estimate=math.nan, high=math.inf)


def gain_note(claim: Claim, of_map: str, score: str, why: str = "") -> Note:
    """Return what a map does: it helps, does harm, or is not shown to do either; `why` says why there are no limits."""
    keys = {"gain": "map helps", "harm": "map harms", "limits": "no gain shown"}
    limits = (claim.low, claim.high)
    return note(
        keys.get(claim.kind, "gain without limits"),
        map=of_map,
        score=score,
        gain=claim.estimate,
        limits=limits,
        level=claim.level,
        why=why.rstrip("."),
    )
