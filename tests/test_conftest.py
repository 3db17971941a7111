"""What `tests/conftest.py` offers: a search for compiled modules that were cut short, loops that name their cases."""

import inspect
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest


def compiled(module):
    """Compile a module to where Python looks for it by default, and return the file."""
    place = module.parent / "__pycache__" / f"{module.stem}.{sys.implementation.cache_tag}.pyc"
    return Path(py_compile.compile(str(module), str(place)))


def test_compiled_modules_that_are_cut_short_are_found(tmp_path, unreadable_bytecode):
    for name in ("whole", "cut"):
        (tmp_path / f"{name}.py").write_text("NUMBERS = [1, 2, 3]\n")
    _, cut = (compiled(tmp_path / f"{name}.py") for name in ("whole", "cut"))
    assert unreadable_bytecode(tmp_path) == []
    cut.write_bytes(cut.read_bytes()[:40])
    assert unreadable_bytecode(tmp_path) == [cut]


def test_a_session_that_leaves_one_fails(tmp_path, unreadable_bytecode):
    """The hook in a small project of its own, whose only test passes."""
    tests, package = tmp_path / "tests", tmp_path / "src" / "package"
    tests.mkdir()
    package.mkdir(parents=True)
    (package / "module.py").write_text("NUMBERS = [1, 2, 3]\n")
    hook = unreadable_bytecode.__globals__["pytest_sessionfinish"]
    head = "import marshal\nimport sys\nfrom pathlib import Path\n\nimport pytest\n\n"
    (tests / "conftest.py").write_text(head + inspect.getsource(unreadable_bytecode) + inspect.getsource(hook))
    (tests / "test_one.py").write_text("def test_one():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tests)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run():
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    cut = compiled(package / "module.py")
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    cut.write_bytes(cut.read_bytes()[:40])
    done = run()
    assert done.returncode == 1
    assert f"cut them short:\n{cut}\n" in done.stdout


def test_a_loop_names_every_case_that_fails(for_each):
    def check(value, limit):
        assert value < limit, "too large"

    for_each({"one": (1, 3), "two": (2, 3)}, check)
    with pytest.raises(pytest.fail.Exception, match="2 of 3 cases fail") as caught:
        for_each({"one": (1, 2), "two": (2, 2), "text": ("2", 2)}, check)
    assert "\ntwo: AssertionError: too large" in str(caught.value)
    assert "\ntext: TypeError: " in str(caught.value)
    assert "\none: " not in str(caught.value)
    with pytest.raises(AssertionError):
        for_each([], check)
