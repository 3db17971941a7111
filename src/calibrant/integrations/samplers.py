"""Samplers for `simulate_calibration` from sbi, BayesFlow, PyMC and NumPyro, told by their type; none is imported."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant.errors import InputError, shown

MAX_SEED = 2**31 - 1


def as_sampler(model: Any, *, variables: Sequence[str] | None = None, **options: Any) -> Callable[..., Any]:
    """Return a sampler for `simulate_calibration` that fits with a model of another package.

    Parameters
    ----------
    model
        - A posterior of sbi. Data are arrays; with ``batch=B`` it samples B posteriors at once.
        - An approximator or workflow of BayesFlow. Data are mappings from names to arrays, the conditions, and the
          prior returns a mapping with the names of the simulator. Use ``batch=B``, which is much faster.
        - A ``pymc.Model`` whose data are ``pymc.Data``. Data are mappings from their names to values, or the value
          alone if there is one. The model is built once for all fits.
        - A ``numpyro.infer.MCMC``. Data are the arguments of the model: a mapping of keywords, a tuple, or one value.
          Make it with ``jit_model_args=True`` and keep shapes the same, else every fit is compiled anew.
    variables
        Which variables are taken: by default the free ones of PyMC and all of NumPyro and BayesFlow.
    **options
        Passed on: to ``posterior.sample`` or ``sample_batched``, ``approximator.sample``, ``pymc.sample`` (by default
        ``chains=2, cores=1``) or ``mcmc.run``.

    Returns
    -------
    callable
        ``sampler(x, draws, rng)``. Its seed comes from `rng`; no global seed is changed. Markov chains come with an
        axis of chains and the number of divergent transitions. Successive draws of chains depend on each other: audits
        say so; thin them in a sampler of your own if they do.

    Examples
    --------
    >>> as_sampler(3)
    Traceback (most recent call last):
    calibrant.errors.InputError: expected a posterior of sbi, an approximator of BayesFlow, a pymc.Model or a numpyro...
    """
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    for package, made in ADAPTERS.items():
        if package in packages:
            return made(model, None if variables is None else tuple(variables), dict(options))
    raise InputError(
        "expected a posterior of sbi, an approximator of BayesFlow, a pymc.Model or a numpyro.infer.MCMC; got "
        f"{shown(model)} ({type(model).__name__}). Any function sampler(x, draws, rng) will do"
    )


@dataclass(frozen=True)
class _Adapter:
    model: Any
    variables: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def chosen(self, draws: Mapping[str, Any]) -> dict[str, Any]:
        if self.variables is None:
            return dict(draws)
        missing = [name for name in self.variables if name not in draws]
        if missing:
            raise InputError(f"there are no draws of {missing[0]!r}; there are draws of {', '.join(draws)}")
        return {name: draws[name] for name in self.variables}


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(MAX_SEED))


class SbiSampler(_Adapter):
    """A posterior of sbi: (draws, D), or (B, draws, D) for a list of B data sets."""

    def __call__(self, x: Any, draws: int, rng: np.random.Generator) -> Any:
        torch = sys.modules["torch"]
        several = isinstance(x, list)
        data = torch.as_tensor(np.array(x, dtype=np.float32))
        with torch.random.fork_rng(devices=[]):  # sbi draws from the global generator, which is restored
            torch.manual_seed(_seed(rng))
            options = {"show_progress_bars": False, **self.options}
            sample = self.model.sample_batched if several else self.model.sample
            found = sample((draws,), x=data, **options).detach().cpu().numpy().astype(np.float64)
        return np.swapaxes(found, 0, 1) if several else found.reshape(draws, -1)


class BayesFlowSampler(_Adapter):
    """An approximator or workflow of BayesFlow: mapping from names to (draws, d), or (B, draws, d)."""

    def __call__(self, x: Any, draws: int, rng: np.random.Generator) -> Any:
        data = x if isinstance(x, list) else [x]
        if not all(isinstance(one, Mapping) for one in data):
            raise InputError("the data of BayesFlow are a mapping from names to arrays; let the simulator return one")
        conditions = {name: np.stack([np.asarray(one[name]) for one in data]) for name in data[0]}
        with _silent("bayesflow"):
            found = self.model.sample(num_samples=draws, conditions=conditions, seed=_seed(rng), **self.options)
        kept = {name: np.asarray(values) for name, values in self.chosen(found).items()}
        for name, values in kept.items():
            if values.ndim == 3 and values.shape[2] == 1:  # a single number has no axis
                kept[name] = values[..., 0]
        return kept if isinstance(x, list) else {name: values[0] for name, values in kept.items()}


class PymcSampler(_Adapter):
    """A model of PyMC with `pymc.Data`: mapping from names to (chains, draws, ...)."""

    def __call__(self, x: Any, draws: int, rng: np.random.Generator) -> Any:
        pymc = sys.modules["pymc"]
        names = [variable.name for variable in self.model.free_RVs] if self.variables is None else self.variables
        settings = {"chains": 2, "cores": 1, "progressbar": False, "compute_convergence_checks": False, **self.options}
        with self.model, _silent("pymc"):
            pymc.set_data(dict(x) if isinstance(x, Mapping) else {_only_data(self.model): x})
            found = pymc.sample(draws=draws, random_seed=_seed(rng), **settings)
        kept = {name: found.posterior[name].to_numpy() for name in names}
        return {"draws": kept, "divergences": int(found.sample_stats["diverging"].sum())}


def _only_data(model: Any) -> str:
    names = [str(variable.name) for variable in model.data_vars]
    if len(names) != 1:
        words = f"the model has {len(names)} data ({', '.join(names)})"
        raise InputError(f"{words}; let the simulator return a mapping from names to values")
    return names[0]


@contextmanager
def _silent(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class NumpyroSampler(_Adapter):
    """An MCMC of NumPyro: mapping from names to (chains, draws, ...)."""

    def __call__(self, x: Any, draws: int, rng: np.random.Generator) -> Any:
        jax = sys.modules["jax"]
        positional = () if isinstance(x, Mapping) else tuple(x) if isinstance(x, tuple) else (x,)
        keywords = dict(x) if isinstance(x, Mapping) else {}
        self.model.progress_bar = False
        key = jax.random.PRNGKey(_seed(rng))
        self.model.run(key, *positional, extra_fields=("diverging",), **keywords, **self.options)
        found = self.chosen(self.model.get_samples(group_by_chain=True))
        diverging = self.model.get_extra_fields().get("diverging", 0)
        return {
            "draws": {name: np.asarray(values, dtype=np.float64) for name, values in found.items()},
            "divergences": int(np.sum(np.asarray(diverging))),
        }


ADAPTERS: dict[str, Callable[..., Callable[..., Any]]] = {
    "sbi": SbiSampler,
    "bayesflow": BayesFlowSampler,
    "pymc": PymcSampler,
    "numpyro": NumpyroSampler,
}
