"""The tests of ranks that an audit of draws makes: of coordinates, and of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from calibrant.core.evidence import Evidence, Family, Subject
from calibrant.core.findings import Grouped, Measurement, Setting, Table
from calibrant.core.pvalues import holm
from calibrant.errors import InputError, NotApplicableError
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.groups import Grouping
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import Ranked, marginal_ranks
from calibrant.ranking.coverage_error import coverage_errors
from calibrant.ranking.density_ranks import ENERGY_RANKS
from calibrant.ranking.distance_ranks import TARP_RANKS
from calibrant.ranking.draw_evidence import RankedDraws, in_content_order
from calibrant.ranking.effects import RankEntry, band_test, stream_after_ties
from calibrant.ranking.failures import normal_errors
from calibrant.ranking.pair_dependence import RESAMPLES, PairDependence, is_affordable, pair_dependence
from calibrant.ranking.quantities import ranked_by
from calibrant.ranking.summary import Ranks
from calibrant.ranking.uniformity_test import MIN_GROUP_ROWS, uniformity_test
from calibrant.ranking.vector_ranks import JOINT_RANKS

FITTED = "distance to a fit on the covariates"
MAX_PAIRS = 2_000_000_000  # pairs of draws times coordinates; mean distances beyond that are left out
PAIRS = "pair_dependence"


class RankCheck(NamedTuple):
    """One test of all rows: what is tested, its ranks where it has a set of its own, and what came out."""

    name: str
    label: str
    ranks: Ranks | None
    statistic: float
    pvalue: float
    method: str
    conditional: bool = False  # it uses what was known of each row
    pairs: PairDependence | None = None  # what the comparison of pairs of coordinates found
    pvalues: tuple[float, ...] = ()  # of each column of ranks, adjusted for the others; `pvalue` is the smallest

    def adjusted(self, tests: int) -> float:
        return min(1.0, tests * self.pvalue)

    def of_column(self, c: int) -> RankCheck:
        return self._replace(pvalue=self.pvalues[c]) if self.pvalues else self

    def measurement(self, tests: int) -> Measurement:
        method = f"{self.method}; p-value adjusted for {tests} checks" if tests > 1 else self.method
        return Measurement(
            self.name, self.label, self.statistic, pvalue=self.adjusted(tests), method=method, decides=True
        )


def judged_by_ranks(rows: DistributionRows) -> bool:
    """Tell whether these are draws of rows of one weight; weighted ranks have no exact distribution."""
    w = rows.w
    return rows.kind == "samples" and (is_unit(w) or bool(w.min() == w.max()))


def refuse_unequal(rows: DistributionRows, option: str) -> None:
    if not judged_by_ranks(rows):
        raise InputError(f"{option}= is used with ranks, which need equal weights; leave {option} or weights out")


def coordinate_ranks(rows: DistributionRows, setting: Setting) -> Ranked:
    """Return the rank of each row in each coordinate, by the names the user has for them."""
    found = marginal_ranks(rows, setting.rng)
    return found._replace(names=setting.columns) if setting.columns and found.rank.ndim == 2 else found


def marginal_check(ranks: Ranks) -> RankCheck:
    """Return the test of all coordinates, by the one that is off most."""
    found = uniformity_test(ranks)
    gamma, p = np.atleast_1d(found.statistic), np.atleast_1d(found.pvalue)
    worst = "" if ranks.C == 1 else f", worst of {ranks.C:,} coordinates"
    label = f"smallest tail γ of the curve of ranks{worst}"
    smallest = float(gamma.min()), float(p.min())
    return RankCheck("uniformity_test", label, ranks, *smallest, found.method, pvalues=tuple(p.tolist()))


def joint_checks(rows: DistributionRows, setting: Setting) -> tuple[list[RankCheck], list[str]]:
    distribution = cast(Samples, rows.distribution)
    checks, missing = [], []
    D = distribution.shape[0] if distribution.shape else 1
    if setting.log_density_y is not None and distribution.finite:
        checks.append(_check(ENERGY_RANKS, "density", rows, setting, log_density_y=setting.log_density_y))
    elif distribution.log_densities is not None:
        missing.append("The densities of the draws are not used: pass log_density_y=, that of the outcomes.")
    if D < 2:
        return checks, missing
    if not distribution.finite:
        return checks, [*missing, "Coordinates are not tested together: some draws are infinite."]
    if not checks and rows.n * distribution.M**2 * D <= MAX_PAIRS:
        checks.append(_check(JOINT_RANKS, "mean distance", rows, setting, method="mean_distance"))
    elif not checks:
        missing.append(
            "Ranks by mean distance are left out: their time grows with the square of the draws. "
            "Pass fewer, such as draws[:, ::10]."
        )
    checks.append(_check(JOINT_RANKS, "average rank", rows, setting, method="average"))
    return checks, missing


def pair_checks(draws: RankedDraws | None, setting: Setting) -> tuple[list[RankCheck], list[str]]:
    """Return the comparison of the dependence of pairs of coordinates with that of their draws, or why there is none.

    Rows are in the order of their content: members are drawn in it.
    """
    if draws is None or draws.draws.shape[2] < 2:
        return [], []
    if not is_affordable(*draws.draws.shape):
        return [], ["Pairs of coordinates are not compared: there are too many rows and coordinates."]
    found = pair_dependence(draws, stream_after_ties(setting.rng))
    worst = int(found.order[0])
    method = f"correlation of ranks of the outcome less that of all members, {RESAMPLES} sets of exchanged members"
    of = "two coordinates" if found.pvalue.size == 1 else f"{found.pvalue.size:,} pairs of coordinates"
    label = f"largest difference between rank correlations of outcomes and draws, of {of}"
    value, p = float(found.difference[worst]), float(found.pvalue[worst])
    return [RankCheck(PAIRS, label, None, value, p, method, pairs=found)], []


def quantity_checks(rows: DistributionRows, setting: Setting) -> list[RankCheck]:
    if setting.quantity is None:
        return []
    ranks = Ranks.of_ranked(ranked_by(rows, replace(setting.quantity, rng=setting.rng)), rows.w)
    called = [name or "the quantity" for name in ranks.names]
    columns = [replace(ranks.take([c]), names=(name,)) for c, name in enumerate(called)]
    return [_band_check(f"ranks.{column.names[0]}", column) for column in columns]


def _band_check(name: str, ranks: Ranks, *, conditional: bool = False) -> RankCheck:
    """Return the band test of one column of ranks, whose name says by what they are."""
    test, method = band_test(ranks), "curve of the ranks against its simultaneous band; exact"
    label = f"ranks by {ranks.names[0]}"
    return RankCheck(name, label, ranks, float(test.gamma[0]), float(test.pvalue[0]), method, conditional)


def _check(ranking: RankEntry[Any], by: str, rows: DistributionRows, setting: Setting, **options: Any) -> RankCheck:
    found = ranking.rank(rows, ranking.parse({"rng": setting.rng, **options}))
    name = f"{ranking.name}.{options['method']}" if "method" in options else ranking.name
    ranks = Ranks.of_ranked(found._replace(names=(by,)), rows.w)
    return _band_check(name, ranks, conditional="covariates" in options)


def conditional_checks(rows: DistributionRows, setting: Setting) -> tuple[list[RankCheck], list[str]]:
    """Return the check of distances to a fit on the covariates, or why there is none."""
    x = setting.covariates
    if x is None or not cast(Samples, rows.distribution).finite:
        return [], []
    numbers = x.pooled.numbers  # without a column if all of them are texts of one category
    if not numbers.shape[1]:
        return [], []
    try:
        return [_check(TARP_RANKS, FITTED, rows, setting, covariates=numbers)], []
    except NotApplicableError as reason:
        return [], [f"tarp_ranks does not apply: {reason}."]


def ranks_of_checks(checks: list[RankCheck]) -> Ranks | None:
    parts = [check.ranks for check in checks if check.ranks is not None]
    if not parts:
        return None

    def beside(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)

    names = tuple(part.names[0] for part in parts)
    tables = (beside("counts"), beside("weight"), beside("weight2"))
    return Ranks(*tables, names, False, beside("tied"), parts[0].cells, all(part.outward for part in parts))


def sample_groups(groups: Sequence[Ranks], setting: Setting) -> Grouped:
    """Return the band test of each group and coordinate, adjusted over all of them and all families, worst first."""
    parts = [pair for ranks in groups for pair in zip(map(str, ranks.labels), ranks.groups, strict=True)]
    tested = max(1, sum(ranks.C for _, ranks in parts if ranks.n >= MIN_GROUP_ROWS))
    rate = (1 - setting.level) / (setting.families * tested)
    lines = [line for name, ranks in parts for line in _lines(name, ranks, rate)]
    adjusted = np.minimum(1.0, setting.families * holm(np.array([line["pvalue"] for line in lines])))
    for line, p in zip(lines, adjusted.tolist(), strict=True):
        line["pvalue_adjusted"] = p
    lines.sort(key=lambda line: (np.isnan(line["pvalue"]), line["pvalue"]))
    worst = {line["group"]: line for line in reversed(lines)}  # the worst line of a group describes it
    shown = [name for name in lines[0] if name != "ranks"]
    columns = {name: tuple(None if line[name] != line[name] else line[name] for line in lines) for name in shown}
    if len(set(columns["coordinate"])) == 1:
        del columns["coordinate"]
    table = Table("groups", "Groups", columns, _note("coordinate" in columns, setting.families))
    judged = [line for line in lines if worst[line["group"]] is line and not np.isnan(line["pvalue"])]
    family = Family("groups", tuple(_group_evidence(line, rate) for line in judged), len(judged))
    return Grouped(table, family)


def group_ranks(rows: DistributionRows, grouping: Grouping, setting: Setting) -> Ranks:
    """Count the ranks of each group, ranked alone in the order of their content."""
    setting, parts = replace(setting, covariates=None, log_density_y=None), []
    for g in range(len(grouping.names)):
        group, *_ = in_content_order(rows.take(np.flatnonzero(grouping.code == g)), setting)
        parts.append(Ranks.of_ranked(coordinate_ranks(group, setting), group.w))
    return replace(sum(parts[1:], parts[0]), labels=tuple(grouping.names), groups=tuple(parts))


def _group_evidence(line: dict[str, Any], rate: float) -> Evidence:
    ranks: Ranks = line["ranks"]
    estimate, low, high = (float(size[0]) for size in coverage_errors(ranks, rate, rate / 2))
    subject, p = Subject("group", name=line["group"]), line["pvalue_adjusted"]
    return Evidence(subject, "coverage_error", estimate, low, high, ranks.n, test="uniformity_test", pvalue=p)


def _note(several: bool, families: int) -> str:
    words = "" if families == 1 else f" and for {families} families of tests: all rows, groups"
    return (
        f"The exact band test of the ranks of each group{' and coordinate' if several else ''}. Adjusted p-values "
        f"allow for all of them (Holm){words}. Groups of fewer than {MIN_GROUP_ROWS} rows are not tested. Shift and "
        "spread describe: predictions are too high by shift predictive standard deviations, and their spread needs the "
        "factor spread."
    )


def _lines(group: str, ranks: Ranks, rate: float) -> list[dict[str, Any]]:
    """Return a line per coordinate; its limits, of the error, of shift and of spread, share the rate of its test."""
    pvalues = band_test(ranks).pvalue if ranks.n >= MIN_GROUP_ROWS else np.full(ranks.C, np.nan)
    lines = []
    for c, (name, p) in enumerate(zip(ranks.names, pvalues.tolist(), strict=True)):
        errors = normal_errors(ranks.counts[:, c], 1 - rate / 8)
        line = {"group": group, "coordinate": name, "n": ranks.n, "shift": errors.shift, "spread": errors.spread}
        lines.append({**line, "pvalue": p, "ranks": ranks.take([c])})
    return lines
