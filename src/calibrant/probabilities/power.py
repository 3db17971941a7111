"""`power`: what these scores can show before any outcome is known, found by simulation of the tests themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.core.annotations import Rng
from calibrant.core.bins import mass_edges
from calibrant.core.catalogue import public
from calibrant.core.evidence import rows_needed
from calibrant.core.null import MIN_INFORMATION, redraw_events, resampled_pvalue, without_rounding
from calibrant.core.ordered import Ordered
from calibrant.core.pool import Pool
from calibrant.core.pvalues import normal_quantile
from calibrant.core.results import Power
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import FloatArray, as_array, is_unit
from calibrant.inputs.options import check_count, check_level, check_share, generator
from calibrant.inputs.probabilities import read_binary
from calibrant.probabilities.calibration_test import FourStatistics, smallest_ranks
from calibrant.probabilities.limits import highest_error

BISECTION_RATIO = 1.01  # ratio of the ends of a bisection at which it stops
NEAR = 1.25  # ratio of errors whose powers lie on one line
NULL_DATA_SETS = 3  # calibrated data sets for each one with an error, so that the critical value adds little noise
MAX_SCORES_SIMULATED = 100  # different scores that are simulated
SMALLEST_ERROR = 1e-9
ROUNDING = 1e-9
SIGNS = (1, -1)  # predictions that are too low, and too high
MAX_ROWS_NEEDED = 10**9
CONFIRMING_STEP = 1.03  # ratio of the errors that are tried when one is confirmed


@public
def power(
    prediction: ArrayLike,
    *,
    error: float | None = None,
    tolerance: float | None = None,
    level: float = 0.95,
    target: float = 0.8,
    resamples: int = 999,
    rng: Rng = 0,
    weights: ArrayLike | None = None,
) -> Power:
    r"""Find what rows with these scores can show: a power, the smallest error that is found, or the rows it takes.

    Outcomes are drawn with the probabilities p + c, and with p - c, cut off at 0 and 1, with c such that the mean error
    is e. `calibration_test` is made at the level 1 - `level`; the power is the share of rejections in the direction
    that is harder to find. With a `tolerance`
    outcomes are drawn with the probabilities p, and the power is the share of data sets that pass the
    `equivalence_test` of `cutoff_error`.

    Parameters
    ----------
    prediction
        Scores like those that will be tested. No outcomes are needed.
    error
        The mean of an error e that is constant but for cutting off, such as 0.02.
    tolerance
        A tolerance of `equivalence_test`. Without this and `error` the smallest constant error is found that has the
        target power.
    level
        1 minus the significance level.
    target
        The power that is aimed at.
    resamples, rng
        Number of simulated data sets, and the random generator or its seed.
    weights
        Importance weights, as in `ece`.

    Returns
    -------
    Power
        `power` with `n` rows, and `rows`, the number that reaches the target, rounded up to two digits; without `error`
        and `tolerance`, `error` is the smallest error with the target power.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).random(1000)
    >>> found = power(scores, error=0.05)
    >>> 0.8 < found.power < 0.95, 700 < found.rows < 1000
    (True, True)
    """
    level, target, B = check_level(level), check_share("target", target), check_count("resamples", resamples, least=99)
    if resampled_pvalue(0, B) > 1 - level:
        raise InputError(f"{B} resamples have no p-value below {1 - level:.3g}; use more resamples, or a lower level")
    if error is not None and tolerance is not None:
        raise InputError("give error= or tolerance=, not both: they are the sizes of two different tests")
    outcomes = np.zeros(as_array(prediction, name="prediction").shape[:1], dtype=np.uint8)  # no outcome is looked at
    rows = Ordered.of(read_binary(outcomes, prediction, verb="power", weights=weights))
    if tolerance is not None:
        tau = check_share("tolerance", tolerance)
        share, needed = _reached(lambda part: _passing(part, tau, level, B, rng), rows, target)
        return Power(share, None, tau, rows.n, needed, target)
    if error is None:
        e = smallest_error(rows, level=level, target=target, resamples=B, rng=rng)
        return Power(Finding(_of_size(rows, rows.n), level, B, rng).share(e), e, None, rows.n, None, target)
    e = check_share("error", error)
    if all(_shifted(rows.pool, e, sign) is None for sign in SIGNS):
        raise NotApplicableError(f"these scores leave no room for a mean error of {e:g} in either direction")
    share, needed = _reached(lambda part: Finding(part, level, B, rng).share(e), rows, target)
    return Power(share, e, None, rows.n, needed, target)


def smallest_error(rows: Ordered, *, level: float, target: float, resamples: int, rng: Rng) -> float:
    """Return the smallest constant error that `calibration_test` finds with the target power, whatever its direction.

    A direction in which it is not found counts as far as the scores leave room for an error there.
    """
    finding, found = _crossings(rows, level, target, resamples, rng)
    smallest = max((1 + ROUNDING) * finding.room(sign) if e is None else e for sign, e in found.items())
    if not any(e is not None and smallest <= finding.room(sign) for sign, e in found.items()):
        raise NotApplicableError(
            f"no mean error for which these {rows.n} scores leave room is found often enough; use more rows"
        )
    return smallest


def smallest_constant(rows: Ordered, *, level: float, target: float, resamples: int, rng: Rng) -> float:
    """Return the smallest c with which p + c and p - c, cut off at 0 and 1, are both found with the target power.

    The larger of both is confirmed with other random numbers: where scores are near 0 or 1 the statistics have atoms,
    and a search ends where chance moved them in its favour.
    """
    finding, found = _crossings(rows, level, target, resamples, rng)
    constants = {sign: None if e is None else _constant(rows.pool, e, sign) for sign, e in found.items()}
    if None in constants.values():
        raise NotApplicableError(f"these {rows.n} scores do not show every constant error; use more rows")
    sign = max(SIGNS, key=lambda sign: constants[sign] or 0.0)
    e, room = found[sign] or 0.0, (1 - ROUNDING) * finding.room(sign)
    again = Finding(_of_size(rows, rows.n), level, resamples, finding.rng)
    while e < room and (again.share_of(e, sign, resamples) or 0.0) < target:
        e = min(CONFIRMING_STEP * e, room)
    return _constant(rows.pool, e, sign) or 1.0


def _crossings(
    rows: Ordered, level: float, target: float, resamples: int, rng: Rng
) -> tuple[Finding, dict[int, float | None]]:
    finding = Finding(_of_size(rows, rows.n), level, resamples, rng)
    return finding, {sign: _crossing(finding, sign, target, level) for sign in SIGNS}


def _shifted(pool: Pool, e: float, sign: int) -> FloatArray | None:
    """Return the probabilities p + sign c, cut off at 0 and 1, whose mean differs by e from that of p.

    None if there is no room for such an error in this direction.
    """
    c = _constant(pool, e, sign)
    return None if c is None else np.clip(pool.score + sign * c, 0, 1)


def _constant(pool: Pool, e: float, sign: int) -> float | None:
    from scipy.optimize import brentq

    weight = pool.weight * pool.rows / float((pool.weight * pool.rows).sum())

    def excess(c: float) -> float:
        return abs(float((weight * (np.clip(pool.score + sign * c, 0, 1) - pool.score)).sum())) - e

    if excess(1.0) < 0:
        return None
    return float(brentq(excess, 0.0, 1.0, xtol=1e-15))


class Finding:
    """How often `calibration_test` rejects data sets with these scores and a mean error."""

    def __init__(self, rows: Ordered, level: float, resamples: int, rng: Rng) -> None:
        self.level, self.resamples, self.rng = level, resamples, generator(rng)
        self.pool, self.tests = rows.pool, FourStatistics(rows.pool)
        null = self._statistics(self.pool.score, NULL_DATA_SETS * resamples)
        self.ordered = np.sort(null, axis=1)
        self.smallest = np.sort(_smallest_rank(null, self.ordered, among=True))

    def _statistics(self, score: FloatArray, resamples: int) -> NDArray[np.float32]:
        found = []
        impossible = (self.pool.score % 1 == 0) & (score % 1 != 0)
        for events in redraw_events(self.pool._replace(score=score), resamples, self.rng):
            statistics = self.tests.of(events)
            if impossible.any():
                seen = events[:, impossible] != (self.pool.rows * self.pool.score)[impossible]
                statistics[:, seen.any(axis=1)] = np.inf
            found.append(statistics)
        return without_rounding(np.concatenate(found, axis=1))

    def room(self, sign: int) -> float:
        weight = self.pool.weight * self.pool.rows
        score = self.pool.score if sign < 0 else 1 - self.pool.score
        return float((weight * score).sum() / weight.sum())

    def share(self, e: float) -> float:
        """Return the share of data sets with a mean error e that are rejected, in the direction with fewer of them."""
        found = (self.share_of(e, sign, self.resamples) for sign in SIGNS)
        return min((share for share in found if share is not None), default=0.0)

    def share_of(self, e: float, sign: int, resamples: int) -> float | None:
        """Return the share of rejected data sets with an error in one direction; None if there is no room for it."""
        score = _shifted(self.pool, e, sign)
        if score is None:
            return None
        drawn = _smallest_rank(self._statistics(score, resamples), self.ordered)
        reached = np.searchsorted(self.smallest, drawn, side="right")
        return float(np.mean(resampled_pvalue(reached, self.smallest.size) <= 1 - self.level))


def _smallest_rank(statistics: NDArray[np.float32], ordered: NDArray[np.float32], *, among: bool = False) -> FloatArray:
    """Return the smallest of the four ranks among the sorted null statistics, for each data set.

    A data set counts as one that reaches its own statistic; `among` says that it is one of the null ones already. Equal
    ranks are told apart as in `calibration_test`.
    """
    size, itself = ordered.shape[1], 0 if among else 1
    reached = [
        itself + size - np.searchsorted(null, drawn, side="left")
        for drawn, null in zip(statistics, ordered, strict=True)
    ]
    return smallest_ranks(np.stack(reached), 1 + size)


def _crossing(finding: Finding, sign: int, target: float, level: float) -> float | None:
    """Return the error in one direction that is found with the target power; None if there is none.

    A bisection leads to its neighbourhood. Where it ends chance helped most, so the error is read from a line through
    all steps that are near.
    """
    tests, room = finding.tests, (1 - ROUNDING) * finding.room(sign)
    scale = math.sqrt(tests.variance) / float((tests.weight * finding.pool.rows).sum())
    e = min(room, max(SMALLEST_ERROR, scale * (normal_quantile((1 + level) / 2) + 1)))
    sets = finding.resamples // 3  # of each step; six steps or so are near
    low, high = 0.0, math.inf
    steps: dict[float, float] = {}
    while e >= SMALLEST_ERROR and high > BISECTION_RATIO * low:
        steps[e] = finding.share_of(e, sign, sets) or 0.0
        low, high = (low, e) if steps[e] >= target else (e, high)
        if low >= room:
            return None
        e = high / 2 if low == 0 else min(2 * low, room) if math.isinf(high) else math.sqrt(low * high)
    if not steps:
        return None  # there is no room
    near = {e: share for e, share in steps.items() if 1 / NEAR <= e / high <= NEAR}
    return min(room, _on_line(near, high, target, sets)) if len(near) > 2 else high


def _on_line(shares: Mapping[float, float], e: float, target: float, sets: int) -> float:
    """Return where the normal quantile of the share, as a straight line in log e, has the value of the target."""
    z = [normal_quantile(min(max(share, 0.5 / sets), 1 - 0.5 / sets)) for share in shares.values()]
    slope, height = np.polyfit([math.log(other / e) for other in shares], z, 1)
    moved = (normal_quantile(target) - height) / slope if slope > 0 else 0.0
    return e * min(max(math.exp(moved), 1 / NEAR), NEAR)


def _passing(rows: Ordered, tau: float, level: float, B: int, rng: Any) -> float:
    pool, total = rows.pool, rows.total_weight / rows.weight_max  # in units of the largest weight, as FourStatistics
    v = (pool.weight / rows.weight_max) ** 2 * pool.rows * pool.score * (1 - pool.score)
    if v.sum() < MIN_INFORMATION:  # limits are those of the mean frequency
        if not rows.has_equal_weights:
            return 0.0  # there are no limits
        events = np.concatenate([drawn.sum(axis=1) for drawn in redraw_events(pool, B, generator(rng))])
        return float(np.mean(highest_error(events, rows.n, rows.mean_score, 1 - level) <= tau))
    tests = FourStatistics(pool)
    extent = np.concatenate([tests.of(events)[0] for events in redraw_events(pool, B, generator(rng))]) / total
    return float(np.mean(extent - normal_quantile(1 - level) * np.sqrt(v.sum()) / total <= tau))


def _of_size(rows: Ordered, n: int) -> Ordered:
    """Return n rows with the distribution of these scores, in at most 100 entries.

    More are pooled into bins, each with as large a share of the rows and of the information w²p(1 - p) as the others:
    scores next to many zeros stay apart.
    """
    pooled = rows
    if rows.score.size > MAX_SCORES_SIMULATED:
        information = sum(float((w * w * c * p * (1 - p)).sum()) for p, w, c, _ in rows.pool.pieces()) or 1.0
        share = np.concatenate(
            [w * c / rows.total_weight + w * w * c * p * (1 - p) / information for p, w, c, _ in rows.pool.pieces()]
        )
        edges = mass_edges(rows.unique_scores, rows.by_score(share), MAX_SCORES_SIMULATED)
        pooled = Ordered.of_bins(rows.bins(edges), weight=1.0 if is_unit(rows.weight) else None)
    count = np.diff(np.rint(np.cumsum(pooled.count) * (n / rows.n)).astype(np.int64), prepend=0)
    kept = count > 0
    return Ordered(pooled.score[kept], pooled.weight[kept], count[kept], np.zeros_like(count[kept]), rows.dtype)


def _reached(power_of: Callable[[Ordered], float], rows: Ordered, target: float) -> tuple[float, int | None]:
    """Return the power of these rows, and the number of rows of this kind that reaches the target, if there is one."""
    share = power_of(_of_size(rows, rows.n))
    low = high = float(rows.n)
    while share < target and power_of(_of_size(rows, int(high))) < target:
        low, high = high, 2 * high
        if high > MAX_ROWS_NEEDED:
            return share, None
    if share >= target:
        low = 1.0
    while high > BISECTION_RATIO * low and high - low > 1:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if power_of(_of_size(rows, int(middle))) >= target else (middle, high)
    return share, rows_needed(high)
