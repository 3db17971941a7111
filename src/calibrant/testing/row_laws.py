"""Laws of rows: their order, their weights, and how parts make a whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.summary import Summary
from calibrant.errors import InputError, SummaryError
from calibrant.testing.cases import Case
from calibrant.testing.law import law, same
from calibrant.testing.numbers import numbers
from calibrant.testing.subjects import Subject


@law()
def row_order_does_not_matter(subject: Subject, rng: np.random.Generator) -> None:
    """Shuffled rows give the same numbers."""
    case = subject.case(rng)
    order = rng.permutation(case.n)
    for one in (case, case.weighted(subject.weights(rng, case.n))):
        same(subject, subject.value(one.rows(order)), subject.value(one), "shuffled rows")


@law(applies=lambda subject: subject.entry.mean and not subject.equal_weights)
def weight_two_is_a_row_twice(subject: Subject, rng: np.random.Generator) -> None:
    """For means a whole-number weight equals repeated rows; pair estimators and tests do not claim it."""
    case = subject.case(rng)
    times = rng.integers(1, 4, case.n)
    repeated = case.rows(np.repeat(np.arange(case.n), times))
    same(subject, subject.value(case.weighted(times)), subject.value(repeated), "repeated rows")


@law()
def a_common_factor_of_weights_changes_nothing(subject: Subject, rng: np.random.Generator) -> None:
    """Weights times 7 give the same numbers, and equal weights those of no weights."""
    case = subject.case(rng)
    w = subject.weights(rng, case.n)
    base, scaled = (_without_weight(subject, case.weighted(w * factor)) for factor in (1, 7))
    same(subject, scaled, base, "weights times 7")
    equal = _without_weight(subject, case.weighted(np.full(case.n, 7)))
    same(subject, equal, _without_weight(subject, case), "all weights 7")


def _without_weight(subject: Subject, case: Case) -> NDArray[np.float64]:
    """Return the numbers of a result less the column that reports the weight itself."""
    return numbers(subject.measure(case), without=("weight",))


@law()
def weight_zero_is_an_absent_row(subject: Subject, rng: np.random.Generator) -> None:
    """Rows of weight 0 count for nothing."""
    case = subject.case(rng)
    w = subject.weights(rng, case.n) * (rng.random(case.n) < 0.8)
    present = case.weighted(w).rows(w > 0)
    same(subject, subject.value(case.weighted(w)), subject.value(present), "rows of weight 0")


@law(applies=lambda subject: subject.equal_weights)
def unequal_weights_are_refused(subject: Subject, rng: np.random.Generator) -> None:
    """What takes equal weights alone says so, also of batches that have one weight each."""
    case = subject.case(rng)
    _refused(subject, lambda: subject.measure(case.weighted(rng.uniform(1, 2, case.n))))
    batches = [case.weighted(np.full(case.n, weight)) for weight in (1, 2)]
    _refused(subject, lambda: subject.value_of(_total(subject, batches)))


def _refused(subject: Subject, call: Callable[[], Any]) -> None:
    try:
        call()
    except (InputError, SummaryError) as problem:
        assert "weight" in str(problem), f"{subject.entry.name}: the message does not name weights: {problem}"
    else:
        raise AssertionError(f"{subject.entry.name}: unequal weights gave a number")


@law()
def chunks_add_up_to_the_whole(subject: Subject, rng: np.random.Generator) -> None:
    """Summaries of 1, 7 or 100 chunks merge to the numbers of all rows."""
    case = subject.case(rng)
    for weights in (None, subject.weights(rng, case.n)):
        whole = case.weighted(weights)
        expected = subject.value(whole)
        for count in (1, 7, 100):
            parts = np.array_split(np.arange(case.n), count)
            total = _total(subject, [whole.rows(part) for part in parts])
            same(subject, subject.value_of(total), expected, f"{count} chunks")


def _total(subject: Subject, batches: list[Case]) -> Summary:
    return reduce(add, (subject.summary(batch) for batch in batches))


@law()
def bytes_bring_a_summary_back(subject: Subject, rng: np.random.Generator) -> None:
    """to_bytes and from_bytes give an equal summary and equal numbers."""
    case = subject.case(rng)
    summary = subject.summary(case.weighted(subject.weights(rng, case.n)))
    back = Summary.from_bytes(summary.to_bytes())
    assert back == summary, f"{subject.entry.name}: the summary read back differs"
    assert back + type(summary).zero() == summary, f"{subject.entry.name}: zero changes the summary"
    same(subject, subject.value_of(back), subject.value_of(summary), "a summary read back", rtol=1e-13, atol=1e-14)
