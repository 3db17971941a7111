"""The laws that every measurement, every kernel and every predictive law obeys, to be run on calibrant's and your own.

>>> from calibrant import brier_score
>>> from calibrant.testing import check_verb
>>> check_verb(brier_score)
"""

from calibrant.testing.data import DATA
from calibrant.testing.kernels import check_kernel
from calibrant.testing.law import LAWS
from calibrant.testing.laws import check_verb
from calibrant.testing.predictive_laws import check_law
from calibrant.testing.subjects import PerRow, Subject

__all__ = ["DATA", "LAWS", "PerRow", "Subject", "check_kernel", "check_law", "check_verb"]
