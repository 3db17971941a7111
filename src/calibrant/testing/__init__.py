"""The laws that every measurement and every kernel obeys, to be run on calibrant's and on your own.

>>> from calibrant import brier_score
>>> from calibrant.testing import check_verb
>>> check_verb(brier_score)
"""

from calibrant.testing.data import DATA
from calibrant.testing.kernels import check_kernel
from calibrant.testing.law import LAWS
from calibrant.testing.laws import check_verb
from calibrant.testing.subjects import PerRow, Subject

__all__ = ["DATA", "LAWS", "PerRow", "Subject", "check_kernel", "check_verb"]
