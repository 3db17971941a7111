"""Coverage in audits, line by line: exact tests and limits that allow for all lines and families together.

A line is a level, or a level in a group of rows. Its two-sided p-value and its Clopper-Pearson limits use the same
error rate. Limits leave out the level exactly if the adjusted p-value is below 1 - level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.annotations import Alternative
from calibrant.core.bins import mass_ends
from calibrant.core.findings import Setting
from calibrant.core.mean_interval import exact_limits
from calibrant.core.pool import largest_bound, tie_starts, tolerance_of
from calibrant.core.pvalues import beta_binomial_tails, binomial_tails
from calibrant.core.results import Curve
from calibrant.core.summary import Summary
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.groups import RowLabels
from calibrant.inputs.options import DIGITS
from calibrant.inputs.rows import IntervalRows, SetRows
from calibrant.regions.coverage_curve import COVERAGE_CURVE
from calibrant.regions.coverage_test import conformal_beta
from calibrant.regions.hits import CoveredRows, HitTable
from calibrant.regions.sizes import Sizes

Line = dict[str, Any]
"""A line of a coverage curve: a level, its coverage, its limits and p-values."""


@dataclass(frozen=True)
class Rule:
    """Which coverage is wrong: too low, too high, or both.

    With `ties` an outcome on an edge may count as inside or outside: a level between the two shares is right.
    """

    alternative: Alternative = "two-sided"
    ties: bool = True

    @property
    def counts_low(self) -> bool:
        return self.alternative != "greater"

    @property
    def counts_high(self) -> bool:
        return self.alternative != "less"


COUNT_TIES = 0.01  # share of outcomes on bounds, from which they are taken as counts


def promise(rows: CoveredRows, setting: Setting) -> Rule:
    """Return the rule that the user chose, or what the kind of prediction promises.

    Sets, intervals of split conformal prediction, and intervals for counts promise at least their level. The level of
    other intervals lies between their coverage without and with their bounds.
    """
    if setting.alternative is not None:
        return Rule(setting.alternative, ties=False)
    if isinstance(rows, SetRows) or setting.calibration_size is not None:
        return Rule("less", ties=False)
    on_edge = (rows.covered & ~rows.inside).mean(axis=0).max()
    return Rule("less", ties=False) if on_edge >= COUNT_TIES else Rule()


@dataclass(frozen=True, eq=False)
class Lines:
    """Judged lines of coverage, and the limits of their error: the distance of coverage from what the rule allows.

    The error of a line is max(level - P(hit), P(inside) - level, 0), without the first or second term if the rule does
    not count it. That all errors are at most a tolerance is false only if a certain one is larger: `error_most` needs
    no correction for the number of lines (an intersection-union test), and uses the rate of the family.
    """

    curve: Curve  # `pvalue_adjusted`, `lower` and `upper` allow for all lines of the family and for all families
    inside: NDArray[np.int64]  # hits that do not lie on an edge, or all if the rule does not treat ties
    rule: Rule
    rate: float  # with which the limits of one line may fail
    family_rate: float  # with which a claim on the family may fail

    @property
    def exact(self) -> bool:
        """Whether a coverage must equal its level; otherwise more, or with ties any share between two, is right."""
        return self.rule.alternative == "two-sided" and np.array_equal(self.inside, self.curve.hits)

    @property
    def tested(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.curve.pvalue_adjusted))

    def off(self, setting: Setting) -> NDArray[np.bool_]:
        return np.asarray(np.nan_to_num(self.curve.pvalue_adjusted, nan=1.0) < 1 - setting.level)

    @cached_property
    def error(self) -> FloatArray:
        count = np.maximum(self.curve.count, 1)
        return self._largest(self.curve.nominal - self.curve.coverage, self.inside / count - self.curve.nominal)

    @cached_property
    def error_low(self) -> FloatArray:
        """Lower limit of the error of each line, for all lines together."""
        (_, upper), (lower, _) = self._limits(self.rate)
        return self._largest(self.curve.nominal - upper, lower - self.curve.nominal)

    @cached_property
    def error_high(self) -> FloatArray:
        """Upper limit of the error of each line, for all lines together."""
        return self._upper_limit(self.rate)

    @cached_property
    def error_most(self) -> FloatArray:
        """Upper limit of the error of each line by itself; the largest is a limit of the largest error."""
        return self._upper_limit(self.family_rate)

    def _upper_limit(self, rate: float) -> FloatArray:
        (lower, _), (_, upper) = self._limits(rate)
        return self._largest(self.curve.nominal - lower, upper - self.curve.nominal)

    def _limits(self, rate: float) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        count = self.curve.count.astype(np.float64)
        hits = exact_limits(self.curve.hits.astype(np.float64), count, 1 - rate)
        if np.array_equal(self.inside, self.curve.hits):
            return hits, hits
        return hits, exact_limits(self.inside.astype(np.float64), count, 1 - rate)

    def _largest(self, short: FloatArray, over: FloatArray) -> FloatArray:
        terms = [*([short] if self.rule.counts_low else []), *([over] if self.rule.counts_high else [])]
        return np.asarray(np.maximum(np.max(terms, axis=0), 0.0))


def level_lines(table: HitTable, setting: Setting, rule: Rule, *, tests: int) -> Lines:
    return _judged(table, table.hits_inside, setting, rule, tests)


def filled(table: HitTable) -> int:
    return int(np.count_nonzero(table.count))


def _judged(
    summary: Summary, inside: NDArray[np.int64], setting: Setting, rule: Rule, tests: int, **options: Any
) -> Lines:
    tests = max(tests, 1)
    family_rate = (1 - setting.level) / setting.families
    rate = family_rate / tests
    curve: Curve = COVERAGE_CURVE.of_summary(summary, COVERAGE_CURVE.parse({"level": 1 - rate, **options}))
    inside = inside if rule.ties else curve.hits
    m, known = setting.calibration_size, ~np.isnan(curve.pvalue)
    pvalue = np.full(curve.pvalue.shape, np.nan)
    arguments = (column[known] for column in (curve.hits, inside, curve.count, curve.nominal))
    pvalue[known] = line_pvalues(*arguments, rule=rule, calibration_size=m)
    columns = {name: column for name, column in curve.columns.items() if name not in ("pvalue_holm", "below")}
    columns |= {"pvalue": pvalue, "pvalue_adjusted": np.minimum(1.0, pvalue * (setting.families * tests))}
    details = {"level": setting.level, **({} if m is None else {"calibration_size": m})}
    method = f"{curve.method.partition(' ')[0]} limits" + (_test_words(rule, m) if known.any() else "")
    return Lines(replace(curve, columns=columns, method=method, details=details), inside, rule, rate, family_rate)


def _test_words(rule: Rule, m: int | None) -> str:
    distribution = "binomial" if m is None else f"beta-binomial, {m:,} calibration scores"
    side = {"two-sided": "", "less": ", too low a coverage", "greater": ", too high a coverage"}[rule.alternative]
    return f"; p-value {distribution}{side}"


def line_pvalues(
    hits: Any, inside: Any, count: Any, nominal: Any, *, rule: Rule, calibration_size: int | None = None
) -> FloatArray:
    """Return twice the smaller tail of the sides that count: of P(inside) <= nominal <= P(hit).

    A side that does not count is left out, and the other one is still doubled: limits have two sides, and a test must
    agree with them. With `calibration_size` tails are those of split conformal prediction as well.

    >>> both = Rule()
    >>> float(line_pvalues(3, 3, 4, 0.5, rule=both)), float(line_pvalues(4, 1, 4, 0.5, rule=both))
    (0.625, 1.0)
    >>> float(line_pvalues(4, 4, 4, 0.5, rule=Rule("less")))
    1.0
    """
    low, high = binomial_tails(hits, count, nominal)[0], binomial_tails(inside, count, nominal)[1]
    if calibration_size is not None:
        low = np.maximum(low, _conformal_tails(hits, count, nominal, calibration_size, 0))
        high = np.maximum(high, _conformal_tails(inside, count, nominal, calibration_size, 1))
    smaller = {"two-sided": np.minimum(low, high), "less": low, "greater": high}[rule.alternative]
    return np.asarray(np.minimum(1.0, 2 * smaller))


def _conformal_tails(hits: Any, count: Any, nominal: Any, m: int, side: int) -> FloatArray:
    lines = zip(*(np.ravel(column).tolist() for column in (hits, count, nominal)), strict=True)
    tails = [beta_binomial_tails(int(k), int(n), *conformal_beta(m, c))[side] for k, n, c in lines]
    return np.reshape(tails, np.shape(hits))


def central_table(table: HitTable) -> HitTable | None:
    """Return the hits of the central intervals between quantiles τ and 1 - τ; None if no two levels mirror.

    They follow from those of the quantiles: rows at most at the upper one, less the rows below the lower one.
    """
    places = mirrored(table.levels)
    if not places:
        return None
    low, high = (np.array(side) for side in zip(*places, strict=True))
    shape = (-1, table.levels.size)
    at, below = table.wc.reshape(shape), table.inside.reshape(shape)
    count = table.count.reshape(shape)[:, low].ravel()
    w, w2 = (column.reshape(shape)[:, low].ravel() for column in (table.w, table.w2))
    wc = (at[:, high] - below[:, low]).ravel()
    coverage = np.divide(wc, w, out=np.zeros(w.shape), where=w > 0)
    return replace(
        table,
        kind="Intervals",
        levels=(table.levels[high] - table.levels[low]).round(DIGITS + 2),
        group=tuple(np.array(table.group, dtype=object).reshape(shape)[:, low].ravel()),
        level=np.tile(np.arange(low.size, dtype=np.int64), len(at)),
        count=count,
        w=w,
        w2=w2,
        hits=np.rint(coverage * count).astype(np.int64),
        wc=wc,
        w2c=w2 * coverage,  # that of the rows is not known; only limits of weighted rows use it
        inside=np.maximum(below[:, high] - at[:, low], 0.0).ravel(),
    )


def mirrored(levels: FloatArray) -> list[tuple[int, int]]:
    """Return the places of levels τ < 1/2 and 1 - τ, the narrowest interval first."""
    place = {round(level, DIGITS): k for k, level in enumerate(levels.tolist())}
    pairs = [(place[t], place.get(round(1 - t, DIGITS))) for t in sorted(place, reverse=True) if t < 0.5]
    return [(low, high) for low, high in pairs if high is not None]


def size_lines(rows: IntervalRows | SetRows, sizes: Sizes, setting: Setting, rule: Rule, *, tests: int) -> Lines:
    """Return the judged lines of rows whose predictions have about the same size.

    Intervals without any bound cover every outcome. That is no news, and lines of nothing else are not tested.
    """
    lines = _judged(sizes, _by_size(rows.inside, rows, sizes), setting, rule, tests, groups="size")
    curve = lines.curve
    if isinstance(rows, IntervalRows):
        bounded = _by_size(np.isfinite(rows.prediction.lower) | np.isfinite(rows.prediction.upper), rows, sizes)
        untested = {name: np.where(bounded > 0, curve.columns[name], np.nan) for name in ("pvalue", "pvalue_adjusted")}
        curve = replace(curve, columns={**curve.columns, **untested})
    return replace(lines, curve=_shortened(curve))


def _by_size(marked: NDArray[np.bool_], rows: IntervalRows | SetRows, sizes: Sizes) -> NDArray[np.int64]:
    """Count the marked rows (n, L) in each group of sizes, level by level, as the curve by size does."""
    found = []
    for k, column in enumerate(rows.sizes.T):
        tied, groups = sizes.groups(k)
        pooled = np.searchsorted(tied.size, column, side="right") - 1
        found.append(groups.sums(np.bincount(pooled, marked[:, k], minlength=tied.size.size)))
    return np.asarray(np.rint(np.concatenate(found)), dtype=np.int64)


def filled_sizes(sizes: Sizes) -> int:
    parts = map(sizes.groups, range(sizes.L))
    found = [int(np.count_nonzero(groups.sums(tied.rows))) for tied, groups in parts]
    return sum(found) if max(found) > 1 else 0


def _shortened(curve: Curve) -> Curve:
    """Write the limits of sizes with four digits, if these tell the groups of a level apart."""
    pairs = [*zip(curve.size_low.tolist(), curve.size_high.tolist(), strict=True)]
    names = np.array([_range_words(low, high) for low, high in pairs])
    if len({*zip(names, curve.nominal.tolist(), strict=True)}) < len({*zip(curve.group, curve.nominal, strict=True)}):
        return curve
    return replace(curve, columns={**curve.columns, "group": names})


def _range_words(low: float, high: float) -> str:
    digits = ".4g" if float(low).is_integer() and float(high).is_integer() else "#.4g"  # with zeros at the end
    least, most = (f"{size:{digits}}".rstrip(".") for size in (low, high))
    return least if low == high else f"{least} to {most}"


POSITION_GROUPS = 3


def position_labels(rows: IntervalRows) -> RowLabels | None:
    """Put rows into three groups by where their intervals lie; None if all lie at one place.

    An interval lies at its middle, a one-sided one at its bound, averaged over levels; those without a bound lie
    nowhere and have the empty label. Hits of calibrated intervals do not depend on where these lie. Intervals of one
    width whose errors grow with the prediction are found in this way.
    """
    place = positions(rows)
    known = np.flatnonzero(~np.isnan(place))
    if known.size < 2:
        return None
    value, code, count = np.unique(place[known], return_inverse=True, return_counts=True)
    largest = largest_bound(rows.prediction.lower, rows.prediction.upper).max()
    starts = tie_starts(value, float(tolerance_of(largest, rows.prediction.eps)))
    ends = np.append(starts[1:], value.size)  # one past the last value of each tie
    last = mass_ends(np.add.reduceat(count, starts).cumsum(), POSITION_GROUPS)
    if last.size < 2:
        return None
    first = np.append(0, last[:-1] + 1)
    names = tuple(_range_words(value[starts[a]], value[ends[b] - 1]) for a, b in zip(first, last, strict=True))
    group = np.searchsorted(ends[last], code, side="right")
    labels = np.full(rows.n, len(names), dtype=np.intp)
    labels[known] = group
    return RowLabels(labels, names if known.size == rows.n else (*names, ""))


def positions(rows: IntervalRows) -> FloatArray:
    lower, upper = rows.prediction.lower, rows.prediction.upper
    low, high = np.where(np.isinf(lower), upper, lower), np.where(np.isinf(upper), lower, upper)
    with np.errstate(invalid="ignore"):  # without any bound
        middle = low / 2 + high / 2
    known = np.isfinite(middle)
    total = np.where(known, middle, 0.0).sum(axis=1)
    number = known.sum(axis=1)
    return np.asarray(np.divide(total, number, out=np.full(rows.n, np.nan), where=number > 0))


def position_lines(rows: IntervalRows, labels: RowLabels, setting: Setting, rule: Rule, *, tests: int) -> Lines:
    lines = level_lines(HitTable.of(rows, labels), setting, rule, tests=tests)
    kept = np.flatnonzero(lines.curve.group != "")
    columns = {name: column[kept] for name, column in lines.curve.columns.items()}
    place = positions(rows)
    ends = {
        name: (place[labels.code == g].min(), place[labels.code == g].max()) for g, name in enumerate(labels.values)
    }
    low, high = np.array([ends[name] for name in columns["group"].tolist()]).T
    curve = replace(lines.curve, columns={**columns, "place_low": low, "place_high": high})
    return replace(lines, curve=curve, inside=lines.inside[kept])


def lines_of(curve: Curve) -> list[Line]:
    values = zip(*(column.tolist() for column in curve.columns.values()), strict=True)
    return [dict(zip(curve.columns, line, strict=True)) for line in values]
