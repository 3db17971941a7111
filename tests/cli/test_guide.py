"""The guides with commands: their cells run, and their commands end as they say."""

import re
import shlex
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
ENDS = {
    "command_line": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 2, 0, 0, 0],
    "language_models": [0, 0, 0, 0, 0, 0],
}
CELL = re.compile(r"```\{code-cell\} (?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)


def commands(text):
    """Return the commands of a cell as lists of words, and whether the cell goes on after a failure."""
    for line in re.sub(r"(\\|\|\|)\n *", lambda end: end[1].strip("\\"), text).splitlines():
        command, _, otherwise = line.partition("||")
        yield shlex.split(command), bool(otherwise)


@pytest.mark.skipif(not GUIDES.exists(), reason="the documentation is not part of this copy")
@pytest.mark.parametrize("guide", ENDS)
def test_every_command_of_the_guide_runs(run, require, small_examples, guide):
    require("polars")
    ends, namespace = [], {}
    for cell in CELL.finditer((GUIDES / f"{guide}.md").read_text("utf-8")):
        if cell["language"] == "python":
            if ":tags:" not in cell["text"]:
                exec(cell["text"], namespace)
            continue
        for (program, *words), may_fail in commands(cell["text"].rpartition("%%bash\n")[2]):
            assert program == "calibrant"
            done = run(*words)
            assert done.code == 0 or may_fail, done
            assert "inside calibrant" not in done.err
            ends.append(done.code)
    assert ends == ENDS[guide]
