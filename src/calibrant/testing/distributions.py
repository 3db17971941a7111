"""The laws that cdf, sf, ppf, isf and the density of one distribution obey."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from calibrant.inputs.arrays import FloatArray
from calibrant.testing.asked import LEVELS, OF_REALS, Asked, first, place

CLOSE = 1e-6  # by which probabilities that must be equal may differ
TAIL = np.array([1e-6, 1e-12, 1e-18])  # at the last 1 - cdf has no digits left
FINE = np.concatenate([np.linspace(a, b, 16, endpoint=False) for a, b in pairwise(LEVELS)])
INTEGRAL = 2e-3  # by which a density that is added up may miss the cdf


def check_distribution(law: Asked) -> None:
    """Assert that what a law of real outcomes defines belongs to one distribution."""
    points = law.of_rows("cdf")
    x = np.sort(np.concatenate([points, points[:, 1:] / 2 + points[:, :-1] / 2], axis=1), axis=1)
    for method in OF_REALS:
        if law.has(method):
            _check_monotone(law, method, LEVELS[None].repeat(law.n, 0) if method in ("ppf", "isf") else x)
    for method, low, high in (("cdf", 0.0, 1.0), ("sf", 1.0, 0.0)):
        if law.has(method):
            _check_range(law, method, x, low, high)
    if law.has("cdf", "sf"):
        cdf, sf = law("cdf", x), law("sf", x)
        bad = np.abs(cdf + sf - 1) > CLOSE
        at = first(bad)
        assert not bad.any(), f"{law.name}: cdf + sf must be 1; {place(bad, x)}: {cdf[at]:.6g} + {sf[at]:.6g}"
    _check_inverses(law)
    if law.has("log_density"):
        _check_density(law)


def _check_monotone(law: Asked, method: str, x: FloatArray) -> None:
    found = law(method, x)
    sign, word = (1, "decrease") if method in ("cdf", "ppf") else (-1, "increase")
    rounding = 1e-9 * np.maximum(np.abs(found[:, 1:]), np.abs(found[:, :-1]))
    bad = sign * found[:, 1:] < sign * found[:, :-1] - np.where(np.isfinite(rounding), rounding, 0.0)
    if bad.any():
        i, k = first(bad)
        raise AssertionError(
            f"{law.name}: {method} must not {word}; row {i} has {found[i, k]:.6g} at {x[i, k]:.6g} and "
            f"{found[i, k + 1]:.6g} at {x[i, k + 1]:.6g}"
        )


def _check_range(law: Asked, method: str, x: FloatArray, low: float, high: float) -> None:
    """Assert that probabilities lie in [0, 1], and go from one end to the other."""
    found = law(method, x)
    bad = ~((found >= 0) & (found <= 1))
    assert not bad.any(), f"{law.name}: {method} must lie in [0, 1]; {place(bad, x)}: {found[first(bad)]:.6g}"
    for end, expected in ((-1e300, low), (1e300, high)):
        far = law(method, np.full(law.n, end))
        i = int(np.argmax(np.abs(far - expected)))
        assert abs(far[i] - expected) <= 1e-3, (
            f"{law.name}: {method} must go from {low:g} to {high:g}; row {i} has {far[i]:.6g} at x = {end:g}"
        )


def _check_inverses(law: Asked) -> None:
    """Assert that a quantile is the smallest x that reaches its level."""
    q, cdf = np.broadcast_to(LEVELS, (law.n, LEVELS.size)), law.cdf
    if law.has("ppf") and cdf is not None:
        _check_reached(law, "ppf", "the smallest x with cdf(x) >= q", q, (q - CLOSE, q + CLOSE), cdf)
    if law.has("isf") and cdf is not None:
        _check_reached(law, "isf", "the smallest x with sf(x) <= q", q, (1 - q - CLOSE, 1 - q + CLOSE), cdf)
    if law.has("ppf", "isf") and cdf is None:
        ppf, isf = (law(method, np.full(law.n, 0.5)) for method in ("ppf", "isf"))
        i = int(np.argmax(np.abs(ppf - isf)))
        assert np.isclose(ppf[i], isf[i]), f"{law.name}: ppf and isf must agree at 0.5; row {i}: {ppf[i]:g}, {isf[i]:g}"
    if law.has("sf", "isf"):
        q = np.broadcast_to(TAIL, (law.n, TAIL.size))
        must = "accurate in the upper tail, as sf, where 1 - cdf and ppf(1 - q) have no digits left"
        _check_reached(law, "isf", must, q, (-1.01 * q, -0.99 * q), lambda x: -law("sf", x))


def _check_reached(
    law: Asked,
    method: str,
    must: str,
    q: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    rising: Callable[[FloatArray], FloatArray],
) -> None:
    """Assert that what rises has reached its lower end at x, and not its upper end just before."""
    found = law(method, q)
    finite = np.isfinite(found)
    x = np.where(finite, found, 0.0)
    step = CLOSE * np.maximum(np.ptp(x, axis=1, keepdims=True), np.abs(x))
    bad = ~finite | (rising(x + step) < ends[0]) | (rising(x - step) > ends[1])
    if bad.any():
        at = first(bad)
        there = (
            f", where {'cdf' if method == 'ppf' else 'sf'} is {_value(law, method, x)[at]:.6g}" if finite[at] else ""
        )
        raise AssertionError(
            f"{law.name}: {method}(q) must be {must}; row {at[0]} at q = {q[at]:g} has {found[at]:.6g}{there}"
        )


def _value(law: Asked, method: str, x: FloatArray) -> FloatArray:
    """Return what a quantile should have reached."""
    if method == "isf" and law.has("sf"):
        return law("sf", x)
    assert law.cdf is not None
    return law.cdf(x) if method == "ppf" else np.asarray(1 - law.cdf(x))


def _check_density(law: Asked) -> None:
    """Assert that the density between quantiles adds up to the probability between them."""
    levels = np.broadcast_to(FINE, (law.n, FINE.size))
    edges, cdf = law.quantiles(levels), law.cdf
    if edges is None:
        return
    reached = levels if cdf is None else cdf(edges)
    mass, rough = (_added(law, edges, nodes) for nodes in (8, 4))
    expected = reached[:, 1:] - reached[:, :1]
    # Near a singular point the rule itself is off, by what it differs from a rougher one.
    bad = ~(np.abs(mass - expected) <= INTEGRAL + 8 * np.abs(mass - rough))
    if bad.any():
        i = first(bad)[0]
        k = int(np.flatnonzero(bad[i])[-1])  # the whole is more telling than the beginning
        raise AssertionError(
            f"{law.name}: exp(log_density) must add up to the cdf; row {i} from {edges[i, 0]:.6g} to "
            f"{edges[i, k + 1]:.6g} has {mass[i, k]:.4g}, and the cdf rises by {expected[i, k]:.4g}"
        )


def _added(law: Asked, edges: FloatArray, nodes: int) -> FloatArray:
    """Return the integral of the density from the first edge to each other one (Gauss and Legendre)."""
    node, weight = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges, axis=1) / 2
    x = (edges[:, :-1] + half)[..., None] + half[..., None] * node  # (n, pieces, nodes)
    log_density = law("log_density", x.reshape(law.n, -1)).reshape(x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        pieces = (np.exp(log_density) * weight).sum(axis=2) * half
    return np.asarray(np.cumsum(pieces, axis=1))
