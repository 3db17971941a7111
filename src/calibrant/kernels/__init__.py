"""Kernels that a user composes: a shape, a distance, a length scale, and products of predictions and targets."""

from calibrant.lazy import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
