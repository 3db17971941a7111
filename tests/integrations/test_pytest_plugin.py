"""The fixture in pytest runs of its own."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from calibrant import ece, kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test

pytest_plugins = ("pytester",)

MODULE = """
import numpy as np
import pytest

p = np.random.default_rng(0).random(2000)
right = np.random.default_rng(1).random(2000) < p
timid = np.random.default_rng(1).random(2000) < np.where(p < 0.5, p**2 * 2, 1 - 2 * (1 - p) ** 2)

def test_right(assert_calibrated):
    assert_calibrated(right, p)
    assert_calibrated(right, p, max_ece=0.05)
    assert_calibrated(right, p, weights=np.linspace(1, 2, 2000), tests=["kolmogorov_smirnov_test"], level=0.95)

def test_timid(assert_calibrated):
    assert_calibrated(timid, p)

def test_limit(assert_calibrated):
    assert_calibrated(right, p, max_ece=0.001)

def test_logits(assert_calibrated):
    assert_calibrated(right, 10 * p)

def test_classes(assert_calibrated):
    assert_calibrated(right, np.column_stack([1 - p, p]), tests=(), max_ece=0.5)

@pytest.fixture(scope="session")
def model(assert_calibrated):
    assert_calibrated(right, p)
    return p

def test_model(model, assert_calibrated):
    with pytest.raises(AssertionError, match="not calibrated"):
        assert_calibrated(timid, model)

@pytest.mark.xfail(strict=True)
def test_known_to_be_off(assert_calibrated):
    assert_calibrated(timid, p)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return what a new pytest prints: the report of each failure by the name of its test, and all of it under ""."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_module.py").write_text(MODULE)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_module.py"]
    environment = {**os.environ, "COLUMNS": "160"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    _, *parts = re.split(r"^_+ (test_\w+) _+$", done.stdout, flags=re.MULTILINE)
    return {"": done.stdout, **dict(zip(parts[::2], parts[1::2], strict=True))}


def test_outcomes(run):
    """Calibrated predictions pass, `pytest.raises` and fixtures of any scope work, an expected failure is one."""
    assert re.search(r"^=+ 4 failed, 2 passed, 1 xfailed in ", run[""], re.MULTILINE), run[""]
    assert set(run) == {"", "test_timid", "test_limit", "test_logits", "test_classes"}


def test_the_failure_says_what_was_found(run):
    lines = [
        ">       assert_calibrated(timid, p)",
        "E       AssertionError: These predictions are not calibrated (p < 0.001).",
        "E       scores * to *: stated * %, found * % (99 % limits * to * %), 200 rows: stated too high",
        "E       scores * to *: stated * %, found * % (99 % limits * to * %), 200 rows: stated too low",
        "E       kuiper_test: estimate 0.0*, p-value *e-*",
        "E       spiegelhalter_test: estimate -0.0*, p-value *e-*",
        "E       rejected by a p-value below 0.005 (level 0.99, number of tests 2)",
        "E       ece: 0.*",
        "E       n = 2,000",
    ]
    pytest.LineMatcher(run["test_timid"].splitlines()).fnmatch_lines(lines)
    assert "pytest_plugin.py" not in run["test_timid"]  # the traceback ends in the user's test
    assert "FAILED test_module.py::test_timid - AssertionError: These predictions are not calibrated" in run[""]


def test_an_error_above_the_limit_fails(run):
    words = r"AssertionError: The expected calibration error is 0\.0\d*, above max_ece=0\.001\."
    assert re.search(words, run["test_limit"])
    assert "not calibrated" not in run["test_limit"]


def test_bad_input_is_an_error_of_calibrant(run):
    assert "InputError: prediction must lie in [0, 1]" in run["test_logits"]
    words = r"InputError: assert_calibrated judges one probability per row.*top_label\(y, P\)"
    assert re.search(words, run["test_classes"])


def test_pytest_lists_the_fixture(pytester):
    result = pytester.runpytest_inprocess("--fixtures")
    result.stdout.fnmatch_lines(["assert_calibrated [[]session scope[]] -- *pytest_plugin.py:*"])
    result.stdout.fnmatch_lines(["    Return *assert_calibrated(y, p, *max_ece=None)*"])


def rejected(assert_calibrated, *data, **options):
    try:
        assert_calibrated(*data, **options)
    except AssertionError:
        return True
    return False


class TestRule:
    """Called in this run: which data fail."""

    def test_bonferroni(self, assert_calibrated):
        rng = np.random.default_rng(3)
        seen = set()
        for _ in range(60):
            p = rng.random(600)
            y = rng.random(600) < 0.5 + 0.88 * (p - 0.5)
            single = [kuiper_test(y, p).pvalue, spiegelhalter_test(y, p).pvalue]
            expected = 2 * min(single) < 0.1
            assert rejected(assert_calibrated, y, p, level=0.9) == expected
            seen.add((expected, min(single) < 0.1))
        assert seen == {(True, True), (False, True), (False, False)}  # also where one test alone would reject

    def test_holds_its_level(self, assert_calibrated):
        rng = np.random.default_rng(4)
        failures = 0
        for _ in range(400):
            p = rng.random(600)
            failures += rejected(assert_calibrated, rng.random(600) < p, p, level=0.9)
        assert failures <= 55  # 40 expected at most, standard deviation 6

    def test_tests_by_name_by_function_or_alone(self, assert_calibrated, M):
        y, p = M
        level = 1 - 0.999 * kolmogorov_smirnov_test(y, p).pvalue
        for tests in ("kolmogorov_smirnov_test", kolmogorov_smirnov_test, [kolmogorov_smirnov_test]):
            assert not rejected(assert_calibrated, y, p, tests=tests, level=level)
            assert rejected(assert_calibrated, y, p, tests=tests, level=level - 0.01)

    def test_limit_alone(self, assert_calibrated, M):
        y, p = M
        assert rejected(assert_calibrated, y, p, tests=(), max_ece=ece(y, p) - 1e-9)
        assert not rejected(assert_calibrated, y, p, tests=(), max_ece=ece(y, p))

    def test_labels(self, assert_calibrated, D1):
        y, p = D1
        labels = np.where(y, "yes", "no")
        given = {"tests": (), "max_ece": ece(y, p)}
        assert not rejected(assert_calibrated, labels, p, pos_label="yes", **given)
        assert not rejected(assert_calibrated, labels, p, classes=["no", "yes"], **given)
        assert rejected(assert_calibrated, labels, p, pos_label="no", **given)

    def test_refused(self, assert_calibrated, refusal, M):
        assert "ece is a metric" in refusal(assert_calibrated, *M, tests=["ece"])
        assert "nothing to assert" in refusal(assert_calibrated, *M, tests=())
        assert "max_ece must lie" in refusal(assert_calibrated, *M, max_ece=5)
        assert "level must lie" in refusal(assert_calibrated, *M, level=99)
        assert "expected a verb" in refusal(assert_calibrated, *M, tests="no_test")


def test_calibrant_imports_no_tool():
    code = (
        "import sys\n"
        "from calibrant.integrations import draws, mlflow, samplers, sklearn, stream, torch\n"
        "tools = 'sklearn mlflow torch pytest matplotlib numba arviz xarray sbi bayesflow keras pymc numpyro'\n"
        "print(sorted(set(tools.split()) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
