"""Kernels that a user composes: a shape, a distance, a length scale, and products of predictions and targets."""

from calibrant.kernels.kernel import JointKernel, Kernel, Product
from calibrant.kernels.shapes import Delta, Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

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
