"""Epidemics of an invented disease, and a posterior of what made each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from example_data.network import AnyArrays, FloatArray, Network, Slope, new_network, sigmoid, train
from numpy.typing import NDArray

PARAMETERS = np.array(["reproduction number", "infectious days", "reported share"])
# Of the logarithms of the first two, and of the log-odds of the third.
PRIOR_MEAN = np.array([np.log(2.0), np.log(6.0), np.log(0.3 / 0.7)])
PRIOR_SPREAD = np.array([0.35, 0.3, 0.8])
PEOPLE, FIRST_CASES, WEEKS = 20_000, 20, 14
DRAWS = 99
BELOW = np.tril_indices(len(PARAMETERS), -1)  # entries of a triangular matrix under its diagonal
DIAGONAL = np.diag_indices(len(PARAMETERS))


@dataclass(frozen=True)
class Epidemics:
    """Parameters on an unbounded scale (`z`), and the reported cases of each week (`reported`)."""

    z: FloatArray
    reported: NDArray[np.int64]


@dataclass(frozen=True)
class Gaussian:
    """One Gaussian law per row on the unbounded scale: A (z - mean) is standard normal, A lower triangular."""

    mean: FloatArray  # (n, D)
    A: FloatArray  # (n, D, D)

    def draw(self, count: int, random: np.random.Generator) -> FloatArray:
        """Draw vectors of each row, of shape (n, count, D)."""
        noise = random.normal(0.0, 1.0, (len(self.mean), count, self.mean.shape[1]))
        drawn: FloatArray = self.mean[:, None] + np.linalg.solve(self.A, noise.transpose(0, 2, 1)).transpose(0, 2, 1)
        return drawn

    def log_density(self, z: FloatArray) -> FloatArray:
        """Give the log density at vectors of each row, of shape (n, count, D)."""
        noise = np.einsum("nij,nkj->nki", self.A, z - self.mean[:, None])
        log_scale = np.log(self.A[:, *DIAGONAL]).sum(axis=1) - 0.5 * z.shape[2] * np.log(2.0 * np.pi)
        found: FloatArray = log_scale[:, None] - 0.5 * (noise**2).sum(axis=2)
        return found


def natural(z: FloatArray) -> FloatArray:
    """Turn parameters on the unbounded scale into the ones people speak of."""
    return np.concatenate([np.exp(z[..., :2]), sigmoid(z[..., 2:])], axis=-1)


def log_jacobian(z: FloatArray) -> FloatArray:
    """Give log |d natural / d z|, which a log density loses when its scale is changed."""
    share = sigmoid(z[..., 2])
    found: FloatArray = z[..., 0] + z[..., 1] + np.log(share) + np.log1p(-share)
    return found


def make_epidemics(count: int, random: np.random.Generator) -> Epidemics:
    """Make epidemics, each with parameters of its own.

    The causal story, in order:

    1. One who is infected infects others for some days, as many as the reproduction number says where nobody is immune.
       The number of days is geometric.
    2. Who has been infected is immune, so that the epidemic ends before all have been.
    3. A share of the infections is reported, and counted by weeks.
    """
    z = PRIOR_MEAN + PRIOR_SPREAD * random.normal(0.0, 1.0, (count, len(PARAMETERS)))
    R, days, share = natural(z).T
    recovery = 1.0 - np.exp(-1.0 / days)
    infected = np.full(count, FIRST_CASES)
    healthy = PEOPLE - infected
    reported = np.zeros((count, WEEKS), dtype=np.int64)
    for day in range(7 * WEEKS):
        risk = 1.0 - np.exp(-R * recovery * infected / PEOPLE)
        new, over = random.binomial(healthy, risk), random.binomial(infected, recovery)
        healthy, infected = healthy - new, infected + new - over
        reported[:, day // 7] += random.binomial(new, share)
    return Epidemics(z, reported)


def gaussian(outputs: FloatArray) -> Gaussian:
    """Read the outputs of a network as Gaussian laws: means, logarithms of the diagonal of A, entries under it."""
    D = len(PARAMETERS)
    A = np.zeros((len(outputs), D, D))
    A[:, *DIAGONAL] = np.exp(outputs[:, D : 2 * D])
    A[:, *BELOW] = outputs[:, 2 * D :]
    return Gaussian(outputs[:, :D], A)


def gaussian_loss(z: FloatArray) -> Slope:
    """Differentiate the negative log density, ½ |A (z - mean)|² - Σ log A_kk."""

    def slope(outputs: FloatArray) -> FloatArray:
        law = gaussian(outputs)
        gap = z - law.mean
        noise = np.einsum("nij,nj->ni", law.A, gap)
        by_mean = -np.einsum("nij,ni->nj", law.A, noise)
        by_A = noise[:, :, None] * gap[:, None, :]
        by_log_diagonal = by_A[:, *DIAGONAL] * law.A[:, *DIAGONAL] - 1.0
        return np.concatenate([by_mean, by_log_diagonal, by_A[:, *BELOW]], axis=1)

    return slope


def fitted(training: Epidemics, random: np.random.Generator) -> tuple[Network, FloatArray, FloatArray]:
    """Fit a network to epidemics whose parameters are known; return it with the centre and spread of its inputs."""
    X = np.log1p(training.reported)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    network = new_network(WEEKS, 16, 9, random)
    train(network, (X - centre) / spread, gaussian_loss((training.z - PRIOR_MEAN) / PRIOR_SPREAD), 400, decay=0.001)
    return network, centre, spread


def make_posterior() -> AnyArrays:
    """Fit a posterior to too few simulated epidemics, for too long, and draw from it for others.

    This is neural posterior estimation with a Gaussian law: the network sees the reported cases and is fitted by
    maximum likelihood. It remembers part of the chance in the epidemics it was fitted to, so that the laws of others
    are too narrow.
    """
    random = np.random.default_rng(1854)
    training, held_out = make_epidemics(300, random), make_epidemics(500, random)
    network, centre, spread = fitted(training, random)
    law = gaussian(network.outputs((np.log1p(held_out.reported) - centre) / spread))
    standard = law.draw(DRAWS, random)
    z, truth = PRIOR_MEAN + PRIOR_SPREAD * standard, held_out.z[:, None]
    scale = np.log(PRIOR_SPREAD).sum()
    log_density = law.log_density(standard) - scale - log_jacobian(z)
    log_density_y = law.log_density((truth - PRIOR_MEAN) / PRIOR_SPREAD) - scale - log_jacobian(truth)
    # Single precision halves the file.
    return {
        "y": natural(held_out.z).astype(np.float32),
        "draws": natural(z).astype(np.float32),
        "log_density": log_density.astype(np.float32),
        "log_density_y": log_density_y[:, 0].astype(np.float32),
        "reported": held_out.reported.astype(np.int16),
        "parameters": PARAMETERS,
    }
