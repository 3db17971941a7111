"""Ranks and PITs of outcomes under draws and predictive distributions: curves, tests and explanations."""

from calibrant.lazy import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
