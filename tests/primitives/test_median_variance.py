"""Median variance binning, against the queue of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calibrant.inputs.probabilities import two_columns
from calibrant.primitives.median_variance import median_variance_bins


def by_queue(P, minsize, maxbins):
    """Return the bins by the steps of the definition, one set at a time."""

    def spread(rows):
        variance = P[rows].var(axis=0, ddof=1)
        return variance.max(), int(np.argmax(variance >= variance.max() * (1 - 1e-12)))

    first = np.lexsort(P.T)
    if len(P) < 2 * minsize:
        return [first]
    queue, final, bins = [(*spread(first), first)], [], 1
    while queue and (maxbins is None or bins < maxbins):
        place = max(range(len(queue)), key=lambda i: queue[i][0])  # the first of the largest
        _, d, S = queue.pop(place)
        value = P[S, d]
        cut = np.sort(value)[len(S) // 2]
        parts = S[value < cut], S[value >= cut]
        if min(map(len, parts)) < minsize:
            final.append(S)
            continue
        bins += 1
        for part in parts:
            if len(part) < 2 * minsize:
                final.append(part)
            else:
                queue.append((*spread(part), part))
    return final + [S for *_, S in queue]


def as_sets(numbers):
    return sorted(np.flatnonzero(numbers == b).tolist() for b in range(numbers.max() + 1))


def test_by_hand():
    # The first column is 0, 1, 0, 0.5: the cut 0.5 leaves {0, 0} and {0.5, 1}, and the second is cut again at 1.
    P = two_columns(np.array([0.0, 1.0, 0.0, 0.5]))[:, ::-1]
    assert as_sets(median_variance_bins(P, 1, None)) == [[0, 2], [1], [3]]
    assert as_sets(median_variance_bins(P, 2, None)) == [[0, 2], [1, 3]]
    assert as_sets(median_variance_bins(P, 3, None)) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("maxbins", "expected"), [(1, [[0, 1, 2, 3]]), (2, [[0, 1], [2, 3]]), (3, [[0, 1], [2], [3]])])
def test_the_widest_set_is_cut_first(maxbins, expected):
    # The cut 0.2 leaves {0, 0.1} and {0.2, 0.9}, of which the second is wider.
    numbers = median_variance_bins(np.array([[0.0], [0.1], [0.2], [0.9]]), 1, maxbins)
    assert as_sets(numbers) == expected


def test_equal_variances_are_cut_in_the_order_they_came():
    # {0, .125} and {.75, .875} have equal variances; the part below came first.
    numbers = median_variance_bins(np.array([[0.75], [0.0], [0.875], [0.125]]), 1, 3)
    assert as_sets(numbers) == [[0, 2], [1], [3]]


def test_the_first_of_equal_components_is_cut():
    # Column 0 is 1, 0.75, 0, so that the cut 0.75 keeps the first two rows together; column 1 would keep the last two.
    P = two_columns(np.array([0.0, 0.25, 1.0]))
    assert as_sets(median_variance_bins(P, 1, 2)) == [[0, 1], [2]]


def test_no_other_component_is_tried():
    # Column 0 varies most, but its median is its minimum: one bin, although column 1 could be cut.
    P = np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [0.9, 0.1]])
    assert as_sets(median_variance_bins(P, 1, None)) == [[0, 1, 2, 3]]


def test_equal_rows_stay_together():
    assert median_variance_bins(np.full((50, 3), 1 / 3), 1, None).tolist() == [0] * 50


@pytest.mark.parametrize("n", [1, 2, 9, 19])
def test_few_rows_are_one_bin(n):
    P = np.random.default_rng(0).dirichlet([1, 1, 1], size=n)
    assert median_variance_bins(P, 10, None).tolist() == [0] * n


simplex = st.integers(2, 4).flatmap(
    lambda K: arrays(np.int64, st.tuples(st.integers(1, 40), st.just(K)), elements=st.integers(0, 6))
)


@given(simplex, st.integers(1, 5), st.one_of(st.none(), st.integers(1, 12)))
def test_as_the_definition(counts, minsize, maxbins):
    # Multiples of 1/32, so that no variance is a matter of rounding.
    P = counts / 32
    expected = sorted(sorted(S.tolist()) for S in by_queue(P, minsize, maxbins))
    assert as_sets(median_variance_bins(P, minsize, maxbins)) == expected


@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("maxbins", [None, 2, 7, 60, 1000])
def test_as_the_definition_on_many_rows(K, maxbins):
    P = np.random.default_rng(K).dirichlet(np.full(K, 0.5), size=700)
    expected = sorted(sorted(S.tolist()) for S in by_queue(P, 5, maxbins))
    assert as_sets(median_variance_bins(P, 5, maxbins)) == expected


@given(simplex, st.integers(1, 5), st.one_of(st.none(), st.integers(1, 12)), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(counts, minsize, maxbins, random):
    P = counts / 7 + 0.1  # not exact: variances that differ by rounding must do so in every order
    order = list(range(len(P)))
    random.shuffle(order)
    back = np.empty(len(P), int)
    back[order] = median_variance_bins(P[order], minsize, maxbins)
    # Which number a bin has does not matter; the pooled rows do.
    assert as_sets(back) == as_sets(median_variance_bins(P, minsize, maxbins))


@given(simplex, st.integers(1, 5), st.integers(1, 12))
def test_sizes(counts, minsize, maxbins):
    sizes = np.bincount(median_variance_bins(counts / 32, minsize, maxbins))
    assert sizes.size <= maxbins
    assert sizes.size == 1 or sizes.min() >= minsize
