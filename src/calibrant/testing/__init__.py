"""The laws that every measurement and every kernel obeys, to be run on calibrant's and on your own.

>>> from calibrant import brier_score
>>> from calibrant.testing import check_verb
>>> check_verb(brier_score)
"""

from calibrant.testing.kernels import check_kernel
from calibrant.testing.laws import LAWS, check_verb

__all__ = ["LAWS", "check_kernel", "check_verb"]
