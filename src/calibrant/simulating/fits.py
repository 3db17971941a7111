"""One fit: a parameter from the prior, data from the simulator, draws from the sampler, each with its own seed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.tabular import Tabular
from calibrant.errors import CalibrantError, InputError, listing, shown
from calibrant.inputs.arrays import FloatArray, as_array
from calibrant.inputs.named import Names, flattened

EXTRAS = ("draws", "log_density", "log_density_y", "divergences")  # what a sampler may return beside draws
MAX_DATA_NUMBERS = 10_000  # of one data set that is kept
MAX_MESSAGE = 300  # characters of the message of an exception that are kept


@dataclass(frozen=True)
class Failure(Tabular):
    """A fit that failed: its number, its parameter (None if the prior failed), the exception, and its seed.

    The seed is the entropy and the spawn key of ``numpy.random.SeedSequence``.
    """

    index: int
    theta: tuple[float, ...] | None
    exception: str
    message: str
    seed: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Fit:
    """A finished fit, or one that failed."""

    index: int
    theta: FloatArray | None  # (D,)
    draws: FloatArray | None  # (M_i, D), chain after chain; None if it failed
    x: NDArray[Any] | None  # the data, if they are numbers
    seconds: float
    chains: int = 1
    log_density: FloatArray | None = None  # (M_i,)
    log_density_y: float | None = None
    divergences: int | None = None
    failure: Failure | None = None
    traceback: str = ""


@dataclass(frozen=True)
class Task:
    """What every worker knows: the three functions, the seed, the number of draws, and the names of parameters."""

    prior: Callable[..., Any]
    simulator: Callable[..., Any]
    sampler: Callable[..., Any]
    entropy: int
    draws: int
    batched: bool
    names: Names | None = None  # None for a prior that returns numbers
    D: int = 1

    def seeds(self, index: int) -> list[np.random.Generator]:
        """Return the generators of prior, simulator and sampler of a fit; they depend on the seed and `index` only."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(index,))
        return [np.random.default_rng(child) for child in sequence.spawn(3)]

    def parameter(self, rng: np.random.Generator) -> tuple[Any, FloatArray, Names | None]:
        """Return a parameter as the prior gives it, its numbers (D,), and their names."""
        theta = self.prior(rng)
        if isinstance(theta, Mapping):
            numbers, names = flattened(theta, "what the prior returned", axes=0)
            return theta, _finite(numbers, "the prior"), names
        numbers = np.atleast_1d(as_array(theta, name="what the prior returned") if np.ndim(theta) else np.array(theta))
        if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
            got = f"{shown(theta)} ({type(theta).__name__})"
            raise InputError(
                f"the prior must return a number, an array (D,) or a mapping of names to arrays; got {got}"
            )
        return theta, _finite(numbers, "the prior"), None

    def run(self, indices: Sequence[int]) -> list[Fit]:
        """Make these fits: one, or several whose data the sampler gets together."""
        begun, started = time.perf_counter(), [self._begin(index) for index in indices]
        ready = [fit for fit in started if fit.failure is None]
        failed = [fit for fit in started if fit.failure is not None]
        if not ready:
            return failed
        rng = self.seeds(ready[0].index)[2]
        data = [fit.x for fit in ready]
        kept = [numeric(x) for x in data]  # as they were simulated: a sampler may write into its data
        try:
            found = self.sampler(data if self.batched else data[0], self.draws, rng)
            each = _split(found, len(ready)) if self.batched else [found]
        except Exception as problem:
            failed += [self._failed(fit.index, fit.theta, problem, fit.seconds) for fit in ready]
            return failed
        seconds = (time.perf_counter() - begun) / len(indices)
        ended = zip(ready, kept, each, strict=True)
        return failed + [self._ended(replace(fit, x=x), one, seconds) for fit, x, one in ended]

    def _begin(self, index: int) -> Fit:
        """Draw the parameter and simulate the data, which stand in `x` as they came."""
        begun, theta = time.perf_counter(), None
        of_prior, of_simulator, _ = self.seeds(index)
        try:
            given, theta, names = self.parameter(of_prior)
            if names != self.names or theta.size != self.D:
                same = f"{_called(self.names, self.D)}; got {_called(names, theta.size)}"
                raise InputError(f"the prior must return the same parameters in every fit: {same}")
            x = self.simulator(given, of_simulator)
        except Exception as problem:
            return self._failed(index, theta, problem, time.perf_counter() - begun)
        return Fit(index, theta, None, x, time.perf_counter() - begun)

    def _ended(self, fit: Fit, found: Any, seconds: float) -> Fit:
        try:
            draws, chains, extras = self._read(found)
        except Exception as problem:
            return self._failed(fit.index, fit.theta, problem, seconds)
        return replace(fit, draws=draws, chains=chains, seconds=seconds, **extras)

    def _failed(self, index: int, theta: FloatArray | None, problem: BaseException, seconds: float) -> Fit:
        text = _message(problem)
        known = None if theta is None else tuple(theta.tolist())
        failure = Failure(index, known, type(problem).__name__, text, (self.entropy, index))
        expected = isinstance(problem, CalibrantError)
        words = text if expected else "".join(traceback.format_exception(problem))
        return Fit(index, theta, None, None, seconds, failure=failure, traceback=words)

    def _read(self, found: Any) -> tuple[FloatArray, int, dict[str, Any]]:
        """Return draws (M, D), the number of chains, and what else the sampler returned."""
        extras: Mapping[str, Any] = {}
        parameters = {name.partition("[")[0].partition(".")[0] for name in self.names or ()}
        if isinstance(found, Mapping) and "draws" in found and "draws" not in parameters:
            unknown = [key for key in found if key not in EXTRAS]
            if unknown:
                raise InputError(f"the sampler returned {listing(unknown)} beside draws; it may return {EXTRAS[1:]}")
            found, extras = found["draws"], {key: found[key] for key in EXTRAS[1:] if found.get(key) is not None}
        array = self._side_by_side(found) if isinstance(found, Mapping) else as_array(found, name="draws")
        if array.dtype.kind not in "iuf":
            raise InputError(f"the sampler must return numbers; got values of type {array.dtype}")
        if array.ndim == 1 and self.D == 1:
            array = array[:, None]
        if array.ndim not in (2, 3) or array.shape[-1] != self.D or array.size == 0:
            wanted = f"(draws, D) = ({self.draws}, {self.D}), or (chains, draws, D)"
            raise InputError(f"the sampler must return shape {wanted}; got shape {array.shape}")
        if array.shape[-2] > self.draws:
            words = f"the sampler returned {array.shape[-2]:,} draws where {self.draws:,} were asked for"
            raise InputError(f"{words}. Chains have an axis of their own: (chains, draws, D)")
        chains = array.shape[0] if array.ndim == 3 else 1
        draws = _finite(array.reshape(-1, self.D), "the sampler")
        return draws, chains, {name: _extra(name, value, len(draws)) for name, value in extras.items()}

    def _side_by_side(self, found: Mapping[str, Any]) -> NDArray[Any]:
        """Return the draws of a mapping in the order of the prior's names."""
        if self.names is None:
            raise InputError(
                "the sampler returned a mapping where the prior returns numbers; return an array (draws, D)"
            )
        sizes = {np.ndim(value) for value in found.values() if not isinstance(value, Mapping)}
        array, names = flattened(found, "draws", axes=1)
        if set(names) != set(self.names) and min(sizes, default=0) > 1:  # (chains, draws, ...)
            array, names = flattened(found, "draws", axes=2)
        if set(names) != set(self.names):
            raise InputError(
                f"the sampler must return draws of {_called(self.names, self.D)}; got {_called(names, len(names))}"
            )
        return array[..., [names.index(name) for name in self.names]]


def _called(names: Names | None, D: int) -> str:
    return f"{D} number{'s' * (D > 1)} without names" if names is None else ", ".join(names[:12])


def _message(problem: BaseException) -> str:
    """Return the first line of the message of an exception, some of which cannot be written."""
    try:
        return str(problem).strip().split("\n")[0][:MAX_MESSAGE]
    except Exception:
        return ""


def _finite(numbers: NDArray[Any], whose: str) -> FloatArray:
    """Return finite numbers in memory of their own: functions of users may write into what they returned or got."""
    found = np.array(numbers, dtype=np.float64, order="C")
    bad = ~np.isfinite(found)
    if bad.any():
        raise InputError(f"{whose} must return finite numbers; {int(bad.sum()):,} of {bad.size:,} are nan or infinite")
    return found


def _extra(name: str, value: Any, M: int) -> Any:
    if name == "divergences":
        count = np.asarray(value, dtype=np.float64)
        if not (np.isfinite(count) & (count >= 0) & (count == np.floor(count))).all():
            raise InputError(f"divergences of the sampler must be whole numbers, 0 or more; got {shown(value)}")
        return int(count.sum())
    array = np.array(value, dtype=np.float64)
    wanted = (M,) if name == "log_density" else ()
    if array.size != int(np.prod(wanted)) or np.isnan(array).any() or (array == np.inf).any():
        raise InputError(f"{name} of the sampler must have shape {wanted} and be below infinity; got {shown(value)}")
    return array.reshape(M) if wanted else float(array.reshape(()))


def _split(found: Any, B: int) -> list[Any]:
    if isinstance(found, Mapping):
        for name, value in found.items():
            if len(value) != B:
                raise InputError(f"the sampler got {B} data sets and returned {len(value)} entries of {shown(name)}")
        return [{name: value[b] for name, value in found.items()} for b in range(B)]
    if len(found) != B:
        raise InputError(f"the sampler got {B} data sets and returned {len(found)} sets of draws")
    return [found[b] for b in range(B)]


def numeric(x: Any) -> NDArray[Any] | None:
    """Return data as an array if they are numbers, and not too many to be kept for every fit; else None."""
    try:
        array = np.asarray(as_array(x, name="x") if np.ndim(x) else x)
    except (CalibrantError, ValueError, TypeError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "iufb" and array.size <= MAX_DATA_NUMBERS else None
