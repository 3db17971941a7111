"""Run `simulate_calibration` once with sbi, BayesFlow, PyMC and NumPyro, as far as they are installed.

    python -m benchmarks.adapters [PACKAGE ...]

The model has a known posterior, so that each package must come out as calibrated, or as far from it as a small network
is. Prints versions, seconds and the verdict.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time

import numpy as np

import calibrant as cb
from calibrant.integrations.samplers import as_sampler

os.environ.setdefault("KERAS_BACKEND", "torch")
D = 2


def prior(rng):
    return rng.normal(size=D)


def simulator(theta, rng):
    return rng.normal(theta, 1.0)


def named_prior(rng):
    return {"theta": rng.normal(size=D)}


def sbi():
    import torch
    from sbi.inference import NPE

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    theta = np.array([prior(rng) for _ in range(2000)], dtype=np.float32)
    x = np.array([simulator(t, rng) for t in theta], dtype=np.float32)
    law = torch.distributions.MultivariateNormal(torch.zeros(D), torch.eye(D))
    inference = NPE(prior=law, density_estimator="maf", show_progress_bars=False)
    inference.append_simulations(torch.as_tensor(theta), torch.as_tensor(x)).train(max_num_epochs=60)
    sampler = as_sampler(inference.build_posterior())
    one = cb.simulate_calibration(prior, simulator, sampler, n=40, draws=49)
    state = torch.random.get_rng_state()
    again = cb.simulate_calibration(prior, simulator, sampler, n=40, draws=49)
    assert np.array_equal(one.prediction.held, again.prediction.held), "the seed decides"
    assert torch.equal(state, torch.random.get_rng_state()), "the global generator is as it was"
    return cb.simulate_calibration(prior, simulator, sampler, n=200, draws=99, batch=50)


def bayesflow():
    import bayesflow as bf
    import keras

    keras.utils.set_random_seed(0)

    def sample():
        rng = np.random.default_rng()
        theta = prior(rng)
        return {"theta": theta, "x": simulator(theta, rng)}

    workflow = bf.BasicWorkflow(
        simulator=bf.make_simulator(sample),
        inference_network=bf.networks.CouplingFlow(depth=3),
        inference_variables=["theta"],
        inference_conditions=["x"],
    )
    workflow.fit_online(epochs=8, batch_size=64, num_batches_per_epoch=60, verbose=0)
    sampler = as_sampler(workflow)
    conditions = lambda theta, rng: {"x": simulator(theta["theta"], rng).astype(np.float32)}  # noqa: E731
    runs = [cb.simulate_calibration(named_prior, conditions, sampler, n=20, draws=9) for _ in range(2)]
    assert np.array_equal(runs[0].prediction.held, runs[1].prediction.held), "the seed decides"
    return cb.simulate_calibration(named_prior, conditions, sampler, n=200, draws=99, batch=100)


def pymc():
    import pymc as pm

    with pm.Model() as model:
        x = pm.Data("x", np.zeros(D))
        theta = pm.Normal("theta", 0.0, 1.0, shape=D)
        pm.Normal("obs", theta, 1.0, observed=x)
    sampler = as_sampler(model, tune=200, chains=2)
    data = lambda theta, rng: simulator(theta["theta"], rng)  # noqa: E731
    return cb.simulate_calibration(named_prior, data, sampler, n=40, draws=100)


def numpyro():
    import jax
    import numpyro as npy
    from numpyro.infer import MCMC, NUTS

    def model(x):
        theta = npy.sample("theta", npy.distributions.Normal(0.0, 1.0).expand([D]).to_event(1))
        npy.sample("obs", npy.distributions.Normal(theta, 1.0).to_event(1), obs=x)

    jax.config.update("jax_platforms", "cpu")
    mcmc = MCMC(NUTS(model), num_warmup=200, num_samples=100, num_chains=1, jit_model_args=True)  # compiled once
    sampler = as_sampler(mcmc)
    data = lambda theta, rng: simulator(theta["theta"], rng).astype(np.float32)  # noqa: E731
    return cb.simulate_calibration(named_prior, data, sampler, n=20, draws=100)


RUNS = {"sbi": sbi, "bayesflow": bayesflow, "pymc": pymc, "numpyro": numpyro}


def main() -> None:
    for name in sys.argv[1:] or RUNS:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name}: not installed")
            continue
        begun = time.monotonic()
        found = RUNS[name]()
        verdict = found.audit(resamples=19).verdict
        print(f"{name} {version}: {found}, {found.prediction}, {time.monotonic() - begun:.0f} s")
        print(f"  seconds a fit {np.median(found.seconds):.4f}; {verdict.status}: {verdict.headline}")


if __name__ == "__main__":
    main()
