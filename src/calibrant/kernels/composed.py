"""Which kernel a prediction gets, with defaults for what is left out; and the distances that kernels depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import InputError, NotApplicableError, shown
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.mixture import Mixture
from calibrant.inputs.parametric import Laplace, MvNormal
from calibrant.kernels.kernel import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    PairedDistance,
    Product,
    read_returned,
)

RowIndex = NDArray[np.intp]
Distance = Callable[[RowIndex, RowIndex], FloatArray]

SCIPY_NAMES = {"tv": "cityblock", "l1": "cityblock", "euclidean": "euclidean"}
OF_PROBABILITIES = ("tv", "l1", "euclidean")
OF_DISTRIBUTIONS = ("wasserstein", "embedding")
MAX_ROWS_CHECKED = 48  # of which every pair shows whether a distance is symmetric


def check_kernel_option(kernel: Any) -> None:
    if isinstance(kernel, type) and issubclass(kernel, (Kernel, JointKernel)):
        raise InputError(f"kernel must be a kernel, not a class: write {kernel.__name__}()")
    if not (kernel is None or isinstance(kernel, (Kernel, Product, JointKernel))):
        raise InputError(
            "kernel must be a kernel on predictions, such as Exponential(0.2), its product with a kernel on targets, "
            f"such as Exponential(0.2) * Delta(), or None for the default; got {shown(kernel)}"
        )


def probability_kernel(kernel: Kernel | Product | None, K: int) -> Product:
    """Return the kernels on predictions and targets for K classes (1: one probability per row)."""
    product = _completed(kernel, Exponential(), Delta())
    return Product(_on_probabilities(product.prediction, K), _on_classes(product.target))


def distribution_kernel(kernel: Kernel | Product | JointKernel | None, distribution: Distribution) -> Product:
    """Return the kernels on predictions and targets for predictive distributions."""
    if isinstance(kernel, JointKernel):
        raise NotApplicableError(
            f"a kernel that is not a product is for class probabilities only; got {type(distribution).__name__}. "
            "Use a product, such as Exponential() * Gaussian()"
        )
    target = Exponential() if isinstance(distribution, Laplace) else Gaussian()
    product = _completed(kernel, Exponential(), target)
    return Product(_on_distributions(product.prediction, distribution), _on_reals(product.target))


def coverage_kernel(kernel: Kernel | Product | JointKernel | None) -> Product:
    """Return the kernels on predictions and on hits for intervals, sets and quantiles."""
    if isinstance(kernel, JointKernel):
        raise NotApplicableError("a kernel that is not a product is for class probabilities only; use a product")
    product = _completed(kernel, Exponential(), Delta())
    prediction, target = product.prediction, product.target
    if isinstance(prediction, Delta) or prediction.distance not in (None, "euclidean"):
        raise InputError(
            "the kernel on intervals, sets and quantiles uses the Euclidean distance of their bounds, sizes or "
            f"values; got {prediction!r}"
        )
    if not isinstance(target, Delta):
        raise InputError(f"what is judged is hit or miss: the kernel on targets is Delta(); got {target!r}")
    return Product(prediction.with_distance("euclidean"), target)


def target_matrix(kernel: Kernel, K: int) -> FloatArray | None:
    """Return G_ab = k_Y(a, b) for K classes, None for the delta kernel."""
    if type(kernel) is Delta:
        return None
    a = np.arange(K)
    own = kernel.distance if callable(kernel.distance) else "labels"
    G = kernel.of_distance(distance_of_points(a, own)(a[:, None], a[None, :]))
    if not np.allclose(G, G.T, rtol=1e-10, atol=0):
        raise InputError("the kernel on classes must be symmetric: k(a, b) = k(b, a)")
    return G


def _completed(kernel: Kernel | Product | None, prediction: Kernel, target: Kernel) -> Product:
    if kernel is None:
        return Product(prediction, target)
    return Product(kernel, target) if isinstance(kernel, Kernel) else kernel


def _on_probabilities(kernel: Kernel, K: int) -> Kernel:
    if callable(kernel.distance):
        return kernel
    distance = checked_distance(kernel, "tv", OF_PROBABILITIES, "probabilities")
    if K >= 3 and distance != "euclidean" and not kernel.on_l1:
        raise InputError(
            f"{type(kernel).__name__} with distance={distance!r} is not positive definite for {K} classes, and "
            f"its error could be negative; use distance='euclidean', or Exponential(distance={distance!r})"
        )
    return kernel.with_distance(distance)


def checked_distance(kernel: Kernel, default: Any, names: tuple[str, ...], of: str) -> Any:
    """Return the distance of a kernel on predictions or points; refuse Delta, and names that are not of these."""
    if isinstance(kernel, Delta):
        raise InputError("Delta() is a kernel on classes, for targets; here use one such as Exponential()")
    distance = kernel.distance or default
    if distance not in names:
        raise InputError(f"distance={distance!r} is not a distance of {of}; use one of {', '.join(names)}")
    return distance


def _on_classes(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Delta) or kernel.distance == "labels" or callable(kernel.distance):
        return kernel
    raise InputError(
        f"{kernel!r} is a kernel for real outcomes, and these are classes; use Delta(), or for classes in a meaningful "
        f"order {type(kernel).__name__}(lengthscale=1.0, distance='labels')"
    )


def _on_distributions(kernel: Kernel, distribution: Distribution) -> Kernel:
    name = type(distribution).__name__
    if callable(kernel.distance):
        raise InputError(f"a distance of your own is for arrays; for {name} use 'wasserstein' or 'embedding'")
    on_line = distribution.shape == () and not isinstance(distribution, Mixture)
    distance = checked_distance(kernel, "wasserstein" if on_line else "embedding", OF_DISTRIBUTIONS, name)
    if distance == "wasserstein":
        if not on_line and not isinstance(distribution, MvNormal):
            raise NotApplicableError(
                f"distance='wasserstein' has no form for {name}"
                f"{'' if distribution.shape == () else ' in several dimensions'}; use distance='embedding'"
            )
        if isinstance(distribution, MvNormal) and not isinstance(kernel, Exponential) and not commute(distribution):
            raise InputError(
                f"{type(kernel).__name__} with distance='wasserstein' is not positive definite for MvNormal whose "
                "covariances do not commute; use distance='embedding', or Exponential"
            )
    return kernel.with_distance(distance)


def _on_reals(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Delta) or kernel.distance == "labels":
        raise InputError(
            f"{kernel!r} is a kernel for classes, and these outcomes are real; use Gaussian() or Exponential()"
        )
    if kernel.distance not in (None, "euclidean"):
        raise InputError(
            f"the kernel on real outcomes uses the Euclidean distance; leave distance out; got {shown(kernel.distance)}"
        )
    return kernel.with_distance("euclidean")


def commute(distribution: MvNormal) -> bool:
    """Tell whether all covariances commute.

    They do if each commutes with one combination of all whose coefficients are in no special relation: a
    commutator [Σ_a, Σ_b] that is not 0 would show in that of Σ_a with the combination.
    """
    if distribution.is_shared or distribution.is_diagonal:
        return True
    coefficients = np.sqrt(np.arange(2, distribution.n + 2)) % 1 + 0.5
    combination = np.einsum("n,nab->ab", coefficients / coefficients.sum(), distribution.cov)
    commutator = distribution.cov @ combination - combination @ distribution.cov
    size = np.abs(distribution.cov).max(axis=(1, 2)) * np.abs(combination).max()
    return bool((np.abs(commutator).max(axis=(1, 2)) <= 1e-10 * size).all())


@dataclass(frozen=True, eq=False)
class LineDistance:
    """|x - x'| of numbers."""

    x: FloatArray

    def __call__(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return np.abs(self.x[i] - self.x[j])


@dataclass(frozen=True, eq=False)
class VectorDistance:
    """Euclidean, L1 or half the L1 ("tv") distance of vectors (n, c)."""

    X: FloatArray
    name: str

    def __call__(self, i: RowIndex, j: RowIndex) -> FloatArray:
        if is_tile(i, j):
            from scipy.spatial.distance import cdist

            d = cdist(self.X[i[:, 0]], self.X[j[0]], SCIPY_NAMES[self.name])
        elif self.name == "euclidean":
            with np.errstate(over="ignore"):  # as far as infinity: the kernel is 0 there
                d = np.sqrt(np.square(self.X[i] - self.X[j]).sum(axis=-1))
        else:
            d = np.abs(self.X[i] - self.X[j]).sum(axis=-1)
        return np.asarray(d / 2 if self.name == "tv" else d)


@dataclass(frozen=True, eq=False)
class CustomDistance:
    """The distance of a user's function of m points and m others."""

    points: NDArray[Any]
    function: PairedDistance

    def __call__(self, i: RowIndex, j: RowIndex) -> FloatArray:
        first, second = (rows.reshape(-1) for rows in np.broadcast_arrays(i, j))
        returned = self.function(self.points[first].copy(), self.points[second].copy())
        found = read_returned(returned, first.shape, "the distance", "per pair")
        bad = ~(np.isfinite(found) & (found >= 0))
        if bad.any():
            at = int(np.argmax(bad))
            raise InputError(
                f"a distance must be finite and at least 0; rows {int(first[at])} and {int(second[at])} "
                f"have {shown(found[at])}"
            )
        return found.reshape(np.broadcast_shapes(i.shape, j.shape)).astype(np.float64)


def is_tile(i: RowIndex, j: RowIndex) -> bool:
    """Tell whether i and j are a column and a row, where every row of i meets every row of j."""
    return i.ndim == 2 and j.ndim == 2 and i.shape[1] == 1 and j.shape[0] == 1


def distance_of_points(points: NDArray[Any], distance: str | PairedDistance) -> Distance:
    """Return a named or own distance of numbers (n,) or vectors (n, c)."""
    if callable(distance):
        own = CustomDistance(points, distance)
        _check_symmetry(own, len(points))
        return own
    return LineDistance(points) if points.ndim == 1 else VectorDistance(points, distance)


def _check_symmetry(distance: Distance, n: int) -> None:
    rows = np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS_CHECKED)).astype(np.intp))
    d = distance(rows[:, None], rows[None, :])
    off = np.abs(d - d.T) > 1e-10 * np.maximum(np.abs(d), np.abs(d.T))
    if off.any():
        a, b = (int(k) for k in np.argwhere(off)[0])
        raise InputError(
            f"a distance must be symmetric; rows {int(rows[a])} and {int(rows[b])} have {d[a, b]:.6g} one way "
            f"and {d[b, a]:.6g} the other"
        )
    if d.diagonal().any():
        a = int(np.argmax(d.diagonal() != 0))
        raise InputError(
            f"a distance must be 0 between a point and itself; row {int(rows[a])} has {d[a, a]:.6g}. "
            "It gets m points and m others and returns one number per pair"
        )
