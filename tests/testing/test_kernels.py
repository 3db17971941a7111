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


@pytest.mark.parametrize(
    "kernel", [Delta(), RationalQuadratic(0.1, 1.0, "euclidean"), RationalQuadratic(10.0, 1.0, "euclidean")]
)
def test_other_kernels(kernel):
    check_kernel(kernel)


@pytest.mark.parametrize("shape", SMOOTH)
def test_smooth_shapes_on_one_probability(shape):
    check_kernel(shape(lengthscale=1.0, distance="tv"), points=np.linspace(0, 1, 30))


EIGENVALUES = {Gaussian: -0.158, Matern32: -0.086, Matern52: -0.133, RationalQuadratic: -0.111}


@pytest.mark.parametrize("shape", SMOOTH)
def test_smooth_shapes_of_total_variation_are_none(shape, refusal):
    faces = _subsets(4)
    assert len(faces) == 15
    points = faces / faces.sum(axis=1, keepdims=True)
    kernel = shape(lengthscale=1.0, distance="tv")
    d = np.abs(points[:, None] - points[None]).sum(axis=2) / 2
    assert np.linalg.eigvalsh(kernel.of_distance(d))[0] == pytest.approx(EIGENVALUES[shape], abs=6e-4)
    with pytest.raises(AssertionError, match=rf"15 points has the eigenvalue {EIGENVALUES[shape]}"):
        check_kernel(kernel, points=points)
    assert "not positive semi-definite" in refusal(check_kernel, kernel, error=AssertionError)


def made(profile, distance=None, lengthscale=1.0, **attributes):
    """Return a kernel of one's own with this profile."""
    return type("Made", (Kernel,), {"profile": lambda self, u: profile(u), **attributes})(lengthscale, distance)


def triangle(u):
    """Positive definite on a line, and not in several dimensions."""
    return np.maximum(1 - u, 0)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (made(lambda u: np.where(u > 3, np.nan, np.exp(-u))), "profile is not finite at u = "),
        (made(lambda u: np.sort(np.exp(-u), axis=None)[::-1].reshape(u.shape)), "on the order of its elements"),
        (made(lambda u: np.exp(-u).sum()), "must work element by element"),
        (made(lambda u: 2 * np.exp(-u)), "2 exceeds supremum 1"),
        (made(lambda u: np.exp(-u) * np.cos(u)), "negative; set signed = True"),
        (made(lambda u: (u < 0.5).astype(float), "euclidean"), "not positive semi-definite"),
        (Exponential(1.0, lambda a, b: np.maximum(a - b, 0)[:, 0]), "symmetric"),
    ],
)
def test_what_is_no_kernel(kernel, words):
    with pytest.raises((AssertionError, InputError), match=words):
        check_kernel(kernel)


def test_what_says_what_it_is():
    check_kernel(made(lambda u: 2 * np.exp(-u), "euclidean", supremum=2.0))


def test_points_of_ones_own():
    check_kernel(made(triangle, "euclidean", 0.5), points=np.linspace(0, 3, 40))
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    with pytest.raises(AssertionError, match=r"64 points has the eigenvalue -0\.0345"):
        check_kernel(made(triangle, "euclidean", 2.0), points=grid)


def joint(changed=lambda values, a, b: values):
    """Return a joint kernel whose values are changed."""

    def call(self, p, a, q, b):
        return changed(np.exp(-np.abs(p - q).sum(axis=1)) * np.where(a == b, 1.0, 0.5), a, b)

    return type("Joint", (JointKernel,), {"__call__": call})()


def test_a_joint_kernel():
    check_kernel(joint())
    check_kernel(joint(), K=2)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda values, a, b: np.where(a == b, np.nan, values), "not finite"),
        (lambda values, a, b: values * np.where(a < b, 0.5, 1.0), "not symmetric"),
        (lambda values, a, b: np.where(a == b, 0.25, 1.0), "not positive semi-definite"),
        (lambda values, a, b: 3 * values, "exceeds supremum"),
        (lambda values, a, b: values[:, None], "one per pair"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_joint_kernel(changed, words, refusal):
    assert words in refusal(check_kernel, joint(changed), error=AssertionError)
