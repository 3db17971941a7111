"""Handwritten digits in a few numbers each, and more of them from a mixture of too few Gaussian laws."""

from __future__ import annotations

import numpy as np
from example_data.network import AnyArrays, FloatArray

COORDINATES, COMPONENTS = 8, 4
TRAINING = 898  # half of the 1,797 pictures
ROUNDS = 300  # far more than it takes to settle


def pictures() -> FloatArray:
    """Load the digits that come with scikit-learn, 8 by 8 pixels from 0 to 1: no other example starts from real data.

    They are the test part of Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository, https://doi.org/10.24432/C50P49, which is under the licence CC BY 4.0.
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415, the other examples do not need it

    found: FloatArray = load_digits().data / 16.0
    return found


def principal_axes(pixels: FloatArray) -> FloatArray:
    """Find the directions in which pictures vary most, of shape (64, 8), each with its largest entry positive."""
    _, _, rows = np.linalg.svd(pixels - pixels.mean(axis=0), full_matrices=False)
    axes: FloatArray = rows[:COORDINATES].T
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(COORDINATES)]
    return axes * np.sign(largest)


def log_densities(z: FloatArray, shares: FloatArray, means: FloatArray, covariances: FloatArray) -> FloatArray:
    """Give the log of share times density of each component at each point, less a constant."""
    found = np.empty((len(z), len(shares)))
    for k, (share, mean, covariance) in enumerate(zip(shares, means, covariances, strict=True)):
        L = np.linalg.cholesky(covariance)
        white = np.linalg.solve(L, (z - mean).T)
        found[:, k] = np.log(share) - np.log(np.diag(L)).sum() - 0.5 * (white**2).sum(axis=0)
    return found


def fit_mixture(z: FloatArray, random: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit shares, means and covariances by expectation and maximisation, from a few of the points."""
    shares = np.full(COMPONENTS, 1.0 / COMPONENTS)
    means = z[random.choice(len(z), COMPONENTS, replace=False)]
    covariances = np.repeat(np.cov(z.T)[None], COMPONENTS, axis=0)
    for _ in range(ROUNDS):
        logs = log_densities(z, shares, means, covariances)
        belongs = np.exp(logs - logs.max(axis=1, keepdims=True))
        belongs /= belongs.sum(axis=1, keepdims=True)
        counts = belongs.sum(axis=0)
        shares, means = counts / len(z), belongs.T @ z / counts[:, None]
        gaps = z[:, None] - means
        covariances = np.einsum("ik,ikc,ikd->kcd", belongs, gaps, gaps) / counts[:, None, None]
    return shares, means, covariances


def make_generated() -> AnyArrays:
    """Fit a mixture to half of the pictures, and draw from it as many points as there are in the other half.

    There are ten digits and four components, so that a component covers several digits and what lies between them.
    Mean and covariance of all its draws together are right nevertheless: those of a fitted mixture are those of the
    points it was fitted to.
    """
    random = np.random.default_rng(1998)
    pixels = random.permutation(pictures())
    training, held_out = pixels[:TRAINING], pixels[TRAINING:]
    axes, centre = principal_axes(training), training.mean(axis=0)
    shares, means, covariances = fit_mixture((training - centre) @ axes, random)
    which = random.choice(COMPONENTS, len(held_out), p=shares)
    noise = random.normal(0.0, 1.0, (len(held_out), COORDINATES))
    points = means[which] + np.einsum("icd,id->ic", np.linalg.cholesky(covariances)[which], noise)
    # Single precision halves the file.
    return {
        "y": ((held_out - centre) @ axes).astype(np.float32),
        "points": points.astype(np.float32),
        "columns": np.array([f"component_{c}" for c in range(1, COORDINATES + 1)]),
    }
