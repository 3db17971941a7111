"""Models of the tests, at the top level of a module so that other processes find them."""

import os
import signal
import time

import numpy as np


def prior(rng):
    return {"mu": rng.normal(), "log_sigma": 0.3 * rng.normal(size=2)}


def simulator(theta, rng):
    return rng.normal(theta["mu"], 1.0, 3)


def sampler(x, draws, rng):
    """The exact posterior of mu; log_sigma does not act on the data."""
    mean = 3 / 4 * np.mean(x)
    return {"log_sigma": 0.3 * rng.normal(size=(draws, 2)), "mu": rng.normal(mean, 0.5, draws)}


def array_prior(rng):
    return rng.normal(size=2)


def array_simulator(theta, rng):
    return rng.normal(theta)


def array_sampler(x, draws, rng):
    return rng.normal(x / 2, 0.5**0.5, (draws, 2))


def narrow_sampler(x, draws, rng):
    return rng.normal(x / 2, 0.35, (draws, 2))


def batch_sampler(xs, draws, rng):
    return rng.normal(np.array(xs)[:, None] / 2, 0.5**0.5, (len(xs), draws, 2))


def slow_sampler(x, draws, rng):
    time.sleep(0.02)
    return array_sampler(x, draws, rng)


def failing_sampler(x, draws, rng):
    """Fails where the first number is large, as a sampler in a tail does."""
    if x[0] > 1.5:
        raise RuntimeError("no convergence\nsecond line")
    return array_sampler(x, draws, rng)


def killed_sampler(x, draws, rng):
    """The process ends in a few fits, as one without memory does."""
    if x[0] > 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return array_sampler(x, draws, rng)


def hanging_sampler(x, draws, rng):
    if x[0] > 2.5:
        time.sleep(600)
    return array_sampler(x, draws, rng)
