"""`simulate_calibration`: parameters, data and fits of a model, to check the sampler by."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.core.annotations import Quantities
from calibrant.core.catalogue import public
from calibrant.errors import CalibrantError, InputError, shown
from calibrant.inputs.arrays import Rng
from calibrant.inputs.named import element_names
from calibrant.inputs.options import check_count, generator
from calibrant.progress import rows_counted
from calibrant.ranking.quantities import quantities_by_name
from calibrant.simulating.calibration import MIN_FITS, Calibration, calibration_of
from calibrant.simulating.fits import Fit, Task
from calibrant.simulating.parts import RUN, Parts
from calibrant.simulating.workers import made_by
from calibrant.version import __version__
from calibrant.writing import sole_writer

FITS_PER_PART, SECONDS_PER_PART = 100, 30.0
FAILURES_AT_THE_START = 5  # in a row, after which the run stops


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; `calibration` has the fits that were finished, None if they are fewer than 20."""

    calibration: Calibration | None = None


@public
def simulate_calibration(
    prior: Callable[..., Any],
    simulator: Callable[..., Any],
    sampler: Callable[..., Any],
    *,
    n: int,
    draws: int,
    workers: Any = 1,
    rng: Rng = 0,
    checkpoint: str | Path | None = None,
    batch: int | None = None,
    quantity: Quantities | None = None,
    progress: bool | None = None,
) -> Calibration:
    r"""Run simulation-based calibration: parameters from the prior, simulated data, and draws of their posterior.

    .. math:: \theta_i \sim p(\theta), \qquad x_i \sim p(x \mid \theta_i), \qquad
              \theta_{i1}, \dots, \theta_{iM} \sim q(\theta \mid x_i), \qquad i = 0, \dots, n - 1 .

    If q is the posterior of this prior and simulator, :math:`\theta_i` is one more draw, and its rank is uniform.

    The functions must take random numbers from the generator they are given only.

    Parameters
    ----------
    prior
        ``prior(rng)`` returns a parameter: a number, an array (D,), or a mapping from names to arrays.
    simulator
        ``simulator(theta, rng)`` returns data, anything that can be pickled.
    sampler
        ``sampler(x, draws, rng)`` returns draws of the posterior: an array (draws, D), or (chains, draws, D), or a
        mapping from the names of the prior to arrays (draws, ...). Fewer draws than asked for are legal (rows then have
        unequal numbers), more are not. It may also return a mapping with ``"draws"`` and any of ``"log_density"``,
        (draws,), ``"log_density_y"``, that of the parameter itself where it is known, and ``"divergences"``, a number.
        `calibrant.integrations.samplers` makes samplers of sbi, BayesFlow, PyMC and NumPyro.
    n
        Number of fits, at least 20.
    draws
        Number of draws of each fit (of each chain).
    workers
        1: this process. More: so many processes, with one thread for linear algebra each. Or a ``distributed.Client``.
    rng
        Seed, or a Generator that draws the seed.
    checkpoint
        A folder in which finished fits are kept. A run that was interrupted or killed resumes from it, with the same
        result to the bit; so does one with a larger n.
    batch
        With B the sampler gets a list of B data sets (the last batch may be shorter) and one generator, and returns B
        sets of draws: an array (B, draws, D), a list, or a mapping from names to arrays (B, draws, ...).
    quantity
        What else is ranked, as in `ranks`; used by `ranks` and `audit` of the result.
    progress
        Whether progress is written to stderr: the fits done and failed, their rate, the time left. None: if stderr is a
        terminal and the run takes longer than two seconds.

    Returns
    -------
    Calibration
        `y`, `prediction`, `x`, `failures`, `seconds`; ``.audit()`` says in words what is right or wrong.

    Examples
    --------
    A normal mean with a normal prior, whose posterior is N(x/2, 1/2):

    >>> def prior(rng):
    ...     return {"mu": rng.normal()}
    >>> def simulator(theta, rng):
    ...     return rng.normal(theta["mu"])
    >>> def sampler(x, draws, rng):
    ...     return {"mu": rng.normal(x / 2, 0.5**0.5, draws)}
    >>> found = simulate_calibration(prior, simulator, sampler, n=200, draws=99)
    >>> found
    Calibration(200 fits, parameters mu)
    >>> found.audit().verdict.status
    'cannot tell'

    A sampler whose draws are half as wide as they should be:

    >>> def narrow(x, draws, rng):
    ...     return {"mu": rng.normal(x / 2, 0.35, draws)}
    >>> simulate_calibration(prior, simulator, narrow, n=200, draws=99).audit().verdict.status
    'miscalibrated'
    """
    run = Run(n, draws, rng, batch, checkpoint, progress, quantity)
    for name, given in (("prior", prior), ("simulator", simulator), ("sampler", sampler)):
        if not callable(given):
            hint = " Make one with calibrant.integrations.samplers.as_sampler(...)" if name == "sampler" else ""
            raise InputError(f"{name} must be a function; got {shown(given)} ({type(given).__name__}).{hint}")
    task = _with_names(Task(prior, simulator, sampler, run.entropy, draws, batch is not None))
    folder = None if checkpoint is None else _made_folder(checkpoint)
    with nullcontext() if folder is None else sole_writer(folder / RUN, what="the checkpoint"):
        return _simulated(task, run, folder, workers)


@dataclass
class Run:
    n: int
    draws: int
    rng: Rng
    batch: int | None
    checkpoint: str | Path | None
    progress: bool | None
    quantity: Quantities | None
    entropy: int = 0

    def __post_init__(self) -> None:
        check_count("n", self.n, least=MIN_FITS)
        check_count("draws", self.draws)
        if self.batch is not None:
            check_count("batch", self.batch)
        named = (
            isinstance(self.checkpoint, (str, Path)) and str(self.checkpoint) != "" and "\0" not in str(self.checkpoint)
        )
        if self.checkpoint is not None and not named:
            got = f"{shown(self.checkpoint)} ({type(self.checkpoint).__name__})"
            raise InputError(f'checkpoint must be the path of a folder of its own, such as "run1"; got {got}')
        if self.quantity is not None:
            quantities_by_name(self.quantity)
        source = generator(self.rng)
        self.entropy = int(source.integers(1 << 62)) if source is self.rng else int(self.rng)  # type: ignore[arg-type]

    def jobs(self, missing: Iterable[int]) -> list[tuple[int, ...]]:
        """Return which fits are made together: batches begin at multiples of their size."""
        size = self.batch or 1
        return [tuple(job) for _, job in groupby(missing, lambda index: index // size)]

    def about(self, task: Task) -> dict[str, Any]:
        callables = {name: _qualified(getattr(task, name)) for name in ("prior", "simulator", "sampler")}
        versions = {"calibrant": __version__, "numpy": np.__version__, "python": platform.python_version()}
        names = None if task.names is None else list(task.names)
        options = {"entropy": self.entropy, "draws": self.draws, "batch": self.batch, "names": names, "D": task.D}
        return {"n": self.n, **options, "callables": callables, "versions": versions}


def _qualified(f: Any) -> str:
    name = getattr(f, "__qualname__", type(f).__qualname__)
    return f"{getattr(f, '__module__', type(f).__module__)}.{name}"


def _made_folder(checkpoint: str | Path) -> Path:
    folder = Path(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"cannot make the folder {folder} of the checkpoint: {problem.strerror}") from None
    return folder


def _with_names(task: Task) -> Task:
    """Return the task with the names of the parameters, which the prior of the first fit gives."""
    first: Exception | None = None
    for index in range(FAILURES_AT_THE_START):
        try:
            _, theta, names = task.parameter(task.seeds(index)[0])
            return replace(task, names=names, D=theta.size)
        except Exception as problem:
            first = first or problem
    words = f"the prior failed in the first {FAILURES_AT_THE_START} fits: {type(first).__name__}: {first}"
    raise CalibrantError(words) from first


def _simulated(task: Task, run: Run, folder: Path | None, workers: Any) -> Calibration:
    names = task.names or tuple(element_names("theta", [range(task.D)] if task.D > 1 else []))
    kept = _Kept(None if folder is None else Parts(folder, run.about(task)), run.n)
    fits, failed = made_by(workers, task, run.jobs(kept.missing())), kept.failed
    counted = rows_counted(
        fits,
        label="fitting",
        rows=len,
        before=kept.done,
        total=run.n,
        unit="fits",
        more=lambda: f" ({len(failed):,} failed)" if failed else "",
        shown=run.progress,
    )
    try:
        for made in counted:
            kept.add(made)
            if all(index in kept.failed for index in range(FAILURES_AT_THE_START)):
                raise _all_failed(kept, f"the first {FAILURES_AT_THE_START} fits failed")
    except KeyboardInterrupt as problem:
        kept.flush()
        where = f", which are kept in {run.checkpoint}; repeat the call to resume" if run.checkpoint is not None else ""
        stopped = Interrupted(f"interrupted after {kept.done:,} of {run.n:,} fits{where}")
        if kept.done - len(failed) >= MIN_FITS:
            stopped.calibration = calibration_of(kept.all(), names, quantity=run.quantity, entropy=run.entropy)
        raise stopped from problem
    finally:
        kept.flush()
        fits.close()
    if len(failed) == run.n:
        raise _all_failed(kept, f"all {run.n:,} fits failed")
    return calibration_of(kept.all(), names, quantity=run.quantity, entropy=run.entropy)


def _all_failed(kept: _Kept, words: str) -> CalibrantError:
    return CalibrantError(f"{words}, so the run stops. The first failure:\n{kept.failed[min(kept.failed)]}")


class _Kept:
    """Finished fits, in memory or in parts on disk."""

    def __init__(self, parts: Parts | None, n: int) -> None:
        self.parts, self.n = parts, n
        self.open: list[Fit] = []
        self.failed: dict[int, str] = {}  # what went wrong
        self.known = set() if parts is None else {index for index in parts.open() if index < n}
        self.due = time.monotonic() + SECONDS_PER_PART
        if parts is not None:
            for fit in parts.fits(n) if self.known else ():
                if fit.failure is not None:
                    self.failed[fit.index] = f"{fit.failure.exception}: {fit.failure.message}"

    @property
    def done(self) -> int:
        return len(self.known)

    def missing(self) -> list[int]:
        return [index for index in range(self.n) if index not in self.known]

    def add(self, fits: list[Fit]) -> None:
        """Keep fits, and write them if there are enough or enough time has passed."""
        self.open += fits
        self.known |= {fit.index for fit in fits}
        self.failed |= {fit.index: fit.traceback for fit in fits if fit.failure is not None}
        if self.parts is not None and (len(self.open) >= FITS_PER_PART or time.monotonic() >= self.due):
            self.flush()

    def flush(self) -> None:
        if self.parts is not None and self.open:
            self.parts.write(self.open)
            self.open = []
        self.due = time.monotonic() + SECONDS_PER_PART

    def all(self) -> Iterable[Fit]:
        if self.parts is None:
            return sorted(self.open, key=lambda fit: fit.index)
        return self.parts.fits(self.n)
