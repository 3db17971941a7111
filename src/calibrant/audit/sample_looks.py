"""Which ranks an audit of draws looks at: those of each coordinate, of the whole, and against what was known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.audit.sections import Setting
from calibrant.catalogue.rank_verbs import RANKINGS, RankVerb
from calibrant.errors import NotApplicableError
from calibrant.inference.rank_band import band_test
from calibrant.inference.uniformity_test import uniformity_test
from calibrant.inputs.laws import Samples
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import is_unit
from calibrant.metrics.energy_ranks import energy_ranks
from calibrant.metrics.joint_ranks import joint_ranks
from calibrant.metrics.tarp_ranks import tarp_ranks
from calibrant.primitives.marginal_ranks import marginal_ranks
from calibrant.results import Measurement, TestResult
from calibrant.summaries.rank_covariates import RankCovariates
from calibrant.summaries.ranks import Ranks

COMPARED = 2_000_000_000  # pairs of draws times coordinates; mean distances beyond that are left out


class Look(NamedTuple):
    """One look at all rows: its ranks, if it has some of its own, and its test."""

    name: str
    label: str
    ranks: Ranks | None
    statistic: float
    pvalue: float
    method: str
    conditional: bool = False  # it uses what was known of each row

    @property
    def measurement(self) -> Measurement:
        """The look as a line of the table."""
        return Measurement(self.name, self.label, self.statistic, pvalue=self.pvalue, method=self.method)


def judged_by_ranks(rows: LawRows) -> bool:
    """Tell whether these are draws of rows of one weight; weighted ranks have no exact law."""
    w = rows.w
    return isinstance(rows.law, Samples) and (is_unit(w) or bool(w.min() == w.max()))


def coordinate_ranks(rows: LawRows, setting: Setting) -> Ranks:
    """Return the ranks of each coordinate, by the names the user has for them."""
    found = marginal_ranks(rows, setting.rng)
    if setting.columns and found.rank.ndim == 2:
        found = found._replace(names=setting.columns)
    return Ranks.of_ranked(found, rows.w)


def marginal_look(ranks: Ranks) -> Look:
    """Return the test of all coordinates, by the one that is off most."""
    found = uniformity_test(ranks)
    gamma, p = np.atleast_1d(found.statistic), np.atleast_1d(found.pvalue)
    worst = "" if ranks.C == 1 else f", worst of {ranks.C:,} coordinates"
    label = f"smallest tail γ of the curve of ranks{worst}"
    return Look("uniformity_test", label, ranks, float(gamma.min()), float(p.min()), found.method)


def joint_looks(rows: LawRows, setting: Setting) -> tuple[list[Look], list[str]]:
    """Return the looks at vectors as a whole, and what was left out."""
    law = rows.law
    if not isinstance(law, Samples):
        return [], []
    looks, missing = [], []
    D = law.shape[0] if law.shape else 1
    if setting.log_density_y is not None and law.finite:
        looks.append(_look(energy_ranks, "ranks by density", rows, setting, log_density_y=setting.log_density_y))
    elif law.log_densities is not None:
        missing.append("The densities of the draws are not used: pass log_density_y=, that of the outcomes.")
    if D < 2:
        return looks, missing
    if not law.finite:
        return looks, [*missing, "Coordinates are not judged together: some draws are infinite."]
    if not looks and rows.n * law.M**2 * D <= COMPARED:
        looks.append(_look(joint_ranks, "ranks by mean distance", rows, setting, method="mean_distance"))
    elif not looks:
        missing.append(
            "Ranks by mean distance are left out: their time grows with the square of the draws. "
            "Pass fewer, such as draws[:, ::10]."
        )
    looks.append(_look(joint_ranks, "ranks by average rank", rows, setting, method="average"))
    return looks, missing


def _look(verb: RankVerb, label: str, rows: LawRows, setting: Setting, **options: Any) -> Look:
    ranking = RANKINGS[verb.__name__]
    found = ranking.rank(rows, rng=setting.rng, **options)
    ranks = Ranks.of_ranked(found._replace(names=(label.removeprefix("ranks by "),)), rows.w)
    test = band_test(ranks)
    name = f"{ranking.name}.{options['method']}" if "method" in options else ranking.name
    method = "curve of the ranks against its simultaneous band; exact"
    return Look(name, label, ranks, float(test.gamma[0]), float(test.pvalue[0]), method, "covariates" in options)


def conditional_looks(rows: LawRows, setting: Setting) -> tuple[list[Look], list[str]]:
    """Return the looks at ranks against covariates, and what did not apply."""
    x = setting.covariates
    if x is None:
        return [], []
    looks, missing = [], []
    try:
        found: TestResult = uniformity_test(
            RankCovariates.of_ranked(marginal_ranks(rows, setting.rng), rows.w, x), covariates=x
        )
        pvalues = np.atleast_1d(found.pvalue)
        statistic, p = float(np.atleast_1d(found.statistic)[pvalues.argmin()]), float(pvalues.min())
        looks.append(Look("uniformity_test.score", "ranks against covariates", None, statistic, p, found.method, True))
    except NotApplicableError as reason:
        missing.append(f"Ranks are not compared with covariates: {reason}.")
    if isinstance(rows.law, Samples) and rows.law.finite:
        try:
            looks.append(_look(tarp_ranks, "ranks by distance to a fit", rows, setting, covariates=x))
        except NotApplicableError as reason:
            missing.append(f"tarp_ranks does not apply: {reason}.")
    return looks, missing


def together(looks: list[Look]) -> Ranks | None:
    """Return the ranks of several looks as columns of one summary."""
    parts = [look.ranks for look in looks if look.ranks is not None]
    if not parts:
        return None

    def beside(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts], axis=-1)

    names = tuple(part.names[0] for part in parts)
    tables = (beside("counts"), beside("weight"), beside("weight2"))
    return Ranks(*tables, names, False, beside("tied"), parts[0].cells, all(part.outward for part in parts))
