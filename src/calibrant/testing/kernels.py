"""Whether a kernel is symmetric, finite, positive semi-definite and as it declares: `check_kernel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs.arrays import FloatArray
from calibrant.kernels.composed import distance_of_points
from calibrant.kernels.forms import JointForm
from calibrant.kernels.kernel import Delta, JointKernel, Kernel

TOLERANCE = 1e-10


def check_kernel(kernel: Kernel | JointKernel, *, points: Any = None, K: int = 4, seed: int = 0) -> None:
    """Assert that a kernel has the properties of kernels.

    Its values are symmetric, finite and bounded by its `supremum`, not negative unless it is `signed`, the profile
    works element by element, and its matrix on random, repeated, clustered and extreme points has no negative
    eigenvalue.

    Parameters
    ----------
    kernel
        A kernel with a number for its length scale, or a `JointKernel`.
    points
        Points (m,) or (m, c) to check on; default: probabilities of K classes, and numbers where the distance has a
        name that allows them.
    K
        Number of classes of the default points.
    seed
        Seed of the default points.

    Raises
    ------
    AssertionError
        If the kernel lacks a property.

    Examples
    --------
    >>> from calibrant.kernels import Exponential, Gaussian
    >>> check_kernel(Exponential(0.3, "tv"))
    >>> check_kernel(Gaussian(1.0, "tv"))
    Traceback (most recent call last):
    AssertionError: Gaussian(lengthscale=1.0, distance='tv') is not positive semi-definite: its matrix on 60 points ...
    """
    assert isinstance(kernel, (Kernel, JointKernel)), (
        f"check_kernel takes a kernel, such as Exponential(0.3); got {kernel!r}"
    )
    rng = np.random.default_rng(seed)
    if isinstance(kernel, JointKernel):
        _check_joint(kernel, K, rng)
        return
    _check_profile(kernel, rng)
    if points is not None:
        _check_matrix(kernel, np.asarray(points, dtype=np.float64))
    elif isinstance(kernel, Delta):
        _check_matrix(kernel, np.arange(K, dtype=np.float64))
    else:
        for sample in _points(kernel, K, rng):
            _check_matrix(kernel, sample)


def _check_profile(kernel: Kernel, rng: np.random.Generator) -> None:
    u = np.concatenate([[0.0], np.geomspace(1e-12, 1e12, 200)])
    values = np.asarray(kernel.profile(u))
    assert values.shape == u.shape, f"{kernel!r}: profile must work element by element; {u.shape} gave {values.shape}"
    assert values.dtype.kind in "fiub", f"{kernel!r}: profile must return real numbers; got {values.dtype}"
    assert np.isfinite(values).all(), f"{kernel!r}: profile is not finite at u = {u[~np.isfinite(values)][0]:g}"
    largest = float(np.abs(values).max())
    assert largest <= kernel.supremum * (1 + TOLERANCE), f"{kernel!r}: {largest:g} exceeds supremum {kernel.supremum:g}"
    if not kernel.signed:
        assert values.min() >= 0, f"{kernel!r}: profile is negative; set signed = True"
    order = rng.permutation(u.size)
    again = np.asarray(kernel.profile(u[order]))
    alike = np.allclose(again, values[order], rtol=1e-13, atol=1e-300)  # ends may be rounded differently
    assert alike, f"{kernel!r}: profile depends on the order of its elements"


def _points(kernel: Kernel, K: int, rng: np.random.Generator) -> list[FloatArray]:
    faces = np.array([row / row.sum() for row in _subsets(K)])
    simplex = np.concatenate([faces, rng.dirichlet(np.full(K, 0.5), 60 - len(faces) % 60)])[:60]
    line = np.concatenate([rng.random(40), [0.0, 1.0, 0.5, 0.5], 0.3 + 1e-9 * rng.random(10)])
    if kernel.distance == "labels":
        return [np.arange(K, dtype=np.float64)]
    vectors = [simplex]
    return vectors if kernel.distance == "tv" or callable(kernel.distance) else [line, *vectors]


def _subsets(K: int) -> FloatArray:
    """Return the indicators of the non-empty sets of classes: the uniform distributions on the faces of the simplex."""
    numbers = np.arange(1, 2 ** min(K, 5))
    bits: FloatArray = (numbers[:, None] >> np.arange(K) & 1).astype(np.float64)
    return bits


def _check_matrix(kernel: Kernel, points: FloatArray) -> None:
    rows = np.arange(len(points))
    named = (
        kernel.distance if kernel.distance in ("tv", "l1", "euclidean") or callable(kernel.distance) else "euclidean"
    )
    d = distance_of_points(points, named)(rows[:, None], rows[None, :])
    _check_gram(np.asarray(kernel.of_distance(d)), repr(kernel))


def _check_gram(G: FloatArray, name: str) -> None:
    assert np.isfinite(G).all(), f"{name}: the kernel is not finite"
    assert np.allclose(G, G.T, rtol=TOLERANCE, atol=TOLERANCE), f"{name}: the kernel is not symmetric"
    values = np.linalg.eigvalsh((G + G.T) / 2)
    smallest = float(values[0])
    assert smallest >= -TOLERANCE * max(float(values[-1]), 1.0), (
        f"{name} is not positive semi-definite: its matrix on {len(G)} points has the eigenvalue {smallest:.3g}"
    )


def _check_joint(kernel: JointKernel, K: int, rng: np.random.Generator) -> None:
    P = np.repeat(rng.dirichlet(np.full(K, 0.7), 12), K, axis=0)
    labels = np.tile(np.arange(K), 12)
    n = len(P)
    first, second = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    G = np.asarray(kernel(P[first], labels[first], P[second], labels[second]))
    assert G.shape == (n * n,), f"{type(kernel).__name__}: expected {n * n} values, one per pair; got shape {G.shape}"
    _check_gram(G.reshape(n, n), type(kernel).__name__)
    largest = float(np.abs(G).max())
    assert largest <= kernel.supremum * (1 + TOLERANCE), (
        f"{type(kernel).__name__}: {largest:g} exceeds supremum {kernel.supremum:g}"
    )
    assert kernel.signed or G.min() >= 0, f"{type(kernel).__name__}: negative values; set signed = True"
    form = JointForm(P, labels, kernel)
    assert np.isfinite(form.diagonal()).all(), f"{type(kernel).__name__}: h is not finite"
