"""calibrant tells whether probabilistic predictions can be trusted.

Outcome first, prediction second, options by keyword: ``ece(y, p, bins=15)``. A metric returns a number or a record of
numbers, a test a `TestResult`, a curve a `Curve`. Every verb of the catalogue also takes the summary that
`summarize` makes, and summaries of batches add up.
"""

from calibrant.lazy import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy(__name__, __file__)
