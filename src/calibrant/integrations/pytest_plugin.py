"""A fixture for tests of models: `assert_calibrated`. pytest finds it by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import pytest

from calibrant.core import words
from calibrant.core.catalogue import Entry, entries, find
from calibrant.core.ordered import Ordered
from calibrant.core.results import TestResult
from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import is_unit
from calibrant.inputs.options import check_level
from calibrant.inputs.probabilities import Binary, read_binary
from calibrant.judging.voice import line_of
from calibrant.probabilities.binned_errors import ECE
from calibrant.probabilities.evidence import bin_evidence, range_evidence
from calibrant.probabilities.reliability_curve import RELIABILITY_CURVE

TESTS = ("kuiper_test", "spiegelhalter_test")


@pytest.fixture(scope="session")
def assert_calibrated() -> Callable[..., None]:
    """Return ``assert_calibrated(y, p, *, weights=None, level=0.99, tests=(...), max_ece=None)``.

    It fails the test when calibration is rejected. Passing does not prove calibration: see `check_calibrated`.
    """
    return check_calibrated


def check_calibrated(
    y: Any,
    p: Any,
    *,
    weights: Any = None,
    classes: Any = None,
    pos_label: Any = None,
    level: float = 0.99,
    tests: Any = TESTS,
    max_ece: float | None = None,
) -> None:
    """Fail if a test of calibration rejects, or if the calibration error is too large.

    Parameters
    ----------
    y, p, weights, classes, pos_label
        Outcomes and one probability per row, as in `ece`. Reduce class probabilities with `top_label` first.
    level
        Calibrated predictions pass with at least this probability, all tests together (Bonferroni).
    tests
        Tests of the catalogue, or their names.
    max_ece
        Also fail if `ece` is above this. With few rows it is well above 0 for calibrated predictions too.

    Raises
    ------
    AssertionError
        Saying what was found.
    """
    __tracebackhide__ = True  # the traceback ends in the test that called
    level, chosen = check_level(level), _entries(tests)
    _check_limit(max_ece, chosen)
    rows = read_binary(y, p, verb="assert_calibrated", weights=weights, classes=classes, pos_label=pos_label)
    results = {entry.name: entry.of_rows(rows, entry.usual) for entry in chosen}
    pvalue = min([1.0, *(len(results) * result.pvalue for result in results.values())])
    error = _measured(ECE, rows)
    headlines = []
    if pvalue < 1 - level:
        headlines.append(f"These predictions are not calibrated ({words.pvalue_words(pvalue)}).")
    if max_ece is not None and error > max_ece:
        headlines.append(f"The expected calibration error is {error:.4f}, above max_ece={max_ece:g}.")
    if headlines:
        numbers = [*_numbers(results, level), f"ece: {error:.4f}", f"n = {rows.n:,}"]
        raise AssertionError("\n".join([*headlines, *_sentences(rows, level), *numbers]))


def _measured(entry: Entry[Any, Any], rows: Binary, **options: Any) -> Any:
    return entry.of_rows(rows, entry.parse(options))


def _sentences(rows: Binary, level: float) -> list[str]:
    if is_unit(rows.w):
        return [line_of(each, level) for each in range_evidence(Ordered.of(rows), 1 - level)]
    tenths = _measured(RELIABILITY_CURVE, rows, bins=10, strategy="mass", simultaneous=True, level=level)
    return [line_of(each, level) for each in bin_evidence(tenths)]


def _numbers(results: Mapping[str, TestResult], level: float) -> list[str]:
    found = [f"{name}: estimate {r.estimate:.4f}, p-value {r.pvalue:.3g}" for name, r in results.items()]
    if results:
        limit = f"{(1 - level) / len(results):.3g}"
        found.append(f"rejected by a p-value below {limit} (level {level:g}, number of tests {len(results)})")
    return found


def _entries(tests: Any) -> list[Entry[Any, Any]]:
    several = isinstance(tests, Iterable) and not isinstance(tests, str)
    found = [find(test) for test in (tests if several else [tests])]
    for entry in found:
        if entry.kind != "test":
            known = ", ".join(sorted(name for name, other in entries().items() if other.kind == "test"))
            raise InputError(f"tests must be tests of calibration ({known}); {entry.name} is a {entry.kind}")
    return found


def _check_limit(max_ece: Any, tests: list[Entry[Any, Any]]) -> None:
    if max_ece is None:
        if not tests:
            raise InputError("there is nothing to assert: pass tests=, max_ece=, or both")
    elif isinstance(max_ece, bool) or not isinstance(max_ece, Real) or not 0 < float(max_ece) < 1:
        raise InputError(f"max_ece must lie strictly between 0 and 1, such as 0.05; got {shown(max_ece)}")
