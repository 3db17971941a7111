"""Kernels that a user composes: a shape, a distance, a length scale, and products of predictions and targets."""

from calibrant.kernels.kernel import (
    Delta,
    Exponential,
    Gaussian,
    JointKernel,
    Kernel,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
)

__all__ = [
    "Delta",
    "Exponential",
    "Gaussian",
    "JointKernel",
    "Kernel",
    "Matern32",
    "Matern52",
    "Product",
    "RationalQuadratic",
]
