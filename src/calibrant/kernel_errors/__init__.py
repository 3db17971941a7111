"""Kernel calibration errors of every kind of prediction, and their tests."""

from calibrant.lazy import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
