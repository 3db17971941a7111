"""check_kernel accepts every kernel that is one and rejects what is none."""

import numpy as np
import pytest

from calibrant.errors import InputError
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Kernel, Matern32, Matern52, RationalQuadratic
from calibrant.testing import check_kernel
from calibrant.testing.kernels import _subsets

SMOOTH = [Gaussian, Matern32, Matern52, RationalQuadratic]


@pytest.mark.parametrize("lengthscale", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("distance", ["euclidean", "labels", "wasserstein", "embedding", None])
@pytest.mark.parametrize("shape", [Exponential, *SMOOTH])
def test_shapes_with_their_valid_distances(shape, distance, lengthscale):
    check_kernel(shape(lengthscale=lengthscale, distance=distance))


@pytest.mark.parametrize("distance", ["tv", "l1"])
@pytest.mark.parametrize("K", [2, 3, 4, 6])
def test_the_exponential_of_l1(distance, K):
    check_kernel(Exponential(1.0, distance), K=K)


def test_delta():
    check_kernel(Delta())


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_rational_quadratic(alpha):
    check_kernel(RationalQuadratic(alpha, 1.0, "euclidean"))


@pytest.mark.parametrize("shape", SMOOTH)
def test_smooth_shapes_on_one_probability(shape):
    check_kernel(shape(lengthscale=1.0, distance="tv"), points=np.linspace(0, 1, 30))


EIGENVALUES = {Gaussian: -0.158, Matern32: -0.086, Matern52: -0.133, RationalQuadratic: -0.111}


@pytest.mark.parametrize("shape", SMOOTH)
def test_smooth_shapes_of_total_variation_are_none(shape):
    faces = _subsets(4)
    assert len(faces) == 15
    points = faces / faces.sum(axis=1, keepdims=True)
    kernel = shape(lengthscale=1.0, distance="tv")
    d = np.abs(points[:, None] - points[None]).sum(axis=2) / 2
    assert np.linalg.eigvalsh(kernel.of_distance(d))[0] == pytest.approx(EIGENVALUES[shape], abs=6e-4)
    with pytest.raises(AssertionError, match=rf"15 points has the eigenvalue {EIGENVALUES[shape]}"):
        check_kernel(kernel, points=points)
    with pytest.raises(AssertionError, match="not positive semi-definite"):
        check_kernel(kernel)


class Broken(Kernel):
    def profile(self, u):
        return np.where(u > 3, np.nan, np.exp(-u))


class Sorted(Kernel):
    def profile(self, u):
        return np.sort(np.exp(-u), axis=None)[::-1].reshape(u.shape)


class Summed(Kernel):
    def profile(self, u):
        return np.exp(-u).sum()


class Large(Kernel):
    def profile(self, u):
        return 2 * np.exp(-u)


class SaysSo(Large):
    supremum = 2.0


class Wave(Kernel):
    def profile(self, u):
        return np.exp(-u) * np.cos(u)


class Triangle(Kernel):
    """Positive definite on a line, and not in several dimensions."""

    def profile(self, u):
        return np.maximum(1 - u, 0)


class Uniform(Kernel):
    def profile(self, u):
        return (u < 0.5).astype(float)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Broken(1.0), "profile is not finite at u = "),
        (Sorted(1.0), "depends on the order of its elements"),
        (Summed(1.0), "must work element by element"),
        (Large(1.0), "2 exceeds supremum 1"),
        (Wave(1.0), "negative; set signed = True"),
        (Uniform(1.0, "euclidean"), "not positive semi-definite"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kernel) else "",
)
def test_what_is_no_kernel(kernel, words):
    with pytest.raises(AssertionError, match=words):
        check_kernel(kernel)


def test_what_says_what_it_is():
    check_kernel(SaysSo(1.0, "euclidean"))


def test_a_distance_that_is_not_symmetric():
    kernel = Exponential(1.0, lambda a, b: np.maximum(a - b, 0)[:, 0])
    with pytest.raises((AssertionError, InputError), match="symmetric"):
        check_kernel(kernel)


def test_points_of_ones_own():
    check_kernel(Triangle(0.5, "euclidean"), points=np.linspace(0, 3, 40))
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    with pytest.raises(AssertionError, match=r"64 points has the eigenvalue -0\.0345"):
        check_kernel(Triangle(2.0, "euclidean"), points=grid)


class Joint(JointKernel):
    def __call__(self, p, a, q, b):
        return np.exp(-np.abs(p - q).sum(axis=1)) * np.where(a == b, 1.0, 0.5)


class JointNan(Joint):
    def __call__(self, p, a, q, b):
        return np.where(a == b, np.nan, super().__call__(p, a, q, b))


class JointSkew(Joint):
    def __call__(self, p, a, q, b):
        return super().__call__(p, a, q, b) * np.where(a < b, 0.5, 1.0)


class JointIndefinite(Joint):
    def __call__(self, p, a, q, b):
        return np.where(a == b, 0.25, 1.0)


class JointLarge(Joint):
    def __call__(self, p, a, q, b):
        return 3 * super().__call__(p, a, q, b)


class JointShape(Joint):
    def __call__(self, p, a, q, b):
        return super().__call__(p, a, q, b)[:, None]


def test_a_joint_kernel():
    check_kernel(Joint())
    check_kernel(Joint(), K=2)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (JointNan(), "not finite"),
        (JointSkew(), "not symmetric"),
        (JointIndefinite(), "not positive semi-definite"),
        (JointLarge(), "exceeds supremum"),
        (JointShape(), "one per pair"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, JointKernel) else "",
)
def test_what_is_no_joint_kernel(kernel, words):
    with pytest.raises(AssertionError, match=words):
        check_kernel(kernel)
