"""The waist of the hourglass: small frozen values that merge with `+`."""

from calibrant.lazy import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
