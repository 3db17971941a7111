"""The laws that draws of a predictive law obey."""

from __future__ import annotations

import numpy as np

from calibrant.inputs.arrays import FloatArray
from calibrant.testing.asked import LEVELS, Asked, first, place

CHANCE = 1e-9  # with which right draws fail, all rows together
CORRELATED = 7.0  # standard deviations of a correlation that chance does not reach


def check_draws(law: Asked, M: int, seed: int) -> None:
    """Assert that draws have their shape, repeat themselves, follow the law and are independent from row to row."""
    draws = _drawn(law, M, seed)
    if law.law.shape:
        return
    bound = float(np.sqrt(np.log(2 * law.n / CHANCE) / (2 * M)))  # Massart (1990)
    cdf = law.cdf
    if cdf is not None:
        _check_cdf(law, np.sort(draws, axis=1), cdf(np.sort(draws, axis=1)), bound)
        _check_independent(law, cdf(draws))
        return
    x = law.quantiles(np.broadcast_to(LEVELS, (law.n, LEVELS.size)))
    if x is not None:
        _check_quantiles(law, np.sort(draws, axis=1), x, bound)


def _drawn(law: Asked, M: int, seed: int) -> FloatArray:
    try:
        found, again = (np.asarray(law.law.sample(M, np.random.default_rng(seed))) for _ in range(2))
    except Exception as problem:
        raise AssertionError(f"{law.name}: sample fails ({type(problem).__name__}: {problem})") from problem
    expected = (law.n, M, *law.law.shape)
    assert found.shape == expected, f"{law.name}: sample({M}, rng) must have shape {expected}; got {found.shape}"
    assert found.dtype.kind in "fiu", f"{law.name}: sample must return real numbers; got {found.dtype}"
    assert not np.isnan(found).any(), f"{law.name}: sample must not draw NaN"
    assert np.array_equal(found, again), f"{law.name}: sample must draw with its rng alone, so that it repeats itself"
    return found.astype(np.float64)


def _check_cdf(law: Asked, draws: FloatArray, cdf: FloatArray, bound: float) -> None:
    """Assert that the shares of sorted draws are the law's, within the bound."""
    for i, (x, F) in enumerate(zip(draws, cdf, strict=True)):
        share = np.searchsorted(x, x, side="right") / x.size  # ties together
        k = int(np.argmax(np.abs(share - F)))
        assert abs(share[k] - F[k]) <= bound, (
            f"{law.name}: draws must follow the cdf; of {x.size:,} draws of row {i} a share of {share[k]:.4g} is at "
            f"most {x[k]:.6g}, where the cdf is {F[k]:.4g} (by chance they differ by {bound:.2g} at most)"
        )


def _check_quantiles(law: Asked, draws: FloatArray, x: FloatArray, bound: float) -> None:
    """Assert that as many sorted draws lie up to quantiles as their levels say, within the bound."""
    share, below = (
        np.array([np.searchsorted(row, at, side) for row, at in zip(draws, x, strict=True)]) / draws.shape[1]
        for side in ("right", "left")
    )
    bad = (share < LEVELS - bound) | (below > LEVELS + bound)
    at = first(bad)
    assert not bad.any(), (
        f"{law.name}: draws must follow the quantiles; {place(bad, x)}, of level {LEVELS[at[1]]:g}: a share of "
        f"{share[at]:.4g} is at most there (by chance they differ by {bound:.2g} at most)"
    )


def _check_independent(law: Asked, u: FloatArray) -> None:
    """Assert that draws of different rows are not correlated, seen by their values of the cdf."""
    rows = np.flatnonzero(u.std(axis=1) > 0)
    if rows.size < 2:
        return
    centred = u[rows] - u[rows].mean(axis=1, keepdims=True)
    z = centred / centred.std(axis=1, keepdims=True)
    r = z @ z.T / u.shape[1] - np.eye(rows.size)
    i, j = first(np.abs(r) == np.abs(r).max())
    assert abs(r[i, j]) <= CORRELATED / np.sqrt(u.shape[1]), (
        f"{law.name}: draws of different rows must be independent; those of rows {rows[i]} and {rows[j]} have the "
        f"correlation {r[i, j]:.3g}"
    )
