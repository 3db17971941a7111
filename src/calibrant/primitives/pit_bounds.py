"""Between which values of its distribution function a prediction puts the outcome."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.judged import CdfRows, QuantileRows
from calibrant.inputs.laws import Law, Mixture, MvNormal, Normal, Samples, ScipyLaw
from calibrant.inputs.outcomes import LawRows
from calibrant.inputs.weights import FloatArray
from calibrant.primitives.rank_counts import rank_counts

Bounds = tuple[FloatArray, FloatArray]


def pit_bounds(rows: LawRows | QuantileRows | CdfRows) -> Bounds:
    """Return the ends of [F(y-), F(y)], each (n,), or (n, D) for outcomes that are vectors.

    They are the same where F has no jump at y. If the predictions are right, a value drawn evenly between them is
    uniform on [0, 1]. Draws give [#{x < y}, #{x <= y} + 1] / (M + 1): the outcome is one more draw. Quantiles give the
    cell of their levels, 0 and 1 added, that holds y.

    >>> from calibrant.inputs.outcomes import read_outcomes
    >>> low, high = pit_bounds(read_outcomes([2.0, 9.0], Samples([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])))
    >>> low, high
    (array([0.25, 0.75]), array([0.75, 1.  ]))
    """
    if isinstance(rows, CdfRows):
        return rows.prediction.below, rows.prediction.at
    if isinstance(rows, QuantileRows):
        return _of_quantiles(rows)
    if isinstance(rows.law, Samples):
        less, equal = rank_counts(rows.y, rows.law.held, rows.dtype)
        return less / (rows.law.M + 1), (less + equal + 1) / (rows.law.M + 1)
    return _of_law(rows.law, rows.y)


def _of_quantiles(rows: QuantileRows) -> Bounds:
    levels = np.concatenate(([0.0], rows.prediction.levels, [1.0]))
    less, at_most = np.zeros((2, rows.n), dtype=np.intp)
    for column in rows.prediction.values.T:
        less += column < rows.y
        at_most += column <= rows.y
    # An outcome equal to a quantile belongs to the cells below it, of all tied quantiles.
    return levels[less], levels[np.where(at_most > less, at_most, at_most + 1)]


def _of_law(law: Law, y: FloatArray) -> Bounds:
    """Return F(y-) and F(y) of the law itself; a law of one's own is taken to have no jumps."""
    if isinstance(law, Samples):
        less, equal = rank_counts(y, law.held, law.held.dtype)
        return less / law.M, (less + equal) / law.M
    if isinstance(law, Mixture):
        parts = [_of_law(component, y) for component in law.components]
        return _mixed(law, [low for low, _ in parts]), _mixed(law, [high for _, high in parts])
    if isinstance(law, MvNormal):
        at = np.stack([_marginal(law, d).cdf(y[:, d]) for d in range(law.shape[0])], axis=1)
        return at, at
    at = law.cdf(y)
    if isinstance(law, ScipyLaw) and not hasattr(law.dist, "logpdf"):  # discrete
        return law.cdf(np.nextafter(y, -np.inf)), at
    return at, at


def _marginal(law: MvNormal, d: int) -> Normal:
    return Normal(law.mean[:, d], np.sqrt(law.cov[:, d, d]))


def _mixed(law: Mixture, parts: list[FloatArray]) -> FloatArray:
    total = np.zeros(parts[0].shape)
    for part, weight in zip(parts, law.weights.T, strict=True):
        total += (weight[:, None] if part.ndim == 2 else weight) * part
    return np.minimum(total, 1.0)  # the weights may add up to 1 and a rounding
