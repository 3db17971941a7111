"""Kernels that travel as text."""

import numpy as np
import pytest

from calibrant import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    Matern32,
    Matern52,
    RationalQuadratic,
    SummaryError,
)
from calibrant.kernels.text import kernel_of, text_of


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
