"""Laws of values: their range, what is perfect, bin edges, and few rows."""

from __future__ import annotations

import numpy as np

from calibrant.errors import CalibrantError, InputError
from calibrant.testing.data import DATA, on_edges
from calibrant.testing.input_laws import cast_floats
from calibrant.testing.law import law, same
from calibrant.testing.numbers import judgement, numbers
from calibrant.testing.subjects import Subject

NEVER_NAN = ("ece", "mce")


@law(applies=lambda subject: subject.data == "binary" and subject.entry.kind != "test")
def scores_on_bin_edges_stay_in_their_bin(subject: Subject, rng: np.random.Generator) -> None:
    """A score k/m falls into the same bin in every precision; a p-value jumps where values stop being tied."""
    for m in (2, 3, 7, 10, 15, 30, 100):
        case = on_edges(rng, m)
        expected = subject.measure(case)
        for dtype, tolerance in (("float32", 2e-5), ("float16", 2e-2)):
            found = subject.measure(case.remade(columns=cast_floats(dtype)))
            if subject.entry.kind == "curve":
                count = expected.columns.get("count", 0), found.columns.get("count", 0)
                assert np.array_equal(*count), f"{subject.entry.name}: other counts for k/{m} as {dtype}"
            else:
                ours, theirs = judgement(found), judgement(expected)
                same(subject, ours, theirs, f"k/{m} as {dtype}", rtol=tolerance, atol=tolerance)


@law(applies=lambda subject: subject.entry.kind != "curve")
def numbers_stay_in_the_declared_range(subject: Subject, rng: np.random.Generator) -> None:
    """A metric lies in its range, a p-value in [0, 1]."""
    case = subject.case(rng)
    for weights in (None, subject.weights(rng, case.n)):
        result = subject.measure(case.weighted(weights))
        if subject.entry.kind == "test":
            p = numbers(result.pvalue)
            p = p[~np.isnan(p)]  # of groups that are too small to be tested
            assert p.size > 0, f"{subject.entry.name}: no p-value"
            assert ((p >= 0) & (p <= 1)).all(), f"{subject.entry.name}: p-value {result.pvalue}"
            assert result.n == case.n
            continue
        low, high = subject.entry.range
        found = numbers(result)
        assert np.isfinite(found).any(), f"{subject.entry.name}: no finite number, on which no law would say anything"
        found = found[~np.isnan(found)]
        slack = 1e-12
        assert (found >= low - slack).all(), f"{subject.entry.name}: {found} below {low}"
        assert (found <= high + slack).all(), f"{subject.entry.name}: {found} above {high}"


@law(applies=lambda subject: subject.entry.kind != "curve" and DATA[subject.data].certain is not None)
def certain_and_right_is_perfect(subject: Subject, rng: np.random.Generator) -> None:
    """Predictions that are certain and right get the declared perfect value."""
    found = judgement(subject.measure(subject.certain(rng)))
    same(subject, found, subject.entry.perfect, "certain and right predictions")


@law()
def small_data_get_a_number_or_a_clear_error(subject: Subject, rng: np.random.Generator) -> None:
    """No rows are refused; one row, two rows and one class give a number that is none, or an error of calibrant."""
    case = subject.case(rng)
    try:
        subject.measure(case.rows(slice(0)))
    except InputError as problem:
        assert "no rows" in str(problem), f"{subject.entry.name}: the message for no rows is {problem}"
    else:
        raise AssertionError(f"{subject.entry.name}: no rows gave a number")
    small = [case.rows(slice(4, 5)), case.rows(slice(4, 6))]
    if case.y is not None and case.y.dtype.kind == "i":
        small += [case.rows(case.y == label) for label in (0, 1)]
    for few in small:
        try:
            found = subject.value(few)
        except CalibrantError:
            continue
        if subject.entry.kind == "test" or subject.entry.name in NEVER_NAN:
            assert not np.isnan(found).any(), f"{subject.entry.name}: nan for {few.n} rows"
