"""Reference values of intervals, sets and quantiles, and rows that cover or miss."""

import numpy as np
from tests.references.books import book

from calibrant import Intervals, Sets

BOOK = book("intervals")
DATA = BOOK["data"]
CASES = {case["id"]: case["expected"] for case in BOOK["cases"]}
CALLS = {case["id"]: case["call"] for case in BOOK["cases"]}


def intervals_of(name="reg16"):
    given = DATA[name]
    return np.array(given["y"]), Intervals(given["lower"], given["upper"], given["level"])


def sets_of(name="sets16"):
    return np.array(DATA[name]["y"]), Sets(np.array(DATA[name]["mask"]), DATA[name]["level"])


def judged(hits, level=0.9, n=None):
    """Return outcomes and intervals of which these rows (or so many first rows of n) are covered."""
    hit = np.asarray(hits, dtype=bool) if n is None else np.arange(n) < hits
    return np.where(hit, 0.0, 9.0), Intervals(np.full(hit.size, -1.0), np.full(hit.size, 1.0), level)
