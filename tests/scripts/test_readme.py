"""The commands and examples of a Markdown file are found, run and compared."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "readme.py"

COMMANDS = """\
# A project

<!-- command: run -->
```sh
python -m venv .venv &&
.venv/bin/thing demo
```

<!-- command: test -->
```sh
pytest
```

<!-- command: far -->

```sh
a blank line stands between this and its marker
```
"""

EXAMPLES = """\
# Examples

```python
>>> x = 2
>>> x + 0.5
2.5

```

```sh
>>> this is no Python
```

~~~python
>>> print("a", x)
a    2
~~~
"""


def readme(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "README.md").write_text(text, "utf-8")
    run = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "expected"), [("run", "python -m venv .venv &&\n.venv/bin/thing demo\n"), ("test", "pytest\n")]
)
def test_command_prints_the_marked_block(tmp_path, name, expected):
    done = readme(tmp_path, COMMANDS, "command", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.parametrize("name", ["absent", "far"])
def test_missing_marker_is_a_clear_error(tmp_path, name):
    done = readme(tmp_path, COMMANDS, "command", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"'<!-- command: {name} -->', found 0" in done.stderr
    assert "run, test" in done.stderr


def test_marker_given_twice_is_an_error(tmp_path):
    done = readme(tmp_path, COMMANDS + COMMANDS, "command", "test")
    assert (done.returncode, done.stdout) == (1, "")
    assert "found 2" in done.stderr


def test_examples_share_a_namespace_within_a_file(tmp_path):
    done = readme(tmp_path, EXAMPLES, "doctest", "README.md")
    assert (done.returncode, done.stdout) == (0, "README.md: 3 passed, 0 failed\n")


def test_failing_example_is_reported_with_its_line(tmp_path):
    done = readme(tmp_path, EXAMPLES.replace("2.5", "2.6"), "doctest", "README.md")
    assert done.returncode == 1
    assert 'File "README.md", line 5' in done.stdout
    assert "Expected:\n    2.6\nGot:\n    2.5\n" in done.stdout
    assert done.stdout.endswith("README.md: 2 passed, 1 failed\n")
    done = readme(tmp_path, "```python\n>>> 1 / 0\n```\n", "doctest", "README.md")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


def test_every_file_is_run_in_its_own_namespace(tmp_path):
    (tmp_path / "other.md").write_text("```python\n>>> x\n2\n```\n", "utf-8")
    done = readme(tmp_path, EXAMPLES, "doctest", "other.md", "README.md")
    assert done.returncode == 1
    assert "NameError" in done.stdout
    assert "other.md: 0 passed, 1 failed\n" in done.stdout
    assert "README.md: 3 passed, 0 failed\n" in done.stdout


@pytest.mark.parametrize("text", ["", "```python\nx = 1\n```\n", "```sh\n>>> 1\n```\n"])
def test_file_without_examples_is_an_error(tmp_path, text):
    done = readme(tmp_path, text, "doctest", "README.md")
    assert (done.returncode, done.stdout) == (1, "")
    assert "README.md: no fenced python block" in done.stderr
