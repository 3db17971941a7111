"""Whether the methods of a predictive distribution agree with each other, row by row: `check_distribution`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution

ROWS = 12  # number of rows that are checked
OF_REALS = ("cdf", "sf", "ppf", "isf")
METHODS = (*OF_REALS, "log_density")
LEVELS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
FINE_LEVELS = np.concatenate([np.linspace(a, b, 16, endpoint=False) for a, b in pairwise(LEVELS)])
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

    Notes
    -----
    Only a few rows and points are checked, so passing is no proof. For distributions of vectors it checks shapes, rows
    and that draws are reproducible, but not whether draws follow the density.

    Examples
    --------
    >>> from calibrant import Distribution, Normal
    >>> check_distribution(Normal([0.0, 5.0], 2.0))

    A distribution whose survival function belongs to twice the rate:

    >>> class WaitingTime(Distribution):
    ...     def __init__(self, rate):
    ...         self.rate = np.asarray(rate, dtype=float)
    ...
    ...     @property
    ...     def n(self):
    ...         return len(self.rate)
    ...
    ...     def take(self, rows):
    ...         return WaitingTime(self.rate[rows])
    ...
    ...     def cdf(self, x):
    ...         return -np.expm1(-self._times(x))
    ...
    ...     def sf(self, x):
    ...         return np.exp(-2 * self._times(x))
    ...
    ...     def _times(self, x):
    ...         rate = self.rate[:, None] if np.ndim(x) > 1 else self.rate
    ...         return rate * np.maximum(x, 0)
    >>> check_distribution(WaitingTime([1.0, 2.0]))
    Traceback (most recent call last):
    AssertionError: WaitingTime: cdf + sf must be 1; row 0 at x = 0.0010005: 0.001 + 0.998001...
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
    found = probe(method, x)
    for k in (0, x.shape[1] // 2):
        _check_same(probe, method, probe(method, x[:, k]), found[:, k], "points (n,) as of (n, k)", f". {COLUMN_HINT}")
    square = np.repeat(x[:, :1], probe.n, axis=1)  # nothing fails if rows are taken for points
    _check_same(
        probe,
        method,
        probe(method, square),
        np.repeat(found[:, :1], probe.n, axis=1),
        "points (n, n)",
        f". {COLUMN_HINT}",
    )
    if not probe.distribution.shape:
        one = float(x[0, x.shape[1] // 2])
        _check_same(probe, method, probe(method, one), probe(method, np.full(probe.n, one)), "a number, as of n alike,")


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
    taken = distribution.take(rows)
    assert isinstance(taken, Distribution), (
        f"{type(distribution).__name__}: take must return a distribution; got {shown(taken)}"
    )
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
    same = np.isclose(found, expected, rtol=1e-9, atol=1e-12)
    if not same.all():
        at = first(~same)
        raise AssertionError(
            f"{probe.name}: {method} of {what} must give each row its own answer; row {at[0]} has {found[at]:.6g}, not "
            f"{expected[at]:.6g}{remedy}"
        )


@dataclass(frozen=True, eq=False)
class Probe:
    """A distribution and the methods that it defines; answers of a wrong shape or type are refused."""

    distribution: Distribution
    defined: frozenset[str]

    @classmethod
    def of(cls, distribution: Distribution) -> Probe:
        """Find out which methods are defined: those that do not raise `NotApplicableError`."""
        middle = np.full(distribution.n, 0.5)
        asks: dict[str, Callable[[], Any]] = {
            "log_density": lambda: distribution.log_density(np.zeros((distribution.n, *distribution.shape))),
            "sample": lambda: distribution.sample(1, np.random.default_rng(0)),
        }
        if not distribution.shape:
            asks |= {"cdf": lambda: distribution.cdf(middle), "sf": lambda: distribution.sf(middle)}
            asks |= {"ppf": lambda: distribution.ppf(middle), "isf": lambda: distribution.isf(middle)}
        return cls(distribution, frozenset(name for name, ask in asks.items() if _answers(ask)))

    @property
    def name(self) -> str:
        """The name of the distribution in messages."""
        return type(self.distribution).__name__

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.distribution.n

    def has(self, *methods: str) -> bool:
        """Tell whether all of these are defined."""
        return self.defined.issuperset(methods)

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
        bad = np.isnan(found)
        assert not bad.any(), f"{self.name}: {method} must not be NaN; {place(bad, given)}"
        return found.astype(np.float64)

    def of_rows(self, method: str) -> FloatArray:
        """Return questions that fit a method, (n, k): levels for quantiles, else points where a row has its mass."""
        levels = np.broadcast_to(LEVELS, (self.n, LEVELS.size))
        if method in ("ppf", "isf"):
            return levels
        if self.distribution.shape:
            return np.random.default_rng(0).normal(size=(*levels.shape, *self.distribution.shape))
        found = self.quantiles(levels)
        return np.broadcast_to(np.linspace(-2, 2, LEVELS.size), levels.shape) if found is None else found

    @property
    def cdf(self) -> Callable[[FloatArray], FloatArray] | None:
        """The distribution function, from `cdf` or `sf`; None without both."""
        if self.has("cdf"):
            return lambda x: self("cdf", x)
        return (lambda x: np.asarray(1 - self("sf", x))) if self.has("sf") else None

    def quantiles(self, levels: FloatArray) -> FloatArray | None:
        """Return quantiles, from `ppf`, `isf` or the distribution function; None without them."""
        if self.has("ppf"):
            return self("ppf", levels)
        if self.has("isf"):
            return self("isf", 1 - levels)
        cdf = self.cdf
        return None if cdf is None else _bisected(lambda x: cdf(x) >= levels, levels.shape)


def first(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return where something is wrong first."""
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(bad)), bad.shape))


def place(bad: NDArray[np.bool_], x: FloatArray, name: str = "x") -> str:
    """Name the first row and point where something is wrong."""
    at = first(bad)
    return f"row {at[0]} at {name} = {x[at]:.6g}" if x.shape == bad.shape else f"row {at[0]}"


def _answers(ask: Callable[[], Any]) -> bool:
    try:
        with np.errstate(all="ignore"):
            ask()
    except NotApplicableError:
        return False
    except Exception:  # what is wrong is said where the method is checked
        return True
    return True


def _bisected(reached: Callable[[FloatArray], NDArray[np.bool_]], shape: tuple[int, ...]) -> FloatArray:
    """Return about the smallest x from -1e290 to 1e290 that reaches something, by halves of sinh's argument."""
    low, high = np.full(shape, -668.0), np.full(shape, 668.0)
    for _ in range(70):
        middle = (low + high) / 2
        there = reached(np.sinh(middle))
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return np.asarray(np.sinh(high))


def _check_one_distribution(probe: Probe) -> None:
    """Assert that cdf, sf, ppf, isf and the density belong to the same distribution of real outcomes."""
    points = probe.of_rows("cdf")
    x = np.sort(np.concatenate([points, points[:, 1:] / 2 + points[:, :-1] / 2], axis=1), axis=1)
    for method in OF_REALS:
        if probe.has(method):
            _check_monotone(probe, method, LEVELS[None].repeat(probe.n, 0) if method in ("ppf", "isf") else x)
    for method, low, high in (("cdf", 0.0, 1.0), ("sf", 1.0, 0.0)):
        if probe.has(method):
            _check_range(probe, method, x, low, high)
    if probe.has("cdf", "sf"):
        cdf, sf = probe("cdf", x), probe("sf", x)
        bad = np.abs(cdf + sf - 1) > TOLERANCE
        at = first(bad)
        assert not bad.any(), f"{probe.name}: cdf + sf must be 1; {place(bad, x)}: {cdf[at]:.6g} + {sf[at]:.6g}"
    _check_inverses(probe)
    if probe.has("log_density"):
        _check_density(probe)


def _check_monotone(probe: Probe, method: str, x: FloatArray) -> None:
    found = probe(method, x)
    sign, word = (1, "decrease") if method in ("cdf", "ppf") else (-1, "increase")
    rounding = 1e-9 * np.maximum(np.abs(found[:, 1:]), np.abs(found[:, :-1]))
    bad = sign * found[:, 1:] < sign * found[:, :-1] - np.where(np.isfinite(rounding), rounding, 0.0)
    if bad.any():
        i, k = first(bad)
        raise AssertionError(
            f"{probe.name}: {method} must not {word}; row {i} has {found[i, k]:.6g} at {x[i, k]:.6g} and "
            f"{found[i, k + 1]:.6g} at {x[i, k + 1]:.6g}"
        )


def _check_range(probe: Probe, method: str, x: FloatArray, low: float, high: float) -> None:
    """Assert that probabilities lie in [0, 1], and go from one end to the other."""
    found = probe(method, x)
    bad = ~((found >= 0) & (found <= 1))
    assert not bad.any(), f"{probe.name}: {method} must lie in [0, 1]; {place(bad, x)}: {found[first(bad)]:.6g}"
    for end, expected in ((-1e300, low), (1e300, high)):
        far = probe(method, np.full(probe.n, end))
        i = int(np.argmax(np.abs(far - expected)))
        assert abs(far[i] - expected) <= 1e-3, (
            f"{probe.name}: {method} must go from {low:g} to {high:g}; row {i} has {far[i]:.6g} at x = {end:g}"
        )


def _check_inverses(probe: Probe) -> None:
    """Assert that a quantile is the smallest x that reaches its level."""
    q, cdf = np.broadcast_to(LEVELS, (probe.n, LEVELS.size)), probe.cdf
    if probe.has("ppf") and cdf is not None:
        _check_reached(probe, "ppf", "the smallest x with cdf(x) >= q", q, (q - TOLERANCE, q + TOLERANCE), cdf)
    if probe.has("isf") and cdf is not None:
        _check_reached(probe, "isf", "the smallest x with sf(x) <= q", q, (1 - q - TOLERANCE, 1 - q + TOLERANCE), cdf)
    if probe.has("ppf", "isf") and cdf is None:
        ppf, isf = (probe(method, np.full(probe.n, 0.5)) for method in ("ppf", "isf"))
        i = int(np.argmax(np.abs(ppf - isf)))
        assert np.isclose(ppf[i], isf[i]), (
            f"{probe.name}: ppf and isf must agree at 0.5; row {i}: {ppf[i]:g}, {isf[i]:g}"
        )
    if probe.has("sf", "isf"):
        q = np.broadcast_to(TAIL, (probe.n, TAIL.size))
        must = "accurate in the upper tail, as sf, where 1 - cdf and ppf(1 - q) have no digits left"
        _check_reached(probe, "isf", must, q, (-1.01 * q, -0.99 * q), lambda x: -probe("sf", x))


def _check_reached(
    probe: Probe,
    method: str,
    must: str,
    q: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    rising: Callable[[FloatArray], FloatArray],
) -> None:
    """Assert that what rises has reached its lower end at x, and not its upper end just before."""
    found = probe(method, q)
    finite = np.isfinite(found)
    x = np.where(finite, found, 0.0)
    step = TOLERANCE * np.maximum(np.ptp(x, axis=1, keepdims=True), np.abs(x))
    bad = ~finite | (rising(x + step) < ends[0]) | (rising(x - step) > ends[1])
    if bad.any():
        at = first(bad)
        there = (
            f", where {'cdf' if method == 'ppf' else 'sf'} is {_value(probe, method, x)[at]:.6g}" if finite[at] else ""
        )
        raise AssertionError(
            f"{probe.name}: {method}(q) must be {must}; row {at[0]} at q = {q[at]:g} has {found[at]:.6g}{there}"
        )


def _value(probe: Probe, method: str, x: FloatArray) -> FloatArray:
    """Return what a quantile should have reached."""
    if method == "isf" and probe.has("sf"):
        return probe("sf", x)
    assert probe.cdf is not None
    return probe.cdf(x) if method == "ppf" else np.asarray(1 - probe.cdf(x))


def _check_density(probe: Probe) -> None:
    """Assert that the density between quantiles adds up to the probability between them."""
    levels = np.broadcast_to(FINE_LEVELS, (probe.n, FINE_LEVELS.size))
    edges, cdf = probe.quantiles(levels), probe.cdf
    if edges is None:
        return
    reached = levels if cdf is None else cdf(edges)
    mass, rough = (_added(probe, edges, nodes) for nodes in (8, 4))
    expected = reached[:, 1:] - reached[:, :1]
    # Near a singular point the rule itself is off, by what it differs from a rougher one.
    bad = ~(np.abs(mass - expected) <= INTEGRAL_TOLERANCE + 8 * np.abs(mass - rough))
    if bad.any():
        i = first(bad)[0]
        k = int(np.flatnonzero(bad[i])[-1])  # the whole is more telling than the beginning
        raise AssertionError(
            f"{probe.name}: exp(log_density) must add up to the cdf; row {i} from {edges[i, 0]:.6g} to "
            f"{edges[i, k + 1]:.6g} has {mass[i, k]:.4g}, and the cdf rises by {expected[i, k]:.4g}"
        )


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
    bound = float(np.sqrt(np.log(2 * probe.n / FALSE_ALARM) / (2 * M)))  # Massart (1990)
    cdf = probe.cdf
    if cdf is not None:
        _check_cdf(probe, np.sort(draws, axis=1), cdf(np.sort(draws, axis=1)), bound)
        _check_independent(probe, cdf(draws))
        return
    x = probe.quantiles(np.broadcast_to(LEVELS, (probe.n, LEVELS.size)))
    if x is not None:
        _check_quantiles(probe, np.sort(draws, axis=1), x, bound)


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


def _check_cdf(probe: Probe, draws: FloatArray, cdf: FloatArray, bound: float) -> None:
    """Assert that the empirical distribution of sorted draws is the cdf, within the bound."""
    for i, (x, F) in enumerate(zip(draws, cdf, strict=True)):
        share = np.searchsorted(x, x, side="right") / x.size  # ties together
        k = int(np.argmax(np.abs(share - F)))
        assert abs(share[k] - F[k]) <= bound, (
            f"{probe.name}: draws must follow the cdf; of {x.size:,} draws of row {i} a share of {share[k]:.4g} is at "
            f"most {x[k]:.6g}, where the cdf is {F[k]:.4g} (by chance they differ by {bound:.2g} at most)"
        )


def _check_quantiles(probe: Probe, draws: FloatArray, x: FloatArray, bound: float) -> None:
    """Assert that as many sorted draws lie up to quantiles as their levels say, within the bound."""
    share, below = (
        np.array([np.searchsorted(row, at, side) for row, at in zip(draws, x, strict=True)]) / draws.shape[1]
        for side in ("right", "left")
    )
    bad = (share < LEVELS - bound) | (below > LEVELS + bound)
    at = first(bad)
    assert not bad.any(), (
        f"{probe.name}: draws must follow the quantiles; {place(bad, x)}, of level {LEVELS[at[1]]:g}: a share of "
        f"{share[at]:.4g} is at most there (by chance they differ by {bound:.2g} at most)"
    )


def _check_independent(probe: Probe, u: FloatArray) -> None:
    """Assert that draws of different rows are not correlated, seen by their values of the cdf."""
    rows = np.flatnonzero(u.std(axis=1) > 0)
    if rows.size < 2:
        return
    centred = u[rows] - u[rows].mean(axis=1, keepdims=True)
    z = centred / centred.std(axis=1, keepdims=True)
    r = z @ z.T / u.shape[1] - np.eye(rows.size)
    i, j = first(np.abs(r) == np.abs(r).max())
    assert abs(r[i, j]) <= MAX_CORRELATION / np.sqrt(u.shape[1]), (
        f"{probe.name}: draws of different rows must be independent; those of rows {rows[i]} and {rows[j]} have the "
        f"correlation {r[i, j]:.3g}"
    )
