"""Checks for verbs, kernels and predictive distributions: calibrant's own and yours.

>>> from calibrant import brier_score
>>> from calibrant.testing import check_verb
>>> check_verb(brier_score)
"""

from calibrant.testing.data import DATA, PerRow, VerbUnderTest
from calibrant.testing.distributions import check_distribution
from calibrant.testing.kernels import check_kernel
from calibrant.testing.verbs import PROPERTIES, check_verb

__all__ = ["DATA", "PROPERTIES", "PerRow", "VerbUnderTest", "check_distribution", "check_kernel", "check_verb"]
