"""Which kernel the options mean for points."""

import itertools

import numpy as np
import pytest

from calibrant.errors import InputError, NotApplicableError, SummaryError
from calibrant.kernels import Delta, Exponential, Gaussian, JointKernel, Kernel, Matern32, Matern52, RationalQuadratic
from calibrant.kernels.point_kernels import Polynomial, kernel_of, point_kernel, text_of

Z = np.random.default_rng(0).normal(size=(30, 3))


def chosen(kernel="gaussian", bandwidth="median", points=Z, **options):
    return point_kernel(kernel, bandwidth, points, np.random.default_rng(0), **options)


def median(distance, points=Z):
    return np.median([distance(a, b) for a, b in itertools.combinations(points, 2)])


def test_names():
    assert chosen(bandwidth=2) == Gaussian(2.0, "euclidean")
    assert chosen("laplace", 2.5) == Exponential(2.5, "l1")
    assert chosen("polynomial") == Polynomial(3)


def test_the_median_is_that_of_the_kernels_own_distance():
    euclidean = median(lambda a, b: np.linalg.norm(a - b))
    l1 = median(lambda a, b: np.abs(a - b).sum())
    assert chosen().length == pytest.approx(euclidean, rel=1e-12)
    assert chosen("laplace").length == pytest.approx(l1, rel=1e-12)
    assert chosen(Matern32()) == Matern32(chosen().length, "euclidean")
    assert chosen(Exponential(distance="l1")) == chosen("laplace")
    own = chosen(Gaussian(distance=lambda a, b: np.abs(a - b).max(axis=-1)))
    assert own.length == pytest.approx(median(lambda a, b: np.abs(a - b).max()), rel=1e-12)


def test_a_kernel_brings_its_own_length_scale(refusal):
    assert chosen(RationalQuadratic(alpha=2.0, lengthscale=3.0)).length == 3.0
    assert "bandwidth= goes with the name of a kernel; Gaussian" in refusal(chosen, Gaussian(1.0), 2.0)


def test_polynomial_by_hand():
    assert Polynomial().of_products(np.array([0.0, 2.0]), 2).tolist() == [1.0, 8.0]


@pytest.mark.parametrize(
    ("kernel", "bandwidth", "words"),
    [
        ("rbf", "median", "kernel must be one of 'gaussian', 'laplace', 'polynomial'; got 'rbf'"),
        (3, "median", "kernel must be one of .* or a kernel such as .*; got 3"),
        (Gaussian, "median", r"not a class: write Gaussian\(\)"),
        (Gaussian() * Delta(), "median", "points have no targets"),
        (Kernel(1.0), "median", r"Kernel\(lengthscale=1.0, distance=None\) has no profile; pass a kernel such as"),
        (Delta(), "median", r"Delta\(\) is a kernel on classes"),
        (Gaussian(1.0, "l1"), "median", "Gaussian with distance='l1' is not positive definite"),
        (Exponential(1.0, "wasserstein"), "median", "is not a distance of points"),
        ("polynomial", 1.0, "has no length scale; leave bandwidth out"),
    ],
)
def test_refused(kernel, bandwidth, words):
    with pytest.raises(InputError, match=words):
        chosen(kernel, bandwidth)


def test_points_that_are_all_alike_have_no_scale():
    with pytest.raises(NotApplicableError, match=r"not a length scale; pass a number, such as bandwidth=1.0"):
        chosen(points=np.ones((5, 2)))


def test_mostly_equal_points_take_the_mean():
    points = np.array([[0.0]] * 5 + [[3.0]])  # ten pairs at 0, five at 3
    assert chosen(points=points).length == 1.0


@pytest.mark.parametrize(
    "kernel",
    [
        Exponential(0.1, "tv") * Delta(),
        Gaussian(1 / 3, "euclidean") * Gaussian(1.0, "labels"),
        Matern32(2.0, "wasserstein") * Matern52(0.7, "euclidean"),
        RationalQuadratic(0.3, 1.1, "embedding") * Exponential("median"),
    ],
    ids=repr,
)
def test_there_and_back(kernel):
    assert kernel_of(text_of(kernel)) == kernel


class Own(Kernel):
    def profile(self, u):
        return 1 / (1 + u)


class Exponential2(Exponential):
    pass


Exponential2.__name__ = "Exponential"


class Joint(JointKernel):
    pass


@pytest.mark.parametrize(
    "kernel",
    [
        Own(1.0) * Delta(),
        Exponential(1.0) * Own(1.0),
        Exponential(1.0, lambda a, b: np.abs(a - b)) * Delta(),
        Exponential2(1.0) * Delta(),
        Joint(),
    ],
    ids=["prediction", "target", "distance", "namesake", "joint"],
)
def test_what_is_ones_own_is_refused(kernel, refusal):
    assert "merge in memory instead" in refusal(text_of, kernel, error=SummaryError)


def test_a_foreign_name(refusal):
    text = text_of(Exponential(1.0) * Delta()).replace("Exponential", "Sinc")
    assert "a kernel that calibrant does not have" in refusal(kernel_of, text, error=SummaryError)
