"""What many tests share: the reference data, optional libraries, and the words of a refusal."""

import ctypes
import functools
import importlib
import importlib.util
import marshal
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from tests.references import books

from calibrant import from_columns
from calibrant.core.catalogue import ENTRIES
from calibrant.errors import InputError
from calibrant.kernels import Exponential
from calibrant.testing import VerbUnderTest
from calibrant.testing.data import DATA, TABLES, numbers

# No deadline: nothing here may depend on how busy the machine is. Derandomised: a run repeats itself.
settings.register_profile("calibrant", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("calibrant")


def _missing(name):
    """Skip the test of an optional library that is not installed, but fail it in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{name} is not installed, and nothing is skipped in CI")
    pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="session")
def require():
    """Return a function that imports an optional library; a missing one skips the test, but fails it in CI."""

    def imported(name):
        try:
            return importlib.import_module(name)
        except ImportError:
            return _missing(name)

    return imported


@pytest.fixture(scope="session")
def require_installed():
    """Return a function like that of `require` for libraries that must not be imported among other tests."""

    def check(name):
        if importlib.util.find_spec(name) is None:
            _missing(name)

    return check


@pytest.fixture(scope="session")
def as_anyone():
    """Return what gives up the powers of root to read and write everything, in a process that is about to start."""

    def give_up():
        if os.geteuid() == 0:
            for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
                ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP

    return give_up


@pytest.fixture(scope="session")
def refusal():
    """Return a function that makes a call and returns the message it is refused with."""

    def message(call, *args, error=InputError, **options):
        with pytest.raises(error) as caught:
            call(*args, **options)
        assert type(caught.value) is error
        return str(caught.value)

    return message


@pytest.fixture(scope="session")
def for_each():
    """Return a function that checks all cases, and fails with the name of every case that fails.

    Cases are a dictionary by name, or a list of names; a tuple holds the arguments of the check. One test with a loop
    takes less time than a test per case.
    """

    def run(cases, check):
        failures, named = [], cases if isinstance(cases, dict) else {str(case): case for case in cases}
        for name, case in named.items():
            try:
                check(*case) if isinstance(case, tuple) else check(case)
            except (Exception, pytest.fail.Exception) as problem:
                frames = "".join(traceback.format_tb(problem.__traceback__)[1:])
                failures.append(f"{name}: {type(problem).__name__}: {problem}\n{frames}")
        if failures:
            pytest.fail(f"{len(failures)} of {len(cases)} cases fail:\n\n" + "\n".join(failures), pytrace=False)
        assert named

    return run


@pytest.fixture(scope="session")
def refuses(refusal, for_each):
    """Return a function that makes a call with each case of a table, and looks for the words of its refusal.

    A case is a tuple of the arguments and, last, of the words: a text or a list of texts.
    """

    def run(call, cases):
        def check(*case):
            *arguments, words = case
            message = refusal(call, *arguments)
            assert all(word in message for word in ([words] if isinstance(words, str) else words)), message

        for_each(
            cases if isinstance(cases, dict) else {f"{k}: {case[-1]}": case for k, case in enumerate(cases)}, check
        )

    return run


@pytest.fixture
def little_power(monkeypatch):
    """Simulate fewer data sets for the sentence on power."""
    monkeypatch.setattr("calibrant.probabilities.evidence.SIMULATED", 199)


@pytest.fixture
def no_power(monkeypatch):
    """Leave out the sentence on power, which is slow and not a claim."""
    monkeypatch.setattr("calibrant.probabilities.evidence.smallest_constant", lambda *_, **__: 0.1)


@pytest.fixture
def rng():
    """Return random numbers of seed 0, anew for each test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def book():
    """Return the reference values."""
    return books.book("probabilities")


def _stored(*names):
    return tuple(books.arrays("probabilities")[name] for name in names)


@pytest.fixture(scope="session")
def D1():
    """Return y, p: binary, 500 rows, different scores."""
    return _stored("D1_y", "D1_p")


@pytest.fixture(scope="session")
def D2():
    """Return y, P: 600 rows, five classes."""
    return _stored("D2_y", "D2_P")


@pytest.fixture(scope="session")
def M():
    """Return y, p: binary, 24 rows, different scores."""
    return _stored("M_y", "M_p")


def pytest_configure():
    """Let one thread multiply matrices: small ones take longer on threads that wait for each other.

    Libraries that are loaded later, workers of xdist and other processes read the environment.
    """
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")})
    if importlib.util.find_spec("threadpoolctl"):
        importlib.import_module("threadpoolctl").threadpool_limits(1)


def unreadable_bytecode(folder):
    """Return the compiled modules below a folder, of this version of Python, that cannot be loaded."""

    def loads(path):
        try:
            marshal.loads(path.read_bytes()[16:])
        except (EOFError, ValueError, TypeError):
            return False
        return True

    compiled = sorted(folder.rglob(f"__pycache__/*.{sys.implementation.cache_tag}*.pyc"))
    return [path for path in compiled if not loads(path)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail if a test left a compiled module that Python cannot load: calibrant would be broken in this checkout."""
    if hasattr(session.config, "workerinput"):  # of xdist, whose controller looks when all workers have ended
        return
    broken = unreadable_bytecode(Path(__file__).parents[1] / "src")
    if broken:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        words = "\n".join(["\nThese compiled modules cannot be loaded; a test cut them short:", *map(str, broken)])
        session.config.get_terminal_writer().line(words, red=True)


@pytest.fixture(name="unreadable_bytecode", scope="session")
def _unreadable_bytecode():
    return unreadable_bytecode


def pytest_collection_modifyitems(items):
    """Skip the doctests of PyTorch where it is not installed; nothing is skipped in CI."""
    if importlib.util.find_spec("torch") is None and os.environ.get("CI") != "true":
        for item in items:
            if isinstance(item, pytest.DoctestItem) and item.name.startswith("calibrant.integrations.torch."):
                item.add_marker(pytest.mark.skip(reason="torch is not installed"))


class Contract(NamedTuple):
    """What every engine must find of the same rows: a table, what its columns are, verbs, and what they find."""

    table: dict[str, Any]
    y: Any
    prediction: Any
    groups: str | None
    verbs: list[Any]
    expected: dict[str, Any]

    def check(self, found):
        """Assert that an engine found what the verbs find of arrays, to 1e-12."""
        assert list(found) == list(self.expected)
        for name, expected in self.expected.items():
            value, rounding = found[name]
            assert rounding == 0, name  # rows were kept
            np.testing.assert_allclose(numbers(value), expected, rtol=1e-12, atol=1e-13, err_msg=name)


# Options of verbs that have no default, or draw as few outcomes as will do.
CONTRACT_OPTIONS = {
    "cme_test": {"locations": ([0.25, 0.75], [1, 0]), "resamples": 19},
    "ucme": {"locations": ([0.25, 0.75], [1, 0]), "kernel": Exponential(0.5)},
    "skce_test": {"resamples": 19},
    "coverage_width_criterion": {"variant": "jensen"},
    **{name: {"rng": 0} for name in ("ecdf_difference", "expected_coverage", "rank_histogram", "uniformity_test")},
    **{name: {"rng": 0} for name in ("rank_cauchy_test", "rank_chi2_test", "rank_edf_test", "rank_smooth_test")},
}
BY_GROUP = {
    "coverage_curve": [{}],
    "coverage_gap": [{}, {"average": "max"}],
    "coverage_test": [{}],
    "uniformity_test": [{"rng": 0}],
}  # verbs that compare the groups of a column
GROUPED = ("intervals", "one interval", "one set", "one quantile", "samples")
CONTRACT_ROWS = 520


@pytest.fixture
def entered():
    """Forget the verbs that a test enters."""
    before = dict(ENTRIES)
    yield
    ENTRIES.clear()
    ENTRIES.update(before)


@pytest.fixture(params=[*TABLES, *(f"{name} by group" for name in GROUPED)])
def contract(request):
    """Return what every engine must find: for every kind of data, and for groups of some."""
    name, _, grouped = request.param.partition(" by ")
    return contract_of(name, bool(grouped))


@pytest.fixture(scope="session")
def asked():
    """Return the names of the verbs that the contract asks of all rows, and of those that it asks of groups."""
    of_all, of_groups = ((contract_of(data) for data in TABLES), (contract_of(data, True) for data in GROUPED))
    return [{name.partition("(")[0] for each in of for name in each.expected} for of in (of_all, of_groups)]


@functools.cache
def contract_of(name, grouped=False):
    """Return what every engine must find of these data, by all verbs or by those that compare groups."""
    case = DATA[name].make(np.random.default_rng(5), CONTRACT_ROWS)
    table, named = _tabled(case)
    labels = np.random.default_rng(6).choice(["north", "south", "west"], CONTRACT_ROWS, p=[0.6, 0.3, 0.1])
    given, groups = ({"groups": labels}, "region") if grouped else ({}, None)
    verbs, expected = [], {}
    for entry, options in _wanted(name, grouped):
        try:
            value = VerbUnderTest(entry, name, {**options, **given}).value(case)
        except InputError:  # several levels, or a single one: tests/contract/test_properties.py says which
            continue
        verbs.append(functools.partial(entry.verb, **options) if options else entry.verb)
        words = ", ".join(f"{key}={option!r}" for key, option in options.items())
        expected[f"{entry.name}({words})" if options else entry.name] = value
    columns = {**table, "region": labels} if grouped else table
    return Contract(columns, None if case.y is None else "y", named, groups, verbs, expected)


def _wanted(name, grouped):
    """Yield the verbs that are asked of these data, with options."""
    kind = DATA[name].kind
    for entry in ENTRIES.values():
        chosen = BY_GROUP.get(entry.name, []) if grouped else [CONTRACT_OPTIONS.get(entry.name, {})]
        if kind not in entry.predictions:
            continue
        if entry.name in ("cme_test", "ucme") and name != "binary":
            continue  # locations of others are drawn
        if entry.name == "rank_exchange_test":
            continue  # batches are exchanged with other random numbers than the whole
        if kind in ("quantiles", "cdf"):  # chance decides between the ends of a jump, row by row
            chosen = [options for options in chosen if "rng" not in options]
        yield from ((entry, options) for options in chosen)


def _tabled(case):
    """Return the columns of a case as a table, and the prediction by their names."""
    table = {} if case.y is None else {"y": case.y}
    names = {}
    for name, column in case.columns.items():
        if column.ndim == 1:
            table[name], names[name] = column, name
        else:
            names[name] = [f"{name}_{k}" for k in range(column.shape[1])]
            table |= dict(zip(names[name], column.T, strict=True))
    if isinstance(case.prediction, np.ndarray):
        return table, names["p"]
    partial = isinstance(case.build, functools.partial)
    kind, others = (case.build.func, case.build.keywords) if partial else (case.build, {})
    return table, from_columns(kind, **names, **others)


@pytest.fixture
def plt(require):
    require("matplotlib").use("Agg")
    pyplot = require("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")
