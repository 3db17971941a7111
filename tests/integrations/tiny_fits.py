"""Tiny fits with samplers of other packages, each in a process of its own: tiny_fits.py PACKAGE. Prints JSON."""

import json
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).parents[1] / "simulating"))

import models
import numpy as np

import calibrant as cb
from calibrant.integrations.samplers import as_sampler

N, DRAWS = 20, 9


def sbi():
    """A flow that was trained for a moment, one posterior at a time and all at once."""
    import torch
    from sbi.inference import NPE

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    theta = np.array([models.array_prior(rng) for _ in range(500)], dtype=np.float32)
    x = np.array([models.array_simulator(t, rng) for t in theta], dtype=np.float32)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    inference = NPE(prior=prior, density_estimator="mdn", show_progress_bars=False)
    inference.append_simulations(torch.as_tensor(theta), torch.as_tensor(x)).train(
        training_batch_size=25, learning_rate=5e-3, max_num_epochs=12
    )
    sampler = as_sampler(inference.build_posterior())
    before = torch.random.get_rng_state()
    found = {batch: simulated(models.array_prior, models.array_simulator, sampler, batch) for batch in (None, N)}
    return {
        **report(found[None], simulated(models.array_prior, models.array_simulator, sampler, None)),
        "batch": list(found[N].prediction.held.shape),
        "moves with the data": correlation(found[N]),
        "global generator": torch.equal(before, torch.random.get_rng_state()),
    }


def bayesflow():
    """A coupling flow that was trained for a moment; the names are those of its simulator."""
    import bayesflow as bf
    import keras

    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)

    def sample():
        theta = models.array_prior(rng)
        return {"theta": theta, "x": models.array_simulator(theta, rng)}

    workflow = bf.BasicWorkflow(
        simulator=bf.make_simulator(sample),
        inference_network=bf.networks.CouplingFlow(depth=2),
        inference_variables=["theta"],
        inference_conditions=["x"],
        initial_learning_rate=5e-3,
    )
    workflow.fit_online(epochs=1, batch_size=32, num_batches_per_epoch=60, verbose=0)
    functions = named_prior, lambda theta, rng: {"x": named_simulator(theta, rng)}, as_sampler(workflow)
    found = simulated(*functions, N)
    return {**report(found, simulated(*functions, N)), "moves with the data": correlation(found)}


def numpyro():
    """Two fits by NUTS, which is compiled for each: chains, names and divergences."""
    import jax
    import numpyro as npy
    from numpyro.infer import MCMC, NUTS

    def model(x):
        theta = npy.sample("theta", npy.distributions.Normal(0.0, 1.0).expand([2]).to_event(1))
        npy.sample("obs", npy.distributions.Normal(theta, 1.0).to_event(1), obs=x)

    sampler = as_sampler(MCMC(NUTS(model), num_warmup=50, num_samples=DRAWS, num_chains=1, jit_model_args=True))
    x = np.array([4.0, -4.0], np.float32)
    one, again = (sampler(x, DRAWS, np.random.default_rng(5)) for _ in range(2))
    draws = one["draws"]["theta"]
    return {
        "names": list(one["draws"]),
        "shape": list(draws.shape),
        "same bits": bool(np.array_equal(draws, again["draws"]["theta"])),
        "mean": draws.mean(axis=(0, 1)).tolist(),
        "divergences": one["divergences"],
        "backend": jax.default_backend(),
    }


def named_prior(rng):
    return {"theta": models.array_prior(rng)}


def named_simulator(theta, rng):
    return models.array_simulator(theta["theta"], rng).astype(np.float32)


def simulated(prior, simulator, sampler, batch):
    return cb.simulate_calibration(prior, simulator, sampler, n=N, draws=DRAWS, batch=batch, progress=False)


def report(one, again):
    return {
        "names": list(one.prediction.names),
        "shape": list(one.prediction.held.shape),
        "same bits": bool(np.array_equal(one.prediction.held, again.prediction.held)),
        "failures": len(one.failures),
    }


def correlation(found):
    """Return the correlation of truths and mean draws, over rows and coordinates; about 0.7 of a good fit."""
    return float(np.corrcoef(found.y.ravel(), found.prediction.held.mean(axis=1).ravel())[0, 1])


if __name__ == "__main__":
    print(json.dumps({"sbi": sbi, "bayesflow": bayesflow, "numpyro": numpyro}[sys.argv[1]]()))
