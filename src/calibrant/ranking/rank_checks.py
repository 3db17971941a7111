"""The tests of ranks that an audit of draws makes: of coordinates, of the whole, and against covariates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks
from calibrant.core.findings import Grouped, Measurement, Setting, Table, Verdict
from calibrant.core.pvalues import holm
from calibrant.core.words import NAMED, percent, pvalue_words, rows_needed
from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.groups import Grouping
from calibrant.inputs.rows import DistributionRows
from calibrant.inputs.samples import Samples
from calibrant.ranking.counting import marginal_ranks
from calibrant.ranking.covariates import rank_score_test
from calibrant.ranking.effects import band_test
from calibrant.ranking.energy_ranks import ENERGY_RANKS
from calibrant.ranking.explain_words import Explanation
from calibrant.ranking.failures import NONE, UNINFORMATIVE, normal_errors
from calibrant.ranking.joint_ranks import JOINT_RANKS
from calibrant.ranking.summary import Ranks
from calibrant.ranking.tarp_ranks import TARP_RANKS
from calibrant.ranking.uniformity_test import MIN_GROUP_ROWS, uniformity_test
from calibrant.ranking.verbs import RankEntry

MAX_PAIRS = 2_000_000_000  # pairs of draws times coordinates; mean distances beyond that are left out


class RankCheck(NamedTuple):
    """One test of all rows: what is tested, its ranks where it has a set of its own, and what came out."""

    name: str
    label: str
    ranks: Ranks | None
    statistic: float
    pvalue: float
    method: str
    conditional: bool = False  # it uses what was known of each row

    @property
    def measurement(self) -> Measurement:
        """The check as a line of the table."""
        return Measurement(self.name, self.label, self.statistic, pvalue=self.pvalue, method=self.method)


def judged_by_ranks(rows: DistributionRows) -> bool:
    """Tell whether these are draws of rows of one weight; weighted ranks have no exact distribution."""
    w = rows.w
    return isinstance(rows.distribution, Samples) and (is_unit(w) or bool(w.min() == w.max()))


def coordinate_ranks(rows: DistributionRows, setting: Setting) -> Ranks:
    """Return the ranks of each coordinate, by the names the user has for them."""
    found = marginal_ranks(rows, setting.rng)
    if setting.columns and found.rank.ndim == 2:
        found = found._replace(names=setting.columns)
    return Ranks.of_ranked(found, rows.w)


def marginal_check(ranks: Ranks) -> RankCheck:
    """Return the test of all coordinates, by the one that is off most."""
    found = uniformity_test(ranks)
    gamma, p = np.atleast_1d(found.statistic), np.atleast_1d(found.pvalue)
    worst = "" if ranks.C == 1 else f", worst of {ranks.C:,} coordinates"
    label = f"smallest tail γ of the curve of ranks{worst}"
    return RankCheck("uniformity_test", label, ranks, float(gamma.min()), float(p.min()), found.method)


def joint_checks(rows: DistributionRows, setting: Setting) -> tuple[list[RankCheck], list[str]]:
    """Return the checks of vectors as a whole, and what was left out."""
    distribution = cast(Samples, rows.distribution)
    checks, missing = [], []
    D = distribution.shape[0] if distribution.shape else 1
    if setting.log_density_y is not None and distribution.finite:
        checks.append(_check(ENERGY_RANKS, "ranks by density", rows, setting, log_density_y=setting.log_density_y))
    elif distribution.log_densities is not None:
        missing.append("The densities of the draws are not used: pass log_density_y=, that of the outcomes.")
    if D < 2:
        return checks, missing
    if not distribution.finite:
        return checks, [*missing, "Coordinates are not tested together: some draws are infinite."]
    if not checks and rows.n * distribution.M**2 * D <= MAX_PAIRS:
        checks.append(_check(JOINT_RANKS, "ranks by mean distance", rows, setting, method="mean_distance"))
    elif not checks:
        missing.append(
            "Ranks by mean distance are left out: their time grows with the square of the draws. "
            "Pass fewer, such as draws[:, ::10]."
        )
    checks.append(_check(JOINT_RANKS, "ranks by average rank", rows, setting, method="average"))
    return checks, missing


def _check(ranking: RankEntry[Any], label: str, rows: DistributionRows, setting: Setting, **options: Any) -> RankCheck:
    found = ranking.rank(rows, ranking.parse({"rng": setting.rng, **options}))
    ranks = Ranks.of_ranked(found._replace(names=(label.removeprefix("ranks by "),)), rows.w)
    test = band_test(ranks)
    name = f"{ranking.name}.{options['method']}" if "method" in options else ranking.name
    method = "curve of the ranks against its simultaneous band; exact"
    return RankCheck(name, label, ranks, float(test.gamma[0]), float(test.pvalue[0]), method, "covariates" in options)


def conditional_checks(rows: DistributionRows, setting: Setting) -> tuple[list[RankCheck], list[str]]:
    """Return the checks of ranks against covariates, and what did not apply."""
    x = setting.covariates
    if x is None:
        return [], []
    checks, missing = [], []
    try:
        found = rank_score_test(Ranks.of_ranked(marginal_ranks(rows, setting.rng), rows.w, x=x))
        pvalues = np.atleast_1d(found.pvalue)
        statistic, p = float(np.atleast_1d(found.statistic)[pvalues.argmin()]), float(pvalues.min())
        checks.append(RankCheck("rank_score_test", "ranks against covariates", None, statistic, p, found.method, True))
    except NotApplicableError as reason:
        missing.append(f"Ranks are not compared with covariates: {reason}.")
    if cast(Samples, rows.distribution).finite:
        try:
            checks.append(_check(TARP_RANKS, "ranks by distance to a fit", rows, setting, covariates=x))
        except NotApplicableError as reason:
            missing.append(f"tarp_ranks does not apply: {reason}.")
    return checks, missing


def ranks_of_checks(checks: list[RankCheck]) -> Ranks | None:
    """Return the ranks of several checks as columns of one summary."""
    parts = [check.ranks for check in checks if check.ranks is not None]
    if not parts:
        return None

    def beside(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)

    names = tuple(part.names[0] for part in parts)
    tables = (beside("counts"), beside("weight"), beside("weight2"))
    return Ranks(*tables, names, False, beside("tied"), parts[0].cells, all(part.outward for part in parts))


NOTABLE_SPREAD = 1.25  # a spread that is wrong by a quarter
CALM_FAILURES = (NONE, UNINFORMATIVE)


def sample_verdict(
    explained: Explanation,
    marginal: RankCheck,
    joint: list[RankCheck],
    conditional: list[RankCheck],
    setting: Setting,
) -> Verdict:
    """Return the verdict on draws: every check counts, and all of them together keep the level.

    `explained` says what is wrong with each coordinate at the level that this leaves to it.
    """
    checks = [marginal, *joint, *conditional]
    tests = len(checks) * setting.families
    p = min(1.0, tests * min(check.pvalue for check in checks))
    uninformative = _uninformative(explained)
    if p < 1 - setting.level:
        whole, covariates = (
            [check for check in some if tests * check.pvalue < 1 - setting.level] for some in (joint, conditional)
        )
        sentences = _of_coordinates(explained)
        if whole:
            vectors = not isinstance(explained.sentence, str)
            sentences.append(_of_whole(whole, each_is_right=vectors and not sentences))
        if covariates and not sentences:  # other errors make these ranks uneven too
            sentences.append(_of_covariates(covariates))
        title = f"These draws are not calibrated ({pvalue_words(p)})."
        return Verdict("miscalibrated", title, (*sentences, *uninformative))
    visible = explained.smallest_spread
    if visible <= NOTABLE_SPREAD:
        power = (
            f"A spread that is wrong by {percent(visible - 1)} would have been found 4 times in 5 with this many rows. "
            "That is not proof of calibration: smaller errors, and errors that cancel, stay unseen."
        )
        title = f"No evidence of miscalibration in these draws ({pvalue_words(p)})."
        return Verdict("no evidence", title, (*uninformative, power))
    few = f"rows to tell ({explained.n:,}" if explained.M > 1 else "draws to tell (1 per row"
    return Verdict(
        "cannot tell", f"There are too few {few}; {pvalue_words(p)}).", (*uninformative, _low_power(explained))
    )


def _low_power(explained: Explanation) -> str:
    """Say what so few rows could have shown."""
    visible = explained.smallest_spread
    if math.isnan(visible):
        return "One draw per row shows no error of the spread, however many rows there are."
    if visible == math.inf:
        return "No error of the spread would have been found 4 times in 5: collect more rows, or more draws per row."
    needed = rows_needed(explained.n * (math.log(visible) / math.log(NOTABLE_SPREAD)) ** 2)
    return (
        f"Only a spread that is wrong by a factor of {visible:.2g} would have been found 4 times in 5. "
        f"To see {percent(NOTABLE_SPREAD - 1)}, collect about {needed:,} rows."
    )


def _of_coordinates(explained: Explanation) -> list[str]:
    """Return the sentences on coordinates that are off, worst first."""
    if isinstance(explained.sentence, str):
        return [] if explained.failure in CALM_FAILURES else [explained.sentence]
    off = [c for c in range(len(explained.names)) if explained.failure[c] not in CALM_FAILURES]
    off.sort(key=lambda c: float(explained.pvalue[c]))  # type: ignore[index]
    names = [f"Coordinate {name}" if name.isdigit() else name for name in explained.names]
    more = [f"{len(off) - NAMED:,} more coordinates are off; see the table."] if len(off) > NAMED else []
    return [*(f"{names[c]}: {explained.sentence[c]}" for c in off[:NAMED]), *more]


def _of_whole(off: list[RankCheck], *, each_is_right: bool) -> str:
    if each_is_right:
        return f"Each coordinate is right alone; their dependence is wrong ({_listed(off)})."
    return f"The whole is off as well ({_listed(off)}); correct single coordinates first."


def _of_covariates(off: list[RankCheck]) -> str:
    if any(check.ranks is None for check in off):
        return (
            f"What was known of a row predicts where its outcome falls among the draws ({_listed(off)}): it was not "
            "used well."
        )
    return f"Outcomes are not as far from what the covariates predict as the draws are ({_listed(off)})."


def _listed(checks: list[RankCheck]) -> str:
    return " and ".join(f"{check.label}, {pvalue_words(check.pvalue)}" for check in checks)


def _uninformative(explained: Explanation) -> list[str]:
    """Say which coordinates are calibrated and nothing more."""
    if isinstance(explained.sentence, str):
        return [explained.sentence] if explained.failure == UNINFORMATIVE else []
    idle = [name for name, kind in zip(explained.names, explained.failure, strict=True) if kind == UNINFORMATIVE]
    if not idle:
        return []
    listed = ", ".join(idle[:NAMED]) + (f" and {len(idle) - NAMED:,} more" if len(idle) > NAMED else "")
    calm = "Calibrated, but no" if explained.smallest_spread <= NOTABLE_SPREAD else "No"
    return [f"{calm} sharper than the marginal distribution: {listed}."]


SMALL_ERROR = 0.1  # predictive standard deviations, and of the logarithm of a spread: not worth a word


def sample_groups(rows: DistributionRows, groupings: list[Grouping], setting: Setting) -> Grouped:
    """Return the band test of each group and coordinate, adjusted over all of them, worst first."""
    lines: list[dict[str, Any]] = []
    for grouping in groupings:
        for g, name in enumerate(grouping.names):
            part = rows.take(np.flatnonzero(grouping.code == g))
            lines += _lines(name, coordinate_ranks(part, setting), setting.level)
    adjusted = holm(np.array([line["pvalue"] for line in lines]))
    for line, p in zip(lines, adjusted.tolist(), strict=True):
        line["pvalue_adjusted"] = p
    lines.sort(key=lambda line: (np.isnan(line["pvalue"]), line["pvalue"]))
    how = {line["group"]: _how(line) for line in reversed(lines)}  # the worst line of a group describes it
    columns = {name: tuple(None if line[name] != line[name] else line[name] for line in lines) for name in lines[0]}
    if len(set(columns["coordinate"])) == 1:
        del columns["coordinate"]
    note = (
        "The exact band test of the ranks of each group"
        f"{' and coordinate' if 'coordinate' in columns else ''}; p-values are adjusted for all of them (Holm). "
        f"Groups of fewer than {MIN_GROUP_ROWS} rows are not tested."
    )
    return Grouped(Table("groups", "Groups", columns, note), how)


def _lines(group: str, ranks: Ranks, level: float) -> list[dict[str, Any]]:
    pvalues = band_test(ranks).pvalue if ranks.n >= MIN_GROUP_ROWS else np.full(ranks.C, np.nan)
    lines = []
    for name, counts, p in zip(ranks.names, ranks.counts.T, pvalues.tolist(), strict=True):
        errors = normal_errors(counts, level)
        line = {"group": group, "coordinate": name, "n": ranks.n, "shift": errors.shift, "spread": errors.spread}
        lines.append({**line, "pvalue": p})
    return lines


def _how(line: dict[str, Any]) -> str:
    shift, spread = line["shift"], line["spread"]
    words = []
    if abs(shift) > SMALL_ERROR:
        words.append(f"too {'high' if shift > 0 else 'low'} by {abs(shift):.2f} sd")
    if not np.isnan(spread) and abs(np.log(spread)) > SMALL_ERROR:
        words.append(f"spread needs the factor {spread:.2f}")
    where = f"{line['coordinate']}: " if line["coordinate"] else ""
    return where + (", ".join(words) or "ranks uneven")


BLOCK = 1 << 17  # draws whose spectra are taken together
MIN_DRAWS = 4  # fewer draws do not tell a lag of 1 from the unknown mean


def autocorrelation_time(draws: NDArray[Any]) -> FloatArray:
    r"""Return τ of draws (n, M, D) along their second axis for each coordinate, (D,), or (1,) for draws (n, M).

    .. math:: \tau = 1 + 2 \sum_{k \ge 1} \rho_k ,

    the number of successive draws that tell as much as one independent draw. :math:`\rho_k` is the mean over rows of
    the autocorrelation at lag k, and the sum ends before the first pair :math:`\rho_{2t} + \rho_{2t+1}` that is not
    positive (Geyer 1992), at the latest at M/3. What the unknown mean of each row takes away is added again (Wolff
    2004). Rows without spread are left out; 1 where nothing can be told, as with fewer than 4 draws.

    For independent draws the value is 1 on average, with a standard error of about 3/√(nM). If M is less than about
    20τ it is too low: thin the draws by it and look again. Draws that were sorted seem to depend on each other, though
    ranks do not mind.

    Every draw twice, which makes ρ_1 = ½:

    >>> draws = np.random.default_rng(0).normal(size=(2000, 50))
    >>> autocorrelation_time(np.repeat(draws, 2, axis=1)).round(1)
    array([2.])
    """
    columns = draws[:, :, None] if draws.ndim == 2 else draws
    return np.array([_time(columns[:, :, d]) for d in range(columns.shape[2])])


def _time(draws: NDArray[Any]) -> float:
    M = int(draws.shape[1])
    rho = _autocorrelations(draws) if M >= MIN_DRAWS else None
    if rho is None:
        return 1.0
    pairs = rho[: 2 * max(1, M // 6)].reshape(-1, 2).sum(axis=1)
    positive = int(np.argmin(np.append(pairs > 0, False)))
    L = max(1, 2 * positive)  # lags 0 to L - 1 are summed
    width = 2 * L - 1  # on both sides
    total = float(2 * rho[:L].sum() - 1)
    missing = total / (M - width)  # the variance of a row's mean, by which each lag is too low
    return (total + width * missing) / (1 + missing)


def _autocorrelations(draws: NDArray[Any]) -> FloatArray | None:
    """Return the mean over rows of ρ_0, ρ_1, ..; None if no row varies."""
    n, M = draws.shape
    power, rows = np.zeros(M + 1), 0
    for part in chunks(n, max(1, BLOCK // M)):
        x = draws[part].astype(np.float64)
        x = x[x.max(axis=1) > x.min(axis=1)]
        x /= np.abs(x).max(axis=1, keepdims=True)  # squares stay in range
        x -= x.mean(axis=1, keepdims=True)
        size = np.sqrt((x * x).sum(axis=1, keepdims=True))
        x = x[size[:, 0] > 0] / size[size[:, 0] > 0]
        spectrum = np.fft.rfft(x, 2 * M, axis=1)
        power += (spectrum.real**2 + spectrum.imag**2).sum(axis=0)
        rows += len(x)
    if rows == 0:
        return None
    sums = np.fft.irfft(power, 2 * M)[:M] / rows
    return np.asarray(sums * M / (M - np.arange(M)))  # as many products at every lag
