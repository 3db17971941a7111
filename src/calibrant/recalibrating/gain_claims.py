"""The gain of a map as a claim, and the claim in words: what audits and the command line say about recalibration."""

from __future__ import annotations

import math
from dataclasses import replace

from calibrant.core.claims import Claim, ClaimKind
from calibrant.core.evidence import ALL_ROWS
from calibrant.core.words import confidence_words, number, outward, round_down, significant
from calibrant.recalibrating.gain import RecalibrationGain

QUANTITY, ERROR = "recalibration_gain", "calibration_error"
SCORE_WORDS = {"interval": "interval score", "quantile": "quantile score", "crps": "CRPS", "brier": "Brier score"}


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


def gain_sentence(claim: Claim, score: str, cause: str = "this map") -> str:
    """Put a claim on a gain into words; limits are rounded outwards.

    Parameters
    ----------
    claim
        From `gain_claim`.
    score
        The name of the score, an option of `recalibration_gain`.
    cause
        What has the gain, in words.

    Examples
    --------
    >>> claim = Claim("gain", ALL_ROWS, QUANTITY, 0.034, 0.0281, 0.0399, 0.95, 500)
    >>> gain_sentence(claim, "log", "recalibrating by temperature 1.7")
    'Recalibrating by temperature 1.7 would lower the log score by 0.034 (95 %: 0.028 to 0.040).'
    >>> gain_sentence(replace(claim, kind="description", level=None), "brier")
    'Whether this map helps cannot be told: its gain in the Brier score, 0.03400, has no limits.'
    """
    words, first = SCORE_WORDS.get(score, f"{score} score"), cause[0].upper() + cause[1:]
    if claim.level is None:
        estimate = number(claim.estimate)
        return f"Whether {cause} helps cannot be told: its gain in the {words}, {estimate}, has no limits."
    level = confidence_words(claim.level)
    if claim.kind == "harm":
        low, high, size = _written(-claim.high, -claim.low, -claim.estimate)
        harm = f"it would raise the {words} by {size} ({level}: {low} to {high})"
        return f"{first} would do harm with this many rows: {harm}."
    low, high, size = _written(claim.low, claim.high, claim.estimate)
    if claim.kind == "gain":
        return f"{first} would lower the {words} by {size} ({level}: {low} to {high})."
    return f"No gain is shown from {cause}: its estimate in the {words} is {size} ({level}: {low} to {high})."


def error_sentence(claim: Claim, score: str) -> str:
    """Put the lower limit of a calibration error into words."""
    assert claim.level is not None  # it follows from limits of a gain
    least = f"{significant(claim.low, 2, round_down):.10g}"
    words = SCORE_WORDS.get(score, f"{score} score")
    return f"The {words} contains a calibration error of at least {least} ({confidence_words(claim.level)})."


def _written(low: float, high: float, estimate: float) -> tuple[str, ...]:
    return outward(low, high, estimate, expected=0.0, scale=1.0)
