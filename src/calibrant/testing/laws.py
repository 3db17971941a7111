"""Laws of measurements, one function each: an `AssertionError` says which number broke which law."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce
from importlib.util import find_spec
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.catalogue import Entry, find, summarize
from calibrant.errors import CalibrantError, InputError
from calibrant.inputs.laws import Law as PredictiveLaw
from calibrant.summaries import Summary
from calibrant.testing.cases import Case, cases, certain, on_edges
from calibrant.testing.numbers import numbers

Options = Mapping[str, Any]
Law = Callable[[Entry, Options, np.random.Generator], None]

LAWS: dict[str, Law] = {}
"""Every law by its name."""


def check_verb(verb: Any, *, exempt: Collection[str] = (), seed: int = 0, **options: Any) -> None:
    """Check a verb of the catalogue, with these options, against every law.

    Parameters
    ----------
    verb
        A function made by `calibrant.catalogue.metric`, `mean_metric`, `calibration_test` or `curve`, or its name.
    exempt
        Names of laws that do not apply with these options.
    seed
        Seed of the small data sets.
    **options
        Options of the verb.

    Raises
    ------
    AssertionError
        If a law does not hold.
    """
    unknown = set(exempt) - set(LAWS)
    if unknown:
        raise InputError(f"exempt names laws; {sorted(unknown)} are none of {sorted(LAWS)}")
    for name, check in LAWS.items():
        if name in exempt:
            continue
        try:
            check(find(verb), options, np.random.default_rng(seed))
        except AssertionError as problem:
            raise AssertionError(f"the law {name!r} does not hold: {problem}") from None


def law(check: Law) -> Law:
    """Enter a law."""
    LAWS[check.__name__.replace("_", " ")] = check
    return check


def value(entry: Entry, options: Options, case: Case) -> NDArray[np.float64]:
    """Return the verb's numbers for a case."""
    return numbers(entry.verb(case.y, case.prediction, weights=case.weights, **options))


def same(entry: Entry, ours: Any, expected: Any, why: str, *, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """Assert that two sets of numbers agree."""
    np.testing.assert_allclose(ours, expected, rtol=rtol, atol=atol, err_msg=f"{entry.name}: {why}")


@law
def row_order_does_not_matter(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Shuffled rows give the same numbers."""
    for case in cases(entry, rng):
        shuffled = case.weighted(rng.uniform(0.5, 3, len(case.y)))
        order = rng.permutation(len(case.y))
        for one in (case, shuffled):
            same(entry, value(entry, options, one.rows(order)), value(entry, options, one), "shuffled rows")


@law
def weight_two_is_a_row_twice(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """For means a whole-number weight equals repeated rows; pair estimators and tests do not claim it."""
    if not entry.mean:
        return
    for case in cases(entry, rng):
        times = rng.integers(1, 4, len(case.y))
        repeated = case.rows(np.repeat(np.arange(len(case.y)), times))
        same(entry, value(entry, options, case.weighted(times)), value(entry, options, repeated), "repeated rows")


@law
def a_common_factor_of_weights_changes_nothing(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Weights times 7 give the same numbers, and equal weights those of no weights."""
    for case in cases(entry, rng):
        w = rng.uniform(0.5, 3, len(case.y))
        base, scaled = (_without_weights(entry, options, case.weighted(w * factor)) for factor in (1, 7))
        same(entry, scaled, base, "weights times 7")
        equal = _without_weights(entry, options, case.weighted(np.full(len(case.y), 7)))
        same(entry, equal, _without_weights(entry, options, case), "all weights 7")


def _without_weights(entry: Entry, options: Options, case: Case) -> NDArray[np.float64]:
    """Return the numbers of a result less the columns that report the weight itself."""
    result = entry.verb(case.y, case.prediction, weights=case.weights, **options)
    if entry.kind == "curve":
        kept = [column for name, column in result.columns.items() if name != "weight"]
        return np.concatenate([np.asarray(column, dtype=np.float64) for column in kept])
    return numbers(result)


@law
def weight_zero_is_an_absent_row(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Rows of weight 0 count for nothing."""
    for case in cases(entry, rng):
        w = rng.uniform(0.5, 3, len(case.y)) * (rng.random(len(case.y)) < 0.8)
        present = case.weighted(w).rows(w > 0)
        same(entry, value(entry, options, case.weighted(w)), value(entry, options, present), "rows of weight 0")


@law
def chunks_add_up_to_the_whole(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Summaries of 1, 7 or 100 chunks merge to the numbers of all rows."""
    for case in cases(entry, rng):
        for weights in (None, rng.uniform(0.5, 3, len(case.y))):
            whole = case.weighted(weights)
            expected = value(entry, options, whole)
            for count in (1, 7, 100):
                parts = np.array_split(np.arange(len(case.y)), count)
                total = reduce(add, (_summary(entry, options, whole.rows(part)) for part in parts))
                same(entry, numbers(entry.verb(total, **options)), expected, f"{count} chunks")


@law
def bytes_bring_a_summary_back(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """to_bytes and from_bytes give an equal summary and equal numbers."""
    for case in cases(entry, rng):
        summary = _summary(entry, options, case.weighted(rng.uniform(0.5, 3, len(case.y))))
        back = Summary.from_bytes(summary.to_bytes())
        assert back == summary, f"{entry.name}: the summary read back differs"
        assert back + type(summary).zero() == summary, f"{entry.name}: zero changes the summary"
        np.testing.assert_array_equal(numbers(entry.verb(back, **options)), numbers(entry.verb(summary, **options)))


def _summary(entry: Entry, options: Options, case: Case) -> Summary:
    return summarize(entry.name, case.y, case.prediction, weights=case.weights, **options)


@law
def containers_are_read_by_position(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Lists, read-only and strided arrays, and the data frames that are installed give the same numbers."""
    for case in cases(entry, rng, n=60):
        w = rng.uniform(0.5, 3, 60)
        expected = value(entry, options, case.weighted(w))
        for name, (y, prediction, weights) in _containers(case.y, case.prediction, w).items():
            same(entry, value(entry, options, Case(y, prediction, weights)), expected, name)


def _containers(y: Any, P: Any, w: Any) -> dict[str, tuple[Any, Any, Any]]:
    if isinstance(P, PredictiveLaw):  # what its own parameters may come in is a matter of the law
        return {name: (outcomes, P, weights) for name, (outcomes, _, weights) in _containers(y, y, w).items()}
    found = {
        "lists": (y.tolist(), P.tolist(), w.tolist()),
        "strided arrays": tuple(np.repeat(a, 2, axis=0)[::2] for a in (y, P, w)),
        "Fortran order": tuple(np.asfortranarray(a) for a in (y, P, w)),
        "read-only arrays": tuple(_read_only(a) for a in (y, P, w)),
    }
    columns = {f"c{k}": column for k, column in enumerate(P.T)} if P.ndim == 2 else None
    if find_spec("pandas"):
        import pandas as pd

        backwards = np.arange(len(y))[::-1]  # an index that must not be aligned by
        prediction = pd.DataFrame(columns) if columns else pd.Series(P)
        found["pandas"] = (pd.Series(y, index=backwards), prediction, pd.Series(w, index=backwards + 5))
    if find_spec("polars"):
        import polars as pl

        found["polars"] = (pl.Series(y), pl.DataFrame(columns) if columns else pl.Series(P), pl.Series(w))
    if find_spec("pyarrow"):
        import pyarrow as pa

        found["pyarrow"] = (
            pa.array(y),
            pa.table(columns) if columns else pa.chunked_array([P[:20], P[20:]]),
            pa.array(w),
        )
    return found


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


@law
def precision_of_the_input_does_not_matter(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Probabilities that float16 holds give the same numbers in every precision, and so do labels of any type."""
    for case in cases(entry, rng):
        expected = value(entry, options, case)
        floats = ("float16", "float32", "float64", "longdouble")
        for dtype in () if case.is_law else floats:
            other = Case(case.y, case.prediction.astype(dtype))
            same(entry, value(entry, options, other), expected, f"probabilities as {dtype}")
        for dtype in floats if case.is_law else ("int8", "uint16", "int64", "float32"):
            same(entry, value(entry, options, Case(case.y.astype(dtype), case.prediction)), expected, f"y as {dtype}")


@law
def scores_on_bin_edges_stay_in_their_bin(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """A score k/m falls into the same bin in every precision."""
    if "binary" not in entry.predictions or entry.kind == "test":  # a p-value jumps where values stop being tied
        return
    for m in (2, 3, 7, 10, 15, 30, 100):
        case = on_edges(rng, m)
        expected = entry.verb(case.y, case.prediction, **options)
        for dtype, tolerance in (("float32", 2e-5), ("float16", 2e-2)):
            found = entry.verb(case.y, case.prediction.astype(dtype), **options)
            if entry.kind == "curve":
                count = expected.columns.get("count", 0), found.columns.get("count", 0)
                assert np.array_equal(*count), f"{entry.name}: other counts for k/{m} as {dtype}"
            else:
                first = numbers(found)[0], numbers(expected)[0]
                same(entry, *first, f"k/{m} as {dtype}", rtol=tolerance, atol=tolerance)


@law
def inputs_stay_as_they_are(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """No array of the caller is written to."""
    for case in cases(entry, rng):
        w = rng.uniform(0, 3, len(case.y))
        given = [case.y.copy(), w] if case.is_law else [case.y.copy(), w, case.prediction.copy()]
        before = [array.copy() for array in given]
        value(entry, options, Case(given[0], case.prediction if case.is_law else given[2], w))
        for array, copy in zip(given, before, strict=True):
            assert np.array_equal(array, copy), f"{entry.name}: an input was modified"


@law
def numbers_stay_in_the_declared_range(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """A metric lies in its range, a p-value in [0, 1]."""
    low, high = entry.range
    for case in cases(entry, rng):
        for weights in (None, rng.uniform(0.5, 3, len(case.y))):
            result = entry.verb(case.y, case.prediction, weights=weights, **options)
            if entry.kind == "test":
                assert 0 <= result.pvalue <= 1, f"{entry.name}: p-value {result.pvalue}"
                assert result.n == len(case.y)
            elif entry.kind == "metric":
                found = numbers(result)
                found = found[~np.isnan(found)]
                slack = 1e-12
                assert (found >= low - slack).all(), f"{entry.name}: {found} below {low}"
                assert (found <= high + slack).all(), f"{entry.name}: {found} above {high}"


@law
def certain_and_right_is_perfect(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """Predictions that are certain and right get the declared perfect value."""
    for case in certain(entry):
        found = value(entry, options, case)
        if entry.kind != "curve":
            assert found[0] == entry.perfect, f"{entry.name}: {found[0]} for certain and right predictions"


@law
def small_data_get_a_number_or_a_clear_error(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """No rows are refused; one row, two rows and one class give a number that is none, or an error of calibrant."""
    for case in cases(entry, rng):
        try:
            value(entry, options, case.rows(slice(0)))
        except InputError as problem:
            assert "no rows" in str(problem), f"{entry.name}: the message for no rows is {problem}"
        else:
            raise AssertionError(f"{entry.name}: no rows gave a number")
        small = [case.rows(slice(4, 5)), case.rows(slice(4, 6)), case.rows(case.y == 0), case.rows(case.y == 1)]
        for few in small:
            try:
                found = value(entry, options, few)
            except CalibrantError:
                continue
            if entry.kind == "test" or entry.verb.__name__ in ("ece", "mce"):
                assert not np.isnan(found).any(), f"{entry.name}: nan for {len(few.y)} rows"


@law
def missing_values_are_refused(entry: Entry, options: Options, rng: np.random.Generator) -> None:
    """NaN among predictions, outcomes or weights is refused with its row."""
    for case in cases(entry, rng, n=40):
        for spoilt in _spoilt(case):
            try:
                value(entry, options, spoilt)
            except InputError as problem:
                assert "row 17" in str(problem), f"{entry.name}: the message does not name row 17: {problem}"
            else:
                raise AssertionError(f"{entry.name}: a missing value gave a number")


def _spoilt(case: Case) -> list[Case]:
    y, w = case.y.astype(float), np.ones(len(case.y))
    y[17], w[17] = np.nan, np.nan
    spoilt = [Case(y, case.prediction), Case(case.y, case.prediction, w)]
    if not case.is_law:  # a law refuses missing parameters itself
        P = case.prediction.copy()
        P[17, ...] = np.nan
        spoilt.append(Case(case.y, P))
    return spoilt
