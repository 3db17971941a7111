"""Whether the methods of a predictive distribution agree with each other, row by row: `check_distribution`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.mixture import first_double

Side = Literal["left", "right"]
ROWS = 12  # number of rows that are checked
OF_REALS = ("cdf", "sf", "ppf", "isf")
METHODS = (*OF_REALS, "log_density")
LEVELS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
FINE_LEVELS = np.concatenate([np.linspace(a, b, 16, endpoint=False) for a, b in pairwise(LEVELS)])
FARTHEST = 1e290  # quantile that is looked for
TAIL = np.array([1e-6, 1e-12, 1e-18])  # at the last 1 - cdf has no digits left
TOLERANCE = 1e-6  # difference allowed between probabilities that must be equal
INTEGRAL_TOLERANCE = 2e-3  # difference allowed between an integrated density and the cdf
FALSE_ALARM = 1e-9  # probability that correct draws fail, all rows together
MAX_CORRELATION = 7.0  # standard deviations of the correlation of independent draws
COLUMN_HINT = "With points of shape (n, k) a number per row is needed as a column, parameter[:, None]"


def check_distribution(distribution: Distribution, *, draws: int = 10_000, seed: int = 0) -> None:
    """Assert that the methods of a predictive distribution agree, as far as it defines them.

    `cdf` lies between 0 and 1 and does not decrease, `sf` is 1 - `cdf`, `ppf` and `isf` are their inverses (the
    smallest x that reaches a level, so atoms are allowed), `sf` and `isf` are accurate in the upper tail, the density
    integrates to the `cdf`, draws follow it and are independent, `take` selects rows, and points of shape ``()``,
    ``(n,)`` and ``(n, k)`` get answers of the same shape.

    Parameters
    ----------
    distribution
        At least two rows, which should differ; at most 12 of them are checked. Methods that raise
        `NotApplicableError`, as those of `Distribution` do, count as not defined and are not checked.
    draws
        Number of draws of a row that are compared with `cdf` or `ppf`, by the bound of Dvoretzky, Kiefer, Wolfowitz
        and Massart: correct draws fail with probability 1e-9.
    seed
        Seed of the draws.

    Raises
    ------
    AssertionError
        If two methods disagree; the message names the row and the point.

    Examples
    --------
    >>> from calibrant import Normal
    >>> check_distribution(Normal([0.0, 5.0], 2.0))

    A distribution whose survival function is wrong:

    >>> class Wrong(Normal):
    ...     def sf(self, x):
    ...         return super().sf(x) ** 2
    >>> check_distribution(Wrong([0.0, 5.0], 2.0))
    Traceback (most recent call last):
    AssertionError: Wrong: cdf + sf must be 1; row 0 at x = -6.18046: 0.001 + 0.998001
    """
    right = isinstance(distribution, Distribution)
    assert right, f"expected a distribution, such as Normal([0.0, 5.0], 2.0); got {shown(distribution)}"
    _check_size(distribution)
    rows = np.unique(np.linspace(0, distribution.n - 1, min(distribution.n, ROWS)).astype(np.intp))
    few = Probe.of(_taken(distribution, rows))
    assert few.defined, f"{few.name} defines none of {', '.join(METHODS)} and sample; define what is to be used"
    for method in METHODS:
        if few.has(method):
            _check_shapes(few, method, few.of_rows(method))
    _check_take(few)
    _check_taken(Probe(distribution, few.defined), few, rows)
    if not distribution.shape:
        _check_one_distribution(few)
    if few.has("sample"):
        _check_draws(few, draws, seed)


def _check_size(distribution: Distribution) -> None:
    name, n, shape = type(distribution).__name__, distribution.n, distribution.shape
    assert isinstance(n, (int, np.integer)), f"{name}: n must be a whole number; got {shown(n)}"
    assert n >= 2, f"{name}: pass at least two rows, so that rows differ from points; got {n}"
    right = isinstance(shape, tuple) and len(shape) <= 1
    assert right, f"{name}: shape must be () for real outcomes or (D,) for vectors; got {shown(shape)}"


def _check_shapes(probe: Probe, method: str, x: FloatArray) -> None:
    """Assert that points (n, k), (n, n), (n,) and () are answered alike."""
    found, n, middle = probe(method, x), probe.n, x.shape[1] // 2
    for k in (0, middle):
        _check_same(probe, method, probe(method, x[:, k]), found[:, k], "points (n,) as of (n, k)", f". {COLUMN_HINT}")
    square = probe(method, np.repeat(x[:, :1], n, axis=1))  # nothing fails if rows are taken for points
    _check_same(probe, method, square, np.repeat(found[:, :1], n, axis=1), "points (n, n)", f". {COLUMN_HINT}")
    if not probe.distribution.shape:
        one = float(x[0, middle])
        _check_same(probe, method, probe(method, one), probe(method, np.full(n, one)), "a number, as of n alike,")


def _check_take(probe: Probe) -> None:
    """Assert that rows that are taken, by numbers, a mask or a slice, are those rows."""
    every, shape = np.arange(probe.n), probe.distribution.shape
    for chosen in (every[::-1], np.array([1, 1, 1]), every % 2 == 0, slice(1, None), every[:0]):
        taken, n = _taken(probe.distribution, chosen), len(every[chosen])
        assert (taken.n, taken.shape) == (n, shape), (
            f"{probe.name}: take of {n} rows must return a distribution of {n} rows and shape {shape}; got {taken.n} "
            f"rows and shape {taken.shape}"
        )
        if n:
            _check_taken(probe, Probe(taken, probe.defined), every[chosen])


def _taken(distribution: Distribution, rows: Any) -> Distribution:
    taken, name = distribution.take(rows), type(distribution).__name__
    assert isinstance(taken, Distribution), f"{name}: take must return a distribution; got {shown(taken)}"
    return taken


def _check_taken(probe: Probe, taken: Probe, rows: NDArray[Any]) -> None:
    """Assert that rows give the same answers before and after they are taken."""
    for method in METHODS:
        if taken.has(method):
            x = taken.of_rows(method)[:, 5]
            every = np.repeat(x[:1], probe.n, axis=0)
            every[rows] = x
            _check_same(probe, method, taken(method, every[rows]), probe(method, every)[rows], "rows that are taken")


def _check_same(
    probe: Probe, method: str, found: FloatArray, expected: FloatArray, what: str, remedy: str = ""
) -> None:
    bad = ~np.isclose(found, expected, rtol=1e-9, atol=1e-12)
    must = f"{method} of {what} must give each row its own answer"
    probe.refuse(bad, must, lambda at: f"has {found[at]:.6g}, not {expected[at]:.6g}{remedy}")


@dataclass(frozen=True, eq=False)
class Probe:
    """A distribution and the methods that it defines; answers of a wrong shape or type are refused."""

    distribution: Distribution
    defined: frozenset[str]

    @classmethod
    def of(cls, distribution: Distribution) -> Probe:
        """Find out which methods are defined: those that do not raise `NotApplicableError`."""
        methods = ("log_density", "sample") if distribution.shape else (*METHODS, "sample")
        return cls(distribution, frozenset(method for method in methods if _answers(distribution, method)))

    @property
    def name(self) -> str:
        return type(self.distribution).__name__

    @property
    def n(self) -> int:
        return self.distribution.n

    def has(self, *methods: str) -> bool:
        return self.defined.issuperset(methods)

    def refuse(self, bad: NDArray[np.bool_], must: str, words: Callable[[tuple[int, ...]], str]) -> None:
        """Raise an error that names the first row in which something is wrong; `words` says what is found there."""
        if bad.any():
            at = tuple(int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape))
            raise AssertionError(f"{self.name}: {must}; row {at[0]} {words(at)}")

    def __call__(self, method: str, x: Any) -> FloatArray:
        """Return one real number, not NaN, for each point."""
        given = np.array(x, dtype=np.float64)
        points = given.shape[: given.ndim - len(self.distribution.shape)] or (self.n,)
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(getattr(self.distribution, method)(given.copy()))
        except Exception as problem:
            raise AssertionError(
                f"{self.name}: {method} fails for shape {given.shape} ({type(problem).__name__}: {problem}). "
                f"{COLUMN_HINT}"
            ) from problem
        assert found.shape == points, (
            f"{self.name}: {method} must answer shape {given.shape} with shape {points}; got {found.shape}. "
            f"{COLUMN_HINT}"
        )
        assert found.dtype.kind in "fiu", f"{self.name}: {method} must return real numbers; got {found.dtype}"
        must = f"{method} must not be NaN"
        self.refuse(np.isnan(found), must, lambda at: f"at {shown(given[at] if given.ndim else given)}")
        return found.astype(np.float64)

    def of_rows(self, method: str) -> FloatArray:
        """Return questions that fit a method, (n, k): levels for quantiles, else points where a row has its mass."""
        levels = self.each_row(LEVELS)
        if method in ("ppf", "isf"):
            return levels
        if self.distribution.shape:
            return np.random.default_rng(0).normal(size=(*levels.shape, *self.distribution.shape))
        found = self.quantiles(levels)
        return self.each_row(np.linspace(-2, 2, LEVELS.size)) if found is None else found

    def each_row(self, points: FloatArray) -> FloatArray:
        return np.broadcast_to(points, (self.n, points.size))

    def tail(self, method: str) -> Callable[[FloatArray], FloatArray] | None:
        """Return `cdf` or `sf`, found from the other one if it is not defined; None without both."""
        if self.has(method):
            return partial(self, method)
        other = "sf" if method == "cdf" else "cdf"
        return (lambda x: np.asarray(1 - self(other, x))) if self.has(other) else None

    def quantiles(self, levels: FloatArray) -> FloatArray | None:
        """Return quantiles, from `ppf`, `isf` or the distribution function; None without them."""
        if self.has("ppf"):
            return self("ppf", levels)
        if self.has("isf"):
            return self("isf", 1 - levels)
        cdf = self.tail("cdf")
        if cdf is None:
            return None
        low, high = np.full(levels.shape, -FARTHEST), np.full(levels.shape, FARTHEST)
        return first_double(low, high, lambda x: cdf(x) >= levels)


def _answers(distribution: Distribution, method: str) -> bool:
    try:
        with np.errstate(all="ignore"):
            if method == "sample":
                distribution.sample(1, np.random.default_rng(0))
            else:
                getattr(distribution, method)(np.full((distribution.n, *distribution.shape), 0.5))
    except NotApplicableError:
        return False
    except Exception:  # the check of this method reports it
        return True
    return True


def _check_one_distribution(probe: Probe) -> None:
    """Assert that cdf, sf, ppf, isf and the density belong to the same distribution of real outcomes."""
    points = probe.of_rows("cdf")
    x = np.sort(np.concatenate([points, points[:, 1:] / 2 + points[:, :-1] / 2], axis=1), axis=1)
    for method in OF_REALS:
        if probe.has(method):
            _check_monotone(probe, method, probe.each_row(LEVELS) if method in ("ppf", "isf") else x)
    for method, low, high in (("cdf", 0.0, 1.0), ("sf", 1.0, 0.0)):
        if probe.has(method):
            _check_range(probe, method, x, low, high)
    if probe.has("cdf", "sf"):
        cdf, sf = probe("cdf", x), probe("sf", x)
        bad = np.abs(cdf + sf - 1) > TOLERANCE
        probe.refuse(bad, "cdf + sf must be 1", lambda at: f"at x = {x[at]:.6g}: {cdf[at]:.6g} + {sf[at]:.6g}")
    _check_inverses(probe)
    if probe.has("log_density"):
        _check_density(probe)


def _check_monotone(probe: Probe, method: str, x: FloatArray) -> None:
    found = probe(method, x)
    sign, word = (1, "decrease") if method in ("cdf", "ppf") else (-1, "increase")
    before, after = found[:, :-1], found[:, 1:]
    rounding = 1e-9 * np.maximum(np.abs(after), np.abs(before))
    bad = sign * after < sign * before - np.where(np.isfinite(rounding), rounding, 0.0)
    probe.refuse(
        bad,
        f"{method} must not {word}",
        lambda at: f"has {before[at]:.6g} at {x[at]:.6g} and {after[at]:.6g} at {x[at[0], at[1] + 1]:.6g}",
    )


def _check_range(probe: Probe, method: str, x: FloatArray, low: float, high: float) -> None:
    """Assert that probabilities lie in [0, 1], and go from one end to the other."""
    found = probe(method, x)
    bad = ~((found >= 0) & (found <= 1))
    probe.refuse(bad, f"{method} must lie in [0, 1]", lambda at: f"at x = {x[at]:.6g}: {found[at]:.6g}")
    ends = probe.each_row(np.array([-1e300, 1e300]))
    far = probe(method, ends)
    bad = np.abs(far - [low, high]) > 1e-3
    must = f"{method} must go from {low:g} to {high:g}"
    probe.refuse(bad, must, lambda at: f"has {far[at]:.6g} at x = {ends[at]:g}")


def _check_inverses(probe: Probe) -> None:
    """Assert that a quantile is the smallest x that reaches its level."""
    known = probe.tail("cdf") is not None
    if probe.has("ppf") and known:
        _check_reached(probe, "ppf", "the smallest x with cdf(x) >= q", LEVELS, TOLERANCE)
    if probe.has("isf") and known:
        _check_reached(probe, "isf", "the smallest x with sf(x) <= q", LEVELS, TOLERANCE)
    if probe.has("ppf", "isf") and not known:
        ppf, isf = (probe(method, np.full(probe.n, 0.5)) for method in ("ppf", "isf"))
        bad = ~np.isclose(ppf, isf)
        probe.refuse(bad, "ppf and isf must agree at 0.5", lambda at: f"has {ppf[at]:g} and {isf[at]:g}")
    if probe.has("sf", "isf"):
        must = "accurate in the upper tail, as sf, where 1 - cdf and ppf(1 - q) have no digits left"
        _check_reached(probe, "isf", must, TAIL, 0.01 * TAIL)


def _check_reached(probe: Probe, method: str, must: str, levels: FloatArray, tolerance: float | FloatArray) -> None:
    """Assert that the probability has reached its level at the quantile, and has not just before."""
    name, sign = ("cdf", 1) if method == "ppf" else ("sf", -1)
    probability = probe.tail(name)
    assert probability is not None
    q = probe.each_row(levels)
    found = probe(method, q)
    x = np.where(np.isfinite(found), found, 0.0)
    step = TOLERANCE * np.maximum(np.ptp(x, axis=1, keepdims=True), np.abs(x))
    bad = ~np.isfinite(found) | (sign * (probability(x + step) - q) < -tolerance)
    bad |= sign * (probability(x - step) - q) > tolerance
    there = probability(x)

    def words(at: tuple[int, ...]) -> str:
        reached = f", where {name} is {there[at]:.6g}" if np.isfinite(found[at]) else ""
        return f"at q = {q[at]:g} has {found[at]:.6g}{reached}"

    probe.refuse(bad, f"{method}(q) must be {must}", words)


def _check_density(probe: Probe) -> None:
    """Assert that the density between quantiles adds up to the probability between them."""
    levels = probe.each_row(FINE_LEVELS)
    edges, cdf = probe.quantiles(levels), probe.tail("cdf")
    if edges is None:
        return
    reached = levels if cdf is None else cdf(edges)
    mass, rough = (_added(probe, edges, nodes) for nodes in (8, 4))
    expected = reached[:, 1:] - reached[:, :1]
    # Near a singular point the rule itself is off, by what it differs from a rougher one.
    bad = ~(np.abs(mass - expected) <= INTEGRAL_TOLERANCE + 8 * np.abs(mass - rough))

    def words(at: tuple[int, ...]) -> str:
        i, k = at[0], int(np.flatnonzero(bad[at[0]])[-1])  # the whole is more telling than the beginning
        return (
            f"from {edges[i, 0]:.6g} to {edges[i, k + 1]:.6g} has {mass[i, k]:.4g}, and the cdf rises by "
            f"{expected[i, k]:.4g}"
        )

    probe.refuse(bad, "exp(log_density) must add up to the cdf", words)


def _added(probe: Probe, edges: FloatArray, nodes: int) -> FloatArray:
    """Return the integral of the density from the first edge to each other one (Gauss and Legendre)."""
    node, weight = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges, axis=1) / 2
    x = (edges[:, :-1] + half)[..., None] + half[..., None] * node  # (n, pieces, nodes)
    log_density = probe("log_density", x.reshape(probe.n, -1)).reshape(x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        pieces = (np.exp(log_density) * weight).sum(axis=2) * half
    return np.asarray(np.cumsum(pieces, axis=1))


def _check_draws(probe: Probe, M: int, seed: int) -> None:
    """Assert that draws have the right shape, are reproducible, follow the cdf and are independent from row to row."""
    draws = _drawn(probe, M, seed)
    if probe.distribution.shape:
        return
    cdf, x = probe.tail("cdf"), np.sort(draws, axis=1)
    if cdf is not None:
        _check_shares(probe, x, x, "cdf", cdf(x), sides=("right", "right"))
        _check_independent(probe, cdf(draws))
        return
    quantiles = probe.quantiles(probe.each_row(LEVELS))
    if quantiles is not None:
        _check_shares(probe, x, quantiles, "quantiles", probe.each_row(LEVELS), sides=("right", "left"))


def _drawn(probe: Probe, M: int, seed: int) -> FloatArray:
    try:
        found, again = (np.asarray(probe.distribution.sample(M, np.random.default_rng(seed))) for _ in range(2))
    except Exception as problem:
        raise AssertionError(f"{probe.name}: sample fails ({type(problem).__name__}: {problem})") from problem
    expected = (probe.n, M, *probe.distribution.shape)
    assert found.shape == expected, f"{probe.name}: sample({M}, rng) must have shape {expected}; got {found.shape}"
    assert found.dtype.kind in "fiu", f"{probe.name}: sample must return real numbers; got {found.dtype}"
    assert not np.isnan(found).any(), f"{probe.name}: sample must not draw NaN"
    assert np.array_equal(found, again), f"{probe.name}: sample must draw with its rng alone, so that it repeats itself"
    return found.astype(np.float64)


def _check_shares(
    probe: Probe, draws: FloatArray, x: FloatArray, what: str, expected: FloatArray, *, sides: tuple[Side, Side]
) -> None:
    """Assert that the share of sorted draws up to x is as expected, within the bound of Massart (1990).

    Draws that equal x count on the right side of it. At a quantile with an atom the share may be larger than its level,
    but not the share of draws on its left side.
    """
    bound = float(np.sqrt(np.log(2 * probe.n / FALSE_ALARM) / (2 * draws.shape[1])))
    share, below = (
        np.array([np.searchsorted(row, at, side) for row, at in zip(draws, x, strict=True)]) / draws.shape[1]
        for side in sides
    )
    probe.refuse(
        (share < expected - bound) | (below > expected + bound),
        f"draws must follow the {what}",
        lambda at: (
            f"has a share of {share[at]:.4g} of its draws up to x = {x[at]:.6g}, where {expected[at]:.4g} is expected "
            f"(by chance they differ by {bound:.2g} at most)"
        ),
    )


def _check_independent(probe: Probe, u: FloatArray) -> None:
    rows = np.flatnonzero(u.std(axis=1) > 0)
    if rows.size < 2:
        return
    r = np.corrcoef(u[rows]) - np.eye(rows.size)
    i, j = np.unravel_index(int(np.argmax(np.abs(r))), r.shape)
    assert abs(r[i, j]) <= MAX_CORRELATION / np.sqrt(u.shape[1]), (
        f"{probe.name}: draws of different rows must be independent; those of rows {rows[i]} and {rows[j]} have the "
        f"correlation {r[i, j]:.3g}"
    )
