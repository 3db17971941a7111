"""One smooth map for each group, shrunk towards the common map by as much as the groups are alike.

With the logit η of the common map, and z = (η - mean η)/sd η over all rows, group g gets the logit η + α_g + β_g z:
again a map of the same family. Its θ_g = (α_g, β_g) minimises

    Σ_{i in g} w_i ℓ(y_i, η_i + α_g + β_g z_i) + α_g²/2τ_α² + β_g²/2τ_β²,

where ℓ is the log score of a logit. That is the mode if α and β are normal with variances τ² between groups. The
variances come from the rows: they satisfy τ² = Σ_g θ_g² / Σ_g (1 - v_g/τ²), where v_g is the variance of θ_g given the
rows (empirical Bayes; MacKay 1992). If groups differ by no more than chance, τ² falls to 0, and they get the common
map.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError
from calibrant.inputs.arrays import FloatArray, is_unit
from calibrant.inputs.groups import Label
from calibrant.inputs.probabilities import Binary
from calibrant.recalibrating.mean_log_score import CLIP_REMEDY, expit, logit, targets
from calibrant.recalibrating.method import Fit, FitOptions, Method, Parameters
from calibrant.recalibrating.newton import MAX_GRADIENT, NoOptimumError

FIRST_VARIANCE, LARGEST_VARIANCE, NO_VARIANCE = 1.0, 16.0, 1e-6  # in squared logits
VARIANCE_STEPS, SETTLED, STEPS = 50, 1e-6, 200
LARGEST_WEIGHT = 1e9  # of all rows, with which next to nothing is shrunk
LEAST_SPREAD = 1e-9  # of logits


def fit_shrunken(
    rows: Binary, group: NDArray[np.intp], labels: tuple[Label, ...], rule: Method, options: FitOptions
) -> Fit:
    """Fit the common map, and from it the map of each group; a group without rows has the common one."""
    common = rule.fit(rows, options)
    w = np.ones(rows.n) if is_unit(rows.w) else rows.w * min(1.0, LARGEST_WEIGHT / float(rows.w.sum()))
    q = rule.apply(common.parameters, rows.p, options)
    inside = (q > 0) & (q < 1)  # others stay at their ends
    given = GroupedLogits(
        logit(q[inside]), targets(rows.y[inside], w[inside], options), w[inside], group[inside], len(labels)
    )
    moved = given.moved() if len(labels) > 1 else [(0.0, 1.0)]
    ends, said, maps = set(group[~inside].tolist()), list(common.warnings), []
    if len(labels) > 1 and w.sum() < rows.n / 2:
        said.append(f"maps are shrunk as if weights counted rows, and these {rows.n} count as {w.sum():.3g}")
    for g, (label, (intercept, slope)) in enumerate(zip(labels, moved, strict=True)):
        maps.append(_map_of_group(label, rule, common.parameters, intercept, slope, has_ends=g in ends))
        if slope <= 0:
            said.append(f"group {label}: the ranking is inverted, higher scores become lower probabilities")
    return replace(common, parameters={**common.parameters, "groups": tuple(maps)}, warnings=tuple(said))


def _map_of_group(
    label: Label, rule: Method, common: Parameters, intercept: float, slope: float, *, has_ends: bool
) -> Parameters:
    """Return the map of a group; refuse one that falls where it must rise."""
    assert rule.on_logit is not None
    found = rule.on_logit(common, intercept, slope)
    if slope <= 0 and (has_ends or any(found[name] < spec.low for name, spec in rule.parameters.items())):
        raise NotApplicableError(
            f"group {label}: higher scores go with fewer events than lower ones, and its map would fall. "
            f"{CLIP_REMEDY if has_ends else 'Use the method logistic, or leave the group out'}"
        )
    return found


class GroupedLogits(NamedTuple):
    """Rows with the logit of the common map, and the number of each row's group."""

    eta: FloatArray
    target: FloatArray
    w: FloatArray
    group: NDArray[np.intp]
    number: int

    def moved(self) -> list[tuple[float, float]]:
        """Return a and s of each group, whose map has the logit a + s η."""
        mean = float(np.average(self.eta, weights=self.w))
        sd = float(np.sqrt(np.average((self.eta - mean) ** 2, weights=self.w)))
        sd = sd if sd > LEAST_SPREAD else 1.0  # a constant map
        theta = self.shrunken((self.eta - mean) / sd)
        return [(alpha - beta * mean / sd, 1 + beta / sd) for alpha, beta in theta.tolist()]

    def shrunken(self, z: FloatArray) -> FloatArray:
        """Return θ (G, 2): steps of Newton's method for θ, each with a step for the variances until these settle.

        A step Δ is shortened to log(1 + r)/r of it, r = |Δ_α| + |Δ_β| max|z|, with which the objective falls (Bach
        2010).
        """
        theta, variance, is_settled = np.zeros((self.number, 2)), np.full(2, FIRST_VARIANCE), False
        reach, total = float(np.abs(z).max()), float(self.w.sum())
        for step in range(STEPS):
            precision, is_none = 1 / variance, is_settled & (variance <= NO_VARIANCE)
            theta[:, is_none] = 0.0
            gradient, hessian = self._derivatives(theta, z)
            gradient = np.where(is_none, 0.0, gradient + theta * precision)
            if is_settled and np.abs(gradient).max() <= MAX_GRADIENT * total:
                return theta
            coupled = np.eye(2) if is_none.any() else 1.0
            inverse = np.linalg.inv(hessian * coupled + np.diag(precision))
            delta = -np.einsum("gij,gj->gi", inverse, gradient)
            r = np.abs(delta) @ [1.0, reach]
            theta += delta * (np.log1p(r) / np.where(r > 0, r, 1.0))[:, None]
            if not is_settled:
                by_rows = (1 - np.diagonal(inverse, axis1=1, axis2=2) * precision).sum(axis=0)
                found = np.minimum((theta**2).sum(axis=0) / np.maximum(by_rows, NO_VARIANCE), LARGEST_VARIANCE)
                found = np.maximum(found, NO_VARIANCE)
                is_settled = step >= VARIANCE_STEPS or bool((np.abs(found - variance) <= SETTLED * variance).all())
                variance = found
        raise NoOptimumError("the maps of the groups did not converge; pass more rows of each group")

    def _derivatives(self, theta: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradients (G, 2) and the second derivatives (G, 2, 2) of the log scores of all groups."""
        alpha, beta = theta[self.group].T
        q = expit(self.eta + alpha + beta * z)
        residual, spread = self.w * (q - self.target), self.w * q * (1 - q)
        columns = (residual, residual * z, spread, spread * z, spread * z**2)
        a, b, aa, ab, bb = (np.bincount(self.group, each, self.number).astype(np.float64) for each in columns)
        return np.stack([a, b], axis=1), np.stack([aa, ab, ab, bb], axis=1).reshape(-1, 2, 2)
