"""A kernel fitted to rows: first its length scales, then h, ready to be summed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.errors import InputError
from calibrant.inputs.arrays import FloatArray
from calibrant.inputs.distribution import Distribution
from calibrant.inputs.parametric import LocationScale, MvNormal
from calibrant.inputs.probabilities import Binary
from calibrant.inputs.rows import DistributionRows, DrawnRows, RegionRows
from calibrant.inputs.samples import Samples
from calibrant.kernels.composed import (
    Distance,
    LineDistance,
    RowIndex,
    VectorDistance,
    commute,
    coverage_kernel,
    distance_of_points,
    distribution_kernel,
    probability_kernel,
    target_matrix,
)
from calibrant.kernels.expectations import target_means
from calibrant.kernels.expected_points import SampledMeans, quantile_points
from calibrant.kernels.forms import DistributionForm, Form, JointForm, LineForm, MeanForm, VectorForm
from calibrant.kernels.kernel import JointKernel, Kernel, Product, read_returned
from calibrant.kernels.kernel_rows import CoverageRows, KernelRows
from calibrant.kernels.median import median_lengthscale, median_rows
from calibrant.kernels.target_means import TargetMeans, squared_embedding_distance

AnyKernel = Kernel | Product | JointKernel | None
"""What the option `kernel` takes; None is the default for the kind of prediction."""


@dataclass(frozen=True, eq=False)
class Randomness:
    """The random numbers of a call, and how many draws replace a distribution whose means have no closed form."""

    draws: int | None
    rng: np.random.Generator


def completed(rows: KernelRows, kernel: AnyKernel) -> Product | JointKernel:
    if isinstance(rows, DistributionRows):
        return distribution_kernel(kernel, rows.distribution)
    if isinstance(rows, RegionRows):
        return coverage_kernel(kernel)
    if isinstance(kernel, JointKernel):
        return kernel
    return probability_kernel(kernel, rows.K)


def resolved(rows: KernelRows, kernel: AnyKernel, random: Randomness) -> Product | JointKernel:
    """Return the kernels on predictions and targets with defaults filled in and numbers for length scales."""
    product = completed(rows, kernel)
    if isinstance(product, JointKernel) or "median" not in (product.prediction.lengthscale, product.target.lengthscale):
        return product
    few = rows.take(median_rows(rows.n, random.rng))
    if isinstance(few, DistributionRows):
        return _resolved_for_distributions(few, product, random)
    if isinstance(few, RegionRows):
        return _resolved_for_coverage(CoverageRows.of(few), product)
    points = few.prediction.astype(np.float64)
    prediction = _with_median(
        product.prediction, distance_of_points(points, product.prediction.distance or "tv"), few.n
    )
    labels = few.y.astype(np.float64)
    target = _with_median(product.target, distance_of_points(labels, product.target.distance or "labels"), few.n, True)
    return Product(prediction, target)


def has_median_target(rows: DrawnRows, kernel: AnyKernel) -> bool:
    """Tell whether the length scale on targets is found from the outcomes and changes with them."""
    product = completed(rows, kernel)
    return isinstance(product, Product) and product.target.lengthscale == "median"


def form_of(rows: KernelRows, kernel: Product | JointKernel, random: Randomness) -> Form:
    """Return h of these rows for resolved kernels."""
    if isinstance(rows, DistributionRows):
        assert isinstance(kernel, Product)
        return _form_of_distributions(rows, kernel, random)
    if isinstance(rows, RegionRows):
        assert isinstance(kernel, Product)
        return _form_of_coverage(CoverageRows.of(rows), kernel.prediction)
    if isinstance(kernel, JointKernel):
        joint = JointForm(rows.simplex, rows.y.astype(np.intp), kernel)
        _check_joint(joint)
        return joint
    if isinstance(rows, Binary):
        x = rows.p.astype(np.float64)
        return LineForm(x, rows.y - x, kernel.prediction, binary_factor(kernel.target))
    return VectorForm.of(rows.P, rows.y, kernel.prediction, target_matrix(kernel.target, rows.K))


def binary_factor(target: Kernel) -> float:
    """Return k(0,0) - k(0,1) - k(1,0) + k(1,1), by which residuals of one probability are multiplied."""
    G = target_matrix(target, 2)
    return 2.0 if G is None else float(G[0, 0] - G[0, 1] - G[1, 0] + G[1, 1])


def _resolved_for_distributions(few: DistributionRows, product: Product, random: Randomness) -> Product:
    outcomes = LineDistance(few.y) if few.y.ndim == 1 else VectorDistance(few.y, "euclidean")
    target = _with_median(product.target, outcomes, few.n, True)
    if product.prediction.lengthscale != "median":
        return Product(product.prediction, target)
    form = _form_of_distributions(few, Product(product.prediction.with_lengthscale(1.0), target), random)
    forms = form.forms if isinstance(form, MeanForm) else (form,)
    distances = [part.distance for part in forms if isinstance(part, DistributionForm)]
    scales = [median_lengthscale(distance, np.arange(few.n)) for distance in distances]
    return Product(product.prediction.with_lengthscale(sum(scales) / len(scales)), target)


def _resolved_for_coverage(few: CoverageRows, product: Product) -> Product:
    """Return the kernels; the median distance is taken per level, and the mean of these.

    A level at which all predictions are equal has no scale. It is left out unless all levels are like this, when
    `median_lengthscale` raises.
    """
    varied = np.flatnonzero((few.points != few.points[:1]).any(axis=(0, 2)))
    chosen = varied if varied.size else range(few.levels.size)
    distances = [VectorDistance(few.points[:, k], "euclidean") for k in chosen]
    scales = [median_lengthscale(distance, np.arange(few.n)) for distance in distances]
    return Product(product.prediction.with_lengthscale(sum(scales) / len(scales)), product.target)


def _form_of_coverage(rows: CoverageRows, kernel: Kernel) -> Form:
    forms: list[Form] = []
    for k in range(rows.levels.size):
        points, e = rows.points[:, k], rows.e[:, k]
        if points.shape[1] == 1:
            forms.append(LineForm(np.ascontiguousarray(points[:, 0]), e, kernel, 2.0))
        else:
            R = np.column_stack([np.sqrt(2) * e, np.zeros(rows.n)])
            forms.append(VectorForm(np.ascontiguousarray(points), np.zeros(rows.n, np.intp), R, R, None, kernel))
    return forms[0] if len(forms) == 1 else MeanForm(*forms)


def _with_median(kernel: Kernel, distance: Distance, n: int, target: bool = False) -> Kernel:
    if kernel.lengthscale != "median":
        return kernel
    what = "the outcomes" if target else "the predictions"
    return kernel.with_lengthscale(median_lengthscale(distance, np.arange(n), what))


def _form_of_distributions(rows: DistributionRows, kernel: Product, random: Randomness) -> Form:
    if rows.samples is not None:
        return _split(rows, rows.samples, kernel)
    means = target_means(rows.distribution, kernel.target, draws=random.draws, rng=random.rng)
    if kernel.prediction.distance == "wasserstein":
        distance = wasserstein(rows.distribution)
    elif isinstance(means, SampledMeans):
        # The draws that enter k_P must not be those that enter h_Y.
        other = Samples(rows.distribution.sample(means.draws.shape[1], random.rng))
        distance = EmbeddingDistance(target_means(other, kernel.target))
    else:
        distance = EmbeddingDistance(means)
    return DistributionForm(rows.y, distance, kernel.prediction, kernel.target, means)


def _split(rows: DistributionRows, distribution: Samples, kernel: Product) -> Form:
    """Return the mean of k_P of the even draws with h_Y of the odd ones, and the other way round.

    With the same draws in both the error of a calibrated prediction would be biased upwards.
    """
    M = distribution.draws.shape[1]
    if M < 2:
        raise InputError(f"a kernel error of Samples needs at least 2 draws per row, half for each kernel; got {M}")
    halves = [Samples(distribution.draws[:, start::2]) for start in (0, 1)]
    means = [target_means(half, kernel.target) for half in halves]
    distances = [
        wasserstein(half) if kernel.prediction.distance == "wasserstein" else EmbeddingDistance(mean)
        for half, mean in zip(halves, means, strict=True)
    ]
    forms = (DistributionForm(rows.y, distances[k], kernel.prediction, kernel.target, means[1 - k]) for k in (0, 1))
    return MeanForm(*forms)


CHECKED_ROWS = 24  # every pair of which a kernel that is not a product is checked on


def _check_joint(form: JointForm) -> None:
    """Refuse a kernel that is not finite or not symmetric on some of the rows, with classes in turn."""
    rows = np.unique(np.linspace(0, form.n - 1, min(form.n, CHECKED_ROWS)).astype(np.intp))
    i, j = (side.reshape(-1) for side in np.meshgrid(rows, rows, indexing="ij"))
    K = form.P.shape[1]
    a, b = i % K, (j + 1) % K
    # Copies: the kernel may write to them.
    k = read_returned(form.kernel(form.P[i], a.copy(), form.P[j], b.copy()), i.shape, "the kernel", "per pair")
    back = np.asarray(form.kernel(form.P[j], b.copy(), form.P[i], a.copy()))
    at = int(np.argmax(~np.isfinite(k)))
    if not np.isfinite(k[at]):
        raise InputError(f"the kernel must be finite; rows {int(i[at])} and {int(j[at])} give {k[at]}")
    at = int(np.argmax(np.abs(k - back)))
    if abs(k[at] - back[at]) > 1e-10 * float(np.abs(k).max()):
        raise InputError(
            f"the kernel must be symmetric, k((p, a), (q, b)) = k((q, b), (p, a)); rows {int(i[at])} and "
            f"{int(j[at])} give {k[at]:.6g} one way and {back[at]:.6g} the other"
        )


def wasserstein(distribution: Distribution) -> Distance:
    if isinstance(distribution, MvNormal) and not commute(distribution):
        return NormalWasserstein(distribution)
    return VectorDistance(coordinates(distribution), "euclidean")


def coordinates(distribution: Distribution) -> FloatArray:
    """Return coordinates (n, c) whose Euclidean distance is the 2-Wasserstein distance.

    W² = (μ - μ')² + (σ - σ')² for Normal, (μ - μ')² + 2 (β - β')² for Laplace, |μ - μ'|² + |Σ^½ - Σ'^½|² for
    commuting covariances, the mean squared difference of sorted draws, and ∫ (F⁻¹ - F'⁻¹)² otherwise.
    """
    if isinstance(distribution, LocationScale):
        return np.column_stack([distribution.means(), distribution.deviations()])
    if isinstance(distribution, MvNormal):
        return np.concatenate([distribution.mean, _roots(distribution).reshape(distribution.n, -1)], axis=1)
    if isinstance(distribution, Samples):
        return np.asarray(np.sort(distribution.draws, axis=1) / np.sqrt(distribution.draws.shape[1]))
    points, weights = quantile_points(distribution)
    return np.asarray(points * np.sqrt(weights))


@dataclass(frozen=True, eq=False)
class NormalWasserstein:
    """W² = |μ - μ'|² + tr(Σ + Σ' - 2 (Σ^½ Σ' Σ^½)^½) of normal distributions in several dimensions."""

    distribution: MvNormal

    @cached_property
    def roots(self) -> FloatArray:
        return _roots(self.distribution)

    def __call__(self, i: RowIndex, j: RowIndex) -> FloatArray:
        mean, cov = self.distribution.mean, self.distribution.cov
        root = self.roots[i]
        inner = np.linalg.eigvalsh(root @ cov[j] @ root)
        trace = np.trace(cov, axis1=1, axis2=2)
        square = np.square(mean[i] - mean[j]).sum(axis=-1) + trace[i] + trace[j]
        square -= 2 * np.sqrt(np.maximum(inner, 0)).sum(axis=-1)
        return np.asarray(np.sqrt(np.maximum(square, 0)))


@dataclass(frozen=True, eq=False)
class EmbeddingDistance:
    """d² = E2(p, p) - 2 E2(p, p') + E2(p', p'): the distance of mean embeddings, E2 of the kernel on targets."""

    means: TargetMeans

    def __call__(self, i: RowIndex, j: RowIndex) -> FloatArray:
        return np.sqrt(squared_embedding_distance(self.means, i, j))


def _roots(distribution: MvNormal) -> FloatArray:
    if distribution.is_diagonal:
        return np.sqrt(distribution.cov)
    values, vectors = np.linalg.eigh(distribution.cov[:1] if distribution.is_shared else distribution.cov)
    roots = (vectors * np.sqrt(np.maximum(values, 0))[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.broadcast_to(roots, distribution.cov.shape)
