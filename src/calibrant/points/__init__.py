"""Comparing sets of points: samples of a generative model with real data, or two samples with each other.

Points are plain arrays (n, d), the real ones first: ``cb.points.mmd(y, points)``. `compare` makes all
comparisons at once and says in words what differs.
"""

from calibrant.lazy import lazy as _lazy

# No module has the name of a verb: importing it would put the module where the verb stands.
__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
