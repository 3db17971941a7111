"""The parts of a mean CRPS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs import check_choice
from calibrant.inputs.laws import Law, Samples
from calibrant.inputs.levels import read_levels
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.metrics.crps import law_crps
from calibrant.metrics.decompose_quantiles import level_parts
from calibrant.primitives.isotonic_quantile import ranked
from calibrant.results.records import CrpsDecomposition
from calibrant.summaries import KeptLaws

LEVELS = 99


def decompose_crps(summary: KeptLaws, *, method: str, levels: Any) -> CrpsDecomposition:
    """Split the CRPS of draws or laws; see `decompose`."""
    check_choice("method", method, "isotonic", "hersbach")
    rows = summary.rows
    law = rows.law
    if law.shape:
        raise InputError(
            f"decompose splits the CRPS of numbers; the outcomes are vectors of {law.shape[0]} coordinates. "
            "Pass one coordinate, such as Samples(draws[:, :, 0])"
        )
    if isinstance(law, Samples):
        if levels is not None:
            raise InputError("levels= is for laws; draws are their own quantiles. Leave it out for Samples")
        if method == "hersbach":
            return hersbach(rows, law)
        return _isotonic(rows, _order_statistics(law))
    if method == "hersbach":
        raise InputError(f'method="hersbach" is for Samples; got {type(law).__name__}. Use method="isotonic"')
    score = law_crps(law, rows.y)
    mean = float((rows.w * score).sum() / rows.w.sum())
    found = _isotonic(rows, _read_at(law, levels))
    return CrpsDecomposition(mean, found.mcb, found.dsc, found.unc, mean - found.score)


def _isotonic(rows: LawRows, quantiles: Iterator[tuple[float, FloatArray]]) -> CrpsDecomposition:
    """Return twice the mean parts of the quantile scores."""
    outcomes = ranked(rows.y)
    parts = [level_parts(outcomes, q, rows.w, level) for level, q in quantiles]
    return CrpsDecomposition(*(2 * np.mean(parts, axis=0)).tolist())


def _order_statistics(law: Samples) -> Iterator[tuple[float, FloatArray]]:
    ordered = np.sort(law.draws, axis=1)
    for m in range(law.M):
        yield (m + 0.5) / law.M, ordered[:, m]


def _read_at(law: Law, levels: Any) -> Iterator[tuple[float, FloatArray]]:
    """Yield the quantiles of one level after the other, so that memory does not grow with their number."""
    found = (np.arange(LEVELS) + 0.5) / LEVELS if levels is None else read_levels(levels, "levels")[0]
    for level in found.tolist():
        yield level, law.ppf(np.full(law.n, level))


def hersbach(rows: LawRows, law: Samples) -> CrpsDecomposition:
    r"""Return the decomposition of Hersbach (2000) into reliability, resolution and uncertainty.

    The ordered draws cut the line into bins 0..M. With the mean lengths :math:`\bar\alpha_i` of bin i below the outcome
    and :math:`\bar\beta_i` above it, :math:`g_i = \bar\alpha_i + \bar\beta_i` and :math:`o_i = \bar\beta_i / g_i`, the
    reliability is :math:`\sum g_i (o_i - i/M)^2` and the potential score :math:`\sum g_i o_i (1 - o_i)`. In the outer
    bins o is the share of outcomes below the first, and below the last, draw.
    """
    if rows.w.min() != rows.w.max():
        raise InputError('method="hersbach" takes no weights; leave them out or use method="isotonic"')
    x, y, M = np.sort(law.draws, axis=1), rows.y, law.M
    below, above = np.zeros((2, M + 1))
    for i in range(1, M):
        left, right = x[:, i - 1], x[:, i]
        at = np.clip(y, left, right)
        below[i], above[i] = (at - left).mean(), (right - at).mean()
    above[0], below[M] = np.maximum(x[:, 0] - y, 0).mean(), np.maximum(y - x[:, -1], 0).mean()
    g = below + above
    o = np.divide(above, g, out=np.zeros(M + 1), where=g > 0)
    o[0], o[M] = (y < x[:, 0]).mean(), (y < x[:, -1]).mean()
    g[0] = above[0] / o[0] if o[0] > 0 else 0.0
    g[M] = below[M] / (1 - o[M]) if o[M] < 1 else 0.0
    reliability = float((g * (o - np.arange(M + 1) / M) ** 2).sum())
    potential = float((g * o * (1 - o)).sum())
    uncertainty = _uncertainty(y)
    return CrpsDecomposition(reliability + potential, reliability, uncertainty - potential, uncertainty)


def _uncertainty(y: FloatArray) -> float:
    """Return Σ_ij |y_i - y_j| / 2n², the CRPS of the outcomes' own law."""
    n = y.size
    z = np.sort(y - y.mean())
    return float(((2 * np.arange(1, n + 1) - n - 1) * z).sum() / n**2)
