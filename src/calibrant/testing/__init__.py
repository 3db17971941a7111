"""The laws that every measurement obeys, to be run on calibrant's catalogue and on measurements of your own.

>>> from calibrant import brier_score
>>> from calibrant.testing import check_verb
>>> check_verb(brier_score)
"""

from calibrant.testing.laws import LAWS, check_verb

__all__ = ["LAWS", "check_verb"]
