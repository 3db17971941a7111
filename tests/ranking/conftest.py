"""What tests of curves of ranks share: all small tables of counts, and the check of exact probabilities over them."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest


def count_tables(N, m):
    """Yield all counts of N rows in m ranks, and their probability if every rank is equally likely."""
    for bars in combinations(range(N + m - 1), m - 1):
        counts = np.diff([-1, *bars, N + m - 1]) - 1
        orders = factorial(N)
        for count in counts.tolist():
            orders //= factorial(count)
        yield np.repeat(np.arange(m), counts), orders / m**N


@pytest.fixture(scope="session", name="count_tables")
def count_tables_():
    return count_tables


@pytest.fixture(scope="session")
def check_exact():
    """Return a check over all tables: bands have their probability, and p is a distribution function at itself."""

    def check(curve_of, leaves, attained, *, N, m, level):
        found = [(curve_of(ranks), share) for ranks, share in count_tables(N, m)]
        inside = sum(share for curve, share in found if not leaves(curve))
        assert inside == pytest.approx(attained(found[0][0]), rel=1e-12)
        assert inside >= level
        p, share = np.array([(curve.pvalue, share) for curve, share in found]).T
        for value in np.unique(p):
            assert share[p <= value * (1 + 1e-9)].sum() == pytest.approx(value, rel=1e-9)

    return check
