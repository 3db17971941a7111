"""Properties that every measurement must have, and `check_verb`, which checks them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from importlib.util import find_spec
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.catalogue import find
from calibrant.core.summary import Summary
from calibrant.errors import CalibrantError, InputError, SummaryError
from calibrant.testing.data import DATA, Case, Change, VerbUnderTest, judgement, names_of, numbers, on_edges

Check = Callable[[VerbUnderTest, np.random.Generator], None]
PROPERTIES: dict[str, Property] = {}
"""Every property by its name."""


@dataclass(frozen=True)
class Property:
    """A property of verbs: calling `check` raises an `AssertionError` that names the number that is wrong.

    `applies` tells whether a subject must have it.
    """

    name: str
    check: Check
    applies: Callable[[VerbUnderTest], bool]


def verb_property(applies: Callable[[VerbUnderTest], bool] = lambda subject: True) -> Callable[[Check], Check]:
    """Register a property under the name of its function, and which subjects must have it."""

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", " ")
        PROPERTIES[name] = Property(name, check, applies)
        return check

    return register


def check_verb(
    verb: Any,
    *,
    data: Collection[str] | None = None,
    equal_weights: bool = False,
    exempt: Collection[str] = (),
    n: int = 210,
    seed: int = 0,
    **options: Any,
) -> None:
    """Check that a verb of the catalogue, with these options, has every property that a measurement must have.

    Parameters
    ----------
    verb
        A verb of the catalogue (see `calibrant.core.catalogue.enter`), or its name.
    data
        Names of the data to check on, from `calibrant.testing.DATA`; default: all of the kinds that the verb accepts.
    equal_weights
        Whether the verb refuses weights that are not all equal.
    exempt
        Names of properties that the verb does not have with these options.
    n
        Number of rows of the data, at most 2,000.
    seed
        Seed of the small data sets.
    **options
        Options of the verb. One with a value for every row is given as a `PerRow`, which has the values to draw from.

    Raises
    ------
    AssertionError
        If the verb lacks a property; the message names every property it lacks, the data, and a wrong number.
    KeyError
        If there are no data of a kind that the verb accepts.
    """
    for given, known, what in ((exempt, PROPERTIES, "properties in exempt"), (data or (), DATA, "names in data")):
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InputError(f"unknown {what}: {unknown}. Known are {sorted(known)}")
    entry = find(verb)
    names = [name for kind in entry.predictions for name in names_of(kind)] if data is None else data
    failures = [
        f"{check.name!r} on the data {name!r}: {problem}"
        for name in names
        for check, problem in broken_properties(VerbUnderTest(entry, name, options, equal_weights, n), exempt, seed)
    ]
    assert not failures, f"{entry.name} lacks " + "\n".join(failures)


def broken_properties(
    subject: VerbUnderTest, exempt: Collection[str] = (), seed: int = 0
) -> Iterator[tuple[Property, Exception]]:
    """Yield the properties that a subject should have and lacks, each with the error that says what is wrong."""
    for check in PROPERTIES.values():
        if check.applies(subject) and check.name not in exempt:
            try:
                check.check(subject, np.random.default_rng(seed))
            except (AssertionError, CalibrantError) as problem:
                yield check, problem


def same(found: Any, expected: Any, what: str, *, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=what)


# Rows: their order, their weights, and how parts make a whole.


@verb_property()
def row_order_does_not_matter(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    for case in subject.cases(rng):
        same(subject.value(case.rows(rng.permutation(case.n))), subject.value(case), "shuffled rows")


@verb_property(applies=lambda subject: subject.entry.mean and not subject.equal_weights)
def weight_two_is_a_row_twice(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """For means a whole-number weight equals repeated rows; pair estimators and tests do not claim it."""
    case = subject.case(rng)
    times = rng.integers(1, 4, case.n)
    repeated = case.rows(np.repeat(np.arange(case.n), times))
    same(subject.value(case.weighted(times)), subject.value(repeated), "repeated rows")


@verb_property()
def a_common_factor_of_weights_changes_nothing(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """Weights times 7 give the same numbers, and equal weights those of no weights."""
    case = subject.case(rng)
    w = subject.weights(rng, case.n)
    base, scaled = (_without_weight(subject, case.weighted(w * factor)) for factor in (1, 7))
    same(scaled, base, "weights times 7")
    equal = _without_weight(subject, case.weighted(np.full(case.n, 7)))
    same(equal, _without_weight(subject, case), "all weights 7")


def _without_weight(subject: VerbUnderTest, case: Case) -> NDArray[np.float64]:
    """Return the numbers of a result without the column that reports the weight itself."""
    return numbers(subject.measure(case), without=("weight",))


@verb_property()
def weight_zero_is_an_absent_row(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    case = subject.case(rng)
    w = subject.weights(rng, case.n) * (rng.random(case.n) < 0.8)
    present = case.weighted(w).rows(w > 0)
    same(subject.value(case.weighted(w)), subject.value(present), "rows of weight 0")


@verb_property(applies=lambda subject: subject.equal_weights)
def unequal_weights_are_refused(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """A verb that needs equal weights says so, also for batches with a different weight each."""
    case = subject.case(rng)
    _check_refused(lambda: subject.measure(case.weighted(rng.uniform(1, 2, case.n))))
    batches = [case.weighted(np.full(case.n, weight)) for weight in (1, 2)]
    _check_refused(lambda: subject.value_of(_total(subject, batches)))


def _check_refused(call: Callable[[], Any]) -> None:
    try:
        call()
    except (InputError, SummaryError) as problem:
        assert "weight" in str(problem), f"the message does not name weights: {problem}"
    else:
        raise AssertionError("unequal weights gave a number")


@verb_property()
def chunks_add_up_to_the_whole(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """Summaries of 7 chunks, and of 1 or 50 with weights, merge to the numbers of all rows."""
    for case, counts in zip(subject.cases(rng), ((7,), (1, 50)), strict=True):
        expected = subject.value(case)
        for count in counts:
            parts = np.array_split(np.arange(case.n), count)
            total = _total(subject, [case.rows(part) for part in parts])
            same(subject.value_of(total), expected, f"{count} chunks")


def _total(subject: VerbUnderTest, batches: list[Case]) -> Summary:
    return reduce(add, (subject.summary(batch) for batch in batches))


@verb_property()
def a_summary_is_restored_from_bytes(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """to_bytes and from_bytes give an equal summary and equal numbers."""
    case = subject.case(rng)
    summary = subject.summary(case.weighted(subject.weights(rng, case.n)))
    back = Summary.from_bytes(summary.to_bytes())
    assert back == summary, "the restored summary differs"
    assert back + type(summary).zero() == summary, "adding zero changes the summary"
    same(subject.value_of(back), subject.value_of(summary), "a restored summary", rtol=1e-13, atol=1e-14)


# Input: containers, precision, missing values, and that no array of the caller is changed.

FLOATS = ("float16", "float32", "longdouble")
WHOLE = ("int8", "uint16", "float32")


@verb_property()
def containers_are_read_by_position(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """Lists, read-only and strided arrays, and the data frames that are installed give the same numbers."""
    case = subject.case(rng)
    case = case.weighted(subject.weights(rng, case.n))
    expected = subject.value(case)
    for name, held in _containers().items():
        same(subject.value(case.remade(y=held, columns=held, others=held)), expected, name)


def _containers() -> dict[str, Change]:
    found: dict[str, Change] = {
        "lists": lambda a: a.tolist(),
        "strided arrays": lambda a: np.repeat(a, 2, axis=0)[::2],
        "Fortran order": np.asfortranarray,
        "read-only arrays": _read_only,
    }
    frames = (name for name in ("pandas", "polars", "pyarrow") if find_spec(name))
    return found | {name: partial(_framed, name) for name in frames}


def _framed(library: Any, a: NDArray[Any]) -> Any:
    """Return a series or a data frame; an array with three axes, which no frame can hold, becomes lists."""
    import narwhals as nw

    if a.ndim > 2:
        return a.tolist()
    if a.ndim == 1:
        found = nw.new_series("c", a.tolist(), backend=library).to_native()
    else:
        columns = {f"c{k}": column.tolist() for k, column in enumerate(a.T)}
        found = nw.from_dict(columns, backend=library).to_native()
    if library == "pandas":
        found.index = np.arange(len(a))[::-1]  # must not be used for alignment
    return found


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


@verb_property()
def precision_of_the_input_does_not_matter(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """Numbers that float16 represents give the same result in every precision; so do labels and weights of any type."""
    case = subject.case(rng)
    case = case.weighted(np.full(case.n, 3) if subject.equal_weights else rng.integers(1, 5, case.n))
    expected = subject.value(case)
    labels = case.y is not None and case.y.dtype.kind == "i"
    for dtype in FLOATS:
        same(subject.value(case.remade(columns=_cast(dtype))), expected, f"predictions as {dtype}")
    for dtype in WHOLE if labels else FLOATS:
        same(subject.value(case.remade(y=_cast(dtype))), expected, f"y as {dtype}")
    for dtype in WHOLE:
        same(subject.value(case.weighted(case.weights.astype(dtype))), expected, f"weights as {dtype}")


def _cast(dtype: str) -> Change:
    return lambda a: a if a.dtype.kind == "b" else a.astype(dtype)


@verb_property()
def inputs_are_not_modified(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    for case in (found.remade(columns=np.copy) for found in subject.cases(rng)):
        every = (case.y, case.weights, *case.columns.values(), *case.options.values())
        given = [array for array in every if array is not None]
        before = [array.copy() for array in given]
        subject.measure(case)
        for array, copy in zip(given, before, strict=True):
            assert np.array_equal(array, copy), "an input was modified"


@verb_property()
def missing_values_are_refused(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """NaN among predictions, outcomes or weights, or a missing label that does not name a group, is refused by row."""
    case = subject.case(rng)
    case = case.weighted(np.ones(case.n))
    for what, make in _with_missing(subject, case):
        try:
            subject.measure(make())
        except InputError as problem:
            assert "row 17" in str(problem), f"{what}: the message does not name row 17: {problem}"
        else:
            raise AssertionError(f"a missing value among {what} gave a number")


def _with_missing(subject: VerbUnderTest, case: Case) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield where a value is missing, and a function that makes the case: some predictions refuse it when built."""
    yield "weights", lambda: case.weighted(_missing(case.weights))
    if subject.entry.outcome and case.y is not None:
        yield "outcomes", lambda: case.remade(y=_missing)
    for name, column in case.columns.items():
        if column.dtype.kind == "f":
            yield name, partial(case.remade, columns=partial(_missing_in, column))
    for name, values in case.options.items():
        if name == "groups":
            continue  # rows without a label are a group of their own
        yield name, partial(case.remade, others=partial(_missing_in, values))


def _missing_in(chosen: NDArray[Any], a: NDArray[Any]) -> NDArray[Any]:
    return _missing(a) if a is chosen else a


def _missing(a: NDArray[Any]) -> NDArray[Any]:
    changed = a.astype(object if a.dtype.kind in "OU" else float)
    changed[17] = None if changed.dtype.kind == "O" else np.nan
    return changed


# Values: their range, perfect predictions, bin edges, and few rows.

NEVER_NAN = ("ece", "mce")


@verb_property(applies=lambda subject: subject.data == "binary" and subject.entry.kind != "test")
def scores_on_bin_edges_stay_in_their_bin(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """A score k/m falls into the same bin in every precision; a p-value jumps where values stop being tied."""
    for m in (2, 3, 7, 10, 15, 30, 100):
        case = on_edges(rng, m)
        expected = subject.measure(case)
        for dtype, tolerance in (("float32", 2e-5), ("float16", 2e-2)):
            found = subject.measure(case.remade(columns=_cast(dtype)))
            if subject.entry.kind == "curve":
                count = expected.columns.get("count", 0), found.columns.get("count", 0)
                assert np.array_equal(*count), f"different counts for k/{m} as {dtype}"
            else:
                ours, theirs = judgement(found), judgement(expected)
                same(ours, theirs, f"k/{m} as {dtype}", rtol=tolerance, atol=tolerance)


@verb_property(applies=lambda subject: subject.entry.kind != "curve")
def numbers_stay_in_the_declared_range(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """A metric lies in its range, a p-value in [0, 1]."""
    for case in subject.cases(rng):
        result = subject.measure(case)
        if subject.entry.kind == "test":
            p = numbers(result.pvalue)
            p = p[~np.isnan(p)]  # groups that are too small to be tested
            assert p.size > 0, "no p-value"
            assert ((p >= 0) & (p <= 1)).all(), f"p-value {result.pvalue}"
            assert result.n == case.n
            continue
        low, high = subject.entry.range
        found = numbers(result)
        assert np.isfinite(found).any(), "no finite number, so nothing is checked"
        found = found[~np.isnan(found)]
        slack = 1e-12
        assert (found >= low - slack).all(), f"{found} below {low}"
        assert (found <= high + slack).all(), f"{found} above {high}"


@verb_property(applies=lambda subject: subject.entry.kind != "curve" and DATA[subject.data].certain is not None)
def certain_and_right_is_perfect(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    found = judgement(subject.measure(subject.certain(rng)))
    same(found, subject.entry.perfect, "certain and right predictions")


@verb_property()
def small_data_get_a_number_or_a_clear_error(subject: VerbUnderTest, rng: np.random.Generator) -> None:
    """No rows are refused; one row, two rows and one class give a number, NaN or a `CalibrantError`."""
    case = subject.case(rng)
    try:
        subject.measure(case.rows(slice(0)))
    except InputError as problem:
        assert "no rows" in str(problem), f"the message for no rows is {problem}"
    else:
        raise AssertionError("no rows gave a number")
    small = [case.rows(slice(4, 5)), case.rows(slice(4, 6))]
    if case.y is not None and case.y.dtype.kind == "i":
        small += [case.rows(case.y == label) for label in (0, 1)]
    for few in small:
        try:
            found = subject.value(few)
        except CalibrantError:
            continue
        if subject.entry.kind == "test" or subject.entry.name in NEVER_NAN:
            assert not np.isnan(found).any(), f"nan for {few.n} rows"
